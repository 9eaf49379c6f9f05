"""The discrete linear-quadratic regulator, and the reason where there is none."""

import numpy as np
from scipy.linalg import solve_discrete_are

from rbdyn_ros.types import Array

_CIRCLE = 1e-9  # a mode this near to the unit circle neither decays nor grows
_NONE = "the Riccati equation has no stabilizing solution"


def gain(A: Array, B: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """Return (K, S): u = -K e minimizes sum e.Q e + u.R u = e0.S e0 subject to e' = A e + B u.

        S = Q + A^T S (A - B K),    K = (R + B^T S B)^-1 B^T S A

    A (n, n), B (n, m), Q (n, n) symmetric >= 0, R (m, m) symmetric > 0; K (m, n), S (n, n). Raise
    ValueError, with the reason, if no solution stabilizes.
    """
    _require_solution(A, B, Q)
    try:
        K, S = unchecked_gain(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{_NONE}: {str(error).rstrip('.')}") from error
    radius = max(abs(np.linalg.eigvals(A - B @ K)))
    if not radius < 1.0 - _CIRCLE:
        raise ValueError(
            f"{_NONE}: the best that was found has a pole at distance {radius:.9g} from the origin"
        )
    return K, S


def unchecked_gain(A: Array, B: Array, Q: Array, R: Array) -> tuple[Array, Array]:
    """Return (K, S) of `gain` for a plant of which a neighbor has a solution, in a seventh of the
    time.

    Raise LinAlgError if none is found.
    """
    S = solve_discrete_are(A, B, Q, R)
    return np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A), S


def _require_solution(A: Array, B: Array, Q: Array) -> None:
    """Raise ValueError if there is no solution, by Popov, Belevitch and Hautus: what does not
    decay must be reached by the input, what stays be seen by the cost.
    """
    for mode in np.linalg.eigvals(A):
        shifted = A - mode * np.eye(len(A))
        if abs(mode) > 1.0 - _CIRCLE and _is_rank_deficient(np.hstack((shifted, B))):
            raise ValueError(
                f"{_NONE}: the input does not reach the mode with eigenvalue {mode:.6g}"
            )
        if abs(abs(mode) - 1.0) < _CIRCLE and _is_rank_deficient(np.vstack((shifted, Q))):
            raise ValueError(f"{_NONE}: no weight sees the mode with eigenvalue {mode:.6g}")


def _is_rank_deficient(matrix: Array) -> bool:
    return np.linalg.matrix_rank(matrix) < min(matrix.shape)
