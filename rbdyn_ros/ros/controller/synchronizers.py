"""The states for control laws from the messages of one instant: directly from joint_states and
odometry, or estimated from sensors.

An estimate uses the positions of joint_states and the effort, the force that acted after every
limit; with an IMU also imu/data. The rod's part of an Odometry message is read from its bytes.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState

from rbdyn_ros.control.observer.continuity import CART as CART_JUMP
from rbdyn_ros.control.observer.continuity import ROD as ROD_JUMP
from rbdyn_ros.control.observer.continuity import JumpDetector
from rbdyn_ros.control.observer.estimator import Estimator, Instant, state_at_rest
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.diagnostics import OK, WARN, Line
from rbdyn_ros.ros.messages.cdr import JointBytes, OdometryBytes, columns
from rbdyn_ros.ros.messages.messages import instant_of, xyz
from rbdyn_ros.ros.messages.polled import WARN_PERIOD
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.schema import record
from rbdyn_ros.types import State, System

CART = JOINTS[:2]


class TimeScale:
    """Measures how many seconds pass while the stamps of the states advance by one: more than 1
    where a simulator slows time down.

    It is the least of the newest INTERVALS, so that a state which is late once does not count.
    """

    INTERVALS = 3

    def __init__(self):
        self._stamp, self._arrival = 0, math.inf  # of the newest state
        self._ratios = deque[float](maxlen=self.INTERVALS)

    def update(self, stamp: int, arrival: float) -> None:
        """Take the stamp [ns] of a state and when it arrived [s]."""
        advance = 1e-9 * (stamp - self._stamp)
        if advance < 0.0:  # another simulator
            self._ratios.clear()
        elif advance > 0.0 and self._stamp:
            self._ratios.append((arrival - self._arrival) / advance)
        self._stamp, self._arrival = stamp, arrival

    @property
    def factor(self) -> float:
        """The seconds for one of the stamps, at least 1."""
        return max(1.0, min(self._ratios)) if len(self._ratios) == self.INTERVALS else 1.0


# (message class, name, callback, whether it takes bytes) of each topic
Topics = tuple[tuple[type, str, Callable[[Any], None], bool], ...]


def subscribe(
    node: Node,
    topics: Topics,
    reject: Callable[[str, ValueError], None],
    use_state: Callable[[], None],
) -> None:
    """Subscribe to the `topics` of a synchronizer.

    `use_state()` is called after each message; `reject(topic, error)` for one that the
    synchronizer refuses.
    """

    def receive(topic: str, take: Callable[[Any], None], message: Any) -> None:
        try:
            take(message)
        except ValueError as error:
            reject(topic, error)
        else:
            use_state()

    for kind, topic, take, raw in topics:
        callback = partial(receive, topic, take)
        node.create_subscription(kind, topic, callback, qos.NEWEST, raw=raw, **qos.SUBSCRIBING)


class StateSynchronizer:
    """Keeps the newest messages of joint_states and odometry.

    `displaced` says whether the pendulum was moved elsewhere, as by ~/reset; then the states
    before do not count.
    """

    nis, compute_time = math.nan, 0.0  # nothing is estimated

    def __init__(self):
        self.topics: Topics = (
            (JointState, "joint_states", self.read_joints, True),
            (Odometry, "odometry", self.read_odometry, True),
        )
        self._joint_bytes = JointBytes(CART, ("position", "velocity"))
        self._odometry_bytes = OdometryBytes()
        self.reset()

    def reset(self) -> None:
        """Discard the messages."""
        self._cart: tuple[float, ...] = ()  # position and velocity
        self._rod: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
        self._cart_stamp, self._rod_stamp = -1, -2
        self.jump_detector, self.displaced = JumpDetector(), False

    def read_joints(self, data: bytes) -> None:
        """Read the cart's state from a serialized message.

        Raise ValueError if it does not have the cart's joints, or is cut off.
        """
        self._cart_stamp, self._cart = self._joint_bytes.read(data)

    def read_odometry(self, data: bytes) -> None:
        """Read the rod's state from a serialized message. Raise ValueError if it is cut off."""
        motion = self._odometry_bytes.motion(data)
        self._rod, self._rod_stamp = (motion.orientation, motion.angular), motion.stamp

    def state(self) -> tuple[int, State] | None:
        """Return (stamp [ns], State) if both messages are of the same instant, else None."""
        if self._cart_stamp != self._rod_stamp:
            return None
        x, y, vx, vy = self._cart
        orientation, angular = self._rod
        q, v = np.array((x, y, *orientation)), np.array((vx, vy, *angular))
        state = State(self._rod_stamp * 1e-9, q, v)
        self.displaced = self.jump_detector.update(state)
        return self._rod_stamp, state

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Ignore other parameters of the plant, which change nothing here."""

    def findings(self) -> list[Line]:
        """Return no diagnostics."""
        return []


class JumpLog:
    """Logs the jumps of the measured state, at most once per WARN_PERIOD, and what causes them."""

    def __init__(self, node: Node, topics: Topics):
        self._node, self._topics = node, topics
        self._logged, self._time = 0, -math.inf  # jumps until the last line, and when it was [s]

    def write(self, jumps: int, is_rough: bool) -> None:
        """Log the jumps since the last line, if there are some and a line is due; `is_rough` as in
        `JumpDetector`.
        """
        new, now = jumps - self._logged, time.monotonic()
        elapsed = now - self._time
        if new == 0 or elapsed < WARN_PERIOD:
            return
        self._logged, self._time = jumps, now
        times = f" {new} times in {elapsed:.1f} s" if new > 1 else ""
        what, logger = f"the measured state has jumped{times}", self._node.get_logger()
        if is_rough:
            logger.warning(
                f"{what}; the control law is not reset until that ends: {self.likely_cause()}"
            )
        else:
            logger.info(f"{what}: the control law is reset")

    def likely_cause(self) -> str:
        """Return why the measured state jumps again and again."""
        for _, topic, _, _ in self._topics:
            publishers = self._node.get_publishers_info_by_topic(topic)
            if len(publishers) > 1:
                names = ", ".join(
                    f"{each.node_namespace.rstrip('/')}/{each.node_name}" for each in publishers
                )
                return (
                    f"{len(publishers)} nodes publish on {topic} ({names}); end all but one, or "
                    "give each a namespace of its own"
                )
        return (
            f"the likely cause is noise of more than {CART_JUMP:g} m or {ROD_JUMP:g} rad from one "
            "state to the next; reduce it (faults.noise.* of a simulator), or filter it"
        )


# mean normalized innovation per value, beyond which the observer's model does not fit
DOUBTFUL = 3.0
_Vector = tuple[float, float, float]
_Inertial = tuple[_Vector | None, _Vector | None]  # angular velocity, specific force


class SensorSynchronizer:
    """Keeps the newest message of each sensor, and estimates states from them."""

    def __init__(self, values: dict[str, Any]):
        self._with_imu = values["observer.sensors"] == "imu"
        imu = ((Imu, "imu/data", self.read_imu, False),) if self._with_imu else ()
        self.topics: Topics = ((JointState, "joint_states", self.read_joints, False), *imu)
        self._plan: tuple[System, ObserverOptions] | None = None
        self.reconfigure(values)
        self._warm_up()

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Restart with another filter if the parameters' values require one."""
        plan = (
            spherical_pendulum.build(plant_params(values)),
            record(ObserverOptions, values, "observer."),
        )
        if plan != self._plan:
            self._plan, self._estimator = plan, Estimator(*plan)
            self.reset()

    def reset(self) -> None:
        """Discard the estimate and the messages."""
        self._estimator.reset()
        self._joints: tuple[float, ...] | None = None
        self._imu: _Inertial = (None, None)
        self._joints_stamp, self._imu_stamp = -1, -2
        self.jump_detector, self.displaced = JumpDetector(), False
        self.restarts, self.compute_time = 0, 0.0

    def _warm_up(self) -> None:
        """Compile all code by two estimates."""
        rest = ((0.0, 0.0, 0.0), (0.0, 0.0, 9.81)) if self._with_imu else (None, None)
        for t in (0.0, 0.001):
            self._estimator.estimate(Instant(t, (0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0), *rest))
        self.reset()

    def read_joints(self, message: JointState) -> None:
        """Read the encoders and the force.

        Raise ValueError if the message does not have the joints or their effort.
        """
        self._joints = (
            *columns(message, JOINTS, ("position",)),
            *columns(message, CART, ("effort",)),
        )
        self._joints_stamp = instant_of(message.header)

    def read_imu(self, message: Imu) -> None:
        """Read gyroscope and accelerometer."""
        self._imu = (xyz(message.angular_velocity), xyz(message.linear_acceleration))
        self._imu_stamp = instant_of(message.header)

    def state(self) -> tuple[int, State] | None:
        """Return (stamp [ns], State), the estimate, if all messages are of the same instant, else
        None.

        Raise ValueError for a measurement that is not finite.
        """
        if self._joints is None or self._with_imu and self._imu_stamp != self._joints_stamp:
            return None
        begun = time.perf_counter()
        x, y, roll, pitch, spin, *force = self._joints
        measured = Instant(
            self._joints_stamp * 1e-9,
            (x, y),
            (roll, pitch, spin),
            (force[0], force[1]),
            *self._imu,
        )
        self.displaced = self.jump_detector.update(state_at_rest(measured))
        if self.displaced:
            self._estimator.reset()
            self.restarts += 1
        state = self._estimator.estimate(measured)
        self.compute_time = time.perf_counter() - begun
        return self._joints_stamp, state

    @property
    def nis(self) -> float:
        """The last normalized innovation per measured value."""
        return self._estimator.nis

    def findings(self) -> list[Line]:
        """Return (part, [(level, sentence)], values) of the line of diagnostics."""
        mean, failed = self._estimator.mean_nis, self._estimator.failures
        doubt = (
            f"the innovations are {mean:.3g} times as large as expected; see observer.* and the "
            "plant's parameters"
        )
        level = (WARN, doubt) if mean > DOUBTFUL else (OK, "as expected")
        values = {
            "mean_nis": mean,
            "restarts": self.restarts,
            "predictions_failed": failed,
            "observer_time_us": 1e6 * self.compute_time,
        }
        return [("observer", [level], values)]


def make_synchronizer(values: dict[str, Any]) -> StateSynchronizer | SensorSynchronizer:
    """Return the synchronizer that the parameter observer.sensors selects."""
    return (
        StateSynchronizer() if values["observer.sensors"] == "none" else SensorSynchronizer(values)
    )
