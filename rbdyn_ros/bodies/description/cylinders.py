"""Gaps between a cylinder and boxes, capsules and other cylinders (doc/nonsmooth.md, C.13, C.14).

A cylinder has two ends, their rims and its lateral surface. It meets a rounded box or another
cylinder with one of these pairs of features, besides corners and balls (`features`):

    LATERAL     its side and an edge, or the side of the other: their lines cross
    RIM_FACE    the lowest point of a rim, and a face or an end of the other
    RIM_LINE    a rim crosses an edge, or lies on the side of the other
    RIM_RIM     two rims cross

Each gives nearest points p_a, p_b and a common normal N; g = N . (p_a - p_b) - rho. These features
touch where g is also the distance along N of the whole shapes, which their support functions give;
elsewhere g is that of p_a from the other shape and up to `OUTSIDE` more.
"""

from math import sqrt

import numpy as np

from rbdyn_ros.bodies.description import features
from rbdyn_ros.bodies.description.features import HALF, OUTSIDE, PARALLEL, RHO, SHALLOW, SKEW, UNIT
from rbdyn_ros.geometry import vec, vec2
from rbdyn_ros.kernel import inlined, part

LATERAL, RIM_FACE, RIM_LINE, RIM_RIM = (np.int64(i) for i in range(9, 13))
# A feature is 4 number + ROUND + SWAPPED: the other shape is a cylinder; the features of the list
# above are those of b, then of a.
SWAPPED, ROUND = np.int64(1), np.int64(2)
# lengths in the model's unit
TOLERANCE = 1e-9  # by which features may be out of each other's extent and cone of normals
SMALL = 1e-6  # of an overlap that is taken for one of the shapes
STEEP = 0.25  # of sin^2 between a line and a rim's axis: the line crosses the rim at most once
TANGENT = 1e-6  # of sin^2 between a rim's tangent and a line: they have no normal in common
NEWTON = 30  # iterations
TURN = 0.5  # [rad] the longest of them
FOUND = 1e-9  # [rad]: the next iteration would turn by its square


@part
def gap(geoms, pair, A, B, before):
    """Return (g, N, point) as `features.gap` does, for candidates of all kinds."""
    kind, i, j, feature, p, n, size = pair
    if kind < LATERAL:
        return features.gap(geoms, pair, A, B, before)
    if feature & SWAPPED:
        swapped = features.Candidate(kind, j, i, feature, p, n, size)
        g, N, point = from_cylinder(geoms, swapped, B, A, vec.scale(-1.0, before))
        return g, vec.scale(-1.0, N), point
    return from_cylinder(geoms, pair, A, B, before)


@part
def from_cylinder(geoms, pair, A, B, before):
    """Return (g, N out of b, the point that touches) for the features of cylinder i and of shape
    j.
    """
    kind, i, j, feature, _, _, size = pair
    a, b = features.place_shape(geoms, i, A), features.place_shape(geoms, j, B)
    (x, axes), (y, others) = a, b
    is_round, closed = feature & ROUND != 0, vec.size(before) > 0.0
    out = before if closed else vec.sub(x, y)
    if kind == LATERAL:
        found = sides(geoms, i, j, feature, a, b, out)
    elif kind == RIM_FACE:
        found = rim_on_face(geoms, i, j, feature, a, b, out)
    elif kind == RIM_LINE:
        found = rim_and_line(geoms, i, j, feature, a, b, out)
    else:
        found = rims(geoms, i, j, feature, a, b, out)
    p_a, p_b, N, depth, over = found
    unit = geoms[j, UNIT]
    g, point = depth - size, vec.axpy(geoms[j, RHO], N, p_b)
    if closed:
        return g, N, point
    if kind != RIM_FACE:  # its point is the lowest one of the rim
        along = vec.dot(N, vec.sub(x, y)) - reach(geoms, i, True, axes, N)
        over = max(over, depth - along + reach(geoms, j, is_round, others, N))
    inside = distance(geoms, j, is_round, y, others, p_a) - size
    if over <= TOLERANCE * unit:
        if g >= -SMALL * unit:
            return g, N, point
        # an overlap of these features, if it is one of the shapes, too: a point of one, or one a
        # little inside of its end, is in the other
        deepest = min(inside, distance(geoms, i, True, x, axes, p_b) - size)
        deepest = min(
            deepest,
            distance(geoms, j, is_round, y, others, inward(p_a, x, g)) - size,
            distance(geoms, i, True, x, axes, inward(p_b, y, g)) - size,
        )
        if deepest < -features.MARGIN * unit:
            return max(g, deepest), N, point
        over = OUTSIDE * unit
    return max(inside, 0.0) + min(over, OUTSIDE * unit), N, point


