"""Integrators by the names of the YAML: a file of this room that exports `advance` is one."""

import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.integrators import rk4
from rbdyn_ros.mechanics.integrators.composition import COMPOSITIONS, ORDERS
from rbdyn_ros.mechanics.pendulum.world import candidates, exist, gaps, parameter
from rbdyn_ros.mechanics.pendulum_contact import contact_state
from rbdyn_ros.types import Input, State, System

_OVERLAP = 1e-6  # [m] a smaller one is closed, not overlapping


class Integrator(NamedTuple):
    """A stepper with its numbers: `advance(system, options(system), input, h, n, t, q, v,
    reaction)`.
    """

    name: str
    composition: str
    order: int
    symmetric: bool
    advance: Callable
    options: Callable  # System -> the stepper's Options
    check: Callable  # (System, State, Input): ValueError where the method does not apply
    explain: Callable  # (q, v): what else to say of a step that failed, "" mostly
    accelerations: Callable  # (system, load, sines' force, Q, w, x') -> (w', x'') of its equations


def names() -> tuple:
    """The known integrators, alphabetically."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple(f.stem for f in files if "\ndef advance(" in f.read_text())


def select(
    name: str,
    composition: str = "none",
    tolerance: float = 1e-13,
    max_iterations: int = 20,
    gamma: float = 4.0 / 3.0,
    split_at_impact: bool = False,
) -> Integrator:
    """The integrator `name`, composed.

    `gamma` is in units of the rod's smallest principal inertia.

    `split_at_impact`: a step ends at an impact and goes on from there.

    ValueError for an unknown name, a composition that the method does not admit, a number out of
    range.
    """
    if name not in names():
        raise ValueError(f"integrator.name is '{name}'; known are {', '.join(names())}")
    if composition not in COMPOSITIONS:
        raise ValueError(
            f"integrator.composition is '{composition}'; known are {', '.join(COMPOSITIONS)}"
        )
    method = import_module(f"rbdyn_ros.mechanics.integrators.{name}")
    if composition != "none" and not method.SYMMETRIC:
        symmetric = [
            n for n in names() if import_module(f"rbdyn_ros.mechanics.integrators.{n}").SYMMETRIC
        ]
        raise ValueError(
            f"integrator.composition is '{composition}', but {name} is not symmetric; "
            f"take 'none' or one of {', '.join(symmetric)}"
        )
    if not 0.0 < tolerance <= 1e-3:
        raise ValueError(f"integrator.tolerance is {tolerance}; it must be > 0 and at most 1e-3")
    if not 1 <= max_iterations <= 1000:
        raise ValueError(f"integrator.max_iterations is {max_iterations}; it must be 1 to 1000")
    if not (math.isfinite(gamma) and gamma >= 0.0):
        raise ValueError(
            f"integrator.gamma is {gamma}; it must be >= 0 (0 is Moser and Veselov's discretisation)"
        )
    numbers = {
        "weights": COMPOSITIONS[composition].copy(),
        "tolerance": float(tolerance),
        "max_iterations": int(max_iterations),
        "attitude": 1,
        "coupling": 0,
        "split": int(split_at_impact),
    }

    def options(system: System):
        known = {
            **numbers,
            "gamma": gamma * min(system.inertia),
            "lever": np.full(3, np.nan),
            "contact": _memory(system),
        }
        return method.Options(**{field: known[field] for field in method.Options._fields})

    order = method.ORDER if composition == "none" else ORDERS[composition]

    def check(system: System, state: State, input: Input) -> None:
        if exist(system.contacts):
            _check_contacts(name, composition, method, system, state)
        getattr(method, "check", _applies_everywhere)(system, state, input)

    return Integrator(
        name=name,
        composition=composition,
        order=order,
        symmetric=method.SYMMETRIC,
        advance=method.advance,
        options=options,
        check=check,
        explain=getattr(method, "explain", _nothing_to_add),
        accelerations=getattr(method, "accelerations", rk4.accelerations),
    )


def _memory(system: System) -> contact_state.ContactState | None:
    """What contacts remember; None where there is nothing to touch."""
    if not exist(system.contacts):
        return None
    return contact_state.create(candidates(system.contacts))


def _check_contacts(name: str, composition: str, method, system: System, state: State) -> None:
    """ValueError where the method knows no contacts, its stages step back in time, or contacts
    overlap at the start.
    """
    if "contact" not in method.Options._fields:
        advice = "take quaternion_midpoint, or leave contact.* and obstacles out"
        raise ValueError(f"integrator.name is '{name}', which knows no contacts; {advice}")
    if composition != "none":
        raise ValueError(
            f"integrator.composition is '{composition}', but contacts need 'none': its stages step back in time"
        )
    for contact, gap in gaps(system.contacts, state).items():
        if gap < -_OVERLAP:
            raise ValueError(
                f"{parameter(contact)} overlaps the pendulum by {-gap:.3g} m at the start; "
                f"move {'contact' if parameter(contact) != contact else contact}.* or initial.*"
            )


def _applies_everywhere(system: System, state: State, input: Input) -> None:
    """Most methods do."""


def _nothing_to_add(q, v) -> str:
    """Most failures explain themselves."""
    return ""
