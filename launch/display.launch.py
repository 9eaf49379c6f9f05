"""Launch RViz with the pendulum in it: `ros2 launch rbdyn_ros display.launch.py`.

The simulator may start before or after it. With a `frame_prefix` the view is a copy of
`rviz_config` in the folder of the launch's log, made for these frames.
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch.logging import launch_config
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.ros.launching import argument, clock_argument, clock_remapping, end_launch, needs
from rbdyn_ros.ros.rviz_view import view_for


def show(context) -> list:
    """Start RViz with the view for the frames of the given prefix."""
    given = context.launch_configurations
    prefix, copy = given["frame_prefix"], launch_config.get_log_file_path("pendulum.rviz")
    view = view_for(given["rviz_config"], prefix, copy)
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            namespace=given["namespace"],
            arguments=["-d", view, "-f", f"{prefix}world"],
            parameters=[{"use_sim_time": given["use_sim_time"] == "true"}],
            remappings=clock_remapping(given),
            on_exit=end_launch,
        )
    ]


def generate_launch_description():
    view = PathJoinSubstitution([FindPackageShare("rbdyn_ros"), "config", "pendulum.rviz"])
    return LaunchDescription(
        [
            argument("rviz_config", "Names the configuration file of RViz.", default=view),
            argument("namespace", "Sets the namespace of the simulator."),
            argument("frame_prefix", "Sets the frame prefix of the simulator."),
            clock_argument(),
            argument(
                "use_sim_time",
                "Makes the nodes follow /clock.",
                default="true",
                choices=("true", "false"),
            ),
            needs("rviz2"),
            OpaqueFunction(function=show),
        ]
    )
