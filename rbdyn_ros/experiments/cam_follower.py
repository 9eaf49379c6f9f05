"""The cam follower at 358, 660 and 700 rpm, event by event and by time-stepping.

The time-stepping run has its state once per revolution, and its impacts.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.experiments import cam_orbits
from rbdyn_ros.experiments.cam_orbits import CamParams, build, initial_state, rate, revolution
from rbdyn_ros.experiments.contact_runs import COARSE, EXACT, march_linear
from rbdyn_ros.experiments.outcome import (
    Outcome,
    above,
    below,
    between,
    columns,
    label_axes,
    track_progress,
)
from rbdyn_ros.network import event_driven, moreau_jean_linear
from rbdyn_ros.types import Array


class Stepped(NamedTuple):
    """A run in the shifted form, in the follower's own coordinates."""

    h: float  # [s]
    strobes: Array  # (turns + 1, 2) u, v, between two nodes by a straight line
    impacts: Array  # (n, 2) cam angle [rad], V^- relative to the cam
    penetration: float  # deepest [m]
    t: Array  # the first revolutions in full
    u: Array


def follow(params: CamParams, u: float, v: float, h: float, turns: int) -> Stepped:
    """Simulate from (u, v) at t = 0 by steps of h [s], in general no whole part of a revolution:
    else the orbit may lock to them.
    """
    turn, w = revolution(params), rate(params)
    linear = moreau_jean_linear.prepare(
        params.mass, params.damping, params.stiffness, [[1.0]], 0.0, params.restitution, h
    )
    c, dc, _ = cam_orbits.motion(w, 0.0)
    y, V = [u - c], [v - dc]
    total, chunk, done = int(np.ceil(turns * turn / h)), int(np.ceil(20.0 * turn / h)), 0
    strobes, impacts, deepest = [np.array([[u, v]])], [], 0.0
    first: tuple[Array, ...] = ()
    while done < total:
        n = min(chunk, total - done)
        times = h * np.arange(done, done + n + 1)
        run = march_linear(linear, cam_orbits.cam_force(params, times), y, V)
        y, V = run.q[-1], run.v[-1]
        state = cam_orbits.motions(w, times)[:, :2] + np.hstack([run.q, run.v])
        due = turn * np.arange(np.floor(times[0] / turn) + 1, np.floor(times[-1] / turn) + 1)
        strobes.append(np.column_stack([np.interp(due, times, state[:, i]) for i in (0, 1)]))
        hit = np.flatnonzero((run.impulses[:, 0] > 0.0) & (run.v[:-1, 0] < 0.0))
        impacts.append(np.column_stack([w * times[hit + 1], run.v[hit, 0]]))
        deepest = max(deepest, -run.q.min())
        first = first or (times, state[:, 0])
        done += n
    return Stepped(h, np.vstack(strobes), np.vstack(impacts), deepest, *first)


QUESTION = (
    "A cam throws its follower into the air and meets it again. At 358, 660 and 700 rpm, what "
    "does the follower settle\n"
    "  to, and does time-stepping with the notes' step of 0.1 ms tell?"
)
SPEEDS = (358.0, 660.0, 700.0)  # [rpm]
STEP = 1e-4  # [s], of the notes
SKIPPED = 100  # revolutions, for the transient


def run(short: bool, progress) -> Outcome:
    """Simulate every speed event by event and by time-stepping; and other starts, whose orbits may
    differ.
    """
    turns, steps = (1500, (1e-3, STEP, 2e-5)) if short else (6000, (1e-3, STEP, 2e-5, 1e-5))
    tables, exact = {}, {}
    for rpm in track_progress(SPEEDS, progress, end=0.8):
        params = CamParams(rpm)
        orbit = exact[rpm] = cam_orbits.follow(params, *initial_state(params), turns, SKIPPED)
        runs = [follow(params, *initial_state(params), h, turns) for h in steps]
        tables |= _tables(params, orbit, runs)
    tables["starts"] = starts(3 if short else 9)
    general = _general(12)
    progress(1.0)
    return Outcome(tables, _claims(tables, exact, general))


