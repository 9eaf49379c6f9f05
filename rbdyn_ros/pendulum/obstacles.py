"""Obstacles of given shapes that the rod meets: spheres, boxes, cylinders and walls, each with a
constant velocity.

The rod is a line from the joint (its foot) to the tip. It touches a convex solid where the signed
distance of its tip, or of its length, to the solid becomes zero; so an obstacle has one candidate
or two:

    sphere          the point of the rod that is nearest to the center
    box, cylinder   the tip against the solid; the rod's length against edges, rims, the round side
    wall            the tip, and the cart unless the wall lies level, against a half space

The line against a solid is seen along the rod: the solid's shadow is a convex region of the plane
across it, and the gap is the largest of n.p - s(n), with the line's point p and the support s(n)
of the shadow, over the normals n of the shadow (P.9, P.10). A box's shadow has three pairs of
sides, one for each direction of edges, a cylinder's two straight sides and two half ellipses.
"""

from math import cos, sin
from typing import Any

import numpy as np

from rbdyn_ros.bodies.description.features import box_distance, cylinder_distance, sign
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.pendulum.params import Obstacle, check_obstacle
from rbdyn_ros.types import NO_OBSTACLES, OBSTACLE, Array

SPHERE, BOX, BOX_TIP, CYLINDER, CYLINDER_TIP, WALL_TIP, WALL_CART = range(7)
ON_CART = -1.0  # instead of the height on the rod
_PARALLEL = 1e-8  # sine of an angle below which the rod is parallel to an edge or to the axis
_BEYOND = 1.0 - 1e-8  # of the length: what begins there is met by the tip
_LEVEL = 1e-6  # horizontal part of a normal below which the cart cannot meet the wall
_SAMPLES, _HALVINGS = 16, 52  # of the angle of a normal


def candidates(obstacles: tuple[Obstacle, ...]) -> Array:
    """Return the rows of `Contacts.obstacles` of some `Obstacle`. Raise ValueError naming what of
    them is out of its range.
    """
    rows = [row for obstacle in obstacles for row in _rows(check_obstacle(obstacle))]
    return np.array(rows, OBSTACLE) if rows else NO_OBSTACLES


def _rows(o: Obstacle) -> list[tuple[Any, ...]]:
    Q, size = tuple(map(float, o.orientation)), (0.0, 0.0, 0.0)
    axes = np.array(unit_quaternion.matrix(Q)).T
    if o.shape == "sphere":
        kinds, size = (SPHERE,), (o.size[0],) * 3
    elif o.shape == "box":
        kinds, size = (BOX, BOX_TIP), tuple(0.5 * edge for edge in o.size)
    elif o.shape == "cylinder":
        kinds, size = (CYLINDER, CYLINDER_TIP), (o.size[0], o.size[0], 0.5 * o.size[1])
    else:
        level = np.hypot(*o.normal[:2]) < _LEVEL
        kinds, axes = (WALL_TIP,) if level else (WALL_TIP, WALL_CART), np.array((o.normal,) * 3)
    return [
        (o.name, kind, o.position, axes, size, o.velocity, o.friction, o.restitution)
        for kind in kinds
    ]


@inlined
def _vector(a):
    return a[0], a[1], a[2]


@inlined
def center(o, t):
    """Return the position of an obstacle, or of a point of its wall, t [s] after the start [m,
    world].
    """
    return vec.axpy(t, _vector(o["velocity"]), _vector(o["center"]))


@part
def touch(o, x, d, length, t):
    """Return (g, n, rho) of an obstacle, as `world.touch` does, t [s] after the start."""
    joint, place = (x[0], x[1], 0.0), center(o, t)
    foot, kind = vec.sub(joint, place), o["kind"]
    if kind == WALL_TIP or kind == WALL_CART:
        n = _vector(o["axes"][0])
        if kind == WALL_CART:
            return vec.dot(n, foot), n, ON_CART
        return vec.dot(n, vec.axpy(length, d, foot)), n, length
    if kind == SPHERE:
        return of_sphere(joint, place, d, length, o["size"][0])
    A = _vector(o["axes"][0]), _vector(o["axes"][1]), _vector(o["axes"][2])
    b, e = vec.matvec(A, foot), vec.matvec(A, d)
    a, size = vec.axpy(length, e, b), _vector(o["size"])
    is_box = kind == BOX or kind == BOX_TIP
    if kind == BOX_TIP or kind == CYLINDER_TIP:
        g, n = of_point(is_box, size, a)
        return g, vec.transposed_matvec(A, n), length
    g, n, rho = of_length(is_box, size, b, a, e, length)
    return g, vec.transposed_matvec(A, n), rho


@inlined
def of_sphere(joint, place, d, length, radius):
    """Return (g, n, rho) of a sphere about `place`."""
    rho = min(length, max(0.0, vec.dot(d, vec.sub(place, joint))))
    away = vec.sub(vec.axpy(rho, d, joint), place)
    return vec.norm(away) - radius, vec.unit(away, (0.0, 0.0, 1.0)), rho


@part
def of_point(is_box, size, p):
    """Return (signed distance, outward normal) of a point p to a solid [its axes]."""
    return box_distance(p, size) if is_box else cylinder_distance(p, size)


