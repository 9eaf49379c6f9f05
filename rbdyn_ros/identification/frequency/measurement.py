"""Measure the frequency response of a law around the simulated plant, and predict it where the law
is linear.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.linear_controller import LinearController, constant
from rbdyn_ros.evaluation.trial.closed_loop_table import Loop
from rbdyn_ros.faults.mismatch import actual
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.identification.frequency import frequency_response
from rbdyn_ros.identification.frequency.frequency_response import Response
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.tilt import tilt
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import Array, State

FALLEN = math.radians(60.0)  # from upright
AXES = "xy"


class Measurement(NamedTuple):
    """What was measured."""

    response: Response
    largest_tilt: float  # [rad] in the periods that count
    limited: float  # part of the instants at which the force met the plant's limit
    missing: int = 0  # instants of which a record says nothing


def measure(
    loop: Loop,
    sine: Multisine,
    periods: int = 2,
    settling: int = 1,
    progress: Callable[[float], Any] = lambda part: None,
) -> Measurement:
    """The response of `loop` from upright at its set point, along x and along y: `settling`
    periods of the excitation that are left out, then `periods` that count.

    ValueError, in one sentence, where the rod falls or the law does what no law may.
    """
    wave = sine.sample(loop.period)
    duration = (settling + periods) * sine.period
    start = spherical_pendulum.upright(0.0)
    start.q[:2] = loop.reference
    signals = []
    for axis in (0, 1):
        loop.law.reset()
        law = Excited(loop.law, wave, axis)

        def stop(t: float, q: Array, v: Array, axis: int = axis) -> str:
            progress(0.5 * (axis + t / duration))
            lean = math.hypot(*tilt(q, v)[:2])
            return f"the rod fell at t = {t:.2f} s" if lean > FALLEN else ""

        run = closed_loop.run(
            loop.params,
            loop.integrator,
            law,
            State(0.0, start.q.copy(), start.v.copy()),
            duration,
            loop.period,
            loop.conditions._replace(stop=stop),
        )
        if not run.ok:
            raise ValueError(
                f"{run.message} while it was excited along {AXES[axis]}: the loop is not stable, "
                "or the excitation too strong for it (--amplitude)"
            )
        angles = np.array([tilt(q, v)[:2] for q, v in zip(run.q[:-1], run.v[:-1])])
        outputs = np.hstack((run.q[:-1, :2], angles))
        signals.append((np.array(law.commands), np.array(law.sums), outputs))
    shape = 2, settling + periods, len(wave), -1
    command, applied, outputs = (
        np.stack(each).reshape(shape)[:, settling:] for each in zip(*signals)
    )
    limit = loop.conditions.force_limit
    return Measurement(
        frequency_response.estimate(sine, command, applied, outputs),
        float(np.hypot(outputs[..., 2], outputs[..., 3]).max()),
        float(np.mean(np.hypot(applied[..., 0], applied[..., 1]) > limit)),
    )


class Excited:
    """A law with a known force added to its own."""

    def __init__(self, law: Any, wave: Array, axis: int):
        self._law, self._wave, self._axis = law, wave, axis
        self.commands: list[Array] = []  # u_c of (F.2)
        self.sums: list[Array] = []  # u

    def command(self, t: float, state: State, reference: Array) -> Array:
        """The law's force and the excitation (2,) [N]."""
        force = closed_loop.command_force(self._law, t, state, reference)
        self.commands.append(force)
        total = force.copy()
        total[self._axis] += self._wave[len(self.sums) % len(self._wave)]
        self.sums.append(total)
        return total


def predict(loop: Loop, frequency: Array) -> Array | None:
    """L (n,) of one axis by (F.7), where the law is u = -K(z) e and all that lies between it and
    the cart are whole periods of delay; None elsewhere.

    The plant is the linearization of the step itself, with the mismatch of the faults.
    """
    controller, faults = _linear(loop.law), loop.conditions.faults
    known = Faults(
        command_delay=faults.command_delay,
        state_delay=faults.state_delay,
        noise=faults.noise,
        mismatch=faults.mismatch,
    )
    if controller is None or faults != known:
        return None
    system = spherical_pendulum.build(actual(loop.params, faults))
    A, B = step_linearization.upright(system, loop.period, loop.conditions.step)
    late = sum(round(d / loop.period) for d in (faults.command_delay, faults.state_delay))
    L = frequency_response.predict(A, B, controller, loop.period, frequency)
    return L * np.exp(-2j * math.pi * frequency * loop.period * late)


def _linear(law: Any) -> LinearController | None:
    """What a linear law is; None for another."""
    if hasattr(law, "linear"):
        return law.linear()
    K = getattr(law, "gains", None)
    return None if K is None or np.shape(K) != (4,) else constant(np.asarray(K))
