"""The measurement of a law's frequency response around the simulated plant, and its prediction
where the law is linear.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.linear_controller import LinearController, delay, is_stable, of_law
from rbdyn_ros.evaluation.closed_loop_table import Loop
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.frequency.frequency_response import OutputResponse, Response
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.tilt import shift, tilt
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults, actual
from rbdyn_ros.plant.rollout import Rollout
from rbdyn_ros.types import Array, State

FALLEN = math.radians(60.0)  # from upright
AXES = "xy"
SETTLING = 10.0  # [s] in which the loops of this package settle to 10^-3
COMMAND, MEASUREMENT = "command", "measurement"  # where the excitation is added
EXCITED = {
    COMMAND: ["excited along x", "excited along y"],
    MEASUREMENT: [f"excited at the measured {name}" for name in ("x", "y", "tilt x", "tilt y")]
    + ["not excited"],
}


class LoopMeasurement(NamedTuple):
    """The measured response of a loop."""

    response: Response  # of the loop at the force
    largest_tilt: float  # [rad] in the periods that count
    limited: float  # part of the instants at which the force reached the plant's limit
    missing: int = 0  # instants that are missing in a record
    outputs: OutputResponse | None = None  # where the measurements were excited


def measure(
    loop: Loop,
    sine: Multisine,
    periods: int = 2,
    progress: Callable[[float], Any] = lambda part: None,
    at: str = COMMAND,
) -> LoopMeasurement:
    """Return the response of `loop` from upright at its set point: as many periods of the
    excitation as last `SETTLING` are left out, then `periods` count.

    It is added `at` the command, along x and along y, or at the measurement, to each of the
    `OUTPUTS` and, in a last run, to none.

    Raise ValueError, with one sentence, where the rod falls or the law fails.
    """
    wave, rate = frequency_response.errors(sine, loop.period)
    settling = settling_periods(sine)
    duration = (settling + periods) * sine.period
    places = EXCITED[at]
    laws: list[Any]
    if at == COMMAND:
        laws = [Excited(loop, wave, axis) for axis in (0, 1)]
    else:
        laws = [ExcitedMeasurement(loop, wave, rate, i) for i in range(4)]
        laws.append(ExcitedMeasurement(loop, 0.0 * wave, 0.0 * rate, 0))
    signals = []
    for i, (place, excited) in enumerate(zip(places, laws)):
        closed_loop.reset(loop.law, loop.conditions.name)
        run = run_excited(
            loop, excited, duration, lambda part, i=i: progress((i + part) / len(places))
        )
        if run.fault:
            raise ValueError(f"{run.message} while it was {place}")
        if run.refused:
            raise ValueError(f"the law refused {run.refused} states while it was {place}")
        if not run.ok:
            raise ValueError(
                f"{run.message} while it was {place}: the loop is not stable, or the excitation "
                "too strong for it (--amplitude)"
            )
        seen = [*map(outputs_of, run.q[:-1])]
        signals.append([*map(np.array, (*excited.signals, seen))])
    shape = len(places), settling + periods, len(wave), -1
    first, second, outputs = (
        np.stack(each).reshape(shape)[:, settling:] for each in zip(*signals)
    )
    lean = float(np.hypot(outputs[..., 2], outputs[..., 3]).max())
    if at == COMMAND:
        response = frequency_response.estimate(sine, first, second, outputs)
        return LoopMeasurement(response, lean, _limited_share(loop, second))
    found = frequency_response.estimate_outputs(sine, loop.period, first, second)
    return LoopMeasurement(found.at_force(), lean, _limited_share(loop, first), outputs=found)


def check_cart(loop: Loop) -> None:
    """Raise ValueError where no excitation moves the cart."""
    limit, why = loop.conditions.force_limit, "for the excitation is a force on the cart"
    if limit == 0.0:
        raise ValueError(f"cart.force_limit is 0 N; it must be > 0, {why}")
    if loop.params.cart_fixed:
        raise ValueError(f"cart.fixed is true; it must be false, {why}")


def outputs_of(q: Array) -> tuple[float, ...]:
    """Return (x, y, th_x, th_y) [m, rad] of q (6,)."""
    return (*q[:2].tolist(), *tilt(q, np.zeros(5))[:2])


def settling_periods(sine: Multisine) -> int:
    """Return the number of periods that last `SETTLING`."""
    return math.ceil(SETTLING / sine.period - 1e-9)


def run_excited(
    loop: Loop, law: Any, duration: float, progress: Callable[[float], Any] = lambda part: None
) -> Rollout:
    """Run a law in place of the loop's own, from upright at the set point, until the rod falls."""
    start = spherical_pendulum.upright(0.0)
    start.q[:2] = loop.reference

    def stop(t: float, q: Array, v: Array) -> str:
        progress(t / duration)
        lean = math.hypot(*outputs_of(q)[2:])
        return f"the rod fell at t = {t:.2f} s" if lean > FALLEN else ""

    conditions = loop.conditions._replace(stop=stop)
    return closed_loop.run(
        loop.params, loop.integrator, law, start, duration, loop.period, conditions
    )


