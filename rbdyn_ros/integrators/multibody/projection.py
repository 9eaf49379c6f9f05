"""The velocity after a step: contacts that stay closed neither part nor slip back (doc/nonsmooth.md, Q.23).

The law on the mean velocity leaves an oscillation of the end velocity, x'_k = -x'_{k-1}. With the rows B = [A; D_N] of
sliding and [A; D] of sticking contacts and the directions Bd = [A; D_N + (P_T/P_N) D_T], along which friction must act,

    x' := x' - M^-1 Bd^T (B M^-1 Bd^T)^+ B x'

D is taken where the bodies touch at the end. The points that touched in the middle of the step have moved on with a ball
that rolls; without a normal velocity there they would brake it.
"""

import numpy as np

from rbdyn_ros.bodies import quaternion_body as body
from rbdyn_ros.constraints.rows import vector
from rbdyn_ros.contacts import pairs as contacts
from rbdyn_ros.integrators.multibody import assembly, detection
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics import linear

_STUCK = 1e-9  # how far inside the cone, relative, a contact counts as sticking


@kernel
def inverse_mass(plant, w, columns):
    """M^-1 columns^T (N, rows) at the end of the step, body by body."""
    found = np.empty((columns.shape[1], columns.shape[0]))
    for j in range(columns.shape[0]):
        for i in range(len(w.x)):
            k, J = 7 * i, vector(plant.bodies.inertia, i)
            found[k : k + 3, j] = columns[j, k : k + 3] / plant.bodies.mass[i]
            p = columns[j, k + 3], columns[j, k + 4], columns[j, k + 5], columns[j, k + 6]
            Q = w.x[i, 3], w.x[i, 4], w.x[i, 5], w.x[i, 6]
            v = body.velocity(J, plant.gamma[i], Q, p)
            for l in range(4):
                found[k + 3 + l, j] = v[l]
    return found


@kernel
def follow(plant, w):
    """Move the points of the persistent contacts, and D, to where the bodies touch now."""
    for at in range(w.count[0]):
        i = w.active[at]
        if w.persistent[i] == 1:
            detection.attach(w, contacts.touch(plant.pairs, i, w.x), i)
    assembly.fill_directions(plant.pairs, w, w.x, w.D)


@kernel
def settle(plant, w):
    """Project w.rate, and add to w.nu what that takes of the rows; does nothing without closed persistent contacts."""
    follow(plant, w)
    M, N = w.A.shape
    B, Bd, n = np.empty((M + len(w.P), N)), np.empty((M + len(w.P), N)), M
    B[:M] = w.A
    Bd[:M] = w.A
    for at in range(w.count[0]):
        P = w.P[3 * at : 3 * at + 3]
        if w.persistent[w.active[at]] == 0 or not P[0] > 0.0:
            continue
        D = w.D[3 * at : 3 * at + 3]
        reach = (1.0 - _STUCK) * plant.pairs.mu[w.active[at]] * P[0]
        if P[1] * P[1] + P[2] * P[2] < reach * reach:
            B[n : n + 3] = D
            Bd[n : n + 3] = D
            n += 3
        else:
            B[n] = D[0]
            Bd[n] = D[0] + (P[1] / P[0]) * D[1] + (P[2] / P[0]) * D[2]
            n += 1
    if n == M:
        return
    back = inverse_mass(plant, w, Bd[:n])
    K, z = B[:n] @ back, B[:n] @ w.rate.reshape(-1)
    linear.solve_consistent(K, z)
    w.rate.reshape(-1)[:] -= back @ z
    w.nu[:] += z[:M]
