"""CGDVIE3 as it was intended: variational steps on SE(3) in the logarithm, the joint eliminated.

The rod's pose T = (R, r) at its center of mass moves by T_{k+1} = T_k exp(hV), V = (w, v), the
cart by h c, joined by r = R l e3 + (x, 0): with n = R_k^T (c, 0) the joint holds at k+1 if

    v = w x l e3 + dexp_{hw}^-1 n,   dexp_f^-1 n = n - f x n/2 + D f x (f x n).               (8.6)

The joint's force drops out of the momenta about the joint and of rod and cart together. With
(Pi_w, Pi_v) = dlog_{hV}^T G V, and p, p_x those at k with their half-step impulses, a step solves

    q1 = Pi_w + l e3 x Pi_v + (d/2) h w - p,   q2 = (M + b h/2) c + (R_k Pi_v)_xy - p_x       (8.7)

for w and c by Newton's method, and then, F = exp(hw),

    p_{k+1} = F^T (p - h n x Pi_v) - d h w + (h/2) tau_{k+1},
    p_x,k+1 = p_x - b h c + (h/2) U_{k+1}.                                                    (8.8)

Order 2, exact momenta, bounded energy. For a thin rod it is a poor choice: the logarithm adds the
axial inertia h^2/12 (I_t + m l^2 - I_a) |w_perp|^2, and the spin lags (use moser_veselov).
"""

import math
from typing import NamedTuple

from rbdyn_ros.geometry import coefficients, twist, unit_quaternion, vec, vec2
from rbdyn_ros.integrators import boundary, composition, discrete_twist, friction_steps
from rbdyn_ros.integrators.discrete_twist import outer, with_spin
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart

ORDER = 2
SYMMETRIC = True
FRICTION = True  # `advance` has that of cart and joint
Options = composition.Options


@inlined
def residual(system, h, R, w, c, p, p_x):
    """Return (q1, q2, (n, V, D, dD/ds), (Pi_w, Pi_v)) of (8.7), R: rows of R_k; if the cart is
    fixed, q2 is c.
    """
    l, n, turn = system.center, vec.axpy(c[0], R[0], vec.scale(c[1], R[1])), vec.scale(h, w)
    s, across = vec.dot(turn, turn), vec.cross(turn, n)
    D, D1 = coefficients.D(s), coefficients.dD(s)
    v = vec.axpy(D, vec.cross(turn, across), vec.axpy(-0.5, across, n))
    V = w, (v[0] + l * w[1], v[1] - l * w[0], v[2])
    xi = turn, vec.scale(h, V[1])
    Pi_w, Pi_v = discrete_twist.momentum(system.inertia, system.rod_mass, xi, V, D, D1)
    d, Mb = 0.5 * h * system.joint_damping, system.cart_mass + 0.5 * h * system.cart_damping
    q1 = vec.sub(vec.axpy(d, w, about_joint(l, Pi_w, Pi_v)), p)
    q2 = (Mb * c[0] + vec.dot(R[0], Pi_v) - p_x[0], Mb * c[1] + vec.dot(R[1], Pi_v) - p_x[1])
    free, fixed = system.cart_free, 1.0 - system.cart_free
    q2 = vec2.axpy(free, q2, vec2.scale(fixed, c))
    return q1, q2, (n, V, D, D1), (Pi_w, Pi_v)


@inlined
def about_joint(l, Pi_w, Pi_v):
    """Return Pi_w + l e3 x Pi_v."""
    return (Pi_w[0] - l * Pi_v[1], Pi_w[1] + l * Pi_v[0], Pi_w[2])


class Jacobian(NamedTuple):
    """The derivatives of q1 and Pi_v of (8.7) by w (three rows) and by c (two columns)."""

    q_w: tuple
    q_c: tuple
    f_w: tuple
    f_c: tuple


