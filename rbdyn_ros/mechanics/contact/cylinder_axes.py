"""The direction along which a cylinder and a box, or two cylinders, are apart most, or overlap
least (doc/nonsmooth.md, M.33b).

    s(n) = n . d - w_i(n) - w_j(n)
    w(n) = sum_l e_l |b_l . n|   or   h |z . n| + r |n - (z . n) z|

s has its largest value at the normal of a face, or where n is normal to two of the edges and axes,
to one of them (a rim, or a corner against a side), or to two rims. Each s(n) is a bound for the
distance from below, so that what a search misses is a contact that is found late, not a wrong one.
"""

from math import cos, pi, sin, sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get
from rbdyn_ros.mechanics.contact import slots
from rbdyn_ros.mechanics.description.features import sign

END_I, END_J, LINES = 3, 4, 5  # the axes that are none of a box's faces
SAME_AXIS, NO_FACE = 1e-6, 1e-6  # [LENGTH], see `manifold`
ONLY_BOUND = 1e3  # [LENGTH] by which a direction without contacts ranks lower
PARALLEL = 1e-12  # of sin^2
HALVINGS = 50
EDGE_OF_ARC = 1e-9  # [rad]
NEWTON, LONGEST = 20, 0.5  # iterations, and their longest step [rad]
CLOSE, SHORTER = 1e-15, 0.25  # [rad], [LENGTH]: steps that end them; of a step that was too long
TILT = 0.02  # [rad] from a face
UPRIGHT = 1e-9  # of a sine: a rim that has no lowest point


@part
def width(m, i, n):
    """Return half the width of box or cylinder i along n."""
    rows = arena.colliders(m)
    if arena.collider_integers(m)[i, c.SHAPE] == c.CYLINDER_SHAPE:
        z = get(rows, i, c.AXES + 6)
        up = vec.dot(z, n)
        return rows[i, c.EXTENT + 2] * abs(up) + rows[i, c.EXTENT] * vec.norm(vec.axpy(-up, z, n))
    total = 0.0
    for l in range(3):
        total += rows[i, c.EXTENT + l] * abs(vec.dot(get(rows, i, c.AXES + 3 * l), n))
    return total


@part
def slope(m, i, n, turn):
    """Return the change of the width of i as n turns toward `turn`."""
    rows = arena.colliders(m)
    if arena.collider_integers(m)[i, c.SHAPE] == c.CYLINDER_SHAPE:
        z = get(rows, i, c.AXES + 6)
        up, more = vec.dot(z, n), vec.dot(z, turn)
        across = vec.norm(vec.axpy(-up, z, n))
        round_part = rows[i, c.EXTENT] * up * more / across if across > 0.0 else 0.0
        return rows[i, c.EXTENT + 2] * sign(up) * more - round_part
    total = 0.0
    for l in range(3):
        axis = get(rows, i, c.AXES + 3 * l)
        total += rows[i, c.EXTENT + l] * sign(vec.dot(axis, n)) * vec.dot(axis, turn)
    return total


@part
def better(m, i, j, n, axis, more, best):
    """Return `best` = (rank, s, axis, n out of j, largest s so far), or that of direction n if its
    rank, s + more [LENGTH], is higher.
    """
    d = vec.sub(get(arena.colliders(m), i, c.CENTER), get(arena.colliders(m), j, c.CENTER))
    along = vec.dot(d, n)
    s = abs(along) - width(m, i, n) - width(m, j, n)
    widest = max(best[4], s)
    rank = s + more * arena.clock(m)[c.LENGTH]
    if rank > best[0]:
        return rank, s, axis, (n if along >= 0.0 else vec.scale(-1.0, n)), widest
    return best[0], best[1], best[2], best[3], widest


@part
def arc(m, i, j, a, b, span, best):
    """Return `best` with the largest s on the arc from a toward b that is `span` long, if it lies
    inside of it.
    """
    d = vec.sub(get(arena.colliders(m), i, c.CENTER), get(arena.colliders(m), j, c.CENTER))
    low, high, n = EDGE_OF_ARC, span - EDGE_OF_ARC, a
    for step in range(HALVINGS + 2):
        angle = low if step == 0 else high if step == 1 else 0.5 * (low + high)
        x, y = cos(angle), sin(angle)
        n, turn = vec.axpy(x, a, vec.scale(y, b)), vec.axpy(x, b, vec.scale(-y, a))
        rises = vec.dot(d, turn) - slope(m, i, n, turn) - slope(m, j, n, turn) > 0.0
        if step == 0 and not rises or step == 1 and rises:
            return best
        if step > 1:
            low, high = (angle, high) if rises else (low, angle)
    return better(m, i, j, n, LINES, -NO_FACE, best)


