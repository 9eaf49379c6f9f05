"""Relations y = h(t, q) of mechanical systems, and interactions: a relation, its law, the systems that it couples.

    u = dy/dt = H v + dh/dt,     H = (dh/dq) T(q)                                                           (N.7)

q and v are those of the coupled systems, one after the other. Tangential rows of a contact have a direction but no y;
their value is zero.
"""

from typing import Callable, NamedTuple

import numpy as np

from rbdyn_ros.bodies.quaternion_body import turned, turned_back, turned_gradient
from rbdyn_ros.kernel import kernel
from rbdyn_ros.systems import laws
from rbdyn_ros.systems.arguments import matrix, number, vector
from rbdyn_ros.types import Array


class Relation(NamedTuple):
    """y = h(t, q) and its gradients."""

    rows: int  # m
    value: Callable  # (t, q) -> (m,)
    gradient: Callable  # (t, q) -> dh/dq (m, n_q)
    drift: Callable  # t, q -> partial dh/dt (m,)


class Interaction(NamedTuple):
    """A relation with its law between some systems; make it with `interaction`, which checks."""

    relation: Relation
    law: tuple  # one of laws.py
    systems: tuple  # indices


def interaction(relation: Relation, law: tuple, systems: tuple = (0,)) -> Interaction:
    """ValueError where the law is none or takes another number of rows than the relation has, and where no system is coupled."""
    law = laws.checked(law)
    if not systems:
        raise ValueError("the interaction couples no system; systems holds their numbers, counted from 0")
    rows = laws.ROWS.get(type(law), relation.rows)
    if rows != relation.rows:
        raise ValueError(f"the relation has {relation.rows} rows, but {type(law).__name__} takes {rows}")
    return Interaction(relation, law, tuple(systems))


def linear(H, b=0.0) -> Relation:
    """y = H q + b: H (m, n_q), b (m,) or a number."""
    H = np.atleast_2d(np.asarray(H, float))
    H = matrix(H, "H", *H.shape)
    b, still = np.broadcast_to(np.asarray(b, float), (len(H),)), np.zeros(len(H))
    return Relation(len(H), lambda t, q: H @ q + b, lambda t, q: H, lambda t, q: still)


def above(height: Callable, speed: Callable) -> Relation:
    """y = q - c(t) for a point that a moving wall pushes: height(t) -> c [m], speed(t) -> dc/dt [m/s]."""
    H = np.ones((1, 1))
    return Relation(1, lambda t, q: np.array([q[0] - height(t)]), lambda t, q: H, lambda t, q: np.array([-speed(t)]))


def point_on_plane(point, normal=(0.0, 0.0, 1.0), offset: float = 0.0, friction: bool = True) -> Relation:
    """The body's point c (3,) [m, body] above the plane n . x = offset: gap first, then two tangents.

    y_N = n . (r + R c) - offset; rows D [1, d(R c)/dQ] with D = (n, t1, t2); without friction only the first.
    """
    c, D = tuple(map(float, vector(point, "point", 3))), frame(normal)[: 3 if friction else 1]
    still = np.zeros(len(D))

    def value(t, q):
        y = np.zeros(len(D))
        y[0] = D[0] @ place(q, c) - offset
        return y

    return Relation(len(D), value, lambda t, q: D @ point_gradient(q, c), lambda t, q: still)


def ball_on_plane(radius: float, normal=(0.0, 0.0, 1.0), offset: float = 0.0, friction: bool = True) -> Relation:
    """A ball about the body's centre of mass above the plane n . x = offset: gap first, then two tangents at the touching point.

    y_N = n . r - offset - radius; the ball touches at r - radius n, wherever it has rolled.
    """
    radius, D = number(radius, "radius", 0.0), frame(normal)[: 3 if friction else 1]
    still = np.zeros(len(D))

    def value(t, q):
        y = np.zeros(len(D))
        y[0] = D[0] @ q[:3] - offset - radius
        return y

    return Relation(len(D), value, lambda t, q: touching(q, D, -radius * D[0]), lambda t, q: still)


def balls(radius: float, other: float, friction: bool = True) -> Relation:
    """Balls about the centres of mass of two bodies: gap first, then two tangents at the touching points.

    y_N = |d| - radius - other, d = r - r_other, the normal d/|d| out of the other; where the centres meet it is z.
    """
    radius, other = number(radius, "radius", 0.0), number(other, "other", 0.0)
    rows = 3 if friction else 1
    still = np.zeros(rows)

    def value(t, q):
        y = np.zeros(rows)
        y[0] = np.linalg.norm(q[:3] - q[7:10]) - radius - other
        return y

    def gradient(t, q):
        d = q[:3] - q[7:10]
        D = frame(d if d.any() else (0.0, 0.0, 1.0))[:rows]
        return np.hstack([touching(q[:7], D, -radius * D[0]), -touching(q[7:], D, other * D[0])])

    return Relation(rows, value, gradient, lambda t, q: still)


def ball_joint(points: tuple, anchor=None) -> Relation:
    """Points a, b (3,) [body] of two bodies coincide; or, with one point, it stays at the anchor (3,) [world]."""
    if not 1 <= len(points) <= 2:
        raise ValueError(f"points has {len(points)} entries; give one point of each of two bodies, or one and the anchor")
    points = [tuple(map(float, vector(p, "point", 3))) for p in points]
    signs, still = (1.0, -1.0), np.zeros(3)
    at = np.zeros(3) if anchor is None else vector(anchor, "anchor", 3)

    def value(t, q):
        bodies = [q[7 * i : 7 * i + 7] for i in range(len(points))]
        return sum(s * place(x, p) for s, x, p in zip(signs, bodies, points)) - at

    def gradient(t, q):
        return np.hstack([s * point_gradient(q[7 * i : 7 * i + 7], p) for i, (s, p) in enumerate(zip(signs, points))])

    return Relation(3, value, gradient, lambda t, q: still)


def touching(q, D, arm) -> Array:
    """D d(r + R(Q) c)/dq (m, 7) at the point c that is `arm` (3,) [m, world] from the centre; the gap, row 0, does not feel Q."""
    c = turned_back((q[3], q[4], q[5], q[6]), (arm[0], arm[1], arm[2]))
    rows = D @ point_gradient(q, c)
    rows[0, 3:] = 0.0
    return rows


@kernel
def place(q, c):
    """r + R(Q) c (3,) [m, world], R the quadratic form in Q whose gradient `point_gradient` is, off |Q| = 1 too."""
    x = turned((q[3], q[4], q[5], q[6]), c)
    return np.array([q[0] + x[0], q[1] + x[1], q[2] + x[2]])


@kernel
def point_gradient(q, c):
    """d(r + R(Q) c)/dq (3, 7)."""
    Q, out = (q[3], q[4], q[5], q[6]), np.zeros((3, 7))
    for k in range(4):
        d = turned_gradient(Q, c, (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2), 1.0 * (k == 3)))
        for i in range(3):
            out[i, 3 + k] = d[i]
    for i in range(3):
        out[i, i] = 1.0
    return out


def frame(normal) -> Array:
    """Rows n, t1, t2, right-handed; t1 is x itself where n is z. ValueError for a normal that is zero."""
    n = vector(normal, "normal", 3)
    if not np.linalg.norm(n) > 0.0:
        raise ValueError(f"normal is {tuple(map(float, n))}; a direction must not be zero")
    n = n / np.linalg.norm(n)
    x = np.eye(3)[0] if abs(n[0]) < 0.9 else np.eye(3)[1]
    t = x - n * (n @ x)
    t /= np.linalg.norm(t)
    return np.array([n, t, np.cross(n, t)])
