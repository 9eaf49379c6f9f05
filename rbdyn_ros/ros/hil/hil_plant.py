"""The board as plant: its states are published on the topics of the simulator, commands are sent
to it as forces.

The stamp of a state is the instant of its measurement: the board's clock, converted to this
computer's by the link. A command repeats it, and is sent to the board with the board's own instant
instead. System time is read once, and continued by the steady clock: setting the clock while the
loop runs moves no stamp into the past.

Its topics are those of the simulator, except for the true state, which is unknown.
"""

import math
import time
from collections import Counter
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.plant.command import check_stamp
from rbdyn_ros.plant.status import Rejected
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.description import DescriptionPublisher
from rbdyn_ros.ros.diagnostics import OK, WARN, Finding
from rbdyn_ros.ros.messages import commands, sample, state_topics
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode
from rbdyn_ros.wire.frame import FORCE, LARGEST, STATE, Frame
from rbdyn_ros.wire.line import Line
from rbdyn_ros.wire.link import keep_newest

TF_PERIOD = 16_666_667  # [ns]


class HilStates:
    """The publishers of joint_states, odometry and /tf and, latched, of the URDF and the static
    frames, from the declared parameters.
    """

    def __init__(self, node: ManagedNode, values: dict[str, Any]):
        self._gimbal = GimbalJoints()
        self._newest_tf = 0  # [ns] stamp of the newest /tf
        frames = node.frames
        self._joints, self._pose = state_topics.Joints(frames), state_topics.RodOdometry(frames)
        self._moving = state_topics.Moving(frames)
        managed = (
            (JointState, "joint_states", qos.OFFERED),
            (Odometry, "odometry", qos.OFFERED),
            (TFMessage, "/tf", qos.TRANSFORMS),
        )
        self._managed = [
            node.create_lifecycle_publisher(*topic, **qos.PUBLISHING) for topic in managed
        ]
        self._description = DescriptionPublisher(node)
        self.describe(values)
        self._sample(0, (0.0, 0.0, 1.0) + 8 * (0.0,), (0.0, 0.0))  # compiles

    def describe(self, values: dict[str, Any]) -> None:
        """Publish the latched topics, the URDF and the static frames, from the values."""
        self._setup = board_plant(values)
        self._description.publish(self._setup, values)

    def publish(self, stamp: int, numbers: tuple[float, ...], force: tuple[float, float]) -> None:
        """Publish a state, q (6,) and v (5,), measured at `stamp` [ns], under the force (2,) [N]
        that was sent last.
        """
        taken = self._sample(stamp, numbers, force)
        for publisher, source in zip(self._managed, (self._joints, self._pose)):
            publisher.publish(source.fill(taken))
        if stamp - self._newest_tf >= TF_PERIOD:
            self._newest_tf = stamp
            self._managed[2].publish(self._moving.fill(taken))

    def _sample(
        self, stamp: int, numbers: tuple[float, ...], force: tuple[float, float]
    ) -> sample.Sample:
        # the numbers have 32 bits, so the norm is not exactly 1
        norm = sum(component * component for component in numbers[2:6]) ** 0.5
        q = [*numbers[:2], *(component / norm for component in numbers[2:6])]
        return sample.Sample(self._setup, stamp, q, list(numbers[6:]), force, self._gimbal)


def board_plant(values: dict[str, Any]) -> sample.Described:
    """Return the plant of the checked values. Raise ValueError if they make none."""
    params = plant_params(values)
    return sample.Described(
        params, params, spherical_pendulum.build(params), values["cart.travel"]
    )


REMEMBERED = 256  # number of states that a command may still answer
# [ns] a state that is older, or early by as much, was queued, or its stamp is of another clock
STALE = 500_000_000
ZERO = (0.0, 0.0)
STATE_TIMEOUT = 1.0  # [s] within which a board sends a state, and one that was not queued
NO_STATE = "connected, but the board sends no state: does its measurement run?"
SATURATED = (
    "connected, but the states of the board arrive too late: the line carries less than the board "
    "sends; send fewer states, or use a faster line"
)


