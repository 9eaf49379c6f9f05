"""Contacts of a cylinder with a plane, a box or another cylinder, for the direction along which
they are nearest (doc/nonsmooth.md, M.33b).

    lying on a face        both ends of the line of its side that is lowest, clipped to the face
    standing on a face     what its end and the face have in common: four points of its rim,
                           corners of a face inside of it, crossings; of two ends
                           four points of the lens; the lowest point of its rim if it leans
    else                   the nearest points of two lines, edges or rims; both ends of what lines
                           side by side have in common
"""

from math import atan2, pi, sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get
from rbdyn_ros.mechanics.contact import slots
from rbdyn_ros.mechanics.contact.cylinder_axes import END_I, LINES, search
from rbdyn_ros.mechanics.description.features import nearest

INSIDE = 1e-8  # [LENGTH] by which a point may be outside of a face and still belong to it
STANDS = 0.7  # a cosine: above it an end looks at the face, below it the side
FLAT, LEANS = 1e-2, 1e-7  # sines: faces whose whole common area may touch; with a lowest point
CENTERED = 1e-9  # [LENGTH] between axes whose direction from each other means nothing
LIES, EDGE = 1e-3, 1e-7  # cosines between n and a line that is normal to it
SIDE_BY_SIDE = 1e-6  # of sin^2 between lines
BESIDE = 1e-6  # [LENGTH] by which the nearest points of two lines may be off the direction n
# numbers of contacts; a rim that turns has one lowest point at the node, others at the end of the
# step, of which each SECTOR of the rim keeps one
LOWEST, FIRST, CORNERS, LOWEST_AT_END, SECTORS = 2, 3, 8, 16, 16


@part
def on_cylinder(m, i, j, limit, is_end):
    """Find the contacts of box or cylinder i and cylinder j, on a face or, where nothing lies over
    that, on lines; return how many.
    """
    _, apart, axis, n, most = search(m, i, j, limit, (0.0, 0.0, 0.0))
    if most >= limit:
        return 0
    found = 0
    if axis != LINES:
        found = on_nearest_face(m, i, j, axis, n, limit, is_end)
        if found == 0:
            _, apart, axis, n, most = search(m, i, j, limit, n)
    return found if found > 0 else lines(m, i, j, (apart, n), limit, is_end)


@part
def on_nearest_face(m, i, j, axis, n, limit, is_end):
    """Find the contacts of box or cylinder i and cylinder j on the face of one of them along n;
    return how many.
    """
    down = vec.scale(-1.0, n)
    if axis <= END_I:
        return on_face(m, j, i, axis, down, limit, is_end)
    if arena.collider_integers(m)[i, c.SHAPE] == c.BOX_SHAPE:
        return disk_and_rectangle(m, i, j, axis, n, limit, is_end)
    return on_face(m, i, j, axis, n, limit, is_end)


@inlined
def face_point(m, j, axis, n):
    """Return a point of the face of j along n: a plane, side `axis` of a box, the end of a
    cylinder.
    """
    rows, shape = arena.colliders(m), arena.collider_integers(m)[j, c.SHAPE]
    center = get(rows, j, c.CENTER)
    if shape == c.PLANE_SHAPE:
        return center
    return vec.axpy(rows[j, c.EXTENT + (axis if shape == c.BOX_SHAPE else 2)], n, center)


