"""What the plant near upright will do, one axis of it, if the force is -K e + c and held over
blocks of growing length.

Block k lasts T_k = n_k h. With the stepper's own A, B over h, e_{k+1} = A_k e_k + B_k u_k, and the
regulator's cost summed over the n_k periods of a block is (e, u).W_k (e, u). Backward from the
Riccati matrix S_N of the regulator,

    M_k = R_k + B_k^T S_{k+1} B_k,   K_k = M_k^-1 (N_k^T + B_k^T S_{k+1} A_k),
    S_k = Q_k + A_k^T S_{k+1} A_k - K_k^T M_k K_k,

and with u_k = -K_k e_k + c_k the cost of all time to come is

    e_0.S_0 e_0 + sum_k M_k c_k^2:                                                           (K.15)

a diagonal form, however unstable the plant and however long the horizon. Source: Rossiter,
Kouvaritakis, Rice, A numerically robust state-space approach to stable-predictive control
strategies, Automatica 34 (1998) 65.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.types import Array


class Prediction(NamedTuple):
    """Force u_k and position x_{k+1} of each block as rows: u = force e_0 + force_by c, x =
    position e_0 + position_by c.
    """

    gain: Array  # K_0 (4,)
    cost: Array  # M (N,)
    force: Array  # (N, 4)
    force_by: Array  # (N, N)
    position: Array  # (N, 4)
    position_by: Array  # (N, N)


def predicted(A: Array, B: Array, W: Array, S: Array, periods: list[int]) -> Prediction:
    """The prediction over blocks of `periods` [h] each.

    A (4, 4), B (4, 1) over one period, W (5, 5) its cost of (e, u), S (4, 4) the cost of what
    comes after the last block.
    """
    blocks = [_held(A, B, W, n) for n in periods]
    gains, cost = _backward(blocks, S)
    N = len(periods)
    now, by = np.eye(4), np.zeros((4, N))  # e_k = now e_0 + by c
    rows = Prediction(
        gains[0], cost, np.zeros((N, 4)), np.eye(N), np.zeros((N, 4)), np.zeros((N, N))
    )
    for k, ((A_k, B_k, _), K) in enumerate(zip(blocks, gains)):
        rows.force[k], rows.force_by[k] = -K @ now, rows.force_by[k] - K @ by
        closed = A_k - B_k * K
        now, by = closed @ now, closed @ by
        by[:, k] += B_k[:, 0]
        rows.position[k], rows.position_by[k] = now[0], by[0]
    return rows


def _held(A: Array, B: Array, W: Array, n: int) -> tuple[Array, Array, Array]:
    """(A_k, B_k, W_k) of n periods under one force."""
    one = np.vstack((np.hstack((A, B)), np.eye(1, 5, 4)))  # of (e, u)
    flow, cost = np.eye(5), np.zeros((5, 5))
    for _ in range(n):
        cost += flow.T @ W @ flow
        flow = one @ flow
    return flow[:4, :4], flow[:4, 4:], cost


def _backward(blocks: list, S: Array) -> tuple[Array, Array]:
    """(K (N, 4), M (N,))."""
    gains, cost = np.zeros((len(blocks), 4)), np.zeros(len(blocks))
    for k, (A, B, W) in reversed(list(enumerate(blocks))):
        M = W[4, 4] + (B.T @ S @ B).item()
        K = (W[4, :4] + (B.T @ S @ A)[0]) / M
        S = W[:4, :4] + A.T @ S @ A - M * np.outer(K, K)
        gains[k], cost[k] = K, M
    return gains, cost
