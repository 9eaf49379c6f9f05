"""The contacts of one step against each other: their Delassus matrix and their impulses by Gauss-Seidel.

Contact a, b, ... of the active ones; W_ab = T_a D_a M^-1 D_b^T T_b^T. Sweeps of the exact one-contact law (doc/nonsmooth.md,
S.15 to S.17) solve u = W P + q with (P.3). There are four candidates at most, most often one is closed.
"""

import numpy as np

from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.geometry import vec
from rbdyn_ros.integrators import contact_memory as memory
from rbdyn_ros.integrators.contact_memory import frame, put, vector
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.solvers import fc3d_one_contact

SWEEPS = 200
TOLERANCE = 1e-13  # of the impulses, relative


@kernel
def couple(system, c, count, R):
    """W of the active contacts at R."""
    for b in range(count):
        S, sigma = frame(c, c.active[b]), c.rho[c.active[b]]
        for k in range(3):
            dw, dx = touching.kick(system, R, S[k], sigma)
            for a in range(count):
                i = c.active[a]
                u = vec.matvec(frame(c, i), touching.point_velocity(R, dw, dx, c.rho[i]))
                c.W[3 * a, 3 * b + k], c.W[3 * a + 1, 3 * b + k], c.W[3 * a + 2, 3 * b + k] = u


@inlined
def block(c, a, b):
    """W_ab as three rows."""
    W, i, j = c.W, 3 * a, 3 * b
    return (
        (W[i, j], W[i, j + 1], W[i, j + 2]),
        (W[i + 1, j], W[i + 1, j + 1], W[i + 1, j + 2]),
        (W[i + 2, j], W[i + 2, j + 1], W[i + 2, j + 2]),
    )


@kernel
def sweeps(c, count):
    """P of the active contacts at their q: (change of P in the first sweep, size of P); inf where there is none."""
    first = 0.0
    for k in range(SWEEPS):
        moved, size = 0.0, 1e-300
        for a in range(count):
            i = c.active[a]
            q, guess = vector(c.q, i), vector(c.P, i)
            for b in range(count):
                if b != a:
                    q = vec.add(q, vec.matvec(block(c, a, b), vector(c.P, c.active[b])))
            solved = fc3d_one_contact.contact(block(c, a, a), q, c.law[i, 0], guess)
            if solved.kind == fc3d_one_contact.NONE:
                memory.failed(c, memory.NO_LAW, i)
                return np.inf, 1.0
            moved += vec.size(vec.sub(solved.r, guess))
            size += vec.size(solved.r)
            put(c.P, i, solved.r)
            c.status[i] = solved.kind
        first = moved if k == 0 else first
        if count == 1 or not moved > TOLERANCE * size:
            return first, size
    memory.failed(c, memory.NO_SWEEPS, count)
    return np.inf, 1.0
