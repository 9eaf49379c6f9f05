"""The derivatives of a step of `quaternion_midpoint` that touches: with closed contacts, or split
at an impact.

Which contacts are closed, stick and slide is that of the step itself; the equations that hold
then are differentiated in dual numbers, with their unknowns y, and the implicit function theorem
eliminates these:

    z_1 = f(z, y),  r(y; z) = 0:   dz_1 = (f_z - f_y r_y^-1 r_z) dz.                          (V.5)

In a part of a step y are the half-step impulses P and those of the projection of the velocities
(doc/nonsmooth.md, P.1, P.2), in an impact its impulse (P.4), and at the instant s of an impact

    g(z_1(z, s)) = 0:   ds = -(g_z dz) / g_s,                                                 (V.6)

by which the part before it becomes longer and the one after it shorter (the saltation of the
discrete flow). Where a contact is about to stick, to slide or to open, the derivatives are those
of the side on which the step is.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import dual_attitude, unit_quaternion, vec
from rbdyn_ros.geometry.dual_attitude import real
from rbdyn_ros.kernel import hot, inlined
from rbdyn_ros.mechanics.integrators import boundary, dual_stages
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum import rod_on_cart_contacts as touching
from rbdyn_ros.mechanics.pendulum_contact.contact_state import ContactState
from rbdyn_ros.mechanics.solvers.fc3d_one_contact import STICK
from rbdyn_ros.numerics.dual import load, store, value
from rbdyn_ros.types import Array, Input, State, System

STUCK, SLIDING, SMOOTH, OPEN = range(4)  # what holds at a contact; SMOOTH: without friction
# The inputs: xi 0 to 9, the force 10 11, the parameters 12 to 23, the length of the part 24, and
# for each contact its half-step impulse and that of the projection, three numbers each.
FORCE, PARAMETERS, LENGTH, UNKNOWN = 10, 12, 24, 25
MOST = 3  # contacts at once, for 32 directions: 12 of the caller, the length, 18 unknowns


_SAME = 1e-9  # of the state: how far these equations may be from the step itself
_LANDED = 1e-9  # [m/s] a smaller velocity after an impact is none


class Closed(NamedTuple):
    """The contacts that are closed, whose normals do not turn."""

    axes: Array  # (k, 3, 3) frames, rows n t1 t2
    height: Array  # (k,) rho, or `world.ON_CART`
    moving: Array  # (k, 3) velocity of the obstacle [m/s, frame]
    gap: Array  # (k,) at the start [m]
    friction: Array  # (k,) mu
    restitution: Array  # (k,) e of an impact
    kind: Array  # (k,)
    impulse: Array  # (k, 3) P of the step itself, where the solution is looked for


@inlined
def _point(x, R, height):
    """The contact point [m, world]."""
    if height == world.ON_CART:
        return x[0], x[1], 0.0 * x[0]
    d = touching.axis(R)
    return x[0] + height * d[0], x[1] + height * d[1], height * d[2]


@inlined
def _row(a, i):
    return a[i, 0], a[i, 1], a[i, 2]


@inlined
def _frame(closed, i):
    T = closed.axes[i]
    return _row(T, 0), _row(T, 1), _row(T, 2)


@inlined
def _read_inputs(system, X, E, s):
    """(system, force (2,), state (x, Q, w, u)) of the inputs X with the derivatives E."""
    m, f = PARAMETERS, system.cart_free
    varied = System(
        load(32, X[m], E, m),
        f,
        load(32, X[m + 1], E, m + 1),
        load(32, X[m + 2], E, m + 2),
        load(32, X[m + 3], E, m + 3),
        (load(32, X[m + 4], E, m + 4), load(32, X[m + 5], E, m + 5), load(32, X[m + 6], E, m + 6)),
        load(32, X[m + 7], E, m + 7),
        load(32, X[m + 8], E, m + 8),
        system.contacts,
    )
    gain = load(32, X[m + 9], E, m + 9)
    force = (gain * load(32, X[10], E, 10), gain * load(32, X[11], E, 11))
    theta = (load(32, 0.0, E, 2), load(32, 0.0, E, 3), load(32, 0.0, E, 4))
    Q = (s[2], s[3], s[4], s[5]), theta
    x, u = (
        (load(32, s[0], E, 0), load(32, s[1], E, 1)),
        (load(32, s[6], E, 5), load(32, s[7], E, 6)),
    )
    w = (load(32, s[8], E, 7), load(32, s[9], E, 8), load(32, s[10], E, 9))
    return varied, force, (x, Q, w, (f * u[0], f * u[1]))


@inlined
def _unknown(X, E, i, second):
    """The impulse of contact i in its frame, the first or the second unknown."""
    j = UNKNOWN + 6 * i + 3 * second
    return load(32, X[j], E, j), load(32, X[j + 1], E, j + 1), load(32, X[j + 2], E, j + 2)


@inlined
def _residual(kind, mu, P, u, lift):
    """What is zero at a contact with the velocity u, which shall be -lift along the normal."""
    if kind == OPEN:
        return P
    if kind == STUCK:
        return u[0] + lift, u[1], u[2]
    if kind == SMOOTH:
        return u[0] + lift, P[1], P[2]
    along = mu * P[0] / (u[1] * u[1] + u[2] * u[2]) ** 0.5
    return u[0] + lift, P[1] + along * u[1], P[2] + along * u[2]


@inlined
def _along(kind, P, z, v):
    """What is zero of the projection's impulse z at a contact whose velocity after it is v."""
    if kind == OPEN:
        return z
    if kind == STUCK:
        return v
    if kind == SMOOTH:
        return v[0], z[1], z[2]
    return v[0], z[1] * P[0] - P[1] * z[0], z[2] * P[0] - P[2] * z[0]


