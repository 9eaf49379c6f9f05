"""The rod on the cart: momenta and velocities, energy, forces. Derived in doc/mathematics.md, section 1.

With c = (0, 0, l) from the joint to the centre of mass, J_p = I + m l^2 diag(1, 1, 0) and k = R^T e3,

    p = J_p w + m c x R^T x'             angular momentum about the joint [body]            (1.3)
    P = (M + m) x' + m [R (w x c)]_xy    horizontal momentum [world]                        (1.4)
    E = (p.w + P.x') / 2 + m g l k_3     energy, potential zero at z = 0                    (1.5)
    Lz = (R p)_z + (x x P)_z,  p3 = I_3 w_3                                                 (1.6)

and p' + w x p + m (w x c) x R^T x' = tau - d w,  P' = U - b x'  with the generalised forces tau, U.
"""

import math

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import kernel


@kernel
def momenta(system, R, w, x):
    """(p, P) of the angular velocity w [body] and the cart velocity x (2,); R is the rotation's rows."""
    m, l, I = system.rod_mass, system.center, system.inertia
    x_b = vec.axpy(x[0], R[0], vec.scale(x[1], R[1]))
    u_b = (w[1] * l, -w[0] * l, 0.0)
    p = (
        (I[0] + m * l * l) * w[0] - m * l * x_b[1],
        (I[1] + m * l * l) * w[1] + m * l * x_b[0],
        I[2] * w[2],
    )
    M = system.cart_mass + m
    return p, (M * x[0] + m * vec.dot(R[0], u_b), M * x[1] + m * vec.dot(R[1], u_b))


@kernel
def velocities(system, R, p, P):
    """(w, x') of the momenta (p, P): solves (1.3), (1.4), also for a massless or a fixed cart.

    Eliminating x' leaves A w = p - mu c x R^T (P, 0) with mu = m / (M + m) and
    A = I + (1 - mu) m l^2 diag(1, 1, 0) + mu m l^2 n n^T,  n = e3 x k,  inverted by Sherman and Morrison.
    """
    m, l, I, k = system.rod_mass, system.center, system.inertia, R[2]
    free = system.cart_free
    M = system.cart_mass + m
    mu = free * m / M
    P_b = vec.axpy(P[0], R[0], vec.scale(P[1], R[1]))
    r1, r2 = p[0] + mu * l * P_b[1], p[1] - mu * l * P_b[0]
    D1, D2 = I[0] + (1.0 - mu) * m * l * l, I[1] + (1.0 - mu) * m * l * l
    n1, n2, s = -k[1], k[0], mu * m * l * l
    a1, a2, b1, b2 = r1 / D1, r2 / D2, n1 / D1, n2 / D2
    f = s * (n1 * a1 + n2 * a2) / (1.0 + s * (n1 * b1 + n2 * b2))
    w = (a1 - f * b1, a2 - f * b2, p[2] / I[2])
    u_b = (w[1] * l, -w[0] * l, 0.0)
    x = (
        free * (P[0] - m * vec.dot(R[0], u_b)) / M,
        free * (P[1] - m * vec.dot(R[1], u_b)) / M,
    )
    return w, x


@kernel
def center_velocity(system, R, w, x):
    """Velocity of the rod's centre of mass [m/s, world]."""
    l = system.center
    u = vec.matvec(R, (w[1] * l, -w[0] * l, 0.0))
    return (x[0] + u[0], x[1] + u[1], u[2])


@kernel
def force(input, t):
    """u(t) on the cart [N, world]: the held force plus the sines."""
    ux, uy = input.force[0], input.force[1]
    for i in range(input.sines.shape[0]):
        s = input.sines[i, 1] * math.sin(input.sines[i, 2] * t + input.sines[i, 3])
        if input.sines[i, 0] == 0.0:
            ux += s
        else:
            uy += s
    return ux, uy


@kernel
def generalized_forces(system, input, R, t):
    """(tau, U): torque about the joint [body] and horizontal force [world] of weight, cart force and disturbance.

    tau = -m g c x k + R^T T + r x R^T F for a wrench (F, T) at the rod's point r;  U = u(t) + F_xy.
    """
    k = R[2]
    mgl = system.rod_mass * system.gravity * system.center
    F = (input.disturbance[0], input.disturbance[1], input.disturbance[2])
    T = (input.disturbance[3], input.disturbance[4], input.disturbance[5])
    r = (input.disturbance[6], input.disturbance[7], input.disturbance[8])
    ux, uy = force(input, t)
    tau = (mgl * k[1], -mgl * k[0], 0.0)
    if vec.size(F) + vec.size(T) != 0.0:
        F_b = vec.transposed_matvec(R, F)
        tau = vec.add(tau, vec.add(vec.transposed_matvec(R, T), vec.cross(r, F_b)))
    return tau, (ux + F[0], uy + F[1])


@kernel
def quantities(system, q, v):
    """(E, Lz, Px, Py, p3) of a state: energy [J] (potential zero at z = 0) and the momenta, (1.4) to (1.6)."""
    R = unit_quaternion.matrix((q[2], q[3], q[4], q[5]))
    w, x = (v[2], v[3], v[4]), (v[0], v[1])
    p, P = momenta(system, R, w, x)
    V = system.rod_mass * system.gravity * system.center * R[2][2]
    E = 0.5 * (vec.dot(p, w) + P[0] * x[0] + P[1] * x[1]) + V
    Lz = vec.dot(R[2], p) + q[0] * P[1] - q[1] * P[0]
    return E, Lz, P[0], P[1], p[2]


@kernel
def joint_force(system, input, Q0, w0, x0, Q1, w1, x1, h):
    """Mean force of the joint on the rod between two states, h apart [N, world]: m dV/h + m g e3 - F."""
    V0 = center_velocity(system, unit_quaternion.matrix(Q0), w0, x0)
    V1 = center_velocity(system, unit_quaternion.matrix(Q1), w1, x1)
    F = (input.disturbance[0], input.disturbance[1], input.disturbance[2])
    weight = (0.0, 0.0, system.rod_mass * system.gravity)
    return vec.sub(vec.axpy(system.rod_mass / h, vec.sub(V1, V0), weight), F)
