"""Rows of the table of pairs that shapes share: a contact takes one when it comes near, and gives
it back (doc/nonsmooth.md, M.33).

The slots of two shapes hang in a list at the shape with the lower number. A contact is known by
both shapes and its number; its impulse stays with it from step to step.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, put
from rbdyn_ros.mechanics.contact.pairs import pose

AXIS = 384  # numbers of the contacts along one axis of two boxes
NO_ROOM = 8


@inlined
def row_of(m, slot):
    """Return the pair of a slot."""
    return len(arena.pairs(m)) - len(arena.slots(m)) + slot


@inlined
def row_of_shapes(m, k):
    """Return the row of `touched` of the shapes of pair k, which is that of a slot."""
    shapes = arena.pair_shapes(m)
    return shapes[k, 0] + shapes[k, 1] * (shapes[k, 1] - 1) // 2


@inlined
def pose_at(m, i, is_end):
    """Return place and attitude of body i at the node, or at the end of the step."""
    return pose(m, i, c.X_1, c.R_1) if is_end else pose(m, i, c.X, c.R)


@inlined
def into(m, i, point, is_end):
    """Return a point of the world in body i."""
    at, R = pose_at(m, i, is_end)
    return vec.transposed_matvec(R, vec.sub(point, at))


@part
def find(m, i, j, number):
    """Return the slot of contact `number` between shapes i and j, -1 without one."""
    table, low, high = arena.slots(m), min(i, j), max(i, j)
    slot = arena.collider_integers(m)[low, c.HEAD]
    while slot >= 0:
        if table[slot, c.OTHER] == high and table[slot, c.NUMBER] == number:
            return slot
        slot = table[slot, c.NEXT]
    return -1


@part
def last_axis(m, i, j):
    """Return the axis of the contacts that shapes i < j have now, -1 without any."""
    table, slot = arena.slots(m), arena.collider_integers(m)[i, c.HEAD]
    while slot >= 0:
        if table[slot, c.OTHER] == j:
            return table[slot, c.NUMBER] // AXIS
        slot = table[slot, c.NEXT]
    return -1


@part
def keep(m, i, j):
    """Mark the contacts of shapes i and j as seen; return how many they are."""
    table, low, high = arena.slots(m), min(i, j), max(i, j)
    slot, count = arena.collider_integers(m)[low, c.HEAD], 0
    while slot >= 0:
        if table[slot, c.OTHER] == high:
            table[slot, c.SEEN] = arena.counters(m)[c.STAMP]
            count += 1
        slot = table[slot, c.NEXT]
    return count


@part
def take(m, i, j, number):
    """Take a free slot for a contact and return it, -1 if there is none."""
    table, heads, count = arena.slots(m), arena.collider_integers(m), arena.counters(m)
    slot, low = count[c.FREE], min(i, j)
    if slot < 0:
        count[c.FAILURE], count[c.WHERE] = NO_ROOM, 0
        return -1
    count[c.FREE] = table[slot, c.NEXT_FREE]
    table[slot, c.OTHER], table[slot, c.NUMBER] = max(i, j), number
    table[slot, c.NEXT], heads[low, c.HEAD] = heads[low, c.HEAD], slot
    shapes = arena.pair_shapes(m)
    shapes[row_of(m, slot), 0], shapes[row_of(m, slot), 1] = low, max(i, j)
    arena.used(m)[count[c.USED]] = row_of(m, slot)
    arena.saved_flags(m)[row_of(m, slot)] = 0
    count[c.USED] += 1
    return slot


@part
def offer(m, i, j, number, touch, is_end):
    """Record a contact, `touch` = (p, n, s, rho): a ball of radius rho at p of shape i, and the
    plane of shape j through s with the normal n. Return its pair, -1 without room.

    With `is_end` it is closed, for the bodies overlap there.
    """
    p, n, s, rho = touch
    slot, heads = find(m, i, j, number), arena.collider_integers(m)
    if slot < 0:
        slot = take(m, i, j, number)
        if slot < 0:
            return slot
    arena.slots(m)[slot, c.SEEN] = arena.counters(m)[c.STAMP]
    a, b = heads[i, c.BODY_OF], heads[j, c.BODY_OF]
    if a == c.WORLD:  # the first body of a pair is none of the world
        a, b = b, a
        p, s, n, rho = s, vec.axpy(-rho, n, p), vec.scale(-1.0, n), 0.0
    pairs, integers, rows = arena.pairs(m), arena.pair_integers(m), arena.colliders(m)
    k = row_of(m, slot)
    integers[k, c.KIND], integers[k, c.A], integers[k, c.B] = c.FACE, a, b
    normal = vec.transposed_matvec(pose_at(m, b, is_end)[1], n)
    put(pairs, k, c.CA, into(m, a, p, is_end))
    put(pairs, k, c.CB, normal)
    pairs[k, c.SIZE] = vec.dot(normal, into(m, b, s, is_end)) + rho
    pairs[k, c.RADIUS], pairs[k, c.MU] = rho, sqrt(rows[i, c.MU_OF] * rows[j, c.MU_OF])
    pairs[k, c.E] = max(rows[i, c.E_OF], rows[j, c.E_OF])
    pairs[k, c.AIMED], pairs[k, c.GAP] = 0.0, vec.dot(n, vec.sub(p, s)) - rho
    if is_end and integers[k, c.CLOSED] == 0:
        integers[k, c.CLOSED] = 1
        put(pairs, k, c.LA, (0.0, 0.0, 0.0))
        pairs[k, c.U_P] = pairs[k, c.U_P + 1] = 0.0
    return k


@part
def release(m, slot):
    """Give a slot back, but keep its impulses for its shapes."""
    pairs, integers, table = arena.pairs(m), arena.pair_integers(m), arena.slots(m)
    k, sums = row_of(m, slot), arena.touched(m)
    row, low = row_of_shapes(m, k), arena.pair_shapes(m)[k, 0]
    is_first = integers[k, c.A] == arena.collider_integers(m)[low, c.BODY_OF]
    sums[row, 0] += pairs[k, c.TOTAL]
    force = vec.scale(1.0 if is_first else -1.0, get(pairs, k, c.TOTAL + 1))
    arena.add(sums, row, 1, force)
    clear(m, k)
    table[slot, c.NEXT_FREE] = arena.counters(m)[c.FREE]
    arena.counters(m)[c.FREE] = slot


@part
def clear(m, k):
    """Make pair k one of the world with itself, which never touches."""
    pairs, integers = arena.pairs(m), arena.pair_integers(m)
    integers[k, c.KIND], integers[k, c.A], integers[k, c.B] = c.FACE, c.WORLD, c.WORLD
    integers[k, c.CLOSED] = 0
    for column in range(c.DESCRIBED):
        pairs[k, column] = 0.0
    pairs[k, c.SIZE] = -1.0


@part
def release_unseen(m):
    """Give back the slots of contacts that were not seen; make the list of the others."""
    heads, table, count, used = (
        arena.collider_integers(m),
        arena.slots(m),
        arena.counters(m),
        arena.used(m),
    )
    count[c.USED] = 0
    for i in range(len(heads)):
        before, slot = -1, heads[i, c.HEAD]
        while slot >= 0:
            after = table[slot, c.NEXT]
            if table[slot, c.SEEN] == count[c.STAMP]:
                used[count[c.USED]] = row_of(m, slot)
                count[c.USED] += 1
                before = slot
            else:
                if before < 0:
                    heads[i, c.HEAD] = after
                else:
                    table[before, c.NEXT] = after
                release(m, slot)
            slot = after


@part
def save(m, place):
    """Save the contacts in one of two places (`arena.copy_state`) for `restore`."""
    pairs, integers, sums = arena.pairs(m), arena.pair_integers(m), arena.touched(m)
    rows, links, table = arena.kept_contacts(m), arena.kept_links(m), arena.slots(m)
    used, o = arena.used(m), place * len(table)
    for at in range(arena.counters(m)[c.USED]):
        k = used[at]
        slot, row = k - row_of(m, 0), row_of_shapes(m, k)
        for column in range(c.DESCRIBED):
            rows[o, column] = pairs[k, column]
        for column in range(c.TOUCHED):
            rows[o, c.SUMS + column] = sums[row, column]
        for column in range(c.INTEGERS):
            links[o, c.INTEGERS_OF + column] = integers[k, column]
        for column in range(c.SEEN):
            links[o, c.SLOT_OF + column] = table[slot, column]
        links[o, c.PAIR_OF], links[o, c.LOW_OF] = k, arena.pair_shapes(m)[k, 0]
        o += 1
    copy_lists(m, place, True)


@part
def restore(m, place):
    """Go back to the contacts that were saved in a place: their slots, impulses and sums."""
    pairs, integers, sums = arena.pairs(m), arena.pair_integers(m), arena.touched(m)
    rows, links, table = arena.kept_contacts(m), arena.kept_links(m), arena.slots(m)
    used, shapes, o = arena.used(m), arena.pair_shapes(m), place * len(table)
    for at in range(arena.counters(m)[c.USED]):
        clear(m, used[at])
    copy_lists(m, place, False)
    for at in range(arena.counters(m)[c.USED]):
        k = links[o, c.PAIR_OF]
        slot, used[at] = k - row_of(m, 0), k
        for column in range(c.SEEN):
            table[slot, column] = links[o, c.SLOT_OF + column]
        shapes[k, 0], shapes[k, 1] = links[o, c.LOW_OF], table[slot, c.OTHER]
        row = row_of_shapes(m, k)
        for column in range(c.DESCRIBED):
            pairs[k, column] = rows[o, column]
        for column in range(c.TOUCHED):
            sums[row, column] = rows[o, c.SUMS + column]
        for column in range(c.INTEGERS):
            integers[k, column] = links[o, c.INTEGERS_OF + column]
        o += 1


@part
def copy_lists(m, place, to_saved):
    """Save or restore where the lists of slots begin. A step takes slots, and gives back only
    those that it has not taken: the list of the free ones stays. Several pieces of one can give
    back any, so for the start of all of them that list and the sums of all shapes are saved, too.
    """
    table, heads, count = arena.slots(m), arena.collider_integers(m), arena.counters(m)
    next_ones, firsts, at = arena.kept_next(m), arena.kept_heads(m), place * (len(heads) + 2)
    for i in range(len(heads)):
        if to_saved:
            firsts[at] = heads[i, c.HEAD]
        else:
            heads[i, c.HEAD] = firsts[at]
        at += 1
    if to_saved:
        firsts[at], firsts[at + 1] = count[c.FREE], count[c.USED]
    else:
        count[c.FREE], count[c.USED] = firsts[at], firsts[at + 1]
    if place == arena.AT_START:
        for slot in range(len(table)):
            if to_saved:
                next_ones[slot] = table[slot, c.NEXT_FREE]
            else:
                table[slot, c.NEXT_FREE] = next_ones[slot]
        arena.copy_columns(arena.touched(m), 0, c.TOUCHED, arena.kept_touched(m), 0, to_saved)
