"""The linear feedback that the laws near upright share, u = -K e per axis, and its design from
weights.
"""

from collections.abc import Callable

import numpy as np

from rbdyn_ros.control import linear_controller, riccati, step_linearization
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import Array, System

NEEDS = (
    "it needs cart.fixed false, gravity > 0, a rod whose center of mass is away from the joint, "
    "and a period that is short against the fall"
)


@inlined
def linear_force(x, v, th, reference, K, limit):
    """Return -K e per axis [N]; the norm of the reference's part alone, K_1 (reference - x), is
    cut at `limit`.

    x (2,), v (2,) of the cart, th = (th_x, th_y, th'_x, th'_y) as `pendulum.tilt`
    returns it.
    """
    pull_x, pull_y = saturate(K[0] * (reference[0] - x[0]), K[0] * (reference[1] - x[1]), limit)
    ux = pull_x - (K[1] * v[0] + K[2] * th[0] + K[3] * th[2])
    uy = pull_y - (K[1] * v[1] + K[2] * th[1] + K[3] * th[3])
    return ux, uy


@kernel
def feedback(q, v, reference, K, limit):
    """Return -K e with both norms cut, that of the reference's part and that of the sum (2,) [N].
    K (4,).
    """
    ux, uy = linear_force(q, v, tilt(q, v), reference, K, limit)
    return saturate(ux, uy, limit)


def regulator(
    system: System,
    weights,
    force_weight: float,
    h: float,
    gain: Callable[..., tuple[Array, Array]] = riccati.gain,
) -> tuple[Array, Array]:
    """Return (K (4,), S (4, 4)) that minimize the sum of h (e.Q e + w_u u^2) along the stepper's
    own linearization.

    `weights` (4,) is the diagonal of Q, `force_weight` is w_u; `gain` is one of `riccati`. Raise
    ValueError if there is no such gain.
    """
    A, B = step_linearization.upright(system, h)
    K, S = gain(A, B, h * np.diag(weights), h * np.array([[force_weight]]))
    return K[0].copy(), S


def is_stable(system: System, K: Array, h: float) -> bool:
    """Return whether the linear loop under u = -K e, held for h [s], decays."""
    controller = linear_controller.constant(K)
    return linear_controller.is_stable(controller, *step_linearization.upright(system, h))
