"""Contact pairs: gaps, frames, levers, and the way between their impulses and velocities and those
of the bodies.

The kinds are those of description/pairs.py and features.py (doc/nonsmooth.md, C.9 to C.12). A
contact's frame is (normal out of b, two tangents); its velocity is that of a against b,
u = T (v_a - v_b) + T_a w_a - T_b w_b, and an impulse r gives T^T r and T_a^T r to a.
"""

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get9, matrix_of, set_matrix, set_vector, vector_of
from rbdyn_ros.bodies.contact import flush
from rbdyn_ros.bodies.description import cylinders, features
from rbdyn_ros.bodies.description.features import OUTSIDE
from rbdyn_ros.bodies.smooth import way
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part

_ORIGIN = (0.0, 0.0, 0.0)
# lengths in the model's own unit, LENGTH
JUMP = 5.0 * OUTSIDE  # by which a gap may close without a way
FAR = 1e-3  # of a gap that is not looked at again before its bodies have moved
TOUCHING = 1e-9  # a gap that counts as closed: at a seam two faces carry, level up to this
STILL = 1e-13  # a way, turns counted in [rad], of bodies after which frames and levers still hold


@inlined
def locate(bodies, i, p, x, R):
    """Return the point p of body i at the node (X, R) or at the end (X_1, R_1) [m, world]."""
    return p if i == c.WORLD else vec.add(get(bodies, i, x), vec.matvec(get9(bodies, i, R), p))


@inlined
def gap(m, k, x, R):
    """Return (gap, normal, center of a's ball or its corner) of pair k, FACE or BALLS, at the node
    or at the end.
    """
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    a, b, n = integers[k, c.A], integers[k, c.B], vector_of(pairs[k].point_b)
    center = locate(bodies, a, vector_of(pairs[k].point_a), x, R)
    if integers[k, c.KIND] == c.FACE:
        if b == c.WORLD:
            return vec.dot(n, center) - pairs[k].offset, n, center
        normal = vec.matvec(get9(bodies, b, R), n)
        return (
            vec.dot(normal, vec.sub(center, get(bodies, b, x))) - pairs[k].offset,
            normal,
            center,
        )
    d = vec.sub(center, locate(bodies, b, n, x, R))
    return vec.norm(d) - pairs[k].offset, vec.unit(d, (0.0, 0.0, 1.0)), center


@part
def shape_gap(m, k, x, R, before):
    """Return the same as `gap` between features of two shapes, the point of contact in place of
    the center.

    `before`: see `features.gap`. Without it a face that another shape covers is not met.
    """
    pair, found = own_gap(m, k, x, R, before)
    if vec.size(before) > 0.0:
        return found
    integers = arena.pair_integers(m)
    return flush.avoid_covered(m, pair, (integers[k, c.A], integers[k, c.B]), (x, R), found)


@part
def own_gap(m, k, x, R, before):
    """Return (candidate, (gap, normal, point)) of pair k, whatever else is there."""
    pairs, integers, shapes = arena.pairs(m), arena.pair_integers(m), arena.pair_shapes(m)
    A, B = arena.pose(m, integers[k, c.A], x, R), arena.pose(m, integers[k, c.B], x, R)
    p, n, size = vector_of(pairs[k].point_a), vector_of(pairs[k].point_b), pairs[k].offset
    i, j, feature = shapes[k, 0], shapes[k, 1], shapes[k, 2]
    pair = features.Candidate(integers[k, c.KIND], i, j, feature, p, n, size)
    return pair, cylinders.gap(arena.geoms(m), pair, A, B, before)


@part
def end_gap(m, k, d):
    """Return (gap, where they touch) of the closed pair k of two shapes at the end of a step in
    which its points moved apart by d; of edges that are nearly parallel to first order, for their
    normal may turn round.
    """
    pairs, integers, shapes = arena.pairs(m), arena.pair_integers(m), arena.pair_shapes(m)
    normal = vector_of(pairs[k].frame)
    kind = integers[k, c.KIND]
    if kind == features.EDGES or kind == cylinders.LATERAL:
        A, B = arena.pose(m, integers[k, c.A], c.X, c.R), arena.pose(m, integers[k, c.B], c.X, c.R)
        if cylinders.is_skew(arena.geoms(m), kind, shapes[k, 0], shapes[k, 1], shapes[k, 2], A, B):
            b = integers[k, c.B]
            on_b = locate(arena.bodies(m), b, vector_of(pairs[k].on[1]), c.X_1, c.R_1)
            linear = pairs[k].gap + vec.dot(normal, d)
            if (
                abs(linear - shape_gap(m, k, c.X_1, c.R_1, normal)[0])
                > OUTSIDE * arena.clock(m)[c.LENGTH]
            ):
                arena.clock(m)[c.TRAVEL] = 1e300
            return linear, on_b
    g, _, point = shape_gap(m, k, c.X_1, c.R_1, normal)
    return g, point


