"""A spinning top whose tip slides on a floor with friction: as a body with a contact, and as
reduced equations.

Sliding for good, the contact is a constraint with a force F = N (e_z - mu u_T/|u_T|) along a known
direction:

    m r'' = F + m g,    J w' = J w x w + p x R^T F,    e_z . (r'' + R (w' x p + w x (w x p))) = 0

N follows from the last row, linear in it (index 1). doc/nonsmooth.md, M.5 to M.18, is the scheme
that meets them.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.experiments.scenes import Scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics.description import pairs, rigid_bodies
from rbdyn_ros.types import Array


class Params(NamedTuple):
    """The top, the floor, the start. Its tip touches at the start, and nothing approaches."""

    mass: float = 0.58387070  # [kg]
    inertia: tuple = (2.2129e-4, 2.2129e-4, 3.0207e-4)  # [kg m^2]
    tip: tuple = (0.0, 0.0, -0.03795882)  # [m] from the centre of mass
    gravity: float = 9.81  # [m/s^2]
    friction: float = 0.01
    height: float = 0.037  # [m] of the centre of mass
    tilt: float = np.radians(10.0)  # [rad] about x
    speed: float = 1.0  # [m/s] along x
    spin: float = 50.0  # [rad/s]


def build(params: Params) -> Scene:
    """The top with its tip on a floor that passes through it."""
    bodies = rigid_bodies.build(params.mass, params.inertia, (0.0, 0.0, -params.gravity))
    q = rigid_bodies.configuration(
        bodies, (0.0, 0.0, params.height), quaternion.exp((params.tilt, 0.0, 0.0))
    )
    floor = q[0, :3] + quaternion.rotate(q[0, 3:], np.array(params.tip))
    touch = pairs.corner(0, params.tip, s=floor, mu=params.friction)
    v = rigid_bodies.motion(bodies, (params.speed, 0.0, 0.0), (0.0, 0.0, params.spin))
    return Scene(bodies, q, v, None, pairs.build(1, touch))


def exact(params: Params, times) -> tuple[Array, Array]:
    """(q (k, 7), v (k, 6)) at `times` [s] by the reduced equations, DOP853 at rtol 1e-13;
    RuntimeError if it stops.
    """
    start = build(params)
    times = np.asarray(times, float)
    state = np.concatenate([start.q[0], start.v[0]])
    found = solve_ivp(
        _derivative,
        (0.0, times[-1]),
        state,
        "DOP853",
        times,
        args=(params,),
        rtol=1e-13,
        atol=1e-13,
    )
    if not found.success:
        raise RuntimeError(
            f"the reduced equations of the top stop at t = {found.t[-1]:.6g} s: {found.message}"
        )
    return found.y[:7].T, found.y[7:].T


def _derivative(t: float, y: Array, params: Params) -> Array:
    """(r', q', r'', w') of a top that slides; the quaternion's rate is q (0, w)/2."""
    q, v, w = y[3:7], y[7:10], y[10:]
    J, p = np.array(params.inertia), np.array(params.tip)
    R = quaternion.to_matrix(quaternion.normalized(q))
    u = v + R @ np.cross(w, p)
    F = np.array([0.0, 0.0, 1.0]) - params.friction * np.array([u[0], u[1], 0.0]) / np.hypot(
        u[0], u[1]
    )
    free, turning = np.array([0.0, 0.0, -params.gravity]), np.cross(J * w, w) / J
    by_N, by_N_turning = F / params.mass, np.cross(p, R.T @ F) / J
    lift = free + R @ (np.cross(turning, p) + np.cross(w, np.cross(w, p)))
    N = -lift[2] / (by_N + R @ np.cross(by_N_turning, p))[2]
    return np.concatenate(
        [
            v,
            0.5 * quaternion.product(q, np.array([0.0, *w])),
            free + N * by_N,
            turning + N * by_N_turning,
        ]
    )
