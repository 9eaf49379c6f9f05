"""The source of the live view that uses only topics, services and parameters.

The plant is any node that publishes the state, the controller any node that publishes
`cart/command`, unless they are named. A push goes to the `~/disturbance` of the plant, a set point
to `goal_pose`, a slider to the node that owns the parameter.
"""

import math
import threading
import time
from collections import ChainMap
from concurrent.futures import Future, TimeoutError
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.control import law_selection
from rbdyn_ros.plant.faults import fault_options as faults
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages import commands
from rbdyn_ros.ros.messages.messages import Frames, set_stamp, set_xyz
from rbdyn_ros.ros.messages.polled import Polled, Taken
from rbdyn_ros.ros.viewer.observation import POSES, Observation
from rbdyn_ros.ros.viewer.problems import ChangeNotes, Complaint, Facts, problems
from rbdyn_ros.ros.viewer.remote_parameters import RemoteParameters, controls, parameter_file
from rbdyn_ros.types import Vector
from rbdyn_ros.view.source import (
    IDLE,
    REFUSED,
    Alert,
    Control,
    Event,
    EventLog,
    SceneState,
    Source,
)

ANSWER_TIMEOUT = 2.0  # [s] real time within which a service has to answer
POLLED_AFTER = 0.002  # [s] between two polls of the topics
GRAPH_PERIOD = 1.0  # [s] between two checks of the graph; each takes milliseconds
LEASE = 25.0  # [s] after which the middleware forgets a participant that was killed
NEW = 3.0  # [s] for which a new node may be without status
DIAGNOSED = 3.0  # [s] for which a line of /diagnostics is valid
RATES = ("real_time_factor", "replay.rate")


