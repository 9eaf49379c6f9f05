"""The steps of the integrators in dual numbers: state, force and parameters may have derivatives.

Each function takes a stage of h [s] from the state (x, Q, w, u) to (state, held, relative
residual). Explicit steps are computed as they are; where equations are solved, the values are
solved for first and the derivatives follow by (V.1) of `derivatives`. The attitude of a state is
that of `dual_attitude`. `forces` are those of the
sines at the start, the middle and the end, and `held` is what a method carries along.
"""

from math import cos

from rbdyn_ros.geometry import dual_attitude, twist, unit_quaternion, vec, vec2
from rbdyn_ros.geometry.dual import value, with_value
from rbdyn_ros.geometry.dual_attitude import real, with_values
from rbdyn_ros.integrators import (
    discrete_rod,
    euler_lagrange,
    pitch_cone_chart,
    rattle_s2,
    rk4,
    se3_variational,
    tqdl,
)
from rbdyn_ros.integrators.maximal_rod import column
from rbdyn_ros.integrators.se3_variational import apply_loads
from rbdyn_ros.kernel import inlined
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import System


@inlined
def real_pair(a):
    """Return the values of a vector in the plane."""
    return value(a[0]), value(a[1])


@inlined
def real_rows(R):
    """Return the values of a matrix."""
    return real(R[0]), real(R[1]), real(R[2])


@inlined
def real_system(s):
    """Return the values of a `System`."""
    return System(
        value(s.cart_mass),
        s.cart_free,
        value(s.cart_damping),
        value(s.rod_mass),
        value(s.center),
        real(s.inertia),
        value(s.joint_damping),
        value(s.gravity),
        s.contacts,
    )


@inlined
def real_equations(E):
    """Return the values of `discrete_rod.RodEquations`."""
    return discrete_rod.RodEquations(
        value(E.h),
        value(E.f),
        real(E.A),
        value(E.gamma),
        value(E.damping),
        value(E.s),
        value(E.chi),
        value(E.X),
        value(E.l),
        value(E.cart_damping),
    )


@inlined
def discrete_rod_stage(system, options, gamma, load, forces, h, state):
    """Take a step of (2.10), (2.11); return (state, relative residual)."""
    x, attitude, w, u = state
    E, half, R = discrete_rod.equations(system, gamma, h), 0.5 * h, dual_attitude.matrix(attitude)
    zeta, known = R[2], real_equations(E)
    R0 = real_rows(R)
    p, p_x = rod_on_cart.momenta(system, R, w, u)
    b, p_xh = apply_loads(system, load, forces[0], half, R, p, p_x)
    p_xb = discrete_rod.cart_momentum(E, R, p_xh)
    guess = 1.0 - 0.125 * known.h * known.h * vec.dot(real(w), real(w))
    criteria = options.tolerance, options.max_iterations
    turn = discrete_rod.solve(known, R0, real_pair(p_xh), real(b), guess, *criteria)
    v0, s0, Av = turn.v, turn.w, vec.times(E.A, turn.v)
    r = discrete_rod.residual(E, zeta, v0, s0, Av, turn.e, (*vec2.sub(b, p_xb), b[2]))
    dv = vec.solve(discrete_rod.jacobian(known, R0[2], v0, s0, real(Av)), r)
    v = with_values(vec.scale(-1.0, dv), v0)
    s = with_value((1.0 / s0) * vec.dot(v0, dv), s0)
    own = dual_attitude.own_turn(s, v)
    attitude = dual_attitude.compose(attitude, (s0, *v0), own)
    R1 = dual_attitude.matrix(attitude)
    e = vec.sub(column(R1, 2), column(R, 2))  # R e, whose values would cancel
    e = with_values(e, vec.matvec(R0, turn.e))
    D = vec2.sub(vec2.scale(E.X, p_xh), vec2.scale(E.chi * E.l, e))
    solved = discrete_rod.Turn(v, s, turn.e, turn.r, 1, 0.0)
    p = discrete_rod.transport_momentum(E, solved, e[2], R1, p_xh)
    p_x = vec2.sub(p_xh, vec2.scale(E.cart_damping, D))
    p, p_x = apply_loads(system, load, forces[2], half, R1, p, p_x)
    w, u = velocities(system, R1, p, p_x)
    return (vec2.add(x, D), attitude, w, u), turn.error


