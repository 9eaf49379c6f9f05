"""Runs of a model of several bodies from its file, as `simulate --model` does them, their tables,
and their figure: the shapes at several instants, seen along an axis of the world, the paths of the
centers of mass, and the energy over time.
"""

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs, shapes
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.description import rigid_bodies, scene
from rbdyn_ros.bodies.description.rows import POINT
from rbdyn_ros.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PALETTE,
    canvas,
    draw_legend,
    label_axes,
    save,
)
from rbdyn_ros.files import write_or_rescue, write_table
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.composition import COMPOSITIONS
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.origin import describe
from rbdyn_ros.parameters import command_line, model_file
from rbdyn_ros.parameters.command_line import cannot_write, number_or, optional_file, output_file
from rbdyn_ros.plant import joint_columns
from rbdyn_ros.plant.rollout import Rows, Sources, impact_units, plan_rows
from rbdyn_ros.progress import bar
from rbdyn_ros.schema import setting
from rbdyn_ros.types import Array

STEP = setting("--step", 1e-3, "s", above=0.0)
DURATION = setting("--duration", 10.0, "s", above=0.0)
EVERY = setting("--every", 1e-3, "s", above=0.0)  # from row to row; by default the step
IMPACTS = 20_000  # largest number of impacts that are kept
MOST_NUMBERS = 100_000_000  # in a table: 0.8 GB
PENDULUM_ONLY = (
    *("params_file", "set", "integrator", "controller"),
    *("scenario", "tilt", "azimuth", "push"),
)
QUATERNION = "qw", "qx", "qy", "qz"
# by a column's name without x, y, z and n at its end: of a body, a joint or a contact, and of all
UNITS_OF_PARTS = {"": "m", "v": "m/s", "w": "rad/s", "f": "N", "t": "N m", "P": "N s", "C": "m"}
UNITS_OF_ALL = {"t": "s", "E": "J", "work": "J", "P": "kg m/s", "L": "kg m^2/s"}
AXES = {"xz": (0, 2), "yz": (1, 2), "xy": (0, 1)}
COLORS = PALETTE
INSTANTS = 6  # number of drawn instants, the last one opaque
_STILL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
DONE, CANNOT_WRITE, BAD_INPUT, FAILED, SIGNAL = 0, 1, 2, 3, 128


class ModelJob(NamedTuple):
    """A run: its model, its options and its files."""

    file: model_file.ModelFile
    model: models.Model
    composition: str  # "none", or one that raises the order of a model without contacts
    step: float  # [s]
    rows: Rows
    duration: float  # [s] as requested
    out: Path
    events: Path | None
    picture: Path | None


