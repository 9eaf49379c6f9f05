"""The plant that is, and the plant that a law believes in."""

from rbdyn_ros.faults.options import Faults, Mismatch
from rbdyn_ros.mechanics.pendulum.params import Params, cylinder_inertia


def actual(declared: Params, options: Faults) -> Params:
    """The plant that is simulated where a law is designed for `declared`: each number is (1 +
    mismatch) times the declared one.

    A length, and a mass, that differ take along the center of mass and the inertia that are left
    to the geometry.
    """
    m = options.mismatch
    return scale(declared, Mismatch(*(1.0 + part for part in m))) if any(m) else declared


def nominal(plant: Params, options: Faults) -> Params:
    """The converse: what a law believes in where `plant` is simulated, each number divided by (1 +
    mismatch).
    """
    m = options.mismatch
    return scale(plant, Mismatch(*(1.0 / (1.0 + part) for part in m))) if any(m) else plant


def scale(params: Params, factors: Mismatch) -> Params:
    """The plant with each number times its factor; factors may be arrays, one plant for each."""
    f = factors
    mass, length = f.rod_mass * params.rod_mass, f.rod_length * params.rod_length
    center, moments = params.rod_center_of_mass, params.rod_inertia
    moments = moments or cylinder_inertia(mass, length, params.rod_radius)
    return params._replace(
        gravity=f.gravity * params.gravity,
        cart_mass=f.cart_mass * params.cart_mass,
        cart_damping=f.cart_damping * params.cart_damping,
        rod_mass=mass,
        rod_length=length,
        rod_center_of_mass=f.center_of_mass * (0.5 * length if center is None else center),
        rod_inertia=tuple(f.inertia * moment for moment in moments),
        joint_damping=f.joint_damping * params.joint_damping,
    )
