"""The Dzhanibekov effect: the errors of each method in energy, momentum and attitude of a flipping
body.
"""

import numpy as np

from rbdyn_ros import figures
from rbdyn_ros.experiments import closed_form, free_body
from rbdyn_ros.experiments.apparatus import dzhanibekov, empty_line, integrator
from rbdyn_ros.experiments.free_body import DZHANIBEKOV
from rbdyn_ros.experiments.outcome import (
    METHOD_COLORS,
    METHOD_LABELS,
    Animation,
    Outcome,
    below,
    between,
    columns,
    label_axes,
    line_style,
    only,
    plot_error,
    slope,
    track_progress,
    where,
)
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.select import select

QUESTION = (
    "A free body that turns about its intermediate axis flips over and over. Which method keeps "
    "its energy, its momentum\n"
    "  and its attitude over 20 s, and over 1e5 steps? (Euler-Lagrange and RATTLE are for a rod "
    "that does not spin.)"
)
DURATION = 20.0  # [s]
STEPS = (0.005, 0.01, 0.02)  # [s] for the orders; the last is sampled and drawn
METHODS = (
    "tqdl",
    "rk4",
    "moser_veselov",
    "modified",
    "quaternion_midpoint",
    "se3_variational",
    "se3 newton",
    "se3 riqn",
)
LONG_STEPS = (0.01, 0.03, 0.1)  # [s]


def run(short: bool, progress) -> Outcome:
    """Simulate twenty seconds with every method at three steps, and a long run at three others."""
    long = 10_000 if short else 100_000
    system, state = dzhanibekov()
    truth = free_body.simulate(select("rk4"), system, state, 5e-4, 1000, 40)
    twenty, drawn = _twenty_seconds(system, state, truth, progress)
    tables = {
        "flips": {"t": truth.t, **_columns("exact", truth.w), **_columns("tqdl", drawn["tqdl"].w)},
        "twenty_seconds": twenty,
        "momentum": {"t": truth.t, **{m: free_body.tilt_of_momentum(drawn[m]) for m in METHODS}},
        "attitude": {
            "t": truth.t,
            **{m: free_body.attitude_error(drawn[m], truth) for m in METHODS},
        },
        "film": {
            "t": truth.t,
            **_columns("exact", truth.Q),
            **_columns("tqdl", drawn["tqdl"].Q),
            **_columns("L", drawn["tqdl"].momentum),
        },
        **_long_runs(system, state, long, progress),
    }
    screw = [free_body.drift_of_the_screw(system, state, h, DURATION) for h in LONG_STEPS]
    tables["screw"] = {"step": np.array(LONG_STEPS), "off_the_line": np.array(screw)}
    progress(1.0)
    exact = closed_form.intermediate_axis(DZHANIBEKOV, 6.0, 0.01, truth.t)
    elliptic = float(np.abs(truth.w - exact).max())
    return Outcome(tables, (*_short_claims(tables, elliptic), *_long_claims(tables)))


def simulate_turns(
    method: str, system, state, h: float, rows: int, every: int
) -> free_body.RotationRun:
    """Simulate the body by one of METHODS."""
    if method == "modified":
        return free_body.simulate_modified(select("moser_veselov"), system, state, h, rows, every)
    if method.startswith("se3 "):
        return free_body.simulate_se3(method == "se3 newton", system, state, h, rows, every)
    return free_body.simulate(integrator(method), system, state, h, rows, every)


def _twenty_seconds(system, state, truth, progress) -> tuple:
    """Return (table of errors, the runs at 20 ms)."""
    rows, drawn = [], {}
    for method in track_progress(METHODS, progress, end=0.3):
        for h in STEPS:
            run = simulate_turns(
                method, system, state, h, round(DURATION / STEPS[-1]), round(STEPS[-1] / h)
            )
            energy, tilt = free_body.worst_energy(run), free_body.tilt_of_momentum(run).max()
            angle = free_body.attitude_error(run, truth).max()
            rows.append((method, h, energy, tilt, angle, run.iterations))
        drawn[method] = run
    return columns(
        "method step energy_error momentum_tilt_deg attitude_error_rad iterations", rows
    ), drawn


