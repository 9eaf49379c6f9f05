"""The bridge to a board: what is on it, through which port, and when either end is given up."""

from rbdyn_ros.settings.parameter import Parameter
from rbdyn_ros.settings.simulator import SIMULATOR

_IMU = next(parameter for parameter in SIMULATOR if parameter.name == "imu.position")  # a frame of the description
HIL = (
    Parameter(
        "board", "controller", "", "what the board is: the controller, or the plant", "string", choices=("controller", "plant"), read_only=True
    ),
    Parameter("transport", "udp", "", "how it is reached", "string", choices=("udp", "serial"), read_only=True),
    Parameter("udp.address", "127.0.0.1", "", "of this end; 0.0.0.0 lets the network in, which nothing here protects", "string", read_only=True),
    Parameter("udp.port", 47001, "", "of this end", "int", low=1, high=65535, read_only=True),
    Parameter("udp.peer_address", "", "", "of the board; the first one with a valid frame if empty", "string", read_only=True),
    Parameter("udp.peer_port", 47002, "", "of the board, where its address is given", "int", low=1, high=65535, read_only=True),
    Parameter("serial.port", "/dev/ttyACM0", "", "the device, better one of /dev/serial/by-id", "string", read_only=True),
    Parameter("serial.baud", 921600, "bit/s", "of a UART; USB devices ignore it", "int", low=1200, high=12_000_000, read_only=True),
    Parameter("heartbeat", 0.02, "s", "between two signs of life, with or without a state or a force", low=0.001, high=1.0, read_only=True),
    Parameter(
        "link_timeout", 0.1, "s", "silence, on a steady clock, after which the board is given up: zero force", low=0.005, high=10.0, read_only=True
    ),
    Parameter(
        "send_window",
        3,
        "",
        "States, or forces for a plant, that may be on their way to the board without an echo; what comes beyond is held back",
        "int",
        low=1,
        high=1000,
        read_only=True,
    ),
    Parameter("command_timeout", 0.1, "s", "age at which a command for the plant's board stops to count: zero force", low=0.005, high=10.0),
    Parameter("retry", 1.0, "s", "between two attempts to open a port that has vanished, and between two heartbeats to a board that is silent", low=0.05, high=60.0, read_only=True),
    _IMU,
)
