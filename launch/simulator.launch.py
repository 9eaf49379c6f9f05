"""Launch the simulator: `ros2 launch rbdyn_ros simulator.launch.py`."""

from launch import LaunchDescription

from rbdyn_ros.ros.launching import (
    SWITCH,
    argument,
    launch_node,
    shared_arguments,
    start_conditions,
)


def generate_launch_description():
    return LaunchDescription(
        [
            *shared_arguments(),
            *start_conditions(),
            argument(
                "lockstep",
                "Makes the simulator wait for the command that answers each state.",
                choices=SWITCH,
            ),
            argument(
                "real_time_factor",
                "Sets how many seconds are simulated per second; zero runs as fast as possible.",
            ),
            argument(
                "seed",
                "Seeds the random numbers of the faults; the same seed in lockstep "
                "gives the same run.",
            ),
            argument(
                "start_paused",
                "Lets time begin at a call of ~/pause.",
                choices=SWITCH,
            ),
            argument(
                "start_immediately",
                "Lets time begin at once, before the first command.",
                choices=SWITCH,
            ),
            argument(
                "ros2_control",
                "Describes the cart as hardware of ros2_control.",
                choices=SWITCH,
            ),
            launch_node(
                "simulator",
                files=("pendulum.yaml", "simulation.yaml"),
                parameters={
                    "autostart": "autostart",
                    "start_after": "start_after",
                    "start_timeout": "start_timeout",
                    "frame_prefix": "frame_prefix",
                    "lockstep.enabled": "lockstep",
                    "real_time_factor": "real_time_factor",
                    "ros2_control": "ros2_control",
                    "seed": "seed",
                },
                switched={
                    "start_immediately": ("start", "immediately"),
                    "start_paused": ("start", "paused"),
                },
            ),
        ]
    )
