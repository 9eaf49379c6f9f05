"""The Coulomb friction of a cart that sticks, as a force that is held over a step.

A cart with the velocity u, the acceleration A without friction and the mobility W (acceleration by
force, 2 x 2) moves for a time s under (doc/identification.md)

    u' = A + W F,   F = -mu u / |u|,   or |F| <= mu where u = 0.                             (I.15)

Along a line this has the exact solution that follows, with the impulse P of F:

    |W^-1 A| <= mu, |W^-1 (u + s A)| <= s mu    the cart comes to rest:  P = -W^-1 (u + s A);
    |W^-1 A| > mu, u against A, t < s           the cart turns:  P = mu (2 t - s) n;
    otherwise                                   P = -s mu u / |u|

with n along A and the time t = -u.n / (A.n + mu n.W n) at which it turns. In the plane n is the
direction of u + s A / 2, and a step in which the velocity may turn is taken in `PARTS`.

A and W are those of the state at the start of the step. The friction of `coulomb_friction`, which
the plant has, creeps where this one sticks.
"""

from math import sqrt

from rbdyn_ros.geometry import dual_attitude, vec2
from rbdyn_ros.integrators import rk4
from rbdyn_ros.kernel import inlined
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import System

PARTS = 8  # of a step
FAST = 4.0  # changes of the velocity in a step, above which it is taken as a whole
LEAST = 1e-30  # [m^2/s^2] below which a velocity has no direction


@inlined
def times(W, a):
    """Return W a of a symmetric matrix (W_xx, W_xy, W_yy)."""
    return (W[0] * a[0] + W[1] * a[1], W[1] * a[0] + W[2] * a[1])


@inlined
def direction(a):
    """Return a / |a|."""
    return vec2.scale(1.0 / sqrt(a[0] * a[0] + a[1] * a[1] + LEAST), a)


@inlined
def square(a):
    """Return |a|^2."""
    return a[0] * a[0] + a[1] * a[1]


@inlined
def part_impulse(mu, A, W, inverse, u, s):
    """Return P [N s] of s [s] by (I.15)."""
    pull, stop = times(inverse, A), times(inverse, vec2.axpy(s, A, u))
    sticks = square(pull) <= mu * mu
    if sticks and square(stop) <= s * s * mu * mu:
        return (-stop[0], -stop[1])
    n = direction(vec2.axpy(0.5 * s, A, u))
    size = -s * mu
    if not sticks:
        if n[0] * A[0] + n[1] * A[1] < 0.0:
            n = (-n[0], -n[1])
        along = n[0] * u[0] + n[1] * u[1]
        if along < 0.0:
            Wn = times(W, n)
            rate = n[0] * A[0] + n[1] * A[1] + mu * (n[0] * Wn[0] + n[1] * Wn[1])
            size = mu * min(s, -2.0 * along / rate - s)
    return (size * n[0], size * n[1])


@inlined
def mean_force(mu, A, W, u, h):
    """Return the mean (2,) [N] over h [s] of the friction mu [N], for the acceleration A [m/s^2]
    without it, the mobility W (W_xx, W_xy, W_yy) [1/kg] and the velocity u [m/s] at the start.
    """
    scale = 1.0 / (W[0] * W[2] - W[1] * W[1])
    inverse = (scale * W[2], -scale * W[1], scale * W[0])
    change = h * (abs(A[0]) + abs(A[1]) + mu * (W[0] + W[2]))
    if square(u) > FAST * FAST * change * change:
        return vec2.scale(1.0 / h, part_impulse(mu, A, W, inverse, u, h))
    P, s = (0.0 * A[0], 0.0 * A[1]), h / PARTS
    for _ in range(PARTS):
        p = part_impulse(mu, A, W, inverse, u, s)
        u = vec2.add(vec2.axpy(s, A, u), times(W, p))
        P = vec2.add(P, p)
    return vec2.scale(1.0 / h, P)


@inlined
def joint_alone(system):
    """Return the system without the friction of the cart."""
    return System(
        system.cart_mass,
        system.cart_free,
        system.cart_damping,
        system.rod_mass,
        system.center,
        system.inertia,
        system.joint_damping,
        system.gravity,
        system.contacts,
        0.0,
        system.joint_friction,
    )


@inlined
def hold(system, load, h, state):
    """Return the load and the mean friction of the cart over a step of h [s] from a state in dual
    numbers.
    """
    _, attitude, w, u = state
    if system.cart_free == 0.0:
        return load
    q, R, zero = dual_attitude.quaternion(attitude), dual_attitude.matrix(attitude), (0.0, 0.0)
    _, _, _, A = rk4.rates(system, load, zero, q, w, u)
    _, x = rod_on_cart.velocities(system, R, (0.0, 0.0, 0.0), (1.0, 0.0))
    _, y = rod_on_cart.velocities(system, R, (0.0, 0.0, 0.0), (0.0, 1.0))
    F = mean_force(system.cart_friction, A, (x[0], x[1], y[1]), u, h)
    force = load.force[0] + F[0], load.force[1] + F[1]
    return rod_on_cart.Load(force, load.F, load.T, load.r)
