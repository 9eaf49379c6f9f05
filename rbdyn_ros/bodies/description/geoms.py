"""Shapes that bodies carry, and the contact candidates of two of them.

    table = geoms.box((1.0, 1.0, 0.1), position=(0, 0, -0.05))  # the world's
    cube = geoms.box((0.1, 0.1, 0.1), body=0)
    pairs.build(1, *geoms.pairs_between(cube, table, mu=0.5, e=0.2))

Boxes, spheres, capsules, cylinders and points are exact against each other and against planes.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import contact_pairs, cylinders, features
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import float_arrays, quaternion
from rbdyn_ros.numerics.arguments import number, positive

# of its radius: how far inside of its rim four points of a cylinder's end carry it when it stands
INSIDE = 1e-3
_ORIGIN, _UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class CollisionGeom(NamedTuple):
    """A shape of a body, or of the world; make it with `box`, `sphere`, `point`, ..."""

    kind: str
    half: tuple  # (3,) half edges of the core; cylinder: (radius, radius, half length) [m]
    radius: float  # by which the core is rounded [m]
    body: int
    position: tuple  # (3,) of its center in the body [m]
    orientation: tuple  # wxyz, shape to body; plane: its normal (3,)


def box(size, body: int = WORLD, position=_ORIGIN, orientation=_UPRIGHT) -> CollisionGeom:
    """Return a box of edges (3,) [m]."""
    edges = float_arrays.array(size, "the size of a box", 3)
    half = tuple(0.5 * positive(edge, "an edge of a box", " m") for edge in edges)
    return _geom("box", half, 0.0, body, position, orientation)


def sphere(radius: float, body: int = WORLD, position=_ORIGIN) -> CollisionGeom:
    """Return a sphere of a radius [m]."""
    return _geom(
        "sphere", _ORIGIN, positive(radius, "the radius of a sphere", " m"), body, position
    )


def point(body: int = WORLD, position=_ORIGIN) -> CollisionGeom:
    """Return a point, such as a corner or a tip."""
    return _geom("point", (0.0, 0.0, 0.0), 0.0, body, position)


def capsule(
    radius: float, length: float, body: int = WORLD, position=_ORIGIN, orientation=_UPRIGHT
) -> CollisionGeom:
    """Return a capsule: all points nearer than the radius to a segment of a length along its axis
    3 [m].
    """
    half = 0.0, 0.0, 0.5 * positive(length, "the length of a capsule", " m")
    rho = positive(radius, "the radius of a capsule", " m")
    return _geom("capsule", half, rho, body, position, orientation)


def cylinder(
    radius: float, length: float, body: int = WORLD, position=_ORIGIN, orientation=_UPRIGHT
) -> CollisionGeom:
    """Return a cylinder of a radius and a length along its axis 3 [m]."""
    r = positive(radius, "the radius of a cylinder", " m")
    half = r, r, 0.5 * positive(length, "the length of a cylinder", " m")
    return _geom("cylinder", half, 0.0, body, position, orientation)


def plane(normal=(0.0, 0.0, 1.0), offset: float = 0.0, body: int = WORLD) -> CollisionGeom:
    """Return the half space normal . x <= offset [m], which has no end."""
    n = float_arrays.unit(normal, "the normal of a plane", 3, "divide it by its length")
    number(offset, "the offset of a plane", unit=" m")
    at = tuple(map(float, offset * n))
    return CollisionGeom("plane", _ORIGIN, 0.0, _body(body), at, tuple(map(float, n)))


def pairs_between(
    a: CollisionGeom, b: CollisionGeom, mu: float = 0.0, e: float = 0.0
) -> list[tuple[Any, ...]]:
    """Return the candidates between two shapes, with friction mu and restitution e, for
    `pairs.build`.

    The first body of each candidate is that of `a`, if it has one and `a` is no plane, else that
    of `b`. Raise ValueError for two shapes that cannot touch.
    """
    if a.kind == "plane" or a.body == WORLD and b.kind != "plane":
        a, b = b, a
    if a.kind == "plane":
        raise ValueError("plane against plane is not there; a plane can touch a shape that ends")
    if a.body == b.body or a.body == WORLD:
        whose = ["the world" if geom.body == WORLD else f"body {geom.body}" for geom in (a, b)]
        raise ValueError(
            f"the {a.kind} belongs to {whose[0]} and the {b.kind} to {whose[1]}; take two bodies, "
            "or a body and the world, which alone cannot meet a plane of a body"
        )
    kinds, law = {a.kind, b.kind}, (mu, e)
    if b.kind == "plane":
        return _on_plane(a, b, law)
    if "cylinder" in kinds:
        return _with_cylinder(a, b, law)
    if kinds <= {"sphere", "point"}:
        return [
            contact_pairs.balls(a.body, a.radius, b.body, b.radius, a.position, b.position, *law)
        ]
    return _rounded_boxes(a, b, law)


def _on_plane(a: CollisionGeom, b: CollisionGeom, law: tuple) -> list:
    """Return the candidates of the corners or ends of a shape and a plane."""
    on_b = b.body, b.orientation, b.position, *law
    if a.kind != "cylinder":
        return [
            contact_pairs.ball(a.body, a.radius, at, *on_b) for at in _corners(a, a.half).values()
        ]
    size = float(np.dot(b.orientation, b.position))
    found = [_candidate(features.RIM, a, b, b.orientation, size, law, end) for end in (0, 1)]
    return found + [contact_pairs.corner(a.body, p, *on_b) for p in _points_of_ends(a)]


def _points_of_ends(geom: CollisionGeom) -> list:
    """Return four points of each end of a cylinder, in the body."""
    r, _, half = geom.half
    inner = (1.0 - INSIDE) * r
    around = ((inner, 0.0), (0.0, inner), (-inner, 0.0), (0.0, -inner))
    return [_in_body(geom, (x, y, z)) for z in (-half, half) for x, y in around]


def _with_cylinder(a: CollisionGeom, b: CollisionGeom, law: tuple) -> list:
    """Return the candidates of corners of each on the other, and of the cylinder's ends, rims and
    side (`cylinders`).
    """
    size, found = a.radius + b.radius, []
    for point, other in ((a, b), (b, a)):
        if max(other.half) == 0.0:
            continue
        to_b, is_round = other is b, other.kind == "cylinder"
        on_cylinder = features.BALL_ON_CYLINDER if to_b else features.CYLINDER_ON_BALL
        on_box = features.BALL_ON_BOX if to_b else features.BOX_ON_BALL
        corners = list(_corners(point, point.half).values())
        if point.kind == "cylinder":
            corners = _points_of_ends(point) if other.kind != "capsule" else []
        sharp = features.TIP if size == 0.0 else -1
        kind = on_cylinder if is_round else on_box
        found += [_candidate(kind, a, b, p, size, law, sharp) for p in corners]
    for cylinder, other in ((a, b), (b, a)):
        if cylinder.kind == "cylinder" and max(other.half) > 0.0:
            flags = int(cylinders.SWAPPED) * (cylinder is b)
            flags += int(cylinders.ROUND) * (other.kind == "cylinder")
            for kind, number in _of_cylinder(other):
                if cylinder is a or other.kind != "cylinder" or kind in _ONE_SIDED:
                    found.append(_candidate(kind, a, b, _ORIGIN, size, law, 4 * number + flags))
    return found


_ONE_SIDED = (cylinders.RIM_FACE, cylinders.RIM_LINE)  # the rim is that of one of two cylinders


def _of_cylinder(other: CollisionGeom) -> list:
    """Return (kind, number) of each feature of a cylinder that can touch a box, a capsule or
    another cylinder.
    """
    is_box, is_round = other.kind == "box", other.kind == "cylinder"
    lines = [2] if not is_box else range(3)
    found = [(cylinders.LATERAL, 2 * k + same) for k in lines for same in range(1 + is_box)]
    for end in (0, 1):
        faces = range(3) if is_box else [2] if is_round else []
        found += [(cylinders.RIM_FACE, 3 * end + face) for face in faces]
        for branch, along, signs in product((0, 1), lines, range(4 if is_box else 1)):
            number = 12 * (2 * end + branch) + 4 * along + signs
            found.append((cylinders.RIM_LINE, number))
        if is_round:
            found += [(cylinders.RIM_RIM, 4 * end + number) for number in range(4)]
    return found


def _rounded_boxes(a: CollisionGeom, b: CollisionGeom, law: tuple) -> list:
    """Return the candidates of corners of each shape on the other, and of edges with edges."""
    size, found = a.radius + b.radius, []
    for kind, point, other in ((features.BALL_ON_BOX, a, b), (features.BOX_ON_BALL, b, a)):
        if max(other.half) > 0.0:  # else the candidate of its center on `point` suffices
            for feature, p in _corners(point, point.half).items():
                feature = features.TIP if max(point.half) == 0.0 else feature
                sharp = feature if size == 0.0 else -1
                found.append(_candidate(kind, a, b, p, size, law, sharp))
    for i, j in product(range(3), range(3)):
        if a.half[i] > 0.0 and b.half[j] > 0.0:
            signs = (range(2 if geom.kind == "box" else 1) for geom in (a, b))
            for s, t in product(*signs):
                edges = 12 * i + 4 * j + 2 * s + t
                found.append(_candidate(features.EDGES, a, b, a.position, size, law, edges))
    return found


def _candidate(
    kind, a: CollisionGeom, b: CollisionGeom, at, size: float, law: tuple, feature: int | np.int64
) -> tuple[Any, ...]:
    """Return a candidate as `pairs.build` takes it, with its shapes."""
    return (int(kind), a.body, b.body, tuple(at), tuple(at), size, 0.0, *law, a, b, feature)


def _corners(geom: CollisionGeom, half) -> dict:
    """Return the corners of the core in the body, by number: bit k is set where coordinate k is >
    0.
    """
    found = {}
    for feature in range(8):
        signs = [1.0 if feature >> k & 1 else -1.0 for k in range(3)]
        if all(h > 0.0 or sign < 0.0 for h, sign in zip(half, signs)):
            found[feature] = _in_body(geom, np.multiply(signs, half))
    return found


def _in_body(geom: CollisionGeom, point) -> tuple:
    turned = quaternion.rotate(np.array(geom.orientation), np.array(point, dtype=float))
    return tuple(map(float, np.array(geom.position) + turned))


def _geom(
    kind: str, half: tuple, radius: float, body: int, position, turn=_UPRIGHT
) -> CollisionGeom:
    at = float_arrays.array(position, f"the position of a {kind}", 3)
    turn = float_arrays.unit_quaternion(turn, f"the orientation of a {kind}")
    return CollisionGeom(
        kind, half, radius, _body(body), tuple(map(float, at)), tuple(map(float, turn))
    )


def _body(body) -> int:
    if body != int(body) or body < WORLD:
        rule = f"it must be a body's number or {WORLD} (the world)"
        raise ValueError(f"the body of a shape is {body}; {rule}")
    return int(body)