@inlined
def jacobian(system, h, R, place):
    """Return the `Jacobian` at the place (n, V, D, dD/ds) of a `residual`."""
    (n, V, D, D1), l, m = place, system.center, system.rod_mass
    turn = vec.scale(h, V[0])
    s, second = vec.dot(turn, turn), vec.cross(turn, vec.cross(turn, n))
    (A, B), (C, N) = discrete_twist.blocks(system.inertia, m, h, V, D, D1)
    # W: v by w, from (8.6); G = dexp_{hw}^-1
    hD = h * D
    W = with_spin(hD * vec.dot(turn, n), vec.axpy(0.5 * h, n, (0.0, 0.0, -l)))
    W = outer(W, vec.scale(hD, turn), n)
    W = outer(W, vec.axpy(-2.0 * hD, n, vec.scale(2.0 * h * D1, second)), turn)
    G = outer(with_spin(1.0 - D * s, vec.scale(-0.5, turn)), vec.scale(D, turn), turn)
    g = vec.matvec(G, R[0]), vec.matvec(G, R[1])
    f_c = vec.matvec(N, g[0]), vec.matvec(N, g[1])
    q_c = (
        about_joint(l, vec.matvec(B, g[0]), f_c[0]),
        about_joint(l, vec.matvec(B, g[1]), f_c[1]),
    )
    f_w, A = add_product(C, N, W), add_product(A, B, W)
    d = 0.5 * h * system.joint_damping
    q_w = (
        vec.add(vec.axpy(-l, f_w[1], A[0]), (d, 0.0, 0.0)),
        vec.add(vec.axpy(l, f_w[0], A[1]), (0.0, d, 0.0)),
        vec.add(A[2], (0.0, 0.0, d)),
    )
    return Jacobian(q_w, q_c, f_w, f_c)


@inlined
def add_product(A, B, C):
    """Return A + B C, three rows each."""
    return (
        vec.add(A[0], vec.transposed_matvec(C, B[0])),
        vec.add(A[1], vec.transposed_matvec(C, B[1])),
        vec.add(A[2], vec.transposed_matvec(C, B[2])),
    )


@inlined
def newton_step(system, h, R, J, q1, q2):
    """Return the changes (dw, dc) of (w, c) that J makes of (q1, q2): c is eliminated, whose 2x2
    block is near (M + m) 1.
    """
    free, Mb = system.cart_free, system.cart_mass + 0.5 * h * system.cart_damping
    fixed = 1.0 - free
    k0, k1 = J.f_c
    a, b = free * (Mb + vec.dot(R[0], k0)) + fixed, free * vec.dot(R[0], k1)
    c, d = free * vec.dot(R[1], k0), free * (Mb + vec.dot(R[1], k1)) + fixed
    i = 1.0 / (a * d - b * c)
    a, b, c, d = i * a, i * b, i * c, i * d
    r0 = vec.scale(free, vec.transposed_matvec(J.f_w, R[0]))
    r1 = vec.scale(free, vec.transposed_matvec(J.f_w, R[1]))
    x, y = d * q2[0] - b * q2[1], a * q2[1] - c * q2[0]
    e0, e1 = vec.axpy(d, r0, vec.scale(-b, r1)), vec.axpy(a, r1, vec.scale(-c, r0))
    S = outer(J.q_w, vec.scale(-1.0, J.q_c[0]), e0)
    S = outer(S, vec.scale(-1.0, J.q_c[1]), e1)
    rest = vec.sub(q1, vec.add(vec.scale(x, J.q_c[0]), vec.scale(y, J.q_c[1])))
    dw = vec.solve(S, rest)
    return dw, (x - vec.dot(e0, dw), y - vec.dot(e1, dw))


