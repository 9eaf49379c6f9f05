"""Gaps between shapes with faces, edges and corners: rounded boxes, cylinders, planes
(doc/nonsmooth.md, C.10 to C.12).

A rounded box is all that is nearer than rho to a core of half edges h: a box (rho = 0), a capsule
(h_1 = h_2 = 0), a sphere (h = 0). Two of them are apart by the smallest of the distances of these
features, each of which is a candidate:

    a corner of a on b     s = sdf_b(p)                                      sdf: (C.10)
    a corner of b on a     s = sdf_a(p), its normal turned round
    an edge of each        s = N . (m_a - m_b), N = a x b/|a x b|            (C.11)

the last one where the lines cross within both edges, N is in the cone of normals of b's edge and
-N in that of a's. g = s - rho_a - rho_b. Where two edges do not touch that way, s is the distance
of the segments and up to `OUTSIDE` more, so that no wrong normal is ever closed. Faces that lie
flush share their corners and edges: those of a count as `MARGIN` longer, those of b as `MARGIN`
shorter, so that each vertex of the common area is one candidate. g is continuous up to it.

    the rim of a cylinder on a plane    g = n . (c - s) - r (w - 2 f^2/w),
                                        w^2 = 1 - (n . z)^2 + f^2            (C.12)

c is the center of the end. The lowest point of the rim is none where the cylinder stands
(w = f = `FLAT`): there four points of the end carry it, and the rim is f r above them; leaning, it
is the rim to 2 f^2 r/w.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec, vec2
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.types import Vector

BALL_ON_BOX, BOX_ON_BALL, EDGES, RIM = map(np.int64, range(2, 6))
BALL_ON_CYLINDER, CYLINDER_ON_BALL = map(np.int64, range(6, 8))
TIP = np.int64(8)  # as the number of a corner: a point, whose normal may be any
# Columns of a shape: place and attitude in its body (a plane: axis 3), half edges (cylinder: the
# radius, again, half length), rho; the unit of the lengths below [m]; its body, and what it is.
PLACE, TURN, HALF, RHO, UNIT, OWNER, SHAPE, GEOM = map(np.int64, (0, 3, 12, 15, 16, 17, 18, 19))
ROUNDED, BOX, CYLINDER, PLANE = map(np.int64, range(4))
MARGIN = 1e-8
OUTSIDE = 1e-6
# by which open edges lie deeper than corners, so that they take over without an impact
DEEPER = 1e-11
FLAT = 1e-5  # [rad]
PARALLEL = 1e-12  # of sin^2 between edges
SHALLOW = 1e-7  # of an overlap of edges that are not the place where the boxes overlap least
SKEW = 0.05  # of sin^2 between edges
CONE = 1e-6  # [rad] by which a normal may leave its cone
AWAY = -0.5  # cosine of -N and a face of a corner, below which the corner cannot touch along N
NO_FACE = -2.0  # below all cosines


class Candidate(NamedTuple):
    """A feature of shape i of body a and one of shape j of body b, which may touch."""

    kind: int
    i: int  # rows of `geoms`
    j: int
    feature: int
    p: Vector  # the corner in its body [m]
    n: Vector  # the normal of a plane in b
    size: float  # rho_a + rho_b, or n . s [m]


@inlined
def three(table, i, column):
    """Return three numbers of a row."""
    return table[i, column], table[i, column + 1], table[i, column + 2]


@inlined
def _nine(table, i, column):
    return three(table, i, column), three(table, i, column + 3), three(table, i, column + 6)


@inlined
def place_shape(geoms, i, pose):
    """Return (center, rows of the attitude) of shape i [world]."""
    R, G = pose[1], vec.transpose(_nine(geoms, i, TURN))
    turned = vec.matvec(R, G[0]), vec.matvec(R, G[1]), vec.matvec(R, G[2])  # its axes, as rows
    return vec.add(pose[0], vec.matvec(R, three(geoms, i, PLACE))), turned


@part
def gap(geoms, pair, A, B, before):
    """Return (g, N out of b, the point that touches) of a candidate.

    A, B: (x, R) of the bodies. before: 0, or the normal at the start of a step in which the
    contact is closed. It stays on that face, and edges cross each other, until the end of the
    step, also where they leave each other's extent.
    """
    kind, i, j, feature, p, n, size = pair
    margin = MARGIN * geoms[j, UNIT]
    if kind == EDGES:
        return edges(geoms, i, j, feature, A, B, size, before)
    if kind == RIM:
        return rim(geoms, i, feature, A, B, n, size)
    if kind == BALL_ON_BOX or kind == BALL_ON_CYLINDER:
        center = vec.add(A[0], vec.matvec(A[1], p))
        ball, at = kind == BALL_ON_BOX, place_shape(geoms, j, B)
        s, N = distance(geoms, ball, j, at, (i, feature, A[1]), center, margin, before)
        return s - size, N, vec.axpy(-geoms[i, RHO], N, center)
    center = vec.add(B[0], vec.matvec(B[1], p))
    ball, at, back = kind == BOX_ON_BALL, place_shape(geoms, i, A), vec.scale(-1.0, before)
    s, N = distance(geoms, ball, i, at, (j, feature, B[1]), center, -margin, back)
    N = vec.scale(-1.0, N)
    return s - size, N, vec.axpy(geoms[j, RHO], N, center)


@inlined
def distance(geoms, is_box, i, at, corner, center, margin, before):
    """Return (s, N) of a point from shape i, which is at (x, axes). In corner = (j, feature, R), a
    feature >= 0 says that the point is that sharp corner of shape j, whose body has R; of a
    cylinder only `TIP` is considered.
    """
    (x, axes), (j, feature, R) = at, corner
    p, half = vec.matvec(axes, vec.sub(center, x)), three(geoms, i, HALF)
    if not is_box and feature == TIP and vec.size(before) > 0.0:
        s, N = side_distance(p, half, vec.matvec(axes, before))
    elif not is_box:
        s, N = cylinder_distance(p, half)
    elif feature < 0:
        s, N = box_distance(p, half)
    elif vec.size(before) > 0.0:
        s, N = face_distance(p, half, vec.matvec(axes, before))
    else:
        s, N = corner_distance(geoms, j, feature, axes, R, p, half, margin)
    return s, vec.transposed_matvec(axes, N)


@inlined
def box_distance(p, half):
    """Return (s, its gradient) of a point p from a box, in the frame of the box (C.10); s is
    negative inside.

    s = |max(d, 0)| + min(max(d_1, d_2, d_3), 0),   d_i = |p_i| - h_i
    """
    d = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
    side = sign(p[0]), sign(p[1]), sign(p[2])
    out = max(d[0], 0.0), max(d[1], 0.0), max(d[2], 0.0)
    length = vec.norm(out)
    if length > 0.0:
        return length, vec.scale(1.0 / length, vec.times(side, out))
    if d[0] >= d[1] and d[0] >= d[2]:
        return d[0], (side[0], 0.0, 0.0)
    if d[1] >= d[2]:
        return d[1], (0.0, side[1], 0.0)
    return d[2], (0.0, 0.0, side[2])


@inlined
def face_distance(p, half, n):
    """Return (s, N) of a point from the plane of that face of a box that n points out of most."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x >= y and x >= z:
        return sign(n[0]) * p[0] - half[0], (sign(n[0]), 0.0, 0.0)
    if y >= z:
        return sign(n[1]) * p[1] - half[1], (0.0, sign(n[1]), 0.0)
    return sign(n[2]) * p[2] - half[2], (0.0, 0.0, sign(n[2]))


