"""The sweep of Gauss and Seidel over contacts, for bodies and for the pendulum.

`sweep` is a template (`bind`), one code for the contacts of different models. `contacts` reads and
writes the contacts of a model, `solver` computes the effect of their impulses: `velocity_of` is
that of a contact at the present impulses, `respond_to` adds the effect of a change to the
velocities. `solve_one` is the law of a contact for itself, from its velocity u at its impulse
`old`; `how` is handed on to it.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import part, specialize

SWEEPS = 2000
TOLERANCE, ROUND_OFF = 1e-14, 1e-12  # [SPEED], and of the impulses: the last change of a sweep
STALLED = 1e-6  # of the impulses: a change per sweep that is taken where all sweeps are spent
FEW = 8  # contacts: the sweeps of more of them do not end soon

contacts: Any = None  # to which `of` binds the template, with `solver` and `solve_one`
solver: Any = None
solve_one: Any = None


def bind(
    templates: tuple[Callable[..., Any], ...], contacts: ModuleType, label: str = "", **scope
) -> dict[str, Callable[..., Any]]:
    """Make parts of the code of plain functions, by name, whose global `contacts` is that module.

    Each finds those before it, and what else is in `scope`, under their names. A template that is
    bound to the same module more than once has another `label` each time.
    """
    name = contacts.__name__.rpartition(".")[2] + label
    for template in templates:
        function = specialize(template, name, contacts=contacts, **scope)
        scope[template.__name__] = part(getattr(function, "py_func", function))
    return scope


def sweep(m, is_back, h, how):
    """Give each active contact its own impulse at those of the others, in a step of h or, h = 0,
    at the node. Return (change, size of the impulses, both as normal velocities; whether all are
    lawful; the contact that changed most).
    """
    moved, size, farthest, where, lawful = 0.0, 1e-300, -1.0, 0, True
    n = contacts.count(m)
    for at in range(n):
        i = n - 1 - at if is_back else at
        k = contacts.member(m, i)
        W, old = contacts.own_block(m, k), contacts.impulse(m, k)
        new, found = solve_one(m, k, W, solver.velocity_of(m, k), old, how)
        change = vec.sub(new, old)
        by = W[0][0] * vec.size(change)
        contacts.put_impulse(m, k, new)
        moved += by
        size += W[0][0] * vec.size(new)
        lawful = lawful and found
        if by > farthest:
            farthest, where = by, k
        if by > 0.0:
            solver.respond_to(m, i, h, change)
    return moved, size, lawful, where


def of(contacts, solver, solve_one, label=""):
    """Return the kernel `sweep` for the contacts of a module, velocities of another, and a law."""
    return bind((sweep,), contacts, label, solver=solver, solve_one=solve_one)["sweep"]
