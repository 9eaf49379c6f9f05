"""Contacts of two shapes: points of one of them on planes of the other, for one step
(doc/nonsmooth.md, M.33).

    ball on ball                  the line of the centers
    ball on box                   the plane through the nearest point of the box
    ball or box on plane          center or corners
    box on box                    the axis of the 15 along which they are apart most, or overlap
                                  least: the face of the other one clipped to a face, at most eight
                                  points; or the nearest points of two edges

A point belongs to the body `a`, the plane is carried by `b`. Each has a number, by which its
impulse is found again in the next step.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9, put
from rbdyn_ros.mechanics.contact import slots
from rbdyn_ros.mechanics.contact.cylinder_faces import on_cylinder, on_face
from rbdyn_ros.mechanics.contact.segments import segment
from rbdyn_ros.mechanics.description.features import box_distance, nearest

# [LENGTH] by which another axis must be better than the last one, and edges must be further apart
# than faces; an edge that comes to lie on a face, where both are equal, touches it at two points
SAME_AXIS, EDGE_AXIS = 1e-6, 2e-6
PARALLEL = 1e-6  # of sin^2 between edges that have no axis of their own
INSIDE = 1e-8  # [LENGTH] by which a corner may be outside of a face and still belong to it
NUMBERS = 64  # of points on a face of one box and a face of another


@part
def touch(m, i, j, limit, is_end):
    """Record where shapes i and j can touch, with gaps below `limit`, at the node or at the end of
    the step; return how many contacts were found.
    """
    integers = arena.collider_integers(m)
    if integers[i, c.SHAPE] > integers[j, c.SHAPE]:
        i, j = j, i
    first, second = integers[i, c.SHAPE], integers[j, c.SHAPE]
    if first == c.BALL_SHAPE and second == c.BALL_SHAPE:
        return balls(m, i, j, limit, is_end)
    if first == c.CYLINDER_SHAPE and second == c.PLANE_SHAPE:
        return on_face(m, i, j, 0, get(arena.colliders(m), j, c.AXES + 6), limit, is_end)
    if second == c.PLANE_SHAPE:
        return on_plane(m, i, j, limit, is_end)
    if first == c.BALL_SHAPE and second == c.BOX_SHAPE:
        return ball_on_box(m, i, j, limit, is_end)
    if first == c.BALL_SHAPE or first == c.CAPSULE_SHAPE:
        return segment(m, i, j, limit, is_end)
    if second == c.CYLINDER_SHAPE:
        return on_cylinder(m, i, j, limit, is_end)
    return boxes(m, min(i, j), max(i, j), limit, is_end)


@part
def balls(m, i, j, limit, is_end):
    """Find the contact of two balls; return how many."""
    rows = arena.colliders(m)
    d = vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER))
    rho = rows[i, c.ROUND] + rows[j, c.ROUND]
    if vec.norm(d) - rho >= limit:
        return 0
    n = vec.unit(d, (0.0, 0.0, 1.0))
    on_b = vec.axpy(rows[j, c.ROUND], n, get(rows, j, c.CENTER))
    touch = get(rows, i, c.CENTER), n, on_b, rows[i, c.ROUND]
    k = slots.offer(m, i, j, 0, touch, is_end)
    integers = arena.pair_integers(m)
    first = arena.collider_integers(m)[i, c.BODY_OF]
    if k >= 0 and integers[k, c.A] == first:  # the exact distance in place of a plane
        integers[k, c.KIND] = c.BALLS
        other = slots.into(m, integers[k, c.B], get(rows, j, c.CENTER), is_end)
        put(arena.pairs(m), k, c.CB, other)
        arena.pairs(m)[k, c.SIZE] = rho
    return 1


@part
def on_plane(m, i, j, limit, is_end):
    """Find the contacts of a ball, the ends of a capsule or the corners of a box on plane j;
    return how many.
    """
    rows, found = arena.colliders(m), 0
    n, at = get(rows, j, c.AXES + 6), get(rows, j, c.CENTER)
    center, rho = get(rows, i, c.CENTER), rows[i, c.ROUND]
    height = vec.dot(n, vec.sub(center, at)) - rho
    shape = arena.collider_integers(m)[i, c.SHAPE]
    for corner in range(8 if shape == c.BOX_SHAPE else 2 if shape == c.CAPSULE_SHAPE else 1):
        p = center
        if shape != c.BALL_SHAPE:
            for l in range(3):
                sign = 1.0 if corner >> l & 1 or shape == c.CAPSULE_SHAPE and corner else -1.0
                p = vec.axpy(sign * rows[i, c.EXTENT + l], get(rows, i, c.AXES + 3 * l), p)
        gap = height + vec.dot(n, vec.sub(p, center))
        if gap < limit:
            slots.offer(m, i, j, corner, (p, n, vec.axpy(-gap - rho, n, p), rho), is_end)
            found += 1
    return found


@part
def ball_on_box(m, i, j, limit, is_end):
    """Find the contact of ball i and the point of box j nearest to it; return how many."""
    rows = arena.colliders(m)
    center, axes = get(rows, i, c.CENTER), get9(rows, j, c.AXES)
    p = vec.matvec(axes, vec.sub(center, get(rows, j, c.CENTER)))
    s, inner = box_distance(p, get(rows, j, c.EXTENT))
    if s - rows[i, c.ROUND] >= limit:
        return 0
    n = vec.transposed_matvec(axes, inner)
    touch = center, n, vec.axpy(-s, n, center), rows[i, c.ROUND]
    slots.offer(m, i, j, 0, touch, is_end)
    return 1


@inlined
def width(rows, i, n):
    """Return half the width of box i along n."""
    total = 0.0
    for l in range(3):
        total += rows[i, c.EXTENT + l] * abs(vec.dot(get(rows, i, c.AXES + 3 * l), n))
    return total


@part
def boxes(m, i, j, limit, is_end):
    """Find the contacts of two boxes, i < j; return how many."""
    rows = arena.colliders(m)
    d = vec.sub(get(rows, i, c.CENTER), get(rows, j, c.CENTER))
    last, best, most, apart, normal = slots.last_axis(m, i, j), -1, -1e300, 0.0, d
    unit = arena.clock(m)[c.LENGTH]
    for k in range(15):
        if k < 3:
            n = get(rows, i, c.AXES + 3 * k)
        elif k < 6:
            n = get(rows, j, c.AXES + 3 * (k - 3))
        else:
            a = get(rows, i, c.AXES + 3 * ((k - 6) // 3))
            n = vec.cross(a, get(rows, j, c.AXES + 3 * ((k - 6) % 3)))
            square = vec.dot(n, n)
            if square < PARALLEL:
                continue
            n = vec.scale(1.0 / sqrt(square), n)
        along = vec.dot(d, n)
        gap = abs(along) - width(rows, i, n) - width(rows, j, n)
        if gap >= limit:
            return 0
        rank = gap + unit * ((SAME_AXIS if k == last else 0.0) - (EDGE_AXIS if k > 5 else 0.0))
        if rank > most:
            best, most, apart = k, rank, gap
            normal = n if along >= 0.0 else vec.scale(-1.0, n)
    if best > 5:
        return edges(m, i, j, best, normal, apart, is_end)
    if best > 2:
        return faces(m, i, j, best, normal, limit, is_end)
    return faces(m, j, i, best, vec.scale(-1.0, normal), limit, is_end)


@part
def edges(m, i, j, axis, n, apart, is_end):
    """Find the contact at the nearest points of the edge of box i that faces -n and that of j that
    faces n; return how many.
    """
    rows = arena.colliders(m)
    of_a, of_b = (axis - 6) // 3, (axis - 6) % 3
    p, s, number = get(rows, i, c.CENTER), get(rows, j, c.CENTER), 0
    for l in range(3):
        u, v = get(rows, i, c.AXES + 3 * l), get(rows, j, c.AXES + 3 * l)
        if l != of_a:
            up = vec.dot(u, n) < 0.0
            p = vec.axpy(rows[i, c.EXTENT + l] if up else -rows[i, c.EXTENT + l], u, p)
            number = 2 * number + (1 if up else 0)
        if l != of_b:
            up = vec.dot(v, n) > 0.0
            s = vec.axpy(rows[j, c.EXTENT + l] if up else -rows[j, c.EXTENT + l], v, s)
            number = 2 * number + (1 if up else 0)
    a, b = get(rows, i, c.AXES + 3 * of_a), get(rows, j, c.AXES + 3 * of_b)
    r = vec.sub(p, s)
    half_a, half_b = rows[i, c.EXTENT + of_a], rows[j, c.EXTENT + of_b]
    on_a, on_b = nearest(vec.dot(a, b), vec.dot(a, r), vec.dot(b, r), half_a, half_b)
    if apart > 0.0 and (abs(on_a) >= half_a or abs(on_b) >= half_b):
        return 0  # the lines pass each other outside of the edges
    p, s = vec.axpy(on_a, a, p), vec.axpy(on_b, b, s)
    slots.offer(m, i, j, slots.AXIS * axis + number, (p, n, s, 0.0), is_end)
    return 1


@part
def faces(m, i, j, axis, n, limit, is_end):
    """Find the contacts of the face of box i that is turned against n most, clipped to the face of
    box j along `axis`; return how many.
    """
    rows, l, most, k = arena.colliders(m), 0, -1.0, axis % 3
    for other in range(3):
        size = abs(vec.dot(get(rows, i, c.AXES + 3 * other), n))
        if size > most:
            l, most = other, size
    sign = -1.0 if vec.dot(get(rows, i, c.AXES + 3 * l), n) > 0.0 else 1.0
    e, f = (k + 1) % 3, (k + 2) % 3
    g, h = (l + 1) % 3, (l + 2) % 3
    center = get(rows, j, c.CENTER)
    middle = vec.sub(get(rows, i, c.CENTER), center)
    middle = vec.axpy(sign * rows[i, c.EXTENT + l], get(rows, i, c.AXES + 3 * l), middle)
    u = vec.scale(rows[i, c.EXTENT + g], get(rows, i, c.AXES + 3 * g))
    v = vec.scale(rows[i, c.EXTENT + h], get(rows, i, c.AXES + 3 * h))
    along, across = get(rows, j, c.AXES + 3 * e), get(rows, j, c.AXES + 3 * f)
    height, polygon = rows[j, c.EXTENT + k], arena.polygon(m)
    for corner in range(4):
        on_u, on_v = 1.0 if corner == 0 or corner == 3 else -1.0, 1.0 if corner < 2 else -1.0
        p = vec.add(middle, vec.axpy(on_u, u, vec.scale(on_v, v)))
        put(polygon, corner, 0, (vec.dot(p, along), vec.dot(p, across), vec.dot(p, n) - height))
        polygon[corner, 3] = polygon[corner, 4] = corner
    inside = INSIDE * arena.clock(m)[c.LENGTH]
    count = clip(polygon, rows[j, c.EXTENT + e], rows[j, c.EXTENT + f], inside)
    first = slots.AXIS * axis + NUMBERS * (2 * l + (1 if sign > 0.0 else 0))
    on_face, found = vec.axpy(height, n, center), 0
    for at in range(count):
        y, z, gap = get(polygon, at, 0)
        if gap < limit:
            p = vec.axpy(y, along, vec.axpy(z, across, vec.axpy(gap, n, on_face)))
            on_b = vec.axpy(-gap, n, p)
            slots.offer(m, i, j, first + int(polygon[at, 3]), (p, n, on_b, 0.0), is_end)
            found += 1
    return found


@part
def clip(polygon, first, second, inside):
    """Cut the four corners in `polygon` down to |x| <= first, |y| <= second, one side after the
    other (Sutherland and Hodgman), where those less far outside than `inside` stay; return how
    many corners are left.

    Rows: x, y, height, number, number of the edge to the next corner. The second half is a copy.
    """
    count, half = 4, len(polygon) // 2
    for side in range(4):
        column, most = side // 2, first if side < 2 else second
        sign, made = 1.0 if side % 2 == 0 else -1.0, 0
        for at in range(count):
            for k in range(5):
                polygon[half + at, k] = polygon[at, k]
        for at in range(count):
            p, q = half + at, half + (at + 1) % count
            over, next_over = sign * polygon[p, column] - most, sign * polygon[q, column] - most
            is_in, next_in = over <= inside, next_over <= inside
            if is_in:
                for k in range(5):
                    polygon[made, k] = polygon[p, k]
                made += 1
            if is_in != next_in:
                # the side itself lies behind a corner that only stays by `inside`
                t = min(max(over / (over - next_over), 0.0), 1.0)
                for k in range(3):
                    polygon[made, k] = polygon[p, k] + t * (polygon[q, k] - polygon[p, k])
                polygon[made, 3] = 8 + 8 * side + polygon[p, 4]
                polygon[made, 4] = 4 + side if is_in else polygon[p, 4]
                made += 1
        count = made
    return count
