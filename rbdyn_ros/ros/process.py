"""A process with nodes in it: spin until SIGINT, SIGTERM or SIGHUP, then close the nodes.

**Scheduling**: priority, processors and garbage collector of the process. A request that the
system refuses is reported in one sentence, and the node goes on without it. Python's interpreter
lock is the limit: a thread of high priority waits for the lock as long as another one holds it, at
most `SWITCH_INTERVAL` each time, and for a page that is not in memory. It is not a hard real-time
program.

**Executors** for nodes that have to answer at once, and for nodes that only receive.

Private interface: rclpy.experimental.EventsExecutor, which may change without notice.
Tested with rclpy 7.1.6 (Jazzy).
Fallback: rclpy's SingleThreadedExecutor, which takes half a millisecond more per round trip.
"""

import gc
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import rclpy
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.utilities import ok, remove_ros_args, try_shutdown

from rbdyn_ros import console, interrupts, tracebacks
from rbdyn_ros.parameters import yaml_file

POLITE = 10  # niceness of a process that only observes, so that the control loop has priority
# [s] after which a thread gets the interpreter from another; Python's 5 ms are longer than a tick
SWITCH_INTERVAL = 5e-4
START_GRACE = 1.0  # [s] that a node may still take to start after a signal


# It respects callback groups, so it is for nodes with `polled` subscriptions.
wait_set_executor = SingleThreadedExecutor


HIGHEST_DOMAIN = 232  # whose ports DDS can number


def init(args: list[str] | None = None, context: Context | None = None) -> None:
    """Initialize rclpy; the caller handles signals. Raise CannotBegin, in one sentence, where the
    environment does not let it.
    """
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not (domain.isdecimal() and int(domain) <= HIGHEST_DOMAIN):
        raise console.CannotBegin(
            f"ROS_DOMAIN_ID is {domain}; it must be a whole number >= 0 and <= {HIGHEST_DOMAIN}"
        )
    try:
        rclpy.init(args=args, context=context, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError of rclpy
        raise console.CannotBegin(_sentence(error, args or sys.argv)) from None


def join() -> None:
    """Join the graph with log level warn; the caller handles signals."""
    init(["--ros-args", "--log-level", "warn"])


def watcher(name: str) -> tuple[Node, SingleThreadedExecutor]:
    """Join the graph with a node of this name. Return (the node, its executor)."""
    join()
    node, executor = rclpy.create_node(name), wait_set_executor()
    executor.add_node(node)
    return node, executor


def leave(*nodes: Node) -> None:
    """Destroy these nodes, and leave the graph."""
    for node in nodes:
        node.destroy_node()
    try_shutdown()


class Visitor:
    """A node with a context and an executor of its own, whatever else this process has."""

    def __init__(self, name: str, namespace: str):
        self._context = Context()
        init(context=self._context)
        self.node = rclpy.create_node(name, context=self._context, namespace=namespace)
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)

    def call(
        self,
        client: Client,
        request: Any,
        timeout: float,
        advice: str,
        look: Callable[[], object] = lambda: None,
        repeat: float = math.inf,
    ) -> Any:
        """Return the response of a service, which may take so long [s]; call `look()` meanwhile.
        Raise RuntimeError, with the advice, if there is none.

        A request that may arrive twice is sent again every `repeat` seconds: a server that has not
        discovered the reader of a new client within 100 ms drops its response (Fast DDS).
        """
        futures: list[Future] = []
        start = time.monotonic()
        while not any(future.done() for future in futures):
            now = time.monotonic()
            due = not futures or now > start + repeat * len(futures)
            if due and client.service_is_ready():
                futures.append(client.call_async(request))
            self.executor.spin_once(timeout_sec=0.005)
            look()
            if now > start + timeout:
                raise RuntimeError(
                    f"{client.srv_name} does not answer within {timeout:g} s{advice}"
                )
        return next(future.result() for future in futures if future.done())

    def leave(self) -> None:
        """Leave the graph."""
        if self._context.ok():
            self.executor.shutdown()
            self.node.destroy_node()
            self._context.try_shutdown()


def events_executor() -> Executor:
    """Return rclpy's EventsExecutor if this version has it, else its SingleThreadedExecutor.

    The latter waits for a set of entities and checks each of them before every callback, half a
    millisecond for the two nodes; the middleware notifies the former. It ignores callback groups,
    and its `spin()` (rclpy 7.1.6) does not return: call `spin_once`.
    """
    try:
        # rclpy documents this place, and does not list it in `__all__`
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


class Signals:
    """Sets `stop` on a signal.

    Nobody looks at it until `end_start()`, and the warm-up may compile for a minute: after
    `START_GRACE` another thread calls `leave()`, which ends the process.
    """

    def __init__(self, leave: Callable[[], object]):
        self.stop, self._starting = False, True
        self._leave, self._lock = leave, threading.Lock()
        for number in interrupts.ending_signals():
            signal.signal(number, self._take)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if self._starting and not self.stop:
            timer = threading.Timer(START_GRACE, self._leave_start)
            timer.daemon = True
            timer.start()
        self.stop = True

    def _leave_start(self) -> None:
        with self._lock:
            if self._starting:
                self._leave()

    def end_start(self) -> None:
        """Let the caller look at `stop` from now on."""
        with self._lock:  # for ever, where the process is being left
            self._starting = False


