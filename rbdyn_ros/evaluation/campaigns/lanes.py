"""Pendulums in parallel lanes: each row of an array holds one number of all of them, and the loops
over its columns do not branch.

Then one instruction advances eight pendulums (or four, or two, by the processor), and a block of
`LANES` columns stays in the innermost cache. A column is a lane. Its pendulum ends at any time;
the lane then takes the next start. Lanes are independent: the result of a lane depends on its
start alone, not on its neighbors nor on how many there are.

`tilt` is that of `pendulum.tilt` without a call to atan2 or hypot, so that a loop over
lanes becomes vector instructions.

For a unit vector k with k_z >= 0 and n = (k_x, k_y), let c = cos(th/2) and tau = tan(th/4):

    c = sqrt((1 + k_z)/2),    tau^2 = (1 - c)/(1 + c) = (|n| / (2 c (1 + c)))^2 <= tan(pi/8)^2,
    th / |n| = 4 arctan(tau) / |n| = 2 P(tau^2) / (c (1 + c)),    arctan(tau) = tau P(tau^2),

so upright is no special case. Below the horizon th = pi - (th of -k_z).
"""

import math

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.types import Contacts, System

LANES = 64
# A row's name is where it begins: KX of lane j is a[KX + j]. With constants the compiler sees that
# rows do not overlap.
(
    # (k, k', x, x') and the spin's momentum, as in `pendulum.sphere_state`
    KX, KY, KZ, DKX, DKY, DKZ, X, Y, VX, VY, P3,
    CART, DAMPING, ROD, LEVER, ACROSS, FRICTION, GRAVITY, FADED, FADING,  # the plant
    ASKED_X, ASKED_Y, UX, UY,  # [N] the command, the acting force
    # of `nested_lqr`: the tilt, the present rung and the one by the level sets
    THX, THY, DTHX, DTHY, LEVEL, CHOSEN,
    CAUGHT, LOOKED, PUSHED_X, PUSHED_Y,  # of `swing_up`
    # the plant that it identified, and its regulator
    LENGTH, MASS, HEAVY, DRAG, GAIN_X, GAIN_V, GAIN_TH, GAIN_DTH,
    PERIODS, SINCE, CATCH, FAR, EFFORT, END, START,  # the score, the end, the number of the start
) = range(0, 49 * LANES, LANES)  # fmt: skip
SIZE = START + LANES
_FREE = Contacts()


@inlined
def state(a, j):
    """Return s = (k, k', x, x') of lane j."""
    k, dk = (a[KX + j], a[KY + j], a[KZ + j]), (a[DKX + j], a[DKY + j], a[DKZ + j])
    return k, dk, (a[X + j], a[Y + j]), (a[VX + j], a[VY + j])


@inlined
def put(a, j, s):
    """Set lane j to s = (k, k', x, x')."""
    a[KX + j], a[KY + j], a[KZ + j] = s[0]
    a[DKX + j], a[DKY + j], a[DKZ + j] = s[1]
    a[X + j], a[Y + j] = s[2]
    a[VX + j], a[VY + j] = s[3]


@inlined
def system(a, j):
    """Return the plant of lane j; its third moment is in P3 alone."""
    across = a[ACROSS + j]
    inertia = (across, across, across)
    return System(
        a[CART + j],
        1.0,
        a[DAMPING + j],
        a[ROD + j],
        a[LEVER + j],
        inertia,
        a[FRICTION + j],
        a[GRAVITY + j],
        _FREE,
    )


@part
def begin(a, j, start, plant, h):
    """Put the plant (8,) into lane j, at `start` (11,), for steps of h [s]."""
    put(a, j, sphere_state.of_state(start[:6], start[6:]))
    cart, damping, rod, lever, across, along, friction, gravity = plant
    a[P3 + j] = along * start[10]
    a[CART + j], a[DAMPING + j], a[ROD + j], a[LEVER + j] = cart, damping, rod, lever
    a[ACROSS + j], a[FRICTION + j], a[GRAVITY + j] = across, friction, gravity
    fall = friction / along * h
    a[FADED + j] = math.exp(-fall)
    a[FADING + j] = -math.expm1(-fall) / fall if fall > 0.0 else 1.0


@part
def step(a, h):
    """Advance every lane by h [s] under the acting force, by the step of
    `pendulum.sphere_state`.

    The joint's friction d reduces the spin's momentum as e^(-d t / I3); in a step its mean is
    used.
    """
    for j in range(LANES):
        p3 = a[P3 + j]
        s = sphere_state.step(
            system(a, j), p3 * a[FADING + j], (a[UX + j], a[UY + j]), state(a, j), h
        )
        put(a, j, s)
        a[P3 + j] = p3 * a[FADED + j]


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
    """Return (th_x, th_y, th'_x, th'_y) of the direction k (3,) and its rate dk (3,), as defined
    by `pendulum.tilt`.

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
