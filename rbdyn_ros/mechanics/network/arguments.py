"""What systems take from Python: finite arrays of matching shapes, or one sentence."""

import math

import numpy as np

from rbdyn_ros.types import Array


def matrix(value, name: str, rows: int | None = None, columns: int | None = None) -> Array:
    """A finite (rows, columns) array; square where one of them is left out; a number is (1, 1)."""
    A = np.atleast_2d(np.array(value, dtype=float))
    rows = A.shape[0] if rows is None else rows
    columns = rows if columns is None else columns
    if A.shape != (rows, columns):
        raise ValueError(f"{name} has shape {A.shape}; it must be ({rows}, {columns})")
    if not np.isfinite(A).all():
        raise ValueError(f"{name} is {A.tolist()}; every number must be finite")
    return A


def vector(value, name: str, size: int) -> Array:
    """A finite (size,) array, as a copy; a number is repeated."""
    a = np.array(value, dtype=float)
    a = np.full(size, float(a)) if a.ndim == 0 else a
    if a.shape != (size,):
        raise ValueError(f"{name} has shape {a.shape}; it must be ({size},)")
    if not np.isfinite(a).all():
        raise ValueError(f"{name} is {a.tolist()}; every number must be finite")
    return a


def number(
    value,
    name: str,
    low: float,
    high: float = float("inf"),
    open_low: bool = False,
    infinite: bool = False,
) -> float:
    """A float in [low, high], or (low, high]; infinity only where it is allowed."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it must be a number") from None
    fits = (low < x if open_low else low <= x) and x <= high
    if not fits or math.isinf(x) and not infinite:
        least = f"> {low:g}" if open_low else f">= {low:g}"
        most = ("" if infinite else " and finite") if math.isinf(high) else f" and <= {high:g}"
        raise ValueError(f"{name} is {value}; it must be {least}{most}")
    return x


def count(value, name: str, low: int, high: float = float("inf")) -> int:
    """A whole number in [low, high]."""
    x = number(value, name, low, high)
    if x != int(x):
        raise ValueError(f"{name} is {value}; it must be a whole number")
    return int(x)
