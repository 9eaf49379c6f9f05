"""A free rigid body about its center of mass: the rod with l = 0 on a fixed cart, so every stepper
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

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.types import Array, State, System

# the notebook's body, which shows the Dzhanibekov (intermediate-axis) effect [kg m^2]
DZHANIBEKOV = (0.0801587, 0.0825397, 0.00396825)


def build(inertia: tuple[float, float, float], mass: float = 1.0) -> System:
    """A body with principal `inertia` [kg m^2] that nothing acts on; ValueError if it is no
    body's.
    """
    I = np.asarray(inertia, float)
    if (
        I.shape != (3,)
        or not np.all(np.isfinite(I))
        or not np.all(I > 0.0)
        or 2.0 * I.max() > I.sum() * (1.0 + 1e-9)
    ):
        raise ValueError(
            f"the inertia is {inertia}; it takes three positive numbers, none above the sum of "
            "the others"
        )
    return System(0.0, 0.0, 0.0, float(mass), 0.0, tuple(I.tolist()), 0.0, 0.0)


def turning(q: ArrayLike, w: ArrayLike) -> State:
    """The state with attitude q (4,) [wxyz] and angular velocity w (3,) [rad/s, body]."""
    q = np.asarray(q, float)
    return State(
        0.0, np.r_[0.0, 0.0, q / np.linalg.norm(q)], np.r_[0.0, 0.0, np.asarray(w, float)]
    )


def momentum(system: System, state: State) -> Array:
    """Angular momentum R I w (3,) [kg m^2/s, world]."""
    p = np.multiply(system.inertia, state.v[2:])
    return np.array(unit_quaternion.rotate(tuple(state.q[2:].tolist()), tuple(p.tolist())))


def preprocess(system: System, state: State, h: float) -> tuple[System, State]:
    """(System, State) for `moser_veselov` at the step h that follow the given ones to order 4.

    Angular momentum and attitude are the same; the angular velocity is I~^-1 p (`postprocess`
    undoes it).
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


def postprocess(system: System, modified: System, state: State) -> State:
    """The state of the body with `system`'s inertia that has the momentum of `state` in the
    `modified` one.
    """
    return state._replace(
        v=np.r_[state.v[:2], state.v[2:] * np.divide(modified.inertia, system.inertia)]
    )
