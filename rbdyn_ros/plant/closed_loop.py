"""A law in closed loop with the plant, without ROS: every control period the law computes a force
from the state, which is held until the next.

Between the two are the same parts as between two nodes: `faults` of the measurement and of the
force, optionally an observer, and the plant's force limit.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from rbdyn_ros import tracebacks
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.interrupts import CallTimedOut, CallTimeout
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.faults.fault_options import Faults, actual
from rbdyn_ros.plant.faults.pipeline import FaultPipeline
from rbdyn_ros.plant.rollout import Rollout, Rows, Simulation, Stop
from rbdyn_ros.plant.status import GIVEN_UP, REFUSES, Refusals
from rbdyn_ros.types import Array, State

FIRST = 120.0  # [s] for one of the first commands, which may compile
WARM_UP = (0.0, 0.35)  # [rad] tilts at which the warm-up begins


ACTING, COMMANDED = "acting", "commanded"


class Push(NamedTuple):
    """A wrench that acts on the rod for some time: in a run for whole control periods, at least
    one, with the same impulse.
    """

    time: float  # [s]
    duration: float  # [s]
    wrench: tuple  # (9,) as in `types.Input`


class Conditions(NamedTuple):
    """The conditions under which a law runs.

    By default the law gets the true state without delay, its whole force acts, and there is no
    disturbance.
    """

    # reference position of the cart (2,) [m], or a function of t
    reference: tuple[float, float] | Callable[[float], Array] = (0.0, 0.0)
    force_limit: float = math.inf  # [N] limit of the norm
    travel: float = math.inf  # [m] from the origin, beyond which the run ends
    step: float = 0.001  # [s] of the integrator; the control period is a multiple
    faults: Faults = (
        Faults()
    )  # a tick is a control period; the true plant is `faults.mismatch.actual(params, faults)`
    seed: int = 0  # of the faults' random numbers
    # returns the observer of a run: (measured, true state, force that it takes, force that acted,
    # `plant.faults.sensors.Sensors`) -> State for the law
    observer: Callable[[], Callable] | None = None
    # which force of the last period the observer takes: the one that acted, or the one
    # commanded
    observer_force: str = ACTING
    gain: float = 1.0  # factor on the commanded force on its way to the cart
    pushes: tuple = ()  # `Push` each
    sines: Array | None = (
        # (n, 4) as in `types.Input`: forces on the cart that are known in advance, in addition to
        # the law's
        None
    )
    stop: Callable | None = None  # (t, q, v) -> the reason to end the run, "" to go on
    name: str = "the law"  # in messages
    call_timeout: float = 2.0  # [s] for one command


class ControlError(Exception):
    """A law raised an exception or returned an invalid force; the message says which."""


class StateRefused(ControlError):
    """A law raised a ValueError: it cannot use this state, but perhaps the next one."""


def run(
    params: spherical_pendulum.Params,
    integrator: Integrator,
    law,
    state: State,
    duration: float,
    period: float,
    conditions: Conditions = Conditions(),
) -> Rollout:
    """Simulate the plant of `params` from `state` on for `duration` [s], under `law.command` every
    `period` [s].

    The force is first limited and then subject to the faults, as a command is in the simulator.

    After a ValueError of the law, which refuses the state, the force is zero for one period, as in
    the controller node. A law that refuses states for two seconds or at the end, raises another
    exception, returns an invalid force or exceeds its time limit ends the run, and so does a step
    that does not converge: `fault` says which, and the rows until then are kept. Raise
    ValueError if the period is not a multiple of the step, or if the integrator does not apply.
    """
    loop = _ClosedLoop(params, integrator, law, state, duration, period, conditions)
    with CallTimeout(conditions.call_timeout) as calls:
        try:
            loop.run(calls)
        except ControlError as error:
            loop.simulation.fault = str(error)
        except CallTimedOut:
            loop.simulation.fault = (
                f"{conditions.name} took longer than {conditions.call_timeout:g} s for the state "
                f"at t = {loop.simulation.time:.3f} s"
            )
    return loop.record()


def travel_stop(travel: float, stop: Stop | None) -> Stop | None:
    """Return a `stop` that ends a run where the cart is beyond `travel` [m], or where `stop`
    does.
    """
    if travel == math.inf:
        return stop

    def end(t: float, q: Array, v: Array) -> str:
        if math.hypot(q[0], q[1]) > travel:
            return f"the cart left its travel of {travel:g} m at t = {t:.3f} s"
        return stop(t, q, v) if stop else ""

    return end


def warm_up(
    params: spherical_pendulum.Params,
    integrator: Integrator,
    law,
    period: float,
    conditions: Conditions,
) -> str:
    """Run a few commands near upright and some farther away, so that code is compiled and
    libraries are loaded. Return the fault, or "". Farther away a law may refuse the states.
    """
    first = Conditions(
        step=conditions.step,
        force_limit=conditions.force_limit,
        name=conditions.name,
        call_timeout=FIRST,
        observer=conditions.observer,
    )
    for tilt in WARM_UP:
        fault = run(
            params, integrator, law, spherical_pendulum.upright(tilt), 20 * period, period, first
        ).fault
        if fault and not (tilt and fault.startswith(REFUSES)):
            return fault
    return ""


def command_force(law, t: float, state: State, reference: Array, name: str = "the law") -> Array:
    """Return the law's force (2,) [N].

    Raise ControlError, with its name, if it raises or returns anything but two finite numbers;
    `StateRefused` if it raises ValueError.
    """
    try:
        returned = law.command(t, state, reference)
    except ControlError:  # of a law that it wraps
        raise
    except (Exception, SystemExit) as error:  # the law is the user's, and may raise anything
        kind = StateRefused if isinstance(error, ValueError) else ControlError
        raise kind(
            f"{name} raised {type(error).__name__} at t = {t:.3f} s: "
            f"{error}{tracebacks.place(error)}"
        ) from error
    try:
        is_text_or_complex = np.asarray(returned).dtype.kind in "SUc"
        force = np.empty(0) if is_text_or_complex else np.asarray(returned, float)
    except (TypeError, ValueError):
        force = np.empty(0)
    if force.shape != (2,) or not (math.isfinite(force[0]) and math.isfinite(force[1])):
        raise ControlError(
            f"{name} returned {tracebacks.shorten(returned)} at t = {t:.3f} s; it must return two "
            "finite forces [N]"
        )
    return force


class LawCaller:
    """The calls of a law in one run. As in the controller node, the force is zero after a state
    that it refuses.
    """

    def __init__(self, law, name: str = "the law"):
        self._law, self.name = law, name
        self._accepted: float | None = None  # [s] when it last answered most states
        self.refusals = Refusals()

    def force(self, t: float, state: State, reference: Array) -> Array:
        """Return the force (2,) [N]. Raise ControlError as `command_force` does, and where the law
        has refused states for too long.
        """
        try:
            force = command_force(self._law, t, state, reference, self.name)
        except StateRefused as refused:
            self.refusals.refuse(str(refused))
            force = np.zeros(2)
        else:
            self.refusals.accept()
        if not self.refusals.why or self._accepted is None:
            self._accepted = t
        elif t - self._accepted > GIVEN_UP:
            self.check()
        return force

    def check(self) -> None:
        """Raise ControlError if the law refuses states now."""
        if self.refusals.why:
            raise ControlError(f"{REFUSES}{self.refusals.why}")


def reset(law, name: str = "the law") -> None:
    """Let the law forget the past. Raise ValueError, with its name, if its `reset` raises."""
    try:
        law.reset()
    except (Exception, SystemExit) as error:  # the law is the user's, and may raise anything
        raise ValueError(f"{name}: its reset raised {tracebacks.describe(error)}") from error


class _ClosedLoop:
    """A law and a plant with the faults, the observer and the limit between them."""

    def __init__(self, params, integrator, law, state, duration, period, conditions):
        c, n = conditions, round(duration / period)
        self.caller, self.conditions, self.commanded = LawCaller(law, c.name), c, (0.0, 0.0)
        self.pipeline = FaultPipeline(c.faults, c.seed, period) if c.faults != Faults() else None
        input = spherical_pendulum.no_input()
        if c.sines is not None:
            input = input._replace(sines=c.sines)
        self.simulation = Simulation(
            integrator,
            spherical_pendulum.build(actual(params, c.faults)),
            state,
            input,
            c.step,
            Rows(period, n, steps(period, c.step)),
            c.force_limit,
            self.pipeline and self.pipeline.actuator,
        )
        self.pushes = _of_whole_periods(c.pushes, period)
        self.observer = c.observer() if c.observer else None
        self.reference = _reference_function(c.reference)
        self.seen, self.compute = np.zeros((n, 11)), np.zeros(n)

    def run(self, calls: CallTimeout) -> None:
        """Run to the end. Raise ControlError or CallTimedOut."""
        c = self.conditions
        self.simulation.run(lambda i, t: self._force(calls, i, t), travel_stop(c.travel, c.stop))
        self.caller.check()

    def _force(self, calls: CallTimeout, i: int, t: float) -> tuple[float, float]:
        """Return the force that reaches the cart in control period i."""
        state, c = self._state_for_law(i, t), self.conditions
        self.seen[i, :6], self.seen[i, 6:] = state.q, state.v
        reference, began = self.reference(t), time.thread_time()
        command = calls(self.caller.force, t, state, reference)
        self.compute[i] = time.thread_time() - began
        self.commanded = tuple(command.tolist())
        if self.pushes:
            self.simulation.input.disturbance[:] = _wrench(self.pushes, t)
        force = tuple((c.gain * command).tolist())
        return self.pipeline.command(i, force) if self.pipeline else force

    def _state_for_law(self, i: int, t: float) -> State:
        """Return the state at instant i, measured and estimated."""
        ticker, c = self.simulation.ticker, self.conditions
        truth = State(t, ticker.state.q.copy(), ticker.state.v.copy())
        measured = self.pipeline.measure(i, truth) if self.pipeline else truth
        if self.observer is None:
            return measured
        force = ticker.force
        if c.observer_force == COMMANDED:
            force, _ = limit_force(self.commanded, c.force_limit)
        sensors = self.pipeline and self.pipeline.sensors
        return self.observer(measured, truth, force, ticker.force, sensors)

    def record(self) -> Rollout:
        """Return the rows so far."""
        record = self.simulation.record()
        n = len(record.force)
        return record._replace(
            seen=self.seen[:n], compute=self.compute[:n], refused=self.caller.refusals.count
        )


def _reference_function(reference: Any) -> Callable[[float], Array]:
    if callable(reference):
        return cast(Callable[[float], Array], reference)
    at = np.array(reference, float)
    return lambda t: at.copy()  # a law may write into what it gets


def steps(period: float, step: float) -> int:
    """Return the number of integrator steps in a control period. Raise ValueError if that is not
    whole.
    """
    n = round(period / step)
    if n < 1 or abs(period / step - n) > 1e-9 * n:
        raise ValueError(
            f"the control period is {period:g} s; it must be a multiple of the step, {step:g} s"
        )
    return n


def _of_whole_periods(pushes: tuple, period: float) -> tuple:
    """Return the pushes, each of whole periods and of the impulse that it has. Raise ValueError if
    they act at different points of the rod, which have no wrench in common.
    """
    if len({push.wrench[6:] for push in pushes}) > 1:
        raise ValueError("the pushes act at different points of the rod; they must act at one")
    found = []
    for push in pushes:
        lasting = period * max(1, round(push.duration / period))
        if abs(lasting - push.duration) > 1e-9 * lasting:
            part = push.duration / lasting
            wrench = *(part * number for number in push.wrench[:6]), *push.wrench[6:]
            push = Push(push.time, lasting, wrench)
        found.append(push)
    return tuple(found)


def _wrench(pushes: tuple, t: float) -> Array:
    """Return the sum of the wrenches that act from t on, all at one point."""
    acting = [push.wrench for push in pushes if push.time <= t + 1e-9 < push.time + push.duration]
    total = np.sum(acting, axis=0) if acting else np.zeros(9)
    if len(acting) > 1:
        total[6:] = acting[0][6:]
    return total
