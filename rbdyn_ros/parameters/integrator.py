"""Which stepper, and how far its Newton iteration goes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.schema import Parameter

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.mechanics.integrators.select import Integrator


def _names() -> tuple:
    from rbdyn_ros.mechanics.integrators import select

    return select.names()


def _compositions() -> tuple:
    from rbdyn_ros.mechanics.integrators.composition import COMPOSITIONS

    return tuple(COMPOSITIONS)


INTEGRATOR = (
    Parameter(
        "integrator.name",
        "quaternion_midpoint",
        "",
        "Chooses the integrator.",
        "string",
        choices=_names,
        read_only=True,
    ),
    Parameter(
        "integrator.composition",
        "none",
        "",
        "Chooses the symmetric composition that raises the order of the integrator.",
        "string",
        choices=_compositions,
        read_only=True,
    ),
    Parameter(
        "integrator.step",
        0.001,
        "s",
        "Sets the time step.",
        low=0.0,
        low_open=True,
        read_only=True,
    ),
    Parameter(
        "integrator.tolerance",
        1e-13,
        "",
        "Sets the relative residual at which Newton's iteration stops.",
        low=0.0,
        low_open=True,
        high=1e-3,
    ),
    Parameter(
        "integrator.max_iterations",
        20,
        "",
        "Limits the iterations of Newton's method in a step; beyond them the step fails.",
        "int",
        low=1,
        high=1000,
    ),
    Parameter(
        "integrator.gamma",
        4.0 / 3.0,
        "",
        "Sets the weight of the quaternion's own norm in quaternion_midpoint, as a multiple of "
        "the smallest principal inertia.",
        low=0.0,
    ),
    Parameter(
        "integrator.split_at_impact",
        False,
        "",
        "Ends a step at an impact and continues from there, so that restitution and rest are "
        "exact to round-off.",
        "bool",
        read_only=True,
    ),
)


def integrator(values: Mapping) -> "Integrator":
    """The stepper from checked values by name. ValueError if it does not admit the composition."""
    from rbdyn_ros.mechanics.integrators.select import select

    return select(
        values["integrator.name"],
        values["integrator.composition"],
        values["integrator.tolerance"],
        values["integrator.max_iterations"],
        values["integrator.gamma"],
        values["integrator.split_at_impact"],
    )