@part
def above_pole(m, i, j, apart, pole):
    """Return (n, whether s rises from there) near the axis `pole` of i, where s has a kink, in the
    direction in which it rises most, for rims of i and j whose centers are `apart`.
    """
    rows = arena.colliders(m)
    z = get(rows, j, c.AXES + 6)
    v = vec.axpy(-vec.dot(pole, z), z, pole)
    across = vec.norm(v)
    by_j = rows[j, c.EXTENT] / across if across > UPRIGHT else 0.0
    rise = vec.axpy(-by_j, v, apart)
    rise = vec.axpy(-vec.dot(rise, pole), pole, rise)
    n = vec.unit(vec.axpy(TILT, vec.unit(rise, z), pole), pole)
    return n, vec.norm(rise) > rows[i, c.EXTENT]


@part
def rims(m, i, j, of_i, of_j, face, best):
    """Return `best` with the direction between the rims at two ends (1.0 or -1.0 along their
    axes), by Newton's method. It starts near `face`, if that is not zero. Where it swings about
    the kink of s at an axis, it starts beyond those.
    """
    rows = arena.colliders(m)
    y, z = get(rows, i, c.AXES + 6), get(rows, j, c.AXES + 6)
    apart = vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER))
    apart = vec.axpy(-of_i * rows[i, c.EXTENT + 2], y, apart)
    apart = vec.axpy(-of_j * rows[j, c.EXTENT + 2], z, apart)
    n = vec.unit(apart, y)
    if vec.size(face) > 0.0:
        is_of_i = abs(vec.dot(face, y)) > abs(vec.dot(face, z))
        n = above_pole(m, i, j, apart, face)[0] if is_of_i else above_pole(m, j, i, apart, face)[0]
    for start in range(3):
        rises = True
        if start == 1:
            n, rises = above_pole(m, i, j, apart, vec.scale(of_i, y))
        elif start == 2:
            n, rises = above_pole(m, j, i, apart, vec.scale(of_j, z))
        if rises:
            n, is_found = between_rims(m, i, j, apart, n)
            best = better(m, i, j, n, LINES, -NO_FACE, best)
            if start == 0 and is_found:
                break
    return best


@part
def between_rims(m, i, j, apart, n):
    """Return (the direction between two rims whose centers are `apart`, whether it was found) by
    Newton's method on the sphere from n on.
    """
    rows = arena.colliders(m)
    y, z = get(rows, i, c.AXES + 6), get(rows, j, c.AXES + 6)
    before, step, highest = n, n, -1e300
    for _ in range(NEWTON):
        u, v = vec.axpy(-vec.dot(n, y), y, n), vec.axpy(-vec.dot(n, z), z, n)
        across_i, across_j = vec.norm(u), vec.norm(v)
        if across_i < UPRIGHT or across_j < UPRIGHT:
            return n, False
        by_i, by_j = rows[i, c.EXTENT] / across_i, rows[j, c.EXTENT] / across_j
        rise = vec.sub(apart, vec.axpy(by_i, u, vec.scale(by_j, v)))
        s = vec.dot(n, rise)
        if s < highest - CLOSE * arena.clock(m)[c.LENGTH]:
            step = vec.scale(SHORTER, step)
            n = vec.unit(vec.add(before, step), y)
            continue
        a, along = vec.scale(1.0 / across_i, vec.cross(y, u)), vec.cross(z, v)
        b = vec.cross(n, a)
        p, q = vec.dot(along, a) / across_j, vec.dot(along, b) / across_j
        # minus the second derivatives along a and b
        first, both, second = by_i + by_j * p * p + s, by_j * p * q, by_j * q * q + s
        det, on_a, on_b = first * second - both * both, vec.dot(rise, a), vec.dot(rise, b)
        if first > 0.0 and det > 0.0:
            on_a, on_b = (second * on_a - both * on_b) / det, (first * on_b - both * on_a) / det
        else:
            on_a, on_b = on_a / (by_i + by_j), on_b / (by_i + by_j)
        length = sqrt(on_a * on_a + on_b * on_b)
        shorter = min(1.0, LONGEST / length) if length > 0.0 else 0.0
        step = vec.add(vec.scale(shorter * on_a, a), vec.scale(shorter * on_b, b))
        before, highest, n = n, s, vec.unit(vec.add(n, step), y)
        if length < CLOSE:
            return n, True
    return n, False


