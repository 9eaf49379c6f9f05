"""Replay a recorded bag on its own topics: `ros2 launch rbdyn_ros replay.launch.py
bag:=rosbag2_2026_01_31-12_00_00`.

RViz beside it: `ros2 launch rbdyn_ros display.launch.py`.
"""

from launch import LaunchDescription

from rbdyn_ros.ros.launching import (
    SWITCH,
    argument,
    launch_node,
    needs_library,
    shared_arguments,
    start_conditions,
)


def generate_launch_description():
    return LaunchDescription(
        [
            needs_library("rosbags", "bag", "the replay"),
            *shared_arguments(),
            *start_conditions(),
            argument("bag", "Names the folder of the bag."),
            argument("rate", "Sets how many recorded seconds are played per second."),
            argument("loop", "Begins again at the end of the bag.", choices=SWITCH),
            argument(
                "what",
                "Plays only what the plant published, so that a controller can answer "
                "anew, or everything.",
                choices=("", "plant", "all"),
            ),
            argument("start_paused", "Lets time begin at a call of ~/pause.", choices=SWITCH),
            launch_node(
                "replay",
                files=("pendulum.yaml",),
                parameters={
                    "autostart": "autostart",
                    "start_after": "start_after",
                    "start_timeout": "start_timeout",
                    "replay.loop": "loop",
                    "replay.path": "bag",
                    "replay.rate": "rate",
                    "replay.start_paused": "start_paused",
                    "replay.what": "what",
                },
            ),
        ]
    )
