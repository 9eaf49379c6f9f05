"""The natural units of a rod on a cart, in which plants of every size look alike.

A rod swings as a simple pendulum of the length lambda = J / (m l) does, in times of
sqrt(lambda / g); its energy is counted in m g l. What is tuned in these units for one plant suits
every plant with the same ratios of travel to length and of force to weight.
"""

import math
from typing import NamedTuple

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.types import System

# the plant for which the weights of `lqr` were chosen
LENGTH, GRAVITY, FORCE = 1.6, 9.81, 20.0  # [m], [m/s^2], [N]
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
    weight = (system.cart_mass + system.rod_mass) * system.gravity
    stronger = min(force_limit, STRONGEST * weight) / FORCE
    return (
        (x / longer**2, v * (slower / longer) ** 2, th, dth * slower**2),
        force / stronger**2,
    )
