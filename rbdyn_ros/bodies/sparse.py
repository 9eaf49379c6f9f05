"""Block elimination along the graph of the joints: the order is planned once, in Python; the
numbers follow in kernels.

The matrix has 3x3 blocks, one for each pair of joint blocks that share a body, and fill-in where
joints close loops. A chain or a tree costs as much as it has joints.
"""

from typing import Any

import numpy as np

from rbdyn_ros.bodies import arena, turn
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get9, number, put, put9
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part


def plan(sides: list[tuple[int, ...]]) -> tuple[Any, ...]:
    """Return (blocks, gather, pivots, reach, updates) for joint blocks between the bodies `sides`
    [(a, b), ...], four where a row has two terms, by least degree.
    """
    blocks = range(len(sides))
    shared = [[(set(s) & set(t)) - {int(c.WORLD)} for t in sides] for s in sides]
    fill = [{k for k in blocks if k != j and shared[j][k]} for j in blocks]
    left, order, reached = set(blocks), [], {}
    while left:
        j = min(left, key=lambda k: (len(fill[k] & left), k))
        left.remove(j)
        reached[j] = sorted(fill[j] & left)
        for k in reached[j]:
            fill[k] |= set(reached[j]) - {k}
        order.append(j)
    place = {(j, j): j for j in blocks}
    for key in ((j, l) for j in blocks for l in blocks if shared[j][l]):
        place.setdefault(key, len(place))
    for j in order:
        for k in reached[j]:
            for key in ((k, j), (j, k), *((k, l) for l in reached[j])):
                place.setdefault(key, len(place))
    gather = sorted(
        (place[j, l], j, on_j, l, on_l)
        for j in blocks
        for l in blocks
        for on_j in range(len(sides[j]))
        for on_l in range(len(sides[l]))
        if sides[j][on_j] == sides[l][on_l] != c.WORLD
    )
    pivots, reach, updates = [], [], []
    for j in order:
        first = len(reach)
        for k in reached[j]:
            start = len(updates)
            updates += [(place[k, l], place[j, l]) for l in reached[j]]
            reach.append((k, place[k, j], place[j, k], start, len(updates)))
        pivots.append((j, place[j, j], first, len(reach)))
    tables = (
        np.array(x, np.int64).reshape(-1, n)
        for x, n in ((gather, 5), (pivots, 4), (reach, 5), (updates, 2))
    )
    return len(place), *tables


@inlined
def add_second_terms(m):
    """Add the right sides of second terms to those of their rows."""
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for j in range(len(arena.pivots(m)), len(blocks)):
        arena.add(blocks, integers[j, c.OTHER], c.D, get(blocks, j, c.D))


@inlined
def copy_to_second_terms(m):
    """Give second terms the solution of their rows."""
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for j in range(len(arena.pivots(m)), len(blocks)):
        put(blocks, j, c.D, get(blocks, integers[j, c.OTHER], c.D))


@inlined
def substitute(m):
    """Substitute from the last pivot back, the second half of the solution."""
    blocks, S, pivots, reach = arena.blocks(m), arena.matrix(m), arena.pivots(m), arena.reach(m)
    for e in range(len(pivots) - 1, -1, -1):
        if pivots[e, 2] == pivots[e, 3]:
            continue
        y = (0.0, 0.0, 0.0)
        for k in range(pivots[e, 2], pivots[e, 3]):
            found = get(blocks, number(reach, k, 0), c.D)
            y = vec.sub(y, vec.matvec(get9(S, number(reach, k, 2), 0), found))
        arena.add(blocks, pivots[e, 0], c.D, vec.matvec(get9(S, pivots[e, 1], 0), y))
    copy_to_second_terms(m)


@part
def factor_and_solve(m):
    """Eliminate the joints' matrix in place, the inverses of the pivots on its diagonal, and solve
    for the right sides in D.
    """
    blocks, S = arena.blocks(m), arena.matrix(m)
    pivots, reach, updates = arena.pivots(m), arena.reach(m), arena.updates(m)
    add_second_terms(m)
    for e in range(len(pivots)):
        j, diagonal = pivots[e, 0], pivots[e, 1]
        inverse, det = turn.adjugate(get9(S, diagonal, 0))
        s, y = 1.0 / det, get(blocks, j, c.D)
        put9(S, diagonal, 0, turn.scale(s, inverse))
        put(blocks, j, c.D, vec.scale(s, vec.matvec(inverse, y)))
        for k in range(pivots[e, 2], pivots[e, 3]):
            factor = turn.product(get9(S, number(reach, k, 1), 0), inverse)
            arena.add(blocks, number(reach, k, 0), c.D, vec.scale(-s, vec.matvec(factor, y)))
            for u in range(number(reach, k, 3), number(reach, k, 4)):
                change = turn.product(factor, get9(S, number(updates, u, 1), 0))
                for r in range(3):
                    arena.add(S, number(updates, u, 0), 3 * r, vec.scale(-s, change[r]))
    substitute(m)


@part
def solve_again(m):
    """Solve for the right sides in D with the matrix as it was factored."""
    blocks, S, pivots, reach = arena.blocks(m), arena.matrix(m), arena.pivots(m), arena.reach(m)
    add_second_terms(m)
    for e in range(len(pivots)):
        z = vec.matvec(get9(S, pivots[e, 1], 0), get(blocks, pivots[e, 0], c.D))
        put(blocks, pivots[e, 0], c.D, z)
        for k in range(pivots[e, 2], pivots[e, 3]):
            lower = vec.matvec(get9(S, number(reach, k, 1), 0), z)
            arena.add(blocks, number(reach, k, 0), c.D, vec.scale(-1.0, lower))
    substitute(m)