@inlined
def _write(Y, D, first, numbers):
    for k in range(len(numbers)):
        Y[first + k] = value(numbers[k])
        store(D, first + k, 0, numbers[k], 0, 32)


@inlined
def _finish(Y, D, after, system, R, state):
    """Write xi_1 and its derivatives, and the state (11,) after the step."""
    x, (Q, theta), w, u = state
    _write(Y, D, 0, (x[0], x[1], theta[0], theta[1], theta[2], u[0], u[1], w[0], w[1], w[2]))
    q, v, s = after[:6], after[6:], unit_quaternion.renormalize(Q)
    speed = value(u[0]), value(u[1])
    boundary.write(q, v, (value(x[0]), value(x[1])), s, real(w), speed)


@hot
def part(whole, closed, X, E, s, Y, D, after):
    """A part of a step from s (11,) with the closed contacts, at the unknowns of X: writes xi_1
    and the residuals, Y (28,), their derivatives, D (28, 32), and the state after it; returns the
    relative residual of the equations of motion.
    """
    system, options, wrench, forces, length = whole
    bias = system.contacts.bias / length  # [1/s] at which an overlap is given back
    varied, force, state = _read_inputs(system, X, E, s)
    h, more = load(32, X[LENGTH], E, LENGTH), load(32, X[PARAMETERS + 10], E, PARAMETERS + 10)
    x, Q, w, u = state
    R = dual_attitude.matrix(Q)
    zero = 0.0 * h
    f, g, cart = (zero, zero, zero), (zero, zero, zero), (zero, zero)
    for i in range(len(closed.kind)):
        F = vec.transposed_matvec(_frame(closed, i), _unknown(X, E, i, 0))
        if closed.height[i] == world.ON_CART:
            cart = (cart[0] + F[0], cart[1] + F[1])
        else:
            f, g = vec.add(f, F), vec.axpy(closed.height[i], F, g)
    given = rod_on_cart.Load(force, wrench.F, wrench.T, wrench.r)
    state, error = dual_stages.discrete_rod_stage(
        varied, options, options.gamma, given, forces, h, state, (f, g, cart)
    )
    x1, Q1, w1, u1 = state
    R1 = dual_attitude.matrix(Q1)
    for i in range(len(closed.kind)):
        F = vec.transposed_matvec(_frame(closed, i), _unknown(X, E, i, 1))
        w1, u1 = touching.push(varied, R1, w1, u1, F, closed.height[i])
    for i in range(len(closed.kind)):
        T, height, kind = _frame(closed, i), closed.height[i], closed.kind[i]
        P, z, V = _unknown(X, E, i, 0), _unknown(X, E, i, 1), _row(closed.moving, i)
        start, end = _point(x, R, height), _point(x1, R1, height)
        moved = vec.matvec(T, vec.sub(end, start))
        u_i = vec.sub((moved[0] / h, moved[1] / h, moved[2] / h), V)
        lift = zero
        if closed.gap[i] < 0.0:
            apart = vec.dot(T[0], vec.sub(start, real(start)))
            lift = bias * (closed.gap[i] + apart)
        mu = closed.friction[i] + more
        _write(Y, D, 10 + 6 * i, _residual(kind, mu, P, u_i, lift))
        v = vec.sub(vec.matvec(T, touching.point_velocity(R1, w1, u1, height)), V)
        _write(Y, D, 13 + 6 * i, _along(kind, P, z, v))
    _finish(Y, D, after, varied, R1, (x1, Q1, w1, u1))
    return error


