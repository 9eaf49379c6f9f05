"""One contact with friction, exactly, for any 3x3 W: take-off, sticking, or sliding along a root
of a quartic.

    take-off   q_N >= 0:                        r = 0                                        (S.15)
    sticking   r = -W^-1 q  in  K_mu,           u = 0                                        (S.16)
    sliding   r = r_N (1, mu c, mu s),   u_N = 0,  u_T = -slip (c, s),  r_N > 0, slip >= 0   (S.17)

With u_N = 0: r_N = -q_N / d, d = W_00 + mu (W_01 c + W_02 s). That u_T is parallel to (c, s) then
reads

    f(c, s) = A c^2 + B s^2 + C c s + D s + E c = 0,      c^2 + s^2 = 1,                     (S.18)

a quartic in tan(theta/2), whose roots only start a Newton on f itself. It is the quartic of the
Siconos developer's notes, chapter 13, without their diagonalization, which needs a symmetric W. A
strong coupling of normal and tangent admits up to three solutions: take-off is preferred, then
sticking.

The roots in closed form are good starts for Newton's method, which refines them.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel, part
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers.solution import Options
from rbdyn_ros.types import Vector

DEFAULTS = Options(tolerance=1e-10, max_iterations=1)

TAKE_OFF, STICK, SLIDE, NONE = range(4)

_ROOT_HALF = 0.5**0.5
_EXACT = 1e-13  # of |q|: no better root is looked for
_GOOD = 1e-9  # of |q|: still a solution, where W is nearly singular
FLAT = 1e-14  # det W over (trace W)^3: W is singular, to the round-off of its entries
_SHIFT = 1e-9  # of trace W, added to a singular W
_WITHIN = 1.0 - 1e-9  # of mu: a line that is steeper ends inside the cone


class ContactImpulse(NamedTuple):
    """The impulse of one contact and what holds at it."""

    r: Vector  # [N s] normal, tangents
    kind: int  # TAKE_OFF, STICK, SLIDE, or NONE: no solution found, r is the nearest


def check(problem: fc3d.Problem) -> None:
    """Raise ValueError for more or fewer contacts than one."""
    if len(problem.mu) != 1:
        raise ValueError(
            f"fc3d_one_contact solves one contact, not {len(problem.mu)}; take fc3d_hybrid"
        )


@inlined
def is_inside(r, mu):
    """Return whether r is in K_mu."""
    return r[0] >= 0.0 and r[1] * r[1] + r[2] * r[2] <= mu * mu * r[0] * r[0]


@inlined
def is_regular(W, least):
    """Return whether W can be inverted: its determinant is above `least` times its trace cubed."""
    trace = vec.trace(W)
    return abs(vec.dot(W[0], vec.cross(W[1], W[2]))) > least * trace * trace * trace


@inlined
def largest_cross(a, b, c):
    """Return the unit vector along the largest of a x b, b x c, c x a; zero where all are."""
    n, best = vec.cross(a, b), vec.cross(b, c)
    best = best if vec.dot(best, best) > vec.dot(n, n) else n
    n = vec.cross(c, a)
    best = best if vec.dot(best, best) > vec.dot(n, n) else n
    length = vec.norm(best)
    return vec.scale(1.0 / length, best) if length > 0.0 else best


@part
def into_cone(r, n, mu):
    """Return (r + s n, whether K_mu holds it): s = 0 if that does, else the one whose tangential
    part is smallest, or the first that does.
    """
    if is_inside(r, mu):
        return r, True
    T = fc3d.tangential(n)
    if T <= mu * abs(n[0]) * _WITHIN:  # the line ends inside the cone
        s = (vec.size(r) + 1e-300) * (1.0 if n[0] > 0.0 else -1.0) * 1e-3
        for _ in range(60):
            if is_inside(vec.axpy(s, n, r), mu):
                return vec.axpy(s, n, r), True
            s *= 2.0
        return r, False
    a, b = (r[1] * n[1] + r[2] * n[2]) / T, abs(r[1] * n[2] - r[2] * n[1]) / T
    m = mu * n[0] / T
    r = vec.axpy((b * m / (1.0 - m * m) ** 0.5 - a) / T, n, r)
    return r, is_inside(r, mu)


@part
def nearest_to_normal(W, q):
    """Return r with W r + q = 0, as near as W allows, and nearest to the frictionless r: W is
    shifted by eps and the shift iterated away (proximal point), r := r - (W + eps)^-1 (W r + q).
    """
    a, b, c = W
    eps = _SHIFT * vec.trace(W)
    shifted = ((a[0] + eps, a[1], a[2]), (b[0], b[1] + eps, b[2]), (c[0], c[1], c[2] + eps))
    r = (-q[0] / a[0], 0.0, 0.0)
    for _ in range(30):
        u = vec.add(vec.matvec(W, r), q)
        if vec.size(u) <= _EXACT * vec.size(q):
            break
        r = vec.sub(r, vec.solve(shifted, u))
    return r


@part
def wedging_impulse(W, q, mu):
    """Return (r, whether K_mu holds it) where W is singular, with u = 0 except for the part of q
    that no impulse changes.

    Joints leave the contact point a plane or a line to move in, the range of W: the other rows are
    left out. Along n, W n = 0, joint and contact press each other, which moves nothing (P.6); a W
    of rank 1 is left with the frictionless r.
    """
    a, b, c = W
    (x, y, z), trace = vec.transpose(W), vec.trace(W)
    if max(vec.size(vec.cross(x, y)), vec.size(vec.cross(x, z))) <= _SHIFT * trace * trace:
        r = (-x[0] * vec.dot(x, q) / (vec.dot(x, x) * a[0]), 0.0, 0.0)
        return r, is_inside(r, mu)
    l = largest_cross(x, y, z)
    r = nearest_to_normal(W, vec.axpy(-vec.dot(l, q), l, q))
    return into_cone(r, largest_cross(a, b, c), mu)


@part
def sticking_impulse(W, q, mu, least):
    """Return r with W r + q = 0, refined once; where W is singular, its determinant under `least`,
    the one nearest to the normal, outside K_mu if there is none.
    """
    r = vec.scale(-1.0, vec.solve(W, q))
    if is_regular(W, least):
        return vec.sub(r, vec.solve(W, vec.add(vec.matvec(W, r), q))) if is_inside(r, mu) else r
    r = nearest_to_normal(W, q)
    if vec.size(vec.add(vec.matvec(W, r), q)) <= _EXACT * vec.size(q):
        return r
    return (-1.0, 0.0, 0.0)


@inlined
def direction_equation(W, q, mu):
    """Return (A, B, C, D, E) of (S.18): f = d (u_2 c - u_1 s)."""
    return (
        mu * (W[0][1] * q[2] - q[0] * W[2][1]),
        mu * (q[0] * W[1][2] - W[0][2] * q[1]),
        mu * (q[0] * (W[1][1] - W[2][2]) + W[0][2] * q[2] - W[0][1] * q[1]),
        q[0] * W[1][0] - W[0][0] * q[1],
        W[0][0] * q[2] - q[0] * W[2][0],
    )


@inlined
def turn_angle(f):
    """Measure the angle of f from k eighth turns, so that the quartic's leading A - E is not
    small, and return (f, k).
    """
    A, B, C, D, E = f
    large = 0.2 * (abs(A) + abs(B) + abs(C) + abs(D) + abs(E))
    k = 0
    while abs(A - E) < large and k < 7:
        A, B, C = 0.5 * (A + B + C), 0.5 * (A + B - C), B - A
        D, E = _ROOT_HALF * (D - E), _ROOT_HALF * (D + E)
        k += 1
    return (A, B, C, D, E), k


@inlined
def refine(f, direction):
    """Find the unit (c, s) near `direction` where f vanishes, by Newton's method in the angle."""
    A, B, C, D, E = f
    c, s = direction
    for _ in range(8):
        size = 1.0 / (c * c + s * s) ** 0.5
        c, s = size * c, size * s
        value = (A * c + C * s + E) * c + (B * s + D) * s
        slope = 2.0 * (B - A) * c * s + C * (c * c - s * s) + D * c - E * s
        turn = value / slope
        if not abs(turn) > 1e-16:
            break
        turn = min(max(turn, -0.5), 0.5)
        c, s = c + s * turn, s - c * turn
        if abs(turn) < 1e-8:
            break
    return c, s