@part
def clip(m, j, axis, a, b):
    """Return (t_0, t_1) of the part of the segment from a to b that is over the face of j; t_0 >
    t_1 if there is none.
    """
    rows, shape = arena.colliders(m), arena.collider_integers(m)[j, c.SHAPE]
    inside = INSIDE * arena.clock(m)[c.LENGTH]
    if shape == c.PLANE_SHAPE:
        return 0.0, 1.0
    is_box = shape == c.BOX_SHAPE
    e, f = ((axis + 1) % 3, (axis + 2) % 3) if is_box else (0, 1)
    low, high, along, from_center = 0.0, 1.0, vec.sub(b, a), vec.sub(a, get(rows, j, c.CENTER))
    u, v = get(rows, j, c.AXES + 3 * e), get(rows, j, c.AXES + 3 * f)
    x, y, p, q = (
        vec.dot(from_center, u),
        vec.dot(from_center, v),
        vec.dot(along, u),
        vec.dot(along, v),
    )
    if not is_box:
        r = rows[j, c.EXTENT] + inside
        square, half, over = p * p + q * q, x * p + y * q, x * x + y * y - r * r
        root = half * half - square * over
        if square <= inside * inside:
            return (0.0, 1.0) if over <= 0.0 else (1.0, 0.0)
        if root < 0.0:
            return 1.0, 0.0
        root = sqrt(root)
        return max(low, (-half - root) / square), min(high, (-half + root) / square)
    for k in range(2):
        at, rate = (x, p) if k == 0 else (y, q)
        most = rows[j, c.EXTENT + (e if k == 0 else f)] + inside
        if abs(rate) <= inside:
            if abs(at) > most:
                return 1.0, 0.0
        else:
            one, two = (-most - at) / rate, (most - at) / rate
            low, high = max(low, min(one, two)), min(high, max(one, two))
    return low, high


@inlined
def interpolate(a, b, t):
    """Return a + t (b - a), exact at both ends."""
    return a if t <= 0.0 else b if t >= 1.0 else vec.axpy(t, vec.sub(b, a), a)


@part
def offer_point(m, i, j, number, on_i, on_j, limit, is_end):
    """Record the point of shape i and the radius rho of the shape there, `on_i` = (w, rho), on the
    face of j, `on_j` = (point, normal n); return how many that is.
    """
    (w, rho), n = on_i, on_j[1]
    gap = vec.dot(n, vec.sub(w, on_j[0]))
    if gap >= limit:
        return 0
    touch = vec.axpy(rho, n, w), n, vec.axpy(-gap, n, w), rho
    slots.offer(m, i, j, number, touch, is_end)
    return 1


@part
def on_face(m, i, j, axis, n, limit, is_end):
    """Find the contacts of cylinder i on the face of j along n: a plane, side `axis` of a box, the
    end of a cylinder; return how many.
    """
    rows, first = arena.colliders(m), slots.AXIS * axis
    z, center, r, h = (
        get(rows, i, c.AXES + 6),
        get(rows, i, c.CENTER),
        rows[i, c.EXTENT],
        rows[i, c.EXTENT + 2],
    )
    up = vec.dot(n, z)
    down = vec.axpy(up, z, vec.scale(-1.0, n))
    lean, on_j = vec.norm(down), (face_point(m, j, axis, n), n)
    down, rho = vec.unit(down, get(rows, i, c.AXES)), r * lean
    if abs(up) < STANDS:
        rim = vec.axpy(r, down, center)
        a, b = vec.axpy(-h, z, rim), vec.axpy(h, z, rim)
        low, high = clip(m, j, axis, a, b)
        if low > high:
            return 0
        found = offer_point(m, i, j, first, (interpolate(a, b, low), rho), on_j, limit, is_end)
        if high > low:
            w = interpolate(a, b, high)
            found += offer_point(m, i, j, first + 1, (w, rho), on_j, limit, is_end)
        return found
    found = 0
    if lean < FLAT:
        shape = arena.collider_integers(m)[j, c.SHAPE]
        if shape == c.CYLINDER_SHAPE:
            found = lens(m, i, j, axis, n, limit, is_end)
        else:
            found = disk_and_rectangle(m, i, j, axis, n, limit, is_end)
    if lean > LEANS:
        w = vec.axpy(r, down, vec.axpy(-h if up > 0.0 else h, z, center))
        low, high = clip(m, j, axis, w, w)
        if low <= high:
            number = first + LOWEST
            if is_end:
                x, y = vec.dot(down, get(rows, i, c.AXES)), vec.dot(down, get(rows, i, c.AXES + 3))
                turned = 0.5 + 0.5 * atan2(y, x) / pi
                number = first + LOWEST_AT_END + int(SECTORS * turned) % SECTORS
            found += offer_point(m, i, j, number, (w, rho), on_j, limit, is_end)
    return found


