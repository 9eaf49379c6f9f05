"""Launch everything: `ros2 launch rbdyn_ros simulation.launch.py view:=true record:=true`.

The plant is the simulator, a board behind the bridge (`plant:=hil`), or a recorded bag
(`plant:=replay bag:=...`). With `duration` a referee ends it after so many simulated seconds; the
exit code shows whether the rod stayed upright.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, SetLaunchConfiguration
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.ros.launching import (
    OF_THE_SIMULATOR,
    argument,
    begin_after,
    existing_file,
    if_given,
    if_is,
    launch_node,
    launch_recorder,
    needs_library,
    needs_recorder,
    only_with,
    recorder_name,
    unless_is,
)


def generate_launch_description():
    folder = PathJoinSubstitution([FindPackageShare("rbdyn_ros"), "launch"])
    return LaunchDescription(
        [
            argument(
                "plant",
                "Chooses what publishes the state: the simulator, a board, or a recorded bag.",
                "sim",
                ("sim", "hil", "replay"),
            ),
            argument("rviz", "Starts RViz.", default="false", choices=("true", "false")),
            argument(
                "view",
                "Serves the live view in the browser; the log says where.",
                default="false",
                choices=("true", "false"),
            ),
            argument(
                "record",
                "Records all topics into a bag in the working directory, by `ros2 bag record` "
                "where it is installed.",
                default="false",
                choices=("true", "false"),
            ),
            argument(
                "monitor",
                "Measures periods, ages and losses; the report is written to the "
                "working directory.",
                default="false",
                choices=("true", "false"),
            ),
            argument(
                "duration",
                "Sets the simulated time until the verdict [s]; if empty, the launch "
                "runs until it is interrupted.",
            ),
            only_with("plant", ("sim",), "duration", *OF_THE_SIMULATOR),
            only_with("plant", ("sim", "replay"), "start_after", "start_paused", "start_timeout"),
            only_with("plant", ("replay",), "bag", "rate", "loop", "what"),
            only_with("plant", ("hil",), "serial_port", "udp_port", "transport", "key_file"),
            existing_file("params_file"),
            needs_recorder(IfCondition(LaunchConfiguration("record"))),
            needs_library("viser", "view", "view:=true", IfCondition(LaunchConfiguration("view"))),
            begin_after(
                ("record", "true", recorder_name()),
                ("monitor", "true", "pendulum_monitor"),
                ("duration", "", "pendulum_referee"),
                ("plant", "replay", "pendulum_controller"),
            ),
            SetLaunchConfiguration(
                "use_sim_time", "false", condition=if_is("plant", "hil")
            ),  # a board runs in system time
            # first: where RViz is missing, launch ends here, and would leave behind what it has
            # started before
            IncludeLaunchDescription(
                [folder, "/display.launch.py"], condition=IfCondition(LaunchConfiguration("rviz"))
            ),
            IncludeLaunchDescription(
                [folder, "/simulator.launch.py"], condition=if_is("plant", "sim")
            ),
            IncludeLaunchDescription(
                [folder, "/hil.launch.py"],
                launch_arguments=[("board", "plant")],
                condition=if_is("plant", "hil"),
            ),
            IncludeLaunchDescription(
                [folder, "/replay.launch.py"], condition=if_is("plant", "replay")
            ),
            IncludeLaunchDescription(
                [folder, "/controller.launch.py"], condition=unless_is("plant", "hil")
            ),
            launch_node(
                "viewer",
                files=("pendulum.yaml",),
                parameters={"frame_prefix": "frame_prefix"},
                condition=IfCondition(LaunchConfiguration("view")),
                is_essential=False,
            ),
            launch_recorder(IfCondition(LaunchConfiguration("record"))),
            launch_node(
                "monitor",
                files=("pendulum.yaml",),
                condition=IfCondition(LaunchConfiguration("monitor")),
            ),
            launch_node(
                "referee", parameters={"duration": "duration"}, condition=if_given("duration")
            ),
        ]
    )