@inlined
def sign(x):
    """Return 1, or -1 for x < 0."""
    return 1.0 if x >= 0.0 else -1.0


@inlined
def corner_distance(geoms, j, feature, axes, R, p, half, margin):
    """Return (s, N) as `box_distance` does, for a sharp corner: the faces besides its own reach
    `margin` further, and where two of them are as near, the one counts whose normal is in the
    corner's cone. One that looks the same way as a face of the corner is none that it can touch,
    however near it lies: of two boxes as wide, the side of one would hide that a corner of the
    other has come through its top.
    """
    d = abs(p[0]) - half[0], abs(p[1]) - half[1], abs(p[2]) - half[2]
    side = sign(p[0]), sign(p[1]), sign(p[2])
    most, near = max(d[0], d[1], d[2]), 2.0 * MARGIN * geoms[j, UNIT]
    x, y, z = d  # the ranks of the faces
    if not most > near and feature != TIP:
        x = cosine_in_cone(geoms, j, feature, vec.scale(side[0], axes[0]), R)
        y = cosine_in_cone(geoms, j, feature, vec.scale(side[1], axes[1]), R)
        z = cosine_in_cone(geoms, j, feature, vec.scale(side[2], axes[2]), R)
        nearest_x = d[0] if x > AWAY else -1e300
        nearest_y = d[1] if y > AWAY else -1e300
        nearest_z = d[2] if z > AWAY else -1e300
        least = max(nearest_x, nearest_y, nearest_z) - near
        x = x if d[0] >= least else NO_FACE
        y = y if d[1] >= least else NO_FACE
        z = z if d[2] >= least else NO_FACE
    face = 0 if x >= y and x >= z else 1 if y >= z else 2
    at = (1.0 if face == 0 else 0.0, 1.0 if face == 1 else 0.0, 1.0 if face == 2 else 0.0)
    d = vec.axpy(-margin, vec.sub((1.0, 1.0, 1.0), at), d)
    out = max(d[0], 0.0), max(d[1], 0.0), max(d[2], 0.0)
    length = vec.norm(out)
    if length == 0.0:
        return d[face], vec.times(side, at)
    if most > near or d[face] < -near:  # nearer, it may be closed, with that face only
        at = vec.scale(1.0 / length, out)
    return length, vec.times(side, at)


