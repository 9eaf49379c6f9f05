"""RViz with the pendulum in it: `ros2 launch rbdyn_ros display.launch.py`. The simulator may start before or after it."""

from launch import LaunchDescription
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.nodes.launching import argument, ended, needs


def generate_launch_description():
    view = PathJoinSubstitution([FindPackageShare("rbdyn_ros"), "config", "pendulum.rviz"])
    return LaunchDescription(
        [
            argument("rviz_config", "what RViz shows", default=view),
            argument("namespace", "of the simulator"),
            argument("frame_prefix", "of the simulator"),
            argument("use_sim_time", "follow /clock", default="true", choices=("true", "false")),
            needs("rviz2"),
            Node(
                package="rviz2",
                executable="rviz2",
                namespace=LaunchConfiguration("namespace"),
                arguments=["-d", LaunchConfiguration("rviz_config"), "-f", [LaunchConfiguration("frame_prefix"), "world"]],
                parameters=[{"use_sim_time": LaunchConfiguration("use_sim_time")}],
                on_exit=ended,
            ),
        ]
    )
