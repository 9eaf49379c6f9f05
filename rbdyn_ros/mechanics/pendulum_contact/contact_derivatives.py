"""The derivatives of a step of `quaternion_midpoint` that touches: with closed contacts, or split
at impacts.

The step itself writes into its journal what closed, stuck, slid and jumped; the equations that
held then are differentiated in dual numbers, with their unknowns y, and the implicit function
theorem eliminates these:

    z_1 = f(z, y),  r(y; z) = 0:   dz_1 = (f_z - f_y r_y^-1 r_z) dz.                          (V.5)

In a part of a step y are the half-step impulses P and those of the projection of the velocities
(doc/nonsmooth.md, P.1, P.2), in an impact its impulses (P.4), by the law that gave them, and at
the instant s of an impact

    g(z_1(z, s), s) = 0:   ds = -(g_z dz) / g_s,                                              (V.6)

by which the part before it becomes longer and the one after it shorter (the saltation of the
discrete flow). Where a contact is about to stick, to slide or to open, the derivatives are those
of the side on which the step is.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.mechanics.contact import restitution
from rbdyn_ros.mechanics.pendulum import rod_on_cart, world
from rbdyn_ros.mechanics.pendulum_contact import contact_law, contact_state, dual_contacts
from rbdyn_ros.mechanics.pendulum_contact.contact_state import (
    CONTACT,
    DURATION,
    IMPULSE,
    KEPT,
    KIND,
    PIECE,
    REBOUND,
    STATUS,
    WAS_CLOSED,
)
from rbdyn_ros.mechanics.pendulum_contact.dual_contacts import (
    OPEN,
    SHARE,
    SLIDING,
    SMOOTH,
    START,
    STUCK,
    STUCK_DEEP,
    STUCK_EDGE,
    STUCK_ROD,
    UNKNOWN,
    WIDTH,
    DualOutput,
    Members,
    list_members,
)
from rbdyn_ros.mechanics.solvers import fc3d, fc3d_one_contact
from rbdyn_ros.types import Array, Input, State, System

COLUMNS = 24  # what is differentiated by: xi, the force, the parameters
_SAME = 1e-9  # of the state: how far these equations may be from the step itself
_STILL = 1e-9  # of the velocities of an impact: what has stopped
_NOTHING = 1e-12  # of the impulses of an impact: one that is none
_RANK = 1e-11  # of the largest singular value: a direction along which nothing is determined
ROUNDS = 30  # of Newton's method
_CONTRADICTS = 1e-7  # of the right side: what dependent equations may leave of it


_UNKNOWN = "no derivatives are known of the step at t = {:g} s: it {}"
_CHANGES = "is at a change of what sticks, slides or touches"
_NOT_ONE = "is held by more contacts than it has motions, whose impulses are not unique"


class _Step(NamedTuple):
    """The quantities that all parts of a step share."""

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
    """Return (d xi_1 by xi and the force (10, 12), by the parameters (10, 12), the state after it
    (11,)) of a step of h [s] from `start` (11,) at t; `options.contact` goes on.

    Raise ValueError where a step fails, or where none are known: impacts at the end of a whole
    step, and steps at a change of what sticks, slides or touches.
    """
    c, q, v = options.contact, start[:6].copy(), start[6:].copy()
    done, *_ = advance(system, options, input, h, 1, State(t, q, v), np.zeros(3))
    if done < 1:
        raise ValueError(f"the step at t = {t:g} s failed; take a smaller h than {h:g} s")
    rows = c.journal[: c.noted[0]]
    _require(c.noted[0] <= len(c.journal), t, f"has {c.noted[1]} parts and impacts")
    is_mended = (rows[:, KIND] == contact_state.MENDED).any()
    _require(not is_mended, t, "meets something at its end; it needs integrator.split_at_impact")
    f = rod_on_cart.sines_at(input.sines, t), rod_on_cart.sines_at(input.sines, t + h)
    whole = _Step(system, options, rod_on_cart.load(input), (f[0], f[0], f[1]), h)
    pieces = [rows[rows[:, PIECE] == k] for k in range(int(c.noted[1]))]
    end, J = _Pieces(whole, start, t - c.since[0], t).follow(pieces)
    is_same = np.abs(end - np.concatenate((q, v))).max() < _SAME * max(1.0, np.abs(end).max())
    _require(is_same, t, _CHANGES)
    return J[:, :12], J[:, 12:], np.concatenate((q, v))


def _require(good: Any, t: float, why: str) -> None:
    if not good:
        raise ValueError(_UNKNOWN.format(t, why))


class _Pieces:
    """The parts and impacts of a step, one after the other, and the derivatives so far."""

    def __init__(self, whole: _Step, start: Array, now: float, t: float):
        self.whole, self.state, self.t = whole, start.copy(), t
        self.now = now  # [s] since the obstacles were at their places
        self.J = np.eye(10, COLUMNS)
        self.later = np.zeros(COLUMNS)  # the derivatives of the instant
        self.by_duration = np.zeros(10)  # d xi by the end of the last part
        self.rank: Any = 0  # of the equations that were solved last
        self.work = np.zeros((5, 8))

    def follow(self, pieces: list[Array]) -> tuple[Array, Array]:
        """Return (the state after the step (11,), its derivatives (10, 24))."""
        if not pieces:
            empty = np.zeros((1, contact_state.NOTED))
            empty[0, CONTACT], empty[0, DURATION] = -1.0, self.whole.h
            pieces = [empty]
        for k, rows in enumerate(pieces):
            if rows[0, KIND] == contact_state.PART:
                is_last = k + 1 == len(pieces)
                self.take_part(rows[rows[:, CONTACT] >= 0.0], rows[0, DURATION], is_last)
                if not is_last:
                    self.end_at_impact(pieces[k + 1])
            else:
                self.jump(rows)
        return self.state, self.J

    def take_part(self, rows: Array, duration: float, is_last: bool) -> None:
        """Advance by a part with the contacts of the rows; the last part ends with the step."""
        kinds = [self.kind_in_part(row) for row in rows]
        P = rows[:, IMPULSE : IMPULSE + 3]
        X, E = self.inputs(np.hstack((P, np.zeros_like(P))))
        X[dual_contacts.DURATION] = duration
        E[dual_contacts.DURATION, COLUMNS] = 1.0
        if is_last:
            E[dual_contacts.DURATION, :COLUMNS] = -self.later
        n = len(rows)

        def run(members: Members) -> Callable[..., None]:
            def kernel(X: Array, E: Array, out: DualOutput) -> None:
                error = dual_contacts.part(self.whole, members, X, E, self.state, out)
                if not error <= self.whole.options.tolerance:
                    raise ValueError(f"a part of {duration:g} s of a step did not converge")

            return kernel

        unknown, before = np.arange(UNKNOWN, UNKNOWN + 6 * n), (self.state, self.J)
        self.solve(run(list_members(rows, kinds)), X, E, 11 + 6 * n, unknown)
        z = X[UNKNOWN:].reshape(n, 2, 3)[:, 1]
        shares = [self.share_of_projection(*each) for each in zip(rows, kinds, z)]
        if min(shares, default=1.0) < 1.0:  # a cone ends before the velocities are projected
            self.state, self.J = before
            bound = np.arange(n) == np.argmin(shares)
            X[SHARE] = min(shares)
            members = list_members(rows, kinds, bound=bound)
            self.solve(run(members), X, E, 11 + 6 * n, np.append(unknown, SHARE))
        self.now += duration

    def share_of_projection(self, row: Array, kind: int, z: Array) -> float:
        """Return how much of the impulse z of the projection the cone of a contact allows."""
        C, i, P = self.whole.system.contacts, int(row[CONTACT]), row[IMPULSE : IMPULSE + 3]
        if kind == OPEN:
            return 1.0
        if kind == SLIDING or kind == SMOOTH:  # along P, without round-off
            z = z[0] / P[0] * P
        half = tuple(map(float, (1.0 if world.has_turning_normal(C, i) else 0.5) * z))
        return float(fc3d.reach(contact_law.ROUND * world.law(C, i)[0], tuple(P.tolist()), half))

    def end_at_impact(self, rows: Array) -> None:
        """End the part where the first of the contacts that were open is met (V.6)."""
        system, gaps = self.whole.system, []
        for row in rows[rows[:, WAS_CLOSED] == 0.0]:
            X, E = self.inputs()
            E[:10, COLUMNS], E[START, COLUMNS] = self.by_duration, 1.0

            def run(X, E, out, i=int(row[CONTACT])) -> None:
                dual_contacts.close(system, i, X, E, self.state, out)

            Y, D = self.evaluate(run, X, E, 1)
            gaps.append((abs(Y[0]), D[0, :COLUMNS], D[0, COLUMNS]))
        _require(gaps, self.t, "ends a part without an impact")
        _, by_state, rate = min(gaps, key=lambda gap: (gap[0] > 1e-9, gap[2]))
        _require(rate < 0.0, self.t, "only grazes what it meets")
        ds = -by_state / rate
        self.J = self.J + np.outer(self.by_duration, ds)
        self.later = self.later + ds

    def jump(self, rows: Array) -> None:
        """Apply the impact of the contacts of the rows, by the law that gave their impulses."""
        rebounds, P = rows[:, REBOUND] < 0.0, rows[:, IMPULSE : IMPULSE + 3]
        kept, law = rows[:, KEPT : KEPT + 3], self.whole.system.contacts.impact_law
        has_phases = law == restitution.POISSON or law == restitution.ENERGETIC
        is_own = law == restitution.ENERGETIC and not kept.any()
        by_law = self.collide(rows, float(rebounds.any())) if is_own else None
        if by_law is not None:
            self.exchange(rows, P, np.zeros_like(P), rebounds, 0, by_law)
        elif rebounds.any() and has_phases:
            before = self.state, self.J
            by_law = self.exchange(rows, kept, np.zeros_like(P), np.zeros_like(rebounds), 0)
            _require(self.rank == by_law.shape[0], self.t, _NOT_ONE)
            self.state, self.J = before
            self.exchange(rows, P, kept, rebounds, 1, by_law)
        else:
            self.exchange(rows, P, np.zeros_like(P), rebounds, 0)

    def collide(self, rows: Array, share: float) -> Array | None:
        """Return the derivatives (3 k, 24) of the impulses by Stronge's law with a share (0 or 1)
        of the restitution; None if they are not by it, without restitution.
        """
        system, found = self.whole.system, np.zeros((3 * len(rows), COLUMNS))
        for k, row in enumerate(rows):
            if row[IMPULSE] > 0.0:

                def run(X, E, out, i=int(row[CONTACT])) -> None:
                    is_found = dual_contacts.collision(system, i, share, X, E, self.state, out)
                    _require(is_found, self.t, "has a collision that is not followed to its end")

                P, D = self.evaluate(run, *self.inputs(), 3)
                if not np.abs(P - row[IMPULSE : IMPULSE + 3]).max() <= 1e-6 * np.abs(P).max():
                    _require(share == 0.0, self.t, _CHANGES)
                    return None
                found[3 * k : 3 * k + 3] = D[:, :COLUMNS]
        return found

    def exchange(
        self,
        rows: Array,
        P: Array,
        kept: Array,
        rebounds: Array,
        has_phases: int,
        by_law: Array | None = None,
    ) -> Array:
        """Apply an impact of the impulses P (k, 3), of which `kept` are the compression's, and
        return their derivatives (3 k, 24). Those in `by_law` are of P where there are no phases,
        else of `kept`.
        """
        n, system = len(rows), self.whole.system
        X, E = self.inputs(np.hstack((P, kept)))
        V, size = np.zeros((n, 6)), 10 + 3 * n + 1

        def run(members: Members) -> Callable[..., None]:
            return lambda X, E, out: dual_contacts.jump(system, members, X, E, self.state, out, V)

        own = np.arange(n)[:, None] * 6 + UNKNOWN + np.arange(3)
        if by_law is not None:
            E[(own + 3 * has_phases).ravel(), :COLUMNS] = by_law
        members = list_members(rows, [STUCK] * n, rebounds, has_phases=has_phases)
        if by_law is not None and not has_phases:  # nothing is unknown
            self.solve(run(members), X, E, size, np.zeros(0, int))
            return by_law
        self.evaluate(run(members), X, E, size)
        unknown = list(own.ravel())
        scale = max(np.abs(V).max(), 1e-300)
        e = np.array([world.law(system.contacts, int(row[CONTACT]))[1] for row in rows])
        least = _NOTHING * np.abs(P).max(), _STILL * scale
        bound = rebounds & (V[:, 3] > least[1]) if has_phases else np.zeros_like(rebounds)
        kinds = [
            self.kind_in_impact(row, P[k] - kept[k], V[k], least, not rebounds[k])
            for k, row in enumerate(rows)
        ]
        members = list_members(rows, kinds, rebounds, bound, has_phases)
        share = 1.0
        for k in np.flatnonzero(rebounds & (P[:, 0] > 0.0)):
            if has_phases and bound[k]:
                share = (P[k, 0] - kept[k, 0]) / (e[k] * kept[k, 0])
            elif not has_phases and kinds[k] != OPEN:
                share = -V[k, 3] / (e[k] * V[k, 0])
        if abs(share - 1.0) > _STILL:
            X[SHARE] = share
            unknown.append(np.int64(SHARE))
        return self.solve(run(members), X, E, size, np.array(unknown))[: 3 * n]

    def kind_in_part(self, row: Array) -> int:
        """Return the kind of a contact in a part of the step."""
        if not row[IMPULSE] > 0.0:
            return OPEN
        i = int(row[CONTACT])
        if world.law(self.whole.system.contacts, i)[0] == 0.0:
            return SMOOTH
        if row[STATUS] != fc3d_one_contact.STICK:
            return SLIDING
        return self.sticking_kind(row, row[IMPULSE : IMPULSE + 3])

    def kind_in_impact(
        self, row: Array, P: Array, V: Array, least: tuple[float, float], is_held: bool
    ) -> int:
        """Return the kind of a contact in an impact with the velocities V, before and after;
        `least` are an impulse and a velocity that are none.
        """
        if not P[0] > least[0]:
            return OPEN
        if world.law(self.whole.system.contacts, int(row[CONTACT]))[0] == 0.0:
            return SMOOTH
        if np.hypot(V[4], V[5]) > least[1]:
            return SLIDING
        return self.sticking_kind(row, P) if is_held else STUCK

    def sticking_kind(self, row: Array, P: Array) -> int:
        """Return how a contact sticks: on a fixed cart the impulse along the rod is chosen."""
        i, C = int(row[CONTACT]), self.whole.system.contacts
        Q, x = tuple(self.state[2:6].tolist()), tuple(self.state[:2].tolist())
        R = np.array(unit_quaternion.matrix(Q))
        _, n, rho = world.touch(C, i, x, tuple(R[:, 2].tolist()), self.now)
        if self.whole.system.cart_free != 0.0 or rho == world.ON_CART:
            return STUCK
        axis, mu = np.array(vec.frame(n)) @ R[:, 2], world.law(C, i)[0]
        least = _STILL * np.abs(P).max()
        for kind, rest in (
            (STUCK_ROD, axis @ P),
            (STUCK_EDGE, np.hypot(P[1], P[2]) - mu * P[0]),
            (STUCK_DEEP, P[1:] @ axis[1:] - mu * axis[0] * np.hypot(P[1], P[2])),
        ):
            if abs(rest) <= least:
                return kind
        raise ValueError(_UNKNOWN.format(self.t, _NOT_ONE))

    def inputs(self, impulses: Array | None = None) -> tuple[Array, Array]:
        """Return X and E with impulses (k, 6); the last column of E is for the duration."""
        values = np.zeros(0) if impulses is None else impulses.ravel()
        X, E = np.zeros(UNKNOWN + values.size), np.zeros((UNKNOWN + values.size, COLUMNS + 1))
        S = self.whole.system
        X[10:12] = self.whole.load.force
        X[12:21] = (S.cart_mass, *S[2:5], *S.inertia, *S[6:8])
        X[21] = X[SHARE] = 1.0
        X[START] = self.now
        X[UNKNOWN:] = values
        E[:10, :COLUMNS] = self.J
        E[np.arange(10, COLUMNS), np.arange(10, COLUMNS)] = 1.0
        E[START, :COLUMNS] = self.later
        return X, E

    def evaluate(
        self, run: Callable[..., Any], X: Array, E: Array, rows: int
    ) -> tuple[Array, Array]:
        """Return (Y, D) of a kernel, `WIDTH` columns of E at once; the state after it goes to
        `after`.
        """
        Y, D = np.zeros(rows), np.zeros((rows, E.shape[1]))
        self.after = np.zeros(11)
        for first in range(0, E.shape[1], WIDTH):
            chosen = np.zeros((len(E), WIDTH))
            columns = E[:, first : first + WIDTH]
            chosen[:, : columns.shape[1]] = columns
            found = np.zeros((rows, WIDTH))
            run(X, chosen, DualOutput(Y, found, self.after, self.work))
            D[:, first : first + WIDTH] = found[:, : columns.shape[1]]
        return Y, D

    def solve(
        self, run: Callable[..., Any], X: Array, E: Array, rows: int, unknown: Array
    ) -> Array:
        """Solve for the unknown inputs by Newton's method, as many as Y has residuals behind xi_1,
        and advance the state and its derivatives (V.5). Return the derivatives of the unknowns (m,
        24).
        """
        m, first = len(unknown), COLUMNS + 1
        E = np.hstack((E, np.zeros((len(E), m))))
        E[unknown, first + np.arange(m)] = 1.0
        for _ in range(ROUNDS):
            Y, D = self.evaluate(run, X, E, rows)
            K, r = D[10 : 10 + m, first:], Y[10 : 10 + m]
            change = self.solve_consistent(K, r[:, None])[:, 0]
            X[unknown] -= change
            if m == 0 or np.abs(change).max() <= 1e-13 * np.abs(X[unknown]).max():
                break
        by_unknown = -self.solve_consistent(K, D[10 : 10 + m, :first])
        J = D[:10, :first] + D[:10, first:] @ by_unknown
        self.state, self.J, self.by_duration = self.after.copy(), J[:, :COLUMNS], J[:, COLUMNS]
        return by_unknown[:, :COLUMNS]

    def solve_consistent(self, K: Array, b: Array) -> Array:
        """Return the smallest x with K x = b, of equations that may depend on each other."""
        if K.size == 0:
            return np.zeros(b.shape)
        x, _, self.rank, _ = np.linalg.lstsq(K, b, _RANK)
        left = np.abs(K @ x - b).max()
        _require(left <= _CONTRADICTS * max(np.abs(b).max(), 1e-6), self.t, _NOT_ONE)
        return x
