"""The lqr under noise, delay, loss and a degraded drive: the measured and the true tilt, and the
force.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.evaluation.metrics import tilt
from rbdyn_ros.experiments.outcome import (
    BEHIND,
    Outcome,
    above,
    below,
    label_axes,
    track_progress,
    word,
)
from rbdyn_ros.figures import BLUE, ORANGE
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.yaml_file import Override, assignment
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import Array

QUESTION = (
    "A regulator is designed without faults. Does it keep the rod upright where sensors are "
    "noisy, states and commands late or lost,\n"
    "  and the drive worn, in the shipped scenarios? And at which delay does it fail?"
)
SCENARIOS = ("noisy", "delayed", "lossy", "worn")
START = math.radians(10.0)  # [rad]
TOO_LATE = 0.12  # [s] beyond the delay margin, 103 ms
MEASURED, TRUE = ORANGE, BLUE


def run(short: bool, progress) -> Outcome:
    """Run without faults, with the faults of the scenarios, and with a delay beyond the margin."""
    duration = 6.0 if short else 12.0
    files = {name: [config("scenarios", f"{name}.yaml")] for name in SCENARIOS}
    late = [assignment(f"faults.command.delay={TOO_LATE}")]
    cases: dict[str, tuple] = {"perfect": ((), ()), **{name: (files[name], ()) for name in files}}
    cases["too late"] = (), late
    tables = {
        word(name): simulate(duration, *case)
        for name, case in track_progress(cases.items(), progress)
    }
    return Outcome(tables, _claims(tables, simulate(duration, files["lossy"])))


def simulate(
    duration: float, files: Iterable[Path] = (), overrides: Iterable[Override] = ()
) -> dict[str, Array]:
    """Return a run from ten degrees, as `simulate --controller lqr` makes it: t, true and measured
    tilt, distance of the cart, force.
    """
    paths = [str(path) for path in (config("pendulum.yaml"), *files)]
    values = closed_loop_table.values("lqr", lqr, paths, overrides)
    loop = closed_loop_table.make_loop("lqr", lqr, values)
    found = closed_loop_table.run(
        loop._replace(state=spherical_pendulum.upright(START)),
        duration,
        lambda t, q, v: "it fell" if tilt(q[None])[0] > 1.2 else "",
    )
    n = len(found.force)
    return {
        "t": found.t[:n],
        "tilt": tilt(found.q[:n]),
        "tilt_measured": tilt(found.seen[:n, :6]),
        "cart": np.hypot(*found.q[:n, :2].T),
        "force": np.hypot(*found.force.T),
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
        upper.plot(perfect["t"], np.degrees(perfect["tilt"]), label="without faults", **BEHIND)
        for column, color, width, label in (
            ("tilt_measured", MEASURED, 0.8, "measured"),
            ("tilt", TRUE, 1.4, "true"),
        ):
            shown = np.degrees(table[column])
            upper.plot(table["t"], shown, color=color, linewidth=width, label=label)
        lower.plot(table["t"], table["force"], color=TRUE, linewidth=0.7)
        lower.plot(perfect["t"], perfect["force"], **BEHIND)
        label_axes(upper, name, "", "tilt [°]")
        label_axes(lower, "", "time [s]", "force that acts [N]")
        upper.set_xlim(0.0, 3.5)
        upper.label_outer()
        lower.label_outer()
    figure.axes[0].legend()
