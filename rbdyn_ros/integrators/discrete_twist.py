"""The discrete Euler-Poincare equation of a rigid body on SE(3) (DREPE), in the logarithm of the
step.

With T_{k+1} = T_k exp(xi), xi = h V, and G = diag(I, m 1) in the frame of the center of mass,
L_d = (h/2) V.G V - (h/2)(E_p(T_k) + E_p(T_{k+1})) with the potential energy E_p has the two
momenta (doc/mathematics.md, section 8)

    Pi-  = dlog_xi^T G V      at k,      Pi+ = dlog_{-xi}^T G V      at k + 1,                (8.2)

dlog being right-trivialized. A wrench F and the left-trivialized differential T*dE_p join them
with h/2 at each end:

    dlog_xi^T G V = Pi_k + (h/2)(F - T*dE_p)(T_k),
    Pi_{k+1} = dlog_{-xi}^T G V + (h/2)(F - T*dE_p)(T_{k+1})                                 (8.3)
"""

from rbdyn_ros.geometry import coefficients, twist, vec
from rbdyn_ros.kernel import inlined, kernel


@inlined
def metric(I, m, V):
    """Return G V = (I w, m v)."""
    return vec.times(I, V[0]), vec.scale(m, V[1])


@inlined
def momentum(I, m, xi, V, D, D1):
    """Return dlog_xi^T G V for xi = (f, g) along V, D and D1 = dD/ds of s = |f|^2: with G V = (a,
    b) its angular part is  a + f x a/2 + D f x (f x a) + g x b/2 + D (f x (g x b) + g x (f x b)) +
    2 D' (f.g) f x (f x b),  the linear one  b + f x b/2 + D f x (f x b).
    """
    (f, g), (a, b) = xi, metric(I, m, V)
    once, fb, twice, ffb = brackets(f, g, a, b)
    angular = vec.axpy(0.5, once, vec.axpy(D, twice, a))
    angular = vec.axpy(2.0 * D1 * vec.dot(f, g), ffb, angular)
    return angular, vec.axpy(0.5, fb, vec.axpy(D, ffb, b))


@inlined
def brackets(f, g, a, b):
    """Return both parts of the bracket of (f, g) with (a, b), then of (f, g) with that."""
    fb, once = vec.cross(f, b), vec.add(vec.cross(f, a), vec.cross(g, b))
    return once, fb, vec.add(vec.cross(f, once), vec.cross(g, fb)), vec.cross(f, fb)


@inlined
def blocks(I, m, h, V, D, D1):
    """Return d(dlog_{hV}^T G V)/dV = dlog^T G + h d(dlog_xi^T y)/dxi at y = G V: the rows of its
    blocks, ((angular by w, by v), (linear by w, by v)); D and D1 = dD/ds are those of s = |h w|^2.

    By f x (f x a) = f (f.a) - a |f|^2 and its like all are outer products and a part
    s 1 + w^.
    """
    (f, g), (a, b) = twist.scale(h, V), metric(I, m, V)
    s, fg = vec.dot(f, f), vec.dot(f, g)
    D2 = coefficients.ddD(s)
    _, _, twice, ffb = brackets(f, g, a, b)
    # dlog^T, whose two diagonal blocks are equal
    N = outer(with_spin(1.0 - D * s, vec.scale(0.5, f)), vec.scale(D, f), f)
    O = with_spin(-2.0 * fg * (D + D1 * s), vec.scale(0.5, g))
    O = outer(outer(O, vec.axpy(2.0 * D1 * fg, f, vec.scale(D, g)), f), vec.scale(D, f), g)
    # d(dlog_xi^T y) by f; the angular part by g is the linear one by f
    p, x = vec.axpy(2.0 * D1 * fg, b, vec.scale(D, a)), vec.scale(2.0 * D1, ffb)
    q, r = vec.scale(D, b), vec.axpy(-2.0 * D, b, x)
    t = vec.axpy(-2.0, p, vec.axpy(2.0 * D1, twice, vec.scale(4.0 * D2 * fg, ffb)))
    A = with_spin(vec.dot(f, p) + vec.dot(g, q), vec.scale(-0.5, a))
    A = outer(outer(outer(outer(A, f, p), t, f), g, q), r, g)
    L = outer(outer(with_spin(vec.dot(f, q), vec.scale(-0.5, b)), f, q), r, f)
    by_w = (
        vec.axpy(h, A[0], vec.times(N[0], I)),
        vec.axpy(h, A[1], vec.times(N[1], I)),
        vec.axpy(h, A[2], vec.times(N[2], I)),
    )
    L, N = scale_rows(h, L), scale_rows(m, N)
    by_v = vec.axpy(m, O[0], L[0]), vec.axpy(m, O[1], L[1]), vec.axpy(m, O[2], L[2])
    return (by_w, by_v), (L, N)


@inlined
def with_spin(s, w):
    """Return s 1 + w^, three rows."""
    return (s, -w[2], w[1]), (w[2], s, -w[0]), (-w[1], w[0], s)


@inlined
def outer(A, u, v):
    """Return A + u v^T."""
    return vec.axpy(u[0], v, A[0]), vec.axpy(u[1], v, A[1]), vec.axpy(u[2], v, A[2])


@inlined
def scale_rows(s, A):
    """Return s A."""
    return vec.scale(s, A[0]), vec.scale(s, A[1]), vec.scale(s, A[2])


@kernel
def momentum_jacobian(I, m, h, V, K):
    """Write `blocks` to K (6, 6)."""
    s = h * h * vec.dot(V[0], V[0])
    (A, B), (C, D) = blocks(I, m, h, V, coefficients.D(s), coefficients.dD(s))
    for i in range(3):
        for j in range(3):
            K[i, j], K[i, 3 + j] = A[i][j], B[i][j]
            K[3 + i, j], K[3 + i, 3 + j] = C[i][j], D[i][j]
