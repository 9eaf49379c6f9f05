"""The observation of a trial by its topics: their values as curves, and the newest of each."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from rbdyn_ros.evaluation.trial import Trial, tilt
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.status import FAULT, GIVEN_UP, REFUSES, phase
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages.messages import labeled, nanoseconds, wxyz
from rbdyn_ros.ros.messages.polled import Polled
from rbdyn_ros.types import Array

SIMULATOR, CONTROLLER, BRIDGE = "pendulum_simulator", "pendulum_controller", "pendulum_hil"
ENERGIES = ("time", "energy", "energy_drift")  # labels of ~/integrator
SECOND_CLOCK = (
    "another simulator publishes /clock in this ROS_DOMAIN_ID: end it, or set another domain"
)
PACED_OVER = 1.0  # [s] over which the real-time factor is measured


class TopicObserver:
    """Reads the topics of one simulator and one controller when `look` is called; the true state
    if the plant publishes it.
    """

    def __init__(self, node: Node):
        # rows: stamp [ns], then the values
        self.states: list[tuple[float, ...]] = []
        self.forces: list[tuple[float, ...]] = []
        self.energies: list[tuple[float, ...]] = []
        self.disturbed: list[int] = []  # stamps [ns] at which a disturbance acted
        # of the newest /diagnostics of the simulator, and how many arrived
        self.counts: dict[str, float] = {}
        self.diagnosed = 0
        self.simulator, self.controller = "", ""  # ~/status
        # [ns] of the newest state, and of the state that the newest command answers
        self.stamp, self.answered = 0, 0
        self.commands = 0  # how many arrived
        self._refusing, self._refusal = StallDetector(), ""
        self._knows_the_truth = False  # the true state has arrived
        self._polled = Polled(node)
        topics: tuple[tuple[type, str, Callable[[Any], None], QoSProfile], ...] = (
            (Odometry, "odometry", self._odometry, qos.LOSSLESS),
            (Odometry, "ground_truth/odometry", self._true_odometry, qos.LOSSLESS),
            (JointState, "joint_states", self._joint_states, qos.LOSSLESS),
            (Float64MultiArray, f"{SIMULATOR}/integrator", self._integrator, qos.LOSSLESS),
            (WrenchStamped, "wrench/disturbance", self._disturbance, qos.LOSSLESS),
            (WrenchStamped, "cart/command", self._command, qos.NEWEST),
            (DiagnosticArray, "/diagnostics", self._diagnostics, qos.LOSSLESS),
            (String, f"{SIMULATOR}/status", self._simulator_status, qos.LATCHED),
            (String, f"{CONTROLLER}/status", self._controller_status, qos.LATCHED),
        )
        for kind, topic, take, profile in topics:
            self._polled.listen(kind, topic, lambda taken, take=take: take(taken.message), profile)
        self._seen = (time.monotonic(), 0)  # when, and the stamp then
        self._factor = math.nan  # simulated seconds per second

    def look(self) -> None:
        """Process the messages that have arrived since the last call."""
        self._polled.empty()
        now, (seen, stamp) = time.monotonic(), self._seen
        if now - seen > PACED_OVER:
            self._seen, self._factor = (
                (now, self.stamp),
                (self.stamp - stamp) * 1e-9 / (now - seen),
            )

    def failure(self) -> str:
        """Return why simulator or controller cannot go on, in its own words; "" while both can.

        It has to be called regularly.
        """
        if self.simulator.startswith(FAULT):
            return f"the simulator stopped: {self.simulator.removeprefix(FAULT)}"
        if self.controller.startswith(FAULT):
            return f"the controller stopped: {self.controller.removeprefix(FAULT)}"
        if not self.controller.startswith(REFUSES):
            self._refusing.restart()
        if self._refusing.look(True) > GIVEN_UP:
            return f"the controller gives no force: {self.controller}"
        return ""

    def forget(self) -> None:
        """Discard the curves so far."""
        for rows in (self.states, self.forces, self.energies, self.disturbed):
            rows.clear()
        self._seen, self._factor = (time.monotonic(), self.stamp), math.nan

    def line(self, start: int) -> str:
        """Return the present state of the trial in 79 columns; `start` [ns] is the stamp of the
        release.

        Time since the release, tilt, cart, force, real-time factor, and the age of the state that
        the newest command answers.
        """
        if not self.states or not self.forces:
            return "waiting for the first state"
        q, force = np.array([self.states[-1][1:]]), self.forces[-1][1:]
        parts = (
            f"{(self.stamp - start) * 1e-9:4.1f} s",
            f"tilt {math.degrees(tilt(q)[0]):4.1f}°",
            f"cart {q[0, 0]:+.2f} {q[0, 1]:+.2f} m",
            f"force {math.hypot(*force):4.1f} N",
            "pace ×" + ("–" if math.isnan(self._factor) else f"{self._factor:.2f}"),
            f"command {max(0, self.stamp - self.answered) * 1e-6:2.0f} ms",
        )
        return "  ".join(parts)

    def trial(
        self,
        start: int,
        end: int,
        pushes: tuple[Any, ...] = (),
        wall_time: float = math.nan,
        failure: str = "",
        interrupted: bool = False,
    ) -> Trial:
        """Return the curves between two stamps [ns] as a trial."""
        t, q = _curve(self.states, start, end, 7)
        force_t, force = _curve(self.forces, start, end, 3)
        energy_t, energy = _curve(self.energies, start, end, 3)
        return Trial(
            t,
            q,
            force_t,
            force,
            energy_t,
            energy[:, 0],
            energy[:, 1],
            pushes,
            self.counts,
            wall_time,
            (end - start) * 1e-9,
            failure,
            interrupted,
            self._refusal,
        )

    # the topics

    def _odometry(self, message: Odometry) -> None:
        if not self._knows_the_truth:
            self._see(message)

    def _true_odometry(self, message: Odometry) -> None:
        self._knows_the_truth = True
        self._see(message)

    def _see(self, message: Odometry) -> None:
        position = message.pose.pose.position
        self.stamp = nanoseconds(message.header.stamp)
        self.states.append(
            (self.stamp, position.x, position.y, *wxyz(message.pose.pose.orientation))
        )

    def _joint_states(self, message: JointState) -> None:
        if len(message.effort) < 2:
            raise ValueError(f"it has {len(message.effort)} efforts; it must have 2 or more")
        self.forces.append((nanoseconds(message.header.stamp), *message.effort[:2]))

    def _integrator(self, message: Float64MultiArray) -> None:
        row = labeled(message)
        if missing := [name for name in ENERGIES if not math.isfinite(row.get(name, math.nan))]:
            raise ValueError(f"it has no finite {', '.join(missing)} by the labels in layout.dim")
        time, energy, drift = (row[name] for name in ENERGIES)
        self.energies.append((round(time * 1e9), energy, drift))

    def _disturbance(self, message: WrenchStamped) -> None:
        force = message.wrench.force
        if force.x or force.y or force.z:
            self.disturbed.append(nanoseconds(message.header.stamp))

    def _command(self, message: WrenchStamped) -> None:
        self.answered = nanoseconds(message.header.stamp)
        self.commands += 1

    def _diagnostics(self, message: DiagnosticArray) -> None:
        found = diagnostics.values_of(message, SIMULATOR)
        self.counts |= {name: diagnostics.number_of(value) for name, value in found.items()}
        self.diagnosed += bool(found)

    def _simulator_status(self, message: String) -> None:
        self.simulator = phase(message.data)

    def _controller_status(self, message: String) -> None:
        self.controller = message.data
        if self.controller.startswith(REFUSES):
            self._refusal = self.controller


def _curve(rows: list[tuple[float, ...]], start: int, end: int, width: int) -> tuple[Array, Array]:
    """Return the times since the start (n,) [s] and the rest of the rows (n, width - 1)."""
    table = np.array([row for row in rows if start <= row[0] <= end], float).reshape(-1, width)
    return (table[:, 0] - start) * 1e-9, table[:, 1:]
