"""Estimate a state from joint_states, and with an IMU imu/data, of the same instant.

Of joint_states the positions are used, and the effort: the force that acted, after every limit.
"""

import time
from typing import Any

from sensor_msgs.msg import Imu, JointState

from rbdyn_ros.control.observer.continuity import JumpDetector
from rbdyn_ros.control.observer.estimator import Estimator, Instant, at_rest
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.ros.controller.state_synchronizer import CART, StateSynchronizer, Topics
from rbdyn_ros.ros.diagnostics import OK, WARN, Line
from rbdyn_ros.ros.messages.cdr import columns
from rbdyn_ros.ros.messages.messages import instant_of, xyz
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.schema import record
from rbdyn_ros.types import State, System

# mean normalized innovation per value, beyond which the observer's model does not fit
DOUBTFUL = 3.0
_Vector = tuple[float, float, float]
_Inertial = tuple[_Vector | None, _Vector | None]  # angular velocity, specific force


class SensorSynchronizer:
    """Keeps the newest message of each sensor; a `StateSynchronizer` for measurements."""

    def __init__(self, values: dict[str, Any]):
        self._with_imu = values["observer.sensors"] == "imu"
        imu = ((Imu, "imu/data", self.imu, False),) if self._with_imu else ()
        self.topics: Topics = ((JointState, "joint_states", self.joints, False), *imu)
        self._plan: tuple[System, ObserverOptions] | None = None
        self.reconfigure(values)
        self._warm_up()

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Begin anew if the parameters' values make another filter."""
        plan = (
            spherical_pendulum.build(plant_params(values)),
            record(ObserverOptions, values, "observer."),
        )
        if plan != self._plan:
            self._plan, self._estimator = plan, Estimator(*plan)
            self.reset()

    def reset(self) -> None:
        """Forget what has come."""
        self._estimator.reset()
        self._joints: tuple[float, ...] | None = None
        self._imu: _Inertial = (None, None)
        self._joints_stamp, self._imu_stamp = -1, -2
        self._jump_detector, self.jumped = JumpDetector(), False
        self.restarts, self.compute_time = 0, 0.0

    def _warm_up(self) -> None:
        """Let everything that compiles compile."""
        rest = ((0.0, 0.0, 0.0), (0.0, 0.0, 9.81)) if self._with_imu else (None, None)
        for t in (0.0, 0.001):
            self._estimator.estimate(Instant(t, (0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0), *rest))
        self.reset()

    def joints(self, message: JointState) -> None:
        """Take the encoders, and the force.

        ValueError if the message does not have its joints or their effort.
        """
        self._joints = (
            *columns(message, JOINTS, ("position",)),
            *columns(message, CART, ("effort",)),
        )
        self._joints_stamp = instant_of(message.header)

    def imu(self, message: Imu) -> None:
        """Take gyroscope and accelerometer."""
        self._imu = (xyz(message.angular_velocity), xyz(message.linear_acceleration))
        self._imu_stamp = instant_of(message.header)

    def state(self) -> tuple[int, State] | None:
        """(stamp [ns], State), the estimate, once everything is of the same instant.

        ValueError for a measurement that is not finite.
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
        self.jumped = self._jump_detector.update(at_rest(measured))
        if self.jumped:
            self._estimator.reset()
            self.restarts += 1
        state = self._estimator.estimate(measured)
        self.compute_time = time.perf_counter() - begun
        return self._joints_stamp, state

    @property
    def nis(self) -> float:
        """Return the last normalized innovation per measured value."""
        return self._estimator.nis

    def findings(self) -> list[Line]:
        """(part, [(level, sentence)], values) of the line of diagnostics."""
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
    """Make what turns messages into states, by the parameter observer.sensors."""
    return (
        StateSynchronizer() if values["observer.sensors"] == "none" else SensorSynchronizer(values)
    )
