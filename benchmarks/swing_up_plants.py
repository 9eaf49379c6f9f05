"""Compare `swing_up` with the planned swing-up of `ilqr` on random plants of every size.

    python benchmarks/swing_up_plants.py [--plants 200] [--starts 10] [--seed 1] [--plan]

A plant has a rod of 0.1 to 30 m and 0.01 to 10 kg, a cart of 0.2 to 10 times its mass (0.01 to 10
kg), a travel of 0.3 to 3 times the distance l of its center of mass from the joint, a force limit
of 0.5 to 3 times its weight, and dampings of the joint and the cart that are drawn in its natural
units. Each runs from hanging, slightly disturbed, for 90 s or, where that is longer, 120 natural
times; leaving the travel is a failure. `--plan` asks `ilqr` for a motion of up to 30 s where a
start fails: what it does not find either counts as impossible.
"""

import argparse
import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control import scale
from rbdyn_ros.control.laws import ilqr, swing_up
from rbdyn_ros.evaluation.campaigns import batch
from rbdyn_ros.evaluation.campaigns.episode import Episode
from rbdyn_ros.pendulum import spherical_pendulum

DURATION, NATURAL = 90.0, 120.0  # [s], natural times
LONGEST = 30.0  # [s] of a planned motion
PLANNED = (9.4, 20.0)  # durations that are tried, in natural times, and up to 1.7 times as long


class Plant(NamedTuple):
    """A plant and its drive."""

    params: spherical_pendulum.Params
    force_limit: float  # [N]
    travel: float  # [m]


def draw(rng: np.random.Generator) -> Plant:
    """Draw a plant."""

    def spread(low: float, high: float) -> float:
        return float(math.exp(rng.uniform(math.log(low), math.log(high))))

    length, mass = spread(0.1, 30.0), spread(0.01, 10.0)
    cart = min(10.0, max(0.01, mass * spread(0.2, 10.0)))
    travel, force = rng.uniform(0.3, 3.0) * 0.5 * length, rng.uniform(0.5, 3.0) * mass * 9.81
    params = spherical_pendulum.Params(
        rod_length=length, rod_mass=mass, cart_mass=cart, rod_radius=0.01 * length
    )
    system = spherical_pendulum.build(params)
    natural = scale.of_plant(system)
    inertia = system.rod_mass * system.center * natural.length
    params = params._replace(
        cart_damping=spread(0.003, 0.3) * (cart + mass) / natural.time,
        joint_damping=spread(0.0005, 0.05) * inertia / natural.time,
    )
    return Plant(params, float(force), float(travel))


def options(plant: Plant, period: float) -> dict[str, float]:
    """Return the options that the laws share."""
    return {"force_limit": plant.force_limit, "travel": plant.travel, "period": period}


def run(
    plant: Plant, starts: int, rng: np.random.Generator
) -> tuple[swing_up.SwingUp, np.ndarray]:
    """Return (law, times [s] from which the rod stands, nan: never) of random starts."""
    T = scale.of_plant(spherical_pendulum.build(plant.params)).time
    period = min(0.002, 0.0125 * T)
    law = swing_up.design(
        spherical_pendulum, plant.params, swing_up.Options(**options(plant, period))
    )
    rows = np.zeros((starts, 11))
    for row in rows:
        tilt, azimuth = math.pi - rng.uniform(0.0, 0.05), rng.uniform(0.0, 2.0 * math.pi)
        state = spherical_pendulum.upright(tilt, azimuth)
        row[:6], row[6:] = state.q, (0.0, 0.0, *rng.normal(0.0, 0.008 / T, 2), 0.0)
    near = 0.03 * plant.params.gravity * T**2
    duration = max(DURATION, NATURAL * T)
    episode = Episode(duration, period, 1, 0, plant.travel, math.radians(2.0), near, hold=2.5 * T)
    return law, batch.run(law, plant.params, rows, episode, threads=1).settled


def can_be_planned(plant: Plant) -> bool:
    """Return whether `ilqr` finds a motion of at most `LONGEST` seconds."""
    T = scale.of_plant(spherical_pendulum.build(plant.params)).time
    for duration in (n * T for n in PLANNED if ilqr.LONGER[-1] * n * T <= LONGEST):
        law = ilqr.design(
            spherical_pendulum,
            plant.params,
            ilqr.Options(duration=duration, **options(plant, 0.002)),
        )
        try:
            law.prepare()
        except RuntimeError:
            continue
        return True
    return False


def main() -> None:
    """Print one line for each plant that fails, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plants", type=int, default=200)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plan", action="store_true", help="ask ilqr where a start fails")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    good = possible = unexpected = 0
    for number in range(arguments.plants):
        plant = draw(rng)
        law, settled = run(plant, arguments.starts, rng)
        stood = int(np.isfinite(settled).sum())
        planned = stood == arguments.starts or not arguments.plan or can_be_planned(plant)
        unexpected += law.swings_up != (stood == arguments.starts)
        if planned:
            possible, good = possible + arguments.starts, good + stood
        if stood < arguments.starts:
            p = plant.params
            print(
                f"{number}: {stood}/{arguments.starts} of a rod of {p.rod_length:.3g} m and "
                f"{p.rod_mass:.3g} kg on {p.cart_mass:.3g} kg, {plant.force_limit:.3g} N, "
                f"{plant.travel:.3g} m; planned: {planned}; design: {law.notes() or 'swings up'}",
                flush=True,
            )
    print(
        f"{good} of {possible} starts = {100.0 * good / possible:.1f} % where a swing-up is "
        f"known; design was wrong about {unexpected} plants"
    )


if __name__ == "__main__":
    main()
