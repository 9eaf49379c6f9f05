"""The variation of an environment from episode to episode: the plant, where it starts, the delay,
noise and losses, by the names of a campaign; and the random numbers that draw them.

    vary = {"rod.mass": {"uniform": [0.8, 1.2]}, "faults.command.delay": 0.01}

A random number depends on the episode's seed, its number and its place alone: no state, so that
the numbers are the same alone and among thousands. The n-th number of a key is mix(key + n gamma),
the generator SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
2014) with a jump to its n-th step.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from rbdyn_ros.evaluation.campaigns import batch, plan, quantities
from rbdyn_ros.evaluation.campaigns.campaign_trial import MISMATCH, start_rows
from rbdyn_ros.evaluation.campaigns.plan import NORMAL, UNIFORM, Draw
from rbdyn_ros.kernel import inlined
from rbdyn_ros.parameters.simulation import plant_params
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.faults.fault_options import Mismatch, scale
from rbdyn_ros.schema import by_name, check, defaults, nearest
from rbdyn_ros.types import Array

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@inlined
def mix(z):
    """Return the output of SplitMix64 for z (uint64): 64 bits, each of which depends on all of
    z.
    """
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


_mix = getattr(mix, "py_func", mix)  # of an array: whole numbers, so there is but one result


@inlined
def uniform(key, n):
    """Return the n-th number of a key (both uint64), uniform in (0, 1)."""
    return (float(mix(key + n * GAMMA) >> _11) + 0.5) * 2.0**-53


@inlined
def normal_pair(key, n):
    """Return numbers 2 n and 2 n + 1 of a key, normally distributed by Box and Muller's method."""
    radius = math.sqrt(-2.0 * math.log(uniform(key, n + n)))
    angle = 2.0 * math.pi * uniform(key, n + n + np.uint64(1))
    return radius * math.cos(angle), radius * math.sin(angle)


def keys(seeds: Array, episodes: Array) -> Array:
    """Return the keys (m,) of episodes (m,) of seeds (m,), both uint64."""
    return _mix(_mix(seeds) + episodes * GAMMA)


def uniform_of(keys: Array, name: str) -> Array:
    """Return the number (m,) of a name that each key draws, uniform in (0, 1)."""
    own = _mix(keys ^ np.uint64(crc32(name.encode())))
    return ((own >> _11).astype(float) + 0.5) * 2.0**-53


SOURCE = "vary"
PHYSICS = (
    "gravity", "cart.mass", "cart.damping", "rod.mass", "rod.length", "rod.radius",
    "joint.damping",
)  # fmt: skip
LIMITS = ("cart.force_limit", "cart.travel")  # of all episodes
LISTS = ("rod.center_of_mass", "rod.inertia")  # of all episodes, too
DELAY, DROP, LOSS = "faults.command.delay", "faults.command.drop", "faults.actuator.loss"
NOISE = tuple(f"faults.noise.{name}" for name in ("cart", "cart_velocity", "angle", "rate"))
FARTHEST = 8.3  # standard deviations that a normal distribution draws at most
starts = start_rows  # (values, m): where the episodes begin, q and v (m, 11)


class Variation(NamedTuple):
    """The values that are fixed, and those that each episode draws."""

    fixed: dict[str, Any]
    drawn: tuple[Draw, ...]

    @property
    def has_plants(self) -> bool:
        """Whether the plants of the episodes differ."""
        return any(d.name in PHYSICS or d.name.startswith(MISMATCH) for d in self.drawn)

    def largest(self, name: str) -> float:
        """Return the largest value that a number can have."""
        for draw in self.drawn:
            if draw.name == name:
                a, b = draw.numbers[0], draw.numbers[-1]
                largest = a + FARTHEST * b if draw.way == NORMAL else max(draw.numbers)
                return float(largest)
        return float(self.fixed[name])

    def draw(self, keys: Array, difficulty: Array) -> dict[str, Any]:
        """Return name -> value, or values (m,), for episodes with these keys (m,).

        What is drawn of the start is multiplied by the difficulty (m,).
        """
        values = dict(self.fixed)
        for draw in self.drawn:
            number = plan.transform(draw, uniform_of(keys, draw.name))
            is_start = draw.name.startswith("start.") and draw.name != "start.azimuth"
            values[draw.name] = number * difficulty if is_start else number
        return values


def read(given: Mapping[str, Any]) -> Variation:
    """Return the variation that `vary` describes. Raise ValueError for what is unknown, out of
    range, or equal in all episodes.
    """
    known = by_name(p for p in quantities.COMMON if _is_known(p.name))
    for name in given:
        if name not in known and not any(other.startswith(f"{name}.") for other in known):
            alike = "" if name in by_name(quantities.COMMON) else nearest(name, known)
            raise ValueError(
                f"{SOURCE}: {name} is nothing that an environment varies; {alike}known are "
                f"{', '.join(known)}"
            )
    found = plan.of_values(given, known, SOURCE)
    if found.axes:
        raise ValueError(
            f"{SOURCE}: {found.axes[0].name} is an axis of a grid; an environment draws: take "
            f"{UNIFORM}, {NORMAL} or choice"
        )
    for draw in found.drawn:
        if draw.name in (*LIMITS, *LISTS):
            raise ValueError(
                f"{SOURCE}: {draw.name} is equal in all episodes; give it one value, or vary "
                f"{MISMATCH}*"
            )
        if draw.way == NORMAL:
            mean, deviation = draw.numbers
            for number in (mean - FARTHEST * deviation, mean + FARTHEST * deviation):
                check(known[draw.name], number, f"{SOURCE}, at {FARTHEST:g} standard deviations")
    fixed = defaults(quantities.COMMON) | dict(found.fixed)
    variation = Variation(fixed, found.drawn)
    batch.plant(spherical_pendulum.build(plant_params(fixed)))  # or ValueError
    return variation


def _is_known(name: str) -> bool:
    names = *PHYSICS, *LIMITS, *LISTS, DELAY, DROP, LOSS, *NOISE
    return name.startswith(("start.", MISMATCH)) or name in names


def plants(values: dict[str, Any], m: int) -> Array:
    """Return the true plants (m, 8) as `evaluation.campaigns.batch.plant` has them."""
    scalars = {name: np.max(value) if name in PHYSICS else value for name, value in values.items()}
    declared = plant_params(scalars)._replace(
        **{name.replace(".", "_"): values[name] for name in PHYSICS}
    )
    factors = Mismatch(*(1.0 + values[MISMATCH + name] for name in Mismatch._fields))
    actual = scale(declared, factors)
    inertia: Any = actual.rod_inertia
    center: Any = actual.rod_center_of_mass
    numbers = (
        actual.cart_mass, actual.cart_damping, actual.rod_mass, center, inertia[0], inertia[2],
        actual.joint_damping, actual.gravity,
    )  # fmt: skip
    return np.stack([np.broadcast_to(number, m) for number in numbers], axis=1)


def tips(values: dict[str, Any], m: int) -> Array:
    """Return the lengths of the rods (m,) [m]."""
    return np.broadcast_to(values["rod.length"] * (1.0 + values[f"{MISMATCH}rod_length"]), m)
