"""The board is the controller: states of the topics go to it, its forces come back as commands."""

import math
import time
from collections import Counter
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration

from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.controller.state_synchronizer import StateSynchronizer, subscribe
from rbdyn_ros.ros.diagnostics import Finding
from rbdyn_ros.ros.messages.template import ForceCommand
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode
from rbdyn_ros.wire.frame import FORCE, STATE, Frame
from rbdyn_ros.wire.line import Line

EXPECTED = 256  # states whose answer is still expected
ZERO = (0.0, 0.0)
ANSWER_TIMEOUT = 1.0  # [s] within which a board answers the first state
NO_ANSWER = (
    "connected, but the board answers no state with a force: does its law run, and does it repeat "
    "the state's stamp?"
)
ACKNOWLEDGED = Duration(seconds=0.2)  # longest wait for it


class ControllerBoard:
    """joint_states and odometry to state frames, force frames to cart/command."""

    def __init__(self, node: ManagedNode, line: Line, values: dict[str, Any]):
        self._node, self._line = node, line
        self._synchronizer, self._newest = StateSynchronizer(), 0
        self._expected: dict[int, None] = {}  # stamps that may be answered
        self._commanding = False  # there was a force, and no zero after it
        # [s, steady] when the first state after the newest force was sent
        self._unanswered = math.inf
        self.counts: Counter[str] = Counter(states=0, forces=0, saturated=0)
        self._command = ForceCommand(node.frames.world)
        self._commands = node.create_lifecycle_publisher(
            WrenchStamped, "cart/command", qos.COMMAND, **qos.publishing()
        )
        subscribe(node, self._synchronizer, self._refuse, self._use_state)

    def take(self, frame: Frame, now: int) -> None:
        """A frame of the board; a force must answer a state that was sent to it."""
        if frame.kind == FORCE and self._node.active:
            if frame.stamp and frame.stamp not in self._expected:
                self._refuse(
                    "stamp",
                    "a force answers a state that was not sent to it; its stamp must repeat that "
                    "of a state, or be zero",
                )
            else:
                force, cut = limit_force(
                    frame.numbers, self._node.parameters.values["cart.force_limit"]
                )
                self._commanding, self._unanswered = True, math.inf
                self.counts["forces"] += 1
                self.counts["saturated"] += cut
                self._publish(force, frame.stamp)

    def lost(self) -> None:
        """Publish zero force, as an answer to no state, if the lost board has commanded any."""
        self._unanswered = math.inf
        if self._node.active:
            self._zero()

    def leave(self) -> None:
        """Leave the cart without force, and wait for the arrival: the process may end next."""
        self._zero()
        self._commands.wait_for_all_acked(ACKNOWLEDGED)

    def watch(self) -> list[Finding]:
        """Findings beside those of the wire: none."""
        return []

    def idle_warning(self) -> str:
        """Say why a connected board controls nothing; empty if it answers."""
        return NO_ANSWER if time.monotonic() - self._unanswered > ANSWER_TIMEOUT else ""

    def _use_state(self) -> None:
        newest = self._synchronizer.state()
        if newest is None or not self._node.active:
            return
        self._newest, state = newest
        numbers = (*state.q.tolist(), *state.v.tolist())
        if not all(map(math.isfinite, numbers)):
            self._refuse("state", "the state is not finite; it is not sent to the board")
            return
        self._expect(self._newest)
        self.counts["states"] += 1
        if self._line.send(STATE, self._newest, numbers):
            self._unanswered = min(self._unanswered, time.monotonic())

    def _expect(self, stamp: int) -> None:
        self._expected[stamp] = None
        if len(self._expected) > EXPECTED:
            del self._expected[next(iter(self._expected))]

    def _zero(self) -> None:
        """A command before the first force would let a simulation begin that waits for one."""
        if self._commanding:
            self._commanding = False
            self._publish(ZERO, max(0, self._newest - 1))

    def _publish(self, force: tuple[float, float], stamp: int) -> None:
        self._commands.publish(self._command.packed(stamp, force))

    def _refuse(self, reason: str, why: object) -> None:
        self.counts[f"rejected, {reason}"] += 1
        self._node.get_logger().warning(f"rejected: {why}", throttle_duration_sec=WARN_PERIOD)
