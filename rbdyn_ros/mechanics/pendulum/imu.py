"""The specific force that an accelerometer on the rod measures: R^T (a_p - g), +g upwards at rest.

The acceleration is that of all forces at the instant of the state: weight, cart force, damping,
disturbance, the joint, and the contacts that press. Their forces lambda are found from the
accelerations at that instant, by the law of the step with accelerations in place of velocities,

    K_mu  contains  lambda  orthogonal to  a + mu |a_T| e_N  in  K_mu*,                     (I.1)
    a = D v'_free + D' v + W lambda,

a sliding contact keeping lambda_T = -mu lambda_N u_T / |u_T|. Where its friction could stop it in
half a step, u_T is hardly larger than its own error, and lambda_T has the direction of the
friction in the last step. An impact has no acceleration: after a call of the stepper that holds
one the value is the mean over that call,

    R^T ((v_p - v_p at its start) / T - g).                                                 (I.2)

doc/ros.md says what readers may conclude from it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part, specialize
from rbdyn_ros.mechanics.integrators import boundary, rk4
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import contact_law
from rbdyn_ros.mechanics.pendulum_contact.contact_state import aim, on_world, put
from rbdyn_ros.mechanics.solvers import fc3d_one_contact

_CLOSED = 1e-9  # [m] and [m/s]: a smaller gap and gap rate are those of a contact at rest
_SLIDING = (
    1e-9  # [m/s]: without a step before, a contact whose tangential velocity is smaller sticks
)
_HELD = 1e6  # instead of mu: what stuck in the step sticks at its end
_FAST = 1e9  # [1/s] times a sliding velocity is far above accelerations: friction is along it
_MOVE = 1e-5  # [m] by which the pendulum is moved to differentiate normals


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
    """Return (I.2) over the last call of the stepper; `memory` is that of the contacts."""
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
def normal_rates(C, i, x, d, t, u, d_rate):
    """Return (n', rho') of candidate i at t [1/s, m/s] for the rates u (2,) of the cart and d_rate
    of d.
    """
    e = _MOVE / (abs(u[0]) + abs(u[1]) + C.length * vec.size(d_rate) + world.speed(C) + _MOVE)
    ahead, behind = vec.axpy(e, d_rate, d), vec.axpy(-e, d_rate, d)
    _, n1, rho1 = world.touch(
        C, i, (x[0] + e * u[0], x[1] + e * u[1]), vec.scale(1.0 / vec.norm(ahead), ahead), t + e
    )
    _, n0, rho0 = world.touch(
        C, i, (x[0] - e * u[0], x[1] - e * u[1]), vec.scale(1.0 / vec.norm(behind), behind), t - e
    )
    return vec.scale(0.5 / e, vec.sub(n1, n0)), 0.5 / e * (rho1 - rho0)


@part
def contact_accelerations(system, c, work, t, state, free):
    """Return (w', x'', whether (I.1) has a solution): the accelerations at t with the forces of
    the contacts, of the state (x, R, w, x') with the accelerations `free` without them.

    The contacts are those that pressed in the last step, which `c` remembers, and those that touch
    without moving. `work` is another memory, which is written over.
    """
    (x, R, w, u), (dw, du) = state, free
    C, d, count = system.contacts, (R[0][2], R[1][2], R[2][2]), 0
    d_rate = vec.matvec(R, (w[1], -w[0], 0.0))
    for i in range(world.count(C)):
        if not world.is_present(C, i):
            continue
        g, n, rho = world.touch(C, i, x, d, t)
        V = world.velocity(C, i)
        aim(work, i, count, n, rho, V)
        n, t1, t2 = vec.frame(n)
        v = vec.sub(rod_on_cart.point_velocity(R, w, u, rho), V)
        pressed = c.closed[i] == 1.0 and c.P[i, 0] > 0.0
        if not pressed and not (abs(g) <= _CLOSED and abs(vec.dot(n, v)) <= _CLOSED):
            continue
        a = (du[0], du[1], 0.0)
        if rho != world.ON_CART:
            dn, drho = normal_rates(C, i, x, d, t, u, d_rate)
            e = (0.0, 0.0, rho)
            turning = vec.add(vec.cross(dw, e), vec.cross(w, vec.cross(w, e)))
            a = vec.axpy(drho, d_rate, vec.add(a, vec.matvec(R, turning)))
            a = vec.axpy(vec.dot(dn, v), n, a)
        slip1, slip2 = vec.dot(t1, v), vec.dot(t2, v)
        if pressed:
            friction = vec.scale(-1.0 / system.rod_mass, on_world(c, i))
            rub1, rub2 = vec.dot(t1, friction), vec.dot(t2, friction)
            if abs(slip1) + abs(slip2) <= abs(rub1) + abs(rub2):
                slip1, slip2 = rub1, rub2
        held = pressed and c.status[i] == fc3d_one_contact.STICK
        fast = 0.0 if held or not pressed and abs(slip1) + abs(slip2) <= _SLIDING else _FAST
        put(
            work.q,
            i,
            (vec.dot(n, a), vec.dot(t1, a) + fast * slip1, vec.dot(t2, a) + fast * slip2),
        )
        put(work.P, i, (0.0, 0.0, 0.0))
        work.law[i, 0] = _HELD if held else world.law(C, i)[0]
        count += 1
    if count == 0:
        return dw, du, True
    work.count[0] = count
    contact_law.couple(system, work, R)
    if not contact_law.solve_impact(work):
        return dw, du, False
    for k in range(count):
        i = work.active[k]
        dw, du = rod_on_cart.push(system, R, dw, du, on_world(work, i), work.rho[i])
    return dw, du, True


def _specific_force(system, input, c, work, t, q, v, position):
    """Return R^T (a_p - g) (3,) [m/s^2, body]; `accelerations` is the integrator's."""
    x, Q, w, u = boundary.read(q, v)
    u = (system.cart_free * u[0], system.cart_free * u[1])
    R = unit_quaternion.matrix(Q)
    dw, du = accelerations(  # noqa: F821  # pyrefly: ignore[unknown-name]
        system, rod_on_cart.load(input), rod_on_cart.sines_at(input.sines, t), Q, w, u
    )
    if c is not None:
        if c.recorded[0] > c.recorded_before[0]:
            return mean(R, w, u, c, system.gravity, position)
        now, state = t - c.since[0], (x, R, w, u)
        dw, du, solved = contact_accelerations(system, c, work, now, state, (dw, du))
        if not solved and c.interval[0] > 0.0:
            return mean(R, w, u, c, system.gravity, position)
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