def run(
    kinds: tuple[Callable[[], Any], ...],
    args: list[str] | None = None,
    until: Callable[[Any], object] = lambda node: False,
    failed: Callable[[Any], object] = lambda node: False,
    executor: Callable[[], Executor] = wait_set_executor,
    nice: int = 0,
) -> int:
    """Create one node of each kind and spin them in this process. Return the exit code: 0 after a
    signal, or when `until(node)` is true of one; 1, with one sentence, if a node does not start or
    fails, or if `failed(node)` is true of one in the end.

    `nice` is the niceness of a process that only observes. Its end, such as a report or the index
    of a bag, has the niceness that the process started with: on a busy machine a nice process gets
    too little time to end before it is killed.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    nodes: list[Any] = []
    started: list[Any] = []

    def leave() -> None:
        """End the process while a node starts; those that have started end as usual."""
        _close(started)
        sys.stdout.flush()
        os._exit(int(any(map(failed, started))))

    signals = Signals(leave)
    closing = ThreadPoolExecutor(1)
    closing.submit(int).result()  # starts its thread now, as each thread has its own niceness
    os.nice(nice)
    try:
        init(args)
        if args is None:
            _refuse_words(remove_ros_args(sys.argv)[1:])
        spinning = executor()
        for kind in kinds:
            nodes.append(kind())
            spinning.add_node(nodes[-1])
        _start(nodes, started, signals)
        signals.end_start()
        spin(spinning, lambda: signals.stop or any(map(until, nodes)))
    except Exception as error:
        if not isinstance(error, (ValueError, RuntimeError)):  # their messages are complete
            traceback.print_exc()
        print(f"rbdyn_ros: {tracebacks.sentence(error)}", file=sys.stderr)
        return 1
    finally:
        signals.end_start()
        closing.submit(_close, nodes).result()
    return int(any(map(failed, nodes)))


def _close(nodes: list[Any]) -> None:
    for node in reversed(nodes):
        node.close()
        node.destroy_node()
    try_shutdown()


def _start(nodes: list[Any], started: list[Any], signals: Signals) -> None:
    scheduled = [node for node in nodes if "process.nice" in node.parameters.values]
    for node in scheduled:  # before it starts threads of its own, which inherit the scheduling
        apply_scheduling(node.parameters.values, node.get_logger().warning)
    for node in nodes:
        if signals.stop:
            return
        node.autostart()
        started.append(node)
    for node in scheduled:
        settle_collector(node.parameters.values)


def _refuse_words(words: list[str]) -> None:
    """Raise ValueError for words of the command line that are no ROS arguments: rcl ignores
    them.
    """
    if words:
        raise ValueError(
            f"{' '.join(words)}: a node takes ROS arguments only, which follow --ros-args, such "
            "as --ros-args -p NAME:=VALUE; `python -m rbdyn_ros parameters` lists the parameters"
        )


_RULES = {
    "parameter override": "-p NAME:=VALUE, such as -p gravity:=1.62",
    "remap": "-r FROM:=TO, such as -r __node:=name or -r __ns:=/name",
}


def _sentence(error: Exception, words: list[str]) -> str:
    """Return why rclpy does not begin. If rcl cannot parse a file of the command line `words`,
    that is the error of this package's own reader, which names the line and the reason; a rule
    that rcl cannot parse is named with its form.
    """
    said = re.sub(r",? at /\S+:\d+", "", tracebacks.sentence(error))  # places in rcl
    if "Couldn't parse params file" in said:
        files = [word for flag, word in zip(words, words[1:]) if flag == "--params-file"]
        try:
            for file in files:
                yaml_file.read_files([file])
        except ValueError as unreadable:
            return str(unreadable)
    mixed = "Sequence should be of same type" in said
    rule = re.match(r".*Couldn't parse ([a-z ]+) rule: '(.*)'\. Error: ", said)
    if rule and not mixed and rule[1] in _RULES:
        return f"{rule[2]} cannot be read; write {_RULES[rule[1]]}"
    hint = "; write every number of a list with a point: [0.1, 0.0, 0.0]" if mixed else ""
    return said + hint


def spin(executor: Executor, stopped: Callable[[], object]) -> None:
    """Run callbacks until `stopped()`."""
    try:
        while ok() and not stopped():
            executor.spin_once(timeout_sec=0.1)
    except ExternalShutdownException:
        pass


PRIVILEGE = (
    "give the user an `rtprio` and a `nice` limit "
    "(/etc/security/limits.d), or the process "
    "CAP_SYS_NICE, or leave it 0"
)


def apply_scheduling(values: Mapping[str, Any], warn: Callable[[str], object]) -> None:
    """Apply the scheduling that `values` ("process.*") request to every thread of this process;
    call `warn(sentence)` for each that is refused.

    Raise ValueError if a processor is named that this process may not use. Later threads inherit
    from these.
    """
    if values["process.processors"]:
        _pin(values["process.processors"])
    nice, fifo = values["process.nice"], values["process.fifo"]
    for name, value, put in (
        ("nice", nice, lambda thread: os.setpriority(os.PRIO_PROCESS, thread, nice)),
        ("fifo", fifo, lambda t: os.sched_setscheduler(t, os.SCHED_FIFO, os.sched_param(fifo))),
    ):
        try:
            if value:
                _each_thread(put)
        except PermissionError:
            asked = f"process.{name} is {value}, which this user may not set"
            warn(f"{asked}; the node continues without it; {PRIVILEGE}")


def settle_collector(values: Mapping[str, Any]) -> None:
    """Restrict the garbage collector, after the start, to new objects, or disable it."""
    if values["process.gc"] == "on":
        return
    gc.collect()
    gc.freeze()
    if values["process.gc"] == "off":
        gc.disable()


def processors(text: str) -> set[int]:
    """Return the numbers in a list such as 0,2-3."""
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


def _each_thread(put: Callable) -> None:
    """Call `put(thread)` for every thread of this process, including those that the middleware
    starts meanwhile.
    """
    done = set()
    while there := {int(name) for name in os.listdir("/proc/self/task")} - done:
        for thread in there:
            try:
                put(thread)
            except ProcessLookupError:  # it has just ended
                continue
        done |= there
