"""A top that slides on its tip over a floor with friction, as a body with a contact and as reduced
equations: the errors of steps of fixed size and of the free parameter gamma.

While the tip slides, the contact is a constraint with a force F = N (e_z - mu u_T/|u_T|) along a
known direction:

    m r'' = F + m g,    J w' = J w x w + p x R^T F,    e_z . (r'' + R (w' x p + w x (w x p))) = 0

N follows from the last row, linear in it (index 1). doc/nonsmooth.md, M.5 to M.18, is the scheme
that meets them.
"""

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs
from rbdyn_ros.bodies.description import contact_pairs
from rbdyn_ros.experiments.outcome import (
    METHOD_COLORS,
    Outcome,
    below,
    between,
    label_axes,
    plot_error,
    slope,
    slope_guide,
    track_progress,
)
from rbdyn_ros.experiments.scenes import GRAVITY, ModelParts, one_body
from rbdyn_ros.figures import BLUE, GREEN, RED, YELLOW
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array

MASS, FRICTION = 0.58387070, 0.01  # [kg]
INERTIA = np.array([2.2129e-4, 2.2129e-4, 3.0207e-4])  # [kg m^2]
TIP = np.array([0.0, 0.0, -0.03795882])  # [m] from the center of mass


def build() -> ModelParts:
    """Return the top, tilted by ten degrees, with its tip on a floor that passes through it."""
    turned = quaternion.exp((np.radians(10.0), 0.0, 0.0))
    start = (0.0, 0.0, 0.037), turned, (1.0, 0.0, 0.0), (0.0, 0.0, 50.0)
    bodies, q, v = one_body(MASS, INERTIA, *start)
    floor = q[0, :3] + quaternion.rotate(q[0, 3:], TIP)
    return ModelParts(
        bodies,
        q,
        v,
        None,
        contact_pairs.build(1, contact_pairs.corner(0, TIP, s=floor, mu=FRICTION)),
    )


def exact(times) -> tuple[Array, Array]:
    """Return (q (k, 7), v (k, 6)) at `times` [s] by the reduced equations, DOP853 at rtol 1e-13.
    Raise RuntimeError if it stops.
    """
    start = build()
    state = np.concatenate([start.q[0], start.v[0]])
    found = solve_ivp(
        _derivative, (0.0, times[-1]), state, "DOP853", times, rtol=1e-13, atol=1e-13
    )
    if not found.success:
        raise RuntimeError(
            f"the reduced equations of the top stop at t = {found.t[-1]:.6g} s: {found.message}"
        )
    return found.y[:7].T, found.y[7:].T


def _derivative(t: float, y: Array) -> Array:
    """Return (r', q', r'', w') of a top that slides; the quaternion's rate is q (0, w)/2."""
    q, v, w = y[3:7], y[7:10], y[10:]
    R = quaternion.to_matrix(quaternion.normalize(q))
    u = v + R @ np.cross(w, TIP)
    F = np.eye(3)[2] - FRICTION * np.array([u[0], u[1], 0.0]) / np.hypot(u[0], u[1])
    free, turning = np.array([0.0, 0.0, -GRAVITY]), np.cross(INERTIA * w, w) / INERTIA
    by_N, by_N_turning = F / MASS, np.cross(TIP, R.T @ F) / INERTIA
    lift = free + R @ (np.cross(turning, TIP) + np.cross(w, np.cross(w, TIP)))
    N = -lift[2] / (by_N + R @ np.cross(by_N_turning, TIP))[2]
    return np.concatenate(
        [
            v,
            0.5 * quaternion.product(q, np.array([0.0, *w])),
            free + N * by_N,
            turning + N * by_N_turning,
        ]
    )


QUESTION = (
    "A top of 50 rad/s slides two seconds over a floor on its tip, with friction. Does a contact "
    "in the variational step keep\n"
    "  the order 2 of the free motion, and what does the free parameter gamma of the quaternion's "
    "kinetic energy change?"
)
AXIS = INERTIA[2]  # [kg m^2] of the fast axis
FAST = 1e-3  # [s] the step of the claims
STEPS = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)  # [s]
DURATION, ROW = 2.0, 8e-3  # [s]
GAMMAS = {
    "4/3 J3": (4.0 / 3.0 * AXIS, BLUE),
    "J1": (INERTIA[0], GREEN),
    "3.3 J3": (1e-3, YELLOW),
    "33 J3": (1e-2, RED),
}


