"""The figure of a model's run.

It shows the shapes at several instants, seen along an axis of the world, the paths of the centers
of mass, and the energy over time.
"""

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import shapes
from rbdyn_ros.mechanics.description import scene
from rbdyn_ros.mechanics.description.rows import POINT
from rbdyn_ros.mechanics.runs import Record
from rbdyn_ros.parameters.model_file import ModelFile
from rbdyn_ros.types import Array

AXES = {"xz": (0, 2), "yz": (1, 2), "xy": (0, 1)}
COLORS = ("#1f6fb4", "#edae49", "#2a9d6f", "#d1495b", "#7a5195", "#58b4d6", "#8a8a8a")
INSTANTS = 6  # number of drawn instants, the last one opaque
_STILL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def figure(file: ModelFile, model: models.Model, record: Record):
    """Return a Matplotlib figure of a run, 10 by 4.5 inches, with a constrained layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(10.0, 4.5), dpi=110, layout="constrained")
    FigureCanvasAgg(drawn)
    motion, energy = drawn.subplots(1, 2, width_ratios=(1.5, 1.0))
    _draw_motion(motion, file, model, record)
    _draw_energy(energy, record)
    return drawn


def _draw_motion(axes, file: ModelFile, model: models.Model, record: Record) -> None:
    at = AXES[file.view]
    names = {name: i for i, name in enumerate(model.names.bodies)}
    chosen = np.unique(np.linspace(0, len(record.t) - 1, INSTANTS).round().astype(int))
    for i in names.values():
        path = record.q[:, i][:, at]
        axes.plot(*path.T, color=COLORS[i % len(COLORS)], linewidth=0.8, alpha=0.5)
    for n, row in enumerate(chosen):
        strength = 1.0 if row == chosen[-1] else 0.12 + 0.25 * n / INSTANTS
        for geom in file.scene.geoms.values():
            if geom.kind == "plane" or geom.body == scene.GROUND and row != chosen[-1]:
                continue
            i = names.get(geom.body)
            pose = _STILL if i is None else record.q[row, i]
            _fill(axes, outline(geom, pose)[:, at], i, strength)
        _draw_arms(axes, model, record.q[row], at, strength)
        shapeless = set(names) - {geom.body for geom in file.scene.geoms.values()}
        for name in shapeless:
            i = names[name]
            axes.plot(
                *record.q[row, i][list(at)], "o", color=COLORS[i % len(COLORS)], alpha=strength
            )
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    box = (*axes.get_xlim(), *axes.get_ylim())
    for geom in file.scene.geoms.values():
        if geom.kind == "plane" and geom.body == scene.GROUND:
            _draw_plane(axes, geom, at, box)
    _set_titles(axes, file.title, f"{file.view[0]} [m]", f"{file.view[1]} [m]")


def _draw_arms(axes, model: models.Model, q: Array, at: tuple, strength: float) -> None:
    """Draw thin lines from the centers of mass to the joints' points."""
    rows, done = model.constraints.rows, set()
    for i, joint in enumerate(model.constraints.joint):
        if rows.kind[i] != POINT or joint in done:
            continue
        done.add(joint)
        a, turned = rows.a[i], quaternion.rotate(q[rows.a[i], 3:], rows.p[i])
        ends = np.array([q[a, :3], q[a, :3] + turned])[:, at]
        axes.plot(*ends.T, color=COLORS[a % len(COLORS)], linewidth=0.8, alpha=0.8 * strength)


def outline(geom: scene.Geom, pose: Array) -> Array:
    """Return points (n, 3) [m, world] whose hull is the shape of a geom, its body at pose (7,)."""
    turn = np.linspace(0.0, 2.0 * np.pi, 33)
    ring = np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
    match geom.kind:
        case "box":
            points = shapes.corners(0.5 * np.asarray(geom.size))
        case "cylinder":
            up = np.array([0.0, 0.0, 0.5 * geom.size[1]])
            points = np.vstack([geom.size[0] * ring + up, geom.size[0] * ring - up])
        case "sphere" | "capsule":
            half = 0.5 * geom.size[1] if geom.kind == "capsule" else 0.0
            height = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 17)
            ball = np.vstack([np.cos(a) * ring + (0.0, 0.0, np.sin(a)) for a in height])
            points = geom.size[0] * ball + np.where(ball[:, 2:] < 0.0, -half, half) * [
                0.0,
                0.0,
                1.0,
            ]
        case _:
            points = np.zeros((1, 3))
    points = np.asarray(geom.position) + quaternion.rotate(
        np.asarray(geom.orientation, float), points
    )
    return pose[:3] + quaternion.rotate(pose[3:], points)


def _fill(axes, points: Array, body: int | None, strength: float) -> None:
    from scipy.spatial import ConvexHull, QhullError

    color = "#555555" if body is None else COLORS[body % len(COLORS)]
    try:
        hull = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # a point, or edge on
        axes.plot(*points[[0, -1]].T, color=color, alpha=strength, marker=".")
        return
    axes.fill(*hull.T, facecolor=color, edgecolor=color, alpha=0.75 * strength, linewidth=1.0)


def _draw_plane(axes, geom: scene.Geom, at: tuple, box: tuple) -> None:
    """Draw the line in which a plane of the world meets the picture."""
    n = quaternion.rotate(np.asarray(geom.orientation, float), np.array([0.0, 0.0, 1.0]))[list(at)]
    if np.linalg.norm(n) < 1e-9:
        return
    point, along = np.asarray(geom.position, float)[list(at)], np.array([-n[1], n[0]])
    middle = np.array([0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3])])
    middle = middle - n * (n @ (middle - point)) / (n @ n)
    axes.plot(*middle, alpha=0.0)  # axline does not widen the limits
    axes.axline(middle, middle + along, color="#555555", linewidth=1.5)


def _draw_energy(axes, record: Record) -> None:
    potential = record.energy - record.kinetic
    for values, color, label in (
        (record.kinetic, "#1f6fb4", "kinetic"),
        (potential - potential[0], "#2a9d6f", "potential, over its start"),
        (record.energy - potential[0], "#222222", "their sum"),
    ):
        axes.plot(record.t, values, color=color, label=label, linewidth=1.3)
    _set_titles(axes, "Energy", "time [s]", "[J]")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 3}
    axes.legend(fontsize=9, frameon=False, **below)


def _set_titles(axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
