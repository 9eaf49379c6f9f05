"""The loop of `quaternion_midpoint` where there is something to touch."""

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import part
from rbdyn_ros.mechanics.integrators import discrete_rod, maximal_rod, memory
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum import rod_on_cart_contacts as touching
from rbdyn_ros.mechanics.pendulum_contact import (
    contact_state,
    contact_step,
    end_of_step,
    split_step,
)

_UNKNOWN = world.Clear((0.0, 0.0), (0.0, 0.0, 0.0), -1.0, -1.0, 0.0, 0.0)


@part
def steps(system, options, input, h, n, t, q, v, reaction):
    """`advance` with contacts: what is far away costs a comparison, closed contacts join the step
    (`contact_step`).

    A step whose end would overlap is mended there (`end_of_step`) or, with `options.split`, ends
    at the impact and goes on from there (`split_step`).
    """
    tolerance, max_iterations, gamma = options.tolerance, options.max_iterations, options.gamma
    C, c, split = system.contacts, options.contact, options.split == 1
    load, sines = rod_on_cart.load(input), input.sines
    x, Q, w, u = memory.read(q, v)
    R = unit_quaternion.matrix(Q)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    state = (x, Q, R, w, u, rod_on_cart.center_velocity(system, R, w, u))
    u1 = rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, t))
    E = discrete_rod.equations(system, gamma, h)
    bend = bend_old = 0.125 * vec.dot(w, w)
    iterations, worst, touched = 0, 0.0, True
    clear = _UNKNOWN
    contact_state.failed(c, contact_state.NONE, 0)
    contact_state.begin(c, q, v, n * h)
    for i in range(n):
        start, s = state, t + i * h
        now = s - c.since[0]
        recorded, done, free = c.recorded[0], c.work[0], clear.cart >= 0.0
        u0, u1 = u1, rod_on_cart.cart_force(load, rod_on_cart.sines_at(sines, s + h))
        inputs = maximal_rod.StepInputs(load, u0, u1, gamma, tolerance, max_iterations)
        m = contact_state.Workspace(system, c, inputs)
        guess = 1.0 - h * h * (2.0 * bend - bend_old)
        if touched:
            c.force[:] = 0.0
            touched = False
        count = 0
        if not free:
            end_of_step.remember(C, c)
            count = contact_step.hold(C, c, h, now, state)
        if count == 0:
            new, turn, impulse = maximal_rod.stage(system, E, inputs, state, guess, None)
            error = turn.error
        else:
            new, turn, impulse, error = contact_step.solve(m, E, now, state, guess)
        met = False
        if not world.is_open(C, clear, new[0], touching.axis(new[2]), now + h, 0.0, 0.0):
            met = error <= tolerance and split_step.penetrated(C, c, now + h, new) >= 0
            clear = _UNKNOWN
            if not met and count == 0:
                clear = world.clear(C, new[0], touching.axis(new[2]), now + h)
        if error <= tolerance and count > 0 and not (met and split):
            split_step.take(c, h)
            touched = True
        state, fails = new, not error <= tolerance
        if met and not split:
            state, impulse, ok = end_of_step.mend(m, E, now, new, impulse)
            touched, fails = True, not ok
        if met and split or fails and (met or count > 0) and not split:
            if not split:
                end_of_step.forget(C, c, recorded, done, free)
            state, turn, impulse, error, touched = split_step.step(m, h, start, guess, now)
            fails = not error <= tolerance
            touched, clear = True, _UNKNOWN
        if fails and (met or count > 0):
            end_of_step.forget(C, c, recorded, done, free)
            state, turn, impulse, error = end_of_step.step(m, E, start, guess, now)
            touched, clear = True, _UNKNOWN
        bend, bend_old = 0.25 * E.f * E.f * (1.0 - turn.w), bend
        iterations += turn.iterations
        if not error <= tolerance:
            memory.write(q, v, start[0], start[1], start[3], start[4])
            c.interval[0] = i * h
            return i, iterations, error
        if touched:
            contact_state.account(C, c, h)
        worst = max(worst, error)
        memory.write_reaction(reaction, vec.scale(1.0 / h, impulse))
    memory.write(q, v, state[0], state[1], state[3], state[4])
    return n, iterations, worst
