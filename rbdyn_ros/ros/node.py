"""What the two nodes share: parameters, lifecycle with autostart, ~/status, /diagnostics once per
second.
"""

import traceback

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import String

from rbdyn_ros import tracebacks
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages.messages import frames
from rbdyn_ros.ros.parameters import Parameters
from rbdyn_ros.simulation.status import FAULT

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ManagedNode(LifecycleNode):
    """A lifecycle node.

    Its heirs write `table`, `validate`, `changed`; `configure`, `activate`, `deactivate`,
    `cleanup`; `findings`.

    Timers run on a steady clock: rclpy's default, ROS time, stalls when time stands still or steps
    back.
    """

    def __init__(self, name: str, **options):
        super().__init__(name, **options)
        self.active = False
        self.steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.parameters = Parameters(self, self.table(), self.validate, self.changed)
        self.frames = frames(self.parameters.values["frame_prefix"])
        self._status = self.create_publisher(String, "~/status", qos.LATCHED, **qos.publishing())
        self._diagnostics = self.create_publisher(
            DiagnosticArray, "/diagnostics", qos.OFFERED, **qos.publishing()
        )
        self._warned = set()
        self.create_timer(1.0, self._diagnose, clock=self.steady)

    def autostart(self) -> None:
        """Configure and activate, unless the parameter leaves that to a lifecycle manager.

        RuntimeError if it fails.
        """
        if not self.parameters.values["autostart"]:
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != SUCCESS:
                raise RuntimeError(f"{self.get_name()} could not start: see the error above")

    def close(self) -> None:
        """Leave the active state in good order; the node is destroyed by its owner."""
        if self.active:
            self.trigger_deactivate()

    def keep_system_time(self, why: str) -> None:
        """Set use_sim_time to false, with a warning that says why, where somebody has set it."""
        if self.get_parameter("use_sim_time").value:
            self.get_logger().warning(f"use_sim_time is true; {why}, so it is set to false")
            self.set_parameters([Parameter("use_sim_time", value=False)])

    def announce(self, status: str) -> None:
        """Publish ~/status, latched."""
        self._status.publish(String(data=status))

    # the lifecycle: rclpy swallows exceptions of these callbacks, so they are said here

    def on_configure(self, state) -> TransitionCallbackReturn:
        """`configure`, then the managed publishers."""
        return self._attempt(self.configure, super().on_configure, state)

    def on_activate(self, state) -> TransitionCallbackReturn:
        """The managed publishers, then `activate`."""
        self._attempt(
            lambda: None, super().on_activate, state
        )  # publishers first: `activate` may publish
        result = self._attempt(self.activate, lambda state: SUCCESS, state)
        self.active = result == SUCCESS
        return result

    def on_deactivate(self, state) -> TransitionCallbackReturn:
        """`deactivate`, then the managed publishers fall silent."""
        self.active = False
        return self._attempt(self.deactivate, super().on_deactivate, state)

    def on_cleanup(self, state) -> TransitionCallbackReturn:
        """`cleanup`, then the managed publishers."""
        return self._attempt(self.cleanup, super().on_cleanup, state)

    def on_shutdown(self, state) -> TransitionCallbackReturn:
        """`deactivate`, from the active state."""
        return self.on_deactivate(state) if self.active else SUCCESS

    def _attempt(self, ours, theirs, state) -> TransitionCallbackReturn:
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
        self._warn_of_qos()
        name = self.get_fully_qualified_name().lstrip("/")
        statuses = [
            diagnostics.status(f"{name}: {part}", findings, values)
            for part, findings, values in self.findings()
        ]
        self._diagnostics.publish(diagnostics.array(self.get_clock().now().to_msg(), statuses))

    def _warn_of_qos(self) -> None:
        for sentence in qos.incompatible(self):
            if sentence not in self._warned:
                self._warned.add(sentence)
                self.get_logger().warning(sentence)
