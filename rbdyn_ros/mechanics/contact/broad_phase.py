"""The broad phase: which shapes are near each other, by sweep and prune over their boxes along the
world's axes.

Every shape can touch every other one of another body, if no joint links the two, and planes. Pairs
of shapes are tested where their boxes meet, widened by how far their bodies move in the step.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9, put, put9
from rbdyn_ros.mechanics.contact import manifold, slots
from rbdyn_ros.mechanics.contact.pairs import STILL
from rbdyn_ros.mechanics.smooth import way
from rbdyn_ros.mechanics.turn import product_transposed

WIDER = 1.25  # times the way of a body: where a contact may begin within the step
LEAST = 1e-4  # [LENGTH]


@part
def place(m, is_end):
    """Set centers and axes of the shapes in the world, and their widened boxes."""
    bodies, rows, integers = arena.bodies(m), arena.colliders(m), arena.collider_integers(m)
    least = LEAST * arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        bodies[i, c.STEP_WAY] = way(bodies, i)
    for i in range(len(rows)):
        body = integers[i, c.BODY_OF]
        at, turned = slots.pose_at(m, body, is_end)
        center = vec.add(at, vec.matvec(turned, get(rows, i, c.PLACE_IN)))
        # rows: the axes of the shape in the world
        axes = product_transposed(get9(rows, i, c.AXES_IN), turned)
        put(rows, i, c.CENTER, center)
        put9(rows, i, c.AXES, axes)
        more = rows[i, c.ROUND]
        if body != c.WORLD and not is_end:
            more += WIDER * bodies[body, c.STEP_WAY] + 0.5 * least
        for k in range(3):
            reach = more
            for l in range(3):
                reach += rows[i, c.EXTENT + l] * abs(axes[l][k])
            rows[i, c.LOW + k], rows[i, c.HIGH + k] = center[k] - reach, center[k] + reach


@part
def sort(m):
    """Sort the shapes by the low ends of their boxes, from the order of the last step."""
    rows, integers = arena.colliders(m), arena.collider_integers(m)
    for k in range(1, len(rows)):
        i = integers[k, c.ORDER]
        at = k
        while at > 0 and rows[integers[at - 1, c.ORDER], c.LOW] > rows[i, c.LOW]:
            integers[at, c.ORDER] = integers[at - 1, c.ORDER]
            at -= 1
        integers[at, c.ORDER] = i


@inlined
def moved(bodies, i, is_end, unit):
    """Return how far body i has moved since its contacts were aimed, or in this step [m], its
    turns counted times `unit`.
    """
    if i == c.WORLD:
        return 0.0
    if not is_end:
        return bodies[i, c.DRIFT]
    step = vec.size(vec.sub(get(bodies, i, c.X_1), get(bodies, i, c.X)))
    return step + unit * vec.size(get(bodies, i, c.V))


@inlined
def can_move(bodies, i):
    """Return whether body i is neither of the world nor held."""
    return i != c.WORLD and bodies[i, c.TURNS] + vec.size(get(bodies, i, c.IM)) > 0.0


@part
def are_joined(m, a, b):
    """Return whether a joint links two bodies: those do not collide."""
    bodies, joints = arena.bodies(m), arena.block_integers(m)
    if a == c.WORLD or b == c.WORLD or bodies[a, c.JOINTED] * bodies[b, c.JOINTED] == 0.0:
        return False
    for k in range(len(joints)):
        one, other = joints[k, c.A], joints[k, c.B]
        if one == a and other == b or one == b and other == a:
            return True
    return False


@part
def meet(m, i, j, limit, is_end):
    """Find the contacts of shapes i and j, if they can have any, at the end with gaps below
    `limit`; return how many were found.
    """
    bodies, integers = arena.bodies(m), arena.collider_integers(m)
    a, b = integers[i, c.BODY_OF], integers[j, c.BODY_OF]
    if a == b or not (can_move(bodies, a) or can_move(bodies, b)) or are_joined(m, a, b):
        return 0
    unit = arena.clock(m)[c.LENGTH]
    most = max(moved(bodies, a, is_end, unit), moved(bodies, b, is_end, unit))
    if most <= STILL * unit:
        if slots.keep(m, i, j) > 0:
            return 0
    if not is_end:
        limit = LEAST * unit
        limit += WIDER * bodies[a, c.STEP_WAY] if a != c.WORLD else 0.0
        limit += WIDER * bodies[b, c.STEP_WAY] if b != c.WORLD else 0.0
    return manifold.touch(m, i, j, limit, is_end)


@inlined
def is_apart(rows, i, j, k):
    """Return whether the boxes about shapes i and j are apart along axis k."""
    if rows[j, c.LOW + k] > rows[i, c.HIGH + k]:
        return True
    return rows[j, c.HIGH + k] < rows[i, c.LOW + k]


@part
def find_contacts(m, limit, is_end):
    """Make contacts for all shapes that are near each other at the node; or, at the end of the
    step, close those whose gap there is below `limit`. Return how many were found.
    """
    rows, integers, count = arena.colliders(m), arena.collider_integers(m), arena.counters(m)
    n, found = len(rows), 0
    place(m, is_end)
    if not is_end:
        count[c.STAMP] += 1
    sort(m)
    for at in range(n):
        i = integers[at, c.ORDER]
        if integers[i, c.SHAPE] == c.PLANE_SHAPE:
            for j in range(n):
                if integers[j, c.SHAPE] != c.PLANE_SHAPE:
                    found += meet(m, j, i, limit, is_end)
            continue
        for next_one in range(at + 1, n):
            j = integers[next_one, c.ORDER]
            if rows[j, c.LOW] > rows[i, c.HIGH]:
                break
            if integers[j, c.SHAPE] == c.PLANE_SHAPE:
                continue
            if is_apart(rows, i, j, 1) or is_apart(rows, i, j, 2):
                continue
            found += meet(m, i, j, limit, is_end)
    if not is_end:
        slots.release_unseen(m)
    return found
