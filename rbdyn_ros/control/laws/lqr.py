"""Linear-quadratic regulator on the tangent plane of the sphere.

Per axis, with the log-map tilt th of `pendulum.tilt` and e = (x - reference, x', th,
th'),

    u = -K e,   K minimizes  sum_k  h (e.Q e + w_u u^2)   subject to   e_{k+1} = A e_k + B u_k,

where A, B are those of the stepper itself over the control period h
(`control.step_linearization`), and Q is diagonal. The law is linear in th, not in the projection
sin th, which is too weak beyond 30 degrees.

Two norms are cut at the force limit. That of (u_x, u_y): equally strong in every direction, where
a cut per axis is not. And before it that of the first term K_1 (x - reference), so that a far
reference cannot outvote the tilt and topple the rod; it costs nothing near the reference. The law
remembers nothing.
"""

from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, feedback, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.schema import Parameter, spec
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite


def _cost(of: str, unit: str, **bounds: float) -> Parameter:
    return spec(f"Sets the cost of the square of {of}.", unit, **(bounds or {"low": 0.0}))


PositionWeight = Annotated[
    float, _cost("the cart's distance from the reference", "1/m^2", above=0.0)
]
VelocityWeight = Annotated[float, _cost("the cart's velocity", "s^2/m^2")]
TiltWeight = Annotated[float, _cost("the tilt", "1/rad^2")]
TiltRateWeight = Annotated[float, _cost("the tilt's rate", "s^2/rad^2")]
ForceWeight = Annotated[float, _cost("the force", "1/N^2", above=0.0)]


class Options(NamedTuple):
    """The weights, and what the plant allows."""

    position_weight: PositionWeight = 40.0
    velocity_weight: VelocityWeight = 10.0
    tilt_weight: TiltWeight = 100.0
    tilt_rate_weight: TiltRateWeight = 10.0
    force_weight: ForceWeight = 0.1
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]


class Lqr:
    """u = -K e, its norm cut at the limit."""

    def __init__(self, gains: Array, force_limit: float):
        self.gains = gains  # K (4,) [N/m, N s/m, N/rad, N s/rad]
        self.force_limit = force_limit  # [N]

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        return np.array(feedback(*admit(state, reference), self.gains, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Lqr:
    """Return the regulator for the plant that `model` builds from `params`.

    ValueError if an option is out of range, or if no gains stabilize: the cart is fixed, the rod
    has no lever.
    """
    *weights, force_weight, h, force_limit = checked("lqr", options)
    try:
        K, _ = regulator(model.build(params), weights, force_weight, h)
    except ValueError as error:
        raise ValueError(f"controller lqr: {error}; {NEEDS}") from error
    return Lqr(K, force_limit)
