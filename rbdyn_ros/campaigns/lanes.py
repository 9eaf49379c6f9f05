"""Pendulums side by side: row by row an array holds one number of all of them, and the loops over
its columns do not branch.

Then one instruction moves eight pendulums (or four, or two: what the processor has), and a block
of `LANES` columns stays in the innermost cache. A column is a lane. Its pendulum ends when it
pleases; the lane then takes the next start. Columns do not meet: what a lane computes depends on
its start alone, not on its neighbors nor on how many there are.
"""

import math

from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.pendulum import sphere_state
from rbdyn_ros.types import Contacts, System

LANES = 64
# A row's name is where it begins: KX of lane j is a[KX + j]. With constants the compiler sees that
# rows do not overlap.
(
    # (k, k', x, x') and the spin's momentum, as in `mechanics.pendulum.sphere_state`
    KX, KY, KZ, DKX, DKY, DKZ, X, Y, VX, VY, P3,
    CART, DAMPING, ROD, LEVER, ACROSS, FRICTION, GRAVITY, FADED, FADING,  # the plant
    ASKED_X, ASKED_Y, UX, UY,  # [N] what the law asks for, what acts
    # of `nested_lqr`: the tilt, the rung that ruled and the one that may
    THX, THY, DTHX, DTHY, LEVEL, CHOSEN,
    CAUGHT, LOOKED, PUSHED_X, PUSHED_Y,  # of `swing_up`
    # the plant that it identified, and its regulator
    LENGTH, MASS, HEAVY, DRAG, GAIN_X, GAIN_V, GAIN_TH, GAIN_DTH,
    PERIODS, SINCE, CATCH, FAR, EFFORT, END, START,  # the score, how it ended, which start it was
) = range(0, 49 * LANES, LANES)  # fmt: skip
SIZE = START + LANES
_FREE = Contacts()


@inlined
def state(a, j):
    """s = (k, k', x, x') of lane j."""
    k, dk = (a[KX + j], a[KY + j], a[KZ + j]), (a[DKX + j], a[DKY + j], a[DKZ + j])
    return k, dk, (a[X + j], a[Y + j]), (a[VX + j], a[VY + j])


@inlined
def put(a, j, s):
    """Lane j to s = (k, k', x, x')."""
    a[KX + j], a[KY + j], a[KZ + j] = s[0]
    a[DKX + j], a[DKY + j], a[DKZ + j] = s[1]
    a[X + j], a[Y + j] = s[2]
    a[VX + j], a[VY + j] = s[3]


@inlined
def system(a, j):
    """The plant of lane j; its third moment is in P3 alone."""
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
    """Every lane by h [s] under the force that acts: the step of
    `mechanics.pendulum.sphere_state`.

    The joint's friction d takes the spin's momentum down as e^(-d t / I3); in a step its mean
    stands for it.
    """
    for j in range(LANES):
        p3 = a[P3 + j]
        s = sphere_state.step(
            system(a, j), p3 * a[FADING + j], (a[UX + j], a[UY + j]), state(a, j), h
        )
        put(a, j, s)
        a[P3 + j] = p3 * a[FADED + j]
