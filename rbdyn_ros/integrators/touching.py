"""The steps of `quaternion_midpoint` where there is something to touch.

The pendulum flies by the closed form of `maximal_rod`. Nothing is looked at until it has come as
far as the nearest thing was. A step whose end overlaps is taken again, from its start, by the
general step of bodies (`bodies.model_step`), which splits at impacts; so are all that follow,
until nothing touches any more. Then the pendulum flies on from the velocities of that instant.

Within a step of the general model the force on the cart is the mean of those at both its ends, and
the friction of cart and joint is that of dampings that have its force at the start.
"""

import numpy as np

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model_step as general
from rbdyn_ros.bodies.contact import impact
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import boundary, discrete_rod, maximal_rod
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.pendulum import bodies, coulomb_friction, rod_on_cart, world

_ONE = np.int64(1)  # for a literal 1, which has another type, Numba would compile the step twice
_TOUCHING = 1e-9  # of the rod's length: a gap that counts as closed
_UNKNOWN = world.Clear((0.0, 0.0), (0.0, 0.0, 0.0), -1.0, -1.0, 0.0, 0.0)


@part
def steps(system, options, input, h, n, state, reaction):
    """Advance by n steps as `advance` does."""
    tolerance, max_iterations, gamma = options.tolerance, options.max_iterations, options.gamma
    C, memory = system.contacts, options.contact
    load, sines, (t, q, v) = rod_on_cart.load(input), input.sines, state
    x, Q, w, u = boundary.read_plant(system, q, v)
    R = unit_quaternion.matrix(Q)
    here = (x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u))
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t))
    E = discrete_rod.equations(system, gamma, h)
    bend = bend_old = 0.125 * vec.dot(w, w)
    iterations, worst, clear, i = 0, 0.0, _UNKNOWN, 0
    touches, rubs = begin(memory, q, v, n * h), coulomb_friction.acts(system)
    if touches == 2:
        clear = world.clear(C, x, rod_on_cart.axis(R), t - memory.since[0])
        touches = 2 if min(clear.cart, clear.rod) <= _TOUCHING * C.length else 0
    while i < n:
        if touches:
            found = touch(system, memory, input, h, n - i, t + i * h, here, touches == 1)
            done, more, error, here, F, touches = found
            i += done
            iterations += more
            worst = max(worst, error)
            boundary.write_reaction(reaction, F)
            if touches < 0:
                memory.interval[0] = i * h
                remember(memory, q, v, here)
                return i, iterations, np.inf
            u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t + i * h))
            bend = bend_old = 0.125 * vec.dot(here[3], here[3])
            clear = _UNKNOWN
            if touches == 0 and i < n:
                release(memory)
            continue
        now = t + (i + 1) * h
        u0, u_next = u1, rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, now))
        inputs = maximal_rod.StepInputs(load, u0, u_next, gamma, tolerance, max_iterations)
        guess = 1.0 - h * h * (2.0 * bend - bend_old)
        start = slow(system, h, here) if rubs else here
        new, turn, impulse = maximal_rod.stage(system, E, inputs, start, guess)
        if rubs:
            moved, new = new, slow(system, h, new)
            change = vec.add(vec.sub(start[5], here[5]), vec.sub(new[5], moved[5]))
            impulse = vec.axpy(system.rod_mass, change, impulse)
        if not turn.error <= tolerance:
            memory.interval[0] = i * h
            remember(memory, q, v, here)
            return i, iterations + turn.iterations, turn.error
        elapsed = now - memory.since[0]
        if not world.is_open(C, clear, new[0], rod_on_cart.axis(new[2]), elapsed):
            clear = world.clear(C, new[0], rod_on_cart.axis(new[2]), elapsed)
            if not min(clear.cart, clear.rod) >= 0.0:
                touches = 2
                continue
        here, u1 = new, u_next
        bend, bend_old = 0.25 * E.f * E.f * (1.0 - turn.w), bend
        iterations += turn.iterations
        worst = max(worst, turn.error)
        i += 1
        boundary.write_reaction(reaction, vec.scale(1.0 / h, impulse))
    remember(memory, q, v, here)
    return n, iterations, worst


