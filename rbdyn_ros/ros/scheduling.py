"""How the system and Python's collector treat a process of nodes: priority, processors, garbage.

What is asked for and refused is said in one sentence, and the node goes on without it. What Python
can do ends at its interpreter lock: a thread of high priority waits for the lock as long as
another one holds it, `process.SWITCH_INTERVAL` at most per turn, and a page that is not in memory
is waited for. Nothing here makes it a hard real-time program.
"""

import gc
import os
from collections.abc import Callable, Mapping
from typing import Any

PRIVILEGE = (
    "give the user an `rtprio` and a `nice` limit "
    "(/etc/security/limits.d), or the process "
    "CAP_SYS_NICE, or leave it 0"
)


def apply(values: Mapping[str, Any], warn: Callable[[str], object]) -> None:
    """Put every thread of this process where `values` ("process.*") want it; `warn(sentence)` for
    what is refused.

    ValueError if a processor is named that this machine does not let it have. Later threads
    inherit from these.
    """
    if values["process.processors"]:
        _pin(values["process.processors"])
    if values["process.nice"]:
        _request(
            f"process.nice is {values['process.nice']}",
            lambda thread: os.setpriority(os.PRIO_PROCESS, thread, values["process.nice"]),
            warn,
        )
    if values["process.fifo"]:
        priority = os.sched_param(values["process.fifo"])
        _request(
            f"process.fifo is {values['process.fifo']}",
            lambda thread: os.sched_setscheduler(thread, os.SCHED_FIFO, priority),
            warn,
        )


def settle(values: Mapping[str, Any]) -> None:
    """After the start: let the collector look at what is new only, or not at all."""
    if values["process.gc"] == "on":
        return
    gc.collect()
    gc.freeze()
    if values["process.gc"] == "off":
        gc.disable()


def processors(text: str) -> set[int]:
    """The numbers in a list such as 0,2-3."""
    ends = [part.partition("-") for part in text.split(",")]
    return {
        number for first, _, last in ends for number in range(int(first), int(last or first) + 1)
    }


def _pin(text: str) -> None:
    wanted, there = processors(text), os.sched_getaffinity(0)
    if not wanted <= there:
        missing = ", ".join(map(str, sorted(wanted - there)[:4]))
        raise ValueError(
            f"process.processors is {text}; this process may not have {missing}, only "
            f"{', '.join(map(str, sorted(there)))}"
        )
    _each_thread(lambda thread: os.sched_setaffinity(thread, wanted))


def _request(asked: str, put: Callable, warn: Callable) -> None:
    try:
        _each_thread(put)
    except PermissionError:
        warn(f"{asked}, which this user may not set; the node continues without it; {PRIVILEGE}")


def _each_thread(put: Callable) -> None:
    """`put(thread)` for every thread of this process, those that the middleware starts meanwhile
    too.
    """
    done = set()
    while there := {int(name) for name in os.listdir("/proc/self/task")} - done:
        for thread in there:
            try:
                put(thread)
            except ProcessLookupError:  # it has just ended
                continue
        done |= there
