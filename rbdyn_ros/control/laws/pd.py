"""Proportional and derivative feedback with gains of one's own: what one tries by hand before a
regulator is designed.

    u = kp_th th + kd_th th' + kp_x (x - reference) + kd_x x',     per axis, cut as in `lqr`.

All four gains are positive: the cart is driven after the rod, and away from its reference to lean
the rod back to it.
"""

from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, feedback, is_stable
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.schema import spec, table
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The gains, and what the plant allows."""

    position_gain: Annotated[
        float, spec("Sets the force per distance of the cart from the reference.", "N/m")
    ] = 10.0
    velocity_gain: Annotated[float, spec("Sets the force per velocity of the cart.", "N s/m")] = (
        17.0
    )
    tilt_gain: Annotated[float, spec("Sets the force per tilt.", "N/rad")] = 160.0
    tilt_rate_gain: Annotated[float, spec("Sets the force per rate of the tilt.", "N s/rad")] = (
        60.0
    )
    period: float = 0.002  # [s]
    force_limit: float = 20.0  # [N]


class Pd:
    """u = -K e, its norm cut at the limit."""

    def __init__(self, gains: Array, force_limit: float):
        self.gains = gains  # K (4,)
        self.force_limit = force_limit  # [N]

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        return np.array(feedback(*admit(state, reference), self.gains, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Pd:
    """Return the feedback.

    ValueError if an option is out of range, or if the rod of this plant falls under these gains.
    """
    *gains, h, force_limit = checked("pd", options)
    K = -np.array(gains)
    if not is_stable(model.build(params), K, h):
        named = ", ".join(
            f"{p.name} {gain:g} {p.unit}" for p, gain in zip(table(Options, "pd."), gains)
        )
        raise ValueError(f"controller pd: the rod falls under {named}; take other gains ({NEEDS})")
    return Pd(K, force_limit)
