"""Bodies with joints by their Lagrange multipliers and the classical Runge-Kutta method: the road
beside the variational one.

The accelerations of description/multipliers.py, integrated as they are; what the joints lose by
the step's error comes back through the stabilisation. Order 4, dissipative or not by chance,
without contacts.
"""

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.description import jacobian, multipliers

ORDER = 4
# residual that stops a run; redundant rows leave one of the size of what the joints have opened
INCONSISTENT = 1e-3


@kernel
def normalise(q):
    """q := orientations of norm 1."""
    for i in range(len(q)):
        q[i, 3:] /= np.sqrt((q[i, 3:] ** 2).sum())


@kernel
def advance(bodies, rows, wrench, alpha, h, n, q, v, reaction):
    """Take n steps of h in place; the multipliers at the start of the last go into reaction (m,).
    Returns (done, rank, residual).

    It stops where the rows contradict each other (residual > INCONSISTENT) or a number is not
    finite: then done < n.
    """
    rank, worst = 0, 0.0
    for k in range(n):
        dq, dv, q_k, v_k = np.zeros_like(q), np.zeros_like(v), q, v
        for stage, weight in ((0.5, 1.0), (0.5, 2.0), (1.0, 2.0), (0.0, 1.0)):
            found = multipliers.forward(bodies, rows, wrench, alpha, q_k, v_k)
            if not found.residual <= INCONSISTENT:
                return k, found.rank, found.residual
            if weight == 1.0 and stage == 0.5:
                reaction[:] = found.multipliers
            rank, worst = found.rank, max(worst, found.residual)
            rate = jacobian.rates(q_k, v_k)
            dq += weight * rate
            dv += weight * found.acceleration
            q_k, v_k = q + stage * h * rate, v + stage * h * found.acceleration
        q += h / 6.0 * dq
        v += h / 6.0 * dv
        normalise(q)
    return n, rank, worst