@inlined
def slide_along(W, q, mu, direction):
    """Return (r, violation) of sliding with the friction force along the unit (c, s)."""
    c, s = direction
    d = W[0][0] + mu * (W[0][1] * c + W[0][2] * s)
    normal = -q[0] / d
    r = (normal, mu * normal * c, mu * normal * s)
    if not d > 0.0:
        return r, np.inf
    u1, u2 = vec.dot(W[1], r) + q[1], vec.dot(W[2], r) + q[2]
    return r, max(abs(u2 * c - u1 * s), u1 * c + u2 * s)


@part
def sliding_impulse(W, q, mu, guess):
    """Return (r, violation): the sliding impulse (S.17) and by how much [m/s] it misses the
    conditions, inf if there is none.
    """
    best, least = (0.0, 0.0, 0.0), np.inf
    enough = _EXACT * vec.size(q)
    f = direction_equation(W, q, mu)
    if guess[1] != 0.0 or guess[2] != 0.0:
        best, least = slide_along(W, q, mu, refine(f, (guess[1], guess[2])))
    if least <= enough:
        return best, least
    f, eighth_turns = turn_angle(f)
    A, B, C, D, E = f
    roots = real_parts(A - E, 2.0 * (D - C), 4.0 * B - 2.0 * A, 2.0 * (C + D), A + E)
    for t in (roots[0], roots[1], roots[2], roots[3], np.inf):
        c, s = (1.0 - t * t, 2.0 * t) if abs(t) <= 1.0 else (1.0 / (t * t) - 1.0, 2.0 / t)
        c, s = refine(f, (c, s))
        for _ in range(eighth_turns):
            c, s = _ROOT_HALF * (c - s), _ROOT_HALF * (c + s)
        r, violation = slide_along(W, q, mu, (c, s))
        if violation < least:
            best, least = r, violation
        if least <= enough:
            break
    return best, least


