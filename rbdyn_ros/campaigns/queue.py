"""Starts wait in a queue for a lane; where a pendulum has ended its outcome is written down and the next one starts."""

import math

import numpy as np

from rbdyn_ros.campaigns.course import LATE, RUNNING
from rbdyn_ros.campaigns.lanes import (
    ACROSS, CART, CATCH, CAUGHT, DAMPING, EFFORT, END, FADED, FADING, FAR, FRICTION, GRAVITY, LANES, LEVER, LOOKED, P3, PERIODS,
    ROD, SINCE, SIZE, START, put,
)  # fmt: skip
from rbdyn_ros.kernel import kernel
from rbdyn_ros.models import sphere_state

PLANT = 8  # M b m l I1 I3 d g: the numbers of a plant
OUTCOME = 6  # how it ended, settled, caught [s], farthest [m], effort [N^2 s], ran for [s]
_IDLE = -1.0  # START of a lane that has nothing to do


@kernel
def lanes(course):
    """(a, late): lanes with nothing to do."""
    a, late = np.zeros(SIZE), np.zeros((course.delay + 1) * 2 * LANES)
    for j in range(LANES):
        a[START + j], a[END + j] = _IDLE, LATE
    return a, late


@kernel
def serve(course, a, late, starts, plants, following, outcomes):
    """(following, busy): write down who has ended, give the lane the start `following`, ...; how many lanes are busy.

    starts (n, 11) are q and v, plants (n, 8); outcomes (n, 6) is written.
    """
    busy = 0
    for j in range(LANES):
        if a[END + j] != RUNNING:
            if a[START + j] != _IDLE:
                _write(course, a, j, outcomes[int(a[START + j])])
                a[START + j] = _IDLE
            if following < len(starts):
                _begin(course, a, late, j, starts[following], plants[following])
                a[START + j] = following
                following += 1
        busy += a[END + j] == RUNNING
    return following, busy


@kernel
def _begin(course, a, late, j, start, plant):
    """Put `start` into lane j, and forget the one before."""
    for row in range(0, SIZE, LANES):
        a[row + j] = 0.0
    for row in range(0, len(late), LANES):
        late[row + j] = 0.0
    put(a, j, sphere_state.of_state(start[:6], start[6:]))
    cart, damping, rod, lever, across, along, friction, gravity = plant
    a[P3 + j] = along * start[10]
    a[CART + j], a[DAMPING + j], a[ROD + j], a[LEVER + j] = cart, damping, rod, lever
    a[ACROSS + j], a[FRICTION + j], a[GRAVITY + j] = across, friction, gravity
    fall = friction / along * course.period / course.steps
    a[FADED + j] = math.exp(-fall)
    a[FADING + j] = -math.expm1(-fall) / fall if fall > 0.0 else 1.0
    a[CAUGHT + j], a[LOOKED + j], a[CATCH + j] = 0.0, -math.inf, math.nan


@kernel
def _write(course, a, j, outcome):
    """The score of lane j."""
    outcome[0], outcome[1], outcome[2] = a[END + j], a[SINCE + j], a[CATCH + j]
    outcome[3], outcome[4], outcome[5] = a[FAR + j], a[EFFORT + j], a[PERIODS + j] * course.period
