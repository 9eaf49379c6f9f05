"""The sweep of Gauss and Seidel over the active contacts.

`sweep` is a template (`of`): `solve_one` is the law of a contact for itself, from its velocity u
at its impulse `old`; `how` is handed on to it. `solver` computes the effect of impulses:
`velocity_of` is the velocity of a contact at the present ones, `respond_to` adds that of a change.
"""

from collections.abc import Callable
from typing import Any

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import matrix_of, set_vector, vector_of
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part, specialize

SWEEPS = 2000
TOLERANCE, ROUND_OFF = 1e-14, 1e-12  # [SPEED], and of the impulses: the last change of a sweep
STALLED = 1e-6  # of the impulses: a change per sweep that is taken where all sweeps are spent
FEW = int(c.DENSE) // 3  # contacts: the sweeps of more of them do not end soon

solver: Any = None  # to which `of` binds the template
solve_one: Any = None


def sweep(m, h, how):
    """Give each active contact its own impulse at those of the others, in a step of h or, h = 0,
    at the node. Return (change, size of the impulses, both as normal velocities; whether all are
    lawful; the contact that changed most).
    """
    moved, size, farthest, where, lawful = 0.0, 1e-300, -1.0, 0, True
    pairs, active = arena.pairs(m), arena.active(m)
    for i in range(arena.counters(m)[c.ACTIVE]):
        k = active[i]
        W, old = matrix_of(pairs[k].W), vector_of(pairs[k].impulse)
        new, found = solve_one(m, k, W, solver.velocity_of(m, k), old, how)
        change = vec.sub(new, old)
        by = W[0][0] * vec.size(change)
        set_vector(pairs[k].impulse, new)
        moved += by
        size += W[0][0] * vec.size(new)
        lawful = lawful and found
        if by > farthest:
            farthest, where = by, k
        if by > 0.0:
            solver.respond_to(m, i, h, change)
    return moved, size, lawful, where


def of(solver: Any, solve_one: Callable[..., Any], label: str = "") -> Callable[..., Any]:
    """Return the kernel `sweep` for a law, with velocities of a solver; each has another label."""
    kernel = specialize(sweep, solver.__name__ + label, solver=solver, solve_one=solve_one)
    return part(getattr(kernel, "py_func", kernel))
