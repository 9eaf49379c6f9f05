"""joint_states, and with an IMU imu/data, of the same instant, made into a state by the observer.

From joint_states it takes positions alone, and the effort: that is the force that acted, after
every limit.
"""

import time
from typing import Any

from sensor_msgs.msg import Imu, JointState

from rbdyn_ros.control.observer.continuity import JumpDetector
from rbdyn_ros.control.observer.estimator import Estimator, Instant, at_rest
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.ros.controller.state_synchronizer import CART, StateSynchronizer
from rbdyn_ros.ros.diagnostics import OK, WARN, Line
from rbdyn_ros.ros.messages.cdr import columns
from rbdyn_ros.ros.messages.messages import nanoseconds, xyz
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.schema import record
from rbdyn_ros.types import State

# mean normalized innovation per value, beyond which plant or sensors are not what the observer
# believes
DOUBTFUL = 3.0


class SensorSynchronizer:
    """Keeps the newest message of each sensor.

    To the controller it is what `StateSynchronizer` is.
    """

    def __init__(self, values: dict):
        self._with_imu = values["observer.sensors"] == "imu"
        imu = ((Imu, "imu/data", self.imu, False),) if self._with_imu else ()
        self.topics = ((JointState, "joint_states", self.joints, False), *imu)  # none raw
        self._plan: tuple | None = None
        self.adopt(values)
        self._warm_up()

    def adopt(self, values: dict[str, Any]) -> None:
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
        self._seen, self._seen_stamp = None, -1
        self._felt, self._felt_stamp = (None, None), -2
        self._jump_detector, self.jumped = JumpDetector(), False
        self.restarts, self.compute_time = 0, 0.0

    def _warm_up(self) -> None:
        """Let everything that compiles compile."""
        felt = ((0.0, 0.0, 0.0), (0.0, 0.0, 9.81)) if self._with_imu else (None, None)
        for t in (0.0, 0.001):
            self._estimator.estimate(Instant(t, (0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0), *felt))
        self.reset()

    def joints(self, message: JointState) -> None:
        """Take the encoders, and the force.

        ValueError if the message does not have its joints or their effort.
        """
        self._seen = (
            *columns(message, JOINTS, ("position",)),
            *columns(message, CART, ("effort",)),
        )
        self._seen_stamp = nanoseconds(message.header.stamp)

    def imu(self, message: Imu) -> None:
        """Take gyroscope and accelerometer."""
        self._felt = (xyz(message.angular_velocity), xyz(message.linear_acceleration))
        self._felt_stamp = nanoseconds(message.header.stamp)

    def state(self) -> tuple[int, State] | None:
        """(stamp [ns], State), the estimate, once everything is of the same instant.

        ValueError for a measurement that is not finite.
        """
        if self._seen is None or self._with_imu and self._felt_stamp != self._seen_stamp:
            return None
        begun = time.perf_counter()
        seen = Instant(
            self._seen_stamp * 1e-9, self._seen[:2], self._seen[2:5], self._seen[5:], *self._felt
        )
        self.jumped = self._jump_detector.update(at_rest(seen))
        if self.jumped:
            self._estimator.reset()
            self.restarts += 1
        state = self._estimator.estimate(seen)
        self.compute_time = time.perf_counter() - begun
        return self._seen_stamp, state

    @property
    def nis(self) -> float:
        """The last normalized innovation per measured value."""
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


def join(values: dict[str, Any]) -> StateSynchronizer | SensorSynchronizer:
    """What makes states of the messages, as the parameter observer.sensors has it."""
    return (
        StateSynchronizer() if values["observer.sensors"] == "none" else SensorSynchronizer(values)
    )
