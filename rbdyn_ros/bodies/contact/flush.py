"""Contacts at the seam of shapes that lie flush (doc/nonsmooth.md, C.14a).

The gap of a pair knows two shapes. Where a corner slides over the seam of two tables whose tops
are level, it touches top and side of the second one alike, and the side would stop it, although
the first table covers that side. A covered side cannot be met: so the normal of a pair that begins
to touch at an edge must not point out of a face with another shape in front of it, within `REACH`
of that edge. A corner then touches with the best of its other faces; a pair of edges, of a rim or
of a cylinder's side stays open, for corners or other edges carry the same place. A shape covers
nothing of what it may pass through, without a contact.

Closed contacts keep their normal, so that this is asked for only where a gap closes.
"""

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.description import cylinders, features
from rbdyn_ros.bodies.description.features import HALF, MARGIN, OUTSIDE, OWNER, RHO, SHAPE, UNIT
from rbdyn_ros.geometry import vec, vec2
from rbdyn_ros.kernel import inlined, part

# lengths in the model's unit
NEAR = 2.0 * MARGIN  # of a face: the point of contact is on it; steps and gaps below are none
REACH = 10.0 * MARGIN  # from an edge, along the face and out of it, to what covers it
INTO = 1e-6  # of a normal along that of a face
_FREE = (0.0, 0.0, 0.0)


@part
def avoid_covered(m, pair, bodies, at, found):
    """Return (g, N, point) of an open pair, or what takes their place where N points out of a face
    that is covered; `bodies` of the pair, `at` = columns (place, attitude), `found` = (g, N,
    point).
    """
    g, N, point = found
    geoms, unit = arena.geoms(m), arena.clock(m)[c.LENGTH]
    if g > NEAR * unit or pair.kind == features.RIM:
        return found
    if not meets_covered(m, pair, bodies, at, N, point):
        return found
    A, B = arena.pose(m, bodies[0], *at), arena.pose(m, bodies[1], *at)
    on_b = pair.kind == features.BALL_ON_BOX or pair.kind == features.BALL_ON_CYLINDER
    on_a = pair.kind == features.BOX_ON_BALL or pair.kind == features.CYLINDER_ON_BALL
    best, normal = -1e300, _FREE
    if (on_a or on_b) and pair.feature >= 0:
        faced, corner = (pair.j, pair.i) if on_b else (pair.i, pair.j)
        P, Q = (A, B) if on_b else (B, A)
        x, axes = features.place_shape(geoms, faced, Q)
        p, outward = vec.matvec(axes, vec.sub(point, x)), 1.0 if on_b else -1.0
        for f in range(3):
            n = face_normal(geoms, faced, p, f)
            if vec.dot(n, n) > 0.0:
                n = vec.scale(outward, vec.transposed_matvec(axes, n))
                rank = 0.0
                if pair.feature != features.TIP:
                    rank = features.cosine_in_cone(
                        geoms, corner, pair.feature, vec.scale(outward, n), P[1]
                    )
                if rank > best and not meets_covered(m, pair, bodies, at, n, point):
                    best, normal = rank, n
    if not best > -1e300:
        return OUTSIDE * unit, N, point
    s, N, point = cylinders.gap(geoms, pair, A, B, normal)
    return g if g > 0.0 else s, N, point  # before the edge the gap has no jump


@inlined
def face_normal(geoms, i, p, f):
    """Return the normal of face f of shape i that the point p is on, in its frame, else 0; faces 0
    and 2 of a cylinder are its side and its end.
    """
    near = NEAR * geoms[i, UNIT]
    if geoms[i, SHAPE] == features.CYLINDER:
        r = vec2.norm(p)
        if f == 0 and r > 0.0 and abs(r - geoms[i, HALF]) <= near:
            return p[0] / r, p[1] / r, 0.0
        if f == 2 and abs(abs(p[2]) - geoms[i, HALF + 2]) <= near:
            return 0.0, 0.0, features.sign(p[2])
        return _FREE
    along = p[0] if f == 0 else p[1] if f == 1 else p[2]
    if geoms[i, SHAPE] != features.BOX or abs(abs(along) - geoms[i, HALF + f]) > near:
        return _FREE
    s = features.sign(along)
    return (s if f == 0 else 0.0), (s if f == 1 else 0.0), (s if f == 2 else 0.0)


