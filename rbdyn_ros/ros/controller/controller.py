"""The controller node: state in, cart force out.

When a state is late the simulator (or the drive) holds the last force for one period; after
`state_timeout` the controller sends zero force and warns; beyond the abort limits it sends zero,
deactivates and reports an error.
"""

import array
import math
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from rclpy.duration import Duration
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.control import options, select
from rbdyn_ros.parameters.tables import NODES, lookup
from rbdyn_ros.ros import qos, readiness
from rbdyn_ros.ros.controller.controller_supervisor import (
    ZERO,
    Abort,
    ControllerSupervisor,
    ControlOutput,
)
from rbdyn_ros.ros.controller.sensor_synchronizer import join
from rbdyn_ros.ros.diagnostics import ERROR, OK, WARN, Line
from rbdyn_ros.ros.executor import events_executor
from rbdyn_ros.ros.messages.messages import labeled, xyz
from rbdyn_ros.ros.messages.template import ForceCommand
from rbdyn_ros.ros.node import ManagedNode
from rbdyn_ros.ros.parameters import first
from rbdyn_ros.ros.process import run
from rbdyn_ros.schema import Parameter
from rbdyn_ros.simulation.status import (
    DISARMED,
    FAULT,
    LATE,
    REFUSES,
    RUNNING,
    SLOW,
    STOPPED,
    WAITING,
)

NAME = "pendulum_controller"
LABELS = (
    *("error_x", "error_y", "tilt_x", "tilt_y", "force_x", "force_y"),
    *("saturated", "age", "compute_time_us", "observer_time_us", "nis", "leaps"),
)
WATCH_PERIOD = 0.02  # [s] how often the age of the state is looked at
LOOK_PERIOD = 0.05  # [s] between two checks of who subscribes to the reports
WARN_PERIOD = 1.0  # [s] one warning of a kind per period
ACKNOWLEDGED = Duration(seconds=0.2)  # longest wait for it
# Part of about so many last answers that were late or refused: then the status reports it
OFTEN, MEMORY = 0.5, 50


