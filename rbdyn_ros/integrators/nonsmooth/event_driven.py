"""Event-driven integration: smooth flight by SciPy's solve_ivp, roots of the gaps as events, impacts solved exactly.

Between events the closed interactions I hold their acceleration at zero,

    M dv/dt = F + H_I^T lambda,     du/dt = H M^-1 (F + H_I^T lambda) + b = 0,   b = dH/dt v + d(dh/dt)/dt   (N.24)

An event is a gap that closes or a multiplier lambda_N that turns negative. At a gap's root the impulse problem
u^+ = u^- + G P, G = H M^-1 H^T, with the laws' restitution gives v^+; then 0 <= du/dt _|_ lambda >= 0 of the contacts that
stay decides which remain closed.

Zeno: bounces of a contact pressed on get shorter and shorter. Where the next flight, about 2 u^+ / |du/dt|, would last
less than `rest_time`, an impulse puts the contact at rest, u = 0; a bound on the events guards the rest.
Contacts with friction rebound and slide through impacts, but may not stay closed: that needs moreau_jean.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.integrators.nonsmooth import one_step
from rbdyn_ros.solvers.solution import explain
from rbdyn_ros.systems import assembly
from rbdyn_ros.systems.arguments import number
from rbdyn_ros.systems.assembly import Network, joined
from rbdyn_ros.systems.laws import WITH_TANGENTS, Complementarity, Equality
from rbdyn_ros.types import Array

_SHIFT = 1e-6  # [s] for the derivative of H along the motion
_TOUCHING = 1e-12  # [m] a gap below is zero: above the roots' round-off, below the last bounces that are flown
_OVERLAP = 1e-9  # [m] what drift along a closed contact may leave


class Options(NamedTuple):
    """Make them with `options`, which checks."""

    tolerance: float = 1e-10  # rtol and atol of the flight
    max_step: float = np.inf  # [s]; a gap may not close and open again within it
    rest_time: float = 1e-6  # [s] shorter flights are not flown
    max_events: int = 100000


class Event(NamedTuple):
    """What happened at an instant."""

    t: float
    kind: str  # "impact", "rest" (put down by the guard), "release"
    interactions: tuple
    q: tuple
    before: tuple  # v^-
    after: tuple  # v^+
    impulses: Array  # of the closed rows, in the order of the interactions


class Run(NamedTuple):
    """States at the requested times, as far as it went; when not ok, `message` says why it stopped."""

    t: Array  # (k,)
    q: Array  # (k, sum n_q)
    v: Array  # (k, sum n)
    events: list
    ok: bool
    message: str


class _Halt(Exception):
    """Why the run cannot go on."""


def options(tolerance: float = 1e-10, max_step: float = np.inf, rest_time: float = 1e-6, max_events: int = 100000) -> Options:
    """ValueError for numbers that are not positive."""
    return Options(
        number(tolerance, "tolerance", 0.0, 1e-2, open_low=True),
        number(max_step, "max_step", 0.0, open_low=True),
        number(rest_time, "rest_time", 0.0, open_low=True),
        int(number(max_events, "max_events", 1)),
    )


def run(net: Network, t: float, q: tuple, v: tuple, times: Array, options: Options = Options()) -> Run:
    """From (t, q, v), tuples with a part for each system, to the last of `times` (k,), increasing, each >= t."""
    assembly.check_state(net, q, v)
    times = np.asarray(times, float)
    if times.ndim != 1 or not len(times) or times[0] < t or np.any(np.diff(times) <= 0.0):
        raise ValueError(f"the times must increase and begin at t = {t:g} s or later")
    journey = _Journey(net, t, q, v, times, options)
    message = ""
    try:
        journey.travel()
    except _Halt as halt:
        message = f"event_driven stopped at t = {journey.t:g} s: {halt}"
    k = len(journey.rows)
    q, v = journey.split(np.array(journey.rows).reshape(k, journey.cuts_q[-1] + journey.cuts_v[-1]))
    return Run(times[:k], q, v, journey.events, not message, message)


class _Journey:
    """The state of a run: where it is, what is closed, what was seen."""

    def __init__(self, net: Network, t: float, q: tuple, v: tuple, times: Array, options: Options):
        self.net, self.times, self.options = net, times, options
        self.cuts_q = np.cumsum([len(x) for x in q])
        self.cuts_v = np.cumsum([len(x) for x in v])
        self.t, self.q, self.v = t, q, v
        self.rows, self.events = [], []
        self.equalities = [k for k, one in enumerate(net.interactions) if isinstance(one.law, Equality)]
        self.contacts = [k for k in range(len(net.interactions)) if k not in self.equalities]
        for k in self.contacts:
            if self.gap(k, t, q) < -_OVERLAP:
                raise ValueError(f"interaction {k} starts with a gap of {self.gap(k, t, q):g} m; contacts may not overlap")
        self.closed = self.equalities

    def travel(self) -> None:
        """Fly from event to event until the last time."""
        self.settle([])
        while self.t < self.times[-1]:
            if len(self.events) >= self.options.max_events:
                raise _Halt(f"{len(self.events)} events; raise rest_time or max_events")
            touched = self.fly()
            if touched:
                self.collide(touched)
        while len(self.rows) < len(self.times):
            self.rows.append(np.concatenate([*self.q, *self.v]))

    def gap(self, k: int, t: float, q: tuple) -> float:
        """y_N of interaction k."""
        one = self.net.interactions[k]
        return float(one.relation.value(t, joined(q, one))[0])

    def split(self, y: Array) -> tuple:
        """(q, v) of a flat state."""
        return y[..., : self.cuts_q[-1]], y[..., self.cuts_q[-1] :]

    def parts(self, y: Array) -> tuple:
        """(q, v) as tuples."""
        q, v = self.split(y)
        return tuple(np.split(q, self.cuts_q[:-1])), tuple(np.split(v, self.cuts_v[:-1]))

    def speeds(self, t: float, q: tuple, v: tuple, some: list) -> Array:
        """u of the interactions `some`, one after the other."""
        out = [np.empty(0)]
        for k in some:
            one = self.net.interactions[k]
            out.append(assembly.velocity(assembly.rows(self.net, one, t, q), one.relation.drift(t, joined(q, one)), v))
        return np.concatenate(out)

    def accelerations(self, t: float, q: tuple, v: tuple, some: list) -> tuple:
        """(G, free du/dt, free dv/dt, carried) of the interactions `some` (N.24)."""
        M = tuple(s.mass(x) for s, x in zip(self.net.systems, q))
        free = tuple(np.linalg.solve(m, s.force(t, x, y)) for m, s, x, y in zip(M, self.net.systems, q, v))
        rows = [assembly.rows(self.net, self.net.interactions[k], t, q) for k in some]
        if not rows:
            return np.empty((0, 0)), np.empty(0), free, {}
        G, carried = assembly.delassus(rows, M)
        ahead, behind = (tuple(s.moved(x, d * y) for s, x, y in zip(self.net.systems, q, v)) for d in (_SHIFT, -_SHIFT))
        b = (self.speeds(t + _SHIFT, ahead, v, some) - self.speeds(t - _SHIFT, behind, v, some)) / (2.0 * _SHIFT)
        driven = np.concatenate([sum(block @ free[i] for i, block in H.items()) for H in rows])
        return G, b + driven, free, carried

    def rate(self, t: float, y: Array) -> Array:
        """d(q, v)/dt with the closed interactions held."""
        q, v = self.parts(y)
        G, u_rate, a, carried = self.accelerations(t, q, v, self.closed)
        if len(G):
            force = -np.linalg.pinv(G, rcond=1e-12) @ u_rate
            a = tuple(x + carried[i] @ force for i, x in enumerate(a))
        return np.concatenate([*(s.tangent(x) @ w for s, x, w in zip(self.net.systems, q, v)), *a])

    def pressing(self, t: float, y: Array, k: int) -> float:
        """lambda_N of the closed contact k."""
        q, v = self.parts(y)
        G, u_rate, _, _ = self.accelerations(t, q, v, self.closed)
        at = sum(self.net.interactions[j].relation.rows for j in self.closed[: self.closed.index(k)])
        return float(-(np.linalg.pinv(G, rcond=1e-12) @ u_rate)[at])

    def fly(self) -> list:
        """Integrate to the next event or the end; the contacts that touched."""
        watched, rising, hop = [], [], np.inf
        for k in self.contacts:
            if k in self.closed:
                watched.append((k, lambda t, y, k=k: self.pressing(t, y, k)))
            elif self.gap(k, self.t, self.q) > _TOUCHING:
                watched.append((k, lambda t, y, k=k: self.gap(k, t, self.parts(y)[0])))
            elif self.speeds(self.t, self.q, self.v, [k])[0] < 0.0:
                return [k]
            else:
                rising.append(k)
                hop = min(hop, self.rise(k))
        ended = self.hop(watched, rising, hop)
        gone = [k for k in ended if k in self.closed]
        if gone:
            self.release(gone[0])
            return []
        return ended

    def hop(self, watched: list, rising: list, hop: float) -> list:
        """Integrate at most as long as the contacts just left surely rise; the contacts whose events ended it."""
        origin = self.t, self.q, self.v, len(self.rows)
        while True:
            ended = self.integrate(watched, min(self.times[-1], self.t + hop))
            if hop <= 0.25 * self.options.rest_time or all(self.gap(k, self.t, self.q) >= -_OVERLAP for k in rising):
                return ended
            self.t, self.q, self.v, rows = origin
            self.rows, hop = self.rows[:rows], hop / 4.0

    def rise(self, k: int) -> float:
        """About how long the contact k, just left, rises [s]."""
        u = self.speeds(self.t, self.q, self.v, [k])[0]
        fall = -self.accelerations(self.t, self.q, self.v, [k])[1][0]
        longest = min(self.options.max_step, self.times[-1] - self.t)
        return min(max(u / fall, 0.25 * self.options.rest_time), longest) if fall > 0.0 else longest

    def integrate(self, watched: list, end: float) -> list:
        """solve_ivp from here to `end` or the first event; the contacts whose events ended it."""
        functions = [f for _, f in watched]
        for f in functions:
            f.terminal, f.direction = True, -1.0
        y = np.concatenate([*self.q, *self.v])
        tolerance = self.options.tolerance
        found = solve_ivp(
            self.rate, (self.t, end), y, "DOP853", events=functions or None, dense_output=True,
            rtol=tolerance, atol=tolerance, max_step=self.options.max_step,
        )
        if not found.success:
            raise _Halt(f"the flight failed: {found.message}")
        while len(self.rows) < len(self.times) and self.times[len(self.rows)] <= found.t[-1]:
            self.rows.append(found.sol(self.times[len(self.rows)]))
        self.t = float(found.t[-1])
        self.q, self.v = self.parts(found.y[:, -1])
        return [k for (k, _), times in zip(watched, found.t_events or []) if len(times)]

    def release(self, k: int) -> None:
        """The contact k no longer presses."""
        self.closed = [j for j in self.closed if j != k]
        self.events.append(Event(self.t, "release", (k,), self.q, self.v, self.v, np.zeros(0)))

    def collide(self, touched: list) -> None:
        """The impact of the contacts that touched, with all that is closed."""
        some = sorted({*self.closed, *touched})
        before, (self.v, P) = self.v, self.impact(some, rebound=True)
        self.events.append(Event(self.t, "impact", tuple(touched), self.q, before, self.v, P))
        self.settle(touched)

    def impact(self, some: list, rebound: bool) -> tuple:
        """(v^+, P) of the impulse problem of the interactions `some`; without rebound they are put at rest, u^+ = 0."""
        M = tuple(s.mass(x) for s, x in zip(self.net.systems, self.q))
        G, carried = assembly.delassus([assembly.rows(self.net, self.net.interactions[k], self.t, self.q) for k in some], M)
        u, at, laws = self.speeds(self.t, self.q, self.v, some), 0, []
        for k in some:
            one = self.net.interactions[k]
            u[at] += rebound * one.law.restitution * min(u[at], 0.0)
            laws.append((one.relation.rows, one.law if rebound else Equality()))
            at += one.relation.rows
        found = one_step.solve(G, u, laws)
        if not found.ok:
            raise _Halt(f"the impact is not solved: {explain(found)}")
        return tuple(x + carried[i] @ found.z for i, x in enumerate(self.v)), found.z

    def settle(self, touched: list) -> None:
        """Which touching contacts stay: those at rest, or with too short a flight ahead, that would press."""
        near = [k for k in self.contacts if k in self.closed or k in touched or self.gap(k, self.t, self.q) <= _TOUCHING]
        resting = [k for k in near if self.rests(k)]
        if any(abs(self.speeds(self.t, self.q, self.v, [k])[0]) > 1e-12 for k in resting):
            before, (self.v, P) = self.v, self.impact(sorted({*self.equalities, *resting}), rebound=False)
            self.events.append(Event(self.t, "rest", tuple(resting), self.q, before, self.v, P))
        candidates = sorted({*self.equalities, *resting})
        if resting:
            for k in resting:
                if isinstance(self.net.interactions[k].law, WITH_TANGENTS):
                    raise _Halt(f"interaction {k} has friction and would stay closed; take moreau_jean")
            G, u_rate, _, _ = self.accelerations(self.t, self.q, self.v, candidates)
            laws = [Equality() if k in self.equalities else Complementarity() for k in candidates]
            found = one_step.solve(G, u_rate, [(self.net.interactions[k].relation.rows, w) for k, w in zip(candidates, laws)])
            if not found.ok:
                raise _Halt(f"who stays closed is not solved: {explain(found)}")
            starts = np.cumsum([0] + [self.net.interactions[k].relation.rows for k in candidates])
            resting = [k for k in resting if found.z[starts[candidates.index(k)]] > 0.0]
        self.closed = sorted({*self.equalities, *resting})

    def rests(self, k: int) -> bool:
        """Whether contact k is at rest or its next flight would be shorter than `rest_time`."""
        u = self.speeds(self.t, self.q, self.v, [k])[0]
        fall = -self.accelerations(self.t, self.q, self.v, [k])[1][0]
        return bool(fall > 0.0 and -1e-9 < u <= 0.5 * fall * self.options.rest_time)
