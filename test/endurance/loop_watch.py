"""The observation of the loop: its latency, the force, the status of both nodes, the counts of the
simulator.

Instants are those at which a message was sent: all nodes are on one machine, and this process
itself may be late.
"""

import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rbdyn_ros.evaluation.latency import Latency
from rbdyn_ros.plant.status import PLAYING, RUNNING, SLOW, phase
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages.cdr import OdometryBytes
from rbdyn_ros.ros.messages.messages import nanoseconds
from rbdyn_ros.ros.messages.polled import Polled, Taken
from rbdyn_ros.ros.node_processes import NodeProcesses
from rbdyn_ros.ros.process import leave, watcher
from rbdyn_ros.ros.recording.monitor import stamp
from rbdyn_ros.ros.topic_observer import CONTROLLER, SIMULATOR

SAID_EVERY = 10.0  # [s]


class SoakEnded(Exception):
    """The test cannot go on; the message says why."""


class Watch:
    """A node that subscribes to the loop, calls services, and waits."""

    def __init__(self):
        self.node, self._executor = watcher("pendulum_soak")
        self.latency = Latency(warm_up=0.0)
        # newest [N]; when the newest that is not zero was sent [ns], its stamp
        self.force, self.pushed = (0.0, 0.0), (0, 0)
        self.answered = 0  # stamp of the state that the newest command answers
        self.state = (0, 1.0)  # stamp [ns], cosine of the tilt
        self.status = {SIMULATOR: "", CONTROLLER: ""}
        # of the simulator's newest /diagnostics, and when [s, steady] they were read
        self.counts, self.counted = {}, math.nan
        self._said = time.monotonic()
        self._polled, self._motions = Polled(self.node), OdometryBytes()
        for kind, topic, take, profile in (
            (Odometry, "odometry", self._odometry, qos.LOSSLESS),
            (WrenchStamped, "cart/command", self._command, qos.LOSSLESS),
            (JointState, "joint_states", self._joint_states, qos.LOSSLESS),
            (DiagnosticArray, "/diagnostics", self._diagnostics, qos.LOSSLESS),
            *(
                (String, f"{name}/status", partial(self._status_changed, name), qos.LATCHED)
                for name in self.status
            ),
        ):
            self._polled.collect(kind, topic, take, profile)

    def close(self) -> None:
        """Leave the graph."""
        leave(self.node)

    def turn(self) -> None:
        """Process what has arrived, in its order; say the state of the loop now and then."""
        self._executor.spin_once(timeout_sec=0.01)
        for taken, take in self._polled.pop_collected():
            take(taken)
        if time.monotonic() > self._said + SAID_EVERY:
            print(self.line(), file=sys.stderr, flush=True)
            self._said = time.monotonic()

    def until(self, condition: Callable[[], object], timeout: float, in_vain: str) -> float:
        """Wait until the condition holds; return how long it took [s]. Raise SoakEnded, with
        `in_vain`, after `timeout` [s].
        """
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > timeout:
                raise SoakEnded(f"{in_vain} within {timeout:g} s")
            self.turn()
        return time.monotonic() - began

    def require(self, processes: NodeProcesses) -> None:
        """Raise SoakEnded if one of the processes has ended."""
        if failure := processes.failure():
            raise SoakEnded(failure)

    def rest(self, seconds: float) -> None:
        """Observe the loop for so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()

    def call(self, kind, service: str, timeout: float = 30.0, **fields) -> Any:
        """Return the response of a service. Raise SoakEnded if there is none."""
        client = self.node.create_client(kind, service)
        try:
            self.until(client.service_is_ready, timeout, f"{service} was not there")
            future = client.call_async(kind.Request(**fields))
            self.until(future.done, timeout, f"{service} did not answer")
            return future.result()
        finally:
            self.node.destroy_client(client)

    def line(self) -> str:
        """Return the state of the loop in a line."""
        trip = self.latency.round_trip.window.percentile(50)
        shown = "" if math.isnan(trip) else f"  round trip {1e3 * trip:.2f} ms"
        return (
            f"{self.simulated:8.1f} s simulated, {self.status[SIMULATOR] or '–'}; controller "
            f"{self.status[CONTROLLER] or '–'}{shown}"
        )

    @property
    def is_running(self) -> bool:
        """Whether time runs and a law answers; on a busy machine it may be slow."""
        return self.status[SIMULATOR] == PLAYING and self.status[CONTROLLER] in (RUNNING, SLOW)

    @property
    def simulated(self) -> float:
        """The stamp of the newest state [s]."""
        return self.state[0] * 1e-9

    # the topics

    def _odometry(self, taken: Taken) -> None:
        motion = self._motions.motion(taken.message)
        _, x, y, _ = motion.orientation
        self.state = (motion.stamp, 1.0 - 2.0 * (x * x + y * y))
        self.latency.add_state(self.state[0], taken.sent)

    def _command(self, taken: Taken) -> None:
        self.answered = stamp(taken.message)
        self.latency.add_command(self.answered, taken.sent)

    def _joint_states(self, taken: Taken) -> None:
        self.force = tuple(deserialize_message(taken.message, JointState).effort[:2])
        if self.force != (0.0, 0.0):
            self.pushed = (taken.sent, stamp(taken.message))

    def _diagnostics(self, taken: Taken) -> None:
        message = deserialize_message(taken.message, DiagnosticArray)
        if found := diagnostics.values_of(message, SIMULATOR):
            stamped = nanoseconds(message.header.stamp) * 1e-9  # of a clock that may be set
            self.counted = time.monotonic() - (time.time() - stamped)
            self.counts |= found

    def _status_changed(self, name: str, taken: Taken) -> None:
        self.status[name] = phase(deserialize_message(taken.message, String).data)
