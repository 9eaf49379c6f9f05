"""The declaration of the stepper and of its Newton iteration, which loads no stepper."""

from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

from rbdyn_ros.mechanics.integrators.composition import COMPOSITIONS
from rbdyn_ros.schema import spec


@cache  # it is asked at each choice, and reads twenty files
def names() -> tuple[str, ...]:
    """Return the known integrators, alphabetically: the files of this folder that export
    `advance`.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple(f.stem for f in files if "\ndef advance(" in f.read_text("utf-8"))


class Choice(NamedTuple):
    """An integrator with its numbers."""

    name: Annotated[str, spec("Chooses the integrator.", choices=names, read_only=True)] = (
        "quaternion_midpoint"
    )
    composition: Annotated[
        str,
        spec(
            "Chooses the symmetric composition that raises the order of the integrator.",
            choices=tuple(COMPOSITIONS),
            read_only=True,
        ),
    ] = "none"
    step: Annotated[float, spec("Sets the time step.", "s", above=0.0, read_only=True)] = 0.001
    tolerance: Annotated[
        float,
        spec(
            "Sets the relative residual at which Newton's iteration stops.", above=0.0, high=1e-3
        ),
    ] = 1e-13
    max_iterations: Annotated[
        int,
        spec(
            "Limits the iterations of Newton's method in a step; beyond them the step fails.",
            low=1,
            high=1000,
        ),
    ] = 20
    gamma: Annotated[
        float,
        spec(
            "Sets the weight of the quaternion's own norm in quaternion_midpoint, as a multiple "
            "of "
            "the smallest principal inertia.",
            low=0.0,
        ),
    ] = 4.0 / 3.0
    split_at_impact: Annotated[
        bool,
        spec(
            "Ends a step at an impact and continues from there, so that restitution and rest are "
            "exact to round-off.",
            read_only=True,
        ),
    ] = False
