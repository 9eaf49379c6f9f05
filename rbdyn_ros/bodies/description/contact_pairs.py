"""Candidate pairs of contact between rigid bodies: corners, balls and planes (doc/nonsmooth.md,
C.9).

    FACE    a ball of radius rho (0: a corner) at p of body a, and the half space below a plane
            that b carries:   g = N . (x_a + R_a p - x_b) - n . s - rho,   N = R_b n
    BALLS   a ball at p of a and a ball at s of b:   g = |d| - rho_a - rho_b,   N = d/|d|,
            d = x_a + R_a p - x_b - R_b s

g [m] is the gap, negative where they overlap; N points out of b. The world is body -1. The other
kinds belong to shapes with faces that end (features.py, cylinders.py); geoms.py makes them.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.bodies.description import cylinders, features
from rbdyn_ros.bodies.description import quaternion_body as body
from rbdyn_ros.bodies.description.rows import (
    INDEX,
    NUMBER,
    VECTOR,
    WORLD,
    as_columns,
    parts,
    require_bodies,
)
from rbdyn_ros.geometry import float_arrays, quaternion, unit_quaternion, vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.arguments import number
from rbdyn_ros.types import Array, Vector

FACE, BALLS = range(2)
_SHAPES = {"box": features.BOX, "cylinder": features.CYLINDER, "plane": features.PLANE}


class Pairs(NamedTuple):
    """k candidates, made by `build` from `corner`, `ball` and `balls`."""

    kind: Array  # (k,)
    a: Array  # (k,) body
    b: Array  # (k,) another body, or WORLD
    p: Array  # (k, 3) [m] in a
    n: Array  # (k, 3) normal [-], or the other ball's center [m], in b
    size: Array  # (k,) n . s + rho, or rho_a + rho_b [m]
    radius: Array  # (k,) rho of a [m]
    mu: Array  # (k,) friction [-]
    e: Array  # (k,) restitution [-]
    shapes: Array  # (k, 3) rows of `geoms` of a and b, and which feature; FACE and BALLS: -1
    geoms: Array  # (g, features.GEOM) the shapes with faces that end


class Plane(NamedTuple):
    """The plane of a candidate of kind FACE, as a shape."""

    orientation: tuple  # its normal (3,)
    position: tuple
    body: int
    kind: str = "plane"
    half: tuple = (0.0, 0.0, 0.0)
    radius: float = 0.0


class Touch(NamedTuple):
    """The gap, the normal and the contact points of a pair."""

    gap: float  # g [m]
    normal: Vector  # N [world]
    on_a: Vector  # the point of a that touches [m, in a]
    on_b: Vector  # the same place in b


@kernel
def touch(pairs, i, q):
    """Return the Touch of candidate i at q (n, 7)."""
    A, B, p, n = parts(pairs, i, q)
    center, kind, shapes = vec.add(A[0], body.rotate(A[1], p)), pairs.kind[i], pairs.shapes[i]
    if kind > BALLS:
        pair = features.Candidate(kind, shapes[0], shapes[1], shapes[2], p, n, pairs.size[i])
        at_a, at_b = (A[0], unit_quaternion.matrix(A[1])), (B[0], unit_quaternion.matrix(B[1]))
        gap, N, point = cylinders.gap(pairs.geoms, pair, at_a, at_b, (0.0, 0.0, 0.0))
        return _touch(gap, N, point, A, B)
    if kind == FACE:
        N = body.rotate(B[1], n)
        gap = vec.dot(N, vec.sub(center, B[0])) - pairs.size[i]
    else:
        d = vec.sub(center, vec.add(B[0], body.rotate(B[1], n)))
        N, gap = vec.unit(d, (0.0, 0.0, 1.0)), vec.norm(d) - pairs.size[i]
    return _touch(gap, N, vec.axpy(-pairs.radius[i], N, center), A, B)


@kernel
def _touch(gap, N, point, A, B):
    on_a = body.inverse_rotate(A[1], vec.sub(point, A[0]))
    return Touch(gap, N, on_a, body.inverse_rotate(B[1], vec.sub(point, B[0])))


@kernel
def gaps(pairs, q):
    """Return g (k,) of all candidates."""
    g = np.empty(len(pairs.kind))
    for i in range(len(g)):
        g[i] = touch(pairs, i, q).gap
    return g


def corner(
    a: int, p, b: int = WORLD, n=(0.0, 0.0, 1.0), s=(0.0, 0.0, 0.0), mu=0.0, e=0.0
) -> tuple[Any, ...]:
    """Return the candidate of the point p of a and the plane of b through s with the outward
    normal n.
    """
    return ball(a, 0.0, p, b, n, s, mu, e)


def ball(
    a: int,
    radius: float,
    p=(0.0, 0.0, 0.0),
    b: int = WORLD,
    n=(0.0, 0.0, 1.0),
    s=(0.0, 0.0, 0.0),
    mu=0.0,
    e=0.0,
) -> tuple[Any, ...]:
    """Return the candidate of a ball [m] at p of a and the plane of b through s with the outward
    normal n.
    """
    n = float_arrays.unit(n, "n", 3, "divide it by its length")
    radius = number(radius, "the radius of a ball", 0.0, unit=" m")
    return (FACE, a, b, p, n, n @ float_arrays.array(s, "s", 3) + radius, radius, mu, e)


def balls(
    a: int,
    radius_a: float,
    b: int,
    radius_b: float,
    p=(0.0, 0.0, 0.0),
    s=(0.0, 0.0, 0.0),
    mu=0.0,
    e=0.0,
) -> tuple[Any, ...]:
    """Return the candidate of balls [m] at p of a and s of b."""
    radius_a, radius_b = (
        number(r, "the radius of a ball", 0.0, unit=" m") for r in (radius_a, radius_b)
    )
    return (BALLS, a, b, p, s, radius_a + radius_b, radius_a, mu, e)


def build(bodies: int, *candidates) -> Pairs:
    """Return the candidates between `bodies` bodies. Raise ValueError naming the one whose bodies,
    friction or restitution are impossible.
    """
    for i, (_, a, b, _, _, _, _, mu, e, *_) in enumerate(candidates):
        require_bodies(f"contact {i}", a, b, bodies)
        number(mu, f"the friction of contact {i}", 0.0)
        number(e, f"the restitution of contact {i}", 0.0, 1.0)
    kinds = INDEX, INDEX, INDEX, VECTOR, VECTOR, NUMBER, NUMBER, NUMBER, NUMBER
    columns = as_columns([candidate[:9] for candidate in candidates], *kinds)
    return Pairs._make((*columns, *_shapes(candidates)))


def reach(pairs: Pairs, bodies: int) -> Array:
    """Return how far (bodies,) the shapes with faces that end reach from the center of their body
    [m].
    """
    f, found = features, np.zeros(bodies)
    place, half = pairs.geoms[:, f.PLACE : f.PLACE + 3], pairs.geoms[:, f.HALF : f.HALF + 3]
    size = np.linalg.norm(place, axis=1) + np.linalg.norm(half, axis=1) + pairs.geoms[:, f.RHO]
    for one, of in ((pairs.a, pairs.shapes[:, 0]), (pairs.b, pairs.shapes[:, 1])):
        known = (of >= 0) & (one != WORLD)
        np.maximum.at(found, one[known], size[of[known]])
    return found


def _shapes(candidates) -> tuple[Array, Array]:
    """Return (shapes, geoms) of the candidates; each shape has one row."""
    rows: dict[Any, int] = {}
    of = [
        [rows.setdefault(geom, len(rows)) for geom in rest[:2]] + [rest[2]]
        if rest
        else [-1, -1, -1]
        for _, _, _, _, _, _, _, _, _, *rest in candidates
    ]
    if rows:  # planes, too, may cover faces of the other shapes
        for kind, _, b, _, n, size, radius, *_ in candidates:
            if kind == FACE:
                at = tuple(map(float, (size - radius) * np.asarray(n)))
                rows.setdefault(Plane(tuple(map(float, n)), at, int(b)), len(rows))
    geoms = np.zeros((len(rows), features.GEOM))
    for geom, row in zip(rows, geoms):
        row[features.PLACE : features.PLACE + 3] = geom.position
        row[features.HALF : features.HALF + 3], row[features.RHO] = geom.half, geom.radius
        row[features.UNIT], row[features.OWNER] = 1.0, geom.body
        row[features.SHAPE] = _SHAPES.get(geom.kind, features.ROUNDED)
        if geom.kind == "plane":
            row[features.TURN + 2 : features.TURN + 9 : 3] = geom.orientation
        else:
            row[features.TURN : features.TURN + 9] = quaternion.to_matrix(
                np.array(geom.orientation)
            ).ravel()
    return np.array(of, dtype=np.int64).reshape(-1, 3), geoms
