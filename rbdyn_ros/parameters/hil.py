"""The bridge to a board: what is on it, through which port, and when either end is given up."""

from rbdyn_ros.parameters.simulator import SIMULATOR
from rbdyn_ros.schema import Parameter

_IMU = next(
    parameter for parameter in SIMULATOR if parameter.name == "imu.position"
)  # a frame of the description
HIL = (
    Parameter(
        "board",
        "controller",
        "",
        "Chooses what the board is: the controller, or the plant.",
        "string",
        choices=("controller", "plant"),
        read_only=True,
    ),
    Parameter(
        "transport",
        "udp",
        "",
        "Chooses how the board is reached.",
        "string",
        choices=("udp", "serial"),
        read_only=True,
    ),
    Parameter(
        "udp.address",
        "127.0.0.1",
        "",
        "Sets the address of this end; 0.0.0.0 accepts packets from the network, against which "
        "nothing protects here.",
        "string",
        read_only=True,
    ),
    Parameter(
        "udp.port",
        47001,
        "",
        "Sets the port of this end.",
        "int",
        low=1,
        high=65535,
        read_only=True,
    ),
    Parameter(
        "udp.peer_address",
        "",
        "",
        "Sets the address of the board; if empty, it is that of the first valid frame.",
        "string",
        read_only=True,
    ),
    Parameter(
        "udp.peer_port",
        47002,
        "",
        "Sets the port of the board, where its address is given.",
        "int",
        low=1,
        high=65535,
        read_only=True,
    ),
    Parameter(
        "serial.port",
        "/dev/ttyACM0",
        "",
        "Names the serial device, preferably one of /dev/serial/by-id.",
        "string",
        read_only=True,
    ),
    Parameter(
        "serial.baud",
        921600,
        "bit/s",
        "Sets the baud rate of a UART; USB devices ignore it.",
        "int",
        low=1200,
        high=12_000_000,
        read_only=True,
    ),
    Parameter(
        "heartbeat",
        0.02,
        "s",
        "Sets the time between two heartbeats, which are sent with or without a state or a force.",
        low=0.001,
        high=1.0,
        read_only=True,
    ),
    Parameter(
        "link_timeout",
        0.1,
        "s",
        "Sets the silence, on a steady clock, after which the board is given up and the force is "
        "zero.",
        low=0.005,
        high=10.0,
        read_only=True,
    ),
    Parameter(
        "send_window",
        3,
        "",
        "Limits the states, or forces for a plant, that are on their way to the board without an "
        "echo; further ones are held back.",
        "int",
        low=1,
        high=1000,
        read_only=True,
    ),
    Parameter(
        "command_timeout",
        0.1,
        "s",
        "Sets the age from which a command for the plant's board no longer counts, so that the "
        "force is zero.",
        low=0.005,
        high=10.0,
    ),
    Parameter(
        "retry",
        1.0,
        "s",
        "Sets the time between two attempts to open a port that has vanished, and between two "
        "heartbeats to a silent board.",
        low=0.05,
        high=60.0,
        read_only=True,
    ),
    _IMU,
)
