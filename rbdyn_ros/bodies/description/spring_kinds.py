"""Springs with damping between two points, or about the axis of a hinge (doc/nonsmooth.md, M.27 to
M.30).

    LINEAR    d = x_a + R_a p - x_b - R_b s,   l = |d|            V = kappa (l - l_0)^2 / 2
    TORSION   phi about the axis that a and b share, from the start V = kappa (phi - phi_0)^2 / 2

The damping is a force -c dl/dt, or a torque -c dphi/dt.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import rows
from rbdyn_ros.bodies.description.rows import (
    INDEX,
    NUMBER,
    VECTOR,
    WORLD,
    as_columns,
    require_bodies,
    vector,
)
from rbdyn_ros.geometry import float_arrays, quaternion, unit_quaternion, vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array

LINEAR, TORSION = range(2)


class Springs(NamedTuple):
    """k springs, made by `build` from `linear` and `torsion`."""

    kind: Array  # (k,)
    a: Array  # (k,) body
    b: Array  # (k,) another body, or WORLD
    on_a: Array  # (k, 3) point [m], or axis, in a
    on_b: Array  # (k, 3) the same in b
    turn: Array  # (k, 4) attitude of a in b at phi = 0, wxyz
    stiffness: Array  # (k,) [N/m] or [N m/rad]
    rest: Array  # (k,) l_0 [m] or phi_0 [rad]
    damping: Array  # (k,) [N s/m] or [N m s/rad]


def linear(
    a: int, p, b: int, s, stiffness: float, length: float, damping: float = 0.0
) -> tuple[Any, ...]:
    """Return a spring of a rest length [m] from p of a to s of b [m, in the bodies]."""
    return (LINEAR, a, b, p, s, (1.0, 0.0, 0.0, 0.0), stiffness, length, damping)


def torsion(
    a: int,
    axis_a,
    b: int,
    axis_b,
    turn,
    stiffness: float,
    angle: float = 0.0,
    damping: float = 0.0,
) -> tuple[Any, ...]:
    """Return a spring about an axis of a that is also an axis of b; `turn` is the attitude of a in
    b, wxyz, from which angles are counted, `angle` [rad] the angle at rest.
    """
    axes = (
        float_arrays.unit(axis, "axis", 3, "divide it by its length") for axis in (axis_a, axis_b)
    )
    return (TORSION, a, b, *axes, turn, stiffness, angle, damping)


def build(bodies: int, *springs) -> Springs:
    """Return the springs between `bodies` bodies. Raise ValueError naming the spring that is
    impossible.
    """
    for i, (kind, a, b, _, _, _, stiffness, rest, damping) in enumerate(springs):
        require_bodies(f"spring {i}", a, b, bodies)
        low = 0.0 if kind == LINEAR else -np.inf
        for word, value, least in (
            ("stiffness", stiffness, 0.0),
            ("damping", damping, 0.0),
            ("length" if kind == LINEAR else "angle", rest, low),
        ):
            number(value, f"the {word} of spring {i}", least)
    attitude = float, (4,)
    kinds = INDEX, INDEX, INDEX, VECTOR, VECTOR, attitude, NUMBER, NUMBER, NUMBER
    return Springs(*as_columns(springs, *kinds))


def place(q: Array, body: int, point: Array) -> Array:
    """Return the position of a point of a body [m, world]."""
    return point if body == WORLD else q[body, :3] + quaternion.rotate(q[body, 3:], point)


@kernel
def add_forces(springs, near, q, v, wrench):
    """Add the forces of springs and dampers at q (n, 7), v (n, 6) to wrench (n, 6) [N world | N m
    body, at the centers of mass] and return the power of the dampers [W]. Set near (k,) to the
    lengths [m] and to the angles [rad] nearest to its previous values.
    """
    power = 0.0
    for k in range(len(near)):
        a, b = springs.a[k], springs.b[k]
        R_a, x_a = pose(q, a)
        R_b, x_b = pose(q, b)
        p, s = vector(springs.on_a, k), vector(springs.on_b, k)
        v_a, w_a = motion(v, a, R_a)
        v_b, w_b = motion(v, b, R_b)
        if springs.kind[k] == LINEAR:
            p, s = vec.matvec(R_a, p), vec.matvec(R_b, s)
            d = vec.sub(vec.add(x_a, p), vec.add(x_b, s))
            near[k] = vec.norm(d)
            d = vec.scale(1.0 / near[k] if near[k] > 0.0 else 0.0, d)
            u = vec.sub(vec.add(v_a, vec.cross(w_a, p)), vec.add(v_b, vec.cross(w_b, s)))
        else:
            d, u = vec.matvec(R_b, s), vec.sub(w_a, w_b)
            near[k] = angle(springs, k, q, near[k])
        rate = vec.dot(d, u)
        damping = springs.damping[k] * rate
        power -= damping * rate
        f = vec.scale(-springs.stiffness[k] * (near[k] - springs.rest[k]) - damping, d)
        for i, R, lever, sign in ((a, R_a, p, 1.0), (b, R_b, s, -1.0)):
            if i != WORLD:
                f_i, torque = vec.scale(sign, f), vec.scale(sign, f)
                if springs.kind[k] == LINEAR:
                    for r in range(3):
                        wrench[i, r] += f_i[r]
                    torque = vec.cross(lever, f_i)
                torque = vec.transposed_matvec(R, torque)
                for r in range(3):
                    wrench[i, 3 + r] += torque[r]
    return power


@inlined
def pose(q, i):
    """Return (R, x) of body i, or of the world."""
    x, Q = rows.place(q, i)
    return unit_quaternion.matrix(unit_quaternion.normalize(Q)), x


@inlined
def motion(v, i, R):
    """Return (v, w) [world] of body i, or of the world."""
    if i == WORLD:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return vector(v, i), vec.matvec(R, (v[i, 3], v[i, 4], v[i, 5]))


@inlined
def angle(springs, k, q, near):
    """Return the angle of torsional spring k that is nearest to `near` [rad]."""
    (_, a), (_, b), t = rows.place(q, springs.a[k]), rows.place(q, springs.b[k]), springs.turn[k]
    e = unit_quaternion.product(unit_quaternion.conjugate(b), a)
    e = unit_quaternion.product(e, unit_quaternion.conjugate(t))
    found = 2.0 * np.arctan2(vec.dot(e[1:], vector(springs.on_b, k)), e[0])
    return found + 2.0 * np.pi * np.floor((near - found) / (2.0 * np.pi) + 0.5)


def energy(springs: Springs, extension: Array) -> float:
    """Return the energy of the springs [J] at their lengths [m] and angles [rad] `extension`."""
    return float(0.5 * springs.stiffness @ (extension - springs.rest) ** 2)
