"""Excite a loop that runs over topics, and record its motion.

The nodes are those of others, who have started them. Where the controller is that of this package,
its parameters `excitation.*` add a known force to its commands, whatever the plant is. Where it is
another node, or a board, and the plant is the simulator of this package, the force is that of the
plant's parameters `input.*`, which push the cart beside the force of its drive.
"""

import bisect
import contextlib
import math
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter, parameter_value_to_python
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.frequency import excited_record
from rbdyn_ros.identification.frequency.excited_record import Series
from rbdyn_ros.identification.frequency.measurement import AXES, FALLEN, outputs_of
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.tick import EPOCH_NS
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.messages import SECOND, nanoseconds, wxyz, xyz
from rbdyn_ros.ros.messages.polled import Polled
from rbdyn_ros.ros.process import Visitor
from rbdyn_ros.ros.topic_observer import CONTROLLER, SIMULATOR
from rbdyn_ros.types import Array

EMPTIED_EVERY = 0.02  # [s]
LEAVING = 5.0  # [s] for the excitation to be switched off
REPEAT = 1.0  # [s] until a request without a response is sent again
COLUMNS = tuple("t,x,y,qw,qx,qy,qz,vx,vy,wx,wy,wz,Fx,Fy".split(","))  # of a record for `identify`
Rows = dict[int, tuple[float, ...]]  # stamp [ns] -> numbers of the first message that has it


class LoopInterrupted(Exception):
    """A signal came; the excitation is off."""


