"""The quaternion scheme of the notebook "Geometric Discrete Variational Dynamics", exactly as
written: known-bad.

Each step is two Runge-Kutta steps that do not depend on each other: the angular velocity with the
attitude and the torque frozen, the quaternion with the OLD angular velocity frozen,

    I w' = R_k^T tau_s - w x I w   over h,      q' = q o (0, w_k) / 2   over h,               (7.1)

and in the pendulum's loop tau_s = T + m g e3 x c_s is taken with the lever c_s of one step before.
So the pair is coupled like explicit Euler: order 1, whatever the order of each half; a delay h (2
h with the stale lever) feeds energy at the rate w0^2 h / 2 (w0^2 h). `coupling` 2 steps both
together and is of order 4 on the same model.

The model is wrong as well: the rod turns about its center of mass under a joint force frozen at m
g e3, which is what a massless cart gives only for an infinitesimal swing. For a free body (l = 0)
it is right.
"""

from math import nan
from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion, vec, vec2
from rbdyn_ros.geometry.unit_quaternion import axpy
from rbdyn_ros.integrators import boundary
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import Array

ORDER = 1
SYMMETRIC = False
STALE, FROZEN, COUPLED = 0, 1, 2


class Options(NamedTuple):
    """How the two halves are coupled, and the lever of the step before, which the state does not
    hold.
    """

    coupling: (
        int  # STALE as written, FROZEN without the extra lag, COUPLED one Runge-Kutta for both
    )
    lever: Array  # (3,) c_s of the step before [m, world]; nan: this is the first step


@inlined
def acceleration(I, w, tau_b):
    """Return w' = I^-1 (tau_b - w x I w)."""
    r = vec.sub(tau_b, vec.cross(w, vec.times(I, w)))
    return vec.divide(r, I)


@inlined
def torque(system, T, c_s):
    """Return tau_s = T + m g e3 x c_s [N m, world]."""
    mg = system.rod_mass * system.gravity
    return (T[0] - mg * c_s[1], T[1] + mg * c_s[0], T[2])


@inlined
def rates(system, T, start, q, w, tau_b):
    """Return (q', w') of a stage: with the angular velocity of the start and the torque tau_b
    frozen, or with those of the stage where tau_b is None.
    """
    if tau_b is None:
        return unit_quaternion.rate(q, w), angular_acceleration(system, T, q, w)
    return unit_quaternion.rate(q, start), acceleration(system.inertia, w, tau_b)


@inlined
def runge_kutta(system, T, q, w, tau_b, h):
    """Take one Runge-Kutta step of attitude and velocity: (7.1) with tau_b frozen, or both
    together where it is None.
    """
    k1, m1 = rates(system, T, w, q, w, tau_b)
    k2, m2 = rates(system, T, w, axpy(0.5 * h, k1, q), vec.axpy(0.5 * h, m1, w), tau_b)
    k3, m3 = rates(system, T, w, axpy(0.5 * h, k2, q), vec.axpy(0.5 * h, m2, w), tau_b)
    k4, m4 = rates(system, T, w, axpy(h, k3, q), vec.axpy(h, m3, w), tau_b)
    q = axpy(h / 6.0, k4, axpy(h / 3.0, k3, axpy(h / 3.0, k2, axpy(h / 6.0, k1, q))))
    m = vec.add(vec.add(m1, m4), vec.scale(2.0, vec.add(m2, m3)))
    return unit_quaternion.normalize(q), vec.axpy(h / 6.0, m, w)


@inlined
def stage(system, options, T, Q, w, lever, h):
    """Take one step of attitude and angular velocity, with the lever of the step before, nan in
    the first one; return (Q, w, the lever at its start).
    """
    c_s = unit_quaternion.rotate(Q, (0.0, 0.0, system.center))
    if options.coupling == COUPLED:
        Q, w = runge_kutta(system, T, Q, w, None, h)
    else:
        is_fresh = options.coupling == FROZEN or lever[0] != lever[0]
        tau_s = torque(system, T, c_s if is_fresh else lever)
        Q, w = runge_kutta(system, T, Q, w, unit_quaternion.inverse_rotate(Q, tau_s), h)
    return Q, w, c_s


@inlined
def angular_acceleration(system, T, q, w):
    """Return w' at the attitude q."""
    tau_s = torque(system, T, unit_quaternion.rotate(q, (0.0, 0.0, system.center)))
    return acceleration(system.inertia, w, unit_quaternion.inverse_rotate(q, tau_s))


@inlined
def accelerations(system, load, f, q, w, u):
    """Return (w', x'') of this model, whose joint slides below a center of mass that stays."""
    c, R = (0.0, 0.0, system.center), unit_quaternion.matrix(q)
    dw = angular_acceleration(system, load.T, q, w)
    turning = vec.matvec(R, vec.add(vec.cross(dw, c), vec.cross(w, vec.cross(w, c))))
    return dw, (-turning[0], -turning[1])


@kernel
def advance(system, options, input, h, n, state, reaction):
    """Take n steps of size h in place; return (steps done, 0 iterations, residual 0).

    The cart follows below the center of mass, which this model keeps where it is. A step whose
    numbers grow beyond all bounds stops it: residual nan, and the state before that step.
    """
    _, q, v = state
    x, Q, w, u = boundary.read(q, v)
    load, c = rod_on_cart.load(input), (0.0, 0.0, system.center)
    c_s = unit_quaternion.rotate(Q, c)
    foot = vec2.add(x, c_s)
    lever = vec.three(options.lever, 0)
    done = n
    for i in range(n):
        Q0, w0 = Q, w
        Q, w, c_s = stage(system, options, load.T, Q, w, lever, h)
        if not boundary.is_finite(foot, Q, w, foot):
            if i == 0:
                return 0, 0, nan
            Q, w, done = Q0, w0, i
            break
        lever = c_s
    options.lever[0], options.lever[1], options.lever[2] = lever
    c_s = unit_quaternion.rotate(Q, c)
    dc = unit_quaternion.rotate(Q, vec.cross(w, c))
    boundary.write(q, v, vec2.sub(foot, c_s), Q, w, (-dc[0], -dc[1]))
    boundary.write_reaction(reaction, (0.0, 0.0, system.rod_mass * system.gravity))
    return done, 0, (0.0 if done == n else nan)