@inlined
def cosine_in_cone(geoms, j, feature, N, R):
    """Return how far -N is inside of the cone of corner `feature` of shape j: the smallest cosine
    with its three faces.
    """
    inner = vec.transposed_matvec(_nine(geoms, j, TURN), vec.transposed_matvec(R, N))
    x = -inner[0] if feature & 1 else inner[0]
    y = -inner[1] if feature & 2 else inner[1]
    z = -inner[2] if feature & 4 else inner[2]
    return min(x, y, z)


@inlined
def cylinder_distance(p, half):
    """Return (s, its gradient) of a point from a cylinder, in its frame; s is negative inside."""
    r = vec2.norm(p)
    across = (p[0] / r, p[1] / r, 0.0) if r > 0.0 else (1.0, 0.0, 0.0)
    d, e, up = r - half[0], abs(p[2]) - half[2], sign(p[2])
    if d > 0.0 and e > 0.0:
        s = sqrt(d * d + e * e)
        return s, (across[0] * d / s, across[1] * d / s, up * e / s)
    if d > e:
        return d, across
    return e, (0.0, 0.0, up)


@inlined
def side_distance(p, half, n):
    """Return (s, N) as `cylinder_distance` does, from the plane of the end that n points out of
    most, or from the side.
    """
    r = vec2.norm(p)
    if 2.0 * n[2] * n[2] > vec.dot(n, n) or r == 0.0:
        return sign(n[2]) * p[2] - half[2], (0.0, 0.0, sign(n[2]))
    return r - half[0], (p[0] / r, p[1] / r, 0.0)


@inlined
def rim(geoms, i, feature, A, B, n, size):
    """Return (g, N, point) of the lowest point of an end of a cylinder over a plane."""
    N = vec.matvec(B[1], n)
    x, axes = place_shape(geoms, i, A)
    end = center_of_end(geoms, i, x, axes, feature == 1)
    depth, u = lowest(axes, geoms[i, HALF], N)
    return vec.dot(N, vec.sub(end, B[0])) - depth - size, N, vec.add(end, u)