def run(short: bool, progress) -> Outcome:
    """Simulate every gamma at every step, against the reduced equations; short: only three of the
    steps.
    """
    steps = STEPS[1:4] if short else STEPS
    times = ROW * np.arange(round(DURATION / ROW) + 1)
    truth, _ = exact(times)
    progress(0.2)
    errors, tracks = {"step": np.array(steps)}, {"t": times, **_path("exact", truth)}
    for name, (gamma, _) in track_progress(GAMMAS.items(), progress, start=0.2):
        slides = [simulate(gamma, h) for h in steps]
        errors[f"{name}_position"] = np.array([_distance(run.q[:, 0], truth) for run in slides])
        errors[f"{name}_axis"] = np.array(
            [_axis_error(run.q[:, 0], truth).max() for run in slides]
        )
        last = slides[steps.index(FAST)]
        tracks |= _path(name, last.q[:, 0]) | {
            f"{name}_axis_error": _axis_error(last.q[:, 0], truth)
        }
        tracks[f"{name}_gap"] = _gap(last.q[:, 0])
    return Outcome({"errors": errors, "tracks": tracks}, _claims(errors, tracks))


def simulate(gamma: float, h: float) -> runs.Record:
    """Simulate the top for two seconds at steps of h [s]. Raise RuntimeError if a step fails."""
    rows, every = round(DURATION / ROW), round(ROW / h)
    model = models.build(*build(), models.Options(gamma=gamma))
    record = runs.run(model, h, rows, every)
    if not record.ok:
        raise RuntimeError(f"the top with gamma = {gamma:g} kg m^2, h = {h:g} s: {record.message}")
    return record


def _distance(q, truth) -> float:
    return float(np.abs(q[:, :3] - truth[:, :3]).max())


def _axis(q):
    return quaternion.rotate(q[:, 3:], np.eye(3)[2])


def _axis_error(q, truth):
    return np.linalg.norm(_axis(q) - _axis(truth), axis=1)


def _path(name: str, q) -> dict:
    return {f"{name}_axis_x": _axis(q)[:, 0], f"{name}_axis_y": _axis(q)[:, 1]}


def _gap(q):
    """Return the height of the tip over its start [m]."""
    height = q[:, 2] + TIP[2] * _axis(q)[:, 2]
    return height - height[0]


def _claims(errors: dict, tracks: dict) -> tuple:
    h, best = errors["step"], "4/3 J3"
    at = int(np.flatnonzero(h == FAST)[0])
    position, axis = errors[f"{best}_position"], errors[f"{best}_axis"]
    others = [name for name in GAMMAS if name != best]
    return (
        between("gamma = 4/3 J3: order of the position", slope(h, position), 1.9, 2.1),
        between("its order of the axis", slope(h, axis), 1.9, 2.1),
        below("its position error at 1 ms", position[at], 6e-6, "m"),
        below("its axis error at 1 ms", axis[at], 1.6e-3),
        below(
            "the tip leaves the floor, or enters it, by",
            np.abs(tracks[f"{best}_gap"]).max(),
            1e-12,
            "m",
        ),
        below(
            "its axis error over the smallest of the other gammas'",
            axis[at] / min(errors[f"{n}_axis"][at] for n in others),
            0.5,
        ),
        between(
            "gamma = 33 J3: axis error at 1 ms, over that of 4/3 J3",
            errors["33 J3_axis"][at] / axis[at],
            50.0,
            500.0,
        ),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the axis seen from above, its error in time, and the orders."""
    tracks, errors = outcome.tables["tracks"], outcome.tables["errors"]
    (above, in_time), (position, axis) = figure.subplots(2, 2)
    above.plot(
        tracks["exact_axis_x"],
        tracks["exact_axis_y"],
        color=METHOD_COLORS["truth"],
        linewidth=2.2,
        label="reduced equations",
    )
    for name in ("33 J3", "4/3 J3"):
        above.plot(
            tracks[f"{name}_axis_x"],
            tracks[f"{name}_axis_y"],
            color=GAMMAS[name][1],
            linewidth=0.9,
            label=f"γ = {name}",
        )
    above.set(xlim=(-0.48, 1.12), ylim=(-0.48, 0.48))  # with room for the legend
    above.set_aspect("equal")
    above.legend(loc="center right")
    label_axes(
        above, "The top's axis from above, 2 s at 1 ms", "x of the axis [–]", "y of the axis [–]"
    )
    h = errors["step"]
    for name, (_, color) in GAMMAS.items():
        error = tracks[f"{name}_axis_error"]
        plot_error(in_time, tracks["t"], error, color=color, linewidth=1.1, label=f"γ = {name}")
        position.loglog(h, errors[f"{name}_position"], "o-", color=color)
        axis.loglog(h, errors[f"{name}_axis"], "o-", color=color)
    in_time.legend(loc="lower right", ncols=2)
    label_axes(in_time, "Error of the axis at 1 ms", "time [s]", "|error| [–]")
    slope_guide(position, h, 0.4 * errors["4/3 J3_position"][np.argmax(h)], 2)
    slope_guide(axis, h, 0.4 * errors["4/3 J3_axis"][np.argmax(h)], 2)
    label_axes(position, "Largest error of the position: order 2", "step [s]", "error [m]")
    label_axes(axis, "Largest error of the axis: γ matters", "step [s]", "error [–]")