@inlined
def can_roll(pairs, integers, k):
    """Return whether pair k touches with another point of its bodies as they turn: not so corners
    and points, which stay where they are, also to round-off.
    """
    kind = integers[k, c.KIND]
    if kind <= c.BALLS:
        return pairs[k].radius > 0.0
    return kind >= cylinders.LATERAL or kind == features.RIM or pairs[k].offset > 0.0


@inlined
def contact_displacement(bodies, i, p, point):
    """Return how far body i has carried the point of contact, which was p in it and is now `point`
    in the world: x_1 - x_0 + (2 w v) x (the mean of its levers) + |v|^2 (their change)   (M.14a).
    """
    if i == c.WORLD:
        return _ORIGIN
    x, R, v = get(bodies, i, c.X_1), get9(bodies, i, c.R), get(bodies, i, c.V)
    moved = vec.sub(x, get(bodies, i, c.X))
    turn = vec.matvec(R, vec.scale(2.0 * bodies[i, c.W], v))
    before, after = vec.matvec(R, p), vec.sub(point, x)
    moved = vec.axpy(0.5, vec.cross(turn, vec.add(before, after)), moved)
    return vec.axpy(vec.dot(v, v), vec.sub(after, before), moved)


@part
def hold(m, k):
    """Update the closed pair k of two shapes; return False where it has left what it was closed
    on: an edge's end, a face's rim.

    Its gap is taken as at the end of the step, with the normal given: a difference to the gap of
    an open pair would be a velocity without bound in a short part of a step.
    """
    unit = arena.clock(m)[c.LENGTH]
    frame = vector_of(arena.pairs(m)[k].frame)
    g, normal, point = own_gap(m, k, c.X, c.R, _ORIGIN)[1]
    if vec.dot(normal, frame) < 0.5:  # of a covered face?
        g, normal, point = shape_gap(m, k, c.X, c.R, _ORIGIN)
    if g > 0.5 * OUTSIDE * unit or vec.dot(normal, frame) < 0.5:
        return False
    held = own_gap(m, k, c.X, c.R, normal)[1][0]
    if abs(g - held) > 2.0 * OUTSIDE * unit:
        return False
    set_contact(m, k, held, normal, point)
    return True


@inlined
def release(m, k):
    """Open pair k."""
    pairs = arena.pairs(m)
    arena.pair_integers(m)[k, c.CLOSED] = 0
    set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
    pairs[k].up_to_date = pairs[k].u_last[0] = pairs[k].u_last[1] = 0.0
    pairs[k].slack = min(pairs[k].slack, 0.0)


@part
def any_gap(m, k, x, R):
    """Return the gap of pair k of any kind. It is not inlined: the option would pass on to what it
    calls first, which is the largest part of all.
    """
    if arena.pair_integers(m)[k, c.KIND] > c.BALLS:
        return shape_gap(m, k, x, R, _ORIGIN)[0]
    return gap(m, k, x, R)[0]


@part
def update_contact(m, k):
    """Set frame, contact points, levers and own block of the Delassus matrix of pair k at the
    node.
    """
    if arena.pair_integers(m)[k, c.KIND] > c.BALLS:
        update_shapes(m, k)
    else:
        g, normal, center = gap(m, k, c.X, c.R)
        set_contact(m, k, g, normal, center)


@part
def update_shapes(m, k):
    """Set the same as `update_contact`, of two shapes, as if they were open: what steps take of a
    closed pair is that of `hold`.
    """
    g, normal, point = shape_gap(m, k, c.X, c.R, _ORIGIN)
    set_contact(m, k, g, normal, point)
    arena.pairs(m)[k].up_to_date = 0.0


@inlined
def set_contact(m, k, g, normal, center):
    """Set what follows from the gap and the normal of pair k."""
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    T = vec.frame(normal)
    pairs[k].gap = g
    s, t = pairs[k].u_last[0], pairs[k].u_last[1]
    if s != 0.0 or t != 0.0:  # the tangents of `frame` spin about a normal that turns
        _, t1, t2 = vec.turn_frame(matrix_of(pairs[k].frame), normal)
        pairs[k].u_last[0] = s * vec.dot(t1, T[1]) + t * vec.dot(t2, T[1])
        pairs[k].u_last[1] = s * vec.dot(t1, T[2]) + t * vec.dot(t2, T[2])
    set_matrix(pairs[k].frame, T)
    point = vec.axpy(-pairs[k].radius, normal, center)
    W = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for side in range(2):
        i = integers[k, c.A + side]
        if i == c.WORLD:
            set_vector(pairs[k].on[side], point)
            continue
        R = get9(bodies, i, c.R)
        p = vec.transposed_matvec(R, vec.sub(point, get(bodies, i, c.X)))
        set_vector(pairs[k].on[side], p)
        S = lever(p, R, T[0]), lever(p, R, T[1]), lever(p, R, T[2])
        set_matrix(pairs[k].levers[side], S)
        im, ij = get(bodies, i, c.IM), get(bodies, i, c.IJ)
        W = (
            own_row(W[0], T, S, im, ij, 0),
            own_row(W[1], T, S, im, ij, 1),
            own_row(W[2], T, S, im, ij, 2),
        )
    set_matrix(pairs[k].W, W)