@part
def meets_covered(m, pair, bodies, at, N, point):
    """Return whether N points out of a covered face of b, or -N out of one of a; for edges also
    along one: corners carry what lies over a seam.
    """
    least = -INTO if pair.kind == features.EDGES else INTO
    if leaves_covered(m, pair.j, bodies[0], at, N, point, least):
        return True
    return leaves_covered(m, pair.i, bodies[1], at, vec.scale(-1.0, N), point, least)


@part
def leaves_covered(m, i, other, at, N, point, least):
    """Return whether the point is on an edge of shape i, and N points by more than `least` out of
    a face there that a shape covers whose body is not `other`.
    """
    geoms = arena.geoms(m)
    x, axes = features.place_shape(geoms, i, arena.pose(m, int(geoms[i, OWNER]), *at))
    p, n, faces = vec.matvec(axes, vec.sub(point, x)), vec.matvec(axes, N), 0
    for f in range(3):
        face = face_normal(geoms, i, p, f)
        faces += 1 if vec.dot(face, face) > 0.0 else 0
    if faces < 2:
        return False
    for f in range(3):
        face = face_normal(geoms, i, p, f)
        if vec.dot(face, n) > least and vec.dot(face, face) > 0.0:
            q = vec.add(x, vec.transposed_matvec(axes, in_front(geoms, i, p, face)))
            if is_inside_any(m, q, i, other, at):
                return True
    return False


@inlined
def in_front(geoms, i, p, face):
    """Return the point `REACH` in front of a face of shape i, next to p and as far from the
    other faces' edges.
    """
    reach, half = REACH * geoms[i, UNIT], features.three(geoms, i, HALF)
    if geoms[i, SHAPE] == features.CYLINDER:
        r = max(vec2.norm(p), 1e-300)
        far = half[0] + reach if face[2] == 0.0 else max(half[0] - reach, 0.0)
        p, half = (p[0] * far / r, p[1] * far / r, p[2]), (2.0 * far, 2.0 * far, half[2])
    q = within(p[0], half[0] - reach), within(p[1], half[1] - reach), within(p[2], half[2] - reach)
    along = vec.dot(face, q)
    if geoms[i, SHAPE] == features.CYLINDER and face[2] == 0.0:
        return q
    depth = vec.dot(vec.times(face, face), half) + reach
    return vec.axpy(depth - along, face, q)


@inlined
def within(value, most):
    """Return the number that is next to a value and at most `most` large."""
    return min(max(value, -max(most, 0.0)), max(most, 0.0))


@part
def is_inside_any(m, q, i, other, at):
    """Return whether a point [world] is inside a shape besides i, not of body `other`, that keeps
    `other` away from there and lies flush with i. What passes through one of them does not:
    `test_a_body_that_passes_through_one_of_two_that_touch_hides_no_contact`.
    """
    geoms = arena.geoms(m)
    for k in range(len(geoms)):
        owner = int(geoms[k, OWNER])
        if k == i or owner == other:
            continue
        x, axes = features.place_shape(geoms, k, arena.pose(m, owner, *at))
        p, half = vec.matvec(axes, vec.sub(q, x)), features.three(geoms, k, HALF)
        if geoms[k, SHAPE] == features.PLANE:
            s = p[2]
        elif geoms[k, SHAPE] == features.CYLINDER:
            s = features.cylinder_distance(p, half)[0]
        else:
            s = features.box_distance(p, half)[0] - geoms[k, RHO]
        if s <= 0.0 and can_meet(m, owner, other) and can_meet(m, owner, int(geoms[i, OWNER])):
            return True
    return False


@inlined
def can_meet(m, a, b):
    """Return whether two bodies are the same one, or a pair of contacts keeps them apart."""
    integers = arena.pair_integers(m)
    for k in range(len(integers)):
        first, second = integers[k, c.A], integers[k, c.B]
        if first == a and second == b or first == b and second == a:
            return True
    return a == b
