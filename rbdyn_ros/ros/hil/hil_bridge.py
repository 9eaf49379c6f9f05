"""The bridge between the frames of a board and the topics of the pendulum.

With `board: controller` the board is under test and the simulator is its plant; with `board:
plant` it is the plant. If either end becomes silent the force is zero.

If the board is the controller (`ControllerBoard`), it gets the states of the topics, and its
forces are published as commands.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from std_srvs.srv import Trigger

from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.plant.status import STOPPED
from rbdyn_ros.ros import diagnostics
from rbdyn_ros.ros.controller.synchronizers import StateSynchronizer, subscribe
from rbdyn_ros.ros.diagnostics import ERROR, OK, WARN, Finding
from rbdyn_ros.ros.hil.hil_plant import PlantBoard, board_plant
from rbdyn_ros.ros.messages.commands import CommandPublisher
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode, require
from rbdyn_ros.ros.process import events_executor, run
from rbdyn_ros.wire.frame import FORCE, LARGEST, STATE, Frame, invalid
from rbdyn_ros.wire.line import CLOSED, NO_PORT, SILENT, UP, Line
from rbdyn_ros.wire.link import Link, keep_newest
from rbdyn_ros.wire.ports import SerialPort, Udp
from rbdyn_ros.wire.session import Session, read_key

EXPECTED = 256  # number of states whose answer is still expected
ZERO = (0.0, 0.0)
ANSWER_TIMEOUT = 1.0  # [s] within which a board answers the first state, or is accepted
NO_ANSWER = (
    "connected, but the board answers no state with a force: does its law run, and does it repeat "
    "the state's stamp?"
)
NOT_RECEIVED = (
    "connected, but the board neither answers nor echoes what is sent to it: is its receiving "
    "line connected, and is it read?"
)
INVALID = {
    "not finite": f"the state has a number that is not finite, or beyond {LARGEST:.3g}",
    "not unit": "the state has a quaternion whose norm is not 1",
}


class ControllerBoard:
    """Sends joint_states and odometry as state frames, publishes force frames on cart/command."""

    def __init__(self, node: ManagedNode, line: Line, values: dict[str, Any]):
        self._node, self._line = node, line
        self._synchronizer, self._newest = StateSynchronizer(), 0
        self._expected: dict[int, None] = {}  # stamps that may be answered
        self._commanding = False  # there was a force, and no zero after it
        # [s, steady] when the first state after the newest force was sent
        self._unanswered = math.inf
        self.counts: Counter[str] = Counter(states=0, forces=0, saturated=0)
        self._commands = CommandPublisher(node)
        subscribe(node, self._synchronizer.topics, self._refuse, self._use_state)

    def reconfigure(self, values: dict[str, Any]) -> None:
        """Ignore other parameters of the plant, which change nothing here."""

    def take(self, frame: Frame, now: int) -> None:
        """Process a frame of the board; a force must answer a state that was sent to it."""
        if frame.kind == FORCE and self._node.active:
            if frame.stamp and frame.stamp not in self._expected:
                self._refuse(
                    "stamp",
                    "a force answers a state that was not sent to it; its stamp must repeat that "
                    "of a state, or be zero",
                )
            else:
                x, y = frame.numbers
                limit = self._node.parameters.values["cart.force_limit"]
                force, cut = limit_force((x, y), limit)
                self._commanding, self._unanswered = True, math.inf
                self.counts["forces"] += 1
                self.counts["saturated"] += cut
                self._commands.publish(frame.stamp, force)

    def disconnect(self) -> None:
        """Publish zero force, as an answer to no state, if the lost board has commanded any."""
        self._unanswered = math.inf
        if self._node.active:
            self._zero()

    def leave(self) -> None:
        """Command zero force, and wait for its arrival."""
        self._zero()
        self._commands.wait()

    def watch(self) -> list[Finding]:
        """Return findings besides those of the wire: none."""
        return []

    def idle_warning(self) -> str:
        """Return why a connected board controls nothing; empty if it answers."""
        if time.monotonic() - self._unanswered <= ANSWER_TIMEOUT:
            return ""
        return NO_ANSWER if self._line.link.has_echoed else NOT_RECEIVED

    def _use_state(self) -> None:
        newest = self._synchronizer.state()
        if newest is None or not self._node.active:
            return
        self._newest, state = newest
        numbers = (*state.q.tolist(), *state.v.tolist())
        if reason := invalid(STATE, numbers):
            self._refuse("state", f"{INVALID[reason]}; it is not sent to the board")
            return
        keep_newest(self._expected, self._newest, None, EXPECTED)
        self.counts["states"] += 1
        if self._line.send(STATE, self._newest, numbers):
            self._unanswered = min(self._unanswered, time.monotonic())

    def _zero(self) -> None:
        """Publish zero force, once after a force. Before the first force none is published, as a
        command could start a simulation that waits for one.
        """
        if self._commanding:
            self._commanding = False
            self._commands.publish(max(0, self._newest - 1), ZERO)

    def _refuse(self, reason: str, why: object) -> None:
        self.counts[f"rejected, {reason}"] += 1
        self._node.get_logger().warning(f"rejected: {why}", throttle_duration_sec=WARN_PERIOD)


NAME = "pendulum_hil"
WATCH_PERIOD = 0.02  # [s]
BOARDS = {"controller": ControllerBoard, "plant": PlantBoard}
SAID = {SILENT: "waiting for the board", UP: "connected", CLOSED: STOPPED}


class HilBridge(ManagedNode):
    """The bridge node: a `Line` with topics, parameters and a lifecycle."""

    def __init__(self, **options):
        self.line: Line | None = None  # while configured, as the board
        self.board: ControllerBoard | PlantBoard | None = None
        self._connected = False
        self._idle_warning = ""  # why a board that sends is of no use
        # malformed frames so far; [s, steady] since when they come, and when the newest came
        self._malformed = 0, 0.0, -math.inf
        self._malformed_before: Counter[str] = Counter()  # reason -> how many had come by then
        super().__init__(NAME, **options)
        self.keep_system_time("a board runs in system time")
        self.announce(STOPPED)

    def validate(self, values: dict[str, Any]) -> None:
        """Raise ValueError if the values do not fit each other."""
        board_plant(values)
        if values["heartbeat"] * 2.0 > values["link_timeout"]:
            raise ValueError(
                f"heartbeat is {values['heartbeat']:g} s and link_timeout "
                f"{values['link_timeout']:g} s; "
                "the link must last at least two heartbeats, for one may be lost"
            )

    def apply(self, values: dict[str, Any]) -> None:
        """Let the configured board use changed values."""
        if self.board:
            self.board.reconfigure(values)

    def configure(self) -> None:
        """Create the link and the topics."""
        values = self.parameters.values
        session = Session(read_key(values["key_file"])) if values["key_file"] else None
        timeout, window = round(1e9 * values["link_timeout"]), values["send_window"]
        link = Link(timeout, window, session=session)
        self.line = Line(
            opener(values),
            link,
            values["heartbeat"],
            values["retry"],
            self._on_frame,
            self._on_change,
        )
        self.board = BOARDS[values["board"]](self, self.line, values)
        self.create_service(Trigger, "~/reset_statistics", self._reset_statistics)
        self.every(WATCH_PERIOD, self._watch_board)

    def activate(self) -> None:
        """Open the port."""
        require(self.line).begin()

    def deactivate(self) -> None:
        """Set the force to zero on either side, then close the port."""
        require(self.board).leave()
        require(self.line).end()

    def close(self) -> None:
        """End the node, also if a signal interrupted its start."""
        super().close()
        if self.line:
            self.line.end()

    def cleanup(self) -> None:
        """Release the line and the board."""
        self.line = self.board = None

    def _on_frame(self, frame: Frame, now: int) -> None:
        require(self.board).take(frame, now)

    def _on_change(self, status: str) -> None:
        """Publish the status, in the line's thread; set the force to zero if the board has
        vanished.
        """
        if self._connected and status != UP:
            require(self.board).disconnect()
        self._connected = status == UP
        self._idle_warning = ""
        sentence = SAID.get(status, status)
        if status.startswith(NO_PORT):
            self.get_logger().warning(sentence)
        else:
            self.get_logger().info(sentence)
        self.announce(sentence)

    def _watch_board(self) -> None:
        """Let the board check its timeouts; log once that what it sends is of no use, or that it
        is connected but sends nothing, and once that it sends again.
        """
        if not self.active:
            return
        board, status = require(self.board), require(self.line).status
        board.watch()
        malformed = self._describe_malformed(status)
        warning = board.idle_warning() if status == UP else malformed
        if warning != self._idle_warning:
            self._idle_warning = warning
            if warning:
                self.get_logger().warning(warning)
            if status in (UP, SILENT):
                self.announce(warning or SAID[status])

    def _describe_malformed(self, status: str) -> str:
        """Return why nothing of what arrives is accepted, where that lasts, as a session with a
        key begins with such frames; empty otherwise.
        """
        link, now = require(self.line).link, time.monotonic()
        (count, first, last), total = self._malformed, link.statistics.malformed.total()
        if status != SILENT or now - last >= ANSWER_TIMEOUT:
            first, self._malformed_before = now, Counter(link.statistics.malformed)
        if count != total:
            last = now
        self._malformed = total, first, last
        lasts = total and now - last < ANSWER_TIMEOUT <= now - first
        reason = link.unverified_reason(self._malformed_before) if lasts else ""
        return f"{SAID[SILENT]}: {reason}" if reason else ""

    def _reset_statistics(self, request, response):
        require(self.line).link.reset_statistics()
        counts = require(self.board).counts
        for name in counts:
            counts[name] = 0
        response.success, response.message = True, "counting from zero"
        return response

    def findings(self) -> list[diagnostics.Line]:
        """Return (part, [(level, sentence)], values) of each line of diagnostics."""
        if not (self.line and self.board):
            return [("wire", [(OK, "not configured")], {})]
        status = self.line.status
        level = ERROR if status.startswith(NO_PORT) else WARN if status == SILENT else OK
        warning = self._idle_warning
        wire = [(WARN, warning) if warning else (level, SAID.get(status, status))]
        if self.line.link.safe:
            wire.append((WARN, "the board's watchdog has fired: it gives no force"))
        return [
            ("wire", wire, self.line.figures()),
            ("board", self.board.watch() if self.active else [], dict(self.board.counts)),
        ]


def opener(values: dict[str, Any]) -> Callable[[], SerialPort | Udp]:
    """Return a function that opens the port that the parameters name."""
    if values["transport"] == "serial":
        given = values["serial.port"], values["serial.baud"], values["serial.control_lines"]
        return lambda: SerialPort(*given)
    peer = (
        (values["udp.peer_address"], values["udp.peer_port"])
        if values["udp.peer_address"]
        else None
    )
    return lambda: Udp(values["udp.address"], values["udp.port"], peer)


def main(args=None) -> int:
    """Run the bridge node alone."""
    return run((HilBridge,), args, executor=events_executor)


if __name__ == "__main__":
    raise SystemExit(main())