@inlined
def lever(p, R, direction):
    """Return p x R^T t, the torque [body] of a unit impulse along t at p."""
    return vec.cross(p, vec.transposed_matvec(R, direction))


@inlined
def own_row(row, T, S, im, ij, r):
    """Return row r of W plus T_r M^-1 T^T + S_r J^-1 S^T of one body."""
    t, s = vec.times(im, T[r]), vec.times(ij, S[r])
    return vec.add(row, vec.add(vec.matvec(T, t), vec.matvec(S, s)))


@inlined
def push(m, k, impulse, on_x, on_w):
    """Add the impulse of pair k, in its frame, to the columns on_x, on_w of its bodies."""
    apply(m, k, impulse, on_x, on_w, False)


@inlined
def accelerate(m, k, impulse):
    """Add to U_X, U_W what the impulse of pair k gives its bodies, without the joints."""
    apply(m, k, impulse, c.U_X, c.U_W, True)


@inlined
def apply(m, k, impulse, on_x, on_w, as_velocity):
    """Add the impulse of pair k to columns of its bodies, or the velocities that it gives them."""
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    force = vec.transposed_matvec(matrix_of(pairs[k].frame), impulse)
    for side in range(2):
        i = integers[k, c.A + side]
        if i != c.WORLD:
            x = vec.scale(1.0 if side == 0 else -1.0, force)
            w = vec.transposed_matvec(matrix_of(pairs[k].levers[side]), impulse)
            w = vec.scale(1.0 if side == 0 else -1.0, w)
            if as_velocity:
                x, w = vec.times(get(bodies, i, c.IM), x), vec.times(get(bodies, i, c.IJ), w)
            arena.add(bodies, i, on_x, x)
            arena.add(bodies, i, on_w, w)


@inlined
def velocity(m, k):
    """Return the velocity u of pair k, in its frame, for the velocities in U_X, U_W."""
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    a, b = integers[k, c.A], integers[k, c.B]
    v, u = get(bodies, a, c.U_X), vec.matvec(matrix_of(pairs[k].levers[0]), get(bodies, a, c.U_W))
    if b != c.WORLD:
        v = vec.sub(v, get(bodies, b, c.U_X))
        u = vec.sub(u, vec.matvec(matrix_of(pairs[k].levers[1]), get(bodies, b, c.U_W)))
    return vec.add(vec.matvec(matrix_of(pairs[k].frame), v), u)


@part
def set_mean_velocities(m, h, full):
    """Set `u` to the mean velocities of the active pairs over the step: gap over h, and the
    tangents' shift over h (M.15).

    An overlap at the start is taken back as fast as a step of the length `full` would, and a gap
    up to `TOUCHING` is closed no faster: in a short part its contact would not carry.
    """
    rate, left = 1.0 / h, 1.0 - h / full  # of the gap
    near = TOUCHING * arena.clock(m)[c.LENGTH]
    arena.clock(m)[c.TRAVEL] = 0.0
    bodies, pairs, integers, active = (
        arena.bodies(m),
        arena.pairs(m),
        arena.pair_integers(m),
        arena.active(m),
    )
    for at in range(arena.counters(m)[c.ACTIVE]):
        k = active[at]
        a, b = integers[k, c.A], integers[k, c.B]
        on_b = locate(bodies, b, vector_of(pairs[k].on[1]), c.X_1, c.R_1)
        if integers[k, c.KIND] > c.BALLS:
            d = vec.sub(locate(bodies, a, vector_of(pairs[k].on[0]), c.X_1, c.R_1), on_b)
            g, point = end_gap(m, k, d)
        else:
            g, normal, center = gap(m, k, c.X_1, c.R_1)
            point = vec.axpy(-pairs[k].radius, normal, center)
            d = vec.sub(center, on_b)
        if can_roll(pairs, integers, k):
            d = contact_displacement(bodies, a, vector_of(pairs[k].on[0]), point)
            d = vec.sub(d, contact_displacement(bodies, b, vector_of(pairs[k].on[1]), point))
            note_travel(m, k, point)
        pairs[k].gap_1 = g
        is_level = integers[k, c.KIND] > c.BALLS and pairs[k].gap <= near
        over = pairs[k].gap - pairs[k].slack
        keep = pairs[k].slack + left * (over if is_level else min(over, 0.0))
        s = rate * vec.dot(matrix_of(pairs[k].frame)[1], d)
        t = rate * vec.dot(matrix_of(pairs[k].frame)[2], d)
        pairs[k].u_now[0], pairs[k].u_now[1] = s, t
        set_vector(pairs[k].u, (rate * (g - keep), s + pairs[k].shift[0], t + pairs[k].shift[1]))


