"""The discrete Euler-Poincare equation of a rigid body on SE(3) (DREPE), in the logarithm of the
step.

With T_{k+1} = T_k exp(xi), xi = h V, and G = diag(I, m 1) in the frame of the center of mass,
L_d = (h/2) V.G V - (h/2)(P(T_k) + P(T_{k+1})) has the two momenta (doc/mathematics.md, section 8)

    mu-  = dlog_xi^T G V      at k,      mu+ = dlog_{-xi}^T G V      at k + 1,                (8.2)

dlog being right-trivialized. A wrench F and the left-trivialized differential T*dP join them with
h/2 at each end:

    dlog_xi^T G V = mu_k + (h/2)(F - T*dP)(T_k),
    mu_{k+1} = dlog_{-xi}^T G V + (h/2)(F - T*dP)(T_{k+1})                                    (8.3)
"""

from rbdyn_ros.geometry import coefficients, twist, vec
from rbdyn_ros.kernel import inlined, kernel


@inlined
def metric(I, m, V):
    """G V = (I w, m v)."""
    return vec.times(I, V[0]), vec.scale(m, V[1])


@inlined
def sum(F, K):
    """F + K, for twists and for wrenches."""
    return vec.add(F[0], K[0]), vec.add(F[1], K[1])


@inlined
def scale(s, F):
    """s F."""
    return vec.scale(s, F[0]), vec.scale(s, F[1])


@kernel
def momentum_slope(xi, y, z):
    """d(dlog_xi^T y) along the change z of xi, for y = (a, b), xi = (f, g):

    the angular part of dlog_xi^T y is  a + f x a/2 + D f x (f x a) + g x b/2
    + D (f x (g x b) + g x (f x b)) + 2 D' (f.g) f x (f x b),  the linear one
    b + f x b/2 + D f x (f x b),  D a function of s = |f|^2.
    """
    (f, g), (a, b), (df, dg) = xi, y, z
    s = vec.dot(f, f)
    D, D1, D2 = coefficients.D(s), coefficients.dD(s), coefficients.ddD(s)
    ds, fg = 2.0 * vec.dot(f, df), vec.dot(f, g)
    dfg = vec.dot(df, g) + vec.dot(f, dg)
    fa, fb, gb = vec.cross(f, a), vec.cross(f, b), vec.cross(g, b)
    ffb = vec.cross(f, fb)
    mixed = vec.add(vec.cross(f, gb), vec.cross(g, fb))
    d_ffa, d_ffb = double(f, a, df), double(f, b, df)
    d_mixed = vec.add(
        vec.add(vec.cross(df, gb), vec.cross(f, vec.cross(dg, b))),
        vec.add(vec.cross(dg, fb), vec.cross(g, vec.cross(df, b))),
    )
    angular = vec.scale(0.5, vec.add(vec.cross(df, a), vec.cross(dg, b)))
    angular = vec.axpy(D, vec.add(d_ffa, d_mixed), angular)
    angular = vec.axpy(D1 * ds, vec.add(vec.cross(f, fa), mixed), angular)
    angular = vec.axpy(
        2.0 * (D2 * ds * fg + D1 * dfg), ffb, vec.axpy(2.0 * D1 * fg, d_ffb, angular)
    )
    linear = vec.axpy(D, d_ffb, vec.axpy(D1 * ds, ffb, vec.scale(0.5, vec.cross(df, b))))
    return angular, linear


@inlined
def double(f, a, df):
    """The change of f x (f x a)."""
    return vec.add(vec.cross(df, vec.cross(f, a)), vec.cross(f, vec.cross(df, a)))


@kernel
def momentum_jacobian(I, m, h, V, K):
    """K (6, 6) := d(dlog_{hV}^T G V)/dV = dlog^T G + h d(dlog_xi^T y)/dxi at y = G V."""
    xi, y = scale(h, V), metric(I, m, V)
    for j in range(6):
        z = basis(j)
        c = sum(twist.dlog_transposed(xi, metric(I, m, z)), scale(h, momentum_slope(xi, y, z)))
        K[0, j], K[1, j], K[2, j] = c[0]
        K[3, j], K[4, j], K[5, j] = c[1]


@inlined
def basis(j):
    """The j-th unit twist."""
    return (
        (1.0 * (j == 0), 1.0 * (j == 1), 1.0 * (j == 2)),
        (1.0 * (j == 3), 1.0 * (j == 4), 1.0 * (j == 5)),
    )