def starts(side: int) -> dict[str, Array]:
    """Return the impacts per revolution and exponents to which side^2 starts settle, at 358 and
    700 rpm.
    """
    rows = []
    for rpm in (358.0, 700.0):
        params = CamParams(rpm)
        for lift in np.linspace(0.02, 0.82, side):
            for v in np.linspace(-8.0, 8.0, side):
                orbit = cam_orbits.follow(params, *initial_state(params, lift, v), 900, 600)
                late = orbit.impacts[:, 0] > 600 * revolution(params)
                often = np.count_nonzero(late) / 300.0
                rows.append((rpm, lift, v, often, orbit.exponent, period(orbit.strobes)))
    return columns("rpm lift velocity impacts_per_turn exponent period", rows)


def period(strobes) -> int:
    """Return the least number of revolutions after which the last states repeat; 0 for none up to
    12.
    """
    for k in range(1, 13):
        if np.abs(strobes[-k:] - strobes[-2 * k : -k]).max() < 1e-6:
            return k
    return 0


def _general(turns: int) -> float:
    """Return the largest difference of the general event-driven integrator from the exact flights
    over some revolutions.
    """
    params = CamParams(SPEEDS[0])
    u, v = initial_state(params)
    times = revolution(params) * np.arange(1, turns + 1)
    found = event_driven.run(
        build(params),
        0.0,
        (np.array([u]),),
        (np.array([v]),),
        times,
        event_driven.options(max_step=times[0] / 40),
    )
    if not found.ok:
        raise ValueError(found.message)
    exact = cam_orbits.follow(params, u, v, turns).strobes[1:]
    return float(np.abs(np.hstack([found.q, found.v]) - exact).max())


def _tables(params: CamParams, orbit, runs: list) -> dict:
    from scipy.stats import ks_2samp  # takes a second

    name, stepped = f"{params.rpm:g}", next(r for r in runs if abs(r.h - STEP) < 0.1 * STEP)
    late = orbit.impacts[orbit.impacts[:, 0] > SKIPPED * revolution(params)]
    strobes = stepped.strobes[SKIPPED : len(orbit.strobes)]
    settled = stepped.impacts[stepped.impacts[:, 0] > 2.0 * np.pi * SKIPPED]
    t = np.arange(orbit.impacts[0, 0], 1.0, 1e-3)
    space = np.arange(orbit.impacts[-2, 0] - 12 * revolution(params), orbit.impacts[-2, 0], 2e-4)
    tail = orbit.strobes[SKIPPED:]
    agreement = []
    for run in runs:
        u = run.strobes[SKIPPED:, 0]
        distances = _distance(u, tail[-12:, 0])
        agreement.append(
            (
                run.h,
                ks_2samp(u, tail[:, 0])[0],
                distances.mean(),
                u.min(),
                u.max(),
                run.penetration,
            )
        )
    return {
        f"{name}_strobes": dict(zip(("u", "v", "u_stepped", "v_stepped"), (*tail.T, *strobes.T))),
        f"{name}_impacts": _impacts(rate(params) * late[:, 0], late[:, 1]),
        f"{name}_impacts_stepped": _impacts(*settled.T),
        f"{name}_series": {"t": t, "u": cam_orbits.sample(params, orbit, t)[:, 0]},
        f"{name}_series_stepped": {"t": stepped.t[::5], "u": stepped.u[::5]},
        f"{name}_space": dict(
            zip(("t", "u", "v"), (space, *cam_orbits.sample(params, orbit, space).T))
        ),
        f"{name}_agreement": columns(
            "step ks distance_mean lowest highest penetration", agreement
        ),
    }


def _impacts(angle, speed) -> dict:
    return {"angle": angle % (2.0 * np.pi), "speed": speed}


def _distance(u, orbit):
    """Return the distance [m] from each u to the nearest point of the orbit."""
    return np.abs(u[:, None] - orbit[None, :]).min(axis=1)