@inlined
def center_of_end(geoms, i, x, axes, is_upper):
    """Return the center of the upper or the lower end of cylinder i at x with its axes."""
    return vec.axpy((1.0 if is_upper else -1.0) * geoms[i, HALF + 2], axes[2], x)


@inlined
def lowest(axes, radius, N):
    """Return (how far a rim reaches below its center along N, its lowest point from there)
    (C.12).
    """
    z = axes[2]
    down = vec.sub(vec.scale(vec.dot(N, z), z), N)
    length, u = vec.norm(down), vec.unit(down, axes[0])
    w = sqrt(length * length + FLAT * FLAT)
    arm = (1.0 + 2.0 * FLAT * FLAT / (w * w)) * length / w
    return radius * (w - 2.0 * FLAT * FLAT / w), vec.scale(arm * radius, u)


@inlined
def edges(geoms, i, j, feature, A, B, size, before):
    """Return (g, N, point) of an edge along axis `feature // 12` of shape i and one along axis
    `feature // 4 % 3` of shape j; of the two edges that each has with a sign (bits 1 and 0), those
    count that face each other.
    """
    x_a, a_axes = place_shape(geoms, i, A)
    x_b, b_axes = place_shape(geoms, j, B)
    along_a, along_b = feature // 12, feature // 4 % 3
    a, b = axis(a_axes, along_a), axis(b_axes, along_b)
    d, normal, closed = vec.sub(x_a, x_b), vec.cross(a, b), vec.size(before) > 0.0
    square, out = vec.dot(normal, normal), before if closed else d
    if square > PARALLEL:
        N = vec.scale((1.0 if vec.dot(normal, out) >= 0.0 else -1.0) / sqrt(square), normal)
    else:
        N = vec.axpy(-vec.dot(a, d), a, d)
        N = vec.scale(1.0 / max(vec.norm(N), 1e-300), N)
    of_a, out_a = edge(geoms, i, a_axes, along_a, feature & 2, vec.scale(-1.0, N))
    of_b, out_b = edge(geoms, j, b_axes, along_b, feature & 1, N)
    m_a, m_b = vec.add(x_a, of_a), vec.add(x_b, of_b)
    half_a, half_b = geoms[i, HALF + along_a], geoms[j, HALF + along_b]
    r = vec.sub(m_a, m_b)
    c, ra, rb = vec.dot(a, b), vec.dot(a, r), vec.dot(b, r)
    unit = geoms[j, UNIT]
    margin, most = MARGIN * unit, OUTSIDE * unit
    outside, deeper = most, DEEPER * unit
    if square > PARALLEL:
        s, t = (c * rb - ra) / square, (rb - c * ra) / square
        over = max(abs(s) - half_a + margin, abs(t) - half_b - margin, 0.0)
        over = 0.0 if closed else over + (half_a + half_b) * max(max(out_a, out_b) - CONE, 0.0)
        depth = vec.dot(N, r)
        if over == 0.0 and depth < 0.0 and not closed:  # unless another axis separates them
            least = separation(d, a_axes, three(geoms, i, HALF), b_axes, three(geoms, j, HALF))
            over = most if depth < 2.0 * least - SHALLOW * unit else 0.0
        outside = min(over, most)
        if over == 0.0:
            point = vec.axpy(t, b, m_b)
            return depth - size + (0.0 if closed else deeper), N, vec.axpy(geoms[j, RHO], N, point)
    t, away = vector_between(r, a, b, half_a, half_b)
    length = vec.norm(away)
    if outside == most and length > 0.0:
        N = vec.scale(1.0 / length, away)
    on_b = vec.axpy(t, b, m_b)
    return length + outside - size + deeper, N, vec.axpy(geoms[j, RHO], N, on_b)


