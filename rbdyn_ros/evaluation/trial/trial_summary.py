"""A trial as a table of text."""

import math

import numpy as np

from rbdyn_ros.evaluation.trial.trial import Trial, tilt, unseen
from rbdyn_ros.evaluation.trial.verdict import SETTLED, settling
from rbdyn_ros.simulation.statistics import TRIPS


def summary(trial: Trial, recorded: str) -> str:
    """One line per quantity, the last one says what was recorded. What was not seen is a dash."""
    rows = [
        _settling(trial),
        *_pushes(trial),
        *_extremes(trial),
        *_timing(trial),
        _energy(trial),
        ("recorded", recorded),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:{width}}  {text}" for name, text in rows)


def _settling(trial: Trial) -> tuple:
    parts = [f"{event} {_number(time, '.2f')} s" for event, time in settling(trial)]
    return f"settled, below {math.degrees(SETTLED):g}°, after", ", ".join(parts)


def _pushes(trial: Trial) -> list:
    told = [
        f"{_number(push.felt, '.2f')} s, asked for at {push.time:.2f} s" for push in trial.pushes
    ]
    return [("pushes felt at", "; ".join(told))] if told else []


def _extremes(trial: Trial) -> list:
    lean, force = np.degrees(tilt(trial.q)), np.hypot(*trial.force.T)
    away = np.hypot(*(trial.q[:, :2] - trial.q[:1, :2]).T)
    return [
        ("largest tilt", f"{_largest(lean, '.1f')}°"),
        ("largest force", f"{_largest(force, '.1f')} N"),
        ("cart, farthest from its start", f"{_largest(away, '.2f')} m"),
    ]


def _timing(trial: Trial) -> list:
    counts = trial.counts
    trips = " / ".join(
        _number(counts.get(f"round_trip_{part}_ms"), ".2f") for part in ("p50", "p99", "max")
    )
    commands = min(TRIPS, counts.get("accepted", 0.0))
    seconds = trial.t[-1] if len(trial.t) else 0.0
    is_cut = trial.interrupted or trial.failure
    rate = seconds / trial.wall_time if trial.wall_time else math.nan
    return [
        ("round trip p50 / p99 / max", f"{trips} ms, over the last {commands:.0f} commands"),
        (
            "missed deadlines",
            f"{_number(counts.get('missed'), '.0f')} of {_number(counts.get('ticks'), '.0f')}",
        ),
        ("watchdog trips", _number(counts.get("watchdog_trips"), ".0f")),
        (
            "simulated and seen",
            f"{seconds:.2f} s in {trial.wall_time:.2f} s, real time × {_number(rate, '.2f')}",
        ),
        (
            "longest time without a state",
            f"{unseen(trial, 0.0, seconds if is_cut else trial.duration):.3f} s",
        ),
    ]


def _energy(trial: Trial) -> tuple:
    text = (
        f"{_largest(abs(trial.balance), '.1e')} J: change of energy - work of the forces + "
        "dissipation"
    )
    return "energy balance residual", text


def _largest(values, form: str) -> str:
    return _number(values.max() if len(values) else None, form)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)
