"""Balls and capsules on capsules, boxes and cylinders: a rounded segment on a convex body
(doc/nonsmooth.md, M.33a).

The signed distance s of a convex body is convex along the segment c + t z: t* where s is least
follows from the sign of its slope. Where the gradient of s stays the same about t*, the segment
lies on a face or along a side, and both ends of that stretch touch. A point that is found at the
end of a step is a contact besides that of the node.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9
from rbdyn_ros.mechanics.contact import slots
from rbdyn_ros.mechanics.description.features import box_distance, cylinder_distance

HALVINGS = 48
ON_FACE = 1e-14  # squared difference of gradients [rad^2] of one face that ends
ALONG = 1e-8  # ... of a side or an edge that the segment is nearly parallel to
SHORT, SHORT_ALONG = 1e-6, 0.1  # of half the segment: a stretch that is a point
FLAT = 1e-14  # of a cosine: a gradient along an axis


@part
def distance(m, j, p):
    """Return (s, its gradient, whether it is normal to a flat face) of a point from collider j."""
    rows, axes = arena.colliders(m), get9(arena.colliders(m), j, c.AXES)
    q, half = vec.matvec(axes, vec.sub(p, get(rows, j, c.CENTER))), get(rows, j, c.EXTENT)
    shape, flat = arena.collider_integers(m)[j, c.SHAPE], 0.0
    if shape == c.CYLINDER_SHAPE:
        s, n = cylinder_distance(q, half)
        flat = abs(n[2])
    else:  # the core of a capsule is a box without width
        s, n = box_distance(q, half)
        if shape == c.BOX_SHAPE:
            flat = max(abs(n[0]), abs(n[1]), abs(n[2]))
    return s - rows[j, c.ROUND], vec.transposed_matvec(axes, n), flat > 1.0 - FLAT


@part
def nearest_place(m, i, j):
    """Return t* in [-h, h] of segment i where the distance from j is least."""
    rows = arena.colliders(m)
    center, z, h = get(rows, i, c.CENTER), get(rows, i, c.AXES + 6), rows[i, c.EXTENT + 2]
    low, high = -h, h
    for step in range(HALVINGS + 2 if h > 0.0 else 0):
        t = high if step == 0 else low if step == 1 else 0.5 * (low + high)
        slope = vec.dot(distance(m, j, vec.axpy(t, z, center))[1], z)
        if step == 0 and slope <= 0.0:
            return high
        if step == 1 and slope >= 0.0:
            return low
        if step > 1:
            low, high = (low, t) if slope > 0.0 else (t, high)
    return 0.5 * (low + high)


@part
def end_of_stretch(m, i, j, t, far, normal, most):
    """Return the place between t and `far` of segment i up to which the gradient is `normal`."""
    rows = arena.colliders(m)
    center, z, near = get(rows, i, c.CENTER), get(rows, i, c.AXES + 6), t
    at = far
    for _ in range(HALVINGS):
        off = vec.sub(distance(m, j, vec.axpy(at, z, center))[1], normal)
        if vec.dot(off, off) <= most:
            near = at
        else:
            far = at
        if near == far:
            break
        at = 0.5 * (near + far)
    return near


@part
def offer_at(m, i, j, number, t, limit, is_end):
    """Record the contact at place t of segment i if it is near; return how many that is."""
    rows = arena.colliders(m)
    p = vec.axpy(t, get(rows, i, c.AXES + 6), get(rows, i, c.CENTER))
    s, n, _ = distance(m, j, p)
    if s - rows[i, c.ROUND] >= limit:
        return 0
    slots.offer(m, i, j, number, (p, n, vec.axpy(-s, n, p), rows[i, c.ROUND]), is_end)
    return 1


@part
def segment(m, i, j, limit, is_end):
    """Find the contacts of a ball or a capsule i on a capsule, a box or a cylinder j; return how
    many.
    """
    rows = arena.colliders(m)
    z, h = get(rows, i, c.AXES + 6), rows[i, c.EXTENT + 2]
    center = get(rows, i, c.CENTER)
    if distance(m, j, center)[0] - h - rows[i, c.ROUND] >= limit:
        return 0
    t = nearest_place(m, i, j)
    s, n, is_flat = distance(m, j, vec.axpy(t, z, center))
    if s - rows[i, c.ROUND] >= limit:
        return 0
    most = ON_FACE if is_flat else ALONG
    low, high = t, t
    if h > 0.0:
        low = end_of_stretch(m, i, j, t, -h, n, most)
        high = end_of_stretch(m, i, j, t, h, n, most)
    if high - low <= (SHORT if is_flat else SHORT_ALONG) * h:
        return offer_at(m, i, j, 3 if is_end else 2, t, limit, is_end)
    return offer_at(m, i, j, 0, low, limit, is_end) + offer_at(m, i, j, 1, high, limit, is_end)
