"""The reduced Moser-Veselov step on R^2 x SO(3): symplectic, time-symmetric, exact momenta, order 2.

The state is carried as momenta (p, P); one 3x3 Newton a step. See `discrete_rod` for the equations and
doc/mathematics.md, section 2. Moser, Veselov, Comm. Math. Phys. 139 (1991); Lee, Leok, McClamroch (2005).
"""

from typing import NamedTuple

from rbdyn_ros.bodies import rod_on_cart
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import discrete_rod, memory
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.types import Array

ORDER = 2
SYMMETRIC = True


class Options(NamedTuple):
    """What the solve needs; `weights` are the stages of a symmetric composition, ones sum."""

    weights: Array  # (s,) fractions of h
    tolerance: float  # relative residual of the discrete equations
    max_iterations: int


@inlined
def stage(E, system, load, tolerance, max_iterations, f, state, W):
    """One step of (2.7) to (2.9).

    `state` is (x, Q, R, p, P, tau, U), the last two the forces at its node; f the sines' force at the
    other end; W guesses 2 v / h in world axes, where a spinning rod's turns slowest.
    """
    x, Q, R, p, P, tau, U = state
    h = E.h
    b = vec.axpy(0.5 * h, tau, p)
    Ph = (P[0] + 0.5 * h * U[0], P[1] + 0.5 * h * U[1])
    a = vec.axpy(E.X * Ph[0], R[0], vec.scale(E.X * Ph[1], R[1]))
    guess = vec.transposed_matvec(R, vec.scale(0.5 * h, W))
    v, w, s, g, e, y, r, iterations, error = discrete_rod.solve(E, R[2], a, b, guess, tolerance, max_iterations)

    D = (E.X * Ph[0] - E.mu * vec.dot(R[0], e), E.X * Ph[1] - E.mu * vec.dot(R[1], e))
    W = vec.scale(E.f, vec.matvec(R, v))
    F = (w, v[0], v[1], v[2])
    Q = unit_quaternion.repaired(unit_quaternion.product(Q, F))
    R = unit_quaternion.matrix(Q)
    tau = rod_on_cart.torque(system, load, R)
    U = rod_on_cart.horizontal(load, f)
    y, r = unit_quaternion.rotated_back(F, y), unit_quaternion.rotated_back(F, r)
    n, d = E.n, E.damping
    c_y = (-n * y[1] - d * v[0] - r[0], n * y[0] - d * v[1] - r[1], -d * v[2] - r[2])
    p = vec.axpy(E.f, vec.sub(s, g), vec.axpy(0.5 * h, tau, c_y))
    P = (Ph[0] - E.cart_damping * D[0] + 0.5 * h * U[0], Ph[1] - E.cart_damping * D[1] + 0.5 * h * U[1])
    return ((x[0] + D[0], x[1] + D[1]), Q, R, p, P, tau, U), W, iterations, error


@kernel
def advance(system, options, input, h, n, t, q, v, reaction):
    """Take n steps of size h in place; returns (steps done, iterations, largest relative residual)."""
    x, Q, w, u = memory.read(q, v)
    load, sines, weights = rod_on_cart.load(input), input.sines, options.weights
    tolerance, max_iterations = options.tolerance, options.max_iterations
    R = unit_quaternion.matrix(Q)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    p, P = rod_on_cart.momenta(system, R, w, u)
    f = rod_on_cart.sines_at(sines, t)
    state = (x, Q, R, p, P, rod_on_cart.torque(system, load, R), rod_on_cart.horizontal(load, f))
    W = W_old = vec.matvec(R, w)
    iterations, worst = 0, 0.0
    for i in range(n):
        start, s = state, t + i * h
        for j in range(weights.shape[0]):
            hj = h * weights[j]
            s += hj
            if sines.shape[0] > 0:
                f = rod_on_cart.sines_at(sines, s)
            E = discrete_rod.equations(system, 0.0, hj)
            guess = vec.sub(vec.scale(2.0, W), W_old)
            W_old = W
            state, W, count, error = stage(E, system, load, tolerance, max_iterations, f, state, guess)
            iterations += count
            if not error <= tolerance:
                if i > 0:  # else q, v are the start itself, to the last bit
                    write(system, q, v, start)
                return i, iterations, error
            worst = max(worst, error)
        if i == n - 1:
            w, u = rod_on_cart.velocities(system, start[2], start[3], start[4])
            Q0 = start[1]
            w1, u1 = write(system, q, v, state)
            memory.write_reaction(reaction, rod_on_cart.joint_force(system, load, Q0, w, u, state[1], w1, u1, h))
    return n, iterations, worst


@kernel
def write(system, q, v, state):
    """Write (x, Q, R, p, P, ...) as positions and velocities; returns the latter (w, u)."""
    w, u = rod_on_cart.velocities(system, state[2], state[3], state[4])
    memory.write(q, v, state[0], state[1], w, u)
    return w, u
