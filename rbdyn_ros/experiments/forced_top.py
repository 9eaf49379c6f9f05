"""A spinning top under a constant torque in space: it precesses and nutates, with decreasing
nutation.
"""

import numpy as np
from scipy.integrate import cumulative_simpson

from rbdyn_ros.experiments import apparatus, free_body
from rbdyn_ros.experiments.outcome import (
    GREY,
    METHOD_COLORS,
    Outcome,
    below,
    between,
    label_axes,
    line_style,
    plot_error,
    track_progress,
)
from rbdyn_ros.geometry import quaternion

QUESTION = (
    "A cylinder spins with one turn a second; a torque, constant in space, pushes it over. Does "
    "it precess and nutate as theory\n"
    "  says, do energy and momentum grow by exactly what the torque gives, and does the nutation "
    "fade as the notebook observes?"
)
TORQUE = np.array([-0.4, -0.5, 0.0])  # [N m, world]
SPIN = 2.0 * np.pi  # [rad/s]
STEP = 0.001  # [s]
METHODS = ("tqdl", "rk4", "moser_veselov")


def run(short: bool, progress) -> Outcome:
    """Simulate the top by three methods; the momentum L0 + torque t is known, and so is the
    work.
    """
    duration = 10.0 if short else 16.0
    system = apparatus.cylinder()
    start = free_body.turning_state(apparatus.IDENTITY, (0.0, 0.0, SPIN))
    rows, push = round(duration / 0.005), apparatus.torque(*TORQUE)
    runs = {
        m: free_body.simulate(apparatus.integrator(m), system, start, STEP, rows, 5, push)
        for m in track_progress(METHODS, progress)
    }
    top = runs["moser_veselov"]
    t, axis = top.t, quaternion.rotate(top.Q, np.eye(3)[2])
    exact = top.momentum[0] + t[:, None] * TORQUE
    ahead = exact / np.linalg.norm(exact, axis=1)[:, None]
    wobble = np.degrees(np.arccos(np.clip(np.sum(axis * ahead, axis=1), -1.0, 1.0)))
    tables = {
        "axis": {"t": t, **dict(zip("xyz", axis.T))},
        "momentum_direction": {"t": t, **dict(zip("xyz", ahead.T))},
        "energy": {"t": t, "wobble_deg": wobble, **{m: runs[m].energy for m in METHODS}},
        "momentum_error": {
            "t": t,
            **{m: np.linalg.norm(runs[m].momentum - exact, axis=1) for m in METHODS},
        },
        "work_error": {
            "t": t,
            **{m: np.abs(runs[m].energy - runs[m].energy[0] - _work(runs[m])) for m in METHODS},
        },
    }
    return Outcome(tables, _claims(tables, system.inertia))


def _work(run: free_body.RotationRun) -> np.ndarray:
    """Return the torque's work [J]: the integral of torque . w, w in space, by Simpson's rule over
    the samples.
    """
    power = quaternion.rotate(run.Q, run.w) @ TORQUE
    return cumulative_simpson(power, x=run.t, initial=0.0)


def _claims(tables: dict, inertia: tuple) -> tuple:
    from scipy.signal import find_peaks  # takes a second

    t, wobble, energy = (tables["energy"][k] for k in ("t", "wobble_deg", "moser_veselov"))
    early, late = wobble[t < 2.0], wobble[energy > 37.0]
    # the axis circles the momentum at the rate L/I_t and is back at its first minimum
    loop = t[find_peaks(-wobble)[0][0]]
    rate = 2.0 * np.pi / (loop - t[0])
    L0 = inertia[2] * SPIN
    middle = np.hypot(L0, np.linalg.norm(TORQUE) * 0.5 * loop)
    reached = {m: tables["momentum_error"][m][-1] for m in METHODS}
    return (
        between("nutation: one loop takes 2 pi I_t/L", rate / (middle / inertia[0]), 0.97, 1.03),
        between(
            "its width against 2 torque I_t/L^2",
            np.radians(early.max()) / (2.0 * np.linalg.norm(TORQUE) * inertia[0] / L0**2),
            0.97,
            1.03,
        ),
        below(
            "it fades: while the energy is above 37 J it is narrower by",
            np.ptp(late) / np.ptp(early),
            0.5,
        ),
        below(
            "Moser-Veselov: momentum L0 + torque t, error",
            reached["moser_veselov"],
            1e-10,
            "kg m²/s",
        ),
        below("rk4: the same", reached["rk4"], 1e-7, "kg m²/s"),
        between("tqdl, order 1: the same", reached["tqdl"], 1e-5, 1e-1, "kg m²/s"),
        below(
            "rk4: energy gained against work done", tables["work_error"]["rk4"].max(), 1e-6, "J"
        ),
        below(
            "Moser-Veselov: the same, order 2",
            tables["work_error"]["moser_veselov"].max(),
            1e-3,
            "J",
        ),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the axis's path, the nutation angle, the momentum's error."""
    t = outcome.tables
    axes = figure.subplot_mosaic([["path", "wobble"], ["path", "error"]])
    path, wobble, error = axes["path"], axes["wobble"], axes["error"]
    path.plot(t["axis"]["x"], t["axis"]["y"], **line_style("moser_veselov"), linewidth=1.2)
    momentum = t["momentum_direction"]
    path.plot(
        momentum["x"],
        momentum["y"],
        "--",
        color=METHOD_COLORS["truth"],
        label="direction of the momentum, exact",
    )
    path.plot(0.0, 0.0, "o", color=GREY)
    path.annotate(
        "start", (0.0, 0.0), xytext=(-8, 8), textcoords="offset points", fontsize=9, ha="right"
    )
    path.set_aspect("equal", adjustable="datalim")
    path.legend(fontsize=8, loc="lower right")
    label_axes(
        path,
        "The top's axis, from above: it precesses in nutation loops",
        "x of the axis [–]",
        "y of the axis [–]",
    )
    wobble.plot(t["energy"]["t"], t["energy"]["wobble_deg"], color=METHOD_COLORS["moser_veselov"])
    label_axes(
        wobble, "The nutation fades as the momentum grows", "time [s]", "axis from momentum [°]"
    )
    for method in METHODS:
        errors = t["momentum_error"]
        plot_error(error, errors["t"], errors[method], 1e-17, **line_style(method))
    error.legend(fontsize=8)
    label_axes(error, "The momentum is known: L₀ + τ t (1 ms)", "time [s]", "error [kg m²/s]")
