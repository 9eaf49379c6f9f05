"""What every node has, and what the nodes beside simulator and controller have: the bridge, the
replay, the watchers.
"""

import re
from typing import Annotated, NamedTuple

from rbdyn_ros.parameters.simulator import IMU, ROS2_CONTROL
from rbdyn_ros.schema import spec, table


def _processors(text: str) -> str:
    """The text, if it is empty or a list such as 0,2-3."""
    if text and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError("a list of processors, such as 1 or 0,2-3; or empty for all of them")
    return text


class Waiting(NamedTuple):
    """Whom a node that begins time waits for."""

    start_after: Annotated[
        tuple[str, ...],
        spec(
            "Names the nodes that must report on their ~/received that they receive every "
            "topic before time begins, such as pendulum_recorder; if empty, none. A call of"
            " ~/pause starts time immediately.",
            read_only=True,
        ),
    ] = ()
    start_timeout: Annotated[
        float,
        spec(
            "Limits how long these nodes may take, on a steady clock, from the first "
            "command where time begins with it; after that the start fails.",
            "s",
            above=0.0,
            read_only=True,
        ),
    ] = 120.0


class Node(NamedTuple):
    """What every node with a lifecycle has."""

    autostart: Annotated[
        bool,
        spec("Configures and activates the node without a lifecycle manager.", read_only=True),
    ] = True
    frame_prefix: Annotated[
        str,
        spec("Sets what is put before every frame name, without a leading slash.", read_only=True),
    ] = ""
    process_nice: Annotated[
        int,
        spec(
            "Sets the nice value of all threads of the process; values below zero come "
            "before other processes and need a privilege.",
            "",
            "process.nice",
            low=-20,
            high=19,
            read_only=True,
        ),
    ] = 0
    process_fifo: Annotated[
        int,
        spec(
            "Sets the SCHED_FIFO priority, which comes before all ordinary processes and "
            "needs a privilege; 0 is ordinary scheduling.",
            "",
            "process.fifo",
            low=0,
            high=99,
            read_only=True,
        ),
    ] = 0
    process_processors: Annotated[
        str,
        spec(
            "Lists the processors that the process may run on, such as 1 or 0,2-3; if empty, all.",
            "",
            "process.processors",
            refine=_processors,
            read_only=True,
        ),
    ] = ""
    process_gc: Annotated[
        str,
        spec(
            "Chooses Python's garbage collection: on; freeze, which does not search again "
            "what exists after the start; or off.",
            "",
            "process.gc",
            choices=("on", "freeze", "off"),
            read_only=True,
        ),
    ] = "on"


class Hil(NamedTuple):
    """The bridge to a board."""

    board: Annotated[
        str,
        spec(
            "Chooses what the board is: the controller, or the plant.",
            choices=("controller", "plant"),
            read_only=True,
        ),
    ] = "controller"
    transport: Annotated[
        str, spec("Chooses how the board is reached.", choices=("udp", "serial"), read_only=True)
    ] = "udp"
    udp_address: Annotated[
        str,
        spec(
            "Sets the address of this end; 0.0.0.0 accepts packets from the network, "
            "against which key_file protects.",
            "",
            "udp.address",
            read_only=True,
        ),
    ] = "127.0.0.1"
    udp_port: Annotated[
        int, spec("Sets the port of this end.", "", "udp.port", low=1, high=65535, read_only=True)
    ] = 47001
    udp_peer_address: Annotated[
        str,
        spec(
            "Pins the board to this address; if empty, the board is who sends valid frames first.",
            "",
            "udp.peer_address",
            read_only=True,
        ),
    ] = ""
    udp_peer_port: Annotated[
        int,
        spec(
            "Sets the port of the board, where its address is given; 0 is any of that address.",
            "",
            "udp.peer_port",
            low=0,
            high=65535,
            read_only=True,
        ),
    ] = 47002
    serial_port: Annotated[
        str,
        spec(
            "Names the serial device, preferably one of /dev/serial/by-id.",
            "",
            "serial.port",
            read_only=True,
        ),
    ] = "/dev/ttyACM0"
    serial_baud: Annotated[
        int,
        spec(
            "Sets the baud rate of a UART; USB devices ignore it.",
            "bit/s",
            "serial.baud",
            low=1200,
            high=12000000,
            read_only=True,
        ),
    ] = 921600
    key_file: Annotated[
        str,
        spec("Names the file of the key that both ends share; if empty, none.", read_only=True),
    ] = ""
    heartbeat: Annotated[
        float,
        spec(
            "Sets the time between two heartbeats, which are sent with or without a state "
            "or a force.",
            "s",
            low=0.001,
            high=1.0,
            read_only=True,
        ),
    ] = 0.02
    link_timeout: Annotated[
        float,
        spec(
            "Sets the silence, on a steady clock, after which the board is given up and the"
            " force is zero.",
            "s",
            low=0.005,
            high=10.0,
            read_only=True,
        ),
    ] = 0.1
    send_window: Annotated[
        int,
        spec(
            "Limits the states, or forces for a plant, that are on their way to the board "
            "without an echo; further ones are held back.",
            low=1,
            high=1000,
            read_only=True,
        ),
    ] = 3
    command_timeout: Annotated[
        float,
        spec(
            "Sets the age from which a command for the plant's board no longer counts, so "
            "that the force is zero.",
            "s",
            low=0.005,
            high=10.0,
        ),
    ] = 0.1
    retry: Annotated[
        float,
        spec(
            "Sets the time between two attempts to open a port that has vanished, and "
            "between two heartbeats to a silent board.",
            "s",
            low=0.05,
            high=60.0,
            read_only=True,
        ),
    ] = 1.0


