"""The base classes of nodes: parameters and a steady clock; for lifecycle nodes also autostart,
~/status, and /diagnostics once per second.
"""

import traceback
from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rclpy.action.server import ActionServer
from rclpy.clock import Clock as NodeClock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from rbdyn_ros import tracebacks
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.plant.status import FAULT, STOPPED, Rejected
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.declared_parameters import Parameters
from rbdyn_ros.ros.messages.messages import frames
from rbdyn_ros.ros.messages.polled import WARN_PERIOD
from rbdyn_ros.schema import Parameter as ParameterSpec

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
NOT_ACTIVE = "the node is not active"
Part = TypeVar("Part")


def require(part: Part | None) -> Part:
    """Return a part that exists while its node is configured. Raise RuntimeError while it does
    not.
    """
    if part is None:
        raise RuntimeError("the node is not configured")
    return part


class CommonNode(Node):
    """The base class of all nodes; it comes before rclpy's other classes.

    A subclass overrides `table`, `validate` and `apply` if its parameters need more than the
    table of its name.

    A node that follows /clock rejects instants before zero: in rclpy they raise, which would end
    the node. Timers run on a steady clock: rclpy's default, ROS time, stalls when time is paused
    or steps back.
    """

    # brings the kernels that `validate(values)` needs into memory; None: it needs none
    prepare: Callable[[dict[str, Any]], object] | None = None

    def __init__(self, name: str, **options):
        super().__init__(name, **options)
        self._name = name  # which `__node:=` does not change
        self._warned: set[str] = set()
        self.steady = NodeClock(clock_type=ClockType.STEADY_TIME)
        self.parameters = Parameters(self, self.table(), self.validate, self.apply)

    def table(self) -> tuple[ParameterSpec, ...]:
        """Return the parameters."""
        return NODES[self._name]

    def validate(self, values: dict[str, Any]) -> None:
        """Raise ValueError if the values do not fit each other; change nothing."""

    def apply(self, values: dict[str, Any]) -> None:
        """Apply values that have passed `validate`."""

    def every(self, period: float, act: Callable[[], Any]) -> Timer:
        """Call `act()` every `period` [s]."""
        return self.create_timer(period, act, clock=self.steady)

    def warn_once(self, sentence: str) -> None:
        """Log a warning, unless that has been done."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self.get_logger().warning(sentence)

    def warn_of_peers(self) -> None:
        """Log once that another node has this name, and each peer with which the QoS lets no
        message pass.
        """
        name = self.get_fully_qualified_name()
        if (count := self.get_fully_qualified_node_names().count(name)) > 1:
            self.warn_once(
                f"{count} nodes are called {name}: they publish on the same topics, and calls of "
                "services and parameters reach any of them; end all but one, or give each a "
                "namespace of its own, `--ros-args -r __ns:=/NAME` (one that was killed is seen "
                "for 20 s more)"
            )
        for sentence in qos.incompatible(self):
            self.warn_once(sentence)

    def create_subscription(self, kind: type, topic: str, callback: Any, *more, **options):
        """Create a subscription as rclpy does, but reject invalid instants of /clock."""

        def take_clock(message: Clock) -> None:
            try:
                callback(message)
            except ValueError as error:
                why = f"rejected: /clock is {message.clock.sec} s: {error}"
                self.get_logger().warning(why, throttle_duration_sec=WARN_PERIOD)

        take = take_clock if kind is Clock else callback
        return super().create_subscription(kind, topic, take, *more, **options)


class Watcher(CommonNode):
    """A node without a lifecycle, which works from `autostart` to `close`."""

    def autostart(self) -> None:
        """Begin to work."""

    def close(self) -> None:
        """Stop working."""


class ManagedNode(CommonNode, LifecycleNode):
    """A lifecycle node.

    Its subclasses override `configure`, `activate`, `deactivate`, `cleanup` and `findings`.
    Entities that they create in `configure` are destroyed after `cleanup`.
    """

    def configure(self) -> None:
        """Create what the node needs, on the graph and in memory."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop working, and command zero force."""

    def cleanup(self) -> None:
        """Release what `configure` created in memory."""

    def findings(self) -> list[diagnostics.Line]:
        """Return (part, [(level, sentence)], values) of each line of diagnostics."""
        raise NotImplementedError

    def __init__(self, name: str, **options):
        self.active = False
        self._made: list[Any] = []  # on the graph, by `configure`
        super().__init__(name, **options)
        self.frames = frames(self.parameters.values["frame_prefix"])
        self._announced = ""  # the newest of ~/status
        self._status = self.create_publisher(String, "~/status", qos.LATCHED, **qos.PUBLISHING)
        self._diagnostics = self.create_publisher(
            DiagnosticArray, "/diagnostics", qos.OFFERED, **qos.PUBLISHING
        )
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = self._transition(service.callback)
        self.every(1.0, self._diagnose)

    def autostart(self) -> None:
        """Configure and activate, unless the parameter leaves that to a lifecycle manager.

        Raise RuntimeError if it fails.
        """
        if not self.parameters.values["autostart"]:
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != SUCCESS:
                raise RuntimeError(f"{self.get_name()} could not start: see the error above")

    def close(self) -> None:
        """Deactivate an active node; its owner destroys it."""
        if self.active:
            self.trigger_deactivate()

    def keep_system_time(self, why: str) -> None:
        """Set use_sim_time to false if it is true, with a warning that says why, and refuse to
        set it later.
        """
        if self.get_parameter("use_sim_time").value:
            self.get_logger().warning(f"use_sim_time is true; {why}, so it is set to false")
            self.set_parameters([Parameter("use_sim_time", value=False)])

        def refuse(changes: list[Parameter]) -> SetParametersResult:
            refused = any(each.name == "use_sim_time" and each.value for each in changes)
            reason = f"use_sim_time is true; {why}, so it must be false" if refused else ""
            return SetParametersResult(successful=not refused, reason=reason)

        self.add_on_set_parameters_callback(refuse)

    def announce(self, status: str) -> None:
        """Publish ~/status, latched."""
        self._announced = status
        self._status.publish(String(data=status))

    def guard(
        self, take: Callable[[Any], None], reject: Callable[[Rejected], None]
    ) -> Callable[[Any], None]:
        """Return a callback that passes messages to `take` while the node is active.

        It passes the `Rejected` that `take` raises to `reject`.
        """

        def callback(message) -> None:
            if self.active:
                try:
                    take(message)
                except Rejected as rejected:
                    reject(rejected)

        return callback

    # the lifecycle: rclpy swallows exceptions of these callbacks, so they are logged here

    def on_configure(self, state) -> TransitionCallbackReturn:
        """Run `configure`, then configure the managed publishers."""
        before = {id(entity) for entity in self._entities()}
        result = self._attempt(self.configure, super().on_configure, state)
        self._made = [entity for entity in self._entities() if id(entity) not in before]
        if result != SUCCESS:
            self._destroy_made()
        elif self._announced.startswith(FAULT):  # of an attempt before
            self.announce(STOPPED)
        return result

    def on_activate(self, state) -> TransitionCallbackReturn:
        """Activate the managed publishers, then run `activate`."""
        self._attempt(
            lambda: None, super().on_activate, state
        )  # publishers first: `activate` may publish
        result = self._attempt(self.activate, lambda state: SUCCESS, state)
        self.active = result == SUCCESS
        return result

    def on_deactivate(self, state) -> TransitionCallbackReturn:
        """Run `deactivate`, then deactivate the managed publishers."""
        self.active = False
        return self._attempt(self.deactivate, super().on_deactivate, state)

    def on_cleanup(self, state) -> TransitionCallbackReturn:
        """Run `cleanup`, then clean up the managed publishers, and destroy what `configure`
        created.
        """
        result = self._attempt(self.cleanup, super().on_cleanup, state)
        self._destroy_made()
        return result

    def on_shutdown(self, state) -> TransitionCallbackReturn:
        """Deactivate, if the node is active."""
        return self.on_deactivate(state) if self.active else SUCCESS

    def _transition(self, change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return rclpy's `change(request, response)`, which also refuses transitions that the
        present state does not have: rclpy raises for them, which would end the node.
        """

        def answer(request, response):
            try:
                return change(request, response)
            except RuntimeError as error:
                wanted = request.transition.label or request.transition.id
                self.get_logger().error(f"transition {wanted} is refused: {error}")
                response.success = False
                return response

        return answer

    def destroy_node(self) -> None:
        """Destroy the node, its actions first: rclpy leaves them to the garbage collector, and the
        process ends by SIGSEGV where that frees the clock of their timer before them.
        """
        for action in self._actions():
            action.destroy()
        super().destroy_node()

    def _actions(self) -> list[ActionServer]:
        return [each for each in self.waitables if isinstance(each, ActionServer)]

    def _entities(self) -> list[Any]:
        """List the timers, services, subscriptions, publishers and actions of the node."""
        own = self.timers, self.services, self.subscriptions, self.publishers, self._actions()
        return [*chain(*own)]

    def _destroy_made(self) -> None:
        for entity in self._made:
            match entity:
                case Timer():
                    self.destroy_timer(entity)
                case Service():
                    self.destroy_service(entity)
                case Subscription():
                    self.destroy_subscription(entity)
                case ActionServer():
                    entity.destroy()
                case _:  # destroys plain publishers, too
                    self.destroy_lifecycle_publisher(entity)
        self._made = []

    def _attempt(self, ours: Callable[[], None], theirs, state) -> TransitionCallbackReturn:
        try:
            ours()
            return theirs(state)
        except Exception as error:
            why = tracebacks.sentence(error)
            self.get_logger().error(why)
            self.get_logger().debug(traceback.format_exc())
            self.announce(f"{FAULT}{why}")
            return FAILURE

    def _diagnose(self) -> None:
        self.warn_of_peers()
        name = self.get_fully_qualified_name().lstrip("/")
        message = diagnostics.begin()
        message.status = [
            diagnostics.status(f"{name}: {part}", findings, values)
            for part, findings, values in self.findings()
        ]
        self._diagnostics.publish(message)
