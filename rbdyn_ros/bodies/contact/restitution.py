"""Restitution of one contact with friction: a bounded normal impulse (Poisson), and the collision
followed along its impulse (Stronge); doc/nonsmooth.md, M.23 to M.26.

    Poisson    P_N >= p = e P_N,compression,   P_N - p  _|_  u_N,   |P_T| <= mu P_N, against u_T
    Stronge    du/dP_N = W (1, tau),   tau = -mu u_T/|u_T|, or what keeps u_T = 0, |tau| <= mu;
               it ends where the normal force has given back e^2 of the work that it took

With dP_N = |u_T| ds the second is smooth where sliding stops, dP/ds = (|u_T|, -mu u_T), and Runge
and Kutta's steps in s keep u = u_0 + W P. Where u_T keeps its direction u is linear in P_N, and
nothing is integrated.
"""

from math import sqrt

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers.fc3d_one_contact import FLAT, NONE, contact
from rbdyn_ros.types import IMPACT_LAWS

BOUNDED, NEWTON, POISSON, ENERGETIC = range(4)
LAWS = IMPACT_LAWS
ENERGETIC_ALONE = 4  # Stronge's law for one contact at a time, Poisson's where several meet

# of |u_0| + |W P|: a velocity along the tangents that has ended; sine of the angle by which the
# direction of sliding turns where it is straight
STOPPED = 1e-13
JOINTS = 1e-10  # of velocities: the round-off of joints that react
STRIDE = 0.01  # of a step, over (1 + mu) |W|
STRIDES = 400_000
ITERATIONS = 60
SINGULAR = 1e-11  # det W over a power of tr W: W is singular, to the round-off of the joints
# of |W|: impulses that stick and change the velocity by less push on a joint that does not move;
# they give no work back, however large they are
JAMMED = 1e-9


@inlined
def tangential_impulse(W, a, b, most):
    """Return the tangential impulse x with |x| <= most, for which W_TT x + (a, b) is 0 or points
    against x: the root of |(W_TT + s)^-1 (a, b)| = most for s >= 0, from the left. Along the range
    of a W_TT of rank 1, where joints leave no more, (a, b) is divided by its trace.
    """
    w1, w2, w, s = W[1][1], W[2][2], 0.5 * (W[1][2] + W[2][1]), 0.0
    is_line = w1 * w2 - w * w <= SINGULAR * (w1 + w2) ** 2
    i = -1.0 / max(w1 + w2, 1e-300)
    x, y = i * a, i * b
    for _ in range(0 if is_line else ITERATIONS):
        i = 1.0 / ((w1 + s) * (w2 + s) - w * w)
        x, y = -i * ((w2 + s) * a - w * b), -i * ((w1 + s) * b - w * a)
        size = sqrt(x * x + y * y)
        if size <= most * (1.0 + 1e-15) or most == 0.0:
            break
        curved = i * ((w2 + s) * x * x - 2.0 * w * x * y + (w1 + s) * y * y)
        s += size * size / curved * (size - most) / most
    size = sqrt(x * x + y * y)
    scale = most / size if size > most else 1.0
    return scale * x, scale * y


@part
def at_least(W, q, mu, p, guess, least):
    """Return (impulse, whether it is one) of the contact law with P_N >= p, not P_N >= 0; W is
    singular where its determinant is under `least` times its trace cubed.
    """
    x, y = tangential_impulse(W, q[1] + W[1][0] * p, q[2] + W[2][0] * p, mu * p)
    r = (p, x, y)
    if q[0] + vec.dot(W[0], r) >= 0.0:
        return r, True
    found = contact(W, q, mu, guess, least)
    return found.r, found.kind != NONE and found.r[0] >= p * (1.0 - 1e-9)


@inlined
def slope(u, mu):
    """Return dP/ds of sliding."""
    return (sqrt(u[1] * u[1] + u[2] * u[2]), -mu * u[1], -mu * u[2])


@inlined
def stride(W, u, mu, ds):
    """Return (impulse, work of its normal part) of a step of Runge and Kutta."""
    k_1 = slope(u, mu)
    u_2 = vec.axpy(0.5 * ds, vec.matvec(W, k_1), u)
    k_2 = slope(u_2, mu)
    u_3 = vec.axpy(0.5 * ds, vec.matvec(W, k_2), u)
    k_3 = slope(u_3, mu)
    u_4 = vec.axpy(ds, vec.matvec(W, k_3), u)
    k_4 = slope(u_4, mu)
    middle = vec.add(k_2, k_3)
    d = vec.scale(ds / 6.0, vec.add(vec.axpy(2.0, middle, k_1), k_4))
    work = k_1[0] * u[0] + 2.0 * (k_2[0] * u_2[0] + k_3[0] * u_3[0]) + k_4[0] * u_4[0]
    return d, ds / 6.0 * work