def _claims(tables: dict, exact: dict, general: float) -> tuple:
    slow, chaotic, fast = (exact[rpm] for rpm in SPEEDS)
    per_turn = {
        rpm: np.sum(o.impacts[:, 0] > SKIPPED * 60.0 / rpm) / (len(o.strobes) - 1 - SKIPPED)
        for rpm, o in exact.items()
    }
    a358, a660, a700 = (tables[f"{rpm:g}_agreement"] for rpm in SPEEDS)
    notes, fine, spread, all_starts = 1, 2, a700["highest"] - a700["lowest"], tables["starts"]
    reached = lambda rpm: all_starts["period"][all_starts["rpm"] == rpm]  # noqa: E731
    return (
        between("358 rpm: period, in revolutions", period(slow.strobes), 3, 3),
        between("impacts in a period", 3.0 * per_turn[358.0], 7.99, 8.01),
        between("Lyapunov exponent", slow.exponent, -0.45, -0.39, "per revolution"),
        between(
            "660 rpm: Lyapunov exponent, chaos", chaotic.exponent, 0.33, 0.5, "per revolution"
        ),
        between("impacts per revolution", per_turn[660.0], 1.22, 1.32),
        between("700 rpm: period", period(fast.strobes), 1, 1),
        between("impacts per revolution", per_turn[700.0], 0.999, 1.001),
        between("Lyapunov exponent", fast.exponent, -0.24, -0.20, "per revolution"),
        between("place once per revolution", fast.strobes[-1, 0], 1.42, 1.435, "m"),
        above("starts at 358 rpm that end in period 3", np.mean(reached(358.0) == 3), 0.5),
        above("starts at 700 rpm that end in period 1", np.mean(reached(700.0) == 1), 0.999),
        below(
            "general event-driven integrator, 12 revolutions at 358 rpm", general, 1e-8, "m, m/s"
        ),
        below(
            "time-stepping, 660 rpm: KS distance of the strobes at 0.1 ms", a660["ks"][notes], 0.08
        ),
        below("at 20 µs", a660["ks"][fine], 0.06),
        below(
            "358 rpm: mean distance from the orbit at 0.1 ms",
            a358["distance_mean"][notes],
            0.05,
            "m",
        ),
        below("at 20 µs", a358["distance_mean"][fine], 6e-3, "m"),
        between(
            "700 rpm at 0.1 ms: lowest place once per revolution",
            a700["lowest"][notes],
            1.25,
            1.428,
            "m",
        ),
        between("highest", a700["highest"][notes], 1.428, 1.55, "m"),
        below("spread at 20 µs over that at 0.1 ms", spread[fine] / spread[notes], 0.5),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw a row for each speed: time series, state space, impact map, strobes."""
    figure.set_size_inches(16.0, 10.5)
    words = {358.0: "period 3", 660.0: "chaos", 700.0: "period 1"}
    for rpm, row in zip(SPEEDS, figure.subplots(len(SPEEDS), 4)):
        t = {
            key.removeprefix(f"{rpm:g}_"): table
            for key, table in outcome.tables.items()
            if key.startswith(f"{rpm:g}_")
        }
        _series(row[0], t, rpm)
        label_axes(row[0], f"{rpm:g} rpm: {words[rpm]}", "time [s]", "height u [m] (grey: cam)")
        row[1].plot(t["space"]["u"], t["space"]["v"], ".", color=EXACT, markersize=0.8)
        label_axes(row[1], "State space, 12 revolutions", "height u [m]", "velocity v [m/s]")
        settled = 6.0 if "period" in words[rpm] else 2.2  # an orbit of few points
        for key, color, size in (("impacts_stepped", COARSE, 1.2), ("impacts", EXACT, settled)):
            row[2].plot(
                np.degrees(t[key]["angle"]), t[key]["speed"], ".", color=color, markersize=size
            )
        label_axes(row[2], "Impact map", "cam angle [°]", "impact speed [m/s]")
        for end, color, size, label in (
            ("_stepped", COARSE, 1.2, "steps of 0.1 ms"),
            ("", EXACT, settled, "event-driven"),
        ):
            u, v = (t["strobes"][f"{name}{end}"] for name in "uv")
            row[3].plot(u, v, ".", color=color, markersize=size, label=label)
        label_axes(row[3], "Once per revolution", "height u [m]", "velocity v [m/s]")
    figure.legend(
        *row[3].get_legend_handles_labels(), loc="outside lower center", ncols=2, markerscale=3
    )


def _series(axes, t: dict, rpm: float) -> None:
    times = np.linspace(0.0, 1.0, 2000)
    cam = cam_orbits.motions(rate(CamParams(rpm)), times)[:, 0]
    axes.fill_between(times, cam, color="#cccccc", linewidth=0.0)
    stepped, exact = t["series_stepped"], t["series"]
    early = stepped["t"] < 1.0
    axes.plot(stepped["t"][early], stepped["u"][early], color=COARSE, linewidth=1.6)
    axes.plot(exact["t"], exact["u"], color=EXACT, linewidth=0.9, linestyle=(0, (4, 2)))
