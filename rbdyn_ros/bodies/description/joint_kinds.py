"""Joints: anchor, ball joint, plane, planar, hinge, universal, prismatic and fixed joint, relative
rotation. Each is a few rows with a name; one that mimics another has a row of both.

Bodies are numbers, or rows.WORLD; points [m] and directions are given in the body's own axes
(`local` converts). Source: Strunk's constraint appendix (examples 1 to 4) with its misprints
corrected; doc/nonsmooth.md, section "Constraints".
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies.description.rows import (
    ANGLE,
    DOT,
    INDEX,
    NUMBER,
    POINT,
    TURN,
    VECTOR,
    WORLD,
    ConstraintRows,
    as_columns,
)
from rbdyn_ros.geometry import float_arrays, quaternion, vec
from rbdyn_ros.types import Array


class JointRows(NamedTuple):
    """The rows of one joint, and its name."""

    name: str
    rows: tuple  # of (kind, a, b, p, n, c)
    # number of another joint and its term (kind, a, b, p, n) of the last row, which couples both
    second: tuple = ()


class Constraints(NamedTuple):
    """All rows of a mechanism, with a name for each."""

    rows: ConstraintRows
    names: tuple  # (m,) of str
    joint: tuple  # (k,) to which joint each term of a row belongs, from 0 on


def anchor(a: int, p, point) -> JointRows:
    """Return the joint that fixes the point p of a at `point` of the world: 3 POINT."""
    return JointRows(f"anchor of {_name_of(a)}", ball_joint(a, p, WORLD, point).rows)


def ball_joint(a: int, p, b: int, s) -> JointRows:
    """Return the joint that keeps the point p of a at the point s of b, x_a + R_a p = x_b + R_b s:
    3 POINT.
    """
    p, s = float_arrays.array(p, "p", 3), float_arrays.array(s, "s", 3)
    return JointRows(
        _between("ball joint", a, b), tuple((POINT, a, b, p, n, n @ s) for n in np.eye(3))
    )


def plane(a: int, p, b: int, n, s=(0.0, 0.0, 0.0)) -> JointRows:
    """Return the joint that keeps the point p of a in the plane of b through s with normal n: 1
    POINT.
    """
    p, n, s = float_arrays.array(p, "p", 3), direction(n, "n"), float_arrays.array(s, "s", 3)
    return JointRows(_between("plane", a, b), ((POINT, a, b, p, n, n @ s),))


def planar(a: int, p, b: int, s, axis_a, axis_b=None) -> JointRows:
    """Return the joint that keeps p of a in the plane of b through s with normal axis_b and lets a
    turn about axis_a only: 1 POINT, 2 DOT.
    """
    axis_b = axis_a if axis_b is None else axis_b
    turns = _about(a, axis_a, b, axis_b)
    return JointRows(_between("planar joint", a, b), plane(a, p, b, axis_b, s).rows + turns)


def hinge(a: int, p, b: int, s, axis_a, axis_b=None) -> JointRows:
    """Return the joint that keeps p of a at s of b and lets a turn about axis_a only, which is
    axis_b in b (by default the same numbers): 3 POINT, 2 DOT.
    """
    turns = _about(a, axis_a, b, axis_a if axis_b is None else axis_b)
    return JointRows(_between("hinge", a, b), ball_joint(a, p, b, s).rows + turns)


def _about(a: int, axis_a, b: int, axis_b) -> tuple:
    """Return two DOT rows that let a turn about axis_a only, which is axis_b in b."""
    axis_a = direction(axis_a, "axis_a")
    return tuple((DOT, a, b, axis_a, n, 0.0) for n in _normals(direction(axis_b, "axis_b")))


def _normals(axis: Array) -> Array:
    """Return two unit vectors normal to an axis and to each other."""
    return np.linalg.svd(axis[None])[2][1:]


def universal(a: int, p, b: int, s, axis_a, axis_b) -> JointRows:
    """Return the joint that keeps p of a at s of b and axis_a of a normal to axis_b of b: 3 POINT,
    1 DOT.
    """
    row = (DOT, a, b, direction(axis_a, "axis_a"), direction(axis_b, "axis_b"), 0.0)
    return JointRows(_between("universal joint", a, b), (*ball_joint(a, p, b, s).rows, row))


def prismatic(a: int, p, b: int, s, axis, orientation=(1.0, 0.0, 0.0, 0.0)) -> JointRows:
    """Return the joint that lets p of a slide along `axis` of b through s and keeps the
    `orientation` of a in b (wxyz): 2 POINT, 3 DOT.
    """
    p, s, axis = (
        float_arrays.array(p, "p", 3),
        float_arrays.array(s, "s", 3),
        direction(axis, "axis"),
    )
    slide = tuple((POINT, a, b, p, n, n @ s) for n in _normals(axis))
    return JointRows(_between("prismatic joint", a, b), slide + _orientation(a, b, orientation))


def fixed(a: int, p, b: int, s, orientation=(1.0, 0.0, 0.0, 0.0)) -> JointRows:
    """Return the joint that keeps p of a at s of b and the `orientation` of a in b (wxyz): 3
    POINT, 3 DOT.
    """
    return JointRows(
        _between("fixed joint", a, b),
        ball_joint(a, p, b, s).rows + _orientation(a, b, orientation),
    )


def _orientation(a: int, b: int, orientation) -> tuple:
    """Return three DOT rows that keep the orientation of a in b: axes e1, e2, e3 of b stay normal
    to the rotated e2, e3, e1 of a.
    """
    turn = quaternion.to_matrix(float_arrays.unit_quaternion(orientation, "orientation"))
    return tuple((DOT, a, b, turn.T @ np.eye(3)[(k + 1) % 3], np.eye(3)[k], 0.0) for k in range(3))


def relative_rotation(a: int, b: int, n) -> JointRows:
    """Return the joint that keeps the axis of the rotation from a to b, q_b q_a*, normal to n,
    which b carries: 1 TURN.
    """
    zero = np.zeros(3)
    return JointRows(
        _between("relative rotation", a, b), ((TURN, a, b, zero, direction(n, "n"), 0.0),)
    )


def angle(a: int, b: int, axis_b, relative) -> tuple:
    """Return the coordinate of a hinge: the angle of a about axis_b of b [rad], 0 at the attitude
    `relative` of a in b (wxyz); 1 ANGLE.
    """
    n = direction(axis_b, "axis_b")
    across = np.array(vec.frame(tuple(n.tolist()))[1])
    return ANGLE, a, b, quaternion.rotate(quaternion.conjugate(relative), across), n, 0.0


def displacement(a: int, p, b: int, s, axis) -> tuple:
    """Return the coordinate of a slide: how far p of a is from s of b along `axis` of b [m]; 1
    POINT.
    """
    p, s, n = (
        float_arrays.array(p, "p", 3),
        float_arrays.array(s, "s", 3),
        direction(axis, "axis"),
    )
    return POINT, a, b, p, n, n @ s


def mimic(joint: JointRows, own: tuple, number: int, other: tuple, factor: float) -> JointRows:
    """Return the joint with a row more, which keeps its coordinate `own` at `factor` times that of
    another joint, `other`; `number` is the place of that joint among all.

        0 = q_own - factor q_other
    """
    kind, a, b, p, n, c = other
    row = (*own[:5], own[5] - factor * c)
    return JointRows(joint.name, (*joint.rows, row), (number, (kind, a, b, p, -factor * n)))


def assemble(bodies: int, *joints: JointRows) -> Constraints:
    """Return the rows of all joints between `bodies` bodies. Raise ValueError naming a joint whose
    bodies do not exist.
    """
    terms, more, names, offsets = [], [], [], []
    for number, joint in enumerate(joints):
        for i, (*term, offset) in enumerate(joint.rows):
            _check(joint.name, bodies, term[1], term[2])
            terms.append((*term, len(terms), number))
            offsets.append((offset,))
            names.append(f"{joint.name}, row {i + 1} of {len(joint.rows)}")
        if joint.second:
            of, term = joint.second
            more.append((*term, len(terms) - 1, of))
    kind, a, b, p, n, of, numbers = as_columns(
        [*terms, *more], INDEX, INDEX, INDEX, VECTOR, VECTOR, INDEX, INDEX
    )
    rows = ConstraintRows(kind, a, b, p, n, as_columns(offsets, NUMBER)[0], of, 0.0 * of)
    return Constraints(rows, tuple(names), tuple(numbers.tolist()))


def select_rows(constraints: Constraints, keep) -> Constraints:
    """Return the constraints of the rows `keep` only."""
    rows, place = constraints.rows, {int(row): i for i, row in enumerate(keep)}
    seconds = range(len(rows.c), len(rows.kind))
    terms = [*place, *(i for i in seconds if int(rows.of[i]) in place)]
    at = np.array(terms, np.int64)
    kind, a, b, p, n = (np.ascontiguousarray(x[at]) for x in rows[:5])
    of = np.array([place[int(row)] for row in rows.of[at]], np.int64)
    found = ConstraintRows(kind, a, b, p, n, rows.c[list(place)], of, rows.angle[at])
    names = tuple(constraints.names[row] for row in place)
    return Constraints(found, names, tuple(constraints.joint[i] for i in terms))


def joint_names(constraints: Constraints) -> tuple[str, ...]:
    """Return the name of each joint that has a row."""
    names = dict(zip(constraints.joint, constraints.names))
    return tuple(names[i].rsplit(", row ", 1)[0] for i in sorted(names))


def local(q: Array, body: int, point) -> Array:
    """Return a point of the world (3,) in the axes of a body that is at q (n, 7)."""
    point = float_arrays.array(point, "point", 3)
    if body == WORLD:
        return point
    return quaternion.rotate(quaternion.conjugate(q[body, 3:]), point - q[body, :3])


def _between(kind: str, a: int, b: int) -> str:
    return f"{kind} between {_name_of(a)} and {_name_of(b)}"


def _name_of(body: int) -> str:
    return "the world" if body == WORLD else f"body {body}"


def _check(name: str, bodies: int, a: int, b: int) -> None:
    for body in (a, b):
        if body != WORLD and body not in range(bodies):
            raise ValueError(
                f"{name}: there is no body {body}; bodies are 0 to {bodies - 1}, and {WORLD} "
                "for the world"
            )
    if a == b:
        raise ValueError(f"{name}: a joint needs two different bodies, or a body and the world")


def direction(value, name: str) -> Array:
    """Return the unit vector along a direction (3,) of any length. Raise ValueError for zero."""
    n = float_arrays.array(value, name, 3)
    if not n.any():
        raise ValueError(f"{name} is {tuple(map(float, n))}; a direction must not be zero")
    n = n / np.abs(n).max()  # squares of what is very long or short are inf or 0
    return n / np.linalg.norm(n)
