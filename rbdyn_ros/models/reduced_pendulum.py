"""The rod on the cart without its attitude: direction k = R e3 on the sphere S^2, cart x, and a spin that is constant.

For I1 = I2 the spin w3 enters (1.7), (1.8) only through its momentum p3 = I3 w3, which is constant without axial
friction. With n = (k_x, k_y), J = I1 + m l^2, beta = (m l)^2 / J, alpha = M + m - beta, eta = p3 / J,

    G   = eta k x k'
    F   = u - b x' - beta g k_z n + (m l d / J) n' + m l |k'|^2 n - m l G_xy
    x'' = (F - beta n (n.F) / (alpha + beta |n|^2)) / alpha                                 Sherman and Morrison
    k'' = -(m l / J) [(x'', g) - k (g k_z + n.x'')] - (d / J) k' - |k'|^2 k + G

Here the joint's friction d acts on the transverse rates alone. No quaternion, no spin: less to roll forward,
and a second road to the equations of `bodies.rod_on_cart`.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import kernel


@kernel
def accelerations(system, p3, u, k, dk, dx):
    """(x'', k'') of the direction k (3,), its rate dk (3,) [1/s], the cart velocity dx (2,) and the force u (2,) [N].

    `p3` [kg m^2/s] is the spin's momentum. The cart is free; k is a unit vector and k.dk = 0.
    """
    m, l, g, d = system.rod_mass, system.center, system.gravity, system.joint_damping
    J = system.inertia[0] + m * l * l
    beta = (m * l) ** 2 / J
    alpha = system.cart_mass + m - beta
    G = vec.scale(p3 / J, vec.cross(k, dk))
    along = m * l * vec.dot(dk, dk) - beta * g * k[2]
    drag = m * l * d / J
    Fx = u[0] - system.cart_damping * dx[0] + along * k[0] + drag * dk[0] - m * l * G[0]
    Fy = u[1] - system.cart_damping * dx[1] + along * k[1] + drag * dk[1] - m * l * G[1]
    n_F = beta * (k[0] * Fx + k[1] * Fy) / (alpha + beta * (k[0] * k[0] + k[1] * k[1]))
    a = ((Fx - k[0] * n_F) / alpha, (Fy - k[1] * n_F) / alpha, g)
    tangential = vec.axpy(-vec.dot(k, a), k, a)
    ddk = vec.axpy(-m * l / J, tangential, vec.axpy(-d / J, dk, vec.axpy(-vec.dot(dk, dk), k, G)))
    return (a[0], a[1]), ddk


@kernel
def force(system, p3, a, k, dk, dx):
    """The force u (2,) [N] that gives the cart the acceleration a (2,) [m/s^2]: x'' above, solved for u. The rest as there."""
    m, l, d = system.rod_mass, system.center, system.joint_damping
    J = system.inertia[0] + m * l * l
    beta = (m * l) ** 2 / J
    alpha = system.cart_mass + m - beta
    G = vec.scale(p3 / J, vec.cross(k, dk))
    along = beta * (k[0] * a[0] + k[1] * a[1] + system.gravity * k[2]) - m * l * vec.dot(dk, dk)
    drag = m * l * d / J
    ux = alpha * a[0] + along * k[0] + system.cart_damping * dx[0] - drag * dk[0] + m * l * G[0]
    uy = alpha * a[1] + along * k[1] + system.cart_damping * dx[1] - drag * dk[1] + m * l * G[1]
    return ux, uy
