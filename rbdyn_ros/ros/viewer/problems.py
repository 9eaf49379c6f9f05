"""The problems of a plant and its controller, as their topics show them, and what to do."""

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rbdyn_ros.plant.status import DISARMED, FAULT, LATE, PAUSED, REFUSES, SLOW, STOPPED, phase
from rbdyn_ros.ros.diagnostics import number_of
from rbdyn_ros.ros.viewer.observation import Observation
from rbdyn_ros.view.source import IMPACT, STATUS, WATCHDOG, Alert, EventLog, SceneState

REJECTED = "rejected, goal_pose"  # counted by the controller
SILENT = 0.5  # [s] after which a missing state, or command, is a problem
COMING_UP = 1.0  # [s] of the view for which a missing node is no problem


class Complaint(NamedTuple):
    """A line of /diagnostics whose level is not OK."""

    line: str  # its name
    sentence: str
    is_error: bool


class Facts(NamedTuple):
    """The facts that the topics and the graph show. Ages are real time; inf stands for never."""

    plant: str = ""  # full name of the node that publishes the state; "" for none
    controller: str = ""  # full name of the node that commands the cart; "" for none
    waited: float = math.inf  # [s] since the view began
    state_age: float = math.inf  # [s]
    state_publishers: int = 0
    command_age: float = math.inf  # [s]
    command_publishers: int = 0
    status: str = ""  # of the plant
    controller_status: str = ""
    complaints: tuple[Complaint, ...] = ()


def problems(facts: Facts) -> tuple[Alert, ...]:
    """Return the problems, the worst first."""
    found = [*_of_state(facts)]
    if facts.state_age <= SILENT:
        found += [*_of_plant(facts), *_of_command(facts), *_of_controller(facts)]
    said = " ".join(problem.what for problem in found)
    found += [
        Alert(
            f"{_capitalize(complaint.sentence)}.",
            f"{complaint.line} says so on /diagnostics.",
            complaint.is_error,
        )
        for complaint in facts.complaints
        if complaint.sentence not in said
    ]
    return tuple(sorted(found, key=lambda problem: not problem.severe))


def _of_state(facts: Facts) -> Iterator[Alert]:
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    if facts.state_age == math.inf:
        if facts.waited > COMING_UP and facts.state_publishers:
            what = f"{facts.plant} has not published a state yet."
            yield Alert(what, "Wait: it may compile. If not, look at its log.", False)
        elif facts.waited > COMING_UP:
            yield Alert(
                "Nobody publishes odometry or joint_states.",
                f"Start a plant with ROS_DOMAIN_ID={domain}, such as "
                "ros2 launch rbdyn_ros simulation.launch.py.",
            )
    elif facts.state_age > SILENT and not facts.state_publishers:
        what = f"The plant is gone: its last state is {facts.state_age:.1f} s old."
        yield Alert(what, "Start it again; this page goes on by itself.")
    elif facts.state_age > SILENT:
        what = f"{facts.plant} is silent: its last state is {facts.state_age:.1f} s old."
        advice = "It has ended, hangs or is not active: look at its log, or start it again."
        yield Alert(what, advice)
    if facts.state_publishers > 1:
        what = f"{facts.state_publishers} nodes publish the state; this page mixes them."
        yield Alert(what, "End one of them, or give them different ROS_DOMAIN_IDs.")


def _of_plant(facts: Facts) -> Iterator[Alert]:
    if facts.status.startswith(FAULT):
        why = facts.status.removeprefix(FAULT)
        yield Alert(f"{facts.plant} stopped: {why}.", "Press reset; its log has the details.")
    elif phase(facts.status) == STOPPED:
        what = f"{facts.plant} is not active."
        yield Alert(what, f"Activate it: ros2 lifecycle set {facts.plant} activate.", False)
    elif ": " in facts.status:  # `paused: rejected: ...`
        remark = facts.status.partition(": ")[2]
        yield Alert(f"{_capitalize(remark)}.", f"{facts.plant} says so on ~/status.")


