"""Which stepper, and how far its Newton iteration goes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.settings.parameter import Parameter

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.integrators.select import Integrator


def _names() -> tuple:
    from rbdyn_ros.integrators import select

    return select.names()


def _compositions() -> tuple:
    from rbdyn_ros.integrators.composition import COMPOSITIONS

    return tuple(COMPOSITIONS)


INTEGRATOR = (
    Parameter("integrator.name", "quaternion_midpoint", "", "the stepper", "string", choices=_names, read_only=True),
    Parameter(
        "integrator.composition",
        "none",
        "",
        "symmetric composition that raises the stepper's order",
        "string",
        choices=_compositions,
        read_only=True,
    ),
    Parameter("integrator.step", 0.001, "s", "time step", low=0.0, low_open=True, read_only=True),
    Parameter(
        "integrator.tolerance", 1e-13, "", "Newton stops at this relative residual", low=0.0, low_open=True, high=1e-3
    ),
    Parameter("integrator.max_iterations", 20, "", "Newton gives up after so many iterations", "int", low=1, high=1000),
    Parameter(
        "integrator.gamma",
        4.0 / 3.0,
        "",
        "weight of the quaternion's own norm in quaternion_midpoint, times the smallest principal inertia",
        low=0.0,
    ),
    Parameter(
        "integrator.split_at_impact",
        False,
        "",
        "end a step at an impact and go on from there: restitution and rest exact to round-off",
        "bool",
        read_only=True,
    ),
)


def integrator(values: Mapping) -> "Integrator":
    """The stepper from checked values by name. ValueError if it does not admit the composition."""
    from rbdyn_ros.integrators.select import select

    return select(
        values["integrator.name"],
        values["integrator.composition"],
        values["integrator.tolerance"],
        values["integrator.max_iterations"],
        values["integrator.gamma"],
        values["integrator.split_at_impact"],
    )
