"""A step whose contacts find no impulses is taken without them and mended at its end.

Positions and velocities of a whole step can contradict each other (a contact that has to keep its
gap while another one meets its obstacle, a rod between floor and sphere), so that no impulses obey
(P.1) to (P.3) together. At one instant they exist: without restitution the state before the impact
is allowed by all rows. So the rod and the cart move freely for h; what overlaps then is projected
out along the normals in the metric of the masses (P.5), in turns; there all that touch jump
together (P.4), with the share of the restitution that leaves no energy gained, that of the
projection included (P.7). This is of order 1.
"""

import numpy as np

from rbdyn_ros.bodies import rod_on_cart as body
from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import contact_memory as memory
from rbdyn_ros.integrators import contact_step, impact
from rbdyn_ros.integrators.contact_memory import put, vector
from rbdyn_ros.integrators.landing import along_normal
from rbdyn_ros.kernel import inlined, part

_SWEEPS = 2000  # of the gaps
_CLOSED = 5e-13  # of the rod's length: a smaller overlap is none
_TOUCHING = 1e-9  # of the rod's length: what touches; what may overlap still after the last sweep
_FLAT = 1e-9  # of 1/m: W_NN of a normal along which nothing moves


@inlined
def remember(C, c):
    """Keep which contacts touch at the start of a step."""
    for i in range(world.count(C)):
        c.closed_before[i] = c.closed[i]


@part
def forget(C, c, recorded, work, free):
    """Undo what a failed step noted: its impacts, its forces, its work, and what it closed; nothing
    touched before where all was `free`.
    """
    c.recorded[0], c.work[0] = recorded, work
    for i in range(world.count(C)):
        c.closed[i] = 0.0 if free else c.closed_before[i]
        put(c.force, i, (0.0, 0.0, 0.0))
        put(c.P, i, (0.0, 0.0, 0.0))


@part
def projected(system, C, c, x, Q, R, t):
    """(x, Q, R, deepest overlap [m]) where nothing overlaps any more at t; c.z are the impulses of the
    last sweep.
    """
    deepest = 0.0
    for k in range(_SWEEPS):
        deepest = 0.0
        for i in range(world.count(C)):
            c.z[i] = 0.0
            if not world.exists(C, i):
                continue
            g, n, rho = world.touch(C, i, x, touching.axis(R), t)
            if not g < 0.0:
                continue
            deepest = min(deepest, g)
            dw, dx, W = along_normal(system, R, n, rho)
            if not W * system.rod_mass > _FLAT:
                c.z[i] = 1.0  # nothing moves along n
                continue
            c.z[i] = -g / W
            x = (x[0] - g * dx[0], x[1] - g * dx[1])
            turn = vec.scale(-0.5 * g, dw)
            Q = unit_quaternion.product(Q, (1.0, turn[0], turn[1], turn[2]))
            Q = unit_quaternion.normalized(Q)
            R = unit_quaternion.matrix(Q)
        if deepest >= -_CLOSED * C.length:
            break
    return x, Q, R, deepest


@part
def is_jammed(system, C, c, x, R, t):
    """Whether the impulses y = c.z >= 0 prove that no motion z within reach opens the overlaps.

    To first order D_N z >= -g asks for |z|_M >= y.(-g) / |D_N^T y| in the metrics of M and M^-1
    (P.8, Farkas); within reach is |z|_M < L sqrt(m).
    """
    dw, dx, lift = (0.0, 0.0, 0.0), (0.0, 0.0), 0.0
    for i in range(world.count(C)):
        if c.z[i] > 0.0:
            g, n, rho = world.touch(C, i, x, touching.axis(R), t)
            add_w, add_x = touching.kick(system, R, vec.scale(c.z[i], n), rho)
            dw, dx = vec.add(dw, add_w), (dx[0] + add_x[0], dx[1] + add_x[1])
            lift -= c.z[i] * g
    p, P = body.momenta(system, R, dw, dx)
    size = max(vec.dot(p, dw) + P[0] * dx[0] + P[1] * dx[1], 0.0) ** 0.5
    return lift > C.length * system.rod_mass**0.5 * size


@part
def step(system, C, options, load, E, u0, u1, state, guess, c, t):
    """One step: (state, turn, joint impulse, error). The impulses lie in P, half of them as in any step."""
    tolerance, most, start = options.tolerance, options.max_iterations, state
    new, turn, impulse = contact_step.stage(system, load, E, tolerance, most, u0, u1, state, guess, None)
    if not turn.error <= tolerance:
        return start, turn, impulse, turn.error
    x, Q, R, w, u, V = new
    before = body.energy(system, R, w, u)
    end = t + E.h
    x, Q, R, deepest = projected(system, C, c, x, Q, R, end)
    if not deepest > -_TOUCHING * C.length:
        why = memory.JAMMED if is_jammed(system, C, c, x, R, end) else memory.NO_POSE
        memory.failed(c, why, impact.deepest(C, c, end, (x, Q, R, w, u, V), np.inf, True))
        return start, turn, impulse, np.inf
    V = body.center_velocity(system, R, w, u)
    spent = body.energy(system, R, w, u) - before
    c.work[0] += spent
    for i in range(world.count(C)):
        if c.closed[i] == 1.0 and impact.gap(C, i, (x, Q, R, w, u, V), end) > _TOUCHING * C.length:
            c.closed[i] = 0.0
    new, ok = impact.jump(system, C, c, E.h, end, (x, Q, R, w, u, V), False, spent)
    if not ok:
        return start, turn, impulse, np.inf
    memory.failed(c, memory.NONE, 0)
    impact.add_forces(C, c, 0.5 * E.f)
    impulse = vec.sub(vec.axpy(system.rod_mass, vec.sub(new[5], V), impulse), impact.on_rod(C, c))
    for i in range(world.count(C)):
        put(c.P, i, vec.scale(0.5 * c.closed[i], vector(c.P, i)))
    return new, turn, impulse, turn.error
