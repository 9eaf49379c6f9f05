"""A rigid body in quaternion coordinates x = (r, q): kinetic energy with a parameter gamma,
points, forces, gradients.

Everything is a product of quaternions. For 4-vectors q, p (of any norm) and a 3-vector e

    L(q) p = Im(q* p),    L^T(q) e = q (0, e),    L L^T = |q|^2 1,   L^T L = |q|^2 1 - q q^T  (Q.1)
    Omega = 2 L(q) q',    q' = L^T(q) Omega / 2   (|q| = 1)                                   (Q.2)
    R(q) c = q c q*,      R^T(q) f = q* f q                                                   (Q.3)

A gradient is a function of the change `d` of q that it is multiplied with: linear in d, column i
is d = e_i. Derivations: doc/nonsmooth.md, section "Rigid body in quaternion coordinates". Tuples;
q and its rate v are wxyz.
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.geometry.unit_quaternion import conjugate, dot, product, scale
from rbdyn_ros.kernel import inlined


@inlined
def imaginary(q):
    """Return Im q, the vector part."""
    return q[1], q[2], q[3]


@inlined
def pure(c):
    """Return the pure quaternion (0, c)."""
    return 0.0, c[0], c[1], c[2]


@inlined
def add(p, q):
    """Return p + q for 4-vectors."""
    return p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]


@inlined
def L(q, p):
    """Return L(q) p = Im(q* p) (Q.1); twice that of p = dq/dt is the angular velocity [body]."""
    return imaginary(product(conjugate(q), p))


@inlined
def LT(q, e):
    """Return L^T(q) e = q (0, e) (Q.1). Its gradient E(e) d is LT(d, e)."""
    return product(q, pure(e))


@inlined
def modified_inertia(J, gamma):
    """Return J_gamma = J - gamma 1 as a diagonal [kg m^2]."""
    return J[0] - gamma, J[1] - gamma, J[2] - gamma


@inlined
def momentum(J, gamma, q, v):
    """Return p = M v = 4 L^T(q) J_gamma L(q) v + 4 gamma v (Q.5), the rotational part, for v =
    dq/dt.
    """
    return add(
        scale(4.0, LT(q, vec.times(modified_inertia(J, gamma), L(q, v)))), scale(4.0 * gamma, v)
    )


@inlined
def velocity(J, gamma, q, p):
    """Return M^-1 p = (L^T(q) J^-1 L(q) p + q (q . p) / gamma) / 4 for |q| = 1 (Q.6)."""
    turned = LT(q, vec.times((1.0 / J[0], 1.0 / J[1], 1.0 / J[2]), L(q, p)))
    return scale(0.25, add(turned, scale(dot(q, p) / gamma, q)))


@inlined
def momentum_gradient(J, gamma, q, v, d):
    """Return d(M v)/dq d = 4 L^T(d) J_gamma L(q) v + 4 L^T(q) J_gamma L(d) v (Q.7); for d = v it
    is dM/dt v.
    """
    Jg = modified_inertia(J, gamma)
    return scale(4.0, add(LT(d, vec.times(Jg, L(q, v))), LT(q, vec.times(Jg, L(d, v)))))


@inlined
def velocity_gradient(J, gamma, q, p, d):
    """Return d(M^-1 p)/dq d = -M^-1 d(M v)/dq d at v = M^-1 p, for |q| = 1 (Q.26): the derivative
    of the inverse.
    """
    return scale(
        -1.0, velocity(J, gamma, q, momentum_gradient(J, gamma, q, velocity(J, gamma, q, p), d))
    )


@inlined
def kinetic_energy(m, J, gamma, r_rate, q, v):
    """Return T = m |r'|^2 / 2 + v . M v / 2 [J] (Q.4), on which gamma has no effect where q . v =
    0 and |q| = 1.
    """
    return 0.5 * m * vec.dot(r_rate, r_rate) + 0.5 * dot(v, momentum(J, gamma, q, v))


@inlined
def energy_gradient(J, gamma, q, v):
    """Return dT/dq = 4 L^T(v) J_gamma L(v) q (Q.8)."""
    return scale(4.0, LT(v, vec.times(modified_inertia(J, gamma), L(v, q))))


@inlined
def energy_gradient_rate(J, gamma, q, v, d, dv):
    """Return the change of dT/dq by d of q and dv of v: 4 L^T(v) J_g L(v) d + 4 L^T(dv) J_g L(v) q
    + 4 L^T(v) J_g L(dv) q.
    """
    Jg = modified_inertia(J, gamma)
    by_q = LT(v, vec.times(Jg, vec.add(L(v, d), L(dv, q))))
    return scale(4.0, add(by_q, LT(dv, vec.times(Jg, L(v, q)))))


@inlined
def quadratic_term(J, gamma, q, v):
    """Return dM/dt v - dT/dq = 8 L^T(v) J_gamma L(q) v (Q.9), the Coriolis and centrifugal
    terms.
    """
    return scale(8.0, LT(v, vec.times(modified_inertia(J, gamma), L(q, v))))


@inlined
def acceleration(J, gamma, q, v, torque):
    """Return (q'', lambda) of the differential-algebraic form for |q| = 1, q . v = 0 and a torque
    [N m, body] (Q.27):

    M q'' + 8 L^T(q') J_gamma L(q) q' = 2 L^T(q) torque - q lambda,     q . q'' + q' . q' = 0.
    """
    free = velocity(
        J, gamma, q, add(scale(2.0, LT(q, torque)), scale(-1.0, quadratic_term(J, gamma, q, v)))
    )
    excess = dot(q, free) + dot(v, v)  # M^-1 q = q / (4 gamma)
    return add(free, scale(-excess, q)), 4.0 * gamma * excess


@inlined
def rotate(q, c):
    """Return R(q) c = Im(q c q*) (Q.3): a quadratic form in q, a rotation for |q| = 1."""
    return imaginary(product(product(q, pure(c)), conjugate(q)))


@inlined
def rotate_gradient(q, c, d):
    """Return d(R c)/dq d = 2 Im(d c q*), exact for every q (Q.10); -2 R c^ L d + 2 R c (q . d)
    where |q| = 1.
    """
    return vec.scale(2.0, imaginary(product(product(d, pure(c)), conjugate(q))))


@inlined
def inverse_rotate(q, f):
    """Return R^T(q) f = Im(q* f q) (Q.3)."""
    return imaginary(product(product(conjugate(q), pure(f)), q))


@inlined
def inverse_rotate_gradient(q, f, d):
    """Return d(R^T f)/dq d = 2 Im(q* f d)."""
    return vec.scale(2.0, imaginary(product(product(conjugate(q), pure(f)), d)))


@inlined
def lever(q, c, f):
    """Return (d(R c)/dq)^T f = -2 f q c (Q.11), the generalized force on q of a force f at c; it
    is exact and bilinear, its gradient is lever(d, c, f).
    """
    return scale(-2.0, product(product(pure(f), q), pure(c)))


@inlined
def point_velocity(q, c, r_rate, v):
    """Return C(x; c) x' = r' - 2 R c^ L(q) v, the velocity of the body's point c [m/s, world]
    (Q.12).
    """
    return vec.add(r_rate, rotate(q, vec.cross(vec.scale(2.0, L(q, v)), c)))


@inlined
def point_velocity_gradient(q, c, v, d):
    """Return d(C x')/dq d = dR/dq [2 L(q) v x c] d + 2 R (L(d) v x c)."""
    by_rotation = rotate_gradient(q, vec.cross(vec.scale(2.0, L(q, v)), c), d)
    return vec.add(by_rotation, rotate(q, vec.cross(vec.scale(2.0, L(d, v)), c)))


@inlined
def point_force(q, c, f):
    """Return the rotational part of C^T f = (f, 2 L^T(q) (c x R^T f)) for a force f [world] at the
    body's point c (Q.12).
    """
    return LT(q, vec.scale(2.0, vec.cross(c, inverse_rotate(q, f))))


@inlined
def point_force_gradient(q, c, f, d):
    """Return K(q; c, f) d, the rotational part of d(C^T f)/dq d (Q.13): 2 L^T(d)(c x R^T f) + 2
    L^T(q)(c x dR^T f).
    """
    by_lever = LT(d, vec.scale(2.0, vec.cross(c, inverse_rotate(q, f))))
    return add(by_lever, LT(q, vec.scale(2.0, vec.cross(c, inverse_rotate_gradient(q, f, d)))))