@inlined
def slow(system, h, here):
    """Return the state after the friction of cart and joint has acted for h/2."""
    x, Q, R, w, u, _ = here
    w, u = coulomb_friction.slow(system, 0.5 * h, R, w, u)
    return x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u)


@part
def begin(memory, q, v, interval):
    """Note the start of a call; return 1 where the model of bodies goes on from it, 2 where it has
    to start there, for the state was changed, 0 where it is not needed.
    """
    is_same, was_close = True, False
    for k in range(11):
        now = q[k] if k < 6 else v[k - 6]
        is_same = is_same and memory.last[k] == now
        memory.start[k] = now
    for k in range(len(memory.closed)):
        was_close = was_close or memory.closed[k] != 0.0
    release(memory)
    memory.recorded_before[0], memory.interval[0] = memory.recorded[0], interval
    memory.trouble[0] = 0
    return (1 if was_close else 0) if is_same else 2


@part
def release(memory):
    """Note that nothing presses."""
    for k in range(len(memory.force)):
        memory.force[k, 0] = memory.force[k, 1] = memory.force[k, 2] = 0.0


@part
def remember(memory, q, v, here):
    """Write a state to q, v, and note it."""
    boundary.write(q, v, here[0], here[1], here[3], here[4])
    for k in range(11):
        memory.last[k] = q[k] if k < 6 else v[k - 6]


@part
def touch(system, memory, input, h, n, t, here, goes_on):
    """Take at most n steps of the general model from t, until nothing touches after one; return
    (steps taken, iterations, opening of the joint over the rod's length, state, mean force of the
    joint in the last step, 1 if something touches, 0 if nothing does, -1 if a step failed).
    """
    m, load, V = memory.arena, rod_on_cart.load(input), here[5]
    wrench = load.F, load.T, load.r
    origin = t - arena.clock(m)[c.TIME]
    if not goes_on:
        bodies.put_state(
            m, memory, system, h, t - memory.since[0], here[0], here[2], here[1], here[3], here[4]
        )
        origin = t
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(input.sines, t))
    before = arena.counters(m)[c.ITERATIONS]
    for i in range(n):
        u0, u1 = (
            u1,
            rod_on_cart.cart_force(load, rod_on_cart.sines_at(input.sines, t + (i + 1) * h)),
        )
        if i == 0 or len(input.sines) > 0:
            mean = 0.5 * (u0[0] + u1[0]), 0.5 * (u0[1] + u1[1])
            bodies.set_loads(m, system, mean, wrench)
        arena.counters(m)[c.FAILURE] = 0
        is_last = i == n - 1
        if is_last and i > 0:
            impact.observe(m)
            bodies.settle(m, memory, h, origin)
            x, Q, R, w, u = bodies.read_state(m)
            V = rod_on_cart.center_velocity(system, R, w, u)
        if coulomb_friction.acts(system):
            bodies.set_dampings(m, system)
        taken = general.advance(m, h, _ONE) == 1
        touches = bodies.count_closed(m) > 0
        if is_last or not taken or not touches:
            impact.observe(m)
            f = bodies.settle(m, memory, h, origin)
            x, Q, R_1, w, u = bodies.read_state(m)
            V_1 = rod_on_cart.center_velocity(system, R_1, w, u)
            weight = (0.0, 0.0, system.rod_mass * system.gravity)
            F = vec.axpy(system.rod_mass / h, vec.sub(V_1, V), weight)
            F = vec.sub(F, vec.add(load.F, f))
            new, more = (x, Q, R_1, w, u, V_1), arena.counters(m)[c.ITERATIONS] - before
            error = bodies.opening(m) / system.contacts.length
            if not taken:
                memory.trouble[0] = arena.counters(m)[c.FAILURE]
                memory.trouble[1] = arena.counters(m)[c.WHERE]
                return i, more, error, new, F, -1
            return i + 1, more, error, new, F, 1 if touches else 0
    return 0, 0, 0.0, here, (0.0, 0.0, 0.0), 0
