"""A rod at rest under a constant torque across it, which must turn in its plane and about no other
axis.
"""

from collections.abc import Iterable

import numpy as np

from rbdyn_ros.experiments import apparatus, free_body
from rbdyn_ros.experiments.outcome import (
    GREY,
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
    "A rod at rest is pushed by a constant torque across it. The notebook says: no precession, no "
    "nutation. It uses the inertia\n"
    "  of the cylinder; what does the rod's own inertia give, and does every method keep it in "
    "its plane?"
)
TORQUE = -1.0  # [N m, world], about y
STEP = 0.01  # [s]
# [rad] the rod is turned about its axis first, so that the torque lies along no body axis
ROLL = 0.7
# bounds of the angle [rad]
METHODS = {
    "tqdl": 3e-2,
    "rk4": 1e-7,
    "moser_veselov": 5e-3,
    "se3_variational": 1e-9,
    "quaternion_midpoint": 5e-3,
}


def run(short: bool, progress, methods: Iterable[str] = METHODS) -> Outcome:
    """Simulate the rod by each method; its angle is torque t^2 / 2 I.

    Raise ValueError, before any of them is run, for a method that does not apply.
    """
    duration = 5.0 if short else 10.0
    system, printed = apparatus.long_rod(), apparatus.cylinder()
    start = free_body.turning_state(
        (np.cos(ROLL / 2), 0.0, 0.0, np.sin(ROLL / 2)), (0.0, 0.0, 0.0)
    )
    push = apparatus.torque(0.0, TORQUE, 0.0)
    angle, off, steppers = {}, {}, [apparatus.integrator(method) for method in methods]
    for stepper in steppers:
        stepper.check(system, start, push)
    for stepper in track_progress(steppers, progress):
        turning = free_body.simulate(stepper, system, start, STEP, round(duration / STEP), 1, push)
        axis = quaternion.rotate(turning.Q, np.eye(3)[2])
        angle[stepper.name] = np.unwrap(np.arctan2(axis[:, 0], axis[:, 2]))
        off[stepper.name] = np.abs(axis[:, 1])
    t = turning.t
    tables = {
        "angle": {
            "t": t,
            "exact": 0.5 * TORQUE / system.inertia[1] * t**2,
            "with_the_cylinders_inertia": 0.5 * TORQUE / printed.inertia[1] * t**2,
            **angle,
        },
        "out_of_plane": {"t": t, **off},
    }
    return Outcome(tables, _claims(tables, printed.inertia[1] / system.inertia[1]))


def _claims(tables: dict, ratio: float) -> tuple:
    angle, off = tables["angle"], tables["out_of_plane"]
    measured = [name for name in off if name != "t"]
    return (
        *(below(f"{m}: the axis leaves the plane by", off[m].max(), 1e-9) for m in measured),
        *(
            below(
                f"{m}: angle against torque t^2/2 I",
                np.abs(angle[m] - angle["exact"]).max(),
                METHODS[m],
                "rad",
            )
            for m in measured
            if m in METHODS
        ),
        between(
            "the inertia that the notebook uses is too small by the factor",
            1.0 / ratio,
            5.76,
            5.77,
        ),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw the angle and its error."""
    (angle, error) = figure.subplots(1, 2)
    t, columns = outcome.tables["angle"]["t"], outcome.tables["angle"]
    angle.plot(t, np.degrees(columns["exact"]), **line_style("truth"))
    angle.plot(
        t,
        np.degrees(columns["with_the_cylinders_inertia"]),
        ":",
        color=GREY,
        label="with the inertia that the notebook uses",
    )
    methods = [name for name in outcome.tables["out_of_plane"] if name != "t"]
    for i, method in enumerate(methods):
        angle.plot(
            t[20 * i :: 100],
            np.degrees(columns[method][20 * i :: 100]),
            "o",
            markersize=5,
            **line_style(method, methods),
        )
        deviation = columns[method] - columns["exact"]
        plot_error(error, t, deviation, 1e-17, **line_style(method, methods))
    angle.legend()
    label_axes(
        angle,
        "A rod turns in its plane: no precession, no nutation",
        "time [s]",
        "angle about y [°]",
    )
    error.legend()
    label_axes(error, "Error of the angle at 10 ms", "time [s]", "error [rad]")
