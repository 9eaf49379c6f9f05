"""Launch the bridge to a board: `ros2 launch rbdyn_ros hil.launch.py board:=controller
serial_port:=/dev/ttyACM0`.

With `board:=controller` the simulator is its plant; with `board:=plant` the controller node
balances it. RViz beside it: `ros2 launch rbdyn_ros display.launch.py`, with `use_sim_time:=false`
where the board is the plant.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from rbdyn_ros.ros.launching import (
    OF_THE_SIMULATOR,
    argument,
    if_is,
    launch_node,
    only_with,
    shared_arguments,
)


def generate_launch_description():
    folder = PathJoinSubstitution([FindPackageShare("rbdyn_ros"), "launch"])
    return LaunchDescription(
        [
            *shared_arguments(),
            argument(
                "board",
                "Chooses what the board is: the controller, or the plant.",
                default="controller",
                choices=("controller", "plant"),
            ),
            argument(
                "transport",
                "Chooses how the board is reached; it is serial if serial_port is given.",
                choices=("", "udp", "serial"),
            ),
            argument("udp_port", "Sets the UDP port of this end."),
            argument("serial_port", "Names the serial device."),
            argument("key_file", "Names the file of the key that both ends share."),
            only_with("board", ("controller",), *OF_THE_SIMULATOR, "start_paused"),
            only_with("board", ("plant",), "controller"),
            launch_node(
                "hil_bridge",
                files=("pendulum.yaml", "hil.yaml"),
                parameters={
                    "autostart": "autostart",
                    "board": "board",
                    "frame_prefix": "frame_prefix",
                    "key_file": "key_file",
                    "serial.port": "serial_port",
                    "transport": "transport",
                    "udp.port": "udp_port",
                },
                implied={"serial_port": ("transport", "serial")},
            ),
            IncludeLaunchDescription(
                [folder, "/simulator.launch.py"], condition=if_is("board", "controller")
            ),
            IncludeLaunchDescription(
                [folder, "/controller.launch.py"],
                launch_arguments=[("use_sim_time", "false")],
                condition=if_is("board", "plant"),
            ),
        ]
    )
