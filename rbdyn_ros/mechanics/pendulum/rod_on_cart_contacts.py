"""Contacts seen from the rod on the cart: velocities and impulses.

A contact at the height rho of the rod's axis moves with x' + rho d', d' = R (w x e3); one on the
cart with x'. Its impulse f [N s, world] changes the momenta of (1.3), (1.4) by rho e3 x R^T f and
f_xy. With the rows D of (w, x') -> u the Delassus matrix is W = D M^-1 D^T, M^-1 in the closed
form of `rod_on_cart.velocities`.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.mechanics.pendulum.world import ON_CART


@inlined
def axis(R):
    """Return the rod's direction R e3."""
    return (R[0][2], R[1][2], R[2][2])


@inlined
def point_velocity(R, w, x, rho):
    """Return the velocity of the contact point [m/s, world]."""
    if rho == ON_CART:
        return x[0], x[1], 0.0
    d = vec.matvec(R, (rho * w[1], -rho * w[0], 0.0))
    return x[0] + d[0], x[1] + d[1], d[2]


@inlined
def momenta_of_impulse(R, f, rho):
    """Return (p, P) of an impulse f at the contact, D^T f."""
    if rho == ON_CART:
        return (0.0, 0.0, 0.0), (f[0], f[1])
    b = vec.transposed_matvec(R, f)
    return (-rho * b[1], rho * b[0], 0.0), (f[0], f[1])


@inlined
def impulse_response(system, R, f, rho):
    """Return M^-1 D^T f, the change of (w, x') by an impulse f."""
    p, P = momenta_of_impulse(R, f, rho)
    return rod_on_cart.velocities(system, R, p, P)


@inlined
def push(system, R, w, x, f, rho):
    """Return (w, x') after an impulse f at the contact."""
    dw, dx = impulse_response(system, R, f, rho)
    return vec.add(w, dw), (x[0] + dx[0], x[1] + dx[1])
