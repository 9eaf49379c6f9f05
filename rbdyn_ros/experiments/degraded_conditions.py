"""The lqr under noise, delay, loss and a degraded drive: the measured and the true tilt, and the
force.
"""

import math

import numpy as np

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation.metrics import tilt
from rbdyn_ros.experiments import figures
from rbdyn_ros.experiments.outcome import Outcome, above, below, track_progress, word
from rbdyn_ros.faults.options import FAULTS, Faults, faults
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.tables import OFFLINE
from rbdyn_ros.parameters.yaml_file import read_values
from rbdyn_ros.schema import defaults
from rbdyn_ros.simulation.closed_loop import Conditions
from rbdyn_ros.simulation.closed_loop import run as closed_loop
from rbdyn_ros.types import Array

QUESTION = (
    "A regulator is designed without faults. Does it keep the rod upright where sensors are "
    "noisy, states and commands late or lost,\n"
    "  and the drive worn, in the shipped scenarios? And at which delay does it fail?"
)
SCENARIOS = ("noisy", "delayed", "lossy", "worn")
START, PERIOD, FORCE_LIMIT = math.radians(10.0), 0.002, 20.0  # [rad], [s], [N]
TOO_LATE = 0.12  # [s] beyond the delay margin, 103 ms
MEASURED, TRUE = "#e08e79", "#1f6fb4"


def run(short: bool, progress) -> Outcome:
    """Run without faults, with the faults of the scenarios, and with a delay beyond the margin."""
    duration = 6.0 if short else 12.0
    cases = {
        "perfect": Faults(),
        **{name: scenario_faults(name) for name in SCENARIOS},
        "too late": Faults(command_delay=TOO_LATE),
    }
    tables = {}
    for name, wrong in track_progress(cases.items(), progress):
        tables[word(name)] = simulate(wrong, duration)
    again = simulate(cases["lossy"], duration)
    return Outcome(tables, _claims(tables, again))


def scenario_faults(scenario: str) -> Faults:
    """Return the faults of a file of config/scenarios."""
    return faults(defaults(FAULTS) | read_values([config("scenarios", f"{scenario}.yaml")]))


def simulate(wrong: Faults, duration: float) -> dict[str, Array]:
    """Return a run from ten degrees: t, true and measured tilt, distance of the cart, force."""
    declared = plant_params(defaults(OFFLINE) | read_values([config("pendulum.yaml")]))
    law = lqr.design(spherical_pendulum, declared, lqr.Options(force_limit=FORCE_LIMIT))
    conditions = Conditions(
        force_limit=FORCE_LIMIT,
        faults=wrong,
        stop=lambda t, q, v: "it fell" if tilt(q[None])[0] > 1.2 else "",
    )
    loop = closed_loop(
        declared,
        select("moser_veselov"),
        law,
        spherical_pendulum.upright(START),
        duration,
        PERIOD,
        conditions,
    )
    n = len(loop.force)
    return {
        "t": loop.t[:n],
        "tilt": tilt(loop.q[:n]),
        "tilt_measured": tilt(loop.seen[:n, :6]),
        "cart": np.hypot(*loop.q[:n, :2].T),
        "force": np.hypot(*loop.force.T),
    }


def _claims(tables: dict, again: dict) -> tuple:
    ends = {name: np.degrees(table["tilt"][-500:].max()) for name, table in tables.items()}
    stand = [below(f"{name}: tilt in the last second", ends[name], 0.5, "°") for name in SCENARIOS]
    same = max(float(np.abs(again[name] - tables["lossy"][name]).max()) for name in again)
    late = above(
        f"commands {1e3 * TOO_LATE:g} ms late: tilt at the end", ends["too_late"], 2.0, "°"
    )
    return (
        *stand,
        late,
        below("lossy, the same seed once more: difference of any number", same, 1e-300),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw measured tilt, true tilt and force of each scenario, and those without faults."""
    perfect = outcome.tables["perfect"]
    tilts, forces = figure.subplots(2, len(SCENARIOS), sharex=True, sharey="row")
    for upper, lower, name in zip(tilts, forces, SCENARIOS):
        table = outcome.tables[name]
        wide = {"color": figures.GREY, "linewidth": 3.5, "alpha": 0.35}
        upper.plot(perfect["t"], np.degrees(perfect["tilt"]), label="without faults", **wide)
        for column, color, width, label in (
            ("tilt_measured", MEASURED, 0.8, "measured"),
            ("tilt", TRUE, 1.4, "true"),
        ):
            line = {"color": color, "linewidth": width, "label": label}
            upper.plot(table["t"], np.degrees(table[column]), **line)
        lower.plot(table["t"], table["force"], color=TRUE, linewidth=0.7)
        lower.plot(perfect["t"], perfect["force"], **wide)
        figures.label_axes(upper, name, "", "tilt [°]")
        figures.label_axes(lower, "", "time [s]", "force that acts [N]")
        upper.set_xlim(0.0, 3.5)
        upper.label_outer()
        lower.label_outer()
    figure.axes[0].legend()