@inlined
def solve(system, options, h, R, p, p_x, guess):
    """Solve (8.7) by Newton's method from the guess (w, c); return (w, c, n, Pi_v, iterations,
    relative residual).

    The residual is measured against the size of the momenta in it.
    """
    (w, c), iterations = guess, 0
    while True:
        q1, q2, place, (Pi_w, Pi_v) = residual(system, h, R, w, c, p, p_x)
        scale = vec.size(Pi_w) + vec.size(Pi_v) + abs(p_x[0]) + abs(p_x[1]) + 1e-300
        error = (vec.size(q1) + abs(q2[0]) + abs(q2[1])) / scale
        if not error > options.tolerance or iterations == options.max_iterations:
            return w, c, place[0], Pi_v, iterations, error
        dw, dc = newton_step(system, h, R, jacobian(system, h, R, place), q1, q2)
        w, c = vec.sub(w, dw), vec2.sub(c, dc)
        iterations += 1


@inlined
def apply_loads(system, load, f, half, R, p, p_x):
    """Return the momenta about the joint and of rod and cart together after half a step's impulse
    of the weight, the wrench and the force on the cart, with the sines' force f; half = h/2.
    """
    p = vec.axpy(half, rod_on_cart.torque(system, load, R), p)
    return p, vec2.axpy(half, rod_on_cart.horizontal(load, f), p_x)


@inlined
def stage(system, options, load, h, forces, state, guess):
    """Take one step from the state (x, Q, w, u) under the sines' forces at its two ends; return
    (state, (w, c), iterations, error).

    What Newton leaves of (8.7) does not enter the momenta at k+1: they are exact whatever the
    tolerance.
    """
    (x, Q, w, u), half = state, 0.5 * h
    R = unit_quaternion.matrix(Q)
    p, p_x = rod_on_cart.momenta(system, R, w, u)
    p, p_x = apply_loads(system, load, forces[0], half, R, p, p_x)
    w, c, n, Pi_v, iterations, error = solve(system, options, h, R, p, p_x, guess)
    turn = twist.rotation(vec.scale(h, w))
    x = vec2.axpy(h, c, x)
    Q = unit_quaternion.renormalize(unit_quaternion.product(Q, turn))
    R = unit_quaternion.matrix(Q)
    p = unit_quaternion.inverse_rotate(turn, vec.axpy(-h, vec.cross(n, Pi_v), p))
    p = vec.axpy(-h * system.joint_damping, w, p)
    p_x = vec2.sub(p_x, vec2.scale(h * system.cart_damping, c))
    p, p_x = apply_loads(system, load, forces[1], half, R, p, p_x)
    guess = w, c
    w, u = rod_on_cart.velocities(system, R, p, p_x)
    return (x, Q, w, u), guess, iterations, error


@inlined
def free_of_friction(system, options, input, h, n, state, reaction):
    """Take the steps of `advance` where there is no friction."""
    t, q, v = state
    x, Q, w, u = boundary.read_plant(system, q, v)
    load, sines, weights = rod_on_cart.load(input), input.sines, options.weights
    f1, guess = rod_on_cart.sines_at(sines, t), (w, u)
    here, iterations, worst = (x, Q, w, u), 0, 0.0
    for i in range(n):
        start, s = here, t + i * h
        for j in range(weights.shape[0]):
            hj = h * weights[j]
            s += hj
            f0, f1 = f1, rod_on_cart.sines_at(sines, s)
            here, guess, count, error = stage(system, options, load, hj, (f0, f1), here, guess)
            iterations += count
            if not abs(hj) * vec.size(guess[0]) < math.pi:
                error = math.inf  # the logarithm of such a turn is that of a shorter one
            if not error <= options.tolerance:
                boundary.write(q, v, *start)
                return i, iterations, error
            worst = max(worst, error)
        if i == n - 1:
            boundary.write_reaction(
                reaction, rod_on_cart.joint_force(system, load, start[1:], here[1:], h)
            )
    boundary.write(q, v, *here)
    return n, iterations, worst


with_friction = friction_steps.around("se3_variational", free_of_friction)


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, iterations, largest relative residual).

    A step that turns the rod by pi rad or more stops it: residual inf, and the state before it.
    """
    if coulomb_friction.acts(system):
        return with_friction(system, options, input, h, n, state, reaction)
    return free_of_friction(system, options, input, h, n, state, reaction)