def job(arguments: argparse.Namespace) -> ModelJob:
    """Return the run that the arguments describe. Raise ValueError, with one sentence, for
    arguments that do not fit together.
    """
    out = output_file("--out", arguments.out, command_line.TABLES)
    events = optional_file("--events", arguments.events, command_line.IMPACTS, out)
    for word in PENDULUM_ONLY:
        if getattr(arguments, word) not in (None, [], ()):
            option = f"--{word.replace('_', '-')}"
            raise ValueError(
                f"{option} is given with --model, but it is the pendulum's; leave one of them out"
            )
    path = model_file.find(arguments.model)
    file = model_file.read(path)
    step = number_or(STEP, arguments.step, file.step or STEP.default)
    duration = number_or(DURATION, arguments.duration, file.duration or DURATION.default)
    every = number_or(EVERY, arguments.every, file.every or step)
    law = file.impact_law if arguments.impact_law is None else arguments.impact_law
    if law not in restitution.LAWS:
        known = ", ".join(restitution.LAWS)
        raise ValueError(f"--impact-law is {law}; it must be one of {known}")
    sources = _sources(arguments, file, path)
    planned = plan_rows(duration, every, step, "step", sources)
    if planned.count < 1:
        rule = f"it must be at least {sources.every}, which is {every:g} s"
        raise ValueError(f"{sources.duration} is {duration:g} s; {rule}")
    composition = "none" if arguments.composition is None else arguments.composition
    touches = file.scene.contacts
    if composition != "none" and (composition not in COMPOSITIONS or touches):
        known = f"one of {', '.join(COMPOSITIONS)}"
        fit = "none, for it has contacts" if touches else known
        raise ValueError(f"--composition is {composition}; for {path} it must be {fit}")
    if events and not touches:
        raise ValueError(
            f"--events is given, but {path} has no contacts; write some below contacts:"
        )
    width = 13 * len(file.scene.bodies) + 8 * len(file.scene.joints) + 7 * len(file.scene.contacts)
    if planned.count * width > MOST_NUMBERS:
        least = every * planned.count * width / MOST_NUMBERS
        raise ValueError(
            f"{sources.duration} {duration:g} s with a row every {every:g} s is more than "
            f"{MOST_NUMBERS} numbers; take an --every of at least {least:.1g} s"
        )
    picture = optional_file("--picture", arguments.picture, command_line.PICTURES)
    options = models.Options(impact_law=law, impacts=IMPACTS)
    model = model_file.build(file, path, options)
    models.require_short(model, step, composition)
    return ModelJob(file, model, composition, step, planned, duration, out, events, picture)


def _sources(arguments: argparse.Namespace, file: model_file.ModelFile, path: Path) -> Sources:
    """Return what the numbers of the rows are called: options, or words of the file."""

    def source(word: str) -> str:
        if getattr(arguments, word) is None and getattr(file, word):
            return f"{word} of {path}"
        return "the step" if word == "every" and arguments.every is None else f"--{word}"

    return Sources(*map(source, Sources._fields))


def run(planned: ModelJob, say) -> int:
    """Simulate and write the files. Return the exit code, as `simulate` defines it."""
    for note in planned.file.notes:
        say(f"note: {note}", DONE)
    if note := planned.rows.note(planned.duration):
        say(note, DONE)
    last = planned.rows.every * planned.rows.count
    models.stepper(planned.model, planned.composition)
    with Interruption() as stop:
        with bar(last, "s simulated") as show:

            def go_on(t: float) -> bool:
                show(min(t, last))
                return not stop.signal

            began = time.perf_counter()
            rows, steps = planned.rows.count, planned.rows.steps
            record = runs.run(planned.model, planned.step, rows, steps, go_on, planned.composition)
            seconds = time.perf_counter() - began
        return _write_and_report(planned, record, seconds, stop.signal, say)


def columns(
    file: model_file.ModelFile, model: models.Model, record: runs.Record
) -> dict[str, Array]:
    """Return the columns of a run by name, each (rows,).

    t [s]; of each body BODY.x y z [m, world, center of mass], qw qx qy qz (body to world), vx vy
    vz [m/s, world], wx wy wz [rad/s, body]; of each joint JOINT.fx fy fz [N, world] and tx ty tz
    [N m, axes and center of mass of the first body]: the load on its first body, the mean
    since the row before, and JOINT.position, rate (`joint_columns`); of each contact CONTACT.Pn
    along the normals and Px Py Pz [N s, world] on the body of its first geom, or of the second if
    the first is a plane or fixed to the world, since the row before, and Cx Cy Cz [m, world] where
    it acted last, the center of the normal impulses, nan without any; E [J], work [J] of moving
    walls, less the dissipation of dampers, Px Py Pz [kg m/s], Lx Ly Lz [kg m^2/s, about the
    origin], opening: the constraint error of the joints [m] or [-].
    """
    table = {"t": record.t}

    def add(name: str, words: str, rows: Array) -> None:
        table.update({f"{name}{word}": rows[:, k] for k, word in enumerate(words.split())})

    for i, name in enumerate(model.names.bodies):
        add(f"{name}.", "x y z qw qx qy qz", record.q[:, i])
        add(f"{name}.", "vx vy vz wx wy wz", record.v[:, i])
    for i, name in enumerate(joint_names(record)):
        add(f"{name}.", "fx fy fz tx ty tz", record.reactions[:, i, 0])
    table |= joint_columns.columns(file.scene.joints, model.names.bodies, record, file.positions)
    for i, name in enumerate(contact_names(model)):
        add(f"{name}.", "Pn Px Py Pz", record.contacts[:, i])
        add(f"{name}.", "Cx Cy Cz", record.points[:, i])
    table |= {"E": record.energy, "work": record.work}
    add("P", "x y z", rigid_bodies.momentum(model.bodies, record.v))
    add("L", "x y z", rigid_bodies.angular_momentum(model.bodies, record.q, record.v))
    return table | {"opening": record.opening}


