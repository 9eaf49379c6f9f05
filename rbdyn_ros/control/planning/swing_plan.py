"""The motion from hanging to upright that `ilqr` follows: found from several first guesses,
checked, and with a regulator about it.
"""

import math
from functools import lru_cache

import numpy as np
from tqdm import tqdm

from rbdyn_ros.control.feedback import regulator
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.planning import ddp
from rbdyn_ros.control.planning.catching import CatchCriteria
from rbdyn_ros.control.planning.path import Path, arrives
from rbdyn_ros.types import Array, System

NODE = 0.02  # [s] between two nodes
EFFORT, WALL = 1e-3, 10.0  # R and W of (K.18)
END = (300.0, 300.0, 300.0, 100.0, 100.0, 100.0, 300.0, 300.0, 100.0, 100.0)  # the diagonal of Q_N
GUESSES = (0.25, -0.5, 0.1)  # of the limit: a force that swings at the rod's own frequency
# relative fall of the cost; damping at which nothing helps any more
ITERATIONS, CONVERGED, LOST = (
    400,
    1e-6,
    1e6,
)
HANGING = (0.0, 0.0, -1.0) + (0.0,) * 7  # k k' x x'


def path(
    criteria: CatchCriteria, duration: float, force_edge: float, travel_edge: float, period: float
) -> Path:
    """From hanging at rest to upright in `duration` [s], within a force [N] and a distance from
    the origin [m].

    About it the regulator with the weights of `lqr`, which is also what comes after its end.
    ValueError if the best motion that was found is none: it does not arrive, or not within the
    limits of the criteria.
    """
    motion = _cheapest(criteria.system[:-1], duration, force_edge, travel_edge)
    found = _regulated(criteria.system, motion, period)
    force, far = (np.hypot(*columns.T).max() for columns in (motion.forces, motion.states[:, 6:8]))
    if (
        force > criteria.force_limit
        or far > criteria.travel
        or not arrives(found, criteria, 0.0, 0.0, motion.states[0])
    ):
        tilt = math.degrees(math.acos(max(-1.0, min(1.0, motion.states[-1, 2]))))
        raise ValueError(
            f"the best swing-up of {duration:g} s that was found needs {force:.3g} N of "
            f"{criteria.force_limit:g} and "
            f"{far:.3g} m of {criteria.travel:g}, and ends with a tilt of {tilt:.3g} degrees"
        )
    return found


@lru_cache(maxsize=8)
def _cheapest(
    numbers: tuple, duration: float, force_edge: float, travel_edge: float
) -> ddp.Motion:
    system = System(*numbers)  # without contacts, which have arrays
    cost = ddp.Cost(EFFORT, force_edge, travel_edge, WALL, np.array(END))
    firsts = [swung(system, np.array(HANGING), duration, guess * force_edge) for guess in GUESSES]
    return min((planned(system, cost, first) for first in firsts), key=lambda found: found[1])[0]


def swung(system: System, start: Array, duration: float, force: float) -> ddp.Motion:
    """A first guess: the motion from `start` (10,) under a force [N] along x, at the frequency at
    which the rod hangs.
    """
    n, J = round(duration / NODE), system.inertia[0] + system.rod_mass * system.center**2
    w = math.sqrt(system.rod_mass * system.gravity * abs(system.center) / J)
    forces = np.zeros((n, 2))
    forces[:, 0] = force * np.cos(w * NODE * np.arange(n))
    return ddp.Motion(ddp.rolled(system, start, forces, NODE), forces)


def planned(system: System, cost: ddp.Cost, motion: ddp.Motion) -> tuple[ddp.Motion, float]:
    """(motion, what it costs) where iterating from a first guess ends; the start stays."""
    price, damping = ddp.price(cost, *motion, NODE), 1e-3
    for _ in tqdm(range(ITERATIONS), desc="planning the swing-up", disable=None, leave=False):
        before = price
        motion, price, damping = ddp.improved(system, cost, motion, NODE, damping)
        if damping > LOST or 0.0 < before - price < CONVERGED * price:
            break
    return motion, price


def _regulated(system: System, motion: ddp.Motion, period: float) -> Path:
    """The motion with gains: Q and R of `lqr`, and its Riccati matrix at the end."""
    x, v, th, dth, R = lqr.Options()[:5]
    Q = np.array((th, th, th, dth, dth, dth, x, x, v, v))
    _, S = regulator(system, (x, v, th, dth), R, period)
    end = np.zeros((ddp.SIZE, ddp.SIZE))
    for axis in (0, 1):
        places = np.array((6, 8, 0, 3)) + axis  # of x, x', th, th' near upright
        end[np.ix_(places, places)] = S
    n = len(motion.forces)
    gains, forms = np.zeros((n, 2, ddp.SIZE)), np.zeros((n + 1, ddp.SIZE, ddp.SIZE))
    ddp.regulated(system, *motion, NODE, Q, R, end, gains, forms)
    return Path(*motion, gains, forms, NODE)
