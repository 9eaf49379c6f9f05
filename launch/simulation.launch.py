"""Everything: `ros2 launch rbdyn_ros simulation.launch.py rviz:=true record:=true`.

With `duration` a referee ends it after so many simulated seconds; the exit code tells whether the rod stood.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.nodes.launching import argument, if_given, started


def generate_launch_description():
    folder = PathJoinSubstitution([FindPackageShare("rbdyn_ros"), "launch"])
    return LaunchDescription(
        [
            argument("rviz", "show it in RViz", default="false", choices=("true", "false")),
            argument("record", "record all topics into a bag in the working directory", default="false", choices=("true", "false")),
            argument("monitor", "measure periods, ages and losses; the report is in the working directory", default="false", choices=("true", "false")),
            argument("duration", "simulated seconds until the verdict; without it, it runs until it is interrupted"),
            # first: where RViz is missing, launch ends here, and would leave behind what it has started before
            IncludeLaunchDescription([folder, "/display.launch.py"], condition=IfCondition(LaunchConfiguration("rviz"))),
            IncludeLaunchDescription([folder, "/simulator.launch.py"]),
            IncludeLaunchDescription([folder, "/controller.launch.py"]),
            started("recorder", condition=IfCondition(LaunchConfiguration("record"))),
            started("monitor", condition=IfCondition(LaunchConfiguration("monitor"))),
            started("referee", parameters={"duration": "duration"}, condition=if_given("duration")),
        ]
    )
