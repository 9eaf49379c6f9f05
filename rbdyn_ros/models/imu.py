"""What an accelerometer on the rod feels: the specific force, +g upwards at rest."""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel


@kernel
def specific_force(system, R, w, reaction, disturbance, position):
    """R^T (a_p - g) at the point p = (0, 0, position) [m/s^2, body].

    With the joint's force N (mean of the last step) and a wrench (F, T) at r, Newton and Euler give

        m (a_c - g) = N + F,    I w' = R^T T + (r - c) x R^T F - c x R^T N - d w - w x I w,
        a_p - g = a_c - g + R (w' x (p - c) + w x (w x (p - c)))

    R: three rows, w (3,) [rad/s, body], reaction (3,) [N, world], disturbance (9,) as in `types.Input`.
    """
    F, T = (disturbance[0], disturbance[1], disturbance[2]), (disturbance[3], disturbance[4], disturbance[5])
    c = (0.0, 0.0, system.center)
    N_b = vec.transposed_matvec(R, (reaction[0], reaction[1], reaction[2]))
    F_b = vec.transposed_matvec(R, F)
    r_c = vec.sub((disturbance[6], disturbance[7], disturbance[8]), c)
    moment = vec.sub(vec.add(vec.transposed_matvec(R, T), vec.cross(r_c, F_b)), vec.cross(c, N_b))
    inertia = vec.times(system.inertia, w)
    torque = vec.sub(vec.axpy(-system.joint_damping, w, moment), vec.cross(w, inertia))
    dw = (torque[0] / system.inertia[0], torque[1] / system.inertia[1], torque[2] / system.inertia[2])
    p_c = vec.sub((0.0, 0.0, position), c)
    turning = vec.add(vec.cross(dw, p_c), vec.cross(w, vec.cross(w, p_c)))
    return vec.axpy(1.0 / system.rod_mass, vec.add(N_b, F_b), turning)
