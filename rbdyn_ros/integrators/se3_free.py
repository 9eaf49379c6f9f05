"""DREPE of a free rigid body on SE(3): one pose, one momentum, Newton or RIQN (8.3).

RIQN takes V <- V - G^-1 rho, no matrix: the recursive impulse-based quasi-Newton of the discrete
recursive Newton-Euler algorithm, for one body. The space momentum Ad_{T^-1}^T Pi is exact when
nothing acts. The exponential of SE(3) is a screw: the center of mass of a tumbling body leaves its
straight line by O(h^2), unlike SO(3) x R^3.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import twist, unit_quaternion, vec
from rbdyn_ros.integrators import discrete_twist
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics import linear


class Options(NamedTuple):
    """Options of the solver."""

    tolerance: float  # relative residual of (8.3)
    max_iterations: int
    newton: int  # 1 Newton, 0 RIQN


@inlined
def wrench(system, disturbance, Q):
    """Return F - T*dE_p [body] of the weight and a wrench (force, torque in the world; point in
    the body from the center of mass).
    """
    d = disturbance
    F = unit_quaternion.inverse_rotate(Q, vec.three(d, 0))
    T = unit_quaternion.inverse_rotate(Q, vec.three(d, 3))
    f = unit_quaternion.inverse_rotate(Q, (d[0], d[1], d[2] - system.rod_mass * system.gravity))
    return vec.add(T, vec.cross(vec.three(d, 6), F)), f


@kernel
def solve(system, h, V, left, options, K, z):
    """Solve rho(V) = dlog_{hV}^T G V - left = 0; return (V, rho, iterations, residual)."""
    I, m = system.inertia, system.rod_mass
    scale = vec.size(left[0]) + vec.size(left[1]) + 1e-300
    iterations = 0
    while True:
        Pi = twist.dlog_transposed(twist.scale(h, V), discrete_twist.metric(I, m, V))
        r = twist.sub(Pi, left)
        error = (vec.size(r[0]) + vec.size(r[1])) / scale
        if not error > options.tolerance or iterations == options.max_iterations:
            return V, r, iterations, error
        if options.newton == 1:
            discrete_twist.momentum_jacobian(I, m, h, V, K)
            z[0], z[1], z[2] = r[0]
            z[3], z[4], z[5] = r[1]
            linear.solve_in_place(K, z)
            step = vec.three(z, 0), vec.three(z, 3)
        else:
            step = vec.divide(r[0], I), vec.scale(1.0 / m, r[1])
        V = twist.sub(V, step)
        iterations += 1


@kernel
def advance_free(system, options, disturbance, h, n, q, v):
    """Take n steps of size h in place on q (7,) = x y z | w x y z and v (6,) = velocity [world] |
    w [body].

    q is the pose of the center of mass (`system.center` is not read). Return (steps done,
    iterations, largest relative residual).
    """
    I, m = system.inertia, system.rod_mass
    K, z = np.empty((6, 6)), np.empty(6)
    r, Q = vec.three(q, 0), (q[3], q[4], q[5], q[6])
    V = vec.three(v, 3), unit_quaternion.inverse_rotate(Q, vec.three(v, 0))
    V_old, Pi = V, discrete_twist.metric(I, m, V)
    done, iterations, worst = 0, 0, 0.0
    for _ in range(n):
        left = twist.add(Pi, twist.scale(0.5 * h, wrench(system, disturbance, Q)))
        guess = twist.sub(twist.scale(2.0, V), V_old)
        V_old = V
        V, rest, count, error = solve(system, h, guess, left, options, K, z)
        iterations += count
        worst = error if not error <= worst else worst
        if not error <= options.tolerance:
            break
        step = twist.exp(twist.scale(h, V))
        Q, r = twist.product((Q, r), step)
        Q = unit_quaternion.renormalize(Q)
        Pi = twist.dlog_transposed(twist.scale(-h, V), discrete_twist.metric(I, m, V))
        Pi = twist.add(Pi, twist.scale(0.5 * h, wrench(system, disturbance, Q)))
        Pi = twist.sub(Pi, twist.Ad_transposed(step, rest))  # what the solver left
        done += 1
    q[0], q[1], q[2] = r
    q[3], q[4], q[5], q[6] = Q
    v[0], v[1], v[2] = unit_quaternion.rotate(Q, vec.scale(1.0 / m, Pi[1]))
    v[3], v[4], v[5] = vec.divide(Pi[0], I)
    return done, iterations, worst