@inlined
def velocities(system, R, p, p_x):
    """Return (w, x') of momenta as `rod_on_cart.velocities`, whose derivative takes the mass
    matrix of the values: (V.1) for M(R) v = p.
    """
    known, R0 = real_system(system), real_rows(R)
    w, u = rod_on_cart.velocities(known, R0, real(p), real_pair(p_x))
    p0, p_x0 = rod_on_cart.momenta(system, R, w, u)
    dw, du = rod_on_cart.velocities(known, R0, vec.sub(p, p0), vec2.sub(p_x, p_x0))
    return with_values(dw, w), (with_value(du[0], u[0]), with_value(du[1], u[1]))


@inlined
def moser_veselov_stage(system, options, load, forces, h, state, held):
    """Take a step of `moser_veselov`."""
    state, error = discrete_rod_stage(system, options, 0.0, load, forces, h, state)
    return state, held, error


@inlined
def quaternion_midpoint_stage(system, options, load, forces, h, state, held):
    """Take a step of `quaternion_midpoint` with open contacts."""
    state, error = discrete_rod_stage(system, options, options.gamma, load, forces, h, state)
    return state, held, error


@inlined
def rk4_stage(system, options, load, forces, h, state, held):
    """Take a step of `rk4`."""
    x, attitude, w, u = state
    state = x, dual_attitude.quaternion(attitude), w, u
    x, Q, w, u = rk4.stage(system, load, forces, h, rk4.spin_decay(system, h), state)
    return (x, dual_attitude.from_quaternion(Q), w, u), held, 0.0


@inlined
def rattle_s2_stage(system, options, load, forces, h, state, held):
    """Take a step of `rattle_s2`; `held` are the values of k and its rate where the step before
    ended. The attitude after the shortest turn from k to k1 has, with k1 = R1 e3,

    R1^T dk1 = theta1 x e3,   theta1_3 = theta_3 - (k x k1).(dk + dk1) / (1 + k.k1).
    """
    x, attitude, w, u = state
    (Q, theta), weight = attitude, system.rod_mass * system.gravity * system.center
    R, k = unit_quaternion.matrix(Q), column(dual_attitude.matrix(attitude), 2)
    dk = (w[1], -w[0], 0.0)
    dk = vec.matvec(R, with_values(vec.sub(dk, vec.cross(real(dk), theta)), real(dk)))
    if held[0][0] == held[0][0]:  # this step need not wait for the attitude
        k, dk = with_values(k, held[0]), with_values(dk, held[1])
    p, p_x = rattle_s2.momenta(system, dk, u)
    f_k = vec.axpy(load.r[2], load.F, (0.0, 0.0, -weight))
    U0, U1 = rod_on_cart.horizontal(load, forces[0]), rod_on_cart.horizontal(load, forces[2])
    x, k1, p, p_x = rattle_s2.stage(rattle_s2.equations(system, h), f_k, U0, U1, x, k, p, p_x)
    before, after = real(k), real(k1)
    Q = unit_quaternion.product(rattle_s2.turn(before, after), Q)
    R, both, axis = unit_quaternion.matrix(Q), vec.add(k, k1), vec.cross(before, after)
    moved, scale = vec.transposed_matvec(R, k1), 1.0 / (1.0 + vec.dot(before, after))
    theta = (-moved[1], moved[0], theta[2] - scale * vec.dot(axis, both))
    theta = with_values(theta, (0.0, 0.0, 0.0))
    dk, u = rattle_s2.velocities(system, k1, p, p_x)
    held = after, real(dk)
    dk = vec.transposed_matvec(R, dk)
    dk = dual_attitude.turn_frame(dk, theta)
    return (x, (Q, theta), (-dk[1], dk[0], 0.0), u), held, value(0.0 * k1[0])


