"""Springs with damping between two points, or about the axis of a hinge (doc/nonsmooth.md, M.27 to
M.30).

    LINEAR    d = x_a + R_a p - x_b - R_b s,   l = |d|            V = k (l - l_0)^2 / 2
    TORSION   phi about the axis that a and b share, from the start V = k (phi - phi_0)^2 / 2

The damping is a force -c dl/dt, or a torque -c dphi/dt.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import arguments, quaternion
from rbdyn_ros.mechanics.description.rows import WORLD
from rbdyn_ros.types import Array

LINEAR, TORSION = range(2)


class Springs(NamedTuple):
    """k springs; make them with `build` from `linear` and `torsion`."""

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
    """A spring of a rest length [m] from p of a to s of b [m, in the bodies]."""
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
    """A spring about an axis of a that is one of b, too; `turn` is the attitude of a in b, wxyz,
    from which angles are counted, `angle` [rad] the one at rest.
    """
    axes = (
        arguments.unit(axis, "axis", 3, "divide it by its length") for axis in (axis_a, axis_b)
    )
    return (TORSION, a, b, *axes, turn, stiffness, angle, damping)


def build(bodies: int, *springs) -> Springs:
    """The springs between `bodies` bodies; ValueError names the one that cannot be."""
    for i, (kind, a, b, _, _, _, stiffness, rest, damping) in enumerate(springs):
        if a not in range(bodies) or b not in range(-1, bodies) or a == b:
            raise ValueError(
                f"spring {i} is between bodies {a} and {b}; take two of 0 to {bodies - 1}, "
                f"or {WORLD} (the world) second"
            )
        low = 0.0 if kind == LINEAR else -np.inf
        for word, value, least in (
            ("stiffness", stiffness, 0.0),
            ("damping", damping, 0.0),
            ("length" if kind == LINEAR else "angle", rest, low),
        ):
            if not (np.isfinite(value) and value >= least):
                limit = "finite and >= 0" if least == 0.0 else "finite"
                raise ValueError(f"the {word} of spring {i} is {value}; it must be {limit}")
    columns = list(zip(*springs)) if springs else [()] * 9
    kind, a, b = (np.array(x, dtype=np.int64) for x in columns[:3])
    on_a, on_b = (np.array(x, dtype=float).reshape(-1, 3) for x in columns[3:5])
    turn = np.array(columns[5], dtype=float).reshape(-1, 4)
    stiffness, rest, damping = (np.array(x, dtype=float) for x in columns[6:])
    return Springs(kind, a, b, on_a, on_b, turn, stiffness, rest, damping)


def extensions(springs: Springs, q: Array, near: Array) -> Array:
    """(k,) length [m] or angle [rad] of each at q (n, 7); angles are those next to `near` (k,)."""
    found = np.zeros(len(springs.kind))
    for i, (kind, a, b) in enumerate(zip(springs.kind, springs.a, springs.b)):
        if kind == LINEAR:
            ends = (place(q, a, springs.on_a[i]), place(q, b, springs.on_b[i]))
            found[i] = np.linalg.norm(ends[0] - ends[1])
            continue
        turned = q[a, 3:]
        if b != WORLD:
            turned = quaternion.product(quaternion.conjugate(q[b, 3:]), turned)
        e = quaternion.product(turned, quaternion.conjugate(springs.turn[i]))
        angle = 2.0 * np.arctan2(e[1:] @ springs.on_b[i], e[0])
        found[i] = angle + 2.0 * np.pi * np.round((near[i] - angle) / (2.0 * np.pi))
    return found


def place(q: Array, body: int, point: Array) -> Array:
    """A point of a body [m, world]."""
    return point if body == WORLD else q[body, :3] + quaternion.rotate(q[body, 3:], point)


def energy(springs: Springs, extension: Array) -> float:
    """What the springs hold [J]."""
    return float(0.5 * springs.stiffness @ (extension - springs.rest) ** 2)