@hot
def jump(system, closed, X, E, s, Y, D, after):
    """An impact of one contact at s (11,), at the impulse in X: writes as `part`."""
    varied, _, (x, Q, w, u) = _read_inputs(system, X, E, s)
    R, T, height = dual_attitude.matrix(Q), _frame(closed, 0), closed.height[0]
    P, V, m = _unknown(X, E, 0, 0), _row(closed.moving, 0), PARAMETERS
    before = vec.sub(vec.matvec(T, touching.point_velocity(R, w, u, height)), V)
    w1, u1 = touching.push(varied, R, w, u, vec.transposed_matvec(T, P), height)
    v = vec.sub(vec.matvec(T, touching.point_velocity(R, w1, u1, height)), V)
    mu = closed.friction[0] + load(32, X[m + 10], E, m + 10)
    e = closed.restitution[0]
    if e > 0.0:  # one that lands does not rebound
        e = e + load(32, X[m + 11], E, m + 11)
    _write(Y, D, 10, _residual(closed.kind[0], mu, P, v, e * before[0]))
    _finish(Y, D, after, varied, R, (x, Q, w1, u1))
    return 0.0


class _Step(NamedTuple):
    """What all parts of a step share."""

    system: System
    options: Any
    load: rod_on_cart.Load
    forces: tuple  # of the sines, at the start, unused, at the end
    h: float  # [s]


def step(
    advance: Callable[..., Any],
    system: System,
    options: Any,
    input: Input,
    h: float,
    t: float,
    start: Array,
) -> tuple[Array, Array, Array]:
    """(d xi_1 by xi and the force (10, 12), by the parameters (10, 12), the state after it (11,))
    of a step of h [s] from `start` (11,) at t; `options.contact` goes on.

    ValueError where a step fails, or where none are known: impacts at the end of a whole step,
    more than one impact, one beside closed contacts or that gives back less than e_n, normals
    that turn, more than three contacts.
    """
    c, C = options.contact, system.contacts
    before, q, v = c.copy(), start[:6].copy(), start[6:].copy()
    done, *_ = advance(system, options, input, h, 1, State(t, q, v), np.zeros(3))
    if done < 1:
        raise ValueError(f"the step at t = {t:g} s failed; take a smaller h than {h:g} s")
    impacts = c.events[before.recorded[0] : c.recorded[0]]
    held = [i for i in range(world.count(C)) if before.closed[i] == 1.0]
    f = rod_on_cart.sines_at(input.sines, t), rod_on_cart.sines_at(input.sines, t + h)
    whole = _Step(system, options, rod_on_cart.load(input), (f[0], f[0], f[1]), h)
    _require(len(impacts) == 0 or options.split == 1, t, "needs integrator.split_at_impact")
    _require(len(impacts) < 2 and not (len(impacts) and held), t, "meets more than one contact")
    by_all = []
    for given in (0, PARAMETERS):
        E = np.zeros((UNKNOWN + 6 * MOST, 32))
        if given == 0:
            E[:12, :12] = np.eye(12)
        else:
            E[given : given + 12, :12] = np.eye(12)
        if len(impacts) == 0:
            end, J = _take_part(
                whole, E, _closed_contacts(whole, held, start, t, c), start, h, 1.0
            )
        else:
            end, J = _through(whole, E, impacts[0], start, t)
        by_all.append(J[:, :12])
    is_same = np.abs(end - np.concatenate((q, v))).max() < _SAME * max(1.0, np.abs(end).max())
    _require(is_same, t, "is at a change of what sticks or slides")
    return by_all[0], by_all[1], end


def _require(good: Any, t: float, why: str) -> None:
    if not good:
        raise ValueError(f"no derivatives are known of the step at t = {t:g} s: it {why}")


def _closed_contacts(
    whole: _Step, members: list[int], s: Array, t: float, c: ContactState
) -> Closed:
    """The contacts `members` at s, which behave as they did in the step."""
    C, k, kinds = whole.system.contacts, len(members), []
    x, R = tuple(s[:2]), unit_quaternion.matrix(tuple(s[2:6]))
    found = [world.touch(C, i, x, touching.axis(R), t - c.since[0]) for i in members]
    _require(k <= MOST, t, f"touches {k} things at once, of at most {MOST}")
    _require(not any(world.turns(C, i) for i in members), t, "touches what is curved")
    frames = np.array([vec.frame(n) for _, n, _ in found], float).reshape(k, 3, 3)
    for i in members:
        mu, how = world.law(C, i)[0], STUCK if c.status[i] == STICK else SLIDING
        kinds.append(OPEN if not c.P[i, 0] > 0.0 else how if mu > 0.0 else SMOOTH)
    V = np.array([world.velocity(C, i) for i in members]).reshape(k, 3)
    mu, e = np.array([world.law(C, i) for i in members], float).reshape(k, 2).T.copy()
    return Closed(
        frames,
        np.array([rho for *_, rho in found], float),
        np.einsum("kij,kj->ki", frames, V),
        np.array([g for g, *_ in found], float),
        mu,
        e,
        np.array(kinds, np.int64),
        np.array([c.P[i] for i in members], float).reshape(k, 3),
    )


