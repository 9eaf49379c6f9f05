"""The tilt of `mechanics.pendulum.tilt` without a call to atan2 or hypot, so that a loop over
lanes becomes vector instructions.

For a unit vector k with k_z >= 0 and n = (k_x, k_y), let c = cos(th/2) and tau = tan(th/4):

    c = sqrt((1 + k_z)/2),    tau^2 = (1 - c)/(1 + c) = (|n| / (2 c (1 + c)))^2 <= tan(pi/8)^2,
    th / |n| = 4 arctan(tau) / |n| = 2 P(tau^2) / (c (1 + c)),    arctan(tau) = tau P(tau^2),

so upright is no special case. Below the horizon th = pi - (th of -k_z).
"""

import math

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined

# Of P: arctan(sqrt(w))/sqrt(w), interpolated at the 11 Chebyshev points of [0, tan(pi/8)^2]; it is
# off by at most 3.5e-17.
P = (
    1.0, -0.3333333333332844, 0.1999999999885511, -0.14285714180976467, 0.11111106180455946,
    -0.09090773074808414,
    0.07689953496306857, -0.06640233930429408, 0.056883492268090106, -0.04348052215716462,
    0.021135373157693246,
)  # fmt: skip


@inlined
def tilt(k, dk):
    """(th_x, th_y, th'_x, th'_y) of the direction k (3,) and its rate dk (3,), as
    `mechanics.pendulum.tilt` defines them.

    Hanging exactly, th = (pi, 0).
    """
    n2, W = k[0] * k[0] + k[1] * k[1], vec.cross(k, dk)
    c = math.sqrt(0.5 + 0.5 * abs(k[2]))
    w = n2 / (4.0 * c * c * (1.0 + c) * (1.0 + c))
    p = P[5] + w * (P[6] + w * (P[7] + w * (P[8] + w * (P[9] + w * P[10]))))
    p = P[0] + w * (P[1] + w * (P[2] + w * (P[3] + w * (P[4] + w * p))))
    above = 2.0 * p / (c * (1.0 + c))
    n = math.sqrt(n2)
    ratio = above if k[2] >= 0.0 else math.pi / (n if n > 0.0 else 1.0) - above
    thx = math.pi if n == 0.0 and k[2] < 0.0 else ratio * k[0]
    return thx, ratio * k[1], W[1], -W[0]
