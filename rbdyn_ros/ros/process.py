"""A process with nodes in it: spin until SIGINT or SIGTERM, then end in good order.

Of priority, processors and garbage collection, what the system refuses is said in one sentence,
and the node goes on without it. What Python can do ends at its interpreter lock: a thread of high
priority waits for the lock as long as another one holds it, `process.SWITCH_INTERVAL` at most per
turn, and a page that is not in memory is waited for. Nothing here makes it a hard real-time
program.
"""

import gc
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from rbdyn_ros import tracebacks
from rbdyn_ros.ros.executor import wait_set_executor
from rbdyn_ros.ros.start import Signals

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
        _ask(
            f"process.nice is {values['process.nice']}",
            lambda thread: os.setpriority(os.PRIO_PROCESS, thread, values["process.nice"]),
            warn,
        )
    if values["process.fifo"]:
        priority = os.sched_param(values["process.fifo"])
        _ask(
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


def _ask(asked: str, put: Callable, warn: Callable) -> None:
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


SWITCH_INTERVAL = (
    5e-4  # [s] how soon a thread gets the interpreter from another; 5 ms is longer than a tick
)


def run(
    kinds: tuple[type, ...],
    args=None,
    until=lambda: False,
    executor=wait_set_executor,
    nice: int = 0,
) -> int:
    """Make one node of each kind and spin them in this process, by an executor of the given kind;
    the exit code.

    `nice`: niceness of a process that only watches. Its end, such as a report or the index of a
    bag, has the niceness that the process came with: on a busy machine a nice process is given too
    little time to end before it is killed. 0 after SIGINT, SIGTERM, or when `until()` is true; 1,
    with one sentence, if a node does not start or fails.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    signals = Signals(starting=True)
    nodes, closing = [], ThreadPoolExecutor(1)
    closing.submit(int).result()  # its thread exists from here on, and niceness is a thread's own
    os.nice(nice)
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        spinning = executor()
        for kind in kinds:
            nodes.append(kind())
            spinning.add_node(nodes[-1])
        _start(nodes)
        signals.starting = False
        spin(spinning, lambda: signals.stop or until())
    except Exception as error:
        if not isinstance(error, (ValueError, RuntimeError)):  # their sentences say all
            traceback.print_exc()
        print(f"rbdyn_ros: {tracebacks.sentence(error)}{_hint(str(error))}", file=sys.stderr)
        return 1
    finally:
        signals.starting = False
        closing.submit(_close, nodes).result()
    return 0


def _close(nodes: list) -> None:
    for node in reversed(nodes):
        node.close()
        node.destroy_node()
    rclpy.try_shutdown()


def _start(nodes: list) -> None:
    scheduled = [node for node in nodes if "process.nice" in node.parameters.values]
    for node in scheduled:  # before it starts threads of its own, which inherit
        apply(node.parameters.values, node.get_logger().warning)
    for node in nodes:
        node.autostart()
    for node in scheduled:
        settle(node.parameters.values)


def _hint(sentence: str) -> str:
    """What to do about a sentence of rcl's that does not say it."""
    mixed = "Sequence should be of same type" in sentence
    return "; write every number of a list with a point: [0.1, 0.0, 0.0]" if mixed else ""


def spin(executor, stopped) -> None:
    """Run callbacks until `stopped()`."""
    try:
        while rclpy.ok() and not stopped():
            executor.spin_once(timeout_sec=0.1)
    except ExternalShutdownException:
        pass