def units(file: model_file.ModelFile, names: Iterable[str]) -> dict[str, str]:
    """Return the units of the columns of a run by their names, "" for pure numbers."""
    joints = file.scene.joints

    def unit(name: str) -> str:
        owner, dot, word = name.rpartition(".")
        if word in ("opening", *QUATERNION):
            return ""
        if dot and word.startswith(("position", "rate")):
            length = "m" if joints[owner].kind == "prismatic" else "rad"
            return length if word.startswith("position") else f"{length}/s"
        return (UNITS_OF_PARTS if dot else UNITS_OF_ALL)[word.rstrip("xyzn")]

    return {name: unit(name) for name in names}


def impact_columns(model: models.Model, record: runs.Record) -> dict[str, Array]:
    """Return the columns of the impacts: t [s], contact, bodies, P_n P_t1 P_t2 [N s], u_n before
    and after [m/s].
    """
    impacts, names, bodies = record.impacts, contact_names(model), (*model.names.bodies, "world")
    pairs = impacts[:, 1].astype(int)
    called = [names[model.names.contact_of[k]] for k in pairs]
    between = [f"{bodies[model.pairs.a[k]]} on {bodies[model.pairs.b[k]]}" for k in pairs]
    words = ("P_n", "P_t1", "P_t2", "u_n_minus", "u_n_plus")
    return {
        "t": impacts[:, 0],
        "contact": np.array(called, object),
        "bodies": np.array(between, object),
    } | {word: impacts[:, 2 + k] for k, word in enumerate(words)}


def joint_names(record: runs.Record) -> tuple[str, ...]:
    """Return the joints' own names."""
    return tuple(name.split(" ")[1] for name in record.names)


def contact_names(model: models.Model) -> tuple[str, ...]:
    """Return the contacts' own names."""
    return tuple(name.removeprefix("contact ") for name in model.names.contacts)


def _write_and_report(
    planned: ModelJob, record: runs.Record, seconds: float, signal: int, say
) -> int:
    """Write the files, report them, and return the exit code."""
    file, model, places, elsewhere = planned.file, planned.model, [], []

    def keep(path: Path, write) -> Path:
        place, sentence = write_or_rescue(path, write)
        elsewhere.extend(filter(None, [sentence]))
        return place

    def keep_table(path: Path, table: dict[str, Array], units: dict[str, str], title: str) -> Path:
        place = keep(path, lambda draft: write_table(table, draft))
        if place.is_file():
            describe(place, units, title)
        return place

    try:
        table = columns(file, model, record)
        places.append(keep_table(planned.out, table, units(file, table), file.title))
        if planned.events:
            impacts, title = impact_columns(model, record), f"{file.title}: impacts"
            path = keep_table(planned.events, impacts, impact_units(impacts), title)
            lost = models.impact_count(model) - len(record.impacts)
            more = f", {lost} more did not fit" if lost else ""
            say(f"{path}: {len(record.impacts)} impacts{more}", DONE)
        if planned.picture:
            drawn = figure(planned.file, model, record)
            place = keep(planned.picture, lambda draft: save(drawn, draft, file.title))
            say(f"{place}: the motion and its energy", DONE)
    except OSError as error:
        sentence = cannot_write(error, planned.out, "make room, or choose another place")
        return say(sentence, CANNOT_WRITE)
    print(_summary(planned, places[0], record, seconds))
    for sentence in elsewhere:
        say(sentence, CANNOT_WRITE)
    if record.ok:
        return CANNOT_WRITE if elsewhere else DONE
    code = SIGNAL + signal if record.message == runs.INTERRUPTED else FAILED
    at = f" at t = {record.t[-1]:.6g} s" if record.message == runs.INTERRUPTED else ""
    return say(f"{record.message}{at}; {places[0]} has the rows until then", code)


