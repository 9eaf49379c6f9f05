"""The result of every solver, and a text for each way in which it can end."""

import math
from typing import NamedTuple

from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array

SOLVED, STALLED, SINGULAR, RAY, EXHAUSTED, NOT_FINITE = range(6)

MEANINGS = (
    "solved: the residual is within the tolerance",
    "stalled: the iterations ran out, or stopped improving, above the tolerance",
    "singular: not solved, and the matrix is rank deficient: redundant or inconsistent rows",
    "ray: not solved, and the pivots run along a ray; for a positive semidefinite matrix there is "
    "no solution",
    "exhausted: not solved, and every complementary choice was tried",
    "not finite: the problem, the start or the solution holds nan or infinite numbers",
)


class Options(NamedTuple):
    """The criteria for stopping.

    One class for all solvers: Numba distinguishes NamedTuples in an argument by their fields only,
    and two of the same fields would cost every second call 60 us.
    """

    tolerance: float  # on the problem's error [-]
    max_iterations: int


class Solution(NamedTuple):
    """The unknown and its accuracy.

    When `ok` is false, `z` is the best found; the caller decides.
    """

    z: Array  # (n,) the unknown
    status: int  # SOLVED ...; `explain` describes it
    residual: float  # the problem's own error at z [-], not the solver's estimate
    iterations: int  # pivots, sweeps, Newton steps: what the solver repeats
    ok: bool  # residual <= tolerance


@kernel
def assess(z, residual, iterations, tolerance, failure):
    """Return the Solution z of that residual; its status is `failure` where the residual exceeds
    the tolerance.
    """
    if residual <= tolerance:
        return Solution(z, SOLVED, residual, iterations, True)
    return Solution(
        z, failure if math.isfinite(residual) else NOT_FINITE, residual, iterations, False
    )


def explain(solution: Solution) -> str:
    """Return how the solve ended, in one line with its numbers."""
    return (
        f"{MEANINGS[solution.status]} (residual {solution.residual:.1e} after "
        f"{solution.iterations} iterations)"
    )
