"""A ROS graph of this test process alone: the nodes under test beside a probe, all over
real DDS.
"""

import gc
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from domain import alone
from forked import Forked

from rbdyn_ros.ros.start import NODES

os.environ.update(alone())  # before rclpy starts; others may run beside
TIMEOUT = (
    240.0  # [s] how long anything may take; a loaded machine is slow, and nothing here is timed
)


@pytest.fixture(scope="module", autouse=True)
def without_nodes_of_other_files():
    """A node that an earlier file of this process has dropped may wait for the collector: it
    would answer, and be counted, as one of the nodes under test.
    """
    gc.collect()


class Graph:
    """Nodes and a probe in one executor, which is spun while a test waits."""

    def __init__(self, directory: Path, executor=None):
        """`executor` makes what spins the nodes, otherwise the one that waits."""
        import rclpy

        from rbdyn_ros.ros.process import wait_set_executor

        self.directory = directory
        self.executor = (executor or wait_set_executor)()
        self.probe = rclpy.create_node("probe")
        self.executor.add_node(self.probe)
        self.nodes: list = []
        self.processes: list[Forked | subprocess.Popen] = []

    def simulator(self, kind=None, **parameters):
        """A simulator, active; `__` stands for the dot of a parameter's name. `kind` makes it."""
        from rbdyn_ros.ros.simulator.simulator_node import Simulator

        quiet = {
            "history__directory": str(self.directory),
            "watchdog__timeout": 0.0,
            "integrator__name": "moser_veselov",
        }
        return self._start(kind or Simulator, {**quiet, **parameters})

    def controller(self, kind=None, **parameters):
        """A controller, active. `kind` makes it."""
        from rbdyn_ros.ros.controller.controller_node import ControllerNode

        return self._start(kind or ControllerNode, parameters)

    def _start(self, kind, parameters: dict):
        from rclpy.parameter import Parameter

        overrides = [
            Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()
        ]
        self.nodes.append(kind(parameter_overrides=overrides))
        self.executor.add_node(self.nodes[-1])
        self.nodes[-1].autostart()
        return self.nodes[-1]

    def process(self, node: str, *arguments: str) -> Forked:
        """A node in a process of its own; its output goes to a file."""
        log, module = self.directory / f"{node}.log", NODES.get(node, (node,))[0]
        self.processes.append(Forked(module, ("--ros-args", *arguments), log))
        return self.processes[-1]

    def program(self, node: str, *arguments: str) -> subprocess.Popen:
        """The same as a program of its own, with its imports, and the signals of this process."""
        command = [sys.executable, "-m", f"rbdyn_ros.ros.{NODES[node][0]}", "--ros-args"]
        with open(self.directory / f"{node}.log", "w") as log:
            self.processes.append(
                subprocess.Popen([*command, *arguments], stdout=log, stderr=subprocess.STDOUT)
            )
        return self.processes[-1]

    def log(self, module: str) -> str:
        """What such a process has said."""
        return (self.directory / f"{module}.log").read_text()

    def listen(self, kind, topic: str, latched: bool = False) -> list:
        """The messages of a topic as they arrive."""
        from rbdyn_ros.ros import qos

        received = []
        self.probe.create_subscription(
            kind, topic, received.append, qos.LATCHED if latched else qos.OFFERED
        )
        return received

    def publisher(self, kind, topic: str):
        """A publisher whose subscriber has been found."""
        publisher = self.probe.create_publisher(kind, topic, 1)
        self.until(lambda: publisher.get_subscription_count() > 0)
        return publisher

    def call(self, kind, service: str, **fields):
        """The response of a service."""
        client = self.probe.create_client(kind, service)
        self.until(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        self.until(future.done)
        self.probe.destroy_client(client)
        return future.result()

    def ask(self, kind, service: str, **fields):
        """The response of a service that changes nothing: asked again where none comes.

        On a busy machine the server may not know the client's end when it answers, and the
        response is lost.
        """
        client, asked = self.probe.create_client(kind, service), []

        def answered() -> bool:
            if client.service_is_ready() and (not asked or time.monotonic() - asked[-1][0] > 3.0):
                asked.append((time.monotonic(), client.call_async(kind.Request(**fields))))
            return any(future.done() for _, future in asked)

        self.until(answered)
        self.probe.destroy_client(client)
        return next(future.result() for _, future in asked if future.done())

    def until(self, condition) -> None:
        """Spin until it holds."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            self.executor.spin_once(timeout_sec=0.02)

    def close(self) -> None:
        """End everything."""
        for process in self.processes:
            process.kill()
            process.wait()
        for node in [*reversed(self.nodes)]:
            node.close()
        for node in [*self.nodes, self.probe]:
            self.executor.remove_node(node)
            node.destroy_node()
        self.executor.shutdown()


@pytest.fixture(scope="module")
def ros():
    """rclpy, which tests elsewhere start for themselves."""
    import rclpy
    from rclpy.logging import LoggingSeverity, set_logger_level

    rclpy.init()
    # the level of a process, which a command that warns alone may have set
    set_logger_level("", LoggingSeverity.INFO)
    yield
    rclpy.shutdown()


@pytest.fixture(scope="module")
def new_graph(ros):
    """Make a graph for several tests, which ends it."""
    return Graph


@pytest.fixture
def executor():
    """What spins the nodes of a graph, where it is not the one that waits: that of simulator and
    controller takes a fifth of its time, and knows no polled subscriptions.
    """


@pytest.fixture
def graph(ros, tmp_path, executor):
    """An empty graph."""
    graph = Graph(tmp_path, executor)
    yield graph
    graph.close()


@pytest.fixture
def soon():
    """Two seconds, where every process that wants a processor has one."""
    return lambda: 2.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.fixture
def board():
    """Make boards; they are unplugged after the test."""
    from boards import Board

    made = []

    def make(port: int, answer=None):
        made.append(Board(port, answer))
        return made[-1]

    yield make
    for one in made:
        one.line.end()


@pytest.fixture
def port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def bridge(graph, port):
    """Start a bridge, active; its link outlasts a loaded machine."""
    from rbdyn_ros.ros.hil.hil_bridge import HilBridge

    def start(**parameters):
        return graph._start(HilBridge, {"udp__port": port, "link_timeout": 3.0, **parameters})

    return start
