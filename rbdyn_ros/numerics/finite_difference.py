"""Jacobians by central differences in the tangent space, extrapolated until they stop improving.

Every hand-derived Jacobian of this package is checked by it. It is not for use in a step: a
derivation is faster and exact.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

STEP = 0.1  # the first and largest
SHRINK = 2.0  # from one step to the next
ROWS = 8  # of the extrapolation tableau


class Derivative(NamedTuple):
    """A Jacobian and the estimate of its error."""

    value: np.ndarray  # (m, n)
    error: float  # estimate of the largest absolute error of its entries


def jacobian(
    function: Callable[..., Any],
    point,
    dimension: int | None = None,
    plus: Callable[..., Any] = np.add,
    minus: Callable[..., Any] = np.subtract,
    step: float = STEP,
) -> Derivative:
    """Return d f(x [+] e)/de at e = 0, one column for each of the `dimension` tangent directions.

        column i = lim (f(x [+] h e_i) [-] f(x [+] -h e_i)) / 2h

    `plus(x, e)` moves the point along e (n,); `minus(a, b)` is the tangent vector from b to a,
    flattened. Both are those of a vector space by default, where `dimension` is the size of
    `point`. The limit is Ridders': steps step, step/2, ..., Richardson extrapolation in h^2, and
    of the whole tableau the entry whose neighbors agree best. The function must be smooth within
    `step` of the point. Source: Ridders, Adv. Eng. Software 4 (1982) 75.
    """
    if not step > 0.0:
        raise ValueError(f"step is {step}; it must be > 0")
    n = np.size(point) if dimension is None else dimension
    columns = [
        _column(lambda e: function(plus(point, e)), direction, minus, step)
        for direction in np.eye(n)
    ]
    values, errors = zip(*columns)
    return Derivative(np.stack(values, axis=-1), max(errors))


def _column(
    along: Callable, direction: np.ndarray, minus: Callable, step: float
) -> tuple[np.ndarray, float]:
    """Return (column, its error) of Ridders' tableau: row j has the central difference with step /
    SHRINK^j and its extrapolations.
    """
    best, best_error, last = None, np.inf, []
    for j in range(ROWS):
        h = step / SHRINK**j
        row = [np.ravel(minus(along(h * direction), along(-h * direction))) / (2.0 * h)]
        for k, previous in enumerate(last):
            factor = SHRINK ** (2 * (k + 1))
            row.append((factor * row[k] - previous) / (factor - 1.0))
            error = max(_distance(row[k + 1], row[k]), _distance(row[k + 1], previous))
            if error <= best_error:
                best, best_error = row[k + 1], error
        last = row
    if best is None:
        raise ValueError(
            f"the function is not finite within {step} of the point; choose a smaller step"
        )
    return best, best_error


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b), initial=0.0))
