"""The energy error of the plant's integrator where no force does work.

No law takes part.
"""

import math

import numpy as np

from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import rollout


def measure(bench, scenario, settings) -> Metric:
    """Simulate the frictionless plant, falling from a tilt, with up to ten samples a second."""
    params = bench.params._replace(
        cart_damping=0.0, joint_damping=0.0, cart_friction=0.0, joint_friction=0.0
    )
    system = spherical_pendulum.build(params)
    method = select(scenario.integrator, settings["composition"])
    start = spherical_pendulum.upright(math.radians(settings["tilt"]))
    h, steps = scenario.step, max(1, round(0.1 / scenario.step))
    rows, still = round(settings["duration"] / (steps * h)), spherical_pendulum.no_input()
    run = rollout.run(method, system, start, still, h, rows, steps)
    energy, scale = run.quantities[:, 0], system.rod_mass * system.gravity * system.center
    drift = float(np.abs(energy - energy[0]).max() / scale)
    return Metric({"drift": drift if run.ok else math.inf}, note=run.message)
