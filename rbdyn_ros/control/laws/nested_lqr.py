"""A family of regulators, from gentle to aggressive, and of each the ellipsoid in which it may
rule.

With the weights of `lqr` and weights of the force w_1 < w_2 < ..., let K_i, S_i be gain and
Riccati matrix of w_i. On the level set sum_axes e.S_i e <= c u_max^2 the force stays below
beta u_max, if c = beta^2 / (K_i S_i^-1 K_i^T), and e.S_i e decreases. The law takes the
smallest w_i in whose level set the state is, else the largest. It remembers which, and steps back
to a more aggressive one only at `DOWN` of its level: no chatter. Nearly every tilt that a force
can still recover is recovered; the price is travel.

Source: Wredenhagen and Belanger, Automatica 30 (1994) 403 (piecewise-linear LQ control with input
constraints).
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, linear_force, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State

DOWN = 0.9  # of the level at which a more aggressive gain takes over
KINDS = ("balance", "wide")  # what it is meant for, in the words of evaluation.suite


def _rising(weights: tuple[float, ...]) -> tuple[float, ...]:
    if not weights or any(a >= b for a, b in zip(weights, weights[1:])):
        raise ValueError("it must be rising, with one weight or more")
    return weights


class Options(NamedTuple):
    """The weights, the ladder of force weights, and what the plant allows."""

    position_weight: lqr.PositionWeight = 40.0
    velocity_weight: lqr.VelocityWeight = 10.0
    tilt_weight: lqr.TiltWeight = 100.0
    tilt_rate_weight: lqr.TiltRateWeight = 10.0
    force_weights: Annotated[
        tuple[float, ...],
        spec(
            "Sets the costs of the square of the force, one for each gain, from aggressive to "
            "gentle.",
            "1/N^2",
            above=0.0,
            refine=_rising,
        ),
    ] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
    overdrive: Annotated[
        float,
        spec(
            "Limits the force that a gain may ask for, as a multiple of cart.force_limit.", low=1.0
        ),
    ] = 2.0  # beta
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]


class NestedLqr:
    """The most aggressive gain in whose level set the state is."""

    def __init__(self, gains: Array, forms: Array, force_limit: float):
        self.gains = gains  # K (n, 4)
        self.forms = forms  # S / (c u_max^2), (n, 4, 4): the level sets are e.S e <= 1
        self.force_limit = force_limit  # [N]
        self.reset()

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        self.level, ux, uy = _nested_force(
            q, v, r, self.gains, self.forms, self.level, self.force_limit
        )
        return np.array((ux, uy))

    def reset(self) -> None:
        """Forget which gain ruled."""
        self.level = 0


def design(model, params, options: Options) -> NestedLqr:
    """Return the ladder for the plant that `model` builds from `params`.

    ValueError if an option is out of range, or if no gains stabilize: the cart is fixed, the rod
    has no lever.
    """
    *weights, force_weights, overdrive, h, limit = checked("nested_lqr", options)
    system = model.build(params)
    try:
        ladder = [regulator(system, weights, R, h) for R in force_weights]
    except ValueError as error:
        raise ValueError(f"controller nested_lqr: {error}; {NEEDS}") from error
    levels = [overdrive**2 / (K @ np.linalg.solve(S, K)) for K, S in ladder]
    with np.errstate(divide="ignore"):  # no force: no level set but the point
        forms = np.array([S / (c * np.square(limit)) for (_, S), c in zip(ladder, levels)])
    return NestedLqr(np.array([K for K, _ in ladder]), forms, limit)


@kernel
def _nested_force(q, v, reference, gains, forms, level, limit):
    """(level, u_x, u_y)."""
    th = tilt(q, v)
    ex = (q[0] - reference[0], v[0], th[0], th[2])
    ey = (q[1] - reference[1], v[1], th[1], th[3])
    # outside every level set a far reference must not outvote the tilt
    chosen, pull = (
        len(gains) - 1,
        limit,
    )
    for i in range(len(gains)):
        value = 0.0
        for a in range(4):
            for b in range(4):
                value += forms[i, a, b] * (ex[a] * ex[b] + ey[a] * ey[b])
        if value <= (DOWN if i < level else 1.0):
            chosen, pull = i, math.inf
            break
    ux, uy = linear_force(q, v, th, reference, gains[chosen], pull)
    ux, uy = saturate(ux, uy, limit)
    return chosen, ux, uy
