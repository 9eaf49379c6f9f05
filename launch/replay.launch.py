"""A recorded bag on its own topics: `ros2 launch rbdyn_ros replay.launch.py
bag:=rosbag2_2026_01_31-12_00_00`.

RViz beside it: `ros2 launch rbdyn_ros display.launch.py`.
"""

from launch import LaunchDescription

from rbdyn_ros.ros.launching import SWITCH, argument, shared, start_conditions, started


def generate_launch_description():
    return LaunchDescription(
        [
            *shared(),
            *start_conditions(),
            argument("bag", "folder of the bag"),
            argument("rate", "recorded seconds per second"),
            argument("loop", "begin again at the end", choices=SWITCH),
            argument(
                "what",
                "what the plant said, so that a controller may answer anew; or everything",
                choices=("", "plant", "all"),
            ),
            argument("start_paused", "wait for a call of ~/pause", choices=SWITCH),
            started(
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