@inlined
def distance(geoms, i, is_round, x, axes, point):
    """Return the distance of a point from the core of shape i at x with its axes; it is negative
    inside.
    """
    p = vec.matvec(axes, vec.sub(point, x))
    half = features.three(geoms, i, HALF)
    if is_round:
        return features.cylinder_distance(p, half)[0]
    return features.box_distance(p, half)[0]


@inlined
def inward(p, center, g):
    """Return the point p of a shape, moved toward its center by a part of g."""
    d = vec.sub(center, p)
    return vec.axpy(min(0.5 * abs(g) / max(vec.norm(d), 1e-300), 1.0), d, p)


@inlined
def reach(geoms, i, is_round, axes, N):
    """Return how far the core of shape i reaches from its center along N and along -N."""
    n = vec.matvec(axes, N)
    if is_round:
        return geoms[i, HALF] * vec2.norm(n) + geoms[i, HALF + 2] * abs(n[2])
    return vec.size(vec.times(features.three(geoms, i, HALF), n))


@inlined
def toward(N, out):
    """Return N or -N, whichever points along `out`."""
    return vec.scale(1.0 if vec.dot(N, out) >= 0.0 else -1.0, N)


@inlined
def line_of(geoms, j, is_round, x, axes, along, signs):
    """Return (middle, half length, radius) of the axis of a cylinder, or of the edge of a box
    along one of its axes at the signs (bits) of the other two.
    """
    if is_round:
        return x, geoms[j, HALF + 2], geoms[j, HALF]
    k, l = (1 if along == 0 else 0), (1 if along == 2 else 2)
    at = vec.axpy((1.0 if signs & 1 else -1.0) * geoms[j, HALF + k], features.axis(axes, k), x)
    at = vec.axpy((1.0 if signs & 2 else -1.0) * geoms[j, HALF + l], features.axis(axes, l), at)
    return at, geoms[j, HALF + along], 0.0


@inlined
def sides(geoms, i, j, feature, at_i, at_j, out):
    """Return (p_a, p_b, N, depth, over) of the side of cylinder i and the side of another one or
    an edge (number: twice its axis, and the bit of `features.edge`), both at (x, axes): nearest
    points, normal, their distance along it, and by how much they lie beyond an end [m].
    """
    (x, axes), (y, others) = at_i, at_j
    z, r, half, is_round = axes[2], geoms[i, HALF], geoms[i, HALF + 2], feature & ROUND != 0
    along = feature // 8
    b = features.axis(others, along)
    normal, rho = vec.cross(z, b), geoms[j, HALF] if is_round else 0.0
    square = vec.dot(normal, normal)
    if not square > PARALLEL:
        return (
            x,
            y,
            vec.scale(1.0 / max(vec.norm(out), 1e-300), out),
            0.0,
            OUTSIDE * geoms[j, UNIT],
        )
    N = toward(vec.scale(1.0 / sqrt(square), normal), out)
    middle = y
    if not is_round:
        middle = vec.add(y, features.edge(geoms, j, others, along, feature & 4, N)[0])
    w, cosine = vec.sub(x, middle), vec.dot(z, b)
    on_z, on_b = vec.dot(z, w), vec.dot(b, w)
    s, t = (cosine * on_b - on_z) / square, (on_b - cosine * on_z) / square
    over = max(abs(s) - half, abs(t) - geoms[j, HALF + along])
    p_a = vec.axpy(-r, N, vec.axpy(min(max(s, -half), half), z, x))
    p_b = vec.axpy(rho, N, vec.axpy(t, b, middle))
    return p_a, p_b, N, vec.dot(N, w) - r - rho, over


