"""Which stepper, and how far its Newton iteration goes."""

from rbdyn_ros.settings.parameter import Parameter

INTEGRATOR = (
    Parameter("integrator.name", "quaternion_midpoint", "", "the stepper", "string", read_only=True),
    Parameter("integrator.composition", "none", "", "symmetric composition that raises the stepper's order", "string", read_only=True),
    Parameter("integrator.step", 0.001, "s", "time step", low=0.0, low_open=True, read_only=True),
    Parameter("integrator.tolerance", 1e-13, "", "Newton stops at this relative residual", low=0.0, low_open=True, high=1e-3),
    Parameter("integrator.max_iterations", 20, "", "Newton gives up after so many iterations", "int", low=1, high=1000),
    Parameter(
        "integrator.gamma",
        4.0 / 3.0,
        "",
        "weight of the quaternion's own norm in quaternion_midpoint, times the smallest principal inertia",
        low=0.0,
    ),
)
