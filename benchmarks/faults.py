"""Find how large each fault may be under the lqr: the largest one after which the rod still comes
to rest.

    python benchmarks/faults.py [--json FILE] [--quick]

The plant and the law are the shipped ones, 500 Hz, 20 N, without nodes. Each case is 20 s from 5
degrees under three seeds; the rod is at rest if the cart stays within 5 m and the tilt of the last
4 s below 1 degree. Bisection, so a gap below the edge would not be found.
"""

import json
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from command_line import read
from tqdm import tqdm

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation.metrics import tilt
from rbdyn_ros.integrators.select import select
from rbdyn_ros.numerics.bracket import edge
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant.closed_loop import Conditions, run
from rbdyn_ros.plant.faults.fault_options import Drive, Encoder, Faults, Mismatch, SensorNoise

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
PERIOD, DURATION, LAST, SEEDS = 0.002, 20.0, 2000, (0, 1, 2)  # [s], [s], instants at the end


class Question(NamedTuple):
    """A fault of size x; `shown` formats the edge."""

    fault: Callable
    largest: float
    shown: Callable = "{:.3g}".format


QUESTIONS = {
    "command.delay": Question(
        lambda x: Faults(command_delay=x), 0.2, lambda x: f"{1e3 * x:.0f} ms"
    ),
    "state.delay": Question(lambda x: Faults(state_delay=x), 0.2, lambda x: f"{1e3 * x:.0f} ms"),
    "command.jitter": Question(
        lambda x: Faults(command_jitter=x), 0.4, lambda x: f"{1e3 * x:.0f} ms"
    ),
    "command.jitter, 30 % lost": Question(
        lambda x: Faults(command_jitter=x, command_drop=0.3), 0.4, lambda x: f"{1e3 * x:.0f} ms"
    ),
    "command.drop": Question(lambda x: Faults(command_drop=x), 1.0),
    "state.drop": Question(lambda x: Faults(state_drop=x), 1.0),
    "state.freeze": Question(lambda x: Faults(state_freeze=x), 1.0),
    "noise.angle": Question(
        lambda x: Faults(noise=SensorNoise(angle=x)), 0.1, lambda x: f"{math.degrees(x):.2g}°"
    ),
    "encoder.gimbal": Question(
        lambda x: Faults(encoder=Encoder(gimbal=1.0 / x if x else 0.0)),
        0.02,
        lambda x: f"{1.0 / x:.0f} counts",
    ),
    "actuator.dead_band": Question(
        lambda x: Faults(actuator=Drive(dead_band=x)), 10.0, lambda x: f"{x:.2g} N"
    ),
    "actuator.saturation": Question(
        lambda x: Faults(actuator=Drive(saturation=20.0 - x)), 19.9, lambda x: f"{20.0 - x:.2g} N"
    ),
    "actuator.rate_limit": Question(
        lambda x: Faults(actuator=Drive(rate_limit=1.0 / x if x else 0.0)),
        0.1,
        lambda x: f"{1.0 / x:.0f} N/s",
    ),
    "actuator.lag": Question(
        lambda x: Faults(actuator=Drive(lag=x)), 0.4, lambda x: f"{1e3 * x:.0f} ms"
    ),
    "actuator.loss": Question(lambda x: Faults(actuator=Drive(loss=x)), 1.0),
    "mismatch.rod_length": Question(
        lambda x: Faults(mismatch=Mismatch(rod_length=x)), 3.0, "+{:.2g}".format
    ),
    "mismatch.rod_mass": Question(
        lambda x: Faults(mismatch=Mismatch(rod_mass=x)), 9.0, "+{:.2g}".format
    ),
}


def stands(law, faults: Faults, seeds: tuple) -> bool:
    """Return whether the rod comes to rest under every seed."""
    integrator, start = select("moser_veselov"), spherical_pendulum.upright(math.radians(5.0))
    for seed in seeds:
        conditions = Conditions(force_limit=20.0, travel=5.0, faults=faults, seed=seed)
        played = run(PLANT, integrator, law, start, DURATION, PERIOD, conditions)
        if played.ended or played.fault or np.degrees(tilt(played.q[-LAST:]).max()) > 1.0:
            return False
    return True


def main() -> None:
    """Find the edges, print the table, write the numbers."""
    asked = read(
        __doc__,
        "the edges as JSON",
        "one seed, and edges to a twentieth of their range instead of a hundredth",
    )
    law = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    edges = {}
    for name, question in tqdm(QUESTIONS.items(), unit="fault"):
        seeds, parts = (SEEDS[:1], 20) if asked.quick else (SEEDS, 100)
        edges[name] = edge(
            lambda x, question=question, seeds=seeds: stands(law, question.fault(x), seeds),
            question.largest,
            question.largest / parts,
        ).holds
    for name, x in edges.items():
        print(f"| `{name}` | {QUESTIONS[name].shown(x)} |")
    if asked.json:
        asked.json.write_text(json.dumps(edges, indent=1))


if __name__ == "__main__":
    main()