def _limited_share(loop: Loop, force: Array) -> float:
    """Return the part of the forces (..., 2) [N] that are beyond the plant's limit."""
    return float(np.mean(np.hypot(force[..., 0], force[..., 1]) > loop.conditions.force_limit))


class Excited:
    """The law of a loop with a known force added to its command."""

    def __init__(self, loop: Loop, wave: Array, axis: int):
        self._law, self._name = loop.law, loop.conditions.name
        self._wave, self._axis = wave, axis
        self.commands: list[Array] = []  # u_c of (F.2)
        self.sums: list[Array] = []  # u
        self.signals = self.commands, self.sums

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the law's force with the excitation (2,) [N]."""
        force = closed_loop.command_force(self._law, t, state, reference, self._name)
        self.commands.append(force)
        total = force.copy()
        total[self._axis] += self._wave[len(self.sums) % len(self._wave)]
        self.sums.append(total)
        return total


class ExcitedMeasurement:
    """The law of a loop whose measurement of the cart or the tilt has a known error, and its rate
    (F.9).
    """

    def __init__(self, loop: Loop, error: Array, rate: Array, output: int):
        self._law, self._name = loop.law, loop.conditions.name
        self._errors, self._output = (error, rate), output
        self.forces: list[Array] = []  # u of (F.10)
        self.outputs: list[Array] = []  # y
        self.signals = self.forces, self.outputs

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the law's force (2,) [N] for the state with the error."""
        self.outputs.append(np.array(outputs_of(state.q)))
        i = len(self.forces)
        n, rate = (float(each[i % len(each)]) for each in self._errors)
        measured = add_error(state, self._output, n, rate)
        force = closed_loop.command_force(self._law, t, measured, reference, self._name)
        self.forces.append(force)
        return self.forces[-1]


def add_error(state: State, output: int, n: float, rate: float) -> State:
    """Return the state with n [m or rad] added to one of the `OUTPUTS`, and `rate` to its rate."""
    q, v, axis = state.q.copy(), state.v.copy(), output % 2
    if output < 2:
        q[axis] += n
        v[axis] += rate
    else:
        q[2:], v[2:] = shift(q, v, *((e, 0.0) if axis == 0 else (0.0, e) for e in (n, rate)))
    return State(state.t, q, v)


def is_unstable(loop: Loop) -> bool:
    """Return whether the loop is one that `predict` knows, and does not decay: it has no
    margins.
    """
    found = _linear_loop(loop)
    return found is not None and not is_stable(delay(*found[2:]), *found[:2])


def is_linear(loop: Loop) -> bool:
    """Return whether `predict` knows the loop."""
    return _linear_loop(loop) is not None


def predict(loop: Loop, frequency: Array) -> Array | None:
    """Return L (n,) of one axis by (F.7), where the law is u = -K(z) e and only whole periods of
    delay lie between it and the cart; None elsewhere, as behind an observer.

    The plant is the linearization of the step itself, with the mismatch of the faults.
    """
    h, found = loop.period, _linear_loop(loop)
    return found and frequency_response.predict(*found[:3], h, frequency, h * found[3])


def predict_outputs(loop: Loop, frequency: Array) -> Array | None:
    """Return l (n, 2) of the cart's place and of the tilt, of one axis, by (F.13), where `predict`
    knows L; None elsewhere.
    """
    h, found = loop.period, _linear_loop(loop)
    return found and frequency_response.predict_outputs(*found[:3], h, frequency, found[3])


def _linear_loop(loop: Loop) -> tuple[Array, Array, LinearController, int] | None:
    """Return A, B of the plant, the law, and the periods of delay between the two; None where the
    loop is not linear, or the two axes differ by I_1 != I_2.
    """
    controller, faults = of_law(loop.law), loop.conditions.faults
    known = Faults(
        command_delay=faults.command_delay,
        state_delay=faults.state_delay,
        noise=faults.noise,
        mismatch=faults.mismatch,
    )
    if controller is None or faults != known or loop.conditions.observer:
        return None
    system = spherical_pendulum.build(actual(loop.params, faults))
    if system.inertia[0] != system.inertia[1]:
        return None
    A, B = step_linearization.upright(system, loop.period, loop.conditions.step)
    late = sum(round(d / loop.period) for d in (faults.command_delay, faults.state_delay))
    return A, B, controller, late
