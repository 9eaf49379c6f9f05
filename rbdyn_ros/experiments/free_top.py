"""A free body simulated by any of the methods: attitude, angular velocity, energy, momentum,
work.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.experiments import free_body
from rbdyn_ros.geometry import increments, quaternion
from rbdyn_ros.mechanics.integrators import se3_free
from rbdyn_ros.mechanics.integrators.select import Integrator
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import no_input
from rbdyn_ros.simulation import rollout
from rbdyn_ros.types import Array, Input, State, System


class Turning(NamedTuple):
    """Samples of a turning body; row 0 is the start."""

    t: Array  # (n,) [s]
    Q: Array  # (n, 4) wxyz, body to world
    w: Array  # (n, 3) [rad/s, body]
    energy: Array  # (n,) [J] kinetic
    momentum: Array  # (n, 3) [kg m^2/s, world]
    iterations: float  # of Newton or RIQN, per step
    ok: bool


def simulate(
    integrator: Integrator,
    system: System,
    state: State,
    h: float,
    rows: int,
    every: int,
    input: Input | None = None,
) -> Turning:
    """`rows` times `every` steps of h [s] by a stepper of the package."""
    record = rollout.run(integrator, system, state, input or no_input(), h, rows, every)
    return _turning(
        system,
        record.t,
        record.q[:, 2:],
        record.v[:, 2:],
        _mean(record.iterations, every),
        record.ok,
    )


def simulate_modified(
    integrator: Integrator, system: System, state: State, h: float, rows: int, every: int
) -> Turning:
    """The same with Hairer and Vilmart's modified inertia (`experiments.free_body`)."""
    modified, start = free_body.preprocess(system, state, h)
    record = rollout.run(integrator, modified, start, no_input(), h, rows, every)
    w = record.v[:, 2:] * np.divide(modified.inertia, system.inertia)
    return _turning(
        system, record.t, record.q[:, 2:], w, _mean(record.iterations, every), record.ok
    )


def simulate_se3(
    newton: bool,
    system: System,
    state: State,
    h: float,
    rows: int,
    every: int,
    tolerance: float = 1e-13,
) -> Turning:
    """The same by the DREPE on SE(3), solved by Newton or by RIQN."""
    options = se3_free.Options(tolerance, 500, int(newton))
    q, v = np.r_[np.zeros(3), state.q[2:]], np.r_[np.zeros(3), state.v[2:]]
    Q, w, total, ok = [q[3:].copy()], [v[3:].copy()], 0, True
    for _ in range(rows):
        done, iterations, _ = se3_free.advance_free(system, options, np.zeros(9), h, every, q, v)
        total, ok = total + iterations, ok and done == every
        Q.append(q[3:].copy())
        w.append(v[3:].copy())
    t = h * every * np.arange(rows + 1)
    return _turning(system, t, np.array(Q), np.array(w), total / (rows * every), ok)


def drift_of_the_screw(system: System, state: State, h: float, duration: float) -> float:
    """Largest distance [m] of the center of mass from its straight line at 0.62 m/s, by the DREPE
    on SE(3).
    """
    velocity = np.array([0.3, -0.2, 0.5])
    q, v = np.r_[np.zeros(3), state.q[2:]], np.r_[velocity, state.v[2:]]
    options, worst = se3_free.Options(1e-13, 50, 1), 0.0
    for k in range(1, round(duration / h) + 1):
        se3_free.advance_free(system, options, np.zeros(9), h, 1, q, v)
        worst = max(worst, float(np.linalg.norm(q[:3] - velocity * h * k)))
    return worst


def attitude_error(turning: Turning, reference: Turning) -> Array:
    """Angle between two attitudes, sample by sample (n,) [rad]."""
    return np.linalg.norm(increments.boxminus(turning.Q, reference.Q), axis=-1)


def tilt_of_momentum(turning: Turning) -> Array:
    """Angle between the momentum and its start (n,) [deg]."""
    L, L0 = turning.momentum, turning.momentum[0]
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(L, L0), axis=-1), L @ L0))


def worst_energy(turning: Turning) -> float:
    """Largest relative energy error."""
    return float(np.abs(turning.energy / turning.energy[0] - 1.0).max())


def worst_momentum(turning: Turning) -> float:
    """Largest relative error of the momentum vector."""
    L = turning.momentum
    return float((np.linalg.norm(L - L[0], axis=-1) / np.linalg.norm(L[0])).max())


def _turning(system: System, t, Q, w, iterations: float, ok: bool) -> Turning:
    p = w * np.array(system.inertia)
    return Turning(t, Q, w, 0.5 * np.sum(p * w, axis=-1), quaternion.rotate(Q, p), iterations, ok)


def _mean(iterations, every: int) -> float:
    return float(iterations[1:].mean()) / every
