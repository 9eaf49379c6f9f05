"""What every node of this package has."""

import re

from rbdyn_ros.settings.parameter import Parameter


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
        "names of the nodes that must report on their ~/received that they receive every topic before time begins, such as pendulum_recorder; "
        "nobody if empty. A call of ~/pause begins at once",
        "string_array",
        read_only=True,
    ),
    Parameter(
        "start_timeout",
        120.0,
        "s",
        "how long these nodes may take, on a steady clock, from the first command where time begins with it; after that the start fails",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
)
NODE = (
    Parameter("autostart", True, "", "configure and activate without waiting for a lifecycle manager", "bool", read_only=True),
    Parameter("frame_prefix", "", "", "put before every frame name, without a leading slash", "string", read_only=True),
    Parameter("process.nice", 0, "", "of all its threads; below zero goes before others, and wants a privilege", "int", low=-20, high=19, read_only=True),
    Parameter("process.fifo", 0, "", "priority of SCHED_FIFO, before everything ordinary, wants a privilege; 0 is ordinary", "int", low=0, high=99, read_only=True),
    Parameter("process.processors", "", "", "it may run on, such as 1 or 0,2-3; all if empty", "string", refine=_processors, read_only=True),
    Parameter(
        "process.gc",
        "on",
        "",
        "Python's search for cycles of garbage: on; freeze: what exists after the start is not searched again; or off",
        "string",
        choices=("on", "freeze", "off"),
        read_only=True,
    ),
)