def _long_runs(system, state, steps: int, progress) -> dict:
    """Return {'long': errors over many steps, 'energy': their envelope in 100 windows at 30
    ms}.
    """
    rows, envelopes = [], {"step_number": np.arange(1, 101) * (steps // 100)}
    for method in track_progress(METHODS, progress, 0.3, 0.9):
        # the error of tqdl at 0.1 s is more than one turn
        for h in LONG_STEPS if method != "tqdl" else LONG_STEPS[:2]:
            run = simulate_turns(method, system, state, h, steps // 10, 10)
            energy, momentum = free_body.worst_energy(run), free_body.worst_momentum(run)
            rows.append((method, h, energy, momentum, run.iterations))
            if h == 0.03:
                relative = np.abs(run.energy[1:] / run.energy[0] - 1.0)
                envelopes[method] = relative.reshape(100, -1).max(axis=1)
    return {
        "long": columns("method step energy_error momentum_error iterations", rows),
        "energy": envelopes,
    }


def _columns(name: str, values) -> dict:
    return {f"{name}_{i + 1}": column for i, column in enumerate(values.T)}


def _short_claims(tables: dict, elliptic: float) -> tuple:
    """Return the claims on the twenty seconds: flips, and the orders."""
    short, w1 = tables["twenty_seconds"], tables["flips"]["exact_1"]

    def order(method: str, column: str) -> float:
        return slope(STEPS, short[column][where(short, method=method)])

    return (
        below(
            "reference against Jacobi's elliptic functions, angular velocity",
            elliptic,
            1e-7,
            "rad/s",
        ),
        between("flips in 20 s", float(np.count_nonzero(np.diff(np.sign(w1)))), 6, 6),
        between(
            "tqdl: the momentum of a free body turns, at 10 ms by",
            only(short, "momentum_tilt_deg", method="tqdl", step=0.01),
            1.26,
            1.30,
            "deg",
        ),
        between("tqdl: order of that error", order("tqdl", "momentum_tilt_deg"), 0.95, 1.05),
        below(
            "rk4, attitude and velocity together: the same at 10 ms",
            only(short, "momentum_tilt_deg", method="rk4", step=0.01),
            5e-5,
            "deg",
        ),
        between(
            "Moser-Veselov: order of the attitude",
            order("moser_veselov", "attitude_error_rad"),
            1.9,
            2.1,
        ),
        between("with the modified inertia", order("modified", "attitude_error_rad"), 3.9, 4.1),
        between(
            "midpoint quaternion", order("quaternion_midpoint", "attitude_error_rad"), 1.9, 2.1
        ),
        between("SE(3) logarithm", order("se3 newton", "attitude_error_rad"), 1.9, 2.1),
    )


def _long_claims(tables: dict) -> tuple:
    """Return the claims on the long run: energy, momentum, and a line that should be straight."""

    def error(method: str, quantity: str, h: float = LONG_STEPS[-1]) -> float:
        return only(tables["long"], f"{quantity}_error", method=method, step=h)

    log = [error("se3 newton", "energy", h) for h in LONG_STEPS]
    return (
        below(
            "Moser-Veselov, relative energy error of the long run at 0.1 s",
            error("moser_veselov", "energy"),
            1e-10,
        ),
        below(
            "Moser-Veselov, relative momentum error of it",
            error("moser_veselov", "momentum"),
            1e-10,
        ),
        between("SE(3) logarithm, relative energy error at 10 ms", log[0], 1.6e-4, 1.7e-4),
        between("at 30 ms", log[1], 1.45e-3, 1.52e-3),
        between("at 0.1 s", log[2], 1.64e-2, 1.69e-2),
        below(
            "SE(3) logarithm, relative momentum error at 0.1 s",
            error("se3 newton", "momentum"),
            1e-10,
        ),
        below(
            "RIQN against Newton, energy error at 0.1 s",
            abs(error("se3 riqn", "energy") - log[2]),
            1e-6,
        ),
        between(
            "SE(3): a body at 0.62 m/s leaves its line in 20 s, at 10 ms",
            1e3 * tables["screw"]["off_the_line"][0],
            3.6,
            3.9,
            "mm",
        ),
        between("at 0.1 s", 1e3 * tables["screw"]["off_the_line"][2], 355, 375, "mm"),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw flips, momentum, attitude, energy."""
    t = outcome.tables
    (flips, momentum), (attitude, energy) = figure.subplots(2, 2)
    for i, shade in enumerate((1.0, 0.55, 0.3)):
        flips.plot(
            t["flips"]["t"],
            t["flips"][f"exact_{i + 1}"],
            color=METHOD_COLORS["truth"],
            alpha=shade,
            label=f"ω{'₁₂₃'[i]}",
        )
    flips.legend(loc="upper right", ncols=3, fontsize=8)
    flips.set_ylim(top=9.5)
    label_axes(flips, "It flips every 3.5 s (exact)", "time [s]", "angular velocity, body [rad/s]")
    for method in METHODS:
        line = {**line_style(method), "linewidth": 1.2}
        for axes, name, least in ((momentum, "momentum", 1e-16), (attitude, "attitude", 1e-14)):
            plot_error(axes, t[name]["t"], t[name][method], least, **line)
        energy.loglog(t["energy"]["step_number"], np.maximum(t["energy"][method], 1e-17), **line)
    label_axes(
        momentum, "Its momentum must not turn (20 ms)", "time [s]", "angle from the start [°]"
    )
    label_axes(
        attitude, "Attitude error (20 ms)", "time [s]", "angle from the exact attitude [rad]"
    )
    label_axes(energy, "Energy, many steps of 30 ms", "number of steps [–]", "relative error [–]")
    figure.legend(*energy.get_legend_handles_labels(), loc="outside lower center", ncols=4)


def animate(outcome: Outcome) -> Animation:
    """Return an animation of the exact body beside the notebook's at 20 ms, each with its angular
    momentum.
    """
    film = outcome.tables["film"]
    figure = figures.canvas(9.0, 4.6)
    L = np.column_stack([film[f"L_{i}"] for i in range(1, 4)])
    scenes = [
        (
            _Scene(figure.add_subplot(1, 2, i + 1, projection="3d"), method),
            np.column_stack([film[f"{name}_{k}"] for k in range(1, 5)]),
            momentum,
        )
        for i, (method, name, momentum) in enumerate(
            (("truth", "exact", np.broadcast_to(L[0], L.shape)), ("tqdl", "tqdl", L))
        )
    ]

    def update(frame: int) -> None:
        row = 3 * frame  # 60 ms
        for scene, Q, momentum in scenes:
            scene.show(film["t"][row], Q[row], momentum[: row + 1])

    return Animation(figure, update, len(film["t"]) // 3, 1.0 / 0.06)


class _Scene:
    """One body in its box: a cross of rods with balls, the momentum and the trace of its tip."""

    ARMS = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0.6, 0], [0, -0.6, 0]])
    BALLS = (figures.RED, figures.PURPLE, figures.GREEN, figures.YELLOW)

    def __init__(self, axes, method: str):
        axes.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
        axes.set_box_aspect((1, 1, 1), zoom=1.4)
        axes.set_axis_off()
        axes.set_title(METHOD_LABELS[method], color=METHOD_COLORS[method])
        self.bars = [
            empty_line(axes, color=figures.GREY, linewidth=3, solid_capstyle="round")
            for _ in range(2)
        ]
        self.balls = [
            empty_line(axes, "o", color=c, markersize=s)
            for c, s in zip(self.BALLS, (11, 11, 15, 15))
        ]
        self.arrow = empty_line(axes, color=figures.PINK, linewidth=2.5)
        self.trace = empty_line(axes, color=figures.PINK, linewidth=1, alpha=0.6)
        self.clock = axes.text2D(0.02, 0.02, "", transform=axes.transAxes, fontsize=9)

    def show(self, t: float, Q, L) -> None:
        tips = quaternion.rotate(Q, self.ARMS)
        for bar, pair in zip(self.bars, (tips[:2], tips[2:])):
            bar.set_data_3d(*pair.T)
        for ball, tip in zip(self.balls, tips):
            ball.set_data_3d(*tip[:, None])
        end = 1.3 * L / np.linalg.norm(L[0])
        self.arrow.set_data_3d(*np.stack([np.zeros(3), end[-1]]).T)
        self.trace.set_data_3d(*end.T)
        self.clock.set_text(
            f"t = {t:5.2f} s   momentum turned by "
            f"{np.degrees(np.arccos(min(1.0, end[-1] @ end[0] / 1.69))):.2f}°"
        )
