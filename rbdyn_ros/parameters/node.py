"""What every node of this package has."""

import re

from rbdyn_ros.schema import Parameter


def _processors(text: str) -> str:
    """The text, if it is empty or a list such as 0,2-3."""
    if text and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError("a list of processors, such as 1 or 0,2-3; or empty for all of them")
    return text


WAITING = (
    Parameter(
        "start_after",
        (),
        "",
        "Names the nodes that must report on their ~/received that they receive every topic "
        "before "
        "time begins, such as pendulum_recorder; if empty, none. A call of ~/pause starts time "
        "immediately.",
        "string_array",
        read_only=True,
    ),
    Parameter(
        "start_timeout",
        120.0,
        "s",
        "Limits how long these nodes may take, on a steady clock, from the first command where "
        "time begins with it; after that the start fails.",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
)
NODE = (
    Parameter(
        "autostart",
        True,
        "",
        "Configures and activates the node without a lifecycle manager.",
        "bool",
        read_only=True,
    ),
    Parameter(
        "frame_prefix",
        "",
        "",
        "Is put before every frame name, without a leading slash.",
        "string",
        read_only=True,
    ),
    Parameter(
        "process.nice",
        0,
        "",
        "Sets the nice value of all threads of the process; values below zero come before other "
        "processes and need a privilege.",
        "int",
        low=-20,
        high=19,
        read_only=True,
    ),
    Parameter(
        "process.fifo",
        0,
        "",
        "Sets the SCHED_FIFO priority, which comes before all ordinary processes and needs a "
        "privilege; 0 is ordinary scheduling.",
        "int",
        low=0,
        high=99,
        read_only=True,
    ),
    Parameter(
        "process.processors",
        "",
        "",
        "Lists the processors that the process may run on, such as 1 or 0,2-3; if empty, all.",
        "string",
        refine=_processors,
        read_only=True,
    ),
    Parameter(
        "process.gc",
        "on",
        "",
        "Chooses Python's garbage collection: on; freeze, which does not search again what "
        "exists after the start; or off.",
        "string",
        choices=("on", "freeze", "off"),
        read_only=True,
    ),
)
