"""Checks of arguments that come from Python: numbers within bounds, finite float arrays of
matching shapes, or a ValueError with one sentence.
"""

import math
from typing import Any

import numpy as np

from rbdyn_ros.types import Array


def square(value, name: str, block: int = 1) -> Array:
    """Return the value as a finite square matrix (n, n), n a multiple of `block`, in a
    C-contiguous copy.
    """
    A = _numbers(value, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] % block:
        rows = f", {block} rows for each contact" if block > 1 else ""
        raise ValueError(f"{name} has shape {A.shape}; it must be square{rows}")
    return A


def matrix(value, name: str, rows: int | None = None, columns: int | None = None) -> Array:
    """Return the value as a finite (rows, columns) array, square where one of them is left out; a
    number is (1, 1).
    """
    A = np.atleast_2d(_numbers(value, name))
    height: int = A.shape[0] if rows is None else rows
    require_shape(name, A, (height, height if columns is None else columns))
    return A


def rectangle(value, name: str, columns: int | None = None) -> Array:
    """Return the value as a finite array of any number of rows, and of `columns`, or as many as
    there are.
    """
    shape = np.atleast_2d(_numbers(value, name)).shape
    return matrix(value, name, shape[0], shape[-1] if columns is None else columns)


def vector(value, name: str, size: int) -> Array:
    """Return the value as a finite vector (size,), in a copy; a number becomes a vector of that
    number.
    """
    a = _numbers(value, name)
    if a.ndim == 0:
        a = np.full(size, float(a))
    require_shape(name, a, (size,))
    return a


def require_shape(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError for an array of another shape."""
    if np.shape(value) != shape:
        raise ValueError(f"{name} has shape {np.shape(value)}; it must be {shape}")


def coefficients(value, name: str, size: int) -> Array:
    """Return the value as friction coefficients (size,), each >= 0."""
    mu = vector(value, name, size)
    for i in np.flatnonzero(mu < 0.0):
        raise ValueError(
            f"{name}[{i}] is {mu[i]}; a friction coefficient must be >= 0 (0 is frictionless)"
        )
    return mu


def number(
    value,
    name: str,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    infinite: bool = False,
    unit: str = "",
) -> float:
    """Return the value as a float in [low, high], or (low, high]; infinity only where it is
    allowed.
    """
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it must be a number") from None
    fits = (low < x if open_low else low <= x) and x <= high
    if not fits or math.isinf(x) and not infinite:
        rules = [] if infinite or high < math.inf else ["finite"]
        rules += [f"{'>' if open_low else '>='} {low:g}"] if low > -math.inf else []
        rules += [f"<= {high:g}"] if high < math.inf else []
        rule = " and ".join(rules)
        if high < math.inf and not open_low:
            rule = f"from {low:g} to {high:g}"
        raise ValueError(f"{name} is {value}{unit}; it must be {rule}")
    return x


def positive(value, name: str, unit: str = "") -> float:
    """Return the value as a finite float > 0."""
    return number(value, name, 0.0, open_low=True, unit=unit)


def count(value, name: str, low: int, high: float = math.inf) -> int:
    """Return the value as a whole number in [low, high]."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} is {value!r}; it must be a whole number")
    if not low <= value <= high or value != int(value):
        rule = f">= {low}" if high == math.inf else f"from {low} to {high:g}"
        raise ValueError(f"{name} is {value}; it must be a whole number {rule}")
    return int(value)


def _numbers(value, name: str) -> Array:
    try:
        a = np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it must be an array of numbers") from None
    for at in np.argwhere(~np.isfinite(a)):
        where = f"[{', '.join(map(str, at))}]" if a.ndim else ""
        raise ValueError(f"{name}{where} is {a[tuple(at)]}; every number must be finite")
    return a
