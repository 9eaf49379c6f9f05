"""Integrators by the names of the YAML, with the options that depend on the plant.

What a file of somebody else exports is checked when it is selected, and that it compiles before
anything is simulated.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import NumbaError, config
from numba.extending import is_jitted

from rbdyn_ros import plugins
from rbdyn_ros.integrators import boundary, rk4
from rbdyn_ros.integrators.choice import INTEGRATORS, Choice
from rbdyn_ros.integrators.choice import names as names
from rbdyn_ros.integrators.composition import COMPOSITIONS, ORDERS
from rbdyn_ros.kernel import bind
from rbdyn_ros.pendulum import coulomb_friction
from rbdyn_ros.pendulum.world import gaps, has_candidates, parameter
from rbdyn_ros.schema import check_record
from rbdyn_ros.types import Input, State, System

_OVERLAP = 1e-6  # [m] a smaller one is closed, not overlapping


class Integrator(NamedTuple):
    """A stepper with its numbers: `advance(system, options(system), input, h, n, state, reaction)`
    takes n steps of h [s] from the time of the state, in place.
    """

    name: str
    composition: str
    order: int
    symmetric: bool
    advance: Callable
    options: Callable  # System -> the stepper's Options
    check: Callable  # (System, State, Input): ValueError where the method does not apply
    explain: Callable  # (q, v) -> explanation of a step that failed, mostly ""
    accelerations: Callable  # (system, load, sines' force, Q, w, x') -> (w', x'') of its equations
    stages: int  # of a step: evaluations of the forces, or symmetric steps of a composition


def select(name: str, composition: str = "none", **numbers: Any) -> Integrator:
    """Return the integrator `name`, composed; `numbers` are other fields of `choice.Choice`.

    Raise ValueError for an unknown name, a file or an entry point that is no integrator, a
    composition that the method does not admit, a number out of range.
    """
    choice = check_record(Choice(name, composition, **numbers), "select", "integrator.")
    method = plugins.load(INTEGRATORS, name)
    is_own = name in plugins.own_names(INTEGRATORS)
    if not is_own:
        _check_method(name, method)
    is_symmetric = getattr(method, "SYMMETRIC", False)
    kind = getattr(method, "Options", rk4.Options)
    if composition != "none" and not is_symmetric:
        symmetric = [
            n for n in plugins.own_names(INTEGRATORS) if plugins.load(INTEGRATORS, n).SYMMETRIC
        ]
        raise ValueError(
            f"integrator.composition is '{composition}', but {name} is not symmetric; "
            f"take 'none' or one of {', '.join(symmetric)}"
        )
    numbers = {
        "weights": COMPOSITIONS[composition].copy(),
        "tolerance": choice.tolerance,
        "max_iterations": choice.max_iterations,
        "attitude": 1,
        "coupling": 0,
    }

    def options(system: System):
        gamma = choice.gamma * min(system.inertia)
        known = {
            **numbers,
            "gamma": gamma,
            "lever": np.full(3, np.nan),
            "contact": _memory(system, gamma) if "contact" in kind._fields else None,
        }
        return kind(**{field: known[field] for field in kind._fields if field in known})

    order = method.ORDER if composition == "none" else ORDERS[composition]

    def check(system: System, state: State, input: Input) -> None:
        if coulomb_friction.acts(system):
            _check_friction(name, composition, getattr(method, "FRICTION", False), system)
        if has_candidates(system.contacts):
            _check_contacts(name, composition, kind, system, state)
        if hasattr(method, "check"):  # most apply everywhere
            method.check(system, state, input)
        if not is_own:
            _require_compiled(name, method, (system, options(system), input), state)

    return Integrator(
        name=plugins.short(name),
        composition=composition,
        order=order,
        symmetric=is_symmetric,
        advance=method.advance,
        options=options,
        check=check,
        explain=getattr(method, "explain", lambda q, v: ""),
        accelerations=getattr(method, "accelerations", rk4.accelerations),
        stages=getattr(method, "STAGES", 1) * len(COMPOSITIONS[composition]),
    )


_NUMBERS = ("weights", "tolerance", "max_iterations", "gamma", "lever", "contact")


def _check_method(name: str, method: ModuleType) -> None:
    """Raise ValueError if a module of somebody else lacks what an integrator has."""
    which = f"integrator.name '{name}'"
    if not isinstance(getattr(method, "ORDER", None), int):
        raise ValueError(f"{which} says no order of accuracy; write one, such as ORDER = 2")
    advance = getattr(method.advance, "dispatcher", method.advance)
    if not (is_jitted(advance) or vars(config)["DISABLE_JIT"]):
        raise ValueError(
            f"{which}: its `advance` is not compiled; write @kernel of rbdyn_ros.kernel above it"
        )
    kind = getattr(method, "Options", rk4.Options)
    for field in getattr(kind, "_fields", ()):
        if field not in _NUMBERS and field not in kind._field_defaults:
            raise ValueError(
                f"{which}: its Options have a field {field} without a default; known without one "
                f"are {', '.join(_NUMBERS)}"
            )


def _require_compiled(name: str, method: ModuleType, given: tuple, state: State) -> None:
    """Compile `advance` of somebody else, and take a step; raise ValueError, in one sentence, if
    that fails.
    """
    start = State(0.0, *boundary.copies(state))
    where = ""
    try:
        advance = bind(method.advance, *given, 1e-3, 1, start, np.zeros(3))
        returned = advance(*given, 1e-3, 1, start, np.zeros(3))
        if np.shape(returned) == (3,):
            return
        why = f"advance returns {returned}"
    except (NumbaError, TypeError) as error:
        lines = str(error).partition("\n\n")[0].splitlines()
        why = [line for line in lines if not line.startswith(("Failed in", "During: "))][-1]
        where = f" ({error.loc.filename}:{error.loc.line})" if getattr(error, "loc", None) else ""
    raise ValueError(
        f"integrator.name '{name}' does not compile: {why}{where}; its `advance` must be "
        f"{INTEGRATORS.signature} -> (steps done, iterations, largest residual)"
    )


def _memory(system: System, gamma: float) -> Any:
    """Return the memory of the contacts at the start, None where there is nothing to touch."""
    if not has_candidates(system.contacts):
        return None
    from rbdyn_ros.pendulum import bodies  # which many a run never needs

    return bodies.create(system, gamma)


def _check_friction(name: str, composition: str, has_friction: bool, system: System) -> None:
    """Raise ValueError where the method has no friction, or its stages step back in time."""
    given = (
        f"cart.friction is {system.cart_friction:g} N and joint.friction is "
        f"{system.joint_friction:g} N m"
    )
    if not has_friction:
        raise ValueError(
            f"{given}, but {name} has no Coulomb friction; set both to 0, or take "
            "quaternion_midpoint"
        )
    if composition != "none":
        raise ValueError(
            f"{given}, but integrator.composition is '{composition}', whose stages step back in "
            "time; friction needs 'none'"
        )


def _check_contacts(name: str, composition: str, kind: type, system: System, state: State) -> None:
    """Raise ValueError where the method supports no contacts, its stages step back in time, or
    contacts overlap at the start.
    """
    if "contact" not in kind._fields:
        advice = "take quaternion_midpoint, or leave contact.* and obstacles out"
        raise ValueError(f"integrator.name is '{name}', which knows no contacts; {advice}")
    if composition != "none":
        raise ValueError(
            f"integrator.composition is '{composition}', but contacts need 'none': its stages "
            "step back in time"
        )
    for contact, gap in gaps(system.contacts, state).items():
        if gap < -_OVERLAP:
            raise ValueError(
                f"{parameter(contact)} overlaps the pendulum by {-gap:.3g} m at the start; "
                f"move {'contact' if parameter(contact) != contact else contact}.* or initial.*"
            )