class PlantBoard:
    """Publishes state frames on joint_states and odometry, and sends commands as force frames."""

    def __init__(self, node: ManagedNode, line: Line, values: dict[str, Any]):
        self._node, self._line = node, line
        self._states = HilStates(node, values)
        # [ns] system time when the steady clock was 0
        self._epoch = node.get_clock().now().nanoseconds - time.monotonic_ns()
        self._device: dict[int, int] = {}  # ROS stamp -> the board's [ns]
        self._newest = 0  # ROS stamp
        self._force, self._commanded = ZERO, math.inf  # sent last; when its command arrived [s]
        self._measured = math.inf  # [s, steady] when the newest state arrived, or the first frame
        self._queued = (
            -math.inf
        )  # [s, steady] when the newest one arrived that was on its way long
        self.counts: Counter[str] = Counter(
            states=0, early=0, repeated=0, commands=0, saturated=0, command_timeouts=0
        )
        commands.subscribe(node, self._command, self._refuse)

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Describe the plant anew, as its parameters have changed."""
        self._states.describe(values)

    # from the board

    def take(self, frame: Frame, now: int) -> None:
        """Process a frame of the board that arrived at `now`. A state before the first round trip
        is dropped, as its stamp cannot be converted yet; so is one that was measured no later than
        the one before it.
        """
        if frame.kind == STATE or self._measured == math.inf:
            self._measured = time.monotonic()
        if frame.kind != STATE or not self._node.active:
            return
        clock = self._line.link.clock
        if not clock.is_known:
            self.counts["early"] += 1
            return
        if abs(age := now - clock.ours(frame.stamp)) > STALE:
            self._refuse(self._explain(frame, age * 1e-9))
        elif (measured := clock.advance(frame.stamp)) is None:
            self.counts["repeated"] += 1
        else:
            self.counts["states"] += 1
            self._newest = self._epoch + measured
            keep_newest(self._device, self._newest, frame.stamp, REMEMBERED)
            self._states.publish(self._newest, frame.numbers, self._force)

    def _explain(self, frame: Frame, age: float) -> Rejected:
        """Return why a state seems to be of another time: it was sent soon after its measurement,
        so it was on its way for that long, or else its stamp is wrong.
        """
        if abs(frame.time - frame.stamp) <= STALE:
            self._queued = time.monotonic()
            return Rejected(
                "late",
                f"a state of the board was on its way for {age:.3g} s; the line carries less than "
                "the board sends",
            )
        return Rejected(
            "stamp",
            f"a state of the board is {age:.3g} s old; its stamp must be an instant of the "
            "board's clock",
        )

    def disconnect(self) -> None:
        """Forget the force of the lost board, which its own watchdog sets to zero."""
        self._force, self._commanded, self._measured = ZERO, math.inf, math.inf

    def leave(self) -> None:
        """Send zero force, with the flag that no more forces follow."""
        self._send(ZERO, safe=True)

    def watch(self) -> list[Finding]:
        """Send zero force once the newest command is too old. Return findings."""
        timeout = self._node.parameters.values["command_timeout"]
        if time.monotonic() - self._commanded > timeout:
            self._commanded = math.inf
            self.counts["command_timeouts"] += 1
            self._node.get_logger().warning(
                f"no command for {timeout:g} s: zero force", throttle_duration_sec=WARN_PERIOD
            )
            self._send(ZERO, safe=True)
        return self._findings()

    def idle_warning(self) -> str:
        """Return why a connected board is no plant; empty if its states are used."""
        now = time.monotonic()
        if now - self._queued <= STATE_TIMEOUT:
            return SATURATED
        return NO_STATE if now - self._measured > STATE_TIMEOUT else ""

    def _findings(self) -> list[Finding]:
        if self._commanded < math.inf:
            return []
        return [
            (WARN, "the newest command is too old: zero force")
            if self.counts["commands"]
            else (OK, "waiting for the first command")
        ]

    # to the board

    def _command(self, force: tuple[float, float], stamp: int, what: str) -> None:
        values = self._node.parameters.values
        if force != ZERO:  # zero force is valid however late it is
            limit, now = values["command_timeout"], self._epoch + time.monotonic_ns()
            # a state may be stamped ahead of its arrival, as long as little is known of the clock
            check_stamp(min(stamp, self._newest, now), now, limit, what)
        self.counts["commands"] += 1
        self._commanded = time.monotonic()
        force, cut = limit_force(force, min(values["cart.force_limit"], LARGEST))
        self.counts["saturated"] += cut
        # a stamp that differs from those of the states answers none
        self._send(force, self._device.get(stamp, 0))

    def _send(self, force: tuple[float, float], device: int = 0, safe: bool = False) -> None:
        if self._line.send(FORCE, device, force, safe):
            self._force = force

    def _refuse(self, rejected: Rejected) -> None:
        self.counts[f"rejected, {rejected.reason}"] += 1
        commands.log_rejection(self._node, rejected)