def _of_command(facts: Facts) -> Iterator[Alert]:
    time_stands_still = phase(facts.status) in (PAUSED, STOPPED)
    if not facts.command_publishers:
        if facts.waited > COMING_UP:
            gone = "The controller is gone" if facts.command_age < math.inf else "There is none"
            what = f"{gone}: nobody publishes on cart/command."
            yield Alert(
                what, "Start a controller: ros2 run rbdyn_ros controller.", not time_stands_still
            )
    elif facts.command_age > SILENT and not time_stands_still and facts.waited > COMING_UP:
        age = "No command has come"
        if facts.command_age < math.inf:
            age = f"The newest command is {facts.command_age:.1f} s old"
        yield Alert(
            f"{age}: {facts.controller} does not answer.",
            "It has ended, hangs or is not active: look at its log, or start it again.",
        )
    if facts.command_publishers > 1:
        what = (
            f"{facts.command_publishers} nodes publish on cart/command; the newest force counts."
        )
        yield Alert(what, "End all but one.")


def _of_controller(facts: Facts) -> Iterator[Alert]:
    status, name = facts.controller_status, facts.controller
    if not facts.command_publishers:
        return
    if status.startswith(FAULT):
        yield Alert(
            f"{name} stopped: {status.removeprefix(FAULT)}.",
            f"Remove the cause, then ros2 lifecycle set {name} activate.",
        )
    elif status.startswith(REFUSES):
        why = status.removeprefix(REFUSES)
        yield Alert(f"{name} refuses the state: {why}.", "Choose another law, or another start.")
    elif status == LATE:
        advice = "The plant, or the network, is slower than state_timeout."
        yield Alert(f"The state reaches {name} too late.", advice, False)
    elif status == SLOW:
        yield Alert(f"The law of {name} is slower than its budget.", "See budget.", False)
    elif status == DISARMED:
        advice = f"Arm it: ros2 service call {name}/arm std_srvs/srv/SetBool '{{data: true}}'."
        yield Alert(f"{name} is disarmed: no force.", advice, False)


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


class ChangeNotes:
    """Logs the changes of a scene since the last call."""

    def __init__(self, log: EventLog):
        """Start without last values; `log` takes the events."""
        self._log = log
        self._seen: dict[str, Any] = {}  # the last values

    def note(self, scene: SceneState, observation: Observation, nodes: tuple[str, str]) -> None:
        """Log the changes of the plant and the controller of these names."""
        impacts, status = observation.impacts, observation.text("controller_status")
        (plant, controller), push = nodes, scene.disturbance
        if scene.status and self._differs("status", scene.status):
            self._log.add_status(scene.time, plant, scene.status)
            observation.look_at_solids(plant)
        if status and self._differs("controller", status):
            self._log.add_status(scene.time, controller, status)
        if self._grows("impacts", impacts):
            self._log.add(scene.time, IMPACT, "An impact.")
        if self._differs("pushed", push is not None) and push is not None:
            height = math.dist(push.point, (*scene.cart, 0.0))
            self._log.add_push(scene.time, push.force, height)

    def note_counts(self, time: float, lines: Iterable[Any], controller: str) -> None:
        """Log increases in lines of /diagnostics: trips of the watchdog, and set points that the
        controller of this name has rejected.
        """
        counts = {pair.key: pair.value for line in lines for pair in line.values}
        if self._grows("trips", number_of(counts.get("watchdog_trips", ""))):
            self._log.add(time, WATCHDOG, "The watchdog tripped: the command was too old.")
        if self._grows("rejected", number_of(counts.get(REJECTED, ""))):
            self._log.add(time, STATUS, f"{controller} rejected the set point; see its log.")

    def _differs(self, name: str, value: Any) -> bool:
        """Return whether a value differs from that of the last call; the first does not."""
        before = self._seen.get(name, value)
        self._seen[name] = value
        return before != value

    def _grows(self, name: str, count: float) -> bool:
        """Return whether a count has grown since the last call; it may restart."""
        if math.isnan(count):
            return False
        before = self._seen.get(name, count)
        self._seen[name] = count
        return count > before
