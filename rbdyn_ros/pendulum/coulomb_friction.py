"""The Coulomb friction of cart and joint, smoothed about rest.

A force on the cart and a torque at the joint, each against its velocity:

    F = -mu_c x' / sqrt(|x'|^2 + v_0^2),    tau_f = -mu_j w / sqrt(|w|^2 + w_0^2)           (1.12)

with v_0 = 1 mm/s and w_0 = 1 mrad/s. Both are constant in size above a few v_0 and viscous below,
so that a cart under a force F < mu_c creeps with v_0 F / sqrt(mu_c^2 - F^2).

About rest this is stiff. So `slow` lets friction act alone for a time s, at a fixed attitude, by
the implicit rule of Euler for the dampings b, d that have the same force,

    (M + s diag(d, b)) (w, x')_1 = M (w, x')_0,   b = mu_c / sqrt(|x'_1|^2 + v_0^2),        (1.13)

d likewise, which follow by `SWEEPS` substitutions. Any of these takes energy, whatever s. The
steps of the methods stand between two such halves (`integrators.friction_steps`). A friction whose
direction stays is exact; where the velocity turns or comes to rest the error is of first order.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import System

CREEP = 1e-3  # v_0 [m/s], w_0 [rad/s]
SWEEPS = 3


@inlined
def acts(system):
    """Return whether there is any."""
    return system.cart_friction != 0.0 or system.joint_friction != 0.0


def without(system: System) -> System:
    """Return the system without friction, as laws and observers have it: a linearization at rest
    would have the slope mu / v_0, which holds for some mm/s only.
    """
    return system._replace(cart_friction=0.0, joint_friction=0.0)


@inlined
def dampings(system, w, u):
    """Return (b [N s/m], d [N m s/rad]), the dampings with the force of the friction at the
    angular velocity w [body] and the cart velocity u (2,).
    """
    b = system.cart_friction / sqrt(u[0] * u[0] + u[1] * u[1] + CREEP * CREEP)
    return b, system.joint_friction / sqrt(vec.dot(w, w) + CREEP * CREEP)


@inlined
def as_damping(system, w, u):
    """Return a system without friction whose dampings have the same force at these velocities."""
    b, d = dampings(system, w, u)
    return System(
        system.cart_mass,
        system.cart_free,
        system.cart_damping + b,
        system.rod_mass,
        system.center,
        system.inertia,
        system.joint_damping + d,
        system.gravity,
        system.contacts,
    )


@inlined
def slow(system, s, R, w, u):
    """Return (w, x') after the friction has acted for s [s] at the attitude R (rows)."""
    p, P = rod_on_cart.momenta(system, R, w, u)
    for _ in range(SWEEPS):
        w, u = _slow(system, s, R, p, P, w, u)
    return w, u


@inlined
def _slow(system, s, R, p, P, w, u):
    """Return the velocities of the momenta p, P after s under the dampings at w, u."""
    b, d = dampings(system, w, u)
    I = system.inertia
    heavy = System(
        system.cart_mass + s * b,
        system.cart_free,
        system.cart_damping,
        system.rod_mass,
        system.center,
        (I[0] + s * d, I[1] + s * d, I[2] + s * d),
        system.joint_damping,
        system.gravity,
        system.contacts,
    )
    return rod_on_cart.velocities(heavy, R, p, P)
