"""The excitation of a loop: a sum of sines of one period, which is known at every instant.

    d(t) = A sum_i cos(2 pi f_i t + phi_i) / sqrt(n),   f_i = m_i / T,   m_i integer          (F.1)

Over whole periods T the sines are orthogonal, so the spectrum at each f_i is read without leakage.
The phases are random, which keeps the largest value near three times the effective one; the seed
makes them repeatable.

Source: R. Pintelon and J. Schoukens, System Identification: A Frequency Domain Approach, 2nd ed.
(2012), chapter 5.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.parameters.controller import Excitation
from rbdyn_ros.types import Array

PER_DECADE = 24  # frequencies


class Multisine(NamedTuple):
    """The sum of sines of (F.1)."""

    period: float  # T [s]
    lines: Array  # m (n,), cycles in a period, ascending
    amplitude: float  # the root of the mean square of d, times sqrt 2
    phases: Array  # (n,) [rad]

    @property
    def frequencies(self) -> Array:
        """The frequencies f (n,) [Hz]."""
        return self.lines / self.period

    def sample(self, h: float) -> Array:
        """Return d at the instants 0, h, ... of one period (T / h,)."""
        n = round(self.period / h)
        spectrum = np.zeros(n // 2 + 1, complex)
        spectrum[self.lines] = np.exp(1j * self.phases)
        wave = 0.5 * n * np.fft.irfft(spectrum, n)
        return self.amplitude / np.sqrt(len(self.lines)) * wave

    def hold(self, t: Array, h: float) -> Array:
        """Return the means of d (k,) from the times t (k,) to t + h [s], the values of a held
        force.
        """
        f = self.frequencies
        waves = np.sinc(f * h) * np.cos(
            2.0 * np.pi * f * (np.asarray(t)[:, None] + 0.5 * h) + self.phases
        )
        return self.amplitude / np.sqrt(len(f)) * waves.sum(axis=1)


def build(
    low: float, high: float, h: float, amplitude: float, seed: int = 0, period: float = 0.0
) -> Multisine:
    """Return a multisine with frequencies from `low` to `high` [Hz], equally many in every decade,
    for a loop of the control period `h` [s].

    The period T is `period` [s], or 1 / low where that is 0, made a multiple of h. Raise
    ValueError where the band is empty or goes beyond half the rate of the loop, or the period is
    below 1 / low.
    """
    limit = 0.5 / h
    if not 0.0 < low < high < limit:
        raise ValueError(
            f"the band is {low:g} to {high:g} Hz; it must rise, from above 0 to below half the "
            f"rate of the loop, {limit:g} Hz"
        )
    if not 0.0 < amplitude < np.inf:
        raise ValueError(f"the amplitude is {amplitude:g} N; it must be a finite number > 0")
    if period and not 1.0 / low <= period * (1.0 + 1e-9) < np.inf:
        raise ValueError(
            f"the period is {period:g} s; it must be 0 or at least that of the lowest frequency, "
            f"{1.0 / low:g} s"
        )
    period = h * round((period or 1.0 / low) / h)
    count = 1 + int(np.ceil(PER_DECADE * np.log10(high / low)))
    first, last = max(1.0, low * period), high * period
    lines = np.unique(np.rint(np.geomspace(first, last, count)).astype(int))
    phases = np.random.default_rng(seed).uniform(-np.pi, np.pi, len(lines))
    return Multisine(period, lines, amplitude, phases)


def of(given: Excitation, h: float) -> Multisine:
    """Return the multisine of the parameters `excitation.*`. Raise ValueError as `build` does."""
    return build(given.low, given.high, h, given.amplitude, given.seed, given.period)
