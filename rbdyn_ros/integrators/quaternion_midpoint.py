"""The simulator's default: rod and cart in maximal coordinates, midpoint
quaternion.

The step is that of `maximal_rod` (doc/mathematics.md, section 3); its multipliers are the joint's
force. Steps in which something may touch are those of bodies (`touching`).
"""

from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import boundary, discrete_rod, friction_steps, maximal_rod, touching
from rbdyn_ros.kernel import hot, part
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart
from rbdyn_ros.pendulum.bodies import Memory
from rbdyn_ros.types import Array

ORDER = 2
SYMMETRIC = True
FRICTION = True  # `advance` has that of cart and joint


class Options(NamedTuple):
    """Options of the solver; `weights` are the stages of a symmetric composition, with sum 1."""

    weights: Array | tuple[float]  # (s,) fractions of h
    tolerance: float  # relative residual of the discrete equations
    max_iterations: int
    gamma: float  # [kg m^2] kinetic-energy parameter; 4/3 I_3 turns a spinning rod with order 4
    contact: Memory | None  # what the contacts remember; None where there is nothing to touch


@part
def steps(system, options, input, sines, h, n, state, reaction):
    """Take the steps of `advance` for weights and sines whose type gives their number: (1.0,) and
    None compile to a plain loop.
    """
    weights, gamma = options.weights, options.gamma
    tolerance, max_iterations = options.tolerance, options.max_iterations
    load, (t, q, v) = rod_on_cart.load(input), state
    x, Q, w, u = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    here = (x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u))
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t))
    bend = bend_old = 0.125 * vec.dot(w, w)
    iterations, worst = 0, 0.0
    for i in range(n):
        start, s = here, t + i * h
        total = (0.0, 0.0, 0.0)
        for j in range(len(weights)):
            hj = h * weights[j]
            s += hj
            u0, u1 = u1, rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, s))
            E = discrete_rod.equations(system, gamma, hj)
            inputs = maximal_rod.StepInputs(load, u0, u1, gamma, tolerance, max_iterations)
            guess = 1.0 - hj * hj * (2.0 * bend - bend_old)
            here, turn, impulse = maximal_rod.stage(system, E, inputs, here, guess)
            bend, bend_old = 0.25 * E.f * E.f * (1.0 - turn.w), bend
            iterations += turn.iterations
            if not turn.error <= tolerance:
                boundary.write(q, v, start[0], start[1], start[3], start[4])
                return i, iterations, turn.error
            worst = max(worst, turn.error)
            total = vec.add(total, impulse)
        boundary.write_reaction(reaction, vec.scale(1.0 / h, total))
    boundary.write(q, v, here[0], here[1], here[3], here[4])
    return n, iterations, worst


@part
def free_of_friction(system, options, input, h, n, state, reaction):
    """Take the steps of `advance` where there is neither friction nor anything to touch."""
    o = options
    if len(o.weights) == 1 and len(input.sines) == 0:
        one = (o.weights[0],)
        plain = Options(one, o.tolerance, o.max_iterations, o.gamma, o.contact)
        return steps(system, plain, input, None, h, n, state, reaction)
    return steps(system, options, input, input.sines, h, n, state, reaction)


with_friction = friction_steps.around("quaternion_midpoint", free_of_friction)


@part
def dispatch(system, options, contact, input, h, n, state, reaction):
    """Take the steps of `advance` for a `contact` whose type shows whether there is anything to
    touch: None compiles the smooth loop alone.
    """
    if contact is not None:
        return touching.steps(system, options, input, h, n, state, reaction)
    if coulomb_friction.acts(system):
        return with_friction(system, options, input, h, n, state, reaction)
    return free_of_friction(system, options, input, h, n, state, reaction)


@hot
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, iterations, largest relative
    residual).
    """
    return dispatch(system, options, options.contact, input, h, n, state, reaction)
