"""When a run writes its rows: at k times a period that is a whole number of steps."""

from typing import NamedTuple

import numpy as np

MOST_ROWS, MOST_STEPS = 20_000_000, 10**12  # 4 GB of memory; a day


class Rows(NamedTuple):
    """Row k is at k times `every`; row 0 is the start."""

    every: float  # [s]
    count: int  # after the first
    steps: int  # of the integrator from row to row


def plan(duration: float, every: float, step: float) -> Rows:
    """The rows of `duration` [s] >= 0 at every multiple of `every` [s] > 0, itself a multiple of
    `step` [s] > 0.

    The last row is at the duration, or at the last multiple of `every` before it. ValueError if
    `every` is not a multiple of the step, or if there would be too many rows or steps.
    """
    if duration / every > MOST_ROWS:
        advice = f"take an --every of at least {duration / MOST_ROWS:.1g} s"
        raise ValueError(
            f"--duration {duration:g} s with a row every {every:g} s is more than {MOST_ROWS} "
            f"rows; {advice}"
        )
    if max(duration, every) / step > MOST_STEPS:
        raise ValueError(
            f"{max(duration, every):g} s is more than {MOST_STEPS:.0e} steps of {step:g} s; "
            "take a larger --step"
        )
    steps = max(1, round(every / step))
    if abs(every / step - steps) > 1e-9 * steps:
        below = max(1, int(every / step))
        near = f"{below * step:.9g} or {(below + 1) * step:.9g}"
        raise ValueError(
            f"--every is {every:g} s; it must be a multiple of the step, {step:g} s, such as "
            f"{near}"
        )
    return Rows(every, int(duration / every * (1.0 + 1e-12) + 1e-9), steps)


def times(every: float, n: int) -> np.ndarray:
    """0, every, 2 every, ... (n,) [s], from whole numbers: no sum gathers round-off."""
    return every * np.arange(n)
