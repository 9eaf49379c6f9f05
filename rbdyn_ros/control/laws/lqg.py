"""The linear-quadratic-Gaussian regulator: a Kalman filter on cart and tilt, and the regulator on
its estimate.

It never sees a rate: per axis, with y = (x - r, th), the noise n of that measurement and a
disturbance d of the force,

    e_{k+1} = A e_k + B (u_k + d_k),    y_k = C e_k + n_k,
    ê_k = ê-_k + G (y_k - C ê-_k),    u_k = -K ê_k,    ê-_{k+1} = A ê_k + B f_k,            (K.25)

K that of `control.laws.lqr`, G the stationary gain, f_k the force within its limit. The set point
does not pass the filter (two degrees of freedom). All uncertainty stands at the force, so a larger
`force_noise` moves the loop towards that of `lqr`, with its margins (loop transfer recovery), and
lets more of the noise through.

Source: J. C. Doyle and G. Stein, Robustness with observers, IEEE Trans. Automatic Control 24
(1979) 607.
"""

from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control import linear_controller, riccati, step_linearization
from rbdyn_ros.control.feedback import NEEDS, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.linear_controller import POSITIONS, LinearLaw
from rbdyn_ros.schema import spec

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite

CartNoise = Annotated[
    float, spec("Sets the standard deviation of the cart's measured place.", "m", above=0.0)
]
AngleNoise = Annotated[
    float, spec("Sets the standard deviation of the measured tilt.", "rad", above=0.0)
]
ReferenceSpeed = Annotated[
    float,
    spec("Limits the speed at which the reference moves to the set point.", "m/s", above=0.0),
]


class Options(NamedTuple):
    """The weights of the regulator, what the filter assumes, and what the plant allows."""

    position_weight: lqr.PositionWeight = 40.0
    velocity_weight: lqr.VelocityWeight = 10.0
    tilt_weight: lqr.TiltWeight = 100.0
    tilt_rate_weight: lqr.TiltRateWeight = 10.0
    force_weight: lqr.ForceWeight = 0.1
    force_noise: Annotated[
        float,
        spec("Sets the spectral density of the force's disturbance.", "N/sqrt(Hz)", above=0.0),
    ] = 2.0
    cart_noise: CartNoise = 1e-4
    angle_noise: AngleNoise = 4e-4
    reference_speed: ReferenceSpeed = 0.5
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]


def design(model, params, options: Options) -> LinearLaw:
    """Return the law for the plant that `model` builds from `params`.

    ValueError if an option is out of range, or if no gains stabilize.
    """
    o = checked("lqg", options)
    system, weights = model.build(params), o[:4]
    A, B = step_linearization.upright(system, o.period)
    try:
        K, _ = regulator(system, weights, o.force_weight, o.period)
        # (A, G) of the filter are (A^T, C^T) of a regulator: its noise is per period
        disturbed = o.force_noise**2 / o.period * B @ B.T
        noise = np.diag((o.cart_noise, o.angle_noise)) ** 2
        _, Sigma = riccati.gain(A.T, POSITIONS.T, disturbed, noise)
    except ValueError as error:
        raise ValueError(f"controller lqg: {error}; {NEEDS}") from error
    G = np.linalg.solve(POSITIONS @ Sigma @ POSITIONS.T + noise, POSITIONS @ Sigma).T
    kept, moves = np.eye(4) - G @ POSITIONS, A - B * K
    controller = linear_controller.dynamic(
        moves @ kept,
        moves @ G @ POSITIONS,
        K @ kept,
        K @ G @ POSITIONS,
        windup=B[:, 0],
        moved=np.eye(4)[0],
        start=POSITIONS.T @ POSITIONS,
    )
    return LinearLaw(controller, o.force_limit, o.reference_speed * o.period)