@part
def of_length(is_box, size, foot, tip, e, length):
    """Return (g, n, rho) of the rod's length against a solid [its axes]; e is the direction of the
    rod.

    Where the tip touches first, or penetrates less, g is the margin by which that is so.
    """
    g, n, rho = of_line_and_box(size, foot, e) if is_box else of_line_and_cylinder(size, foot, e)
    g_tip, n_tip = of_point(is_box, size, tip)
    g_foot, n_foot = of_point(is_box, size, foot)
    if g >= 0.0:  # a bound, except where an end is nearest
        g = g_tip if vec.dot(n_tip, e) <= 0.0 else g_foot if vec.dot(n_foot, e) >= 0.0 else g
        return g, n, min(length, max(0.0, rho))
    first, last = chord(is_box, size, foot, e)
    if first > last:  # it grazes the solid
        first = last = rho
    if first >= length * _BEYOND or g < g_tip < 0.0:
        return g_tip - g, n_tip, length
    if last <= 0.0 or g < g_foot < 0.0:
        return g_foot, n_foot, 0.0
    return g, n, min(length, max(0.0, rho))


@part
def of_line_and_box(size, p, e):
    """Return (g, n, rho) of the line p + rho e and a box: beyond that side of its shadow from
    which it is farthest.
    """
    best, normal, rho = -1e300, (0.0, 0.0, 1.0), 0.0
    for k in range(3):
        a = 1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)
        m = vec.cross(a, e)
        sine = vec.norm(m)
        if sine < _PARALLEL:
            continue
        m = vec.scale(sign(vec.dot(p, m)) / sine, m)
        reach = size[0] * abs(m[0]) + size[1] * abs(m[1]) + size[2] * abs(m[2])
        g = vec.dot(p, m) - reach
        if g > best:
            edge = size[0] * sign(m[0]), size[1] * sign(m[1]), size[2] * sign(m[2])
            way = vec.axpy(g, m, vec.sub(edge, p))
            way, along = vec.axpy(-vec.dot(a, way), a, way), vec.axpy(-vec.dot(a, e), a, e)
            best, normal, rho = g, m, vec.dot(way, along) / (sine * sine)
    return best, normal, rho


@part
def of_line_and_cylinder(size, p, e):
    """Return (g, n, rho) of the line p + rho e and a cylinder about its axis 3."""
    r, half = size[0], size[2]
    sine = (e[0] * e[0] + e[1] * e[1]) ** 0.5
    if sine < _PARALLEL:
        away = vec.axpy(-vec.dot(p, e), e, p)
        return vec.norm(away) - r, vec.unit(away, (1.0, 0.0, 0.0)), -vec.dot(p, e)
    u1 = vec.scale(1.0 / sine, vec.axpy(-e[2], e, (0.0, 0.0, 1.0)))  # along the shadow of the axis
    u2 = vec.cross(e, u1)
    X, Y = vec.dot(p, u1), vec.dot(p, u2)
    beyond, across, flat = abs(X) - half * sine, abs(Y), abs(e[2])
    at, best, step = _SAMPLES, across - r, 0.5 * np.pi / _SAMPLES
    if beyond > 0.0:
        best = -1e300
    for k in range(_SAMPLES):
        g = over_rim(k * step, beyond, across, r, flat)
        if g > best:
            at, best = k, g
    if at == _SAMPLES and beyond <= 0.0:  # the round side
        rho = -(p[0] * e[0] + p[1] * e[1]) / (sine * sine)
        return best, vec.scale(sign(Y), u2), rho
    low, high = max(at - 1, 0) * step, min(at + 1, _SAMPLES) * step
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if rim_rate(middle, beyond, across, r, flat) > 0.0:
            low = middle
        else:
            high = middle
    angle = 0.5 * (low + high)
    c, s = cos(angle), sin(angle)
    n = vec.axpy(c * sign(X), u1, vec.scale(s * sign(Y), u2))
    radial = (n[0] * n[0] + n[1] * n[1]) ** 0.5
    out = r / radial if radial > 0.0 else 0.0
    rim = out * n[0], out * n[1], half * sign(n[2])
    return over_rim(angle, beyond, across, r, flat), n, vec.dot(e, vec.sub(rim, p))


@inlined
def over_rim(angle, beyond, across, r, flat):
    """Return n.p - s(n) of the half ellipse, its normal at this angle."""
    c, s = cos(angle), sin(angle)
    return c * beyond + s * across - r * (s * s + flat * flat * c * c) ** 0.5


@inlined
def rim_rate(angle, beyond, across, r, flat):
    """Return the derivative of `over_rim` by the angle."""
    c, s = cos(angle), sin(angle)
    size_n = (s * s + flat * flat * c * c) ** 0.5
    bend = r * s * c * (1.0 - flat * flat) / size_n if size_n > 0.0 else 0.0
    return c * across - s * beyond - bend


@part
def chord(is_box, size, p, e):
    """Return (first, last) rho at which the line p + rho e is in a solid; first > last if it never
    is.
    """
    first, last = -1e300, 1e300
    for k in range(3):
        if not is_box and k < 2:
            continue
        half, a, b = size[k], p[k], e[k]
        if b == 0.0:
            if abs(a) > half:
                last = -1e300
            continue
        first = max(first, (-half * sign(b) - a) / b)
        last = min(last, (half * sign(b) - a) / b)
    if not is_box:
        a, b = e[0] * e[0] + e[1] * e[1], p[0] * e[0] + p[1] * e[1]
        c = p[0] * p[0] + p[1] * p[1] - size[0] * size[0]
        root = b * b - a * c
        if a == 0.0 or root < 0.0:
            if c > 0.0:
                last = -1e300
        else:
            root = root**0.5
            first, last = max(first, (-b - root) / a), min(last, (-b + root) / a)
    return first, last