class Replay(NamedTuple):
    """What is played of a bag, and how fast."""

    path: Annotated[
        str,
        spec("Names the folder of the bag, as the recorder or ~/dump wrote it.", read_only=True),
    ] = ""
    rate: Annotated[
        float,
        spec("Sets how many recorded seconds are played per second.", above=0.0, high=1000.0),
    ] = 1.0
    loop: Annotated[bool, spec("Begins again at the end of the bag; time then steps back.")] = (
        False
    )
    start_paused: Annotated[
        bool, spec("Makes the replay wait for a call of ~/pause with false.", read_only=True)
    ] = False
    what: Annotated[
        str,
        spec(
            "Chooses what is played: only what the plant published, so that a controller "
            "can answer anew, or everything.",
            choices=("plant", "all"),
            read_only=True,
        ),
    ] = "plant"
    topics: Annotated[
        tuple[str, ...],
        spec(
            "Plays only these topics, named with their namespace; if empty, everything that"
            " replay.what allows.",
            read_only=True,
        ),
    ] = ()


class Recorder(NamedTuple):
    """What the recorder writes."""

    path: Annotated[
        str,
        spec(
            "Names the folder of the bag; if empty, it is rosbag2_<time> in the working "
            "directory.",
            read_only=True,
        ),
    ] = ""
    topics: Annotated[
        tuple[str, ...],
        spec(
            "Lists the topics to record, with their namespace; if empty, all are recorded but "
            "those that ROS hides, such as the feedback of an action.",
            read_only=True,
        ),
    ] = ()


class Referee(NamedTuple):
    """How long the referee looks."""

    duration: Annotated[
        float,
        spec(
            "Sets the simulated time after which the rod must stand.",
            "s",
            above=0.0,
            read_only=True,
        ),
    ] = 20.0


class ViewerNode(NamedTuple):
    """Whom the viewer shows, beside what the page has."""

    plant_node: Annotated[
        str,
        spec(
            "Names the node that takes pushes and services; if empty, the one that publishes the "
            "state.",
            read_only=True,
        ),
    ] = ""
    controller_node: Annotated[
        str,
        spec(
            "Names the node whose law is shown; if empty, the one that publishes on cart/command.",
            read_only=True,
        ),
    ] = ""
    open_browser: Annotated[
        bool,
        spec(
            "Opens the page in a browser at the start, where there is a display.", read_only=True
        ),
    ] = False


NODE = table(Node)
WAITING = table(Waiting)
HIL = (*table(Hil), IMU, ROS2_CONTROL)
REPLAY = table(Replay, "replay.")
RECORDER = table(Recorder, "bag.")
REFEREE = table(Referee)
VIEWER_NODE = (*table(ViewerNode), *(p for p in NODE if p.name == "frame_prefix"))
