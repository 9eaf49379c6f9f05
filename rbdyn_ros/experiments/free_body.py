"""A free rigid body about its center of mass, simulated by any of the methods: attitude, angular
velocity, energy, momentum, work. It is the rod with l = 0 on a fixed cart, so every stepper
applies.

Hairer and Vilmart, "Preprocessed discrete Moser-Veselov algorithm for the full dynamics of the
free rigid body" (2006): the discrete top with principal inertia I~ follows, to order 4, the top
with inertia I when

    1/I~_j = (1 + h^2 s) / I_j + h^2 d,
    s = -(H/3) sum 1/I_i + C (sum I_i)/(6 I_1 I_2 I_3),
    d = H (sum I_i)/(6 I_1 I_2 I_3) - C/(3 I_1 I_2 I_3)

with H = sum p_i^2/(2 I_i) and C = |p|^2/2, constants of the motion: one line before the run, none
in the step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.bodies.description import rigid_bodies
from rbdyn_ros.geometry import increments, quaternion
from rbdyn_ros.integrators import se3_free
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.plant import rollout
from rbdyn_ros.types import Array, Input, State, System

# the notebook's body, which shows the Dzhanibekov (intermediate-axis) effect [kg m^2]
DZHANIBEKOV = (0.0801587, 0.0825397, 0.00396825)


def build(inertia: tuple[float, float, float], mass: float = 1.0) -> System:
    """Return a body with principal `inertia` [kg m^2] without forces. Raise ValueError if no body
    has that inertia.
    """
    (I,) = rigid_bodies.build(mass, inertia).inertia.tolist()
    return System(0.0, 0.0, 0.0, float(mass), 0.0, tuple(I), 0.0, 0.0)


def turning_state(q: ArrayLike, w: ArrayLike) -> State:
    """Return the state with attitude q (4,) [wxyz] and angular velocity w (3,) [rad/s, body]."""
    q = np.asarray(q, float)
    return State(
        0.0, np.r_[0.0, 0.0, q / np.linalg.norm(q)], np.r_[0.0, 0.0, np.asarray(w, float)]
    )


def preprocess(system: System, state: State, h: float) -> tuple[System, State]:
    """Return (System, State) for `moser_veselov` at the step h; its motion follows that of the
    given ones to order 4.

    Angular momentum and attitude are the same; the angular velocity is I~^-1 p.
    """
    I = np.array(system.inertia)
    p = I * state.v[2:]
    H, C = 0.5 * np.sum(p * p / I), 0.5 * p @ p
    s = -H / 3.0 * np.sum(1.0 / I) + C * I.sum() / (6.0 * I.prod())
    d = H * I.sum() / (6.0 * I.prod()) - C / (3.0 * I.prod())
    modified = 1.0 / ((1.0 + h * h * s) / I + h * h * d)
    return system._replace(inertia=tuple(modified.tolist())), state._replace(
        v=np.r_[state.v[:2], p / modified]
    )


class RotationRun(NamedTuple):
    """Samples of a rotating body; row 0 is the start."""

    inertia: Array  # (3,) [kg m^2]
    t: Array  # (n,) [s]
    Q: Array  # (n, 4) wxyz, body to world
    w: Array  # (n, 3) [rad/s, body]
    iterations: float  # of Newton or RIQN, per step
    ok: bool

    @property
    def energy(self) -> Array:
        """The kinetic energy (n,) [J]."""
        return 0.5 * np.sum(self.w * self.inertia * self.w, axis=-1)

    @property
    def momentum(self) -> Array:
        """The angular momentum (n, 3) [kg m^2/s, world]."""
        return quaternion.rotate(self.Q, self.w * self.inertia)


def simulate(
    integrator: Integrator,
    system: System,
    state: State,
    h: float,
    rows: int,
    every: int,
    input: Input | None = None,
) -> RotationRun:
    """Simulate `rows` times `every` steps of h [s] by a stepper of the package."""
    found = rollout.run(integrator, system, state, input or no_input(), h, rows, every)
    iterations = float(found.iterations[1:].mean()) / every
    inertia = np.array(system.inertia)
    return RotationRun(inertia, found.t, found.q[:, 2:], found.v[:, 2:], iterations, found.ok)


def simulate_modified(
    integrator: Integrator, system: System, state: State, h: float, rows: int, every: int
) -> RotationRun:
    """Simulate the same with Hairer and Vilmart's modified inertia."""
    run = simulate(integrator, *preprocess(system, state, h), h, rows, every)
    inertia = np.array(system.inertia)
    return run._replace(inertia=inertia, w=run.w * (run.inertia / inertia))


def simulate_se3(
    newton: bool,
    system: System,
    state: State,
    h: float,
    rows: int,
    every: int,
    tolerance: float = 1e-13,
) -> RotationRun:
    """Simulate the same by the DREPE on SE(3), solved by Newton or by RIQN."""
    options = se3_free.Options(tolerance, 500, int(newton))
    q, v = np.r_[np.zeros(3), state.q[2:]], np.r_[np.zeros(3), state.v[2:]]
    Q, w, total, ok = [q[3:].copy()], [v[3:].copy()], 0, True
    for _ in range(rows):
        done, iterations, _ = se3_free.advance_free(system, options, np.zeros(9), h, every, q, v)
        total, ok = total + iterations, ok and done == every
        Q.append(q[3:].copy())
        w.append(v[3:].copy())
    t, inertia = h * every * np.arange(rows + 1), np.array(system.inertia)
    return RotationRun(inertia, t, np.array(Q), np.array(w), total / (rows * every), ok)


def drift_of_the_screw(system: System, state: State, h: float, duration: float) -> float:
    """Return the largest distance [m] of the center of mass from its straight line at 0.62 m/s, by
    the DREPE on SE(3).
    """
    velocity = np.array([0.3, -0.2, 0.5])
    q, v = np.r_[np.zeros(3), state.q[2:]], np.r_[velocity, state.v[2:]]
    options, worst = se3_free.Options(1e-13, 50, 1), 0.0
    for k in range(1, round(duration / h) + 1):
        se3_free.advance_free(system, options, np.zeros(9), h, 1, q, v)
        worst = max(worst, float(np.linalg.norm(q[:3] - velocity * h * k)))
    return worst


def attitude_error(run: RotationRun, reference: RotationRun) -> Array:
    """Return the angle between two attitudes, sample by sample (n,) [rad]."""
    return np.linalg.norm(increments.boxminus(run.Q, reference.Q), axis=-1)


def tilt_of_momentum(run: RotationRun) -> Array:
    """Return the angle between the momentum and its start (n,) [deg]."""
    L, L0 = run.momentum, run.momentum[0]
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(L, L0), axis=-1), L @ L0))


def worst_energy(run: RotationRun) -> float:
    """Return the largest relative energy error."""
    return float(np.abs(run.energy / run.energy[0] - 1.0).max())


def worst_momentum(run: RotationRun) -> float:
    """Return the largest relative error of the momentum vector."""
    L = run.momentum
    return float((np.linalg.norm(L - L[0], axis=-1) / np.linalg.norm(L[0])).max())
