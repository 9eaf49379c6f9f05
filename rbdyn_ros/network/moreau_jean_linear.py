"""Moreau and Jean's scheme for M dv/dt + C v + K q = F(t) + H^T lambda, y = H q + b >= 0,
compiled, for long runs.

The equations of `moreau_jean` with constant matrices: one Newton step is exact, and all matrices
are made once,

    W = M + h theta C + (h theta)^2 K,
    v_free = v_k + W^-1 h [theta F_{k+1} + (1 - theta) F_k - C v_k - K (q_k + h theta v_k)]  (N.19)

with Newton impacts on the contacts that (N.16) closes. Forces come as numbers, a row for each
node.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.kernel import kernel
from rbdyn_ros.network.moreau_jean_theta import TOUCHING, Options
from rbdyn_ros.network.second_order import solve_mass
from rbdyn_ros.numerics.arguments import matrix, number, positive, rectangle, vector
from rbdyn_ros.numerics.solvers import lcp, lcp_lemke
from rbdyn_ros.numerics.solvers.solution import Options as SolverOptions
from rbdyn_ros.types import Array


class LinearSystem(NamedTuple):
    """A linear system with its contacts, and the matrices of a step of h; `prepare` makes it."""

    h: float  # [s]
    theta: float
    gamma: float
    restitution: float  # e
    C: Array  # (n, n)
    K: Array  # (n, n)
    inverse: Array  # W^-1 (n, n)
    H: Array  # (m, n)
    b: Array  # (m,)
    carried: Array  # W^-1 H^T (n, m)
    G: Array  # H W^-1 H^T (m, m)


def prepare(
    M, C, K, H, b, restitution: float, h: float, options: Options = Options()
) -> LinearSystem:
    """Return the matrices of steps of h [s]; M, C, K (n, n), H (m, n), b (m,) or one for all; of
    the options theta and gamma count. Raise ValueError naming a wrong number.
    """
    theta, gamma = options.theta, options.gamma
    M = matrix(M, "M")
    n = len(M)
    C, K, H = matrix(C, "C", n), matrix(K, "K", n), rectangle(H, "H", n)
    k = positive(h, "h") * number(theta, "theta", 0.0, 1.0, open_low=True)
    inverse = solve_mass(M + k * C + k * k * K, np.eye(n), "matrix M + h theta C + (h theta)^2 K")
    b = vector(b, "b", len(H))
    e, gamma = number(restitution, "restitution", 0.0, 1.0), number(gamma, "gamma", 0.0, 1.0)
    carried = np.ascontiguousarray(inverse @ H.T)
    return LinearSystem(
        float(h), float(theta), gamma, e, C, K, inverse, H, b, carried, H @ carried
    )


@kernel
def advance(linear, forces, q, v, positions, velocities, impulses):
    """Advance q (n,), v (n,) in place and return the number of steps: len(forces) - 1 unless a
    one-step problem fails or a number is not finite.

    forces (steps + 1, n) [N] at the nodes; positions, velocities (steps, n) and impulses (steps,
    m) are written.
    """
    h, theta, H = linear.h, linear.theta, linear.H
    n, m = len(q), len(linear.b)
    free, rest, closed = np.empty(n), np.empty(n), np.empty(m, np.int64)
    for k in range(len(forces) - 1):
        for i in range(n):
            rest[i] = theta * forces[k + 1, i] + (1.0 - theta) * forces[k, i]
            for j in range(n):
                rest[i] -= linear.C[i, j] * v[j] + linear.K[i, j] * (q[j] + h * theta * v[j])
        for i in range(n):
            free[i] = v[i]
            for j in range(n):
                free[i] += h * linear.inverse[i, j] * rest[j]
        count = 0
        for a in range(m):
            y, u = linear.b[a], 0.0
            for j in range(n):
                y += H[a, j] * q[j]
                u += H[a, j] * v[j]
            if y + linear.gamma * h * u <= TOUCHING:
                closed[count] = a
                count += 1
        impulses[k, :] = 0.0
        for i in range(n):
            if not np.isfinite(free[i]):
                return k
        if count > 0 and not collide(linear, closed[:count], free, v, impulses[k]):
            return k
        for i in range(n):
            for a in range(m):
                free[i] += linear.carried[i, a] * impulses[k, a]
            q[i] += h * (theta * free[i] + (1.0 - theta) * v[i])
            v[i] = free[i]
            positions[k, i], velocities[k, i] = q[i], v[i]
    return len(forces) - 1


@kernel
def collide(linear, closed, free, v, P):
    """Set P to the impulses of the closed contacts, 0 <= u + e u^- _|_ P >= 0, and return whether
    they were found.
    """
    count = len(closed)
    u, G = np.zeros(count), np.empty((count, count))
    for c in range(count):
        for j in range(len(free)):
            u[c] += linear.H[closed[c], j] * (free[j] + linear.restitution * v[j])
        for d in range(count):
            G[c, d] = linear.G[closed[c], closed[d]]
    if count == 1:
        P[closed[0]] = max(0.0, -u[0] / G[0, 0])
        return True
    found = lcp_lemke.solve(lcp.Problem(G, u), np.zeros(count), SolverOptions(1e-11, 1000))
    for c in range(count):
        P[closed[c]] = found.z[c]
    return found.ok
