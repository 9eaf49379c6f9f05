"""The controller node, which computes the cart's force from the state.

When a state is late the simulator (or the drive) holds the last force for one period; after
`state_timeout` the controller sends zero force and warns; beyond the abort limits it sends zero,
deactivates and reports an error.
"""

import array
import math
import time
import traceback
from collections import Counter
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.parameters.simulation import require_within_travel
from rbdyn_ros.parameters.tables import NODES, lookup
from rbdyn_ros.plant.status import (
    DISARMED,
    FAULT,
    LATE,
    MEMORY,
    OFTEN,
    REFUSES,
    RUNNING,
    SLOW,
    STOPPED,
    WAITING,
    Refusals,
)
from rbdyn_ros.ros import qos, readiness
from rbdyn_ros.ros.controller.controller_supervisor import (
    ZERO,
    Abort,
    ControllerSupervisor,
    ControlOutput,
)
from rbdyn_ros.ros.controller.synchronizers import (
    JumpLog,
    TimeScale,
    make_synchronizer,
    subscribe,
)
from rbdyn_ros.ros.declared_parameters import first
from rbdyn_ros.ros.diagnostics import ERROR, OK, WARN, Line
from rbdyn_ros.ros.messages.commands import CommandPublisher
from rbdyn_ros.ros.messages.messages import label_array, xyz
from rbdyn_ros.ros.node import WARN_PERIOD, ManagedNode, require
from rbdyn_ros.ros.process import events_executor, run
from rbdyn_ros.schema import Parameter
from rbdyn_ros.types import State

NAME = "pendulum_controller"
LABELS = tuple(
    """
    error_x error_y tilt_x tilt_y force_x force_y saturated age compute_time_us observer_time_us
    nis leaps
    """.split()
)
WATCH_PERIOD = 0.02  # [s] between two checks of the state's age
CHECK_PERIOD = 0.05  # [s] between two checks for subscribers of the reports