@inlined
def tqdl_stage(system, options, load, forces, h, state, held):
    """Take a step of `tqdl`; `held` is the lever of the step before."""
    (x, Q, w, _), c = state, (0.0, 0.0, system.center)
    Q, w, c0 = tqdl.stage(system, options, load.T, dual_attitude.quaternion(Q), w, held, h)
    c1 = unit_quaternion.rotate(Q, c)
    dc = unit_quaternion.rotate(Q, vec.cross(w, c))
    x = vec2.sub(vec2.add(x, c0), c1)
    return (x, dual_attitude.from_quaternion(Q), w, (-dc[0], -dc[1])), c0, 0.0


@inlined
def euler_lagrange_stage(system, options, load, forces, h, state, held):
    """Take a step of `euler_lagrange`."""
    x, Q, w, u = state
    J, V = pitch_cone_chart.constants(system)
    Q = dual_attitude.quaternion(Q)
    d, e, dd, de = pitch_cone_chart.from_state(Q, w)
    c, about = cos(d), euler_lagrange.offset(d, e, Q)
    p = (J * dd, J * c * c * de)
    place = value(d), value(e), (value(dd), value(de))
    _, _, D, _, _, error = euler_lagrange.stage(
        value(J), value(V), h, place, real_pair(p), options
    )
    m = euler_lagrange.momenta(J, V, h, d, e, D, -1.0)
    r = vec2.sub(m, p)
    s = euler_lagrange.newton_step(value(J), value(V), h, value(d), value(e), D, r)
    D = vec2.sub(D, s)
    p = euler_lagrange.momenta(J, V, h, d, e, D, 1.0)
    end = euler_lagrange.state_of(J, d + h * D[0], e + h * D[1], p)
    Q, w = euler_lagrange.turn(end, about)
    return (x, dual_attitude.from_quaternion(Q), w, u), held, error


@inlined
def se3_variational_stage(system, options, load, forces, h, state, held):
    """Take a step of `se3_variational`."""
    x, attitude, w, u = state
    half, known, R = 0.5 * h, real_system(system), dual_attitude.matrix(attitude)
    R0, guess = real_rows(R), (real(w), real_pair(u))
    p, p_x = rod_on_cart.momenta(system, R, w, u)
    p, p_x = apply_loads(system, load, forces[0], half, R, p, p_x)
    momenta = real(p), real_pair(p_x)
    w0, c0, _, _, _, error = se3_variational.solve(known, options, h, R0, *momenta, guess)
    q1, q2, (n, V, D, D1), (_, Pi_v) = se3_variational.residual(system, h, R, w0, c0, p, p_x)
    place = real(n), (w0, real(V[1])), D, D1
    J = se3_variational.jacobian(known, h, R0, place)
    dw, dc = se3_variational.newton_step(known, h, R0, J, q1, q2)
    w, c = vec.scale(-1.0, dw), (-dc[0], -dc[1])  # their values are those of w0, c0
    rest = vec.axpy(c[0], J.f_c[0], vec.axpy(c[1], J.f_c[1], vec.matvec(J.f_w, w)))
    Pi_v = with_values(vec.add(Pi_v, rest), real(Pi_v))
    n = with_values(vec.add(n, vec.axpy(c[0], R0[0], vec.scale(c[1], R0[1]))), real(n))
    turn = vec.scale(h, w0)
    own = vec.scale(h, twist.gamma(vec.scale(-1.0, turn), w))
    turn, w = twist.rotation(turn), with_values(w, w0)
    c = (with_value(c[0], c0[0]), with_value(c[1], c0[1]))
    attitude = dual_attitude.compose(attitude, turn, own)
    R = dual_attitude.matrix(attitude)
    p = unit_quaternion.inverse_rotate(turn, vec.axpy(-h, vec.cross(n, Pi_v), p))
    p = dual_attitude.turn_frame(p, own)
    p = vec.axpy(-h * system.joint_damping, w, p)
    p_x = vec2.sub(p_x, vec2.scale(h * system.cart_damping, c))
    p, p_x = apply_loads(system, load, forces[2], half, R, p, p_x)
    w, u = velocities(system, R, p, p_x)
    return (vec2.axpy(h, c, x), attitude, w, u), held, error