@inlined
def bias(last, axis, face):
    """Return the advantage of a face over others if the contacts lie on it now; faces do not count
    where nothing lies on the nearest one.
    """
    return -ONLY_BOUND if vec.size(face) > 0.0 else SAME_AXIS if last == axis else 0.0


@part
def with_box(m, i, j, limit, best):
    """Return `best` with the directions between box i and cylinder j normal to no face."""
    rows = arena.colliders(m)
    z, d = get(rows, j, c.AXES + 6), vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER))
    for l in range(3):
        n = vec.cross(get(rows, i, c.AXES + 3 * l), z)
        square = vec.dot(n, n)
        if square > PARALLEL:
            best = better(m, i, j, vec.scale(1.0 / sqrt(square), n), LINES, -NO_FACE, best)
    if best[4] >= limit:
        return best
    for corner in range(8):
        p = d
        for l in range(3):
            e = rows[i, c.EXTENT + l] if corner >> l & 1 else -rows[i, c.EXTENT + l]
            p = vec.axpy(e, get(rows, i, c.AXES + 3 * l), p)
        n = vec.unit(vec.axpy(-vec.dot(p, z), z, p), d)
        if abs(vec.dot(n, z)) < 1e-9:
            best = better(m, i, j, n, LINES, -NO_FACE, best)
    if best[4] >= limit:
        return best
    for l in range(3):
        a, b = get(rows, i, c.AXES + 3 * ((l + 1) % 3)), get(rows, i, c.AXES + 3 * ((l + 2) % 3))
        for _ in range(4):
            best = arc(m, i, j, a, b, 0.5 * pi, best)
            a, b = b, vec.scale(-1.0, a)
    return best


@part
def with_cylinder(m, i, j, limit, face, best):
    """Return `best` with the directions between two cylinders that are normal to no end."""
    rows = arena.colliders(m)
    y, z = get(rows, i, c.AXES + 6), get(rows, j, c.AXES + 6)
    d, across = vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER)), vec.cross(y, z)
    square = vec.dot(across, across)
    for side in range(2):
        axis = y if side == 0 else z
        n = vec.unit(vec.axpy(-vec.dot(d, axis), axis, d), d)
        best = better(m, i, j, n, LINES, -NO_FACE if square <= PARALLEL else -ONLY_BOUND, best)
    if square > PARALLEL:
        across = vec.scale(1.0 / sqrt(square), across)
        best = better(m, i, j, across, LINES, -NO_FACE, best)
        if best[4] >= limit:
            return best
        for side in range(4):
            axis, turned = (y if side < 2 else z), (1.0 if side % 2 == 0 else -1.0)
            toward = vec.scale(turned, vec.cross(axis, across))
            best = arc(m, i, j, across, toward, pi, best)
    if best[4] >= limit:
        return best
    for ends in range(4):
        of_i, of_j = (1.0 if ends < 2 else -1.0), (1.0 if ends % 2 == 0 else -1.0)
        best = rims(m, i, j, of_i, of_j, face, best)
    return best


@part
def search(m, i, j, limit, face):
    """Return (rank, s, axis, n out of j, the largest s) for box or cylinder i and cylinder j; end
    early where a distance of `limit` or more is found on the way. face: zero, or the normal of the
    nearest face if nothing lies on it; then faces do not count.
    """
    rows, last = arena.colliders(m), slots.last_axis(m, min(i, j), max(i, j))
    is_box = arena.collider_integers(m)[i, c.SHAPE] == c.BOX_SHAPE
    z, d = get(rows, j, c.AXES + 6), vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER))
    best = better(m, i, j, z, END_J, bias(last, END_J, face), (-1e300, -1e300, -1, z, -1e300))
    best = better(m, i, j, vec.unit(d, z), LINES, -ONLY_BOUND, best)
    if best[4] >= limit:
        return best
    if is_box:
        for k in range(3):
            n = get(rows, i, c.AXES + 3 * k)
            best = better(m, i, j, n, k, bias(last, k, face), best)
        return best if best[4] >= limit else with_box(m, i, j, limit, best)
    best = better(m, i, j, get(rows, i, c.AXES + 6), END_I, bias(last, END_I, face), best)
    return best if best[4] >= limit else with_cylinder(m, i, j, limit, face, best)