@inlined
def note_travel(m, k, point):
    """Increase TRAVEL to how far `point`, where the rim of pair k touches a plane or a face at the
    end, is along the rim from where it was [radii], as seen by the cylinder or by the world,
    whichever sees less: 0 for a wheel that rolls. As a cylinder comes flat that is half a turn in
    no time.
    """
    shapes, kind = arena.pair_shapes(m), arena.pair_integers(m)[k, c.KIND]
    if kind != features.RIM and kind != cylinders.RIM_FACE:
        return
    side = 1 if kind != features.RIM and shapes[k, 2] & cylinders.SWAPPED != 0 else 0
    i, p = arena.pair_integers(m)[k, c.A + side], vector_of(arena.pairs(m)[k].on[side])
    x, R = arena.pose(m, i, c.X_1, c.R_1)
    lever, turned = vec.sub(point, x), vec.matvec(arena.pose(m, i, c.X, c.R)[1], p)
    in_body = vec.norm(vec.sub(vec.transposed_matvec(R, lever), p))
    way = min(in_body, vec.norm(vec.sub(lever, turned)))
    way /= arena.geoms(m)[shapes[k, side], features.HALF]
    arena.clock(m)[c.TRAVEL] = max(arena.clock(m)[c.TRAVEL], way)


@part
def smallest(m, x, R):
    """Return the smallest gap of the open pairs, over what they overlapped by when they parted;
    1e300 without any.
    """
    if len(arena.geoms(m)) > 0:
        return smallest_of_shapes(m, x, R)
    least, pairs, integers = 1e300, arena.pairs(m), arena.pair_integers(m)
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] == 0:
            least = min(least, gap(m, k, x, R)[0] - pairs[k].slack)
    return least


@part
def smallest_of_shapes(m, x, R):
    """Return the same as `smallest`, with pairs of any kind. No gap closes faster than its bodies
    move: those of shapes that were wider are not computed before they have come that far.
    """
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    for i in range(len(bodies)):
        bodies[i, c.STEP_WAY] = way(bodies, i) if x == c.X_1 else 0.0
    least, bound, unit = 1e300, 1e300, arena.clock(m)[c.LENGTH]
    for k in range(len(pairs)):
        if integers[k, c.CLOSED] != 0:
            continue
        if integers[k, c.KIND] <= c.BALLS:
            least = min(least, gap(m, k, x, R)[0] - pairs[k].slack)
            continue
        before, step = ways(m, k)
        is_far = before + step < pairs[k].clearance
        if is_far and integers[k, c.KIND] != features.RIM:  # a plane reaches farther than its body
            bound = min(bound, pairs[k].clearance - before - step)
            continue
        g = shape_gap(m, k, x, R, _ORIGIN)[0]
        if g > FAR * unit:
            pairs[k].clearance = before + clearance(m, k, x, R, g) - step - JUMP * unit
        least = min(least, g - pairs[k].slack)
    return least if least < 1e300 else bound


@part
def clearance(m, k, x, R, g):
    """Return how far the bodies of pair k of two shapes, whose gap is g, can move before it closes
    [m].
    """
    pairs, integers, shapes = arena.pairs(m), arena.pair_integers(m), arena.pair_shapes(m)
    kind = integers[k, c.KIND]
    if kind != features.EDGES and kind < cylinders.LATERAL:
        return g
    A, B = arena.pose(m, integers[k, c.A], x, R), arena.pose(m, integers[k, c.B], x, R)
    i, j, feature = shapes[k, 0], shapes[k, 1], shapes[k, 2]
    return cylinders.apart(arena.geoms(m), kind, i, j, feature, A, B, pairs[k].offset)


@inlined
def ways(m, k):
    """Return (until the node, in the step) the ways of both bodies of pair k together [m]."""
    bodies, integers, before, step = arena.bodies(m), arena.pair_integers(m), 0.0, 0.0
    for side in range(2):
        i = integers[k, c.A + side]
        if i != c.WORLD:
            before += bodies[i, c.WAY]
            step += bodies[i, c.STEP_WAY]
    return before, step
