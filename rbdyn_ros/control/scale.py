"""The natural units of a rod on a cart, in which plants of every size look alike.

A rod swings as a simple pendulum of the length lambda = J / (m l) does, in times of
sqrt(lambda / g); its energy is counted in m g l. What is tuned in these units for one plant suits
every plant with the same ratios of travel to length and of force to weight.
"""

import math
from typing import NamedTuple

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.types import Contacts, System

# the plant for which the weights of `lqr` were chosen
LENGTH, GRAVITY, FORCE = 1.600083, 9.81, 20.0  # [m], [m/s^2], [N]
# of the weight of rod and cart: what more a drive can do does not stiffen the regulator
STRONGEST = 0.7


class Scale(NamedTuple):
    """The units of a plant."""

    length: float  # lambda = J / (m l) [m]
    time: float  # sqrt(lambda / g) [s]


def of_plant(system: System) -> Scale:
    """Return the units of a plant. Raise ValueError if its rod does not fall."""
    ml, g = system.rod_mass * system.center, system.gravity
    if not (ml > 0.0 and g > 0.0):
        raise ValueError("the rod does not fall")
    length = (0.5 * (system.inertia[0] + system.inertia[1]) + ml * system.center) / ml
    return Scale(length, math.sqrt(length / g))


def weights(system: System, force_limit: float) -> tuple[tuple[float, ...], float]:
    """Return the weights of `lqr`, (4,) of the state and that of the force, for a plant of another
    size and a drive of another strength.
    """
    length, time = of_plant(system)
    x, v, th, dth, force = lqr.Options()[:5]
    longer, slower = length / LENGTH, time / math.sqrt(LENGTH / GRAVITY)
    stronger = min(force_limit, usual_force(system)) / FORCE
    return (
        (x / longer**2, v * (slower / longer) ** 2, th, dth * slower**2),
        force / stronger**2,
    )


def usual_force(system: System) -> float:
    """Return the force [N] beyond which a stronger drive does not stiffen the law."""
    return STRONGEST * (system.cart_mass + system.rod_mass) * system.gravity


class Factors(NamedTuple):
    """What a mass, a length and a time are multiplied by between two plants that are alike."""

    mass: float
    length: float
    time: float

    @property
    def force(self) -> float:
        """What a force is multiplied by."""
        return self.mass * self.length / self.time**2


def to_reference(system: System, force_limit: float) -> Factors:
    """Return the factors from a plant to the one like it with `LENGTH`, `GRAVITY` and, if the
    drive has `force_limit` [N], `FORCE`.
    """
    length, time = of_plant(system)
    longer, slower = LENGTH / length, math.sqrt(LENGTH / GRAVITY) / time
    return Factors(FORCE / force_limit * slower**2 / longer, longer, slower)


def similar(system: System, factors: Factors) -> System:
    """Return the plant that is like `system`, without contacts."""
    mass, length, time = factors
    first, second, third = (mass * length**2 * moment for moment in system.inertia)
    return System(
        mass * system.cart_mass,
        system.cart_free,
        mass / time * system.cart_damping,
        mass * system.rod_mass,
        length * system.center,
        (first, second, third),
        mass * length**2 / time * system.joint_damping,
        length / time**2 * system.gravity,
        Contacts(),
    )
