"""A process with nodes in it: spin until SIGINT or SIGTERM, then end in good order."""

import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import ok, try_shutdown

from rbdyn_ros import tracebacks
from rbdyn_ros.ros import scheduling
from rbdyn_ros.ros.executor import wait_set_executor
from rbdyn_ros.ros.start import Signals

POLITE = 10  # niceness of a process that only watches: the loops go first
# [s] how soon a thread gets the interpreter from another; Python's 5 ms are longer than a tick
SWITCH_INTERVAL = 5e-4


def run(
    kinds: tuple[Callable[[], Any], ...],
    args: list[str] | None = None,
    until: Callable[[], object] = lambda: False,
    executor: Callable[[], Executor] = wait_set_executor,
    nice: int = 0,
) -> int:
    """Make one node of each kind and spin them in this process; return the exit code.

    `nice`: niceness of a process that only watches. Its end, such as a report or the index of a
    bag, has the niceness that the process came with: on a busy machine a nice process is given too
    little time to end before it is killed. 0 after SIGINT, SIGTERM, or when `until()` is true; 1,
    with one sentence, if a node does not start or fails.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    signals = Signals(starting=True)
    nodes: list[Any] = []
    closing = ThreadPoolExecutor(1)
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


def _close(nodes: list[Any]) -> None:
    for node in reversed(nodes):
        node.close()
        node.destroy_node()
    try_shutdown()


def _start(nodes: list[Any]) -> None:
    scheduled = [node for node in nodes if "process.nice" in node.parameters.values]
    for node in scheduled:  # before it starts threads of its own, which inherit
        scheduling.apply(node.parameters.values, node.get_logger().warning)
    for node in nodes:
        node.autostart()
    for node in scheduled:
        scheduling.settle(node.parameters.values)


def _hint(sentence: str) -> str:
    """What to do about a sentence of rcl's that does not say it."""
    mixed = "Sequence should be of same type" in sentence
    return "; write every number of a list with a point: [0.1, 0.0, 0.0]" if mixed else ""


def spin(executor: Executor, stopped: Callable[[], object]) -> None:
    """Run callbacks until `stopped()`."""
    try:
        while ok() and not stopped():
            executor.spin_once(timeout_sec=0.1)
    except ExternalShutdownException:
        pass
