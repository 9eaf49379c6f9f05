"""Copies of the state of a run, to which a step that fails goes back."""

import numpy as np

from rbdyn_ros.kernel import part
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c

NOT_SAVED, AT_IMPACT, AT_START = np.int64(-1), np.int64(0), np.int64(1)  # their places


@part
def copy_state(m, place, to_saved):
    """Save the state of the node in one of two places, or restore it."""
    bodies, pairs, blocks, integers = (
        arena.bodies(m),
        arena.pairs(m),
        arena.blocks(m),
        arena.pair_integers(m),
    )
    store, flags = arena.saved(m), arena.saved_flags(m)
    at, first = place * (len(store) // 2), place * (len(flags) // 2)
    at = copy_columns(bodies, 0, c.STATE, store, at, to_saved)
    at = copy_columns(pairs, c.LA, c.KEPT, store, at, to_saved)
    at = copy_columns(blocks, c.LAM, c.PHI - c.LAM, store, at, to_saved)
    at = copy_columns(arena.springs(m), c.LOSS, 1, store, at, to_saved)
    for k in range(len(pairs)):
        if to_saved:
            flags[first + k] = integers[k, c.CLOSED]
        else:
            integers[k, c.CLOSED] = flags[first + k]
    if to_saved:
        store[at], store[at + 1] = arena.clock(m)[c.TIME], arena.counters(m)[c.IMPACTS]
    else:
        arena.clock(m)[c.TIME] = store[at]
        arena.counters(m)[c.IMPACTS] = int(store[at + 1])


@part
def copy_columns(table, first, width, store, at, to_saved):
    """Save or restore columns of all rows; where the next ones go."""
    for i in range(len(table)):
        for k in range(first, first + width):
            if to_saved:
                store[at] = table[i, k]
            else:
                table[i, k] = store[at]
            at += 1
    return at
