"""The demo's own process: its node, the recorder and the topic observer, turned over by one
loop.
"""

import os
from collections.abc import Callable
from pathlib import Path

from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.progress import LiveLine
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.process import POLITE, leave, watcher
from rbdyn_ros.ros.recording.recorder import CannotRecord, Recorder
from rbdyn_ros.ros.topic_observer import SIMULATOR, TopicObserver
from rbdyn_ros.simulation.pacing import StallDetector
from rbdyn_ros.tools.node_processes import NodeProcesses


class Over(Exception):
    """The trial has ended early; the message says why."""


class Interrupted(Exception):
    """Somebody wants it to end."""


class DemoSession:
    """The demo's view of a simulator that runs in a process of `processes`.

    At the end of the context these end before the recorder, which receives their last messages.
    """

    def __init__(self, processes: NodeProcesses, bag: Path, live: LiveLine, stop: Interruption):
        self.processes, self.live, self.stop = processes, live, stop
        self.node, self.executor = watcher("pendulum_demo")
        self.topic_observer = TopicObserver(self.node)
        self.recorder = Recorder(parameter_overrides=[Parameter("bag.path", value=str(bag))])
        self.disturbance = self.node.create_publisher(
            WrenchStamped, f"{SIMULATOR}/disturbance", qos.OFFERED
        )
        self.pause = self.node.create_client(SetBool, f"{SIMULATOR}/pause")
        self.reset_statistics = self.node.create_client(Trigger, f"{SIMULATOR}/reset_statistics")
        self.executor.add_node(self.recorder)

    def __enter__(self) -> "DemoSession":
        os.nice(POLITE)
        return self

    def __exit__(self, *_) -> None:
        self.live.close()
        self.processes.end()
        self.recorder.close()
        leave(self.recorder, self.node)

    @property
    def complete(self) -> bool:
        """Whether all nodes are connected. Over: there are two simulators."""
        if self.node.count_publishers("/clock") > 1:
            raise Over(
                "another simulator publishes /clock in this ROS_DOMAIN_ID; end it, or set another "
                "ROS_DOMAIN_ID"
            )
        heard = all(self.recorder.counts[topic] for topic in ("/odometry", "/cart/command"))
        services = self.pause.service_is_ready() and self.reset_statistics.service_is_ready()
        return heard and services and self.disturbance.get_subscription_count() > 0

    def record(self) -> None:
        """Let the recorder begin. Over: it cannot."""
        try:
            self.recorder.autostart()
        except CannotRecord as error:
            raise Over(str(error)) from None

    def until(
        self,
        condition: Callable[[], object],
        line: Callable[[], str],
        timeout: float,
        in_vain: str,
    ) -> None:
        """Watch until it holds.

        Interrupted; Over: a node has ended or given up, or no time was simulated for `timeout`
        [s].
        """
        stall = StallDetector()
        while not condition():
            if self.stop.signal:
                raise Interrupted
            if reason := self.processes.failure() or self.topic_observer.failure():
                raise Over(reason)
            if stall.look(self.topic_observer.stamp) > timeout:
                raise Over(in_vain)
            self._turn()
            self.live.show(line)

    def _turn(self) -> None:
        try:
            self.executor.spin_once(timeout_sec=0.02)
        except CannotRecord as error:
            raise Over(str(error)) from None
        self.topic_observer.look()

    def call(self, client, request, timeout: float) -> None:
        """Call a service of the simulator.

        Over: it refuses, or does not answer for `timeout` [s].
        """
        future = client.call_async(request)
        self.until(
            future.done,
            lambda: f"calling {client.srv_name}",
            timeout,
            f"{client.srv_name} does not answer",
        )
        if not future.result().success:
            raise Over(f"{client.srv_name}: {future.result().message}")