def _take_part(
    whole: _Step, E: Array, closed: Closed, s: Array, length: float, own: float
) -> tuple[Array, Array]:
    """The state (11,) after a part of the step and its derivatives (10, 13) by the directions of
    E, the last of them by the length where `own` is 1.
    """
    E[LENGTH, 12] = own

    def run(X: Array, Y: Array, D: Array, after: Array) -> None:
        error = part(whole, closed, X, E, s, Y, D, after)
        if not error <= whole.options.tolerance:
            raise ValueError(f"a part of {length:g} s of a step did not converge")

    guess = np.hstack((closed.impulse, np.zeros_like(closed.impulse)))
    return _solve(run, whole, E, guess.size, guess, length)


def _solve(
    run, whole: _Step, E: Array, m: int, guess: Array, length: float
) -> tuple[Array, Array]:
    """Newton's method for the m unknowns, and (V.5)."""
    X, D, after = np.zeros(len(E)), np.zeros((10 + 6 * MOST, 32)), np.zeros(11)
    Y, S = np.zeros(len(D)), whole.system
    X[10:12], X[LENGTH] = whole.load.force, length
    X[12:21] = (S.cart_mass, *S[2:5], *S.inertia, *S[6:8])
    X[21] = 1.0
    E[UNKNOWN : UNKNOWN + m, 13 : 13 + m] = np.eye(m)
    X[UNKNOWN : UNKNOWN + m] = guess.ravel()[:m]
    for _ in range(30):
        run(X, Y, D, after)
        K, r = D[10 : 10 + m, 13 : 13 + m], Y[10 : 10 + m]
        if m == 0:
            break
        change = np.linalg.solve(K, r)
        X[UNKNOWN : UNKNOWN + m] -= change
        if np.abs(change).max() <= 1e-14 * np.abs(X[UNKNOWN : UNKNOWN + m]).max():
            break
    J = D[:10, :13]
    if m:
        J = J - D[:10, 13 : 13 + m] @ np.linalg.solve(K, D[10 : 10 + m, :13])
    E[UNKNOWN:] = 0.0
    return after.copy(), J.copy()


def _through(whole: _Step, E: Array, impact: Array, start: Array, t: float) -> tuple[Array, Array]:
    """The state and the derivatives after a step with one impact: (V.6)."""
    system, c, C = whole.system, whole.options.contact, whole.system.contacts
    i, u0, u1, length = int(impact[1]), impact[5], impact[6], impact[0] - t
    s, J = _take_part(whole, E, _closed_contacts(whole, [], start, t, c), start, length, 1.0)
    x, R = tuple(s[:2]), unit_quaternion.matrix(tuple(s[2:6]))
    _, n, rho = world.touch(C, i, x, touching.axis(R), impact[0] - c.since[0])
    G = np.zeros(10)
    G[:2] = n[:2]
    if rho != world.ON_CART:
        G[2:5] = rho * np.cross((0.0, 0.0, 1.0), np.transpose(R) @ n)
    closing = G @ J[:, 12] - np.dot(n, world.velocity(C, i))
    ds = -(G @ J[:, :12]) / closing
    E[:10, :12], E[LENGTH] = J[:, :12] + np.outer(J[:, 12], ds), 0.0
    mu, e = world.law(C, i)
    lands = abs(u1) < _LANDED
    _require(lands or abs(u1 + e * u0) < 1e-9 * abs(u0), t, "has an impact that loses energy")
    kind = SMOOTH if mu == 0.0 else STUCK if impact[7] == STICK else SLIDING
    one = _closed_contacts(whole, [i], s, impact[0], c)
    one = one._replace(kind=np.array([kind]), restitution=np.array([0.0 if lands else e]))

    def run(X: Array, Y: Array, D: Array, after: Array) -> None:
        jump(system, one, X, E, s, Y, D, after)

    s, J = _solve(run, whole, E, 3, impact[2:5], 0.0)
    E[:10, :12], E[LENGTH, :12] = J[:, :12], -ds
    rest = _closed_contacts(whole, [i] if lands else [], s, impact[0], c)
    return _take_part(whole, E, rest, s, whole.h - length, 0.0)
