"""The reduced Moser-Veselov step on R^2 x SO(3): symplectic, time-symmetric, exact momenta, order
2.

The state is carried as momenta (p, p_x); one 3x3 Newton a step. See `discrete_rod` for the
equations and doc/mathematics.md, section 2. Moser, Veselov, Comm. Math. Phys. 139 (1991); Lee,
Leok, McClamroch (2005).
"""

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.integrators import boundary, composition, discrete_rod, friction_steps
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart

ORDER = 2
SYMMETRIC = True
FRICTION = True  # `advance` has that of cart and joint
Options = composition.Options


@inlined
def stage(E, system, load, tolerance, max_iterations, f, state, guess):
    """Take one step of (2.6) to (2.9); return (state, turn).

    `state` is (x, Q, R, p, p_x, tau, U), the last two the forces at its node; f the sines' force
    at the other end; `guess` the scalar part of the turn.
    """
    x, Q, R, p, p_x, tau, U = state
    half = 0.5 * E.h
    b = vec.axpy(half, tau, p)
    p_xh = vec2.axpy(half, U, p_x)
    turn = discrete_rod.solve(E, R, p_xh, b, guess, tolerance, max_iterations)
    e, ml = turn.e, E.chi * E.l
    D = (E.X * p_xh[0] - ml * vec.dot(R[0], e), E.X * p_xh[1] - ml * vec.dot(R[1], e))
    ze = vec.dot(R[2], e)
    Q = unit_quaternion.product(Q, (turn.w, *turn.v))
    R = unit_quaternion.matrix(Q)
    Q = unit_quaternion.renormalize(Q)
    tau = rod_on_cart.torque(system, load, R)
    U = rod_on_cart.horizontal(load, f)
    p = vec.axpy(half, tau, discrete_rod.transport_momentum(E, turn, ze, R, p_xh))
    p_x = vec2.axpy(half, U, vec2.sub(p_xh, vec2.scale(E.cart_damping, D)))
    return (vec2.add(x, D), Q, R, p, p_x, tau, U), turn


@kernel
def write(system, q, v, state):
    """Write (x, Q, R, p, p_x, ...) as positions and velocities; return the latter (w, u)."""
    w, u = rod_on_cart.velocities(system, state[2], state[3], state[4])
    boundary.write(q, v, state[0], state[1], w, u)
    return w, u


@kernel
def steps(system, options, input, sines, h, n, state, reaction):
    """Take the steps of `advance` for weights and sines whose type gives their number: (1.0,) and
    None compile to a plain loop.
    """
    weights, tolerance, max_iterations = options
    load, (t, q, v) = rod_on_cart.load(input), state
    x, Q, w, u = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    p, p_x = rod_on_cart.momenta(system, R, w, u)
    f = rod_on_cart.sines_at(sines, t)
    here = (x, Q, R, p, p_x, rod_on_cart.torque(system, load, R), rod_on_cart.horizontal(load, f))
    bend = bend_old = 0.125 * vec.dot(w, w)
    iterations, worst = 0, 0.0
    for i in range(n):
        start, s = here, t + i * h
        for j in range(len(weights)):
            hj = h * weights[j]
            s += hj
            f = rod_on_cart.sines_at(sines, s)
            E = discrete_rod.equations(system, 0.0, hj)
            guess = 1.0 - hj * hj * (2.0 * bend - bend_old)
            here, turn = stage(E, system, load, tolerance, max_iterations, f, here, guess)
            bend, bend_old = 0.25 * E.f * E.f * (1.0 - turn.w), bend
            iterations += turn.iterations
            if not turn.error <= tolerance:
                if i > 0:  # else q, v are the start itself, to the last bit
                    write(system, q, v, start)
                return i, iterations, turn.error
            worst = max(worst, turn.error)
        if i == n - 1:
            w, u = rod_on_cart.velocities(system, start[2], start[3], start[4])
            Q0 = start[1]
            w1, u1 = write(system, q, v, here)
            boundary.write_reaction(
                reaction, rod_on_cart.joint_force(system, load, (Q0, w, u), (here[1], w1, u1), h)
            )
    return n, iterations, worst


@inlined
def free_of_friction(system, options, input, h, n, state, reaction):
    """Take the steps of `advance` where there is no friction."""
    if len(options.weights) == 1 and len(input.sines) == 0:
        plain = Options((options.weights[0],), options.tolerance, options.max_iterations)
        return steps(system, plain, input, None, h, n, state, reaction)
    return steps(system, options, input, input.sines, h, n, state, reaction)


with_friction = friction_steps.around("moser_veselov", free_of_friction)


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, iterations, largest relative
    residual).
    """
    if coulomb_friction.acts(system):
        return with_friction(system, options, input, h, n, state, reaction)
    return free_of_friction(system, options, input, h, n, state, reaction)
