"""Measure how well `identify` finds random plants.

    python benchmarks/identify.py [--json FILE] [--quick]

Each plant has cart mass, rod mass, center, inertia and dampings of its own, within 30 % of the
default one (dampings of 0.1 N s/m and 0.02 N m s/rad), and a delay of up to 20 ms. It is balanced
by the default `lqr` for 60 s with a multisine of 6 N beside the law's force; the record has the
place of the cart and the angles, "rounded" to 0.1 mm and to the 4096 counts of an encoder or, in a
second table, with white noise of the same deviation, and the force that was commanded. The rod's
mass is known, as from a scale. Printed are the errors; the half width of the interval of 95 % that
no unbiased estimator from these samples can be better than, from the inverse of the Fisher
information (I.6), of which one period of the multisine counts where errors repeat with it; whether
that is below 1 % of the number, or 0.5 ms; how often the intervals of 95 % have the truth; and the
time of a fit. At last `lqr` is designed on the fitted plant and on the true one, and the true one
is released at 5 degrees: by how much settling time, travel, peak force and effort differ.
`--quick`: five plants.
"""

import json
import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from command_line import read

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import excitation, plant_fit, plant_numbers, records
from rbdyn_ros.integrators import select
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults
from rbdyn_ros.types import System

H, DURATION, FORCE, QUICK = 0.002, 60.0, 6.0, 5
BAND = (0.1, 5.0)  # [Hz]
LINE, CART = 2.0 * math.pi / 4096, 1e-4  # [rad], [m] of the encoders
ROUNDED, WHITE = "rounded", "white noise"
PLANTS = {ROUNDED: 200, WHITE: 50}
SPREAD, LONGEST = 0.3, 10  # of the plants; periods of delay
NAMES = plant_numbers.DEFAULT
WANTED = np.array([0.01] * 5 + [5e-4])  # relative; of the delay [s]
NORMAL = 1.96  # deviations of 95 %
TILT, RELEASED = math.radians(5.0), 8.0  # [rad], [s] of the runs of `lqr`


class Trial(NamedTuple):
    """The fit of one plant."""

    error: list[float]  # relative; of the delay [s]
    covered: list[bool]  # whether the interval has the truth
    predicted: list[float]  # half the width of the best interval, as the error
    figures: list[float]  # of `lqr`: relative differences
    seconds: float


def main() -> int:
    """Fit the plants and print."""
    arguments = read(__doc__, "write the errors of all plants", "five plants")
    results: dict[str, Any] = {"names": list(NAMES)}
    for kind, count in PLANTS.items():
        trials = []
        for seed in range(QUICK if arguments.quick else count):
            trials.append(fit(seed, kind))
            if sys.stderr.isatty():
                print(f"\r{seed + 1} of {count}", end="", file=sys.stderr, flush=True)
        print(table(kind, trials), flush=True)
        results[kind] = [trial._asdict() for trial in trials]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    return 0


def fit(seed: int, kind: str) -> Trial:
    """Fit one plant, whose measurements have errors of a kind."""
    params, delay, record = plant(np.random.default_rng(seed), kind)
    true = spherical_pendulum.build(params)
    known = spherical_pendulum.build(Params())._replace(rod_mass=params.rod_mass)
    began = time.perf_counter()
    found = plant_fit.fit([record], known)
    seconds = time.perf_counter() - began
    truth = np.array([(plant_numbers.numbers(true) | {"delay": delay})[name] for name in NAMES])
    size = np.append(truth[:5], 1.0)
    acting, _ = records.actuate(record.force, 1.0, delay, 0.0, H)
    J = plant_fit.sensitivity(
        record._replace(force=acting),
        true,
        NAMES,
        np.repeat((CART, LINE), 2) / math.sqrt(12.0),
        plant_fit.LONG,
    )
    predicted = NORMAL * np.sqrt(np.diag(np.linalg.inv(J.T @ J))) / size
    fitted = plant_numbers.plant(known, dict(zip(NAMES, found.values.tolist())))
    ours, best = (np.array(release(each, params)) for each in (fitted, true))
    return Trial(
        ((found.values - truth) / size).tolist(),
        (np.abs(found.values - truth) < found.intervals).tolist(),
        predicted.tolist(),
        (ours / best - 1.0).tolist(),
        seconds,
    )


def release(declared: System, actual: Params) -> tuple[float, ...]:
    """Return (settling time [s], travel [m], peak force [N], effort [N^2 s]) of the actual plant,
    released at `TILT`, under the default `lqr` of the declared one.
    """
    options = lqr.Options()
    law = lqr.design(
        spherical_pendulum,
        actual._replace(
            cart_mass=declared.cart_mass,
            cart_damping=declared.cart_damping,
            rod_mass=declared.rod_mass,
            rod_center_of_mass=declared.center,
            rod_inertia=declared.inertia,
            joint_damping=declared.joint_damping,
        ),
        options,
    )
    run = closed_loop.run(
        actual,
        select.select("moser_veselov"),
        law,
        spherical_pendulum.upright(TILT),
        RELEASED,
        options.period,
        closed_loop.Conditions(step=H, force_limit=20.0),
    )
    travel, peak = metrics.distances(run).max(), np.hypot(*run.force.T).max()
    return metrics.settling_time(run), float(travel), float(peak), metrics.effort(run)


def table(kind: str, trials: list[Trial]) -> str:
    """Return the errors of all plants as text."""
    error = np.abs([trial.error for trial in trials])
    predicted = np.median([trial.predicted for trial in trials], axis=0)
    covered = np.array([trial.covered for trial in trials])
    seconds, figures = [trial.seconds for trial in trials], [trial.figures for trial in trials]
    heads = "median", "95 %", "largest", "best 95 %", "told", "covered"
    lines = [f"{kind:22}" + "".join(f"{head:>11}" for head in heads)]
    for i, name in enumerate(NAMES):
        column = error[:, i]
        numbers = np.median(column), np.quantile(column, 0.95), column.max(), predicted[i]
        scale, unit = (1e3, "ms") if name == "delay" else (100.0, "%")
        text = "".join(f"{f'{scale * value:.2g} {unit}':>11}" for value in numbers)
        told = "yes" if predicted[i] < WANTED[i] else "no"
        lines.append(f"{name:22}{text}{told:>11}{covered[:, i].mean():>11.1%}")
    lines.append(f"covered, over all numbers of {len(trials)} plants: {covered.mean():.1%}")
    lines.append(f"figures of lqr: differ by {np.abs(figures).max():.2%} at most")
    lines.append(f"a fit: median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s\n")
    return "\n".join(lines)


def plant(draw: np.random.Generator, kind: str) -> tuple[Params, float, records.MotionRecord]:
    """Return (the plant, its delay [s], the record) of a random plant."""

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
        excitation.build(*BAND, H, FORCE, int(draw.integers(1 << 30)), DURATION).sample(H)
        for _ in "xy"
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
    record = records.MotionRecord(H, place, attitude, run.v, np.array(commands))
    return params, delay * H, record


if __name__ == "__main__":
    sys.exit(main())
