"""A contact that landed in a whole step is put onto its obstacle, so that no later step has to lift it.

An impact is noticed up to a step late, h |u_N^-| deep at most. Where it does not rebound (e_n = 0) the pose is projected along the
contact's normal in the metric of the masses, and so is the velocity, whose normal has turned with the pose:

    (w, x') dt := -M^-1 D_N^T W_NN^-1 g   until g = 0,      (w, x') := (w, x') - M^-1 D_N^T W_NN^-1 u_N            (P.5)

The lift costs m g h |u_N^-| / 2 at most, which the pendulum had gained below the surface and which the impact has just taken, with
much more, out of u_N^-. To lift by the normal force of later steps (the bias of P.2) takes it from the drive, and friction goes along.
"""

from rbdyn_ros.contacts import rod_on_cart as touching
from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators.contact_memory import frame, put, vector
from rbdyn_ros.kernel import inlined, part

_SLIDING = 1.0 - 1e-9  # of mu: what is nearer to the edge of its cone keeps P_T/P_N, so that no friction is invented
_SWEEPS = 6  # Newton doubles the digits of a few hundredths of a radian; several contacts take turns


@inlined
def landed(c, i, impact):
    """Whether contact i met its obstacle in this step and does not rebound."""
    return c.mode[i] == impact and c.law[i, 1] == 0.0 and c.P[i, 0] > 0.0


@inlined
def along_normal(system, R, n, rho):
    """(M^-1 D_N^T W_NN^-1, W_NN): the change of (w, x') that moves the contact point by 1 along n, and what it weighs."""
    dw, dx = touching.kick(system, R, n, rho)
    W = vec.dot(n, touching.point_velocity(R, dw, dx, rho))
    return vec.scale(1.0 / W, dw), (dx[0] / W, dx[1] / W), W


@part
def lifted(system, c, count, impact, t, x, Q, R, w, u):
    """(x, Q, R, w, u) with the gaps of the landed contacts closed at t (P.5); the change of velocity
    joins P, half at each end.
    """
    C = system.contacts
    for k in range(_SWEEPS):
        last = k == _SWEEPS - 1
        for a in range(count):
            i = c.active[a]
            if not landed(c, i, impact):
                continue
            g, n, rho = world.touch(C, i, x, (R[0][2], R[1][2], R[2][2]), t)
            dw, dx, W = along_normal(system, R, n, rho)
            if last:
                v, P = touching.point_velocity(R, w, u, rho), vector(c.P, i)
                s = vec.dot(n, vec.sub(world.velocity(C, i), v))
                along = (1.0, 0.0, 0.0)
                if P[1] * P[1] + P[2] * P[2] >= (_SLIDING * c.law[i, 0] * P[0]) ** 2:
                    ratio = vec.scale(1.0 / P[0], P)
                    add_w, add_x = touching.kick(system, R, vec.transposed_matvec(frame(c, i), ratio), rho)
                    W_s = vec.dot(n, touching.point_velocity(R, add_w, add_x, rho))
                    if W_s > 0.1 * W:
                        along, W = ratio, W_s
                        dw, dx = vec.scale(1.0 / W, add_w), (add_x[0] / W, add_x[1] / W)
                w, u = vec.axpy(s, dw, w), (u[0] + s * dx[0], u[1] + s * dx[1])
                put(c.P, i, vec.axpy(0.5 * s / W, along, P))
            else:
                x = (x[0] - g * dx[0], x[1] - g * dx[1])
                turn = vec.scale(-0.5 * g, dw)
                Q = unit_quaternion.normalized(unit_quaternion.product(Q, (1.0, turn[0], turn[1], turn[2])))
                R = unit_quaternion.matrix(Q)
    return x, Q, R, w, u
