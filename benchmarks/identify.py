"""How well `identify` finds random plants.

    python benchmarks/identify.py [--json FILE] [--quick]

Each plant has cart mass, rod mass, center, inertia and dampings of its own, within 30 % of the
default one (dampings of 0.1 N s/m and 0.02 N m s/rad), and a delay of up to 20 ms. It is balanced
by the default `lqr` for 60 s with a multisine of 6 N beside the law's force; the record has the
place of the cart and the angles, "rounded" to 0.1 mm and to the 4096 lines of an encoder or, in a
second table, with white noise of the same deviation, and the force that was commanded. The rod's
mass is known, as a scale tells it. Printed: relative errors, how often the
intervals of 95 % have the truth, and the time of a fit. `--quick`: five plants.
"""

import json
import math
import sys
import time
from typing import Any

import numpy as np
from command_line import read

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.faults.options import Faults
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import excitation, plant_fit, plant_numbers, records
from rbdyn_ros.mechanics.integrators import select
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params
from rbdyn_ros.simulation import closed_loop
from rbdyn_ros.types import System

H, DURATION, FORCE, PLANTS, QUICK = 0.002, 60.0, 6.0, 100, 5
LINE, CART = 2.0 * math.pi / 4096, 1e-4  # [rad], [m] of the encoders
ROUNDED, WHITE = "rounded", "white noise"
SPREAD, LONGEST = 0.3, 10  # of the plants; periods of delay


def main() -> int:
    """Fit the plants and print."""
    arguments = read(__doc__, "write the errors of all plants", "five plants")
    count = QUICK if arguments.quick else PLANTS
    results = {kind: errors(kind, count) for kind in (ROUNDED, WHITE)}
    if arguments.json:
        results["names"] = list(plant_numbers.DEFAULT)
        arguments.json.write_text(json.dumps(results, indent=1))
    return 0


def errors(kind: str, count: int) -> list[list[float]]:
    """Fit plants whose measurements have errors of a kind, print a table, and return the errors,
    those of the first four numbers relative.
    """
    found, covered, seconds = [], [], []
    for seed in range(count):
        truth, known, record = plant(np.random.default_rng(seed), kind)
        began = time.perf_counter()
        fit = plant_fit.fit([record], known)
        seconds.append(time.perf_counter() - began)
        error = fit.values - truth
        covered.append(np.abs(error) < fit.intervals)
        error[:4] /= truth[:4]
        found.append(error.tolist())
        if sys.stderr.isatty():
            print(f"\r{seed + 1} of {count}", end="", file=sys.stderr, flush=True)
    table = np.abs(found)
    print(f"{kind:22}{'median':>10}{'95 %':>10}{'largest':>10}{'covered':>10}")
    for i, name in enumerate(plant_numbers.DEFAULT):
        column = table[:, i]
        numbers = np.median(column), np.quantile(column, 0.95), column.max()
        unit = {"joint.damping": "N m s/rad", "delay": "s"}.get(name, "of the truth")
        text = "".join(f"{value:>10.2g}" for value in numbers)
        print(f"{name:22}{text}{np.mean(covered, axis=0)[i]:>10.1%}  {unit}")
    print(f"covered, over all numbers of {count} plants: {np.mean(covered):.1%}")
    print(f"a fit: median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s\n", flush=True)
    return found


def plant(draw: np.random.Generator, kind: str) -> tuple[np.ndarray, System, records.Record]:
    """(the numbers that are sought, what is known, the record) of a random plant."""

    def about(value: float) -> float:
        return value * float(draw.uniform(1.0 - SPREAD, 1.0 + SPREAD))

    usual = Params()
    default = spherical_pendulum.build(usual)
    I1, _, I3 = default.inertia
    across, mass = about(I1), about(usual.rod_mass)
    params = usual._replace(
        cart_mass=about(usual.cart_mass),
        cart_damping=about(0.1),
        rod_mass=mass,
        rod_center_of_mass=about(default.center),
        rod_inertia=(across, across, I3),
        joint_damping=about(0.02),
    )
    delay = int(draw.integers(0, LONGEST + 1))
    law = lqr.design(spherical_pendulum, usual, lqr.Options())
    waves = [
        excitation.build(0.1, 5.0, H, FORCE, int(draw.integers(1 << 30))).sample(H) for _ in "xy"
    ]
    commands: list[np.ndarray] = []

    class Excited:
        def command(self, t: float, state: Any, reference: Any) -> np.ndarray:
            at = len(commands) % len(waves[0])
            added = np.array([wave[at] for wave in waves])
            commands.append(law.command(t, state, reference) + added)
            return commands[-1]

    run = closed_loop.run(
        params,
        select.select("moser_veselov"),
        Excited(),
        spherical_pendulum.upright(0.02),
        DURATION,
        H,
        closed_loop.Conditions(step=H, faults=Faults(command_delay=delay * H)),
    )
    if not run.ok:
        raise ValueError(run.message)
    angles = quaternion.log(run.q[:, 2:])
    place, angles = (
        unit * np.round(exact / unit)
        if kind == ROUNDED
        else exact + draw.normal(0.0, unit / math.sqrt(12.0), exact.shape)
        for exact, unit in ((run.q[:, :2], CART), (angles, LINE))
    )
    attitude = quaternion.exp(angles)
    record = records.Record(H, place, attitude, run.v, np.array(commands))
    truth = np.array(
        [
            params.cart_mass,
            params.cart_damping,
            params.rod_center_of_mass,
            across,
            params.joint_damping,
            delay * H,
        ]
    )
    return truth, default._replace(rod_mass=mass), record


if __name__ == "__main__":
    sys.exit(main())