class RunningLoop:
    """A node beside a running loop, as a context, at whose end it leaves the graph.

    Its methods raise RuntimeError, in a sentence, wherever the loop does not answer.
    """

    force: tuple[type, str] = (WrenchStamped, "cart/command")  # the topic of the force that acts
    state = "odometry"  # that of the measured state
    name = "the controller that runs"
    period = 0.0  # [s] of the commands, from the beginning of the context on
    force_limit = math.inf  # [N]

    def __init__(self, namespace: str, waiting: float, stop: Interruption):
        """Make the node; `waiting` [s] limits each wait for the loop."""
        self._waiting, self._stop = waiting, stop
        self._visitor = Visitor("pendulum_bode", namespace)
        self.node = self._visitor.node
        self._polled, self._emptied = Polled(self.node), 0.0
        self._said: dict[str, str] = {}
        for name in (CONTROLLER, SIMULATOR):
            keep = partial(self._keep, name)
            self.node.create_subscription(String, f"{name}/status", keep, qos.LATCHED)
        self._is_ending = False
        self.begun = 0  # [ns] stamp, since when it is excited
        self.forces: Rows = {}
        self.states: Rows = {}
        self._subscribe(*self.force, self.forces, _force)
        self._subscribe(Odometry, self.state, self.states, _motion)

    def __enter__(self) -> "RunningLoop":
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._visitor.leave()

    def excite(
        self,
        given: Excitation,
        duration: float,
        progress: Callable[[float], Any] = lambda seconds: None,
    ) -> Series:
        """Excite the loop for so long [s, of its own time], and return what was received.

        The excitation is off afterwards, whatever happens. Raise LoopInterrupted after a signal.
        """
        for rows in (self.forces, self.states):
            rows.clear()
        self._until(lambda: bool(self.forces) and bool(self.states))
        try:
            self._begin(given)
            self._polled.empty()
            self.begun = begun = self._newest()
            # some instants more, as the first may not be there
            end = begun + round((duration + 10.0 * self.period) * SECOND)

            def is_over() -> bool:
                progress(min(1e-9 * (self._newest() - begun), duration))
                return self._newest() > end

            self._until(is_over)
        finally:
            self._is_ending = True  # a signal, too, waits for it
            self._end()
            self._is_ending = False
        return self._series(given, begun)

    def _connect(self) -> None:
        """Request what has to be known first."""
        raise NotImplementedError

    def _begin(self, given: Excitation) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _series(self, given: Excitation, begun: int) -> Series:
        raise NotImplementedError

    def _keep(self, name: str, message: String) -> None:
        self._said[name] = message.data

    def _outputs(self, stamps: Array) -> Array:
        """Return (n, 4) x, y, th_x, th_y at these stamps [ns]; nan where no state came."""
        unknown, found = (math.nan,) * 4, self.states
        seen = [
            outputs_of(np.array(found[s][:6])) if s in found else unknown for s in stamps.tolist()
        ]
        return np.array(seen).reshape(-1, 4)

    def _forces_after(self, begun: int) -> tuple[Array, Array]:
        """Return the stamps (n,) [ns] after `begun`, and the forces (n, 2) [N] of their
        messages.
        """
        stamps = [stamp for stamp in self.forces if stamp > begun]
        forces = np.array([self.forces[stamp] for stamp in stamps]).reshape(-1, 2)
        return np.array(stamps, np.int64), forces

    def _subscribe(
        self,
        kind: type,
        topic: str,
        rows: Rows,
        numbers: Callable[[Any], tuple[float, ...]],
    ) -> None:
        def take(taken) -> None:
            rows.setdefault(nanoseconds(taken.message.header.stamp), numbers(taken.message))

        self._polled.listen(kind, topic, take, qos.LOSSLESS)

    def _newest(self) -> int:
        """Return the newest stamp [ns]: dictionaries keep the order in which messages came."""
        return next(reversed(self.forces), 0)

    def _until(self, condition: Callable[[], bool]) -> None:
        """Spin until the condition holds. Raise LoopInterrupted after a signal, RuntimeError where
        no message comes any more or the rod falls.
        """
        stall = StallDetector()
        while not condition():
            self._visitor.executor.spin_once(timeout_sec=0.005)
            now = time.monotonic()
            if now - self._emptied > EMPTIED_EVERY:
                self._emptied = now
                self._polled.empty()
                self._check(stall.look((len(self.forces), len(self.states))))

    def _check(self, still: float) -> None:
        if self._stop.signal:
            raise LoopInterrupted
        if still > self._waiting:
            said = "".join(f"; {name} says '{text}'" for name, text in self._said.items())
            silent = self.force[1] if self.states else f"{self.force[1]} and {self.state}"
            raise RuntimeError(
                f"nothing came on {silent} for {self._waiting:g} s: start the plant and its "
                f"controller in the same ROS_DOMAIN_ID{said}"
            )
        if self.states:
            stamp, row = next(reversed(self.states.items()))
            lean = math.hypot(*outputs_of(np.array(row[:6]))[2:])
            if lean > FALLEN:
                raise RuntimeError(
                    f"the rod is {math.degrees(lean):.0f} degrees from upright at the stamp "
                    f"{1e-9 * stamp:.2f} s: the loop is not stable, or the excitation too strong "
                    "for it (--amplitude)"
                )

    def ask(self, node: str, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the values of a node's parameters; None for those that it does not have."""
        found = {}
        for name in names:  # one at a time: of several none comes where one has no value
            client = self.node.create_client(GetParameters, f"{node}/get_parameters")
            response = self._call(client, GetParameters.Request(names=[name]), self._waiting)
            given = [v for v in response.values if v.type != ParameterType.PARAMETER_NOT_SET]
            found[name] = parameter_value_to_python(given[0]) if given else None
        return found

    def set(self, node: str, values: Mapping[str, Any], timeout: float) -> None:
        """Set a node's parameters, all or none."""
        client = self.node.create_client(
            SetParametersAtomically, f"{node}/set_parameters_atomically"
        )
        parameters = [_parameter(name, value) for name, value in values.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        response = self._call(client, request, timeout)
        if not response.result.successful:
            raise RuntimeError(f"{node} refuses: {response.result.reason}")

    def _switch_off(self, node: str, values: Mapping[str, Any], advice: str) -> None:
        try:
            self.set(node, values, LEAVING)
        except RuntimeError as error:
            raise RuntimeError(f"the excitation may still be on, as {error}: {advice}") from error

    def _call(self, client: Any, request: Any, timeout: float) -> Any:
        """Return the response of a service, which may take so long [s]."""

        def look() -> None:
            self._polled.empty()
            if self._stop.signal and not self._is_ending:
                raise LoopInterrupted

        advice = "; the node must be in the same ROS_DOMAIN_ID and --namespace"
        response = self._visitor.call(client, request, timeout, advice, look, REPEAT)
        self.node.destroy_client(client)
        return response


class OfController(RunningLoop):
    """A loop whose controller is the node of this package: its commands contain the excitation."""

    def _connect(self) -> None:
        names = "excitation.amplitude", "period", "cart.force_limit", "controller"
        amplitude, period, limit, law = self.ask(CONTROLLER, names).values()
        if amplitude is None:
            raise RuntimeError(
                f"{CONTROLLER} has no parameter excitation.amplitude: it is no controller node of "
                "this package; see --external"
            )
        if amplitude != 0.0:
            raise RuntimeError(
                f"{CONTROLLER} is excited already: excitation.amplitude is {amplitude:g} N; set "
                "it to 0 first"
            )
        self.period, self.force_limit, self.name = period, limit, f"{CONTROLLER} ({law})"

    def _begin(self, given: Excitation) -> None:
        values = {f"excitation.{name}": value for name, value in given._asdict().items()}
        self.set(CONTROLLER, values, self._waiting)

    def _end(self) -> None:
        advice = f"ros2 param set {CONTROLLER} excitation.amplitude 0.0"
        self._switch_off(CONTROLLER, {"excitation.amplitude": 0.0}, advice)

    def _series(self, given: Excitation, begun: int) -> Series:
        stamps, force = self._forces_after(begun)
        sine, seen = excitation.of(given, self.period), self._outputs(stamps)
        return excited_record.of_commands(
            sine, self.period, given.axis, 1e-9 * stamps, force, seen
        )


class OfPlant(RunningLoop):
    """A loop around the simulator of this package, whoever controls it: sines push its cart."""

    force, state = (JointState, "ground_truth/joint_states"), "ground_truth/odometry"

    def _connect(self) -> None:
        found = self.ask(
            SIMULATOR, ("rates.state", "cart.force_limit", "input.force_x", "input.force_y")
        )
        rate, self.force_limit, *self._before = found.values()
        if rate is None:
            raise RuntimeError(f"{SIMULATOR} has no parameter rates.state: it is no simulator")
        self.period = 1.0 / rate

    def _begin(self, given: Excitation) -> None:
        sine = excitation.of(given, self.period)
        size = sine.amplitude / math.sqrt(len(sine.lines))
        flat = [
            float(number)
            for f, phase in zip(sine.frequencies, sine.phases)
            for number in (size, 2.0 * math.pi * f, phase + 0.5 * math.pi)
        ]
        before = list(self._before[AXES.index(given.axis)] or ())
        self.set(SIMULATOR, {f"input.force_{given.axis}": before + flat}, self._waiting)

    def _end(self) -> None:
        values = {f"input.force_{axis}": list(was or ()) for axis, was in zip(AXES, self._before)}
        advice = "end the simulator, or set its input.force_x and input.force_y"
        self._switch_off(SIMULATOR, values, advice)

    def _series(self, given: Excitation, begun: int) -> Series:
        sine, own = excitation.of(given, self.period), AXES.index(given.axis)
        ns = round(self.period * SECOND)
        stamps, force = self._forces_after(begun)
        stamps -= ns  # an effort is that of the tick before its stamp
        added, total = sine.hold(1e-9 * (stamps - EPOCH_NS), self.period), force.copy()
        total[:, own] += added
        place = np.rint(stamps / ns).astype(int)
        return Series(given.axis, place, added, total, force, self._outputs(stamps))


def _force(message: Any) -> tuple[float, float]:
    """Return the force on the cart (2,) [N] of a command, or of the efforts of the joints."""
    if isinstance(message, JointState):
        return message.effort[0], message.effort[1]
    return message.wrench.force.x, message.wrench.force.y


def _parameter(name: str, value: Any) -> ParameterMessage:
    kind = Parameter.Type.DOUBLE_ARRAY if isinstance(value, list) else None  # as [] has no type
    return Parameter(name, kind, value).to_parameter_msg()


def _motion(message: Odometry) -> tuple[float, ...]:
    """Return (12,) x, y, qw, qx, qy, qz, then linear and angular velocity, in the body."""
    pose, twist = message.pose.pose, message.twist.twist
    return (
        *xyz(pose.position)[:2],
        *wxyz(pose.orientation),
        *xyz(twist.linear),
        *xyz(twist.angular),
    )


def record(
    given: Excitation,
    period: float,
    duration: float,
    reach: tuple[str, float],
    progress: Callable[[float], Any] = lambda seconds: None,
) -> dict[str, Array]:
    """Return a table for `identify`: the columns (n,) of `duration` [s] of a loop of the control
    period `period` [s], excited as `given`; `reach` is the namespace of the nodes, and how long to
    wait for them [s].

    Each state has the force that was commanded last: that which answers it, where none is missing.
    States are samples of that period: deviations of a stamp by less than half of it are those of
    the clock.

    Raise ValueError for another period, RuntimeError where nobody answers. A signal is raised
    again with the excitation off.
    """
    namespace, waiting = reach
    with Interruption() as stop, contextlib.suppress(LoopInterrupted):
        with OfController(namespace, waiting, stop) as loop:
            if loop.period != period:
                raise ValueError(
                    f"the period of {loop.name} is {loop.period:g} s and that of the design "
                    f"{period:g} s; give the node's, --set period=..."
                )
            loop.excite(given, duration, progress)
    if stop.signal:
        signal.raise_signal(stop.signal)  # for the handler of whoever called
    rows, stamps = [], sorted(loop.forces)
    for stamp, (x, y, *turn_and_rates) in loop.states.items():
        newest = bisect.bisect_right(stamps, stamp) - 1
        if stamp < loop.begun or newest < 0:
            continue
        q, v, w = (tuple(turn_and_rates[i:j]) for i, j in ((0, 4), (4, 7), (7, 10)))
        velocity, force = unit_quaternion.rotate(q, v)[:2], loop.forces[stamps[newest]]
        rows.append((1e-9 * (stamp - loop.begun), x, y, *q, *velocity, *w, *force))
    columns: dict[str, Array] = dict(zip(COLUMNS, np.array(rows).T))
    steps = np.maximum(1.0, np.rint(np.diff(columns["t"]) / period))
    columns["t"] = period * np.concatenate(([0.0], np.cumsum(steps)))
    return columns