@inlined
def rim_on_face(geoms, i, j, feature, at_i, at_j, out):
    """Return what `sides` does for the lowest point of a rim over a face (number: 3 end + axis of
    the face).
    """
    (x, axes), (y, others) = at_i, at_j
    face = feature // 4 % 3
    N = toward(features.axis(others, face), out)
    height, u = features.lowest(axes, geoms[i, HALF], N)
    end = features.center_of_end(geoms, i, x, axes, feature // 12 == 1)
    p_a = vec.add(end, u)
    depth = vec.dot(N, vec.sub(end, y)) - height - geoms[j, HALF + face]
    p = vec.matvec(others, vec.sub(p_a, y))
    if feature & ROUND:
        over = vec2.norm(p) - geoms[j, HALF]
    else:
        over = max(
            abs(p[0]) - geoms[j, HALF] if face != 0 else -1.0,
            abs(p[1]) - geoms[j, HALF + 1] if face != 1 else -1.0,
            abs(p[2]) - geoms[j, HALF + 2] if face != 2 else -1.0,
        )
    return p_a, vec.axpy(-depth, N, p_a), N, depth, over


@inlined
def rim_and_line(geoms, i, j, feature, at_i, at_j, out):
    """Return what `sides` does for a rim and an edge or the side of a cylinder (number: 12 (2 end
    + branch) + 4 axis of the edge + signs).

    Newton's method for the point p = c + r e of the rim, e' = tau:
    tau . D = 0, D = P (p - m), P = 1 - b b^T.
    """
    (x, axes), (y, others) = at_i, at_j
    z, r, number = axes[2], geoms[i, HALF], feature // 4
    along, end, branch = number // 4 % 3, number // 24, number // 12 % 2
    is_round, b = feature & ROUND != 0, features.axis(others, along)
    m, half, rho = line_of(geoms, j, is_round, y, others, along, number % 4)
    unit = geoms[j, UNIT]
    c = features.center_of_end(geoms, i, x, axes, end == 1)
    # start: where the line crosses the rim as seen along z, or the point nearest to it
    w, up = vec.sub(m, c), vec.dot(b, z)
    flat, across = vec.axpy(-up, z, b), vec.axpy(-vec.dot(w, z), z, w)
    square, apart = vec.dot(flat, flat), False
    if square > STEEP:
        t = -vec.dot(across, flat) / square
        q = vec.axpy(t, flat, across)
        left = r * r - vec.dot(q, q)
        apart = left <= 0.0
        t += (1.0 if branch else -1.0) * sqrt(max(left, 0.0) / square)
    else:
        apart = True
        t = min(max(-vec.dot(w, z) * up / (up * up), -half), half)
    if apart and branch:  # there is one nearest point
        return vec.axpy(r, axes[0], c), m, axes[2], 0.0, OUTSIDE * unit
    e = direction_across(z, vec.axpy(t, flat, across), axes[0], unit)
    tau, D = vec.cross(z, e), w
    for _ in range(NEWTON):
        D = vec.sub(vec.scale(r, e), w)
        D = vec.axpy(-vec.dot(b, D), b, D)
        cosine = vec.dot(tau, b)
        slope = r * (1.0 - cosine * cosine)
        angle = -vec.dot(tau, D) / max(slope - vec.dot(e, D), 0.1 * slope + 1e-3 * r)
        e, tau = swing(z, e, angle)
        if abs(angle) < FOUND:
            break
    D = vec.sub(vec.scale(r, e), w)
    t = vec.dot(b, D)
    D = vec.axpy(-t, b, D)
    N, depth, over = normal_of(vec.cross(tau, b), D, out, rho, unit)
    over = max(over, abs(t) - half)
    if is_round:  # of ends that are flush those of a count
        over += unit * (features.MARGIN if feature & SWAPPED else -features.MARGIN)
    p_b = vec.axpy(rho, N, vec.axpy(t, b, m))
    return vec.axpy(r, e, c), p_b, N, depth, over


@inlined
def direction_across(z, d, other, unit):
    """Return the direction of d, which is normal to z up to round-off; `other`, which is normal
    to z, where d is too short to have one.
    """
    if not vec.norm(d) > TOLERANCE * unit:
        return other
    e = vec.unit(d, other)
    return vec.unit(vec.axpy(-vec.dot(e, z), z, e), other)


@inlined
def rims(geoms, i, j, feature, at_i, at_j, out):
    """Return what `sides` does for two rims (number: 4 end of i + 2 end of j + branch), by
    Newton's method: tau_1 . D = tau_2 . D = 0, D = p_1 - p_2.
    """
    (x, axes), (y, others) = at_i, at_j
    number, z, r, f = feature // 4, axes[2], geoms[i, HALF], geoms[j, HALF]
    c = features.center_of_end(geoms, i, x, axes, number & 4)
    d = features.center_of_end(geoms, j, y, others, number & 2)
    w = vec.sub(d, c)
    across = vec.axpy(-vec.dot(w, z), z, w)
    a = vec.norm(across)
    unit = geoms[j, UNIT]
    if not a > TOLERANCE * unit:
        return vec.axpy(r, axes[0], c), d, z, 0.0, OUTSIDE * unit
    u = vec.scale(1.0 / a, across)
    at = min(max(0.5 * (a * a + r * r - f * f) / a, -r), r)
    aside = (1.0 if number & 1 else -1.0) * sqrt(max(r * r - at * at, 0.01 * r * r))
    e = vec.unit(vec.axpy(at, u, vec.scale(aside, vec.cross(z, u))), u)
    e_2 = nearest_on_rim(others, vec.sub(vec.scale(r, e), w))
    for _ in range(3):
        e = nearest_on_rim(axes, vec.axpy(f, e_2, w))
        e_2 = nearest_on_rim(others, vec.sub(vec.scale(r, e), w))
    tau, tau_2, D = vec.cross(z, e), vec.cross(others[2], e_2), w
    for _ in range(NEWTON):
        D = vec.sub(vec.scale(r, e), vec.axpy(f, e_2, w))
        k_11, k_22 = r - vec.dot(e, D), f + vec.dot(e_2, D)
        cosine = vec.dot(tau, tau_2)
        g_1, g_2 = -vec.dot(tau, D), vec.dot(tau_2, D)
        # the least curvature of the two turns is kept positive
        k_11, k_22 = max(k_11, 0.05 * r), max(k_22, 0.05 * f)
        k_12 = -cosine * min(1.0, 0.999999 * sqrt(k_11 * k_22 / (r * f)))
        det = k_11 * k_22 - r * f * k_12 * k_12
        angle = (k_22 * g_1 - k_12 * f * g_2) / det
        angle_2 = (k_11 * g_2 - k_12 * r * g_1) / det
        e, tau = swing(z, e, angle)
        e_2, tau_2 = swing(others[2], e_2, angle_2)
        if abs(angle) + abs(angle_2) < FOUND:
            break
    D = vec.sub(vec.scale(r, e), vec.axpy(f, e_2, w))
    N, depth, over = normal_of(vec.cross(tau, tau_2), D, out, 0.0, unit)
    return vec.axpy(r, e, c), vec.axpy(f, e_2, d), N, depth, over


@inlined
def normal_of(cross, D, out, rho, unit):
    """Return (N, depth, over) of two curves whose tangents have a cross product, whose nearest
    points are D apart, one of them with a radius rho; `unit` of length.
    """
    square, length = vec.dot(cross, cross), vec.norm(D)
    if rho > 0.0 and length > 0.0:
        return vec.scale(1.0 / length, D), length - rho, -1.0
    if square > TANGENT:
        N = toward(vec.scale(1.0 / sqrt(square), cross), out)
        return N, vec.dot(N, D), -1.0
    N = vec.scale(1.0 / max(length, 1e-300), D)
    return N, length, -1.0 if length > SHALLOW * unit else OUTSIDE * unit


@inlined
def nearest_on_rim(axes, p):
    """Return the direction from the center of a rim to its point that is nearest to p."""
    return vec.unit(vec.axpy(-vec.dot(p, axes[2]), axes[2], p), axes[0])


@inlined
def swing(z, e, angle):
    """Return (e, z x e) after a turn about z by about an angle, at most `TURN`."""
    e = vec.axpy(min(max(angle, -TURN), TURN), vec.cross(z, e), e)
    e = vec.scale(1.0 / vec.norm(e), e)
    return e, vec.cross(z, e)


@inlined
def cylinder_first(i, j, feature, A, B):
    """Return (i, A, j, B) with the cylinder and its body first."""
    return (j, B, i, A) if feature & SWAPPED else (i, A, j, B)


@part
def is_skew(geoms, kind, i, j, feature, A, B):
    """Return what `features.is_skew` does, also for a side and an edge or for two sides."""
    if kind == features.EDGES:
        return features.is_skew(geoms, i, j, feature, A, B)
    a, P, b, Q = cylinder_first(i, j, feature, A, B)
    z, line = features.place_shape(geoms, a, P)[1][2], features.place_shape(geoms, b, Q)[1]
    c = vec.dot(z, features.axis(line, feature // 8))
    return 1.0 - c * c < SKEW


@part
def apart(geoms, kind, i, j, feature, A, B, size):
    """Return a distance of the features from each other that changes no faster than they move."""
    if kind == features.EDGES:
        return features.apart(geoms, i, j, feature, A, B, size)
    a, P, b, Q = cylinder_first(i, j, feature, A, B)
    x, axes = features.place_shape(geoms, a, P)
    y, others = features.place_shape(geoms, b, Q)
    r, is_round, number = geoms[a, HALF], feature & ROUND != 0, feature // 4
    if kind == LATERAL:
        least = 1e300
        for signs in range(1 if is_round else 4):
            m, half, rho = line_of(geoms, b, is_round, y, others, number // 2, signs)
            line, length = features.axis(others, number // 2), geoms[a, HALF + 2]
            _, w = features.vector_between(vec.sub(x, m), axes[2], line, length, half)
            least = min(least, vec.norm(w) - r - rho)
        return least - size
    end = number // 3 if kind == RIM_FACE else number // 24 if kind == RIM_LINE else number // 4
    c = features.center_of_end(geoms, a, x, axes, end == 1)
    if kind == RIM_LINE:
        m, half, rho = line_of(geoms, b, is_round, y, others, number // 4 % 3, number % 4)
        w, line = vec.sub(c, m), features.axis(others, number // 4 % 3)
        t = min(max(vec.dot(line, w), -half), half)
        return vec.norm(vec.axpy(-t, line, w)) - r - rho - size
    return distance(geoms, b, is_round, y, others, c) - r - size