def _summary(planned: ModelJob, out: Path, record: runs.Record, seconds: float) -> str:
    steps = round(record.t[-1] / planned.step)
    pace = f"{record.t[-1] / max(seconds, 1e-9):.3g} times real time"
    work = f"{steps} steps of {planned.step:g} s in {seconds:.2g} s, {pace}"
    balance = record.energy - record.work
    less = " less the work of drives and dampers" if record.work.any() else ""
    parts = [f"{out}: {len(record.t)} rows", work]
    drift = f"at most {np.abs(balance - balance[0]).max():.2g} J from its start"
    parts.append(f"energy {record.energy[-1]:.9g} J,{less} {drift}")
    if record.names:
        parts.append(f"joints open by at most {record.opening.max():.2g}")
    if planned.file.scene.contacts:
        parts.append(f"{models.impact_count(planned.model)} impacts")
    return "; ".join(parts)


def figure(file: model_file.ModelFile, model: models.Model, record: runs.Record):
    """Return a Matplotlib figure of a run, 10 by 4.5 inches, with a constrained layout."""
    drawn = canvas(10.0, 4.5, dpi=110)
    motion, energy = drawn.subplots(1, 2, width_ratios=(1.5, 1.0))
    _draw_motion(motion, file, model, record)
    _draw_energy(energy, record)
    return drawn


def _draw_motion(
    axes, file: model_file.ModelFile, model: models.Model, record: runs.Record
) -> None:
    at = AXES[file.view]
    geoms = scene.replace_moving_geoms(file.scene).geoms.values()
    finite, planes = (
        [g for g in geoms if (g.kind == "plane") == is_plane] for is_plane in (False, True)
    )
    names = {name: i for i, name in enumerate(model.names.bodies)}
    unbounded = {geom.body for geom in planes} - {geom.body for geom in finite}
    seen = {name: i for name, i in names.items() if name not in unbounded}
    chosen = np.unique(np.linspace(0, len(record.t) - 1, INSTANTS).round().astype(int))
    for i in seen.values():
        path = record.q[:, i][:, at]
        axes.plot(*path.T, color=COLORS[i % len(COLORS)], linewidth=0.8, alpha=0.5)
    for n, row in enumerate(chosen):
        strength = 1.0 if row == chosen[-1] else 0.12 + 0.25 * n / INSTANTS
        for geom in finite:
            if geom.body == scene.GROUND and row != chosen[-1]:
                continue
            i = names.get(geom.body)
            pose = _STILL if i is None else record.q[row, i]
            _fill(axes, outline(geom, pose)[:, at], i, strength)
        _draw_arms(axes, model, record.q[row], at, strength)
        for name in set(seen) - {geom.body for geom in finite}:
            i = names[name]
            axes.plot(
                *record.q[row, i][list(at)], "o", color=COLORS[i % len(COLORS)], alpha=strength
            )
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    box = (*axes.get_xlim(), *axes.get_ylim())
    for geom in planes:
        i = names.get(geom.body)
        _draw_plane(axes, geom, _STILL if i is None else record.q[-1, i], at, box)
    x, y = (f"{name} [m]" for name in file.view)
    label_axes(axes, x, y, file.title, size=10.0)
    _draw_gravity(axes, np.asarray(file.scene.gravity)[list(at)], "z" in file.view)


