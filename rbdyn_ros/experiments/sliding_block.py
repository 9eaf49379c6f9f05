"""A block that slides to rest on its four corners: how far, and whether it stays at rest."""

import numpy as np

from rbdyn_ros.bodies import model
from rbdyn_ros.experiments import scenes
from rbdyn_ros.experiments.contact_runs import march_model
from rbdyn_ros.experiments.outcome import (
    BEHIND,
    Outcome,
    below,
    columns,
    label_axes,
    track_progress,
    where,
)
from rbdyn_ros.figures import BLUE, GREEN, PURPLE, RED
from rbdyn_ros.types import Array

QUESTION = (
    "A block pushed over a table rests on four corners, one more than are needed. Does dry "
    "friction stop it where\n"
    "  v0^2 / (2 mu g) says, and does it then lie still?"
)
CASES = ((2.0, 0.3), (1.0, 0.1), (3.0, 0.6), (0.5, 0.05))  # v0 [m/s], mu
STEPS = (2e-2, 1.6e-2, 1.3e-2, 1e-2, 8e-3, 6e-3, 5e-3, 2e-3)  # [s]
COLORS = BLUE, GREEN, RED, PURPLE


def run(short: bool, progress) -> Outcome:
    """Simulate every case at every step until well after the stop, and one long rest."""
    steps = STEPS[:-1] if short else STEPS
    rows, tracks = [], {}
    for i, (v0, mu) in track_progress(enumerate(CASES), progress, end=0.8):
        params = scenes.Block(mu)
        for h in steps:
            track, tilt = simulate(params, v0, h, 1.1 * v0 / (mu * scenes.GRAVITY))
            error = track["s"][-1] - v0**2 / (2.0 * mu * scenes.GRAVITY)
            rows.append((v0, mu, h, error, abs(track["v"][-1]), tilt))
        tracks[f"track_{i + 1}"] = track
    rest, _ = simulate(scenes.Block(0.3), 0.2, 1e-2, 2.0 if short else 10.0)
    progress(1.0)
    tables = {
        "distance": columns("v0 mu step distance_error end_speed tilt", rows),
        **tracks,
        "rest": rest,
    }
    return Outcome(tables, _claims(tables))


def simulate(
    params: scenes.Block, v0: float, h: float, duration: float
) -> tuple[dict[str, Array], float]:
    """Return (the track, the largest tilt of the quaternion) of a slide."""
    run = march_model(model.build(*scenes.block(params, v0)), h, int(np.ceil(duration / h)))
    s, v = scenes.travel(params, run.q, run.v)
    track = {"t": run.t, "s": s, "v": v, "height": run.q[:, 2] - params.edges[2] / 2.0}
    return track, float(np.abs(run.q[:, 4:] - run.q[0, 4:]).max())


def _claims(tables: dict) -> tuple:
    d, rest = tables["distance"], tables["rest"]
    error = lambda h: np.abs(d["distance_error"][np.isclose(d["step"], h)])  # noqa: E731
    shares = np.abs(d["distance_error"]) / (d["step"] ** 2 * d["mu"] * scenes.GRAVITY)
    still = rest["t"] > 0.2
    return (
        below("stop distance at 10 ms, the worst of four cases", error(1e-2).max(), 1e-5, "m"),
        below(
            "largest error over h^2 mu g; stopping inside a step costs at most 1/8",
            shares.max(),
            0.1251,
        ),
        below("speed after the stop", d["end_speed"].max(), 1e-9, "m/s"),
        below("tilt", d["tilt"].max(), 1e-9),
        below("creep at rest, to the end of the run", float(np.ptp(rest["s"][still])), 1e-9, "m"),
        below("height at rest", float(np.abs(rest["height"]).max()), 1e-8, "m"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw speeds and errors."""
    speeds, errors = figure.subplots(1, 2)
    d = outcome.tables["distance"]
    last = len(CASES) - 1
    for i, ((v0, mu), color) in enumerate(zip(CASES, COLORS)):
        track = outcome.tables[f"track_{i + 1}"]
        name = f"v₀ = {v0:g} m/s, μ = {mu:g}"
        stop = v0 / (mu * scenes.GRAVITY)
        speeds.plot([0.0, stop, track["t"][-1]], [v0, 0.0, 0.0], **BEHIND)
        speeds.plot(track["t"], track["v"], color=color, linewidth=1.2, label=name)
        mine = where(d, v0=v0, mu=mu)
        h = d["step"][mine]
        errors.loglog(
            h, np.maximum(np.abs(d["distance_error"][mine]), 1e-12), "o", color=color, label=name
        )
        errors.loglog(
            h,
            h**2 / 8.0 * scenes.GRAVITY * mu,
            color=color,
            linewidth=0.8,
            label="what stopping inside a step costs: h² μ g / 8" if i == last else "",
        )
    speeds.legend()
    errors.legend(loc="upper left")
    label_axes(speeds, "Dry friction stops it (grey: exact)", "time [s]", "speed [m/s]")
    label_axes(
        errors,
        "Error of the stop distance, by where in its step it stops",
        "step [s]",
        "error [m]",
    )
