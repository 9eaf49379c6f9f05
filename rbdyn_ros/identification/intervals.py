"""The uncertainty of the fitted numbers.

Errors of sensors are not white: an encoder at rest repeats its own, and where the motion is
periodic, as under a multisine, its rounding repeats with it. The residuals are therefore put into
m clusters, within which they may depend on each other in any way: a cluster is a segment, or,
where the residuals of a record repeat after the time T, all of those in the same part of T,

    floor(m (t mod T) / T),   m = max(8, T / length of a segment).                            (I.4)

The covariance is that of the fits that leave out one cluster each (the jackknife). With
H_c = J_c^T J_c, g_c = J_c^T r_c of cluster c and H = J^T J they differ from the whole fit by

    d_c = -(H - H_c)^-1 g_c,   Sigma_p = (m - 1)/m sum_c d_c d_c^T,                           (I.5)

and an interval of 95 % is as wide as Student's distribution with m - 1 degrees of freedom says.

Source: (I.5): J. G. MacKinnon, M. O. Nielsen, M. D. Webb, Leverage, influence, and the jackknife
in clustered regression models, Journal of Econometrics 237 (2023); R. M. Bell and D. F.
McCaffrey, Survey Methodology 28 (2002) 169.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, stdtrit  # scipy.stats takes a second to import

from rbdyn_ros.types import Array

LEVEL = 0.95
LAGS = 20  # samples over which the residuals are tested for whiteness
FEWEST = 8  # clusters in a period
ALIKE = 0.2  # correlation from which residuals count as repeating,
CERTAIN = 6.0  # and the deviations of chance that it must exceed
NEARLY = 0.7  # part of the largest correlation that the first repetition must have


class Spread(NamedTuple):
    """The uncertainty of p numbers."""

    deviations: Array  # (p,) one standard deviation; inf where nothing is known
    intervals: Array  # (p,) half the width of the interval of 95 %
    weak: Array  # (k, p) directions that are not determined, of unit length


def spread(J: Array, residual: Array, clusters: Array, least: float) -> Spread:
    """Return the uncertainty by (I.5) of p numbers from J (n, p) and the residuals (n,), of which
    `clusters` (n,) are the labels of their clusters.

    Directions of singular values of J below `least` of the largest are not determined.
    """
    _, s, V = np.linalg.svd(J, full_matrices=False)
    weak = s < least * s[0]
    root = V[~weak].T / s[~weak]  # (p, k): H = 1 in these coordinates
    labels = np.unique(clusters)
    moved = []
    for label in labels:
        part = J[clusters == label] @ root
        share, U = np.linalg.eigh(part.T @ part)
        rest = np.maximum(1.0 - share, 1e-6)  # information of the other clusters
        moved.append(U @ ((U.T @ (part.T @ residual[clusters == label])) / rest))
    count = len(labels)
    changes = np.array(moved) @ root.T
    deviations = np.sqrt((count - 1) / count * np.sum(changes**2, axis=0))
    size = np.abs(V[weak])
    deviations[(size > 0.05 * size.max(axis=1, keepdims=True)).any(axis=0)] = np.inf
    width = float(stdtrit(max(1, count - 1), 0.5 + 0.5 * LEVEL))
    return Spread(deviations, width * deviations, V[weak])


def repetition(residual: Array, first: Array, spacing: int) -> int:
    """Return after how many of its samples a record repeats its residuals; 0 if it does not.

    `residual` (segments, n, c) over their deviations, with the samples of segment s at the places
    first[s] + spacing (0, ..., n - 1) of the record; lags of less than a segment are not
    distinguished from colored noise.
    """
    length = residual.shape[1]
    places = (first - first.min()) // spacing
    count = int(places.max()) + length
    known, signal = np.zeros(count), np.zeros((count, residual.shape[2]))
    for place, part in zip(places, residual):
        known[place : place + length] = 1.0
        signal[place : place + length] = part
    spectra = np.fft.rfft(np.column_stack((signal, known)), 2 * count, axis=0)
    *sums, pairs = np.fft.irfft(np.abs(spectra) ** 2, 2 * count, axis=0)[:count].T
    pairs = residual.shape[2] * np.maximum(np.rint(pairs), 1.0)
    total = np.sum(sums, axis=0)
    alike = total / pairs / max(total[0] / pairs[0], np.finfo(float).tiny)
    chosen = (alike > ALIKE) & (alike * np.sqrt(pairs) > CERTAIN)
    chosen[:length] = chosen[-length:] = False
    if not chosen.any():
        return 0
    return spacing * int(np.argmax(chosen & (alike >= NEARLY * alike[chosen].max())))


def parts_of(first: Array, length: int, spacing: int, period: int) -> Array:
    """Return the cluster (I.4) of each sample (segments, n), for segments of `length` samples of a
    record, each `spacing` th of which counts; a `period` of 0 is none.
    """
    at = (first - first.min())[:, None] + np.arange(0, length + 1, spacing)
    if period == 0:
        return np.repeat(np.arange(len(first))[:, None], at.shape[1], axis=1)
    return (at % period) * max(FEWEST, round(period / length)) // period


def whiteness(residual: Array) -> float:
    """Return the least probability, over the columns (n, c), of so much correlation (Ljung and
    Box).
    """
    n, channels = residual.shape
    if n <= LAGS:
        return 1.0
    rho = np.array([correlations(r, LAGS)[1:] for r in residual.T])
    Q = n * (n + 2) * np.sum(rho**2 / (n - np.arange(1, LAGS + 1)), axis=1)
    return min(1.0, channels * float(chdtrc(LAGS, Q).min()))


def correlations(r: Array, count: int) -> Array:
    """Return the correlations of r (n,) with itself, delayed by 0 to `count` samples."""
    r = r - r.mean()
    power = float(r @ r) or 1.0
    return np.array([1.0, *(r[k:] @ r[:-k] / power for k in range(1, count + 1))])
