"""A law in closed loop with the plant, without ROS: every control period a force from the state,
held until the next.

Between the two stands what stands between two nodes: `faults` on the way of the state and on that
of the force, perhaps an observer, and the plant's force limit.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbdyn_ros import tracebacks
from rbdyn_ros.faults.mismatch import actual
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.faults.pipeline import FaultPipeline
from rbdyn_ros.interrupts import CallTimedOut, CallTimeout
from rbdyn_ros.mechanics.integrators import boundary
from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.numerics.saturation import limit_force
from rbdyn_ros.simulation.history import History
from rbdyn_ros.simulation.loop import failure
from rbdyn_ros.simulation.tick import TickConfig, Ticker, TickState
from rbdyn_ros.types import Array, State

FIRST = 120.0  # [s] for one of the first commands, which may compile
WARM_UP = (0.0, 0.35)  # [rad] where they are asked


ACTING, COMMANDED = "acting", "commanded"


class Push(NamedTuple):
    """A wrench on the rod that acts for a while."""

    time: float  # [s]
    duration: float  # [s]
    wrench: tuple  # (9,) as in `types.Input`


class Conditions(NamedTuple):
    """What a law meets.

    By default: the true state at once, its whole force acts, nobody pushes.
    """

    reference: tuple | Callable = (
        0.0,
        0.0,
    )  # where the cart shall be (2,) [m], or a function of t
    force_limit: float = math.inf  # [N] at which the norm is cut
    travel: float = math.inf  # [m] from the origin, beyond which the run ends
    step: float = 0.001  # [s] of the integrator; the control period is a multiple
    faults: Faults = (
        Faults()
    )  # a tick is a control period; the true plant is `faults.mismatch.actual(params, faults)`
    seed: int = 0  # of the faults
    observer: Callable | None = (
        None  # (measured, true state, force, `faults.sensors.Sensors`) -> State for the law
    )
    # which force of the last period the observer is given: the one that acted, or the one
    # commanded
    observer_force: str = ACTING
    gain: float = 1.0  # factor on the commanded force on its way to the cart
    pushes: tuple = ()  # of `Push`
    sines: Array | None = (
        # (n, 4) as in `types.Input`: forces on the cart that are known in advance, beside the
        # law's
        None
    )
    stop: Callable | None = None  # (t, q, v) -> a word that ends the run, "" to go on
    name: str = "the law"  # in sentences
    patience: float = 2.0  # [s] for one command


class ClosedLoop(NamedTuple):
    """Row i is the true state at t_i, and the force that acted on the cart from t_i to t_{i+1}."""

    t: Array  # (n + 1,) [s]
    q: Array  # (n + 1, 6)
    v: Array  # (n + 1, 5)
    force: Array  # (n, 2) [N, world]
    seen: Array  # (n, 11) q and v as the law saw them
    compute: Array  # (n,) [s] of processor time that the law took
    ended: str  # why it ended before its time, else ""
    fault: str  # what the law or the stepper did wrong, else ""


class Misbehaved(Exception):
    """A law did what no law may; the message says what."""


def run(
    params: spherical_pendulum.Params,
    integrator: Integrator,
    law,
    state: State,
    duration: float,
    period: float,
    conditions: Conditions = Conditions(),
) -> ClosedLoop:
    """The plant of `params` from `state` on for `duration` [s], under `law.command` every `period`
    [s].

    The force meets the limit first, then the faults of its way: so does a command that comes to
    the simulator.

    A law that raises, returns nonsense or exceeds its time limit ends the run, and so
    does a step that does not converge: `fault` says which, and the rows until then are kept.
    ValueError if the period is not a multiple of the step, or where the integrator does not apply.
    """
    loop = _Loop(params, integrator, law, state, duration, period, conditions)
    with CallTimeout(conditions.patience) as calls:
        try:
            while loop.rows < loop.planned and not (loop.ended or loop.fault):
                loop.advance(calls)
        except Misbehaved as error:
            loop.fault = str(error)
        except CallTimedOut:
            loop.fault = (
                f"{conditions.name} thought longer than "
                f"{conditions.patience:g} s about the "
                f"state at t = {loop.time:.3f} s"
            )
    return loop.record()


def warm_up(
    params: spherical_pendulum.Params,
    integrator: Integrator,
    law,
    period: float,
    conditions: Conditions,
) -> str:
    """Some commands near upright and some farther away: what compiles, or loads a library, does it
    here. The fault, or "".
    """
    first = Conditions(
        step=conditions.step,
        force_limit=conditions.force_limit,
        name=conditions.name,
        patience=FIRST,
    )
    for tilt in WARM_UP:
        if fault := run(
            params, integrator, law, spherical_pendulum.upright(tilt), 20 * period, period, first
        ).fault:
            return fault
    return ""


def answer(law, t: float, state: State, reference: Array, name: str = "the law") -> Array:
    """The law's force (2,) [N].

    Misbehaved, with its name, if it raises or returns anything but two finite numbers.
    """
    try:
        returned = law.command(t, state, reference)
    except Exception as error:  # whatever a law of somebody else raises
        raise Misbehaved(
            f"{name} raised {type(error).__name__} at t = {t:.3f} s: "
            f"{error}{tracebacks.place(error)}"
        ) from error
    try:
        force = np.asarray(returned, float)
    except (TypeError, ValueError):
        force = np.empty(0)
    if force.shape != (2,) or not (math.isfinite(force[0]) and math.isfinite(force[1])):
        raise Misbehaved(
            f"{name} returned {_written(returned)} at t = {t:.3f} s; it must return two finite "
            "forces [N]"
        )
    return force


class _Loop:
    """The plant, the law, and the rows so far."""

    def __init__(self, params, integrator, law, state, duration, period, conditions):
        self.integrator, self.law, self.conditions = integrator, law, conditions
        self.start, self.period, self.steps = state.t, period, steps(period, conditions.step)
        self.system = spherical_pendulum.build(actual(params, conditions.faults))
        self.chain = (
            FaultPipeline(conditions.faults, conditions.seed, period)
            if conditions.faults != Faults()
            else None
        )
        self.input = spherical_pendulum.no_input()
        if conditions.sines is not None:
            self.input = boundary.accepted(self.input._replace(sines=conditions.sines))
        integrator.check(self.system, state, self.input)
        self.options = integrator.options(self.system)
        fixed = conditions.reference
        self.aim = fixed if callable(fixed) else lambda t, at=np.array(fixed, float): at
        self.rows, self.planned, self.ended, self.fault = 0, round(duration / period), "", ""
        n = self.planned
        self.t = state.t + period * np.arange(n + 1)
        self.seen, self.compute, self.commanded = np.zeros((n, 11)), np.zeros(n), (0.0, 0.0)
        q, v = boundary.start(state)
        self.first = np.concatenate((q, v))
        h = conditions.step
        config = TickConfig(state.t, h, round(1e9 * h), self.steps, float(conditions.force_limit))
        self.ticker = Ticker(
            *(integrator, self.system, self.options, self.input, config),
            *(TickState.at_rest()._replace(q=q, v=v), History(n + 1)),
            self.chain and self.chain.actuator.state,
        )

    @property
    def time(self) -> float:
        """The time of the newest row [s]."""
        return self.start + self.rows * self.period

    def advance(self, calls: CallTimeout) -> None:
        """One control period. Misbehaved; CallTimedOut."""
        i, t, c = self.rows, self.time, self.conditions
        shown = self._shown(i, t)
        self.seen[i, :6], self.seen[i, 6:] = shown.q, shown.v
        aim, began = self.aim(t), time.thread_time()
        calls.edges += 1
        command = answer(self.law, t, shown, aim, c.name)
        calls.edges += 1
        self.compute[i] = time.thread_time() - began
        self.commanded = tuple(command.tolist())
        force = tuple((c.gain * command).tolist())
        self._tick(t, self.chain.command(i, force) if self.chain else force)

    def _shown(self, i: int, t: float) -> State:
        """What the law is shown at instant i."""
        truth = State(t, self.ticker.state.q.copy(), self.ticker.state.v.copy())
        shown = self.chain.measure(i, truth) if self.chain else truth
        if self.conditions.observer is None:
            return shown
        force = self.ticker.force
        if self.conditions.observer_force == COMMANDED:
            force, _ = limit_force(self.commanded, self.conditions.force_limit)
        return self.conditions.observer(shown, truth, force, self.chain and self.chain.sensors)

    def _tick(self, t: float, force: tuple[float, float]) -> None:
        c, state = self.conditions, self.ticker.state
        if c.pushes:
            self.input.disturbance[:] = _pushed(c.pushes, t)
        self.ticker.tick(force)
        if not self.ticker.is_complete:
            done, iterations, residual = state.solved.tolist()
            at = t + done * c.step, c.step, int(iterations), residual, state.q, state.v
            self.fault = failure(self.integrator, self.options, *at)
            return
        self.rows += 1
        if math.hypot(state.q[0], state.q[1]) > c.travel:
            self.ended = f"the cart left its travel of {c.travel:g} m at t = {self.time:.3f} s"
        elif c.stop:
            self.ended = c.stop(self.time, state.q, state.v)

    def record(self) -> ClosedLoop:
        """The rows so far."""
        n, rows = self.rows, self.ticker.history.ring.rows
        states = np.vstack((self.first, rows[: self.rows, 1:12]))
        return ClosedLoop(
            self.t[: n + 1],
            states[:, :6],
            states[:, 6:],
            rows[:n, 12:].copy(),
            self.seen[:n],
            self.compute[:n],
            self.ended,
            self.fault,
        )


def _written(returned) -> str:
    text = repr(returned)
    return text if len(text) <= 80 else f"{text[:77]}..."


def steps(period: float, step: float) -> int:
    """The integrator's steps in a control period. ValueError if it is no multiple."""
    n = round(period / step)
    if n < 1 or abs(period / step - n) > 1e-9 * n:
        raise ValueError(
            f"the control period is {period:g} s; it must be a multiple of the step, {step:g} s"
        )
    return n


def _pushed(pushes: tuple, t: float) -> Array:
    """The sum of the wrenches that act from t on."""
    acting = [push.wrench for push in pushes if push.time <= t + 1e-9 < push.time + push.duration]
    return np.sum(acting, axis=0) if acting else np.zeros(9)
