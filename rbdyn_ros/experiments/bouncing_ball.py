"""The bouncing ball: impacts that accumulate, by time-stepping and event by event; its exact
motion, and the instant at which it comes to rest.

From the gap y_0 at rest, with v_1 = sqrt(2 g y_0) and t_1 = v_1 / g, the n-th impact is at

    t_n = t_1 + 2 t_1 (e + e^2 + ... + e^(n-1)),     u_n^- = -v_1 e^(n-1),
    t_inf = t_1 (1 + e) / (1 - e)                                                            (N.25)
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.experiments.contact_runs import COARSE, EVENTS, EXACT, FINE, march, march_linear
from rbdyn_ros.experiments.outcome import (
    GREY,
    Outcome,
    below,
    between,
    columns,
    label_axes,
    slope,
    slope_guide,
    track_progress,
)
from rbdyn_ros.network import event_driven, laws, moreau_jean_linear, second_order
from rbdyn_ros.network.second_order import MechanicalNetwork, network
from rbdyn_ros.types import Array


class BallParams(NamedTuple):
    """A falling point mass."""

    mass: float = 1.0  # [kg]
    gravity: float = 9.81  # [m/s^2]
    restitution: float = 0.8  # e
    gap: float = 1.0  # at the start, at rest [m]


def build(params: BallParams) -> MechanicalNetwork:
    """Return the ball, q = (gap,), and its floor."""
    weight = np.array([-params.mass * params.gravity])
    ball = second_order.linear(params.mass, force=lambda t: weight)
    return network(
        ball,
        second_order.interaction(
            second_order.linear_relation([[1.0]]), laws.newton_impact(params.restitution)
        ),
    )


def rest_time(params: BallParams) -> float:
    """Return t_inf [s]; inf for e = 1."""
    first, e = np.sqrt(2.0 * params.gap / params.gravity), params.restitution
    return float(first * (1.0 + e) / (1.0 - e)) if e < 1.0 else float("inf")


def impact_times(params: BallParams, count: int) -> Array:
    """Return t_1 ... t_count [s] (N.25)."""
    first = np.sqrt(2.0 * params.gap / params.gravity)
    return first * (
        1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(params.restitution ** np.arange(1.0, count))])
    )


def exact(params: BallParams, t: Array) -> tuple[Array, Array]:
    """Return (gap [m], velocity [m/s]) at the times t (k,): arcs between impacts, at rest after
    t_inf.
    """
    t = np.asarray(t, float)
    g, e, first = params.gravity, params.restitution, np.sqrt(2.0 * params.gap / params.gravity)
    flights = 400  # e^400 of the first speed is below round-off for every e up to 0.9
    impacts = impact_times(params, flights)
    n = np.searchsorted(impacts, t, side="right")  # impacts so far
    since = t - impacts[np.maximum(n, 1) - 1]
    up = g * first * e ** n.astype(float)
    y = np.where(n == 0, params.gap - 0.5 * g * t * t, up * since - 0.5 * g * since**2)
    v = np.where(n == 0, -g * t, up - g * since)
    rest = t >= (impacts[-1] if e < 1.0 and e**flights < 1e-15 else np.inf)
    return np.where(rest, 0.0, y), np.where(rest, 0.0, v)


QUESTION = (
    "A ball that keeps four fifths of its speed bounces infinitely often in 4.06 s. How well do "
    "steps of fixed size get\n"
    "  through the accumulation, and how far does an event-driven integrator get?"
)
BALL = BallParams()
DURATION, SETTLED = 5.0, 3.0  # [s] of the run, and before which errors are counted
STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)  # [s]


def run(short: bool, progress) -> Outcome:
    """Simulate five seconds at every step, and event by event."""
    steps = STEPS[:4] if short else STEPS
    rows, drawn = [], {}
    for h in track_progress(steps, progress, end=0.5):
        drawn[h] = simulate(h)
        rows.append((h, *_errors(drawn[h], h)))
    general = march(build(BALL), (np.array([BALL.gap]),), (np.zeros(1),), 1e-2, 500)
    times = np.linspace(0.01, DURATION, 500)
    events = event_driven.run(build(BALL), 0.0, (np.array([BALL.gap]),), (np.zeros(1),), times)
    progress(1.0)
    tables = {
        "steps": columns("step trajectory_error impact_late penetration rest_speed", rows),
        "impacts": _impacts(events),
        "trajectory": {
            "t": times,
            "exact": exact(BALL, times)[0],
            "event_driven": events.q[:, 0],
            "stepped_10ms": drawn[1e-2].q[1:, 0],
        },
    }
    return Outcome(tables, _claims(tables, events, np.abs(general.q - drawn[1e-2].q).max()))


def simulate(h: float):
    """Simulate the ball at steps of h [s]."""
    linear = moreau_jean_linear.prepare(BALL.mass, 0.0, 0.0, [[1.0]], 0.0, BALL.restitution, h)
    n = round(DURATION / h)
    return march_linear(linear, np.full((n + 1, 1), -BALL.mass * BALL.gravity), [BALL.gap], [0.0])


def _errors(run, h: float) -> tuple:
    """Return the errors before 3 s: trajectory [m], impact instants [steps for each impact so
    far]; then the penetration [m] and the end speed [m/s].
    """
    y, early = exact(BALL, run.t)[0], run.t <= SETTLED
    hard = (run.impulses[:, 0] > 0.0) & (run.v[:-1, 0] < -0.5)
    seen = run.t[1:][hard]
    due = impact_times(BALL, 60)
    due = due[due < SETTLED]
    late = np.array([np.abs(seen - t).min() for t in due]) / (h * np.arange(1, len(due) + 1))
    return (
        np.abs(run.q[:, 0] - y)[early].max(),
        late.max(),
        -run.q.min(),
        np.abs(run.v[run.t > DURATION - 0.2]).max(),
    )


def _impacts(events) -> dict:
    times = np.array([e.t for e in events.events if e.kind == "impact"])
    exact, number = impact_times(BALL, len(times)), np.arange(1, len(times) + 1)
    return {"number": number, "t": times, "exact": exact, "error": times - exact}


def _claims(tables: dict, events, difference: float) -> tuple:
    steps, impacts, track = tables["steps"], tables["impacts"], tables["trajectory"]
    h = steps["step"]
    speed, e = np.sqrt(2.0 * BALL.gravity * BALL.gap), BALL.restitution
    bound = 0.5 * h * speed * (2.0 - e) + BALL.gravity * h * h
    rest = next(e.t for e in events.events if e.kind == "rest")
    return (
        between(
            "time-stepping: order of the trajectory before 3 s",
            slope(h, steps["trajectory_error"]),
            0.75,
            1.25,
        ),
        between("its error at 1 ms", steps["trajectory_error"][2], 1e-3, 1e-2, "m"),
        below(
            "impact instants before 3 s, in steps for each impact so far",
            steps["impact_late"].max(),
            2.0,
        ),
        below("penetration, in parts of h v (2 - e)/2", (steps["penetration"] / bound).max(), 1.0),
        below("speed after the accumulation", steps["rest_speed"].max(), 1e-9, "m/s"),
        below("compiled and general stepper differ by", difference, 1e-12, "m"),
        below("event-driven: impact instants", np.abs(impacts["error"]).max(), 1e-9, "s"),
        below(
            "its trajectory, accumulation and rest included",
            np.abs(track["event_driven"] - track["exact"]).max(),
            1e-9,
            "m",
        ),
        below(
            "it comes to rest this much before the accumulation",
            rest_time(BALL) - rest,
            1e-5,
            "s",
        ),
    )


def draw(outcome: Outcome, figure) -> None:
    """Draw trajectory, accumulation, order, instants."""
    motion, steps, impacts = (outcome.tables[k] for k in ("trajectory", "steps", "impacts"))
    (track, close), (order, instants) = figure.subplots(2, 2)
    t, fine = motion["t"], np.linspace(0.0, DURATION, 20001)
    for axes in (track, close):
        stepped = motion["stepped_10ms"]
        axes.plot(t, stepped, color=COARSE, linewidth=1.2, label="steps of 10 ms")
        axes.plot(fine, exact(BALL, fine)[0], color=EXACT, linewidth=0.9, label="exact")
        events = motion["event_driven"]
        axes.plot(t, events, ".", color=EVENTS, markersize=3, label="event-driven")
        axes.axhline(0.0, color=GREY, linewidth=0.6)
    track.legend()
    close.set(xlim=(3.3, 4.3), ylim=(-0.012, 0.05))
    label_axes(track, "A ball with e = 0.8", "time [s]", "gap [m]")
    label_axes(close, "Where the impacts accumulate", "time [s]", "gap [m]")
    h, error = steps["step"], steps["trajectory_error"]
    order.loglog(h, error, "o-", color=COARSE, label="trajectory before 3 s")
    order.loglog(h, steps["penetration"], "s-", color=FINE, label="penetration")
    slope_guide(order, h, error[0], 1)
    order.legend()
    label_axes(order, "Time-stepping: order 1 through impacts", "step [s]", "error [m]")
    n, error = impacts["number"], np.maximum(np.abs(impacts["error"]), 1e-17)
    instants.semilogy(n, error, ".", color=EVENTS, label="event-driven: error of the instant")
    left = rest_time(BALL) - impacts["exact"]
    instants.semilogy(n, left, color=EXACT, label="time left until the accumulation")
    instants.legend()
    label_axes(instants, "Event by event", "number of the impact [–]", "time, error [s]")
