"""The controller: `ros2 launch rbdyn_ros controller.launch.py controller:=lqr`."""

from launch import LaunchDescription

from rbdyn_ros.ros.launching import SWITCH, argument, shared, started


def generate_launch_description():
    return LaunchDescription(
        [
            *shared(),
            argument(
                "controller",
                "the control law; its options are in config/<controller>.yaml",
                default="lqr",
            ),
            argument("use_sim_time", "follow /clock", default="true", choices=SWITCH),
            started(
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
