"""Integrators by the names of the YAML, with the options that depend on the plant."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.mechanics.integrators import rk4
from rbdyn_ros.mechanics.integrators.choice import Choice, names
from rbdyn_ros.mechanics.integrators.composition import COMPOSITIONS, ORDERS
from rbdyn_ros.mechanics.pendulum.world import candidates, gaps, has_candidates, parameter
from rbdyn_ros.mechanics.pendulum_contact import contact_state
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


def select(name: str, composition: str = "none", **numbers: Any) -> Integrator:
    """Return the integrator `name`, composed; `numbers` are other fields of `choice.Choice`.

    Raise ValueError for an unknown name, a composition that the method does not admit, a number
    out of range.
    """
    choice = check_record(Choice(name, composition, **numbers), "select", "integrator.")
    method = import_module(f"rbdyn_ros.mechanics.integrators.{name}")
    if composition != "none" and not method.SYMMETRIC:
        symmetric = [
            n for n in names() if import_module(f"rbdyn_ros.mechanics.integrators.{n}").SYMMETRIC
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
        "split": int(choice.split_at_impact),
    }

    def options(system: System):
        known = {
            **numbers,
            "gamma": choice.gamma * min(system.inertia),
            "lever": np.full(3, np.nan),
            "contact": _memory(system),
        }
        return method.Options(**{field: known[field] for field in method.Options._fields})

    order = method.ORDER if composition == "none" else ORDERS[composition]

    def check(system: System, state: State, input: Input) -> None:
        if has_candidates(system.contacts):
            _check_contacts(name, composition, method, system, state)
        if hasattr(method, "check"):  # most apply everywhere
            method.check(system, state, input)

    return Integrator(
        name=name,
        composition=composition,
        order=order,
        symmetric=method.SYMMETRIC,
        advance=method.advance,
        options=options,
        check=check,
        explain=getattr(method, "explain", lambda q, v: ""),
        accelerations=getattr(method, "accelerations", rk4.accelerations),
    )


def _memory(system: System) -> contact_state.ContactState | None:
    """Return the state of the contacts at the start, None where there is nothing to touch."""
    if not has_candidates(system.contacts):
        return None
    return contact_state.create(candidates(system.contacts))


def _check_contacts(name: str, composition: str, method, system: System, state: State) -> None:
    """Raise ValueError where the method supports no contacts, its stages step back in time, or
    contacts overlap at the start.
    """
    if "contact" not in method.Options._fields:
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