@inlined
def onto(p, on_i, on_j):
    """Return the point of the face of i = (point, normal) over p, along the normal of the face of
    j.
    """
    n, other = on_j[1], on_i[1]
    return vec.axpy(vec.dot(vec.sub(on_i[0], p), other) / vec.dot(n, other), n, p)


@inlined
def end_of(m, i, n):
    """Return (center, axis) of the end of cylinder i on the side of n."""
    rows = arena.colliders(m)
    z, h = get(rows, i, c.AXES + 6), rows[i, c.EXTENT + 2]
    return vec.axpy(h if vec.dot(z, n) > 0.0 else -h, z, get(rows, i, c.CENTER)), z


@inlined
def aligned_axis(m, i, n):
    """Return the axis of box i that is nearest to n."""
    rows, best, most = arena.colliders(m), 0, -1.0
    for l in range(3):
        size = abs(vec.dot(get(rows, i, c.AXES + 3 * l), n))
        if size > most:
            best, most = l, size
    return best


@part
def disk_and_rectangle(m, i, j, axis, n, limit, is_end):
    """Find the contacts of the end of a cylinder and the face of a box, or a plane, one on the
    other: the corners of what they have in common; return how many. n points out of j; `axis` is
    that of a box j.
    """
    rows, shapes = arena.colliders(m), arena.collider_integers(m)
    disk = i if shapes[i, c.SHAPE] == c.CYLINDER_SHAPE else j
    other, k, down, first, found = i + j - disk, axis, vec.scale(-1.0, n), slots.AXIS * axis, 0
    if disk == j:
        k = aligned_axis(m, i, n)
    end, z = end_of(m, disk, down if disk == i else n)
    out = n
    if disk == j:
        out = get(rows, i, c.AXES + 3 * k)
        out = out if vec.dot(out, down) > 0.0 else vec.scale(-1.0, out)
    face = face_point(m, other, k, out), out
    on_i, on_j = ((end, z), face) if disk == i else (face, (end, n))
    r = rows[disk, c.EXTENT]
    if abs(vec.dot(z, out)) > sqrt(1.0 - FLAT * FLAT):
        for corner in range(4):
            side = get(rows, disk, c.AXES + 3 * (corner // 2))
            p = vec.axpy(r if corner % 2 == 0 else -r, side, end)
            low, high = clip(m, other, k, p, p)
            if low <= high:
                number, w = first + FIRST + corner, onto(p, on_i, on_j)
                found += offer_point(m, i, j, number, (w, 0.0), on_j, limit, is_end)
    if shapes[other, c.SHAPE] == c.PLANE_SHAPE:
        return found
    e, f = (k + 1) % 3, (k + 2) % 3
    u = vec.scale(rows[other, c.EXTENT + e], get(rows, other, c.AXES + 3 * e))
    v = vec.scale(rows[other, c.EXTENT + f], get(rows, other, c.AXES + 3 * f))
    for edge in range(4):
        a = vec.add(face[0], vec.add(u, v))
        b = vec.add(face[0], vec.sub(v, u))
        low, high = clip(m, disk, 0, a, b)
        if low <= high:
            number = first + CORNERS + 2 * edge
            w = onto(interpolate(a, b, low), on_i, on_j)
            found += offer_point(m, i, j, number, (w, 0.0), on_j, limit, is_end)
            if high < 1.0:  # else the next edge begins there
                w = onto(interpolate(a, b, high), on_i, on_j)
                found += offer_point(m, i, j, number + 1, (w, 0.0), on_j, limit, is_end)
        u, v = vec.scale(-1.0, v), u
    return found


@part
def lens(m, i, j, axis, n, limit, is_end):
    """Find the contacts of the ends of two cylinders, flat on each other: the four extremes of
    what they share, along the line of their centers and across; return how many.
    """
    rows, first = arena.colliders(m), slots.AXIS * axis + FIRST
    unit = arena.clock(m)[c.LENGTH]
    on_i, on_j = end_of(m, i, vec.scale(-1.0, n)), (end_of(m, j, n)[0], n)
    d = vec.sub(on_i[0], on_j[0])
    d = vec.axpy(-vec.dot(d, n), n, d)
    apart, r, s = vec.norm(d), rows[i, c.EXTENT], rows[j, c.EXTENT]
    u = vec.scale(1.0 / apart, d) if apart > CENTERED * unit else get(rows, j, c.AXES)
    low, high, found = max(-s, apart - r), min(s, apart + r), 0
    if low > high:
        return 0
    if apart * apart + r * r <= s * s:
        at, side = apart, r
    elif apart * apart + s * s <= r * r + (INSIDE * unit) ** 2 or apart <= CENTERED * unit:
        at, side = 0.0, min(r, s)
    else:
        at = (apart * apart + s * s - r * r) / (2.0 * apart)
        side = sqrt(max(s * s - at * at, 0.0))
    v = vec.cross(n, u)
    for corner in range(4):
        x = low if corner == 0 else high if corner == 1 else at
        y = 0.0 if corner < 2 else side if corner == 2 else -side
        w = onto(vec.axpy(x, u, vec.axpy(y, v, on_j[0])), on_i, on_j)
        found += offer_point(m, i, j, first + corner, (w, 0.0), on_j, limit, is_end)
    return found


@part
def line_of(m, i, n):
    """Return (middle, direction, half length, radius) of what of i is furthest along n: an edge, a
    line of the side, or a point.
    """
    rows = arena.colliders(m)
    center, z, r = get(rows, i, c.CENTER), get(rows, i, c.AXES + 6), rows[i, c.EXTENT]
    if arena.collider_integers(m)[i, c.SHAPE] == c.CYLINDER_SHAPE:
        up, h = vec.dot(n, z), rows[i, c.EXTENT + 2]
        p = vec.axpy(r, vec.unit(vec.axpy(-up, z, n), get(rows, i, c.AXES)), center)
        if abs(up) < LIES:
            return p, z, h, r
        return vec.axpy(h if up > 0.0 else -h, z, p), z, 0.0, 0.0
    p, along, half = center, z, 0.0
    for l in range(3):
        axis, e = get(rows, i, c.AXES + 3 * l), rows[i, c.EXTENT + l]
        up = vec.dot(axis, n)
        if abs(up) < EDGE:
            along, half = axis, e
        else:
            p = vec.axpy(e if up > 0.0 else -e, axis, p)
    return p, along, half, 0.0


@part
def lines(m, i, j, best, limit, is_end):
    """Find the contacts of lines, edges and points of i and j that face each other; `best` = (s,
    n). Return how many.
    """
    apart, n = best
    first = slots.AXIS * LINES
    p, a, half_a, rho = line_of(m, i, vec.scale(-1.0, n))
    q, b, half_b, _ = line_of(m, j, n)
    r, cosine = vec.sub(p, q), vec.dot(a, b)
    if min(half_a, half_b) > 0.0 and 1.0 - cosine * cosine < SIDE_BY_SIDE:
        middle = -vec.dot(r, a)
        low, high, found = max(-half_a, middle - half_b), min(half_a, middle + half_b), 0
        for k in range(2 if low <= high else 0):
            w = vec.axpy(low if k == 0 else high, a, p)
            on_j = vec.axpy(vec.dot(vec.sub(w, q), b), b, q), n
            found += offer_point(m, i, j, first + k, (w, rho), on_j, limit, is_end)
        return found
    s, t = nearest(cosine, vec.dot(a, r), vec.dot(b, r), half_a, half_b)
    w, on_j = vec.axpy(s, a, p), (vec.axpy(t, b, q), n)
    off = vec.sub(w, on_j[0])
    off = vec.axpy(-vec.dot(off, n), n, off)
    if apart > 0.0 and vec.size(off) > BESIDE * arena.clock(m)[c.LENGTH]:
        return 0
    number = first + (3 if is_end else 2)
    return offer_point(m, i, j, number, (w, rho), on_j, limit, is_end)
