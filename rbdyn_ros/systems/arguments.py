"""What systems take from Python: finite arrays of matching shapes, or one sentence."""

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


def number(value, name: str, low: float, high: float = float("inf"), open_low: bool = False) -> float:
    """A float in [low, high], or (low, high]."""
    x = float(value)
    if not (low < x if open_low else low <= x) or not x <= high:
        least = f"> {low:g}" if open_low else f">= {low:g}"
        raise ValueError(f"{name} is {value}; it must be {least}" + ("" if high == float("inf") else f" and <= {high:g}"))
    return x
