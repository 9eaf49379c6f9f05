"""The plant that is measured: rod 1 kg, 2.4 m on a cart of 2 kg, dropped from 10 degrees, without
friction.
"""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # a checkout need not be installed

from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.integrators.select import Integrator, names, select
from rbdyn_ros.pendulum.spherical_pendulum import (
    Params,
    build,
    no_input,
    point,
    quantities,
    upright,
)
from rbdyn_ros.types import Array, State

PARAMS = Params()
SYSTEM = build(PARAMS)
INPUT = no_input()
SCALE = PARAMS.rod_mass * PARAMS.gravity * SYSTEM.center  # m g l [J]


def start(spin: float = 0.0) -> State:
    """Return the state 10 degrees from the vertical, at rest but for the spin [rad/s]."""
    state = upright(math.radians(10.0))
    state.v[4] = spin
    return state


def energy(q: Array, v: Array) -> float:
    """Return the energy [J]."""
    return quantities(SYSTEM, q, v)[0]


def tip(q: Array) -> Array:
    """Return the rod's free end (3,) [m, world]."""
    return point(q, (0.0, 0.0, PARAMS.rod_length))


class Stepper(NamedTuple):
    """One of our integrators on the pendulum, which advances (q, v) in place."""

    integrator: Integrator
    options: tuple

    @property
    def name(self) -> str:
        return self.integrator.name

    @property
    def composition(self) -> str:
        return self.integrator.composition

    def advance(self, q: Array, v: Array, h: float, n: int) -> bool:
        """Take n steps of h [s] in place; return whether all of them converged."""
        state = State(0.0, q, v)
        done, *_ = self.integrator.advance(SYSTEM, self.options, INPUT, h, n, state, np.zeros(3))
        return done == n


def stepper(name: str, composition: str = "none") -> Stepper:
    """Return the integrator, compiled."""
    integrator = select(name, composition)
    made = Stepper(integrator, integrator.options(SYSTEM))
    state = start()
    made.advance(state.q, state.v, 1e-3, 1)
    return made


def applicable_steppers(compositions: tuple) -> list:
    """Return a stepper for every integrator that can step this pendulum, with each of the
    compositions that it admits.
    """
    found = []
    for name in names():
        integrator = select(name)
        if refusal(integrator, start()) is not None:
            continue
        admitted = compositions if integrator.symmetric else ("none",)
        found += [
            stepper(name, composition) for composition in COMPOSITIONS if composition in admitted
        ]
    return found


def refusal(integrator: Integrator, state: State) -> str | None:
    """Return why the method does not apply to the start, None if it does."""
    try:
        integrator.check(SYSTEM, state, INPUT)
    except ValueError as error:
        return str(error)
    return None
