"""How fast springs and dampers are at a configuration: what limits the length of a step.

    M x'' = -D^T (kappa D x + c D x'),   A x = 0,
    W = D (M^-1 - M^-1 A^T (A M^-1 A^T)^-1 A M^-1) D^T

D are the gradients of the springs' lengths and angles. The largest eigenvalues of
sqrt(kappa) W sqrt(kappa) and of sqrt(c) W sqrt(c) are the square of the highest angular frequency,
without friction and contacts, and the rate at which the stiffest damper acts. A step h with
h omega >= 2 is unstable (doc/nonsmooth.md, M.27); the stages of a composition that go back in time
undo damping, and keep its order only where a damper changes little within a stage (M.28).
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import jacobian, multipliers
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.redundancy import least_squares
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.bodies.description.spring_kinds import LINEAR, Springs, place
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array


class Fastest(NamedTuple):
    """The springs and the dampers that act fastest, together with those coupled to them."""

    frequency: float  # [rad/s], 0 without springs
    spring: int  # that which moves most there
    rate: float  # [1/s], 0 without dampers
    damper: int


def fastest(springs: Springs, constraints: Constraints, bodies: Bodies, q: Array) -> Fastest:
    """Return what is fastest at q (n, 7), where the joints are closed."""
    if not len(springs.kind):
        return Fastest(0.0, 0, 0.0, 0)
    D, J = gradients(springs, q), jacobian.jacobian(constraints.rows, q)
    inverse = multipliers.inverse_mass(bodies)
    on_rows = (J * inverse) @ D.T
    W = (D * inverse) @ D.T - on_rows.T @ least_squares((J * inverse) @ J.T, on_rows)
    square, spring = _largest(W, springs.stiffness)
    rate, damper = _largest(W, springs.damping)
    return Fastest(float(np.sqrt(square)), spring, rate, damper)


def gradients(springs: Springs, q: Array) -> Array:
    """Return D (k, 6n): the rates of lengths and angles for velocities [m/s world, rad/s body]."""
    D = np.zeros((len(springs.kind), len(q), 6))
    for k, (kind, a, b) in enumerate(zip(springs.kind, springs.a, springs.b)):
        along = _in_world(q, b, springs.on_b[k])
        if kind == LINEAR:
            apart = place(q, a, springs.on_a[k]) - place(q, b, springs.on_b[k])
            along = apart / max(np.linalg.norm(apart), 1e-300)
        for body, point, sign in ((a, springs.on_a[k], 1.0), (b, springs.on_b[k], -1.0)):
            if body == WORLD:
                continue
            d = sign * quaternion.rotate(quaternion.conjugate(q[body, 3:]), along)
            D[k, body, :3] = sign * along if kind == LINEAR else 0.0
            D[k, body, 3:] = np.cross(point, d) if kind == LINEAR else d
    return D.reshape(len(D), -1)


def _in_world(q: Array, body: int, axis: Array) -> Array:
    return axis if body == WORLD else quaternion.rotate(q[body, 3:], axis)


def _largest(W: Array, weights: Array) -> tuple[float, int]:
    """Return (largest eigenvalue of W with weights, where its vector is largest)."""
    root = np.sqrt(weights)
    with np.errstate(all="ignore"):
        weighted = root[:, None] * W * root
    if not np.isfinite(weighted).all():
        return np.inf, int(np.argmax(weights))
    values, vectors = np.linalg.eigh(weighted)
    return max(float(values[-1]), 0.0), int(np.abs(vectors[:, -1]).argmax())
