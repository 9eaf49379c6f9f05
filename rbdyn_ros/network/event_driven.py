"""Event-driven integration: smooth flight by SciPy's solve_ivp, roots of the gaps as events,
impacts solved exactly.

Between events the closed interactions I hold their acceleration at zero,

    M dv/dt = F + H_I^T lambda,     du/dt = H M^-1 (F + H_I^T lambda) + b = 0,
    b = dH/dt v + d(dh/dt)/dt                                                                (N.24)

An event is a gap that closes or a multiplier lambda_N that turns negative. At a gap's root the
impulse problem u^+ = u^- + G P, G = H M^-1 H^T, with the laws' restitution gives v^+; then 0 <=
du/dt _|_ lambda >= 0 of the contacts that stay decides which remain closed.

Zeno: bounces of a contact pressed on get shorter and shorter. Where the next flight, about 2 u^+ /
|du/dt|, would last less than `rest_time`, an impulse puts the contact at rest, u = 0; a bound on
the events guards the rest. A contact with friction that stays closed slides or sticks (phases.py);
the ends of these phases are events too: a sliding speed that reaches zero, and a solution of the
law on the accelerations that is no longer that of the phase (N.30, N.31).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.network import one_step, phases, second_order
from rbdyn_ros.network.dynamics import IntegrationStopped, OfModel, OfNetwork
from rbdyn_ros.network.laws import Equality
from rbdyn_ros.network.phases import System
from rbdyn_ros.network.second_order import MechanicalNetwork
from rbdyn_ros.numerics.arguments import count, number, positive
from rbdyn_ros.numerics.solvers.solution import explain
from rbdyn_ros.types import Array

# [m] a gap below is zero: above the roots' round-off, below the last bounces that are flown
_TOUCHING = 1e-12
_OVERLAP = 1e-9  # [m] what drift along a closed contact may leave
_PARTING = 1e-9  # [m/s] a speed above which a touching contact separates
_HELD = 1e-6  # what may be left of an acceleration that is held at zero, relative
_STILL = 1e-7  # [m/s] a sliding speed at the end of its phase that is put to zero
_PHASE = -1  # in place of a contact: a sliding or sticking phase ends


class Options(NamedTuple):
    """The options of a run, made by `options`, which checks them."""

    tolerance: float = 1e-10  # rtol and atol of the flight
    max_step: float = np.inf  # [s]; a gap may not close and open again within it
    rest_time: float = 1e-6  # [s] shorter flights are not flown
    max_events: int = 100000


class Trajectory(NamedTuple):
    """The states at the requested times as far as the run went; `message` says why it stopped."""

    t: Array  # (k,)
    q: Array  # (k, sum n_q)
    v: Array  # (k, sum n)
    events: list
    ok: bool
    message: str


def options(*given: Any, **named: Any) -> Options:
    """Return the Options with these fields. Raise ValueError for numbers that are not positive."""
    made = Options(*given, **named)
    return Options(
        number(made.tolerance, "tolerance", 0.0, 1e-2, open_low=True),
        number(made.max_step, "max_step", 0.0, open_low=True, infinite=True),
        positive(made.rest_time, "rest_time"),
        count(made.max_events, "max_events", 1),
    )


def run(
    net: MechanicalNetwork,
    t: float,
    q: tuple[Array, ...],
    v: tuple[Array, ...],
    times: Array,
    options: Options = Options(),
) -> Trajectory:
    """Integrate from (t, q, v), a part for each system, to the last of `times` (k,), each >= t.
    Raise ValueError for what is no start (`second_order.check_start`) and for times that do not
    increase; the Trajectory reports all else.
    """
    second_order.check_start(net, t, q, v)
    return _run(OfNetwork(net, q, v), t, np.concatenate(q), np.concatenate(v), times, options)


def run_model(
    model: models.Model,
    times: Array,
    wrench: Callable[..., Array] | None = None,
    options: Options = Options(),
) -> Trajectory:
    """Integrate a model from its state, which does not change; its interactions are its pairs.
    Joints stay closed.
    wrench(t, q (n, 7), v (n, 6)) -> (n, 6) loads the bodies besides their weight: a force [N,
    world] and a torque [N m, body] for each, at its center of mass.
    """
    (q, v), t = models.state(model), float(models.part(model, "clock")[c.TIME, 0])
    return _run(OfModel(model, wrench), t, q.ravel(), v.ravel(), times, options)


def _run(
    system: System, t: float, q: Array, v: Array, times: Array, options: Options
) -> Trajectory:
    times = np.asarray(times, float)
    rises = times.ndim == 1 and len(times) > 0 and np.all(np.diff(times) > 0.0)
    if not (rises and times[0] >= t and np.isfinite(times).all()):
        raise ValueError(f"the times must be finite, increase, and begin at t = {t:g} s or later")
    flown = EventDrivenRun(system, t, q, v, times, options)
    message = ""
    try:
        flown.integrate()
    except (IntegrationStopped, second_order.Singular) as stopped:
        message = f"event_driven stopped at t = {flown.t:g} s: {stopped}"
    k = len(flown.rows)
    q, v = np.split(np.array(flown.rows).reshape(k, len(q) + len(v)), [len(q)], axis=1)
    return Trajectory(times[:k], q, v, flown.events, not message, message)


class ContactEvent(NamedTuple):
    """An event of a run."""

    t: float
    # "impact", "rest" (before too short a flight), "release", "stop" (of sliding), "change" (of
    # what slides)
    kind: str
    interactions: tuple
    q: Array
    before: Array  # v^-
    after: Array  # v^+
    impulses: Array  # of the closed rows, in the order of the interactions


Watched = tuple[int, Callable[[float, Array], float]]  # a contact, or _PHASE; what falls to zero


class EventDrivenRun:
    """The state of a run: time and state, closed interactions, rows and events so far."""

    def __init__(
        self, system: System, t: float, q: Array, v: Array, times: Array, options: Options
    ):
        self.system, self.times, self.options = system, times, options
        self.t, self.q, self.v = t, q, v
        self.rows: list[Array] = []
        self.events: list[ContactEvent] = []
        self.equalities = [k for k, law in enumerate(system.laws) if isinstance(law, Equality)]
        self.contacts = [k for k in range(len(system.laws)) if k not in self.equalities]
        self.closed, self.sliding = self.equalities, {}

    def integrate(self) -> None:
        """Integrate from event to event until the last time."""
        self.settle([])
        while self.t < self.times[-1]:
            if len(self.events) >= self.options.max_events:
                raise IntegrationStopped(
                    f"{len(self.events)} events; raise rest_time or max_events"
                )
            touched = self.fly()
            if touched:
                self.collide(touched)
        while len(self.rows) < len(self.times):
            self.rows.append(np.concatenate([self.q, self.v]))

    def gap(self, k: int) -> float:
        """Return the gap of the contact k."""
        return self.system.gap(k, self.t, self.q)

    def speed(self, k: int) -> Array:
        """Return u of the contact k."""
        return self.system.speeds(self.t, self.q, self.v, [k])

    def fall(self, k: int) -> float:
        """Return -du_N/dt of the contact k, were it open."""
        return -self.system.accelerations(self.t, self.q, self.v, [k])[1][0]

    def parts(self, y: Array) -> tuple[Array, Array]:
        """Return (q, v) of a flat state."""
        return y[: len(self.q)], y[len(self.q) :]

    def rate(self, t: float, y: Array) -> Array:
        """Return d(q, v)/dt with the closed interactions held."""
        q, v = self.parts(y)
        G, u_rate, a, carried = self.system.accelerations(t, q, v, self.closed)
        if len(G):
            a = a + phases.multipliers(G, u_rate, *self.phase(t, q, v)) @ carried
        return np.concatenate([self.system.rates(q, v), a])

    def phase(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return (S, E) of what is closed (N.30)."""
        return phases.reduction(
            self.system, self.closed, self.sliding, self.system.speeds(t, q, v, self.closed)
        )

    def require_held(self) -> None:
        """Raise IntegrationStopped where no multipliers keep what is closed."""
        G, a, _, _ = self.system.accelerations(self.t, self.q, self.v, self.closed)
        kept, E = self.phase(self.t, self.q, self.v)
        left = G[kept] @ phases.multipliers(G, a, kept, E) + a[kept]
        if not np.abs(left).max(initial=0.0) <= _HELD * (1.0 + np.abs(a).max(initial=0.0)):
            names = ", ".join(map(str, self.closed))
            raise IntegrationStopped(
                f"interactions {names} cannot hold together: they contradict each other, "
                f"{np.abs(left).max():.1e} of du/dt is left"
            )

    def normal_force(self, t: float, y: Array, k: int) -> float:
        """Return lambda_N of the closed contact k."""
        q, v = self.parts(y)
        first = sum(self.system.sizes[j] for j in self.closed[: self.closed.index(k)])
        G, u_rate, _, _ = self.system.accelerations(t, q, v, self.closed)
        return float(phases.multipliers(G, u_rate, *self.phase(t, q, v))[first])

    def solve_laws(self, t: float, q: Array, v: Array) -> phases.ActiveLaws:
        """Return the solution of the law on the accelerations of what is closed (N.31)."""
        G, u_rate, _, _ = self.system.accelerations(t, q, v, self.closed)
        want = phases.solve_laws(
            self.system, self.closed, self.sliding, G, u_rate, *self.phase(t, q, v)
        )
        if not want.solution.ok:
            raise IntegrationStopped(
                f"which contacts stay closed is not solved: {explain(want.solution)}"
            )
        return want

    def sliding_speed(self, t: float, y: Array, k: int) -> float:
        """Return the speed of the sliding contact k along the first direction of its phase."""
        return float(self.system.speeds(t, *self.parts(y), [k])[1:] @ self.sliding[k])

    def fly(self) -> list[int]:
        """Integrate to the next event or the end; return the contacts that touched."""
        watched, rising, hop = [], [], np.inf
        rubbing = [k for k in self.closed if phases.has_tangents(self.system, k)]
        if rubbing:
            watched.append(
                (_PHASE, lambda t, y: phases.margin(self.solve_laws(t, *self.parts(y))))
            )
        for k in self.contacts:
            if k in self.sliding:
                watched.append((_PHASE, lambda t, y, k=k: self.sliding_speed(t, y, k)))
            elif k in rubbing:
                continue
            elif k in self.closed:
                watched.append((k, lambda t, y, k=k: self.normal_force(t, y, k)))
            elif self.gap(k) > _TOUCHING:
                watched.append((k, lambda t, y, k=k: self.system.gap(k, t, self.parts(y)[0])))
            elif self.speed(k)[0] < 0.0:
                return [k]
            else:
                rising.append(k)
                hop = min(hop, self.rise(k))
        ended = self.hop(watched, rising, hop)
        gone = [k for k in ended if k in self.closed]
        if _PHASE in ended:
            self.change()
        elif gone:
            self.release(gone[0])
        else:
            return ended
        return []

    def hop(self, watched: list[Watched], rising: list[int], hop: float) -> list[int]:
        """Integrate while the opened contacts surely rise; return those whose events end it."""
        origin = self.t, self.q, self.v, len(self.rows)
        while True:
            ended = self.integrate_flight(watched, min(self.times[-1], self.t + hop))
            if hop <= 0.25 * self.options.rest_time or all(
                self.gap(k) >= -_OVERLAP for k in rising
            ):
                return ended
            self.t, self.q, self.v, rows = origin
            self.rows, hop = self.rows[:rows], hop / 4.0

    def rise(self, k: int) -> float:
        """Return about how long the contact k, just opened, rises [s]."""
        u, fall = self.speed(k)[0], self.fall(k)
        longest = min(self.options.max_step, self.times[-1] - self.t)
        shortest = 0.25 * self.options.rest_time
        return min(max(u / fall, shortest), longest) if fall > 0.0 else longest

    def integrate_flight(self, watched: list[Watched], end: float) -> list[int]:
        """Integrate to `end` or the first event; return the contacts whose events end it."""
        self.require_held()
        functions: list[Any] = [f for _, f in watched]
        for f in functions:
            f.terminal, f.direction = True, -1.0
        y = np.concatenate([self.q, self.v])
        tolerance = self.options.tolerance
        found = solve_ivp(
            self.rate,
            (self.t, end),
            y,
            "DOP853",
            events=functions or None,
            dense_output=True,
            rtol=tolerance,
            atol=tolerance,
            max_step=self.options.max_step,
        )
        if not found.success:
            raise IntegrationStopped(f"the flight failed: {found.message}")
        while len(self.rows) < len(self.times) and self.times[len(self.rows)] <= found.t[-1]:
            row = self.system.close(*self.parts(found.sol(self.times[len(self.rows)])))
            self.rows.append(np.concatenate(row))
        self.t = float(found.t[-1])
        self.q, self.v = self.system.close(*self.parts(found.y[:, -1]))
        self.require_held()
        return [k for (k, _), times in zip(watched, found.t_events or []) if len(times)]

    def release(self, k: int) -> None:
        """Open the contact k, which no longer presses."""
        self.closed = [j for j in self.closed if j != k]
        self.record("release", (k,), self.v, np.zeros(0))

    def record(self, kind: str, who: Sequence[int], before: Array, P: Array) -> None:
        """Append an event at this instant."""
        self.events.append(ContactEvent(self.t, kind, tuple(who), self.q, before, self.v, P))

    def collide(self, touched: list[int]) -> None:
        """Solve the impact of what touched, of what closes with it, and of what is closed."""
        touched = sorted(
            {*touched, *(k for k in self.contacts if k not in self.closed and self.is_touching(k))}
        )
        some = sorted({*self.closed, *touched})
        before, (self.v, P) = self.v, self.impact(some, rebound=True)
        self.record("impact", touched, before, P)
        self.settle(touched)

    def is_touching(self, k: int) -> bool:
        """Return whether the open contact k, pushed by another, touches and does not separate."""
        return self.gap(k) <= _TOUCHING and self.speed(k)[0] <= _PARTING

    def impact(
        self, some: list[int], rebound: bool, still: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """Return (v^+, P) of the impulse problem of the interactions `some`; without rebound u_N^+
        = 0, for those `still` u^+ = 0.
        """
        G, carried = self.system.delassus(self.t, self.q, some)
        u, at, laws = self.system.speeds(self.t, self.q, self.v, some), 0, []
        for k in some:
            law, rows = self.system.laws[k], self.system.sizes[k]
            u[at] += rebound * law.restitution * min(u[at], 0.0)
            obeys = rebound or phases.has_tangents(self.system, k) and k not in still
            laws.append((rows, law if obeys else Equality()))
            at += rows
        found = one_step.solve(G, u, laws)
        if not found.ok:
            names = ", ".join(map(str, some))
            raise IntegrationStopped(
                f"the impact of interactions {names} is not solved: {explain(found)}"
            )
        return self.v + found.z @ carried, found.z

    def settle(self, touched: list[int]) -> None:
        """Keep the touching contacts closed that press at rest or before too short a flight."""
        near = {*self.closed, *touched}
        resting = [
            k
            for k in self.contacts
            if (k in near or self.gap(k) <= _TOUCHING) and self.is_resting(k)
        ]
        if any(abs(self.speed(k)[0]) > 1e-12 for k in resting):
            some = sorted({*self.equalities, *resting})
            before, (self.v, P) = self.v, self.impact(some, rebound=False)
            self.record("rest", resting, before, P)
        self.closed, self.sliding = sorted({*self.equalities, *resting}), self.sliders(resting)
        if resting:
            want = self.solve_laws(self.t, self.q, self.v)
            resting = [k for k in resting if phases.is_staying_closed(want, k)]
            slips = self.sliding | phases.find_starting_slips(want)
            self.sliding = {k: tau for k, tau in slips.items() if k in resting}
        self.closed = sorted({*self.equalities, *resting})

    def sliders(self, some: list[int]) -> dict[int, Array]:
        """Return those of the contacts `some` that slide, with their directions."""
        speeds = {k: self.speed(k)[1:] for k in some if phases.has_tangents(self.system, k)}
        sizes = {k: np.linalg.norm(u) for k, u in speeds.items()}
        return {k: speeds[k] / size for k, size in sizes.items() if size > phases.SLOW}

    def change(self) -> None:
        """End a phase: stop what is slow, and let the law decide what slides, sticks or opens."""
        stopped = [k for k in self.sliding if np.linalg.norm(self.speed(k)[1:]) < _STILL]
        before, P = self.v, np.zeros(0)
        if stopped:
            some = [k for k in self.closed if k not in self.sliding or k in stopped]
            self.v, P = self.impact(some, rebound=False, still=stopped)
        self.record("stop" if stopped else "change", stopped, before, P)
        self.settle([])

    def is_resting(self, k: int) -> bool:
        """Return whether contact k is at rest or its next flight is shorter than `rest_time`."""
        u, fall = self.speed(k)[0], self.fall(k)
        return bool(fall > 0.0 and -1e-9 < u <= 0.5 * fall * self.options.rest_time)
