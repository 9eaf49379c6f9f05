"""Joints in two formulations: half-step impulses inside a variational step, or multipliers of the
accelerations.
"""

from itertools import product

import numpy as np

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.experiments import scenes
from rbdyn_ros.experiments.outcome import (
    Outcome,
    above,
    below,
    between,
    label_axes,
    plot_envelope,
    slope,
    track_progress,
)
from rbdyn_ros.experiments.scenes import ModelParts
from rbdyn_ros.figures import BLUE, RED, YELLOW

QUESTION = (
    "A chain of rods, a door, a top on a plane: what do their joints and their energy lose over "
    "time if the joints are part\n"
    "  of the step, and what if their multipliers make accelerations for Runge-Kutta, stabilized "
    "or not?"
)
MACHINES = {
    "chain": (scenes.chain, "Chain of five rods"),
    "door": (scenes.door, "Door on two hinges"),
    "top": (scenes.top_on_plane, "Top on a plane"),
}
STEP = 0.005  # [s]
PARTS = 25  # of the time: longer than the machines swing to one side
ALPHA = 10.0  # [1/s] of the stabilization
METHODS = {
    "variational": (BLUE, "joints in the variational step"),
    "multipliers": (YELLOW, "multipliers, Runge–Kutta"),
    "stabilized": (RED, "multipliers, stabilized"),
}


def run(short: bool, progress) -> Outcome:
    """Simulate every machine by every method; short: 8 s, else 40 s."""
    rows, records = round((8.0 if short else 40.0) / STEP), {}
    machines = {name: make() for name, (make, _) in MACHINES.items()}
    for name, method in track_progress(product(MACHINES, METHODS), progress, end=0.9):
        records[name, method] = simulate(machines[name], method, STEP, rows)
    tables = {name: _table(machine, records, name) for name, machine in machines.items()}
    tables["order"] = _orders(scenes.chain(3))
    progress(1.0)
    return Outcome(tables, _claims(records, tables["order"]))


def simulate(machine: ModelParts, method: str, h: float, rows: int, every: int = 1) -> runs.Record:
    """Simulate a machine in motion by one of METHODS. Raise RuntimeError if a step fails."""
    if method == "variational":
        record = runs.run(models.build(*machine), h, rows, every)
    else:
        alpha = ALPHA if method == "stabilized" else 0.0
        record = runs.multiplier_run(models.build(*machine), alpha, h, rows, every)
    if not record.ok:
        raise RuntimeError(f"{method}: {record.message}")
    return record


def support(machine: ModelParts, record: runs.Record) -> np.ndarray:
    """Return the force (rows, 3) [N] with which all joints to the world hold the machine."""
    assert machine.constraints is not None
    world = machine.constraints.rows.b == WORLD
    of_world = [
        world[machine.constraints.joint.index(joint)] for joint in range(len(record.names))
    ]
    return record.reactions[:, of_world, 0, :3].sum(axis=1)


def _table(machine: ModelParts, records: dict, name: str) -> dict:
    table = {"t": records[name, "variational"].t}
    for method in METHODS:
        record = records[name, method]
        table[f"{method}_energy_error"] = record.energy - record.energy[0]
        table[f"{method}_opening"] = record.opening
        table[f"{method}_support"] = np.linalg.norm(support(machine, record), axis=1)
    return table


def _orders(machine) -> dict:
    """Return the distance of the variational steps from the multipliers' motion after half a
    second.
    """
    steps = np.array([50, 100, 200])
    truth = simulate(machine, "multipliers", 0.5 / 4000, 1, 4000).q[-1]
    errors = [
        np.abs(simulate(machine, "variational", 0.5 / n, 1, n).q[-1, :, :3] - truth[:, :3]).max()
        for n in steps
    ]
    return {"step": 0.5 / steps, "distance": np.array(errors)}


def _machine_claims(records: dict, name: str) -> tuple:
    """Return the claims on the joints and the energy of one machine."""
    mean, multipliers, stabilized = (records[name, method] for method in METHODS)
    worst = np.abs(mean.energy - mean.energy[0]).max() / mean.kinetic.max()
    bound = {"chain": 0.05, "door": 1e-3, "top": 5e-3}[name]
    ratio = stabilized.opening[-1] / multipliers.opening[-1]
    return (
        below(f"{name}: the joints of the variational step open by", mean.opening.max(), 1e-12),
        below(f"{name}: its energy error, over the largest kinetic energy", worst, bound),
        below(f"{name}: that error in the second half, over the first's", _growth(mean), 3.0),
        above(f"{name}: joints open without stabilization by", multipliers.opening.max(), 1e-12),
        below(f"{name}: stabilized, over unstabilized", ratio, 1.0),
    )


def _claims(records: dict, orders: dict) -> tuple:
    claims = [claim for name in MACHINES for claim in _machine_claims(records, name)]
    first = round(1.0 / STEP)
    mean, at = (
        support(scenes.door(), records["door", method])[: first + 1]
        for method in ("variational", "stabilized")
    )
    apart = (
        np.linalg.norm(mean[1:] - 0.5 * (at[1:] + at[:-1]), axis=1).max()
        / np.linalg.norm(at, axis=1).max()
    )
    claims.append(
        below(
            "door: forces on its hinges in the first second, by both methods, differ by",
            apart,
            2e-4,
        )
    )
    order = slope(orders["step"], orders["distance"])
    claims.append(between("chain: both methods agree with order", order, 1.9, 2.1))
    return tuple(claims)


def _growth(record) -> float:
    half = len(record.t) // 2
    error = np.abs(record.energy - record.energy[0])
    return float(error[half:].max() / error[:half].max())


def draw(outcome: Outcome, figure) -> None:
    """Draw the energy error above, the opening of the joints below, one column for each machine:
    the largest in each of PARTS parts of the time, for they oscillate.
    """
    panels = figure.subplots(2, len(MACHINES), sharex="col")
    for column, (name, (_, title)) in enumerate(MACHINES.items()):
        table = outcome.tables[name]
        energy, opening = panels[:, column]
        for method, (color, label) in METHODS.items():
            line = {"color": color, "label": label, "linewidth": 1.2}
            for axes, what, least in (
                (energy, "energy_error", 1e-16),
                (opening, "opening", 1e-18),
            ):
                plot_envelope(axes, table["t"], table[f"{method}_{what}"], PARTS, least, **line)
        label_axes(energy, title, "", "largest |energy error| [J]" if column == 0 else "")
        opens = "largest opening of the joints [m, –]" if column == 0 else ""
        width = table["t"][-1] / PARTS
        label_axes(opening, "", f"time [s], in parts of {width:.2g} s", opens)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
