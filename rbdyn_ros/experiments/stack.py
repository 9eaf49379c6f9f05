"""Boxes and balls on top of each other: their contact forces against statics, and the solvers on
the friction problems of their steps.
"""

import time
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import accelerations, projection
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import contact_pairs
from rbdyn_ros.bodies.runs import run as simulate
from rbdyn_ros.experiments import scenes
from rbdyn_ros.experiments.outcome import (
    GREY,
    METHOD_COLORS,
    Outcome,
    above,
    below,
    columns,
    label_axes,
    track_progress,
    where,
    word,
)
from rbdyn_ros.experiments.scenes import ModelParts
from rbdyn_ros.figures import BLUE, GREEN, NAVY, PINK, PURPLE, RED, SKY, YELLOW
from rbdyn_ros.numerics.solvers import fc3d, registry
from rbdyn_ros.types import Array

TOUCHING = 1e-9  # [m]


class StackRun(NamedTuple):
    """Rows of a run, one for each step."""

    t: Array  # (k,) [s]
    q: Array  # (k, n, 7)
    speed: Array  # (k,) largest of the bodies [m/s]
    gap: Array  # (k,) smallest of the contacts [m]
    force: Array  # (k, levels) normal force of each level [N], the mean of the step
    problems: list  # friction problems of some steps


def settle(
    stack: ModelParts, h: float, duration: float, keep: int = 0, on_a_level: int = 4
) -> StackRun:
    """Simulate a stack, with `on_a_level` contacts in each of its joints; the friction problem of
    every `keep`-th step is kept (0: none). Raise RuntimeError if a step fails.
    """
    model = models.build(*stack)
    record = simulate(model, h, round(duration / h), 1)
    if not record.ok:
        raise RuntimeError(f"the stack at steps of {h:g} s: {record.message}")
    t, q, v, impulses = (x[1:] for x in (record.t, record.q, record.v, record.contacts[..., 0]))
    force = np.add.reduceat(impulses, range(0, impulses.shape[1], on_a_level), axis=1) / h
    gap = np.array([contact_pairs.gaps(model.pairs, row).min() for row in q])
    kept = [k for k in range(0, len(t), keep) if force[k, 0] > 0.0] if keep else []
    problems = [_problem(model, q[k], v[k], h) for k in kept]
    return StackRun(t, q, np.abs(v[..., :3]).max(axis=(1, 2)), gap, force, problems)


def _problem(model: models.Model, q: Array, v: Array, h: float) -> fc3d.Problem:
    """Return the friction problem that stops the bodies after a free fall for h from a state: W,
    the velocities of the contacts that touch, mu.
    """
    touching = np.flatnonzero(contact_pairs.gaps(model.pairs, q) <= TOUCHING)
    v = v + h * np.append(model.bodies.gravity, np.zeros(3))
    memory, still = projection.memory_of(model), np.zeros_like(v)
    found = accelerations.evaluate(memory, q, v, still, touching)
    return fc3d.problem(found.G, found.u, model.pairs.mu[touching])


QUESTION = (
    "Five boxes fall onto each other and lie still; four lean over a table's edge; a ball rests "
    "on three. More contacts carry\n"
    "  them than are needed: are the forces the weights, does nothing creep, does what must fall "
    "fall, and which solver copes?"
)
# [s] step; end of a run, without motion; run of a stack that falls
STEP, REST, FALL = 2e-3, 0.2, 0.7
WEIGHT = scenes.GRAVITY  # [N] of a body of 1 kg
LIMIT = np.tan(scenes.steepness() / 2.0)  # friction that the pyramid needs
MARGIN = 0.02  # on each side of the limit of statics
TOP = 20.0  # [kg]
STANDING = ("tower", "top-heavy", "overhang", "pyramid")
FALLING = ("overhang too far", "pyramid too smooth")
COLORS = {
    "tower": BLUE,
    "top-heavy": PURPLE,
    "overhang": GREEN,
    "pyramid": SKY,
    "overhang too far": YELLOW,
    "pyramid too smooth": RED,
}
SOLVERS = ("fc3d_hybrid", "fc3d_newton", "fc3d_admm", "fc3d_nsgs")
TOLERANCE = 1e-8


def build_stacks() -> dict[str, scenes.ModelParts]:
    """Return the stacks by name."""
    return {
        "tower": scenes.tower(),
        "top-heavy": scenes.tower(top=TOP),
        "overhang": scenes.overhang(share=1.0 - MARGIN),
        "pyramid": scenes.pyramid((1.0 + MARGIN) * LIMIT),
        "overhang too far": scenes.overhang(share=1.0 + MARGIN),
        "pyramid too smooth": scenes.pyramid((1.0 - MARGIN) * LIMIT),
    }