@part
def contact(W, q, mu, guess, least):
    """Return the Contact of W (three rows), q (3,), mu: no allocation, for use inside a step.

    W counts as singular where its determinant is under `least` times its trace cubed. `guess` is
    a former impulse or (0, 0, 0): its tangential direction starts the search for the sliding
    direction.
    """
    if q[0] >= 0.0:
        return ContactImpulse((0.0, 0.0, 0.0), TAKE_OFF)
    r = sticking_impulse(W, q, mu, least)
    if is_inside(r, mu):
        return ContactImpulse(r, STICK)
    r, violation = sliding_impulse(W, q, mu, guess)
    return ContactImpulse(r, SLIDE if violation <= _GOOD * vec.size(q) else NONE)


@inlined
def update(W, u, mu, r, least):
    """Return the Contact whose velocity is u at the impulse r: that of q = u - W r, from r.

    A contact that goes on sticking is found as r - W^-1 u, exact to the round-off of the change.
    """
    if u[0] - vec.dot(W[0], r) >= 0.0:
        return ContactImpulse((0.0, 0.0, 0.0), TAKE_OFF)
    if is_regular(W, least):
        stuck = vec.sub(r, vec.solve(W, u))
        if is_inside(stuck, mu):
            return ContactImpulse(stuck, STICK)
    return contact(W, vec.sub(u, vec.matvec(W, r)), mu, r, least)


@kernel
def solve(problem, guess, options):
    """Return the Solution of a problem with one contact; `guess` (3,) gives the direction where it
    slides.
    """
    found = contact(
        fc3d.block(problem.W, 0), fc3d.part(problem.q, 0), problem.mu[0], fc3d.part(guess, 0), FLAT
    )
    return fc3d.finish(problem, np.array(found.r), 1, options.tolerance)


_ROUND_OFF = 4.5e-16


@part
def largest_cubic_root(b, c, d):
    """Return the largest real root of x^3 + b x^2 + c x + d, by Cardano or, for three real roots,
    by Viete's cosine.

    Two roots that are equal up to round-off count as real: they may be the largest.
    """
    p, q = (c - b * b / 3.0) / 3.0, (b * (2.0 * b * b / 9.0 - c) / 3.0 + d) / 2.0
    discriminant = q * q + p * p * p
    # p and q are small differences of large numbers near a multiple root
    canceled = abs(q) * (abs(b) * (b * b + abs(c)) + abs(d)) + p * p * (b * b + abs(c))
    if p >= 0.0 or discriminant > 1e-14 * q * q + _ROUND_OFF * canceled:
        u = (abs(q) + discriminant**0.5) ** (1.0 / 3.0)
        x = (p / u - u if q > 0.0 else u - p / u) if u > 0.0 else 0.0
    else:
        root = (-p) ** 0.5
        x = 2.0 * root * math.cos(math.acos(max(-1.0, min(1.0, q / (p * root)))) / 3.0)
    return x - b / 3.0


@part
def _pair(s, m):
    """Return the real parts of the roots of y^2 + s y + m."""
    root = max(0.25 * s * s - m, 0.0) ** 0.5
    return -0.5 * s + root, -0.5 * s - root


@part
def real_parts(a4, a3, a2, a1, a0):
    """Return the real parts of the four roots of a4 x^4 + a3 x^3 + a2 x^2 + a1 x + a0; inf or nan
    where a4 = 0.

    With x = y - b/4 the monic quartic is y^4 + P y^2 + Q y + R = (y^2 + s y + m_1) (y^2 - s y +
    m_2), where s^2 = 2 m and m >= 0 is the largest root of the resolvent m^3 + P m^2 + (P^2/4 - R)
    m - Q^2/8. m_1 and m_2 are P/2 + m less and plus a split, split^2 = (P/2 + m)^2 - R. Multiple
    roots keep half the digits or fewer. Source: Ferrari, in Cardano, Ars magna (1545), chapter 39.
    """
    b, c, d, e = a3 / a4, a2 / a4, a1 / a4, a0 / a4
    P = c - 0.375 * b * b
    Q = d - 0.5 * b * c + 0.125 * b * b * b
    R = e - 0.25 * b * d + 0.0625 * b * b * c - 0.01171875 * b * b * b * b
    m = max(largest_cubic_root(P, 0.25 * P * P - R, -0.125 * Q * Q), 0.0)
    s, split = (2.0 * m) ** 0.5, max((0.5 * P + m) ** 2 - R, 0.0) ** 0.5
    # the larger of s^2 and the split has more digits, and Q = 2 s split gives the other
    if s * s >= split:
        split = 0.5 * Q / s if s > 0.0 else 0.0
    else:
        s = 0.5 * Q / split
    x1, x2 = _pair(s, 0.5 * P + m - split)
    x3, x4 = _pair(-s, 0.5 * P + m + split)
    return (x1 - 0.25 * b, x2 - 0.25 * b, x3 - 0.25 * b, x4 - 0.25 * b)
