"""Launch the cart under ros2_control: `ros2 launch rbdyn_ros ros2_control.launch.py`.

The simulator, a controller manager whose hardware it is, and the controllers.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.ros.launching import (
    ENDING,
    argument,
    clock_remapping,
    end_launch,
    existing_file,
    fail_after_error,
    if_is,
    needs,
)


def control(context) -> list:
    """Start the controller manager, and have it start the controllers."""
    given = context.launch_configurations
    file = given["controllers_file"]
    common = dict(namespace=given["namespace"], remappings=clock_remapping(given), output="screen")
    return [
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[file, {"use_sim_time": given["use_sim_time"] == "true"}],
            sigkill_timeout=ENDING,
            on_exit=end_launch,
            **common,
        ),
        Node(
            package="controller_manager",
            executable="spawner",
            arguments=[
                "joint_state_broadcaster",
                given["cart_controller"],
                "--param-file",
                file,
            ],
            on_exit=fail_after_error,
            **common,
        ),
    ]


def generate_launch_description():
    package = FindPackageShare("rbdyn_ros")
    return LaunchDescription(
        [
            argument(
                "cart_controller",
                "Names the controller that commands the cart; controllers_file describes it.",
                "cart_effort_controller",
            ),
            argument(
                "controllers_file",
                "Names the parameter file of the controller manager and its controllers.",
                PathJoinSubstitution([package, "config", "ros2_control.yaml"]),
            ),
            existing_file("controllers_file"),
            argument(
                "use_sim_time",
                "Makes the controller manager follow /clock, and time begin at once.",
                "false",
                ("true", "false"),
            ),
            needs("controller_manager"),
            needs("joint_state_broadcaster"),
            needs("joint_state_topic_hardware_interface"),
            needs(
                "effort_controllers",
                if_is("cart_controller", "cart_effort_controller"),
                "start with cart_controller:=cart_forward_controller",
            ),
            IncludeLaunchDescription(
                PathJoinSubstitution([package, "launch", "simulator.launch.py"]),
                launch_arguments=[
                    ("ros2_control", "true"),
                    ("start_immediately", LaunchConfiguration("use_sim_time")),
                ],
            ),
            OpaqueFunction(function=control),
        ]
    )