def weights() -> dict[str, Array]:
    """Return the weight that each level of a standing stack must carry [N], from the floor up."""
    each = np.arange(5, 0, -1.0)
    return {
        "tower": WEIGHT * each,
        "top-heavy": WEIGHT * (each + TOP - 1.0),
        "overhang": WEIGHT * each[1:],
        "pyramid": WEIGHT * np.array([4.0, 1.0, 0.0]),
    }


def run(short: bool, progress) -> Outcome:
    """Simulate every stack, then solve the friction problems of the towers by every solver."""
    duration, keep, runs = (0.4 if short else 2.0), (20 if short else 10), {}
    for name, stack in track_progress(build_stacks().items(), progress, end=0.7):
        kept = keep if name in ("tower", "top-heavy") else 0
        on_a_level = 3 if name.startswith("pyramid") else 4
        runs[name] = settle(stack, STEP, duration if name in STANDING else FALL, kept, on_a_level)
    tables = {word(name): _table(run) for name, run in runs.items()}
    tables |= {"rest": _rest(runs), "solvers": _solve(runs, 3 if short else 12)}
    progress(1.0)
    return Outcome(tables, _claims(tables))


def _table(run) -> dict:
    """Return a run as columns: speed, gap, force of each level, x, z and pitch of each body."""
    table = {"t": run.t, "speed": run.speed, "gap": run.gap}
    table |= {f"force_{i}": run.force[:, i] for i in range(run.force.shape[1])}
    for i in range(run.q.shape[1]):
        pitch = 2.0 * np.arctan2(run.q[:, i, 5], run.q[:, i, 3])
        table |= {f"x_{i}": run.q[:, i, 0], f"z_{i}": run.q[:, i, 2], f"pitch_{i}": pitch}
    return table


def _rest(runs: dict) -> dict:
    """Return the errors of the standing stacks against statics, row by row of STANDING."""
    rows, expected = [], weights()
    for name in STANDING:
        run, end = runs[name], runs[name].t > runs[name].t[-1] - REST
        creep = np.ptp(run.q[end, :, :3], axis=0).max()
        wrong = np.abs(run.force[end] - expected[name]).max() / expected[name][0]
        rows.append((name, run.speed[end].max(), creep, max(0.0, -run.gap.min()), wrong))
    return columns("stack speed creep overlap force_error", rows)


def _solve(runs: dict, most: int) -> dict:
    """Return the results of every solver on the problems of both towers, without initial guess:
    success, residual, time.
    """
    rows = []
    for name in ("tower", "top-heavy"):
        problems = runs[name].problems[:most]
        for solver in (registry.select(method, TOLERANCE) for method in SOLVERS):
            registry.solve(solver, problems[0])  # compiles
            for problem in problems:
                start = time.perf_counter()
                found = registry.solve(solver, problem)
                seconds = time.perf_counter() - start
                rows.append(
                    (name, solver.name, found.ok, found.residual, found.iterations, seconds)
                )
    return columns("stack solver solved residual iterations seconds", rows)