class TopicSource(Source):
    """The content of the live view of a running plant. `watch` is called a few times a second by
    the node's executor; everything else by the page, from any thread.
    """

    resets = "plant and set point (the clock goes on)"

    def __init__(self, node: Node, frames: Frames, plant: str = "", controller: str = ""):
        """Subscribe; `plant` and `controller` are names of nodes, "" for any that publishes the
        topics.
        """
        self._node = node
        self._named = tuple(_full(node, name) for name in (plant, controller))
        self._lock = threading.RLock()
        self._observation, self._log = Observation(node, frames), EventLog()
        self._notes = ChangeNotes(self._log)
        self._began, self._polled_at = time.monotonic(), 0.0
        self._scene: SceneState | None = None
        self._problems: tuple[Alert, ...] = ()
        self._plant, self._controller = "", ""
        self._parameters: list[RemoteParameters] = []  # of the plant, then of the controller
        self._controls: tuple[Control, ...] = ()
        self._faults: tuple[str, ...] = ()
        self._services: dict[str, Client] = {}
        self._doubled: dict[tuple[str, ...], float] = {}  # topics -> since when [s, steady]
        self._next_look = 0.0  # [s, steady] at the graph
        self._publishers_of = (0, 0)  # the state, commands: how many nodes publish them
        self._disturbance = None
        self._wrench, self._goal = WrenchStamped(), PoseStamped()
        self._wrench.header.frame_id, self._goal.header.frame_id = frames.cart, frames.world
        self._goals = node.create_publisher(
            PoseStamped, "goal_pose", qos.OFFERED, **qos.PUBLISHING
        )
        self._changes = Polled(node)
        self._changes.listen(
            ParameterEvent, "/parameter_events", self._take_changes, qos_profile_parameter_events
        )
        self._follow(*self._named)

    # values for the page

    @property
    def title(self) -> str:  # pyrefly: ignore[bad-override]
        """The names of the nodes that are shown."""
        return ", ".join(name for name in (self._plant, self._controller) if name) or "no plant"

    def latest(self) -> SceneState | None:
        """Return the newest state; the last one, with the problems, if no more arrive."""
        with self._lock:
            if time.monotonic() - self._polled_at > POLLED_AFTER:
                self._poll()
            return self._scene

    def events(self, first: int) -> tuple[Event, ...]:
        """Return the events from this number on."""
        return self._log.since(first)

    def controls(self) -> tuple[Control, ...]:
        """Return the parameters of the nodes that can be changed."""
        return self._controls

    # actions of the user

    def set_control(self, name: str, value: Any) -> str:
        """Set the parameter at the node that owns it. Return the node's own message if it refuses.

        It waits for the answer; one that arrives too late is an event.
        """
        owner = self._owner(name)
        if owner is None:
            return f"no node that is there has a parameter {name}"
        answer: Future[str] = Future()

        def answered(refusal: str) -> None:
            if not answer.set_running_or_notify_cancel():
                self._refuse(refusal)
            else:
                answer.set_result(refusal)

        owner.set(name, value, answered)
        try:
            return answer.result(ANSWER_TIMEOUT)
        except TimeoutError:
            if not answer.cancel():  # it has just arrived
                return answer.result()
        return f"{owner.remote} has not answered for {ANSWER_TIMEOUT:g} s; it may still do so"

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws that a controller node may have."""
        return law_selection.names()

    def set_law(self, law: str) -> str:
        """Set the law at the node that runs one; return why not where it cannot change."""
        owner = self._owner("controller")
        if owner is None:
            return "no node that is there has a parameter for its law"
        if owner.table["controller"].read_only:
            return (
                f"{owner.remote} runs {owner.values['controller']} and chooses its law when it "
                f"starts; end it, and start it with -p controller:={law}"
            )
        return self.set_control("controller", law)

    def _owner(self, name: str) -> RemoteParameters | None:
        """Return the node that has a parameter."""
        return next((remote for remote in self._parameters if name in remote.table), None)

    def set_disturbance(self, height: float, force: Vector) -> str:
        """Publish the force on the plant's `~/disturbance`, as a wrench at the joint."""
        if not all(map(math.isfinite, (height, *force))):
            return f"the push is {list(force)} N at {height:g} m; it must be finite"
        if self._disturbance is None or not self.can_push:
            return f"{self._plant or 'the plant'} takes no pushes: it has no ~/disturbance"
        with self._lock:
            scene = self._scene
            arm = height * np.array(scene.axis if scene else (0.0, 0.0, 1.0))
            set_xyz(self._wrench.wrench.force, force)
            set_xyz(self._wrench.wrench.torque, np.cross(arm, force))
            set_stamp(self._wrench.header.stamp, self._observation.stamp)
            self._disturbance.publish(self._wrench)
        return ""

    def set_point(self, x: float, y: float) -> str:
        """Publish the position on `goal_pose`."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return f"the set point is ({x:g}, {y:g}) m; it must be finite"
        if not self.can_set_point:
            why = f"nobody listens to goal_pose, or the law is {IDLE}"
            return f"there is no controller that takes a set point: {why}"
        travel = self._observation.shape.travel
        if max(abs(x), abs(y)) > travel:
            return f"({x:.2f}, {y:.2f}) m is off the rails, which end at {travel:g} m"
        with self._lock:
            set_xyz(self._goal.pose.position, (x, y, 0.0))
            self._goal.pose.orientation.w = 1.0
            set_stamp(self._goal.header.stamp, self._observation.stamp)
            self._goals.publish(self._goal)
            self._observation.set_point = (x, y)
            self._log.add_set_point(self._now, x, y)
        return ""

    def pause(self) -> str:
        """Call `~/pause` of the plant."""
        return self._call("pause", SetBool.Request(data=True))

    def resume(self) -> str:
        """Call `~/pause` of the plant with false."""
        return self._call("pause", SetBool.Request(data=False))

    def step(self) -> str:
        """Call `~/step` of the plant."""
        return self._call("step", Trigger.Request())

    def reset(self) -> str:
        """Call `~/reset` of the plant; then the controller's `reference` is the set point."""
        return self._call("reset", Trigger.Request())

    def _after_reset(self) -> None:
        self._log.add_reset(self._now)
        for remote in self._parameters:
            start = remote.values.get("reference")
            if start and self.can_set_point and self._observation.set_point not in (None, start):
                self._refuse(self.set_point(*start))

    @property
    def rate(self) -> float:  # pyrefly: ignore[bad-override]
        """The rate of the node that has one."""
        for name in RATES:
            if owner := self._owner(name):
                return float(owner.values[name])
        return math.nan

    def set_rate(self, factor: float) -> str:
        """Set the plant's real_time_factor, or the replay's rate."""
        for name in RATES:
            if owner := self._owner(name):
                owner.set(name, float(factor), self._refuse)
                return ""
        return f"{self._plant or 'the plant'} has no parameter for its rate"

    def yaml(self) -> str:
        """Return the parameters of both nodes, and the present state as the start."""
        with self._lock:
            return parameter_file(self._parameters, self._scene)

    def close(self) -> None:
        """Stop polling; the node destroys its entities."""
        with self._lock:
            self._polled_at = math.inf

    @property
    def _now(self) -> float:
        """The newest simulated time [s]; 0 before the first."""
        return self._scene.time if self._scene else 0.0

    @property
    def is_incomplete(self) -> bool:
        """Whether there is no plant, or a new one without status."""
        is_new = time.monotonic() - self._followed < NEW
        return not self._plant or (is_new and not self._observation.text("status"))

    # the watch, in the executor's thread

    def watch(self) -> None:
        """Check the graph, the problems, and who takes pushes and set points."""
        with self._lock:
            self._observation.poll_seldom()
            self._changes.empty()
            self._poll()
            if time.monotonic() >= self._next_look or self.is_incomplete:
                self._look_at_graph()
            for remote in self._parameters:
                remote.keep_up()
            self._problems = problems(self._facts())
            if self._scene is None and self._problems:
                self._scene = SceneState(time=0.0)
            if self._scene:
                self._scene.problems = self._problems
                self._notes.note_counts(self._scene.time, self._lines(), self._controller)

    def _poll(self) -> None:
        self._observation.poll()
        self._polled_at = time.monotonic()
        scene = self._observation.scene()
        if scene:
            scene.problems, scene.faults = self._problems, self._faults
            self._scene = scene
            self._notes.note(scene, self._observation, (self._plant, self._controller))

    def _look_at_graph(self) -> None:
        """Check which nodes publish, and which take pushes and set points."""
        self._next_look = time.monotonic() + GRAPH_PERIOD
        self._observation.choose()
        self._find_nodes()
        self._find_out()
        self._publishers_of = self._count(*POSES), self._count(*commands.KINDS)

    def _find_nodes(self) -> None:
        plant, controller = self._named
        plant = plant or self._publisher(*POSES) or self._plant
        controller = controller or self._publisher("cart/command") or self._controller
        if (plant, controller) != (self._plant, self._controller):
            self._follow(plant, controller)

    def _publisher(self, *topics: str) -> str:
        """Return the full name of the first node that publishes one of the topics; "" for none."""
        return next((name for topic in topics for name in self._publishers(topic)), "")

    def _publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish a topic, as far as they are known."""
        found = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(topic))
        return [
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in found
            if info.node_name and not info.node_name.startswith("_")
        ]

    def _count(self, *topics: str) -> int:
        """Return the number of nodes that publish the topic with the most publishers.

        A node that was killed stays in the graph for LEASE, besides the one that follows it.
        """
        nodes = [self._publishers(topic) for topic in topics]
        total, names = max((len(found), len({*found})) for found in nodes)
        since = self._doubled.setdefault(topics, time.monotonic())
        if total == names:
            del self._doubled[topics]
        return total if time.monotonic() - since > LEASE else names

    def _follow(self, plant: str, controller: str) -> None:
        """Connect to other nodes."""
        node = self._node
        if plant != self._plant:
            for client in self._services.values():
                node.destroy_client(client)
            if self._disturbance:
                node.destroy_publisher(self._disturbance)
            self._disturbance = node.create_publisher(
                WrenchStamped, f"{plant}/disturbance", qos.OFFERED, **qos.PUBLISHING
            )
            self._services = {
                "pause": node.create_client(SetBool, f"{plant}/pause"),
                "step": node.create_client(Trigger, f"{plant}/step"),
                "reset": node.create_client(Trigger, f"{plant}/reset"),
            }
            self._observation.look_at_solids(plant)
        for remote in self._parameters:
            remote.destroy()
        self._parameters = [
            RemoteParameters(node, name, self._refresh) for name in (plant, controller) if name
        ]
        self._observation.follow(plant, controller)
        self._plant, self._controller, self._controls = plant, controller, ()
        self._followed = time.monotonic()

    def _find_out(self) -> None:
        """Check whether pushes and set points have subscribers now."""
        pushed = self._disturbance
        self.can_push = bool(pushed and pushed.get_subscription_count())
        laws = [remote.values.get("controller") for remote in self._parameters]
        listeners = self._goals.get_subscription_count() - 1  # one is this node's
        self.can_set_point = listeners > 0 and IDLE not in laws

    def _facts(self) -> Facts:
        observation = self._observation
        command = min(map(observation.age, commands.KINDS))
        return Facts(
            plant=self._plant,
            controller=self._controller,
            waited=time.monotonic() - self._began,
            state_age=observation.state_age,
            state_publishers=self._publishers_of[0],
            command_age=command,
            command_publishers=self._publishers_of[1],
            status=observation.text("status"),
            controller_status=observation.text("controller_status"),
            complaints=tuple(
                Complaint(line.name, line.message, line.level >= diagnostics.ERROR)
                for line in self._lines()
                if line.level != diagnostics.OK
            ),
        )

    def _lines(self) -> list[Any]:
        """Return the recent lines of /diagnostics of the two nodes."""
        if self._observation.age("/diagnostics") > DIAGNOSED:
            return []
        names = tuple(name.lstrip("/") for name in (self._plant, self._controller) if name)
        return [
            line
            for name, line in self._observation.diagnostics.items()
            if names and name.startswith(names)
        ]

    # parameters and services

    def _refresh(self) -> None:
        """Update the controls after parameters or values have become known."""
        with self._lock:
            self._controls = controls(self._parameters)
            values = ChainMap(*(remote.values for remote in self._parameters))
            self._faults = faults.describe(values)
            self._observation.look_at_solids(self._plant)

    def _take_changes(self, taken: Taken) -> None:
        message: Any = taken.message
        for remote in self._parameters:
            if message.node == remote.remote:
                changes = [*message.new_parameters, *message.changed_parameters]
                for change in remote.take(changes):
                    self._log.add_change(self._now, *change)

    def _call(self, name: str, request: Any) -> str:
        """Call a service of the plant; a refusal becomes an event."""
        client = self._services.get(name)
        if client is None or not client.service_is_ready():
            return f"{self._plant or 'the plant'} has no service ~/{name}"

        def done(future) -> None:
            result = future.result()
            if not result.success:
                self._refuse(result.message or f"~/{name} was refused")
            elif name == "reset":
                self._after_reset()

        client.call_async(request).add_done_callback(done)
        return ""

    def _refuse(self, refusal: str) -> None:
        """Log a refusal, "" for none, that nothing waits for."""
        if refusal:
            self._log.add(self._now, REFUSED, refusal)


def _full(node: Node, name: str) -> str:
    """Return the full name of a node whose name may be relative; "" for ""."""
    return node.resolve_topic_name(name) if name else ""