def _draw_gravity(axes, gravity: Array, has_vertical: bool) -> None:
    """Draw the direction of the gravity (2,) [m/s^2] in the plane of the picture, to its right: a
    slope is a level plane under a gravity that leans.
    """
    from matplotlib.transforms import ScaledTranslation

    size = float(np.linalg.norm(gravity))
    if size < 1e-9:
        return
    arrow = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.4, "shrinkA": 0.0, "shrinkB": 0.0}
    x, y = 16.0 / 72.0 * gravity / size  # [inch]
    inches, middle = axes.figure.dpi_scale_trans, 26.0 / 72.0
    tail = axes.transAxes + ScaledTranslation(middle - x, -y, inches)
    head = axes.transAxes + ScaledTranslation(middle + x, y, inches)
    place = {"xycoords": head, "textcoords": tail, "annotation_clip": False}
    axes.annotate("", (1.0, 0.9), (1.0, 0.9), arrowprops=arrow, **place)
    lean = abs(np.degrees(np.arctan2(gravity[0], -gravity[1])))
    text = "gravity"
    if not has_vertical:
        text += f"\nin this\nplane,\n{size:.2g} m/s²"
    elif lean > 0.05:
        text += f",\n{lean:.0f}° from\nthe vertical"
    below = {"xytext": (6.0, -22.0), "textcoords": "offset points", "ha": "left", "va": "top"}
    axes.annotate(text, (1.0, 0.9), xycoords="axes fraction", fontsize=9, color=BLACK, **below)


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
            points = geom.size[0] * ball + np.where(ball[:, 2:] < 0.0, -half, half) * np.eye(3)[2]
        case _:
            points = np.zeros((1, 3))
    points = np.asarray(geom.position) + quaternion.rotate(
        np.asarray(geom.orientation, float), points
    )
    return pose[:3] + quaternion.rotate(pose[3:], points)


def _fill(axes, points: Array, body: int | None, strength: float) -> None:
    from scipy.spatial import ConvexHull, QhullError

    color = GREY if body is None else COLORS[body % len(COLORS)]
    try:
        hull = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # a point, or edge on
        axes.plot(*points[[0, -1]].T, color=color, alpha=strength, marker=".")
        return
    axes.fill(*hull.T, facecolor=color, edgecolor=color, alpha=0.75 * strength, linewidth=1.0)


def _draw_plane(axes, geom: scene.Geom, pose: Array, at: tuple, box: tuple) -> None:
    """Draw the line in which a plane, its body at pose (7,), meets the picture."""
    n = quaternion.rotate(np.asarray(geom.orientation, float), np.eye(3)[2])
    n = quaternion.rotate(pose[3:], n)[list(at)]
    if np.linalg.norm(n) < 1e-9:
        return
    point = pose[:3] + quaternion.rotate(pose[3:], np.asarray(geom.position, float))
    point, along = point[list(at)], np.array([-n[1], n[0]])
    middle = np.array([0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3])])
    middle = middle - n * (n @ (middle - point)) / (n @ n)
    axes.plot(*middle, alpha=0.0)  # axline does not widen the limits
    axes.axline(middle, middle + along, color=GREY, linewidth=1.5)


def _draw_energy(axes, record: runs.Record) -> None:
    potential = record.energy - record.kinetic
    for values, color, label in (
        (record.kinetic, BLUE, "kinetic"),
        (potential - potential[0], GREEN, "potential, over its start"),
        (record.energy - potential[0], BLACK, "their sum"),
    ):
        axes.plot(record.t, values, color=color, label=label, linewidth=1.3)
    label_axes(axes, "time [s]", "energy [J]", "Energy", size=10.0)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 3}
    draw_legend(axes, fontsize=9, **below)
