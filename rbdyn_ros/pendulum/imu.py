"""The specific force that an accelerometer on the rod measures: R^T (a_p - g), +g upwards at rest.

The acceleration is that of all forces at the instant of the state: weight, cart force, damping,
disturbance, the joint, and the contacts that press. Their forces lambda are found from the
accelerations at that instant, by the law of the step with accelerations in place of velocities,

    K_mu  contains  lambda  orthogonal to  a + mu |a_T| e_N  in  K_mu*,                     (N.33)
    a = D v'_free + D' v + W lambda,

a sliding contact keeping lambda_T = -mu lambda_N u_T / |u_T|. Where its friction could stop it in
half a step, u_T is hardly larger than its own error, and lambda_T has the direction of the
friction in the last step. An impact has no acceleration: after a call of the stepper that holds
one the value is the mean over that call,

    R^T ((v_p - v_p at its start) / T - g).                                                 (N.34)

doc/ros.md says what readers may conclude from it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from rbdyn_ros.bodies import accelerations as of_bodies
from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, set_vector, vector_of
from rbdyn_ros.bodies.contact import friction
from rbdyn_ros.bodies.contact.pairs import any_gap, update_contact
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators import boundary, rk4
from rbdyn_ros.kernel import inlined, part, specialize
from rbdyn_ros.numerics.solvers import fc3d_one_contact
from rbdyn_ros.pendulum import bodies, coulomb_friction, rod_on_cart, world

_CLOSED = 1e-9  # [m] and [m/s]: a smaller gap and gap rate are those of a contact at rest
_SLIDING = (
    1e-9  # [m/s]: without a step before, a contact whose tangential velocity is smaller sticks
)
_HELD = 1e6  # instead of mu: what stuck in the step sticks at its end
_FAST = 1e9  # [1/s] times a sliding velocity is far above accelerations: friction is along it


@inlined
def at(R, w, dw, du, gravity, position):
    """Return R^T (a_p - g) at the point p = (0, 0, position) for the accelerations w', x''
    (2,).
    """
    p = (0.0, 0.0, position)
    turning = vec.add(vec.cross(dw, p), vec.cross(w, vec.cross(w, p)))
    return vec.add(vec.transposed_matvec(R, (du[0], du[1], gravity)), turning)


@inlined
def mean(R, w, u, memory, gravity, position):
    """Return (N.34) over the last call of the stepper; `memory` is that of the contacts."""
    s, p, i_T = memory.start, (0.0, 0.0, position), 1.0 / memory.interval[0]
    before = unit_quaternion.rotate((s[2], s[3], s[4], s[5]), vec.cross((s[8], s[9], s[10]), p))
    change = vec.sub(vec.matvec(R, vec.cross(w, p)), before)
    a = (
        i_T * (change[0] + u[0] - s[6]),
        i_T * (change[1] + u[1] - s[7]),
        i_T * change[2] + gravity,
    )
    return vec.transposed_matvec(R, a)


@part
def with_contacts(memory, work, system, loads, t, state, goes_on, position):
    """Return (specific force, whether (N.33) has a solution) at t, with the forces of the
    contacts, of the state (x, Q, R, w, x'); `loads` are those on the rod and the force on the
    cart.

    The contacts are those that pressed in the last step, which `memory` remembers, and those that
    touch without moving. `work` is another memory, which is written over.
    """
    (x, Q, R, w, u), (load, force), m = state, loads, work.arena
    for k in range(len(m.f)):
        m.f[k] = memory.arena.f[k]
    for k in range(len(m.z)):
        m.z[k] = memory.arena.z[k]
    if not goes_on:
        bodies.put_state(m, work, system, 1.0, t, x, R, Q, w, u)
    bodies.set_loads(m, system, force, (load.F, load.T, load.r))
    pairs, active = arena.pairs(m), arena.active(m)
    bodies.put_velocities(m, work, R, w, u)
    table = arena.bodies(m)
    rubbed = coulomb_friction.as_damping(system, w, u)
    drag, damping = system.cart_free * rubbed.cart_damping, rubbed.joint_damping
    arena.add(table, bodies.CART, c.F, (-drag * u[0], -drag * u[1], 0.0))
    arena.add(table, bodies.ROD, c.TAU, vec.scale(-damping, w))
    count, speed = 0, arena.clock(m)[c.SPEED]
    for k in range(len(pairs)):
        near = any_gap(m, k, c.X, c.R)
        pressed = (
            goes_on and arena.pair_integers(m)[k, c.CLOSED] != 0 and pairs[k].impulse[0] > 0.0
        )
        if not pressed and not abs(near) <= _CLOSED:
            continue
        update_contact(m, k)
        if pressed or abs(pair_velocity(m, k)[0]) <= _CLOSED * speed:
            active[count] = k
            count += 1
            pairs[k].shift[0] = 1.0 if pressed else 0.0
    arena.counters(m)[c.ACTIVE] = count
    of_bodies.accelerate_freely(m, work.place, work.rate, work.acceleration)
    for at in range(count):
        k = active[at]
        u_k, a = vector_of(pairs[k].u_before), pair_velocity(m, k)
        a = vec.add(a, vector_of(pairs[k].u))
        slip1, slip2, pressed = u_k[1], u_k[2], pairs[k].shift[0] == 1.0
        if pressed:
            rub = vec.scale(-0.5 / system.rod_mass, vector_of(pairs[k].impulse))
            if abs(slip1) + abs(slip2) <= abs(rub[1]) + abs(rub[2]):
                slip1, slip2 = rub[1], rub[2]
        held = pressed and pairs[k].status == fc3d_one_contact.STICK
        fast = 0.0 if held or not pressed and abs(slip1) + abs(slip2) <= _SLIDING else _FAST
        set_vector(pairs[k].u, (a[0], a[1] + fast * slip1, a[2] + fast * slip2))
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
        if held:
            pairs[k].mu = _HELD
    if count > 0 and not friction.solve_impact(m):
        return (0.0, 0.0, 0.0), False
    of_bodies.respond_to_contacts(m, work.acceleration)
    dw, a = get(table, bodies.ROD, c.U_W), get(table, bodies.ROD, c.U_X)
    p = vec.add((0.0, 0.0, position), get(arena.blocks(m), 0, c.PA))
    turning = vec.add(vec.cross(dw, p), vec.cross(w, vec.cross(w, p)))
    return vec.add(vec.transposed_matvec(R, (a[0], a[1], a[2] + system.gravity)), turning), True


def _specific_force(system, input, memory, work, t, q, v, position):
    """Return R^T (a_p - g) (3,) [m/s^2, body]; `accelerations` is the integrator's."""
    x, Q, w, u = boundary.read(q, v)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    R = unit_quaternion.matrix(Q)
    load, sines = rod_on_cart.load(input), rod_on_cart.sines_at(input.sines, t)
    dw, du = accelerations(system, load, sines, Q, w, u)  # noqa: F821  # pyrefly: ignore[unknown-name]
    loads, state = (load, rod_on_cart.cart_force(load, sines)), (x, Q, R, w, u)
    if memory is not None:
        if memory.recorded[0] > memory.recorded_before[0]:
            return mean(R, w, u, memory, system.gravity, position)
        elapsed, goes_on = t - memory.since[0], bodies.is_touching(memory, q, v)
        near = world.clear(system.contacts, x, rod_on_cart.axis(R), elapsed)
        if goes_on or min(near.cart, near.rod) <= _CLOSED:
            found, solved = with_contacts(
                memory, work, system, loads, elapsed, state, goes_on, position
            )
            if solved or memory.interval[0] == 0.0:
                return found
            return mean(R, w, u, memory, system.gravity, position)
    return at(R, w, dw, du, system.gravity, position)


@cache
def specific_force(name: str, accelerations: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel `(system, input, memory, work, t, q, v, position) -> (3,)` [m/s^2, body].

    `accelerations` is that of the integrator `name`, by which the machine code is kept. `input` is
    what acted in the step that ended at t; `memory` is that of the stepper's contacts, None where
    there is nothing to touch, and `work` another one of its kind.
    """
    shared = "rod_on_cart" if accelerations is rk4.accelerations else name
    return specialize(_specific_force, shared, accelerations=accelerations)