class Controller(ManagedNode):
    """A `ControllerSupervisor` behind topics, services and parameters."""

    def __init__(self, **node_options):
        self.law = None  # while configured
        self.status = STOPPED
        self.refused, self.refusals = Counter(), 0.0
        super().__init__(NAME, **node_options)
        self._reception = readiness.ReceptionReport(self)
        self.announce(STOPPED)

    def table(self) -> tuple[Parameter, ...]:
        """The parameters: the node's, then those of the law that `controller` names."""
        name = first(self, lookup("controller", "", NAME))
        return NODES[NAME] + options.table(name, select.load(name))

    def validate(self, values: dict[str, Any]) -> None:
        """ValueError if no law follows from the values, or none that could go on at once."""
        _ = self.law.continued(values) if self.law else ControllerSupervisor(values)

    def changed(self, values: dict[str, Any]) -> None:
        """Design anew where that changes something: the gains belong to the plant."""
        self.reference = values["reference"]
        if self.law:
            self.law = self.law.continued(values)
            self.join.adopt(values)

    def configure(self) -> None:
        """Design the law, compile it by one answer, make topics, services and timers."""
        values = self.parameters.values
        self.law, self.join, self.leaps, self.late_answers = (
            ControllerSupervisor(values),
            join(values),
            0,
            0,
        )
        self.slowness = 0.0
        self.reference, self.armed = values["reference"], values["armed"]
        self.get_logger().info(f"law: {self.law.name}; warming up, and planning if it plans ahead")
        self.law.warm_up()
        self._make_topics(values)

    def _make_topics(self, values: dict) -> None:
        self.command = ForceCommand(self.frames.world)
        self.terms = labeled(LABELS)
        # both keep more than is of use to the plant, for a recorder in lockstep; `reports` comes
        # first, because publishers are discovered in the order in which they are made
        self.reports = self.create_lifecycle_publisher(
            Float64MultiArray,
            "~/controller_state",
            qos.keeping(qos.KEPT_COMMANDS, qos.OFFERED),
            **qos.publishing(),
        )
        self.commands = self.create_lifecycle_publisher(
            WrenchStamped,
            "cart/command",
            qos.keeping(qos.KEPT_COMMANDS, qos.COMMAND),
            **qos.publishing(),
        )
        topics = (
            *(
                (kind, topic, self._hearing(topic, take), qos.NEWEST, raw)
                for kind, topic, take, raw in self.join.topics
            ),
            (PoseStamped, "goal_pose", self._goal_pose, qos.OFFERED, False),
            (PointStamped, "~/reference", self._reference, qos.OFFERED, False),
        )
        self.inputs = [
            self.create_subscription(*topic, raw=raw, **qos.subscribing())
            for *topic, raw in topics
        ]
        self.own_services = [
            self.create_service(SetBool, "~/arm", self._arm),
            self.create_service(Trigger, "~/emergency_stop", self._emergency_stop),
        ]
        self.watch = [self.create_timer(WATCH_PERIOD, self._watch, clock=self.steady)]
        if values["trigger"] == "timer":
            self.watch.append(
                self.create_timer(values["period"], self._compute, clock=self.steady)
            )

    def activate(self) -> None:
        """Wait for the first state."""
        self.law.reset()
        self.join.reset()
        self.newest, self.answered, self.arrival, self.look, self.refusals = (
            None,
            None,
            math.inf,
            0.0,
            0.0,
        )
        self._report_reception(readiness.WAITING)
        self._become(WAITING)

    def deactivate(self) -> None:
        """Leave the cart without force, and wait until that has arrived: the process may end
        next.
        """
        self._send(ZERO)
        self.commands.wait_for_all_acked(ACKNOWLEDGED)
        if not self.status.startswith(FAULT):
            self._become(STOPPED)

    def cleanup(self) -> None:
        """Take everything off the graph that `configure` made."""
        for timer in self.watch:
            self.destroy_timer(timer)
        for service in self.own_services:
            self.destroy_service(service)
        for subscription in self.inputs:
            self.destroy_subscription(subscription)
        for publisher in (self.commands, self.reports):
            self.destroy_lifecycle_publisher(publisher)
        self.law = None

    # the state

    def _hearing(self, topic: str, take: Callable) -> Callable:
        def callback(message) -> None:
            """`take` the message, then see whether there is a state."""
            try:
                take(message)
            except ValueError as error:
                self._refuse(topic, error)
            else:
                self._use_state()

        return callback

    def _use_state(self) -> None:
        if not self.active:
            return
        try:
            joined = self.join.state()
        except ValueError as error:
            self._refuse("state", error)
            self._send(ZERO)
            return
        if joined is None:
            return
        if not self._detect_jump():
            return
        if self.newest is None:
            self._report_reception(readiness.RECEIVED)
        self.newest, self.arrival = joined, time.monotonic()
        if self.parameters.values["trigger"] == "state":
            self._compute()

    def _detect_jump(self) -> bool:
        """What the law remembers belongs to a pendulum that was put elsewhere, by ~/reset or by
        hand. Whether the law can go on.
        """
        if self.join.jumped:
            self.leaps += 1
            self.get_logger().info("the measured state has jumped: the control law is reset")
            return self._reset_law()
        return True

    def _reset_law(self) -> bool:
        try:
            self.law.reset()
        except Abort as abort:
            self._abort(abort)
            return False
        return True

    def _compute(self) -> None:
        if self.newest is None or not self.active:
            return
        try:
            answer = self._answer()
        except ValueError as error:
            self._refuse("state", error)
            self._count_refusal(error)
            self._send(ZERO)
        except Abort as abort:
            self._abort(abort)
        else:
            self._time(answer)
            self.refusals -= self.refusals / MEMORY
            if self.refusals <= OFTEN:
                self._become(
                    DISARMED if not self.armed else SLOW if self.slowness > OFTEN else RUNNING
                )
            self._send(answer.force if self.armed else ZERO)
            self._report(answer)

    def _answer(self) -> ControlOutput:
        """The law's answer; a state that is repeated, while time stands still, gets the same one
        again.
        """
        stamp, state = self.newest
        question = (stamp, state.q.tobytes(), state.v.tobytes(), self.reference)
        if self.answered is None or self.answered[0] != question:
            self.answered = (question, self.law.answer(state, self.reference))
        return self.answered[1]

    def _time(self, answer: ControlOutput) -> None:
        """Count an answer that took longer than the budget."""
        self.slowness += (answer.late - self.slowness) / MEMORY
        if answer.late:
            self.late_answers += 1
            why = (
                f"the law {self.law.name} took {1e3 * answer.compute_time:.3g} ms for an answer; "
                "see budget"
            )
            self.get_logger().warning(why, throttle_duration_sec=WARN_PERIOD)

    def _count_refusal(self, error: ValueError) -> None:
        """Report a law that refuses the first state, or most of them, in ~/status: nobody holds
        the rod.
        """
        self.refusals += (1.0 - self.refusals) / MEMORY
        if (self.status == WAITING or self.refusals > OFTEN) and not self.status.startswith(
            REFUSES
        ):
            self._become(f"{REFUSES}{error}")

    def _watch(self) -> None:
        late = (
            self.active
            and time.monotonic() - self.arrival > self.parameters.values["state_timeout"]
        )
        if late and (self.status in (RUNNING, DISARMED, SLOW) or self.status.startswith(REFUSES)):
            self.get_logger().warning(
                "the state is late: zero force", throttle_duration_sec=WARN_PERIOD
            )
            self._become(LATE)
            self._send(ZERO, answers=False)

    # what others ask for

    def _goal_pose(self, message: PoseStamped) -> None:
        self._set_reference("goal_pose", message.header.frame_id, xyz(message.pose.position))

    def _reference(self, message: PointStamped) -> None:
        self._set_reference("~/reference", message.header.frame_id, xyz(message.point))

    def _set_reference(self, what: str, frame: str, point: tuple) -> None:
        travel = self.parameters.values["cart.travel"]
        if frame not in ("", self.frames.world):
            self._refuse(
                what,
                f"{what} is in the frame '{frame}'; it must be in {self.frames.world}, or empty",
            )
        elif not all(map(math.isfinite, point)):
            self._refuse(what, f"{what} is {list(point)}; it must be finite")
        elif max(abs(point[0]), abs(point[1])) > travel:
            self._refuse(
                what,
                f"{what} is ({point[0]:g}, {point[1]:g}) m; it must be within cart.travel, "
                f"{travel:g} m",
            )
        else:
            self.reference = point[:2]

    def _arm(self, request, response):
        self.armed = request.data
        if self.law and self.armed and not self._reset_law():
            response.success, response.message = False, self.status
        else:
            response.success, response.message = True, "armed" if self.armed else DISARMED
        return response

    def _emergency_stop(self, request, response):
        self.armed = False
        self._send(ZERO)
        self.get_logger().error("emergency stop: zero force until ~/arm")
        response.success, response.message = True, "zero force until ~/arm"
        return response

    # what it says

    def _send(self, force: tuple, answers: bool = True) -> None:
        """A command that answers the newest state; one that does not has a stamp just before
        it.
        """
        stamp = self.newest[0] - (not answers) if self.newest else 0
        self.commands.publish(self.command.packed(stamp, force))

    def _report(self, answer: ControlOutput) -> None:
        if self.arrival >= self.look:  # to ask takes as long as half an answer
            self.look, self.reported = (
                self.arrival + LOOK_PERIOD,
                bool(self.reports.get_subscription_count()),
            )
        if not self.reported:
            return
        force = answer.force if self.armed else ZERO
        age, seen = time.monotonic() - self.arrival, self.join
        terms = (
            *answer.error,
            *answer.tilt,
            *force,
            answer.saturated,
            age,
            1e6 * answer.compute_time,
        )
        self.terms.data = array.array("d", (*terms, 1e6 * seen.compute_time, seen.nis, self.leaps))
        self.reports.publish(self.terms)

    def _report_reception(self, state: str) -> None:
        self._reception.publish(
            {self.resolve_topic_name(topic): state for _, topic, _, _ in self.join.topics}
        )

    def _refuse(self, what: str, why) -> None:
        self.refused[what] += 1
        self.get_logger().warning(f"rejected: {why}", throttle_duration_sec=WARN_PERIOD)

    def _abort(self, why: Abort) -> None:
        self.get_logger().error(f"{why}; zero force, deactivating")
        if why.__cause__:
            self.get_logger().error("".join(traceback.format_exception(why.__cause__)))
        self._become(f"{FAULT}{why}")
        if self.active:
            self.trigger_deactivate()

    def _become(self, status: str) -> None:
        if status != self.status:
            self.status = status
            self.announce(status)

    def findings(self) -> list[Line]:
        """(part, [(level, sentence)], values) of the line of diagnostics."""
        level = (
            ERROR
            if self.status.startswith(FAULT)
            else WARN
            if self.status in (LATE, DISARMED, SLOW) or self.refusals > OFTEN
            else OK
        )
        values = {f"rejected, {what}": n for what, n in sorted(self.refused.items())}
        if not self.law:
            return [("control", [(level, self.status)], values)]
        return [
            ("control", [(level, self.status)], {**values, **self._counts()}),
            *self.join.findings(),
        ]

    def _counts(self) -> dict:
        counts = {"leaps": self.leaps, "late_answers": self.late_answers}
        try:
            return counts | self.law.diagnostics()
        except Abort as abort:
            if self.active:
                self._abort(abort)
            return counts


def main(args=None) -> int:
    """The controller alone."""
    return run((Controller,), args, executor=events_executor)


if __name__ == "__main__":
    raise SystemExit(main())
