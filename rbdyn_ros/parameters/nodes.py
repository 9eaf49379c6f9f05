"""What every node has, and what the nodes beside simulator and controller have: the bridge, the
replay, the watchers.
"""

import re

from rbdyn_ros.parameters.simulator import IMU, LONGEST, ROS2_CONTROL, fixed
from rbdyn_ros.schema import Parameter, setting


def _processors(text: str) -> str:
    """The text, if it is empty or a list such as 0,2-3."""
    if text and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError("a list of processors, such as 1 or 0,2-3; or empty for all of them")
    if any(len(number) > 4 for number in re.findall(r"\d+", text)):  # what no machine has
        raise ValueError("its numbers must be at most 9999")
    return text


# whom a node that begins time waits for
WAITING = (
    Parameter(
        "start_after",
        (),
        "",
        "Names the nodes that must report on their ~/received that they receive every topic "
        "before time begins, such as pendulum_recorder; if empty, none. A call of ~/pause starts"
        " time immediately.",
        "string_array",
        read_only=True,
    ),
    fixed(
        "start_timeout",
        120.0,
        "s",
        "Limits how long these nodes may take, on a steady clock, from the first command where "
        "time begins with it; after that the start fails.",
        above=0.0,
    ),
)


_FRAME_PREFIX = fixed(
    "frame_prefix", "", "", "Sets what is put before every frame name, without a leading slash."
)
# what every node with a lifecycle has
NODE = (
    fixed("autostart", True, "", "Configures and activates the node without a lifecycle manager."),
    _FRAME_PREFIX,
    fixed(
        "process.nice",
        0,
        "",
        "Sets the nice value of all threads of the process; values below zero come before other "
        "processes and need a privilege.",
        low=-20,
        high=19,
    ),
    fixed(
        "process.fifo",
        0,
        "",
        "Sets the SCHED_FIFO priority, which comes before all ordinary processes and needs a "
        "privilege; 0 is ordinary scheduling.",
        low=0,
        high=99,
    ),
    fixed(
        "process.processors",
        "",
        "",
        "Lists the processors that the process may run on, such as 1 or 0,2-3; if empty, all.",
        refine=_processors,
    ),
    fixed(
        "process.gc",
        "on",
        "",
        "Chooses Python's garbage collection: on; freeze, which does not search again what "
        "exists after the start; or off.",
        choices=("on", "freeze", "off"),
    ),
)

# the bridge to a board
HIL = (
    fixed(
        "board",
        "controller",
        "",
        "Chooses what the board is: the controller, or the plant.",
        choices=("controller", "plant"),
    ),
    fixed("transport", "udp", "", "Chooses how the board is reached.", choices=("udp", "serial")),
    fixed(
        "udp.address",
        "127.0.0.1",
        "",
        "Sets the address of this end; 0.0.0.0 accepts packets from the network, against which "
        "key_file protects.",
    ),
    fixed("udp.port", 47001, "", "Sets the port of this end.", low=1, high=65535),
    fixed(
        "udp.peer_address",
        "",
        "",
        "Pins the board to this address; if empty, the board is who sends valid frames first.",
    ),
    fixed(
        "udp.peer_port",
        47002,
        "",
        "Sets the port of the board, where its address is given; 0 is any of that address.",
        low=0,
        high=65535,
    ),
    fixed(
        "serial.port",
        "/dev/ttyACM0",
        "",
        "Names the serial device, preferably one of /dev/serial/by-id.",
    ),
    fixed(
        "serial.baud",
        921600,
        "bit/s",
        "Sets the baud rate of a UART; USB devices ignore it.",
        low=1200,
        high=12000000,
    ),
    fixed("key_file", "", "", "Names the file of the key that both ends share; if empty, none."),
    fixed(
        "heartbeat",
        0.02,
        "s",
        "Sets the time between two heartbeats, which are sent with or without a state or a force.",
        low=0.001,
        high=1.0,
    ),
    fixed(
        "link_timeout",
        0.1,
        "s",
        "Sets the silence, on a steady clock, after which the board is given up and the force is"
        " zero.",
        low=0.005,
        high=10.0,
    ),
    fixed(
        "send_window",
        3,
        "",
        "Limits the states, or forces for a plant, that are on their way to the board without an"
        " echo; further ones are held back.",
        low=1,
        high=1000,
    ),
    setting(
        "command_timeout",
        0.1,
        "s",
        "Sets the age from which a command for the plant's board no longer counts, so that the "
        "force is zero.",
        low=0.005,
        high=10.0,
    ),
    fixed(
        "retry",
        1.0,
        "s",
        "Sets the time between two attempts to open a port that has vanished, and between two "
        "heartbeats to a silent board.",
        low=0.05,
        high=60.0,
    ),
    IMU,
    ROS2_CONTROL,
)

# what is played of a bag, and how fast
REPLAY = (
    fixed(
        "replay.path", "", "", "Names the folder of the bag, as the recorder or ~/dump wrote it."
    ),
    setting(
        "replay.rate",
        1.0,
        "",
        "Sets how many recorded seconds are played per second.",
        above=0.0,
        high=1000.0,
    ),
    setting("replay.loop", False, "", "Begins again at the end of the bag; time then steps back."),
    fixed(
        "replay.start_paused", False, "", "Makes the replay wait for a call of ~/pause with false."
    ),
    fixed(
        "replay.what",
        "plant",
        "",
        "Chooses what is played: only what the plant published, so that a controller can answer "
        "anew, or everything.",
        choices=("plant", "all"),
    ),
    Parameter(
        "replay.topics",
        (),
        "",
        "Plays only these topics, named with their namespace; if empty, everything that "
        "replay.what allows.",
        "string_array",
        read_only=True,
    ),
)

# what the recorder writes
RECORDER = (
    fixed(
        "bag.path",
        "",
        "",
        "Names the folder of the bag; if empty, it is rosbag2_<time> in the working directory.",
    ),
    Parameter(
        "bag.topics",
        (),
        "",
        "Lists the topics to record, with their namespace; if empty, all are recorded but those "
        "that ROS hides, such as the feedback of an action.",
        "string_array",
        read_only=True,
    ),
)

# how long the referee looks
REFEREE = (
    fixed(
        "duration",
        20.0,
        "s",
        "Sets the simulated time after which the rod must stand.",
        above=0.0,
        high=LONGEST,
    ),
)

# whom the viewer shows, beside what the page has
VIEWER_NODE = (
    fixed(
        "plant_node",
        "",
        "",
        "Names the node that takes pushes and services; if empty, the one that publishes the "
        "state.",
    ),
    fixed(
        "controller_node",
        "",
        "",
        "Names the node whose law is shown; if empty, the one that publishes on cart/command.",
    ),
    fixed(
        "open_browser",
        False,
        "",
        "Opens the page in a browser at the start, where there is a display.",
    ),
    _FRAME_PREFIX,
)
