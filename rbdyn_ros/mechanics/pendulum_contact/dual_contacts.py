"""Parts of a step with closed contacts, and impacts, in dual numbers (doc/derivatives.md, V.5).

Each function reads its inputs X with their derivatives E, a row for each input, and writes its
results Y with their derivatives D: first xi_1, then the residuals of the contacts, which are zero
when their impulses are right.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import dual_attitude, unit_quaternion, vec
from rbdyn_ros.geometry.dual_attitude import real
from rbdyn_ros.kernel import hot, inlined, specialize
from rbdyn_ros.mechanics.contact import restitution
from rbdyn_ros.mechanics.integrators import boundary, dual_stages
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import contact_state
from rbdyn_ros.mechanics.pendulum_contact.contact_step import SAME_SIDE
from rbdyn_ros.numerics.dual import load, store, value, variable, with_value
from rbdyn_ros.types import Array, System

WIDTH = 32  # derivatives at once
AT_APEX = 1e-9  # of the normal impulse: what the projection leaves where it takes all
# Kinds of contact. SMOOTH: without friction. On a fixed cart nothing moves along the rod:
# there no impulse acts along it (ROD), or one that brings it to the edge of its cone (EDGE), or as
# far inside as it gets (DEEP).
STUCK, SLIDING, SMOOTH, OPEN, STUCK_ROD, STUCK_EDGE, STUCK_DEEP = range(7)
# The inputs: xi 0 to 9 (whose values are 0), the force 10 11, the parameters 12 to 23, how long
# the part takes, when it starts, the share of the projection or of the restitution, and six
# numbers for each contact: the half-step impulse and that of the projection, or the impulse of an
# impact and what of it is the compression's.
FORCE, PARAMETERS, DURATION, START, SHARE, UNKNOWN = 10, 12, 24, 25, 26, 27


class Members(NamedTuple):
    """The contacts of a part or an impact."""

    contact: Array  # (k,) the candidates
    kind: Array  # (k,)
    rebounds: Array  # (k,) 1 its restitution acts
    # (k,) 1 its normal impulse in an impact is a share of the compression's, for it parts faster;
    # or its cone allows a share of the projection only
    bound: Array
    has_phases: int  # 1 the impulses of the compression come first


class DualOutput(NamedTuple):
    """The arrays that a kernel writes."""

    Y: Array  # xi_1, and the residuals
    D: Array  # (n, 32) its derivatives
    after: Array  # (11,) the state after
    G: Array  # (5, 8) work of `touch`


def list_members(
    rows: Array,
    kinds: list[int],
    rebounds: Array | None = None,
    bound: Array | None = None,
    has_phases: int = 0,
) -> Members:
    """Return the contacts of the rows as kernels read them."""
    none = np.zeros(len(rows))
    return Members(
        rows[:, contact_state.CONTACT].astype(np.int64),
        np.array(kinds, np.int64),
        (none if rebounds is None else rebounds).astype(float),
        (none if bound is None else bound).astype(np.int64),
        has_phases,
    )


@inlined
def read(X, E, i):
    """Return input i."""
    return load(32, X[i], E, i)


@inlined
def three(X, E, i):
    """Return inputs i to i + 2."""
    return read(X, E, i), read(X, E, i + 1), read(X, E, i + 2)


@inlined
def read_inputs(system, X, E, s):
    """Return (system, force (2,), state (x, Q, w, u)) of the inputs at the state s (11,)."""
    m, f = PARAMETERS, system.cart_free
    varied = System(
        read(X, E, m),
        f,
        read(X, E, m + 1),
        read(X, E, m + 2),
        read(X, E, m + 3),
        three(X, E, m + 4),
        read(X, E, m + 7),
        read(X, E, m + 8),
        system.contacts,
    )
    gain = read(X, E, m + 9)
    force = (gain * read(X, E, FORCE), gain * read(X, E, FORCE + 1))
    Q = (s[2], s[3], s[4], s[5]), three(X, E, 2)
    x, u = (
        (load(32, s[0], E, 0), load(32, s[1], E, 1)),
        (load(32, s[6], E, 5), load(32, s[7], E, 6)),
    )
    w = load(32, s[8], E, 7), load(32, s[9], E, 8), load(32, s[10], E, 9)
    return varied, force, (x, Q, w, (f * u[0], f * u[1]))


@inlined
def touch(C, i, x, attitude, t, G):
    """Return what `world.touch` does for candidate i at a pose and a time. Its own derivatives, by
    the pose and the time, go into G (5, 8).
    """
    turn = variable(8, 0.0, 2), variable(8, 0.0, 3), variable(8, 0.0, 4)
    R = dual_attitude.matrix((attitude[0], turn))
    place = variable(8, value(x[0]), 0), variable(8, value(x[1]), 1)
    g, n, rho = world.touch(C, i, place, rod_on_cart.axis(R), variable(8, value(t), 5))
    zero = variable(8, 0.0, 8)
    for_each = (g + zero, n[0] + zero, n[1] + zero, n[2] + zero, rho + zero)
    for k in range(5):
        store(G, k, 0, for_each[k], 0, 8)
    along = x[0], x[1], attitude[1][0], attitude[1][1], attitude[1][2], t
    return (
        _chain(G, 0, along, value(g)),
        (
            _chain(G, 1, along, value(n[0])),
            _chain(G, 2, along, value(n[1])),
            _chain(G, 3, along, value(n[2])),
        ),
        _chain(G, 4, along, value(rho)),
    )


@inlined
def _chain(G, k, along, real_number):
    """Return a number whose derivatives by `along` are row k of G."""
    total = G[k, 0] * along[0] + G[k, 1] * along[1] + G[k, 2] * along[2]
    total = total + G[k, 3] * along[3] + G[k, 4] * along[4] + G[k, 5] * along[5]
    return with_value(total, real_number)


@inlined
def edge_of_cone(mu, P):
    """Return the residual of an impulse at the edge of its cone."""
    return (P[1] * P[1] + P[2] * P[2]) ** 0.5 - mu * P[0]


@inlined
def change_of_edge(mu, P, axis):
    """Return the derivative of `edge_of_cone` along an axis, times |P_T|."""
    return P[1] * axis[1] + P[2] * axis[2] - mu * axis[0] * (P[1] * P[1] + P[2] * P[2]) ** 0.5


@inlined
def law(kind, mu, P, u, axis):
    """Return the residual at a contact of the impulse P, whose velocity shall be u = 0 where it
    sticks; `axis` is the rod.
    """
    if kind == OPEN:
        return P
    if kind == SMOOTH:
        return u[0], P[1], P[2]
    if kind == SLIDING:
        along = mu * P[0] / (u[1] * u[1] + u[2] * u[2]) ** 0.5
        return u[0], P[1] + along * u[1], P[2] + along * u[2]
    if kind == STUCK:
        return u
    a = vec.dot(axis, P)
    if kind == STUCK_EDGE:
        a = edge_of_cone(mu, P)
    elif kind == STUCK_DEEP:
        a = change_of_edge(mu, P, axis)
    return vec.axpy(a - vec.dot(axis, u), axis, u)


@inlined
def along_rows(kind, P, z, v):
    """Return the residual of the projection's impulse z at a contact whose velocity after it is
    v.
    """
    if kind == OPEN:
        return z
    if kind == SMOOTH:
        return v[0], z[1], z[2]
    if kind == SLIDING:
        return v[0], z[1] * P[0] - P[1] * z[0], z[2] * P[0] - P[2] * z[0]
    return v


@inlined
def write(out, first, numbers):
    """Write numbers and their derivatives from a row on."""
    for k in range(len(numbers)):
        out.Y[first + k] = value(numbers[k])
        store(out.D, first + k, 0, numbers[k], 0, 32)


@inlined
def finish(out, state):
    """Write xi_1 and its derivatives, and the state (11,) after the step."""
    x, (Q, theta), w, u = state
    write(out, 0, (x[0], x[1], theta[0], theta[1], theta[2], u[0], u[1], w[0], w[1], w[2]))
    q, v, s = out.after[:6], out.after[6:], unit_quaternion.renormalize(Q)
    speed = value(u[0]), value(u[1])
    boundary.write(q, v, (value(x[0]), value(x[1])), s, real(w), speed)


@hot
def part(whole, members, X, E, s, out):
    """Write xi_1 and the state after a part of a step from s (11,) with closed contacts, at the
    unknowns of X, and the residuals, six a contact and one for the share of the projection. Return
    the relative residual of the equations of motion.
    """
    system, options, wrench, forces, length = whole
    C, bias = system.contacts, system.contacts.bias / length  # [1/s]: an overlap is given back
    varied, force, state = read_inputs(system, X, E, s)
    h, t, more = read(X, E, DURATION), read(X, E, START), read(X, E, PARAMETERS + 10)
    x, Q, w, u = state
    R = dual_attitude.matrix(Q)
    zero = 0.0 * h
    f, g, cart = (zero, zero, zero), (zero, zero, zero), (zero, zero)
    for k in range(len(members.kind)):
        _, n, rho = touch(C, members.contact[k], x, Q, t, out.G)
        F = vec.transposed_matvec(vec.frame(n), three(X, E, UNKNOWN + 6 * k))
        if value(rho) == world.ON_CART:
            cart = (cart[0] + F[0], cart[1] + F[1])
        else:
            f, g = vec.add(f, F), vec.axpy(rho, F, g)
    given = rod_on_cart.Load(force, wrench.F, wrench.T, wrench.r)
    (x1, Q1, w1, u1), error = dual_stages.discrete_rod_stage(
        varied, options, options.gamma, given, forces, h, state, (f, g, cart)
    )
    R1 = dual_attitude.matrix(Q1)
    dw, du = (zero, zero, zero), (zero, zero)
    for k in range(len(members.kind)):
        P, z = three(X, E, UNKNOWN + 6 * k), three(X, E, UNKNOWN + 6 * k + 3)
        T, T1, rho, rho1, _, _ = both_ends(C, members.contact[k], (x, Q), (x1, Q1), t, h, out.G)
        F = vec.transposed_matvec(T, P)
        w1, u1 = rod_on_cart.push(varied, R1, w1, u1, vec.scale(-1.0, F), rho)
        w1, u1 = rod_on_cart.push(varied, R1, w1, u1, vec.transposed_matvec(T1, P), rho1)
        dw, du = rod_on_cart.push(varied, R1, dw, du, vec.transposed_matvec(T1, z), rho1)
    share, edge = read(X, E, SHARE), zero
    w_all, u_all = vec.add(w1, dw), (u1[0] + du[0], u1[1] + du[1])
    for k in range(len(members.kind)):
        i, kind = members.contact[k], members.kind[k]
        P, z = three(X, E, UNKNOWN + 6 * k), three(X, E, UNKNOWN + 6 * k + 3)
        T, T1, rho, rho1, g0, g1 = both_ends(C, i, (x, Q), (x1, Q1), t, h, out.G)
        V, turns = world.velocity(C, i), world.has_turning_normal(C, i)
        height = 0.5 * (rho + rho1) if value(rho) != world.ON_CART else zero
        D_i = vec.axpy(
            height, vec.sub(rod_on_cart.axis(R1), rod_on_cart.axis(R)), (zero, zero, zero)
        )
        D_i = (D_i[0] + x1[0] - x[0], D_i[1] + x1[1] - x[1], D_i[2])
        u_i = vec.matvec(T, vec.sub((D_i[0] / h, D_i[1] / h, D_i[2] / h), V))
        u_N = (g1 - g0) / h if turns else u_i[0]
        lift = bias * g0 if value(g0) < 0.0 else zero
        mu, axis = world.law(C, i)[0] + more, vec.matvec(T, rod_on_cart.axis(R))
        write(out, 10 + 6 * k, law(kind, mu, P, (u_N + lift, u_i[1], u_i[2]), axis))
        v = vec.matvec(T1, vec.sub(rod_on_cart.point_velocity(R1, w_all, u_all, rho1), V))
        write(out, 13 + 6 * k, along_rows(kind, P, z, v))
        if members.bound[k] == 1:
            half = vec.axpy(share * (1.0 if turns else 0.5), z, P)
            at_apex = kind != STUCK or value(half[0]) <= AT_APEX * value(P[0])
            edge = half[0] if at_apex else edge_of_cone(mu, half)
    write(out, 10 + 6 * len(members.kind), (edge,))
    u1 = (u1[0] + share * du[0], u1[1] + share * du[1])
    finish(out, (x1, Q1, vec.axpy(share, dw, w1), u1))
    return error


@inlined
def both_ends(C, i, start, end, t, h, G):
    """Return (frame, frame at the end, height, height at the end, gap, gap at the end) of contact
    i: the frame stays unless the normal turns, and not beyond the side on which it was.
    """
    g0, n0, rho0 = touch(C, i, start[0], start[1], t, G)
    g1, n1, rho1 = touch(C, i, end[0], end[1], t + h, G)
    T = vec.frame(n0)
    stays = not world.has_turning_normal(C, i) or value(vec.dot(n0, n1)) <= SAME_SIDE
    n_end, rho_end = (n0, rho0) if stays else (n1, rho1)
    return T, vec.turn_frame(T, n_end), rho0, rho_end, g0, g1


@hot
def jump(system, members, X, E, s, out, V):
    """Write xi_1 and the state after an impact at s (11,), at the impulses in X, and the
    residuals, three a contact, and then the energy that it gives. V (k, 6) are the velocities of
    the contacts before and after it.
    """
    varied, _, (x, Q, w, u) = read_inputs(system, X, E, s)
    C, R, m, count = system.contacts, dual_attitude.matrix(Q), PARAMETERS, len(members.kind)
    t, share = read(X, E, START), read(X, E, SHARE)
    w1, u1 = w, u
    for k in range(count):
        _, n, rho = touch(C, members.contact[k], x, Q, t, out.G)
        F = vec.transposed_matvec(vec.frame(n), three(X, E, UNKNOWN + 6 * k))
        w1, u1 = rod_on_cart.push(varied, R, w1, u1, F, rho)
    energy = 0.0 * t
    for k in range(count):
        i, kind = members.contact[k], members.kind[k]
        _, n, rho = touch(C, i, x, Q, t, out.G)
        T, W = vec.frame(n), world.velocity(C, i)
        P, kept = three(X, E, UNKNOWN + 6 * k), three(X, E, UNKNOWN + 6 * k + 3)
        before = vec.matvec(T, vec.sub(rod_on_cart.point_velocity(R, w, u, rho), W))
        after_it = vec.matvec(T, vec.sub(rod_on_cart.point_velocity(R, w1, u1, rho), W))
        V[k, 0], V[k, 1], V[k, 2] = real(before)
        V[k, 3], V[k, 4], V[k, 5] = real(after_it)
        mu, e = world.law(C, i)
        mu = mu + read(X, E, m + 10)
        e = members.rebounds[k] * share * (e + read(X, E, m + 11))
        part_of_it, axis = vec.sub(P, kept), vec.matvec(T, rod_on_cart.axis(R))
        back = 0.0 * e if members.has_phases else e * before[0]
        zero = law(kind, mu, part_of_it, (after_it[0] + back, after_it[1], after_it[2]), axis)
        if members.bound[k] == 1:
            zero = (part_of_it[0] - e * kept[0], zero[1], zero[2])
        write(out, 10 + 3 * k, zero)
        energy = energy + 0.5 * vec.dot(P, vec.add(before, after_it))
    write(out, 10 + 3 * count, (energy,))
    finish(out, (x, Q, w1, u1))
    return 0.0


@hot
def close(system, i, X, E, s, out):
    """Write the gap of contact i at s (11,), Y[0], and its derivatives."""
    _, _, (x, Q, _, _) = read_inputs(system, X, E, s)
    write(out, 0, (touch(system.contacts, i, x, Q, read(X, E, START), out.G)[0],))
    return 0.0


# A change of the direction of sliding matters also where it does not turn; strides alone get
# less near to where it stops.
collide = specialize(
    getattr(restitution.collide, "py_func", restitution.collide),
    "dual",
    STRAIGHT=-1.0,
    STOPPED=1e-11,
    STRIDE=0.04,
)


@hot
def collision(system, i, share, X, E, s, out):
    """Write the impulse of contact i by Stronge's law in an impact at s (11,), Y[:3], with a share
    of the restitution, and its derivatives. Return whether there is one.
    """
    varied, _, (x, Q, w, u) = read_inputs(system, X, E, s)
    C, R, m = system.contacts, dual_attitude.matrix(Q), PARAMETERS
    _, n, rho = touch(C, i, x, Q, read(X, E, START), out.G)
    T, zero = vec.frame(n), 0.0 * u[0]
    a = rod_on_cart.impulse_response(varied, R, T[0], rho)
    b = rod_on_cart.impulse_response(varied, R, T[1], rho)
    c = rod_on_cart.impulse_response(varied, R, T[2], rho)
    columns = (
        vec.matvec(T, rod_on_cart.point_velocity(R, a[0], a[1], rho)),
        vec.matvec(T, rod_on_cart.point_velocity(R, b[0], b[1], rho)),
        vec.matvec(T, rod_on_cart.point_velocity(R, c[0], c[1], rho)),
    )
    W = vec.transpose(columns)
    before = vec.matvec(T, vec.sub(rod_on_cart.point_velocity(R, w, u, rho), world.velocity(C, i)))
    mu, e = world.law(C, i)
    mu = mu + read(X, E, m + 10) if mu > 0.0 else zero
    P, found = collide(W, before, mu, share * (e + read(X, E, m + 11)))
    write(out, 0, vec.add(P, (zero, zero, zero)))
    return found
