"""Whether the rod stood, and how soon it came to rest."""

import math
from typing import NamedTuple

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.trial.trial import Trial, tilt, unseen

STANDING, LAST = metrics.STANDING.tilt, metrics.STANDING.hold  # [rad], [s] before the end
SETTLED = metrics.TRIAL.tilt  # [rad]
BLINK = 0.2  # [s] without a state in view, too short to fall out of `STANDING` and to be back


class Verdict(NamedTuple):
    """The exit code, and its reason."""

    stood: bool
    sentence: str


class Settling(NamedTuple):
    """How long it took until the tilt stayed below `SETTLED`."""

    event: str
    time: float  # [s]; nan if it did not


def verdict(trial: Trial) -> Verdict:
    """The rod stood if its tilt stayed below `STANDING` during the last second.

    What nobody saw is not claimed: where states are missing from the last second there is no
    success, and pushes that came late are named. A trial that somebody ended early has nothing to
    prove; only a rod that lay by then did not stand.
    """
    if trial.failure:
        return Verdict(False, trial.failure)
    if not len(trial.t):
        return Verdict(
            trial.interrupted,
            "interrupted before the start" if trial.interrupted else "no state was seen",
        )
    lean, end = tilt(trial.q), trial.t[-1]
    if trial.interrupted and lean[-1] < math.pi / 2:
        return Verdict(
            True, f"interrupted after {end:.1f} s, the rod at {math.degrees(lean[-1]):.1f}°"
        )
    end = end if trial.interrupted else trial.duration
    worst = math.degrees(lean[trial.t >= end - LAST].max(initial=0.0))
    if worst >= math.degrees(STANDING):
        why = f"; the controller reported: {trial.remark}" if trial.remark else ""
        return Verdict(
            False,
            f"the rod did not stand: up to {worst:.0f}° in the last second, "
            f"{math.degrees(STANDING):g}° allowed{why}",
        )
    blind = unseen(trial, max(0.0, end - LAST), end)
    if blind > BLINK:
        sentence = (
            "nobody saw whether the rod stood: no state in "
            f"view for {blind:.1f} s of the last "
            "second; the plant ran ahead of who watched"
        )
        return Verdict(False, sentence)
    return Verdict(
        True,
        f"the rod stood: at most {worst:.2f}° in the last second{_describe_missed_pushes(trial)}",
    )


def _describe_missed_pushes(trial: Trial) -> str:
    """What a rod that stood did not have to stand."""
    late = sum(not push.felt <= trial.duration for push in trial.pushes)
    return (
        f"; but {late} of {len(trial.pushes)} pushes came after the end, or were not seen to act"
        if late
        else ""
    )


def settling(trial: Trial) -> list[Settling]:
    """`Settling` after the release and after each push."""
    starts = [("release", 0.0)] + [
        (f"push {i}", push.felt) for i, push in enumerate(trial.pushes, 1)
    ]
    ends = [
        min((later for _, later in starts[i:] if not math.isnan(later)), default=math.inf)
        for i in range(1, len(starts) + 1)
    ]
    return [
        Settling(event, _settling_time(trial, start, end))
        for (event, start), end in zip(starts, ends)
    ]


def _settling_time(trial: Trial, start: float, end: float) -> float:
    chosen = (trial.t >= start) & (trial.t < end)
    times, outside = trial.t[chosen], tilt(trial.q[chosen]) > SETTLED
    since = metrics.inside_since(times, outside)
    return since - start if math.isfinite(since) else math.nan
