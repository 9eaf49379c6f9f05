"""Optimal motion of rod and cart between two states by iterative LQR, on the compiled plant of
`pendulum.sphere_state`.

    minimize  h sum_i [w_u |u_i|^2 + w_s (|u_i| - u_b)_+^2 + w_s (|x_i| - x_b)_+^2] + e_N.Q_N e_N,
    s_{i+1} = f(s_i, u_i)   (K.18)

with s = (k, k', x, x') as ten numbers and e_N its distance from upright at rest at the origin.
Each iteration replaces f by its derivatives along the motion, the cost by its Gauss-Newton form,
and solves the linear-quadratic problem backward:

    Q_uu = l_uu + B^T V' B,   K_i = Q_uu^-1 B^T V' A,   d_i = -Q_uu^-1 (l_u + B^T v'),
    V = l_ss + A^T V' (A - B K_i)   (K.19)

then goes forward with u_i + a d_i - K_i (s - s_i), a halved until the cost falls. Four directions
alone keep (k, k') on the sphere and its tangent plane; f puts every step back there, so the others
have no effect.

Source: Tassa, Erez, Todorov, Synthesis and stabilization of complex behaviors through online
trajectory optimization, IROS 2012.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry.dual import store, variable
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.types import Array

SIZE = 10  # k (3), k' (3), x (2), x' (2)
_SHORTEST = 1e-4  # a of a step that is still tried


class Cost(NamedTuple):
    """The weights and limits of (K.18)."""

    force: float  # w_u [1/N^2]
    force_edge: float  # u_b [N]
    travel_edge: float  # x_b [m]
    wall: float  # W
    end: Array  # Q_N (10,), its diagonal


class Motion(NamedTuple):
    """States and forces at the nodes, h [s] apart."""

    states: Array  # (N + 1, 10)
    forces: Array  # (N, 2) [N]


@inlined
def as_sphere(s):
    """Return (k, k', x, x') of ten numbers."""
    return (s[0], s[1], s[2]), (s[3], s[4], s[5]), (s[6], s[7]), (s[8], s[9])


@kernel
def advance(system, p3, s, ux, uy, h, after):
    """Compute after (10,) := f(s, u): one step of h [s] with the momentum p3 [kg m^2/s] of the
    spin.
    """
    k, dk, x, dx = sphere_state.step(system, p3, (ux, uy), as_sphere(s), h)
    for i in range(3):
        after[i], after[3 + i] = k[i], dk[i]
    for i in range(2):
        after[6 + i], after[8 + i] = x[i], dx[i]


@kernel
def linearize(system, s, u, h, A, B):
    """Compute A (10, 10), B (10, 2) := the derivatives of f, exactly (`geometry.dual`)."""
    k = variable(16, s[0], 0), variable(16, s[1], 1), variable(16, s[2], 2)
    dk = variable(16, s[3], 3), variable(16, s[4], 4), variable(16, s[5], 5)
    x = variable(16, s[6], 6), variable(16, s[7], 7)
    dx = variable(16, s[8], 8), variable(16, s[9], 9)
    force = variable(16, u[0], 10), variable(16, u[1], 11)
    k, dk, x, dx = sphere_state.step(system, 0.0, force, (k, dk, x, dx), h)
    after = k[0], k[1], k[2], dk[0], dk[1], dk[2], x[0], x[1], dx[0], dx[1]
    for i in range(SIZE):
        store(A, i, 0, after[i], 0, 10)
        store(B, i, 0, after[i], 10, 2)


@inlined
def _beyond(a, edge):
    """Return how far a vector (2,) reaches beyond a disc, and its direction."""
    r = math.hypot(a[0], a[1])
    return max(0.0, r - edge), (a[0] / r if r > 0.0 else 0.0), (a[1] / r if r > 0.0 else 0.0)


@kernel
def price(cost, states, forces, h):
    """Return the cost of a motion, (K.18)."""
    total = 0.0
    for i in range(len(forces)):
        over, _, _ = _beyond(forces[i], cost.force_edge)
        out, _, _ = _beyond(states[i, 6:8], cost.travel_edge)
        total += h * (
            cost.force * (forces[i, 0] ** 2 + forces[i, 1] ** 2)
            + cost.wall * (over * over + out * out)
        )
    for i in range(SIZE):
        total += cost.end[i] * (states[-1, i] - (i == 2)) ** 2
    return total


@inlined
def _wall(weight, a, edge, gradient, hessian, at):
    """Add weight (|a| - edge)_+^2 to a gradient and a Gauss-Newton Hessian, at its place."""
    out, nx, ny = _beyond(a, edge)
    if out > 0.0:
        n = (nx, ny)
        for i in range(2):
            gradient[at + i] += 2.0 * weight * out * n[i]
            for j in range(2):
                hessian[at + i, at + j] += 2.0 * weight * n[i] * n[j]


@kernel
def backward(system, cost, states, forces, h, damping, gains, steps):
    """Compute (K.19) along a motion: gains (N, 2, 10), steps (N, 2). Return the expected decrease
    of the cost.
    """
    A, B = np.zeros((SIZE, SIZE)), np.zeros((SIZE, 2))
    V, v, promised = np.diag(2.0 * cost.end), 2.0 * cost.end * states[-1], 0.0
    v[2] -= 2.0 * cost.end[2]
    for i in range(len(forces) - 1, -1, -1):
        linearize(system, states[i], forces[i], h, A, B)
        l_s, l_ss, l_u, l_uu = (
            np.zeros(SIZE),
            np.zeros((SIZE, SIZE)),
            2.0 * h * cost.force * forces[i],
            2.0 * h * cost.force * np.eye(2),
        )
        _wall(h * cost.wall, states[i, 6:8], cost.travel_edge, l_s, l_ss, 6)
        _wall(h * cost.wall, forces[i], cost.force_edge, l_u, l_uu, 0)
        VA, K, k = product(V, A), gains[i], steps[i]
        Q_u, Q_uu, Q_us = (
            l_u + transposed_product(B, v),
            l_uu + product(B.T, product(V, B)),
            product(B.T, VA),
        )
        damped = inverse(Q_uu + damping * np.eye(2))
        K[:], k[:] = product(damped, Q_us), -transposed_product(damped, Q_u)
        left = transposed_product(Q_uu, k)  # symmetric
        promised -= k[0] * (Q_u[0] + 0.5 * left[0]) + k[1] * (Q_u[1] + 0.5 * left[1])
        v = (
            l_s
            + transposed_product(A, v)
            + transposed_product(Q_us, k)
            - transposed_product(K, Q_u + left)
        )
        V = l_ss + product(A.T, VA) - product(Q_us.T, K) - product(K.T, Q_us - product(Q_uu, K))
        V = 0.5 * (V + V.T)
    return promised


@kernel
def design_gains(system, motion, h, weights, gains, forms):
    """Compute gains (N, 2, 10) and Riccati matrices (N + 1, 10, 10) of the time-varying regulator
    about a motion.

    `weights` are Q (10,) and R per second, and S (10, 10), the matrix at the end.
    """
    (states, forces), (Q, R, S) = motion, weights
    A, B = np.zeros((SIZE, SIZE)), np.zeros((SIZE, 2))
    forms[-1] = S
    for i in range(len(forces) - 1, -1, -1):
        linearize(system, states[i], forces[i], h, A, B)
        SA, SB = product(forms[i + 1], A), product(forms[i + 1], B)
        gains[i] = product(inverse(h * R * np.eye(2) + product(B.T, SB)), product(B.T, SA))
        form = h * np.diag(Q) + product((A - product(B, gains[i])).T, SA)
        forms[i] = 0.5 * (form + form.T)


# Loops in place of `@`, whose way to BLAS takes ten times as long to compile.


@kernel
def product(A, B):
    """Return A B."""
    C = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


@kernel
def transposed_product(A, b):
    """Return A^T b."""
    c = np.zeros(A.shape[1])
    for k in range(A.shape[0]):
        for i in range(A.shape[1]):
            c[i] += A[k, i] * b[k]
    return c


@kernel
def inverse(A):
    """Return A^-1 of a symmetric matrix (2, 2); inf or nan if it is singular."""
    d = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    return np.array(((A[1, 1] / d, -A[0, 1] / d), (-A[1, 0] / d, A[0, 0] / d)))


@kernel
def forward(system, motion, gains, steps, a, h, new):
    """Write the motion under u_i + a d_i - K_i (s - s_i) to `new`: states and forces."""
    (states, forces), (new_states, new_forces) = motion, new
    new_states[0] = states[0]
    for i in range(len(forces)):
        for j in range(2):
            new_forces[i, j] = forces[i, j] + a * steps[i, j]
            for n in range(SIZE):
                new_forces[i, j] -= gains[i, j, n] * (new_states[i, n] - states[i, n])
        advance(
            system, 0.0, new_states[i], new_forces[i, 0], new_forces[i, 1], h, new_states[i + 1]
        )


@kernel
def roll_out(system, start, forces, h):
    """Return the states (N + 1, 10) from `start` (10,) under forces (N, 2) [N]."""
    states = np.zeros((len(forces) + 1, SIZE))
    states[0] = start
    for i in range(len(forces)):
        advance(system, 0.0, states[i], forces[i, 0], forces[i, 1], h, states[i + 1])
    return states


@kernel
def improve(system, cost, motion, h, damping):
    """Return (motion, cost, damping) after one iteration; the motion itself and ten times the
    damping where no step is better.
    """
    states, forces = motion
    N = len(forces)
    gains, steps = np.zeros((N, 2, SIZE)), np.zeros((N, 2))
    before = price(cost, states, forces, h)
    promised = backward(system, cost, states, forces, h, damping, gains, steps)
    new_states, new_forces, a = states.copy(), forces.copy(), 1.0
    while promised > 0.0 and a > _SHORTEST:
        forward(system, (states, forces), gains, steps, a, h, (new_states, new_forces))
        after = price(cost, new_states, new_forces, h)
        if after < before - 1e-3 * a * promised:
            return Motion(new_states, new_forces), after, max(0.2 * damping, 1e-9)
        a *= 0.5
    return motion, before, max(10.0 * damping, 1e-6)
