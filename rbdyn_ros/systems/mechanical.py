"""A second-order system, whatever its coordinates: M(q) dv/dt = F(t, q, v) + H^T lambda, dq/dt = T(q) v   (N.1).

q lives where it likes (R^n, or positions and unit quaternions), v in R^n. A displacement is a vector w of velocity
coordinates; q (+) w moves along it: q + w in R^n, the exponential on rotations. Gradients with respect to q are taken
along such displacements.
"""

from typing import Callable, NamedTuple

import numpy as np

from rbdyn_ros.types import Array


class Mechanical(NamedTuple):
    """The functions that a stepper needs."""

    degrees: int  # n, the length of v
    mass: Callable  # q -> M (n, n)
    force: Callable  # (t, q, v) -> F (n,), quadratic terms included
    stiffness: Callable  # (t, q, v) -> dF/dq along displacements (n, n)
    damping: Callable  # (t, q, v) -> dF/dv (n, n)
    tangent: Callable  # q -> T (n_q, n)
    moved: Callable  # (q, w) -> q (+) w
    norms: Callable  # q -> (values (k,), gradient (k, n_q)): what q must keep zero, |Q| - 1


def differentiated(function: Callable, point: Array, degrees: int, moved: Callable = np.add) -> Array:
    """d function / d point along displacements, (m, degrees); central differences, error about 1e-10 of the scale.

    The way out where a system comes without its gradients.
    """
    step = 1e-5
    columns = [(function(moved(point, step * e)) - function(moved(point, -step * e))) / (2.0 * step) for e in np.eye(degrees)]
    return np.stack(columns, axis=-1)