def _claims(tables: dict) -> tuple:
    claims, solvers = [], tables["solvers"]
    for name, speed, creep, overlap, wrong in zip(*tables["rest"].values()):
        claims += [
            below(f"{name}: speed at rest", speed, 1e-9, "m/s"),
            below(f"{name}: creep in the last 0.2 s", creep, 1e-12, "m"),
            below(f"{name}: deepest overlap, landing included", overlap, 1e-10, "m"),
            below(f"{name}: normal forces against the weights, relative", wrong, 1e-6),
        ]
    for name in FALLING:
        top = tables[word(name)]["z_3"]  # both are stacks of four
        claims.append(above(f"{name}: the top sinks by", top[0] - top[-1], 1e-3, "m"))
    hybrid = solvers["solver"] == "fc3d_hybrid"
    return (
        *claims,
        below(
            "friction problems of the towers that the hybrid does not solve",
            np.sum(~solvers["solved"][hybrid]),
            0.5,
        ),
        below("its largest residual", solvers["residual"][hybrid].max(), TOLERANCE * 1.001),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the overhang, the landing, the pyramid; speeds, force errors, solvers."""
    tables = outcome.tables
    (lean, landing, pyramid), (speed, share, solvers) = figure.subplots(2, 3)
    _draw_overhang(lean, tables)
    _draw_landing(landing, tables["top-heavy"])
    for name in ("pyramid", "pyramid too smooth"):
        table = tables[word(name)]
        seen = table["t"] <= 0.4
        sunk = 1e3 * (table["z_3"] - table["z_3"][0])
        pyramid.plot(
            table["t"][seen], sunk[seen], color=COLORS[name], label=name[8:] or "rough enough"
        )
    pyramid.legend(loc="lower left")
    label_axes(
        pyramid,
        f"Ball on three, μ = {LIMIT:.3f} ± 2 %",
        "time [s]",
        "height of the upper ball [mm]",
    )
    for name, color in COLORS.items():
        table = tables[word(name)]
        speed.semilogy(
            table["t"], np.maximum(table["speed"], 1e-18), color=color, linewidth=1.1, label=name
        )
    speed.legend(fontsize=8)
    label_axes(speed, "What stands is at rest", "time [s]", "largest speed [m/s]")
    _draw_forces(share, tables)
    _draw_solvers(solvers, tables["solvers"])


def _draw_overhang(axes, tables: dict) -> None:
    from matplotlib.patches import Rectangle
    from matplotlib.transforms import Affine2D

    for name, face in (("overhang", COLORS["overhang"]), ("overhang too far", "none")):
        table = tables[word(name)]
        for i in range(4):
            x, z, pitch = (table[f"{key}_{i}"][-1] for key in ("x", "z", "pitch"))
            pose = Affine2D().rotate(-pitch).translate(x, z) + axes.transData
            edge = "white" if face != "none" else COLORS[name]
            look = {"facecolor": face, "edgecolor": edge, "linewidth": 1.4, "transform": pose}
            width, _, height = 2.0 * scenes.HALF
            axes.add_patch(Rectangle((-width / 2.0, -height / 2.0), width, height, **look))
    axes.plot([-0.75, 0.0, 0.0], [0.0, 0.0, -0.15], color=METHOD_COLORS["truth"], linewidth=2.0)
    axes.set(xlim=(-0.75, 0.9), ylim=(-0.15, 1.0))
    axes.set_aspect("equal")
    axes.set_axisbelow(True)
    label_axes(axes, "98 % of the limit, and 102 %", "x [m]", "z [m]")


def _draw_landing(axes, table: dict) -> None:
    seen = table["t"] <= 0.4
    for level, shade in enumerate((NAVY, PURPLE, PINK)):
        index = 2 * level
        axes.plot(
            table["t"][seen],
            table[f"force_{index}"][seen],
            color=shade,
            linewidth=1.3,
            label=f"under box {index + 1}",
        )
        axes.axhline(weights()["top-heavy"][index], color=GREY, linewidth=0.6, linestyle=":")
    axes.set_yscale("log")
    axes.set_ylim(bottom=10.0)
    axes.legend()
    label_axes(
        axes, "Five boxes land, one of 20 kg", "time [s]", "normal force, and weight (dotted) [N]"
    )


def _draw_forces(axes, tables: dict) -> None:
    rest, places = tables["rest"], np.arange(len(STANDING))
    axes.bar(
        places,
        np.maximum(rest["force_error"], 1e-17),
        color=[COLORS[name] for name in STANDING],
        width=0.6,
    )
    axes.plot(
        places,
        np.maximum(rest["overlap"], 1e-17),
        "v",
        color=METHOD_COLORS["truth"],
        label="deepest overlap [m]",
    )
    axes.set_yscale("log")
    axes.set_axisbelow(True)
    axes.set_xticks(places, STANDING)
    axes.set_ylim(1e-17, 1e-3)
    axes.legend()
    label_axes(axes, "Forces are the weights", "stack", "error of the forces [–], overlap [m]")


def _draw_solvers(axes, table: dict) -> None:
    for k, (stack, marker) in enumerate((("tower", "o"), ("top-heavy", "s"))):
        for i, method in enumerate(SOLVERS):
            mine = where(table, stack=stack, solver=method)
            times, at = 1e3 * table["seconds"][mine], i + 0.24 * k - 0.12
            look = {"markersize": 5, "alpha": 0.6, "label": stack if i == 0 else ""}
            axes.semilogy(np.full(len(times), at), times, marker, color=COLORS[stack], **look)
            share = f"{table['solved'][mine].sum()}/{mine.sum()}"
            words = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
            axes.annotate(share, (at, times.max()), (0, 5 + 9 * k), color=COLORS[stack], **words)
    axes.set_xticks(range(len(SOLVERS)), [name[5:] for name in SOLVERS])
    axes.margins(x=0.1, y=0.15)
    axes.legend(loc="upper left")
    label_axes(axes, "Solvers: time, and solved of all", "solver", "time [ms]")
