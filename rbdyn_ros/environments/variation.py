"""The variation of an environment from episode to episode: the plant, where it starts, the delay,
noise and losses, by the names of a campaign.

    vary = {"rod.mass": {"uniform": [0.8, 1.2]}, "faults.command.delay": 0.01}
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.campaigns import batch, plan, quantities
from rbdyn_ros.campaigns.plan import NORMAL, UNIFORM, Draw
from rbdyn_ros.campaigns.trial import MISMATCH, start_rows
from rbdyn_ros.environments.random_numbers import uniform_of
from rbdyn_ros.faults.options import Mismatch, scale
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters.plant import plant_params
from rbdyn_ros.parameters.tables import nearest
from rbdyn_ros.schema import by_name, check, defaults
from rbdyn_ros.types import Array

SOURCE = "vary"
PHYSICS = (
    *("gravity", "cart.mass", "cart.damping", "rod.mass", "rod.length", "rod.radius"),
    "joint.damping",
)
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
    return name.startswith(("start.", MISMATCH)) or name in (
        *(*PHYSICS, *LIMITS, *LISTS, DELAY, DROP, LOSS, *NOISE),
    )


def plants(values: dict[str, Any], m: int) -> Array:
    """Return the true plants (m, 8) as `campaigns.batch.plant` has them."""
    scalars = {name: np.max(value) if name in PHYSICS else value for name, value in values.items()}
    declared = plant_params(scalars)._replace(
        **{name.replace(".", "_"): values[name] for name in PHYSICS}
    )
    factors = Mismatch(*(1.0 + values[MISMATCH + name] for name in Mismatch._fields))
    actual = scale(declared, factors)
    inertia: Any = actual.rod_inertia
    center: Any = actual.rod_center_of_mass
    numbers = (
        *(actual.cart_mass, actual.cart_damping, actual.rod_mass, center),
        *(inertia[0], inertia[2], actual.joint_damping, actual.gravity),
    )
    return np.stack([np.broadcast_to(number, m) for number in numbers], axis=1)


def tips(values: dict[str, Any], m: int) -> Array:
    """Return the lengths of the rods (m,) [m]."""
    return np.broadcast_to(values["rod.length"] * (1.0 + values[f"{MISMATCH}rod_length"]), m)
