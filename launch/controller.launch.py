"""Launch the controller: `ros2 launch rbdyn_ros controller.launch.py controller:=lqr`."""

from launch import LaunchDescription

from rbdyn_ros.ros.launching import SWITCH, argument, launch_node, shared_arguments


def generate_launch_description():
    return LaunchDescription(
        [
            *shared_arguments(),
            argument(
                "controller",
                "Names the control law, whose options are in "
                "config/<controller>.yaml, or gives the path of its file.",
                default="lqr",
            ),
            argument(
                "use_sim_time", "Makes the nodes follow /clock.", default="true", choices=SWITCH
            ),
            launch_node(
                "controller",
                files=("pendulum.yaml", "{controller}.yaml"),
                parameters={
                    "autostart": "autostart",
                    "controller": "controller",
                    "frame_prefix": "frame_prefix",
                    "use_sim_time": "use_sim_time",
                },
            ),
        ]
    )
