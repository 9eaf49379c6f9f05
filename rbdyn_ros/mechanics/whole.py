"""Whole steps, for heaps: impacts do not split them (doc/nonsmooth.md, M.31, M.32).

All pairs that would overlap at the end of a step obey the law of contacts that stay. What arrives
is stopped there, without restitution, and no overlap is left that would have to be given back as
speed. Pairs are looked at only if their bodies can have come near each other: the list of those is
made again when a body has moved as far as its margin allows.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena, smooth
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, put
from rbdyn_ros.mechanics.broad_phase import find_contacts
from rbdyn_ros.mechanics.pairs import any_gap, push
from rbdyn_ros.mechanics.smooth import way

PASSES = 15
AHEAD = 0.25  # of the way of the fastest body: pairs that near are closed, and may carry nothing
# at the end of a step that another pass takes back: [m], and of the longest way of a body
OVERLAP, OF_WAY = 1e-6, 5e-4
STEPS_AHEAD = 8.0  # of the fastest body, for which the list of near pairs holds
LEAST_MARGIN = 1e-3  # [m]


@part
def fastest(m):
    """The longest way of a body in the step [m]."""
    bodies, longest = arena.bodies(m), 0.0
    for i in range(len(bodies)):
        longest = max(longest, way(bodies, i))
    return longest


@part
def look_around(m, longest):
    """Find what can touch within the step, in which no body moves farther than `longest`."""
    if len(arena.colliders(m)) > 0:
        find_contacts(m, 0.0, False)
    list_near(m, longest)


@part
def list_near(m, longest):
    """Make the list of near pairs anew unless it holds until the end of the step."""
    clock = arena.clock(m)
    if 2.0 * (clock[c.MOVED] + longest) <= clock[c.MARGIN]:
        return
    bodies, integers, near = arena.bodies(m), arena.pair_integers(m), arena.near(m)
    bounds, n = arena.bounds(m), 0
    margin = 2.0 * STEPS_AHEAD * longest + LEAST_MARGIN
    for k in range(len(bounds)):
        is_near, b = True, integers[k, c.B]
        if bounds[k] >= 0.0:
            a = integers[k, c.A]
            reach = bounds[k] + margin
            x = bodies[a, c.X] - bodies[b, c.X]
            y = bodies[a, c.X + 1] - bodies[b, c.X + 1]
            z = bodies[a, c.X + 2] - bodies[b, c.X + 2]
            is_near = x * x + y * y + z * z <= reach * reach
        elif integers[k, c.KIND] == c.FACE and b == c.WORLD:
            is_near = any_gap(m, k, c.X, c.R) <= margin
        if is_near:
            near[n] = k
            n += 1
    arena.counters(m)[c.NEAR] = n
    clock[c.MARGIN], clock[c.MOVED] = margin, 0.0


@inlined
def count_near(m):
    """The near pairs and the taken slots."""
    return arena.counters(m)[c.NEAR] + arena.counters(m)[c.USED]


@inlined
def near_pair(m, at):
    """A near pair or that of a taken slot."""
    n = arena.counters(m)[c.NEAR]
    return arena.near(m)[at] if at < n else arena.used(m)[at - n]


@part
def foresee(m, h):
    """The end of the step with the impulses of the step before."""
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    smooth.load(m, h)
    smooth.clear_impulses(m)
    for at in range(count_near(m)):
        k = near_pair(m, at)
        if integers[k, c.CLOSED] != 0:
            push(m, k, get(pairs, k, c.LA), c.A_X, c.A_W)
    return smooth.move(m, h) >= 0


@part
def close(m, ahead, overlap):
    """Close the open pairs whose gap at the end of the step is below `ahead`; how many, with the
    closed ones whose gap is below `overlap`.
    """
    pairs, integers, found = arena.pairs(m), arena.pair_integers(m), 0
    for at in range(count_near(m)):
        k = near_pair(m, at)
        gap = any_gap(m, k, c.X_1, c.R_1)
        if integers[k, c.CLOSED] != 0:
            found += 1 if gap < overlap else 0
        elif gap < ahead:
            integers[k, c.CLOSED] = 1
            put(pairs, k, c.LA, (0.0, 0.0, 0.0))
            pairs[k, c.U_P] = pairs[k, c.U_P + 1] = 0.0
            found += 1
    return found


@part
def close_all(m, longest):
    """Close what overlaps at the end of the step; how many contacts overlap there too much."""
    list_near(m, longest)
    overlap = -OVERLAP - OF_WAY * longest
    found = close(m, 0.0, overlap)
    return found + find_contacts(m, overlap, True) if len(arena.colliders(m)) > 0 else found
