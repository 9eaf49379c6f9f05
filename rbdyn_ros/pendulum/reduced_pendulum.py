"""The rod on the cart without its attitude: direction k = R e3 on the sphere S^2, cart x, and a
spin that is constant.

For I1 = I2 the spin w3 enters (1.7), (1.8) only through its momentum p3 = I3 w3, which is constant
without axial friction. With n = (k_x, k_y), J = I1 + m l^2, beta = (m l)^2 / J, alpha = M + m -
beta, eta = p3 / J,

    G   = eta k x k' - (d / J) k'
    F   = u - b x' - beta g k_z n + m l |k'|^2 n - m l G_xy
    x'' = (F - beta n (n.F) / (alpha + beta |n|^2)) / alpha                    Sherman and Morrison
    k'' = -(m l / J) [(x'', g) - k (g k_z + n.x'')] - |k'|^2 k + G

Here the joint's friction d acts on the transverse rates alone. Without quaternion and spin a
prediction costs less, and the equations of `pendulum.rod_on_cart` are derived a second
way.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined


@inlined
def accelerations(system, p3, u, k, dk, dx):
    """Return (x'', k'') of the direction k (3,), its rate dk (3,) [1/s], the cart velocity dx (2,)
    and the force u (2,) [N].

    `p3` [kg m^2/s] is the spin's momentum. The cart is free; k is a unit vector and k.dk = 0.
    """
    m, l, g = system.rod_mass, system.center, system.gravity
    per_J = 1.0 / (system.inertia[0] + m * l * l)  # a division takes as long as ten products
    beta = (m * l) ** 2 * per_J
    alpha = system.cart_mass + m - beta
    per_alpha = 1.0 / alpha
    G = vec.axpy(-system.joint_damping * per_J, dk, vec.scale(p3 * per_J, vec.cross(k, dk)))
    w = vec.dot(dk, dk)
    along = m * l * w - beta * g * k[2]
    Fx = u[0] - system.cart_damping * dx[0] + along * k[0] - m * l * G[0]
    Fy = u[1] - system.cart_damping * dx[1] + along * k[1] - m * l * G[1]
    n_F = beta * (k[0] * Fx + k[1] * Fy) / (alpha + beta * (k[0] * k[0] + k[1] * k[1]))
    a = ((Fx - k[0] * n_F) * per_alpha, (Fy - k[1] * n_F) * per_alpha, g)
    r = m * l * per_J
    return (a[0], a[1]), vec.axpy(-r, a, vec.axpy(r * vec.dot(k, a) - w, k, G))


@inlined
def force(system, p3, a, k, dk, dx):
    """Return the force u (2,) [N] that gives the cart the acceleration a (2,) [m/s^2]: x'' above,
    solved for u. The other arguments are those of `accelerations`.
    """
    m, l = system.rod_mass, system.center
    J = system.inertia[0] + m * l * l
    beta = (m * l) ** 2 / J
    alpha = system.cart_mass + m - beta
    G = vec.axpy(-system.joint_damping / J, dk, vec.scale(p3 / J, vec.cross(k, dk)))
    along = beta * (k[0] * a[0] + k[1] * a[1] + system.gravity * k[2]) - m * l * vec.dot(dk, dk)
    ux = alpha * a[0] + along * k[0] + system.cart_damping * dx[0] + m * l * G[0]
    uy = alpha * a[1] + along * k[1] + system.cart_damping * dx[1] + m * l * G[1]
    return ux, uy
