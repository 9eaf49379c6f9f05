"""The power of everything that is not in the energy E: forces, disturbance, friction; and the quantities that it changes."""

import math

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.pendulum import rod_on_cart


@kernel
def power(system, input, t, q, v):
    """dE/dt = u(t).x' + F.V + T.R w - b |x'|^2 - d |w|^2 [W], with V the velocity of the point where F acts.

    `system`, `input`, q (6,), v (5,) as in `types`; t [s].
    """
    load = rod_on_cart.load(input)
    u = rod_on_cart.sines_at(input.sines, t)
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    w, x = (v[2], v[3], v[4]), (system.cart_free * v[0], system.cart_free * v[1])
    V = vec.add((x[0], x[1], 0.0), vec.matvec(R, vec.cross(w, load.r)))
    given = (
        (load.force[0] + u[0]) * x[0]
        + (load.force[1] + u[1]) * x[1]
        + vec.dot(load.F, V)
        + vec.dot(load.T, vec.matvec(R, w))
    )
    lost = system.cart_damping * (x[0] * x[0] + x[1] * x[1]) + system.joint_damping * vec.dot(w, w)
    return given - lost


@kernel
def balance(system, input, t, q, v):
    """(dE/dt, (E, Lz, Px, Py, p3), |quaternion| - 1): `power`, `rod_on_cart.quantities`, and how far the rotation is from one."""
    norm = math.sqrt(q[2] * q[2] + q[3] * q[3] + q[4] * q[4] + q[5] * q[5])
    return power(system, input, t, q, v), rod_on_cart.quantities(system, q, v), norm - 1.0
