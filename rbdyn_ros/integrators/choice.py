"""The declaration of the stepper and of its Newton iteration, which loads no stepper.

The integrators are the files of this folder that export `advance`, the entry points of other
packages, and the path of any file (doc/extending.md, An integrator of your own).
"""

from typing import Annotated, NamedTuple

from rbdyn_ros import plugins
from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.schema import spec


def _reserved(stem: str) -> str:
    if stem in plugins.own_names(INTEGRATORS):  # known by that name to derivatives and figures
        return "is the name of an integrator of this package"
    return "" if stem.isidentifier() else "is no name that code can have"


INTEGRATORS = plugins.Kind(
    parameter="integrator.name",
    noun="integrator",
    package="rbdyn_ros.integrators",
    group="rbdyn_ros.integrators",
    signature="advance(system, options, input, h, n, state, reaction)",
    reserved=_reserved,
)


def names() -> tuple[str, ...]:
    """Return the known integrators, alphabetically, those of other packages included."""
    return plugins.names(INTEGRATORS)


class Choice(NamedTuple):
    """An integrator with its numbers."""

    name: Annotated[
        str,
        spec(
            "Chooses the integrator, by its name or by the path of its file.",
            choices=names,
            suffix=".py",
            read_only=True,
        ),
    ] = "quaternion_midpoint"
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