@part
def is_skew(geoms, i, j, feature, A, B):
    """Return whether two edges are so near to parallel that their normal turns much faster than
    they do.
    """
    a = axis(place_shape(geoms, i, A)[1], feature // 12)
    c = vec.dot(a, axis(place_shape(geoms, j, B)[1], feature // 4 % 3))
    return 1.0 - c * c < SKEW


@part
def apart(geoms, i, j, feature, A, B, size):
    """Return the least distance between the two edges of each shape that `edges` may choose of; it
    changes no faster than they move.
    """
    x_a, a_axes = place_shape(geoms, i, A)
    x_b, b_axes = place_shape(geoms, j, B)
    along_a, along_b = feature // 12, feature // 4 % 3
    a, b = axis(a_axes, along_a), axis(b_axes, along_b)
    of_a = edge(geoms, i, a_axes, along_a, feature & 2, b)[0]
    of_b = edge(geoms, j, b_axes, along_b, feature & 1, a)[0]
    d, least = vec.sub(x_a, x_b), 1e300
    for k in range(4):
        r = vec.axpy(1.0 if k & 1 else -1.0, of_a, d)
        r = vec.axpy(1.0 if k & 2 else -1.0, of_b, r)
        half_a, half_b = geoms[i, HALF + along_a], geoms[j, HALF + along_b]
        least = min(least, vec.norm(vector_between(r, a, b, half_a, half_b)[1]) - size)
    return least


@part
def separation(d, a, h, b, f):
    """Return the largest of the distances of two boxes along the 15 axes that can separate them;
    it is negative where they overlap.
    """
    most = -1e300
    for k in range(15):
        if k < 3:
            n = axis(a, k)
        elif k < 6:
            n = axis(b, k - 3)
        else:
            n = vec.cross(axis(a, (k - 6) // 3), axis(b, (k - 6) % 3))
        square = vec.dot(n, n)
        if square > PARALLEL:
            of_a = vec.size(vec.times(h, vec.matvec(a, n)))
            of_b = vec.size(vec.times(f, vec.matvec(b, n)))
            most = max(most, (abs(vec.dot(d, n)) - of_a - of_b) / sqrt(square))
    return most


@inlined
def axis(axes, k):
    """Return axis k of three."""
    return axes[0] if k == 0 else axes[1] if k == 1 else axes[2]


@inlined
def edge(geoms, i, axes, along, same, N):
    """Return (middle of the edge from the center, sine by which N is out of its cone) of one of
    the two edges whose offsets along the other axes have the same signs, or not: the one further
    along N.
    """
    k, l = (1 if along == 0 else 0), (1 if along == 2 else 2)
    h, f = geoms[i, HALF + k], geoms[i, HALF + l]
    u, v = axis(axes, k), axis(axes, l)
    if not same:
        v = vec.scale(-1.0, v)
    x, y = vec.dot(N, u), vec.dot(N, v)
    toward = sign(h * x + f * y)
    out = max(-toward * x if h > 0.0 else 0.0, -toward * y if f > 0.0 else 0.0, 0.0)
    return vec.scale(toward, vec.axpy(h, u, vec.scale(f, v))), out


@inlined
def nearest(c, ra, rb, half_a, half_b):
    """Return (s, t) of the nearest points of the segments m_a + s a, m_b + t b; c = a . b, ra = a
    . r, rb = b . r, r = m_a - m_b.
    """
    square = 1.0 - c * c
    s = (c * rb - ra) / square if square > PARALLEL else 0.0
    s = min(max(s, -half_a), half_a)
    t = min(max(rb + c * s, -half_b), half_b)
    s = min(max(c * t - ra, -half_a), half_a)
    return s, t


@inlined
def vector_between(r, a, b, half_a, half_b):
    """Return (t, the vector between them) of the nearest points of the segments of `nearest`."""
    s, t = nearest(vec.dot(a, b), vec.dot(a, r), vec.dot(b, r), half_a, half_b)
    return t, vec.add(r, vec.sub(vec.scale(s, a), vec.scale(t, b)))