@part
def end_stride(W, u, how, ended, ds):
    """Return (impulse, work) of the part of a step until its work is given back, or else u_N
    changes its sign; `how` is mu, e and the work taken and given before.
    """
    mu, e, taken, given = how
    low, high, middle = 0.0, ds, ds
    for _ in range(ITERATIONS):
        middle = 0.5 * (low + high)
        step, work = stride(W, u, mu, middle)
        after = u[0] + vec.dot(W[0], step)
        beyond = given + work >= e * e * taken if ended else u[0] * after < 0.0
        low, high = (low, middle) if beyond else (middle, high)
    return stride(W, u, mu, middle)


@part
def straight(u, du, most, e, taken, given):
    """Return (normal impulse, work taken, work given, whether the collision ends) while u changes
    by du for a unit of the normal impulse, of which there is `most`.

    The work is counted until u_N changes its sign.
    """
    ends = -u[0] / du[0] if u[0] * du[0] < 0.0 else most
    p = min(most, ends)
    work = (u[0] + 0.5 * du[0] * p) * p
    if u[0] < 0.0 or u[0] == 0.0 and du[0] < 0.0:
        return p, taken - work, given, False
    wanted = e * e * taken - given
    under = u[0] * u[0] + 2.0 * du[0] * wanted
    if under >= 0.0:  # of the two roots the one without cancellation
        needed = 2.0 * wanted / (u[0] + sqrt(under)) if wanted > 0.0 else 0.0
        if needed <= p:
            return needed, taken, given + wanted, True
    return p, taken, given + work, False


@part
def collide(W, u_0, mu, e):
    """Return (impulse P, whether one was found) of Stronge's law for a contact that approaches
    with u_0; the velocity after it is u_0 + W P.
    """
    P, u, taken, given = (0.0, 0.0, 0.0), u_0, 0.0, 0.0
    size, trace = vec.size(u_0), vec.trace(W)
    squares = vec.dot(W[0], W[0]) + vec.dot(W[1], W[1]) + vec.dot(W[2], W[2])
    is_line = trace * trace - squares <= SINGULAR * trace * trace
    ended_at = JOINTS if is_line else STOPPED
    ds = STRIDE / ((1.0 + mu) * (vec.size(W[0]) + vec.size(W[1]) + vec.size(W[2])))
    for _ in range(STRIDES if mu > 0.0 else 0):
        s = sqrt(u[1] * u[1] + u[2] * u[2])
        still = ended_at * (size + trace * vec.size(P))
        if s <= still:
            break
        d = (1.0, -mu * u[1] / s, -mu * u[2] / s)
        du = vec.matvec(W, d)
        along = (du[1] * u[1] + du[2] * u[2]) / s
        across = abs(du[1] * u[2] - du[2] * u[1])
        # straight, or along a way so short that the turn changes less than what counts as stopped
        if across <= max(STOPPED * s * vec.size(du), -still * along):
            most = -s / along if along < 0.0 else 1e150
            p, taken, given, ended = straight(u, du, most, e, taken, given)
            P = vec.axpy(p, d, P)
            u = vec.add(u_0, vec.matvec(W, P))
            if p == most:
                u = (u[0], 0.0, 0.0)
            elif not ended:
                u = (0.0, u[1], u[2])
        else:
            step, work = stride(W, u, mu, ds)
            after = u[0] + vec.dot(W[0], step)
            is_taking = u[0] < 0.0 or u[0] == 0.0 and after < 0.0
            crosses = u[0] * after < 0.0
            ended = not is_taking and given + work >= e * e * taken
            if crosses or ended:  # the part of the step until then
                step, work = end_stride(W, u, (mu, e, taken, given), ended, ds)
            taken, given = (taken - work, given) if is_taking else (taken, given + work)
            P = vec.add(P, step)
            u = vec.add(u_0, vec.matvec(W, P))
            if crosses and not ended:
                u = (0.0, u[1], u[2])
        if ended:
            return P, True
    # at rest along the tangents, or without friction: u_N grows linearly from here on
    d = (1.0, 0.0, 0.0)
    if mu > 0.0:
        if sqrt(u[1] * u[1] + u[2] * u[2]) > ended_at * (size + trace * vec.size(P)):
            return P, False
        x, y = tangential_impulse(W, W[1][0], W[2][0], mu)
        d = (1.0, x, y)
        if x * x + y * y >= mu * mu * (1.0 - 1e-12):  # it goes on sliding, in its own direction
            found = contact(W, (-1.0, 0.0, 0.0), mu, (0.0, 0.0, 0.0), FLAT)
            if found.kind == NONE:
                return P, False
            d = vec.scale(1.0 / found.r[0], found.r)
    du = vec.matvec(W, d)
    if vec.size(du) <= JAMMED * (vec.size(W[0]) + vec.size(W[1]) + vec.size(W[2])):
        return P, True
    for _ in range(3):
        p, taken, given, ended = straight(u, du, 1e150, e, taken, given)
        P, u = vec.axpy(p, d, P), vec.axpy(p, du, u)
        if ended:
            return P, P[0] < 1e100
        u = (0.0, u[1], u[2])
    return P, False
