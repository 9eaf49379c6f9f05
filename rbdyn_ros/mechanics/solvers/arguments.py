"""What the solvers take from Python: finite float arrays of matching shapes, or one sentence."""

import numpy as np

from rbdyn_ros.types import Array


def square(value, name: str, block: int = 1) -> Array:
    """A finite square matrix (n, n) whose n is a multiple of `block`, as a C-contiguous copy."""
    A = _numbers(value, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] % block:
        rows = f", {block} rows for each contact" if block > 1 else ""
        raise ValueError(f"{name} has shape {A.shape}; it must be square{rows}")
    return A


def vector(value, name: str, size: int) -> Array:
    """A finite vector (size,), as a copy; a number becomes a vector of that number."""
    a = _numbers(value, name)
    if a.ndim == 0:
        a = np.full(size, float(a))
    if a.shape != (size,):
        raise ValueError(f"{name} has shape {a.shape}; it must be ({size},) to match the matrix")
    return a


def coefficients(value, name: str, size: int) -> Array:
    """Friction coefficients (size,), each >= 0."""
    mu = vector(value, name, size)
    for i in np.flatnonzero(mu < 0.0):
        raise ValueError(
            f"{name}[{i}] is {mu[i]}; a friction coefficient must be >= 0 (0 is frictionless)"
        )
    return mu


def _numbers(value, name: str) -> Array:
    try:
        a = np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; it must be an array of numbers") from None
    for at in np.argwhere(~np.isfinite(a)):
        where = ", ".join(map(str, at))
        raise ValueError(f"{name}[{where}] is {a[tuple(at)]}; every number must be finite")
    return a
