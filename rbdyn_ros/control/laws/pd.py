"""Proportional and derivative feedback with gains of one's own: what one tries by hand before a regulator is designed.

    u = kp_th th + kd_th th' + kp_x (x - reference) + kd_x x',     per axis, cut as in `lqr`.

All four gains are positive: the cart is driven after the rod, and away from its reference to lean the rod back to it.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admitted
from rbdyn_ros.control.feedback import NEEDS, feedback, is_stable
from rbdyn_ros.control.options import checked
from rbdyn_ros.schema import Parameter
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The gains, and what the plant allows."""

    position_gain: float = 10.0  # kp_x [N/m]
    velocity_gain: float = 17.0  # kd_x [N s/m]
    tilt_gain: float = 160.0  # kp_th [N/rad]
    tilt_rate_gain: float = 60.0  # kd_th [N s/rad]
    period: float = 0.002  # [s]
    force_limit: float = 20.0  # [N]


PARAMETERS = (
    Parameter(
        "pd.position_gain",
        10.0,
        "N/m",
        "Sets the force per distance of the cart from the reference.",
    ),
    Parameter("pd.velocity_gain", 17.0, "N s/m", "Sets the force per velocity of the cart."),
    Parameter("pd.tilt_gain", 160.0, "N/rad", "Sets the force per tilt."),
    Parameter("pd.tilt_rate_gain", 60.0, "N s/rad", "Sets the force per rate of the tilt."),
)


class Pd:
    """u = -K e, its norm cut at the limit."""

    def __init__(self, gains: Array, force_limit: float):
        self.gains = gains  # K (4,)
        self.force_limit = force_limit  # [N]

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        return np.array(feedback(*admitted(state, reference), self.gains, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Pd:
    """The feedback.

    ValueError if an option is out of range, or if the rod of this plant falls under these gains.
    """
    *gains, h, force_limit = checked(options, PARAMETERS)
    K = -np.array(gains)
    if not is_stable(model.build(params), K, h):
        named = ", ".join(f"{p.name} {gain:g} {p.unit}" for p, gain in zip(PARAMETERS, gains))
        raise ValueError(f"controller pd: the rod falls under {named}; take other gains ({NEEDS})")
    return Pd(K, force_limit)
