"""The rod on the cart: momenta and velocities, energy and forces.

Derived in doc/mathematics.md, section 1.

With c = (0, 0, l) from the joint to the center of mass, J_p = I + m l^2 diag(1, 1, 0) and the
vertical in the body zeta = R^T e3,

    p   = J_p w + m c x R^T x'             angular momentum about the joint [body]          (1.3)
    p_x = (M + m) x' + m [R (w x c)]_xy    horizontal momentum [world]                      (1.4)
    E   = (p.w + p_x.x') / 2 + m g l zeta_3    energy, potential zero at z = 0              (1.5)
    Lz  = (R p)_z + (x x p_x)_z,  p3 = I_3 w_3                                              (1.6)

and p' + w x p + m (w x c) x R^T x' = tau - d w,  p_x' = U - b x',  tau and U the generalized forces.
"""

import math
from typing import NamedTuple

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, kernel


@inlined
def lever(R, l, w):
    """Return R (w x c), the velocity of the center of mass about the joint [m/s, world]."""
    a, b = l * w[1], -l * w[0]
    return (R[0][0] * a + R[0][1] * b, R[1][0] * a + R[1][1] * b, R[2][0] * a + R[2][1] * b)


@inlined
def momenta(system, R, w, x):
    """Return (p, p_x) of the angular velocity w [body] and the cart velocity x (2,); R is the
    rotation's rows.
    """
    m, l, I = system.rod_mass, system.center, system.inertia
    x_b = vec.axpy(x[0], R[0], vec.scale(x[1], R[1]))
    p = (
        (I[0] + m * l * l) * w[0] - m * l * x_b[1],
        (I[1] + m * l * l) * w[1] + m * l * x_b[0],
        I[2] * w[2],
    )
    M, V = system.cart_mass + m, lever(R, l, w)
    return p, (M * x[0] + m * V[0], M * x[1] + m * V[1])


@inlined
def velocities(system, R, p, p_x):
    """Return (w, x') of the momenta (p, p_x), which solve (1.3), (1.4), also for a massless or a
    fixed cart.

    Eliminating x' leaves A w = p - chi c x R^T (p_x, 0) with chi = m / (M + m) and
    A = I + (1 - chi) m l^2 diag(1, 1, 0) + chi m l^2 n n^T,  n = e3 x zeta,
    inverted by Sherman and Morrison.
    """
    m, l, I, zeta = system.rod_mass, system.center, system.inertia, R[2]
    free = system.cart_free
    i_M = free / (system.cart_mass + m)
    chi = m * i_M
    i_1, i_2 = 1.0 / (I[0] + (1.0 - chi) * m * l * l), 1.0 / (I[1] + (1.0 - chi) * m * l * l)
    p_xb = vec.axpy(p_x[0], R[0], vec.scale(p_x[1], R[1]))
    a1, a2 = i_1 * (p[0] + chi * l * p_xb[1]), i_2 * (p[1] - chi * l * p_xb[0])
    n1, n2, s = -zeta[1], zeta[0], chi * m * l * l
    b1, b2 = i_1 * n1, i_2 * n2
    f = s * (n1 * a1 + n2 * a2) / (1.0 + s * (n1 * b1 + n2 * b2))
    w = (a1 - f * b1, a2 - f * b2, (1.0 / I[2]) * p[2])
    V = lever(R, l, w)
    return w, (i_M * (p_x[0] - m * V[0]), i_M * (p_x[1] - m * V[1]))


@inlined
def center_velocity(system, R, w, x):
    """Return the velocity of the rod's center of mass [m/s, world]."""
    V = lever(R, system.center, w)
    return (x[0] + V[0], x[1] + V[1], V[2])


class Load(NamedTuple):
    """An `Input` as tuples: the held cart force and the wrench (F, T) at the rod's point r."""

    force: tuple  # (2,) [N, world]
    F: tuple  # (3,) [N, world]
    T: tuple  # (3,) [N m, world]
    r: tuple  # (3,) [m, body, from the joint]


@inlined
def load(input):
    """Return the numbers of an `Input` that do not change with time."""
    d = input.disturbance
    return Load(
        (input.force[0], input.force[1]),
        (d[0], d[1], d[2]),
        (d[3], d[4], d[5]),
        (d[6], d[7], d[8]),
    )


@inlined
def sines_at(sines, t):
    """Return the sum of the sines at time t (2,) [N]."""
    fx, fy = 0.0, 0.0
    if sines is None:
        return fx, fy
    for i in range(sines.shape[0]):
        s = sines[i, 1] * math.sin(sines[i, 2] * t + sines[i, 3])
        if sines[i, 0] == 0.0:
            fx += s
        else:
            fy += s
    return fx, fy


@inlined
def torque(system, load, R):
    """Return tau about the joint [N m, body] of weight and wrench: -m g c x zeta + R^T T + r x R^T
    F.
    """
    zeta = R[2]
    mgl = system.rod_mass * system.gravity * system.center
    tau = (mgl * zeta[1], -mgl * zeta[0], 0.0)
    if vec.size(load.F) + vec.size(load.T) != 0.0:
        moment = vec.cross(load.r, vec.transposed_matvec(R, load.F))
        tau = vec.add(tau, vec.add(vec.transposed_matvec(R, load.T), moment))
    return tau


@inlined
def cart_force(load, f):
    """Return u(t) on the cart [N, world]: the held force and the sines' f."""
    return (load.force[0] + f[0], load.force[1] + f[1])


@inlined
def horizontal(load, f):
    """Return U [N, world]: the held force, the sines' f and the wrench's horizontal part."""
    return (load.force[0] + load.F[0] + f[0], load.force[1] + load.F[1] + f[1])


@kernel
def quantities(system, q, v):
    """Return (E, Lz, Px, Py, p3) of a state: energy [J] (potential zero at z = 0) and the momenta,
    (1.4) to (1.6).
    """
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    w, x = (v[2], v[3], v[4]), (v[0], v[1])
    p, p_x = momenta(system, R, w, x)
    E = energy(system, R, w, x)
    Lz = vec.dot(R[2], p) + q[0] * p_x[1] - q[1] * p_x[0]
    return E, Lz, p_x[0], p_x[1], p[2]


@inlined
def energy(system, R, w, x):
    """Return E (1.5) [J] of an attitude and velocities, where x' = x."""
    p, p_x = momenta(system, R, w, x)
    return (
        0.5 * (vec.dot(p, w) + p_x[0] * x[0] + p_x[1] * x[1])
        + system.rod_mass * system.gravity * system.center * R[2][2]
    )


@inlined
def joint_force(system, load, before, after, h):
    """Return the mean force of the joint on the rod between two states (Q, w, x'), h apart [N,
    world]: m dV/h + m g e3 - F.
    """
    V0 = center_velocity(system, unit_quaternion.matrix(before[0]), before[1], before[2])
    V1 = center_velocity(system, unit_quaternion.matrix(after[0]), after[1], after[2])
    weight = (0.0, 0.0, system.rod_mass * system.gravity)
    return vec.sub(vec.axpy(system.rod_mass / h, vec.sub(V1, V0), weight), load.F)


@inlined
def axis(R):
    """Return the rod's direction R e3."""
    return (R[0][2], R[1][2], R[2][2])