class ControllerNode(ManagedNode):
    """The controller node: a `ControllerSupervisor` with topics, services and parameters."""

    def __init__(self, **node_options):
        self.law: ControllerSupervisor | None = None  # while configured
        self.newest: tuple[int, State] | None = None  # stamp [ns] and state
        self.status, self._is_stopped = STOPPED, False  # by an emergency stop, until it is armed
        self.refused: Counter[str] = Counter()
        self.refusals = Refusals()
        super().__init__(NAME, **node_options)
        self._reception = readiness.ReceptionReport(self)
        self.add_post_set_parameters_callback(self._use_reference_parameter)
        self.announce(STOPPED)

    def table(self) -> tuple[Parameter, ...]:
        """Return the parameters: the node's, then those of the law that `controller` names."""
        name = first(self, lookup("controller", "", NAME))
        return NODES[NAME] + law_options.table(name, law_selection.load(name))

    def validate(self, values: dict[str, Any]) -> None:
        """Raise ValueError if no law can be designed from the values, or none that can take over
        at once, or the cart cannot go to the reference.
        """
        require_within_travel("reference", values["reference"], values["cart.travel"])
        self._designed = self.law.redesign(values) if self.law else ControllerSupervisor(values)

    def apply(self, values: dict[str, Any]) -> None:
        """Take the law that `validate` has designed."""
        if self.law:
            self.law = self._designed
            self.synchronizer.reconfigure(values)

    def configure(self) -> None:
        """Design the law, compile it by computing one command, and create topics, services and
        timers.
        """
        values = self.parameters.values
        self.law = law = ControllerSupervisor(values)
        self.synchronizer = make_synchronizer(values)
        self.jump_log = JumpLog(self, self.synchronizer.topics)
        self.leaps, self.late_answers, self.slowness = 0, 0, 0.0
        self.reference = values["reference"]
        self.armed = values["armed"] and not self._is_stopped
        if law.note:
            self.get_logger().warning(law.note)
        self.get_logger().info(f"law: {law.name}; warming up, and planning if it plans ahead")
        law.warm_up()
        self._make_topics(values)

    def _make_topics(self, values: dict[str, Any]) -> None:
        self.terms = label_array(LABELS)
        # it keeps as many as the commands; and comes first, because publishers are discovered in
        # the order in which they are created
        self.reports = self.create_lifecycle_publisher(
            Float64MultiArray,
            "~/controller_state",
            qos.keeping(qos.KEPT_COMMANDS, qos.OFFERED),
            **qos.PUBLISHING,
        )
        self.commands = CommandPublisher(self)
        subscribe(self, self.synchronizer.topics, self._refuse, self._use_state)
        self.create_subscription(
            PoseStamped, "goal_pose", self._goal_pose, qos.OFFERED, **qos.SUBSCRIBING
        )
        self.create_subscription(
            PointStamped, "~/reference", self._reference, qos.OFFERED, **qos.SUBSCRIBING
        )
        self.create_service(SetBool, "~/arm", self._arm)
        self.create_service(Trigger, "~/emergency_stop", self._emergency_stop)
        self.every(WATCH_PERIOD, self._watch)
        if values["trigger"] == "timer":
            self.every(values["period"], self._compute)

    def activate(self) -> None:
        """Reset the law and wait for the first state."""
        require(self.law).reset()
        self.synchronizer.reset()
        self.newest, self.answered, self.time_scale = None, None, TimeScale()
        self.arrival, self.next_check, self.refusals = math.inf, 0.0, Refusals()
        self._report_reception(False)
        self._set_status(WAITING)

    def deactivate(self) -> None:
        """Command zero force, and wait for its arrival."""
        self._send(ZERO)
        self.commands.wait()
        if not self.status.startswith(FAULT):
            self._set_status(STOPPED)

    def cleanup(self) -> None:
        """Release the law."""
        self.law = None

    # the state

    def _use_state(self) -> None:
        if not self.active:
            return
        try:
            newest = self.synchronizer.state()
        except ValueError as error:
            self._refuse("state", error)
            self._send(ZERO)
            return
        if newest is None or not self._reset_after_jump():
            return
        if self.newest is None:
            self._report_reception(True)
        self.newest, self.arrival = newest, time.monotonic()
        self.time_scale.update(newest[0], self.arrival)
        if self.parameters.values["trigger"] == "state":
            self._compute()

    def _reset_after_jump(self) -> bool:
        """Reset the law if the pendulum was displaced, by ~/reset or by hand. Return whether the
        law can go on.
        """
        self.leaps += self.synchronizer.jump_detector.jumped
        self._log_jumps()
        return self._reset_law() if self.synchronizer.displaced else True

    def _log_jumps(self) -> None:
        self.jump_log.write(self.leaps, self.synchronizer.jump_detector.is_rough)

    def _reset_law(self) -> bool:
        try:
            require(self.law).reset()
        except Abort as abort:
            self._abort(abort)
            return False
        return True

    def _compute(self) -> None:
        if self.newest is None or not self.active:
            return
        try:
            answer = self._answer(*self.newest)
        except ValueError as error:
            self._refuse("state", error)
            self.refusals.refuse(str(error))
            if self.refusals.why and not self.status.startswith(REFUSES):
                self._set_status(f"{REFUSES}{error}")
            self._send(ZERO)
        except Abort as abort:
            self._abort(abort)
        else:
            self._time(answer)
            self.refusals.accept()
            if not self.refusals.why:
                self._set_status(
                    DISARMED if not self.armed else SLOW if self.slowness > OFTEN else RUNNING
                )
            self._send(answer.force if self.armed else ZERO)
            self._report(answer)

    def _answer(self, stamp: int, state: State) -> ControlOutput:
        """Return the law's answer, computed once for a state that is repeated while time is
        paused.
        """
        question = (stamp, state.q.tobytes(), state.v.tobytes(), self.reference)
        if self.answered is None or self.answered[0] != question:
            self.answered = (question, require(self.law).answer(state, self.reference))
        return self.answered[1]

    def _time(self, answer: ControlOutput) -> None:
        """Count an answer that took longer than the budget."""
        self.slowness += (answer.late - self.slowness) / MEMORY
        if answer.late:
            self.late_answers += 1
            name, duration = require(self.law).name, 1e3 * answer.compute_time
            why = f"the law {name} took {duration:.3g} ms for an answer; see budget"
            self.get_logger().warning(why, throttle_duration_sec=WARN_PERIOD)

    def _watch(self) -> None:
        self._log_jumps()
        timeout = self.parameters.values["state_timeout"]
        late = self.active and time.monotonic() - self.arrival > timeout * self.time_scale.factor
        if late and (self.status in (RUNNING, DISARMED, SLOW) or self.status.startswith(REFUSES)):
            self.get_logger().warning(
                "the state is late: zero force", throttle_duration_sec=WARN_PERIOD
            )
            self._set_status(LATE)
            self._send(ZERO, answers=False)

    # references and services

    def _goal_pose(self, message: PoseStamped) -> None:
        self._set_reference("goal_pose", message.header.frame_id, xyz(message.pose.position))

    def _reference(self, message: PointStamped) -> None:
        self._set_reference("~/reference", message.header.frame_id, xyz(message.point))

    def _use_reference_parameter(self, changes: list) -> None:
        """Apply the parameter, even if it has the value that a topic has replaced; the change of
        another one leaves the set point of the topics.
        """
        for change in changes:
            if change.name == "reference":
                self.reference = tuple(change.value)

    def _set_reference(self, what: str, frame: str, point: tuple[float, float, float]) -> None:
        if frame not in ("", self.frames.world):
            self._refuse(
                what,
                f"{what} is in the frame '{frame}'; it must be in {self.frames.world}, or empty",
            )
        elif not all(map(math.isfinite, point)):
            self._refuse(what, f"{what} is {list(point)}; it must be finite")
        else:
            try:
                require_within_travel(what, point, self.parameters.values["cart.travel"])
            except ValueError as error:
                self._refuse(what, str(error))
            else:
                self.reference = point[:2]

    def _arm(self, request, response):
        self.armed = request.data
        self._is_stopped = self._is_stopped and not self.armed
        if self.law and self.armed and not self._reset_law():
            response.success, response.message = False, self.status
        else:
            response.success, response.message = True, "armed" if self.armed else DISARMED
        return response

    def _emergency_stop(self, request, response):
        self.armed, self._is_stopped = False, True
        self._send(ZERO)
        self.get_logger().error("emergency stop: zero force until ~/arm")
        response.success, response.message = True, "zero force until ~/arm"
        return response

    # publications

    def _send(self, force: tuple[float, float], answers: bool = True) -> None:
        """Publish a command with the stamp of the newest state, or the stamp just before if it
        answers none.
        """
        stamp = max(0, self.newest[0] - (not answers)) if self.newest else 0
        self.commands.publish(stamp, force)

    def _report(self, answer: ControlOutput) -> None:
        if self.arrival >= self.next_check:  # the check takes as long as half an answer
            self.next_check = self.arrival + CHECK_PERIOD
            self.has_reader = bool(self.reports.get_subscription_count())
        if not self.has_reader:
            return
        force = answer.force if self.armed else ZERO
        age, source = time.monotonic() - self.arrival, self.synchronizer
        terms = (
            *answer.error,
            *answer.tilt,
            *force,
            answer.saturated,
            age,
            1e6 * answer.compute_time,
        )
        self.terms.data = array.array(
            "d", (*terms, 1e6 * source.compute_time, source.nis, self.leaps)
        )
        self.reports.publish(self.terms)

    def _report_reception(self, found: bool) -> None:
        topics = (topic for _, topic, _, _ in self.synchronizer.topics)
        self._reception.publish_received(dict.fromkeys(topics, found))

    def _refuse(self, what: str, why: object) -> None:
        self.refused[what] += 1
        self.get_logger().warning(f"rejected: {why}", throttle_duration_sec=WARN_PERIOD)

    def _abort(self, why: Abort) -> None:
        self.get_logger().error(f"{why}; zero force, deactivating")
        if why.__cause__:
            self.get_logger().error("".join(traceback.format_exception(why.__cause__)))
        self._set_status(f"{FAULT}{why}")
        if self.active:
            self.trigger_deactivate()

    def _set_status(self, status: str) -> None:
        if status != self.status:
            self.status = status
            self.announce(status)

    def findings(self) -> list[Line]:
        """Return (part, [(level, sentence)], values) of each line of diagnostics."""
        level = (
            ERROR
            if self.status.startswith(FAULT)
            else WARN
            if self.status in (LATE, DISARMED, SLOW) or self.refusals.why
            else OK
        )
        values = {f"rejected, {what}": n for what, n in sorted(self.refused.items())}
        if not self.law:
            return [("control", [(level, self.status)], values)]
        found = [(level, self.status)]
        if self.active and self.synchronizer.jump_detector.is_rough:
            found.append((WARN, f"the measured state jumps: {self.jump_log.likely_cause()}"))
        return [
            ("control", found, {**values, **self._counts()}),
            *self.synchronizer.findings(),
        ]

    def _counts(self) -> dict[str, float | str]:
        counts: dict[str, float | str] = {"leaps": self.leaps, "late_answers": self.late_answers}
        try:
            return counts | require(self.law).diagnostics()
        except Abort as abort:
            if self.active:
                self._abort(abort)
            return counts


def main(args=None) -> int:
    """Run the controller node alone."""
    return run((ControllerNode,), args, executor=events_executor)


if __name__ == "__main__":
    raise SystemExit(main())
