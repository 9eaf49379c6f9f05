"""Batches of thousands of closed loops, for the laws that have a compiled form.

    outcomes = run(law, params, starts, episode)

computes the same as `plant.closed_loop.run` for each start, with the Runge-Kutta step of
order 4, at some 20 ns a step. Laws without one (`compiled_form` returns None) are run there.

In all lanes: u = -K e for `lqr` and `pd`; for `nested_lqr` rung by rung, from gentle to
aggressive, with the test of its level set; for `swing_up` the forces of all lanes at once, and
lane by lane its identification and whether a rod can be caught.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import identification
from rbdyn_ros.control.feedback import linear_force
from rbdyn_ros.control.identification import FACTORS
from rbdyn_ros.control.laws import swing_up
from rbdyn_ros.control.laws.lqr import Lqr
from rbdyn_ros.control.laws.nested_lqr import DOWN, NestedLqr
from rbdyn_ros.control.laws.pd import Pd
from rbdyn_ros.control.laws.swing_up import (
    ADAPTED,
    COMMANDED,
    PUSHED,
    RELEASE,
    WIDEST,
    SwingUp,
    swing,
)
from rbdyn_ros.control.planning.catching import is_catchable
from rbdyn_ros.evaluation.campaigns.episode import (
    OUTCOME,
    RUNNING,
    SETTLED,
    Episode,
    advance,
    form_queue,
    is_running,
)
from rbdyn_ros.evaluation.campaigns.lanes import (  # fmt: skip
    ASKED_X,
    ASKED_Y,
    CATCH,
    CAUGHT,
    CHOSEN,
    DRAG,
    DTHX,
    DTHY,
    END,
    GAIN_DTH,
    GAIN_TH,
    GAIN_V,
    GAIN_X,
    HEAVY,
    KZ,
    LANES,
    LENGTH,
    LEVEL,
    LOOKED,
    MASS,
    P3,
    PERIODS,
    PUSHED_X,
    PUSHED_Y,
    THX,
    THY,
    VX,
    VY,
    X,
    Y,
    state,
    tilt,
)
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import coulomb_friction, spherical_pendulum
from rbdyn_ros.pendulum.world import has_candidates
from rbdyn_ros.types import Array, System


class Feedback(NamedTuple):
    """The law's numbers for `run_feedback`."""

    gains: tuple  # K (4,)
    force_limit: float  # [N]


@kernel
def run_feedback(law, episode, starts, plants, outcomes):
    """Run every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = form_queue(episode, starts, plants, outcomes)
    while is_running(episode, line):
        _command(law, line.lanes)
        advance(episode, line)


@kernel
def _command(law, a):
    """Compute the command of `control.feedback`, about the origin, in all lanes."""
    for j in range(LANES):
        k, dk, x, v = state(a, j)
        ux, uy = linear_force(x, v, tilt(k, dk), (0.0, 0.0), law.gains, law.force_limit)
        a[ASKED_X + j], a[ASKED_Y + j] = saturate(ux, uy, law.force_limit)


# starts of a thread, at most, in one call: while the last ones end, lanes are empty
CHUNK = 8192
# of the laws that have a compiled form
MODULES = tuple(law.__module__ for law in (Lqr, Pd, NestedLqr, SwingUp))


class Outcomes(NamedTuple):
    """The outcomes of n starts."""

    # (n,) one of `episode.SETTLED`, OUT_OF_BOUNDS, TIMEOUT, DIVERGED
    ended: Array
    success: Array  # (n,) bool: settled
    settled: Array  # (n,) [s] the time from which it was at rest; nan: never
    caught: Array  # (n,) [s] when `swing_up` first caught it; nan: never, or another law
    travel: Array  # (n,) [m] the cart's largest distance from the origin
    effort: Array  # (n,) [N^2 s] integral of |u|^2 until the end
    lasted: Array  # (n,) [s] the end


def compiled_form(law) -> tuple[Callable[..., None], tuple[Any, ...]] | None:
    """Return (kernel, its numbers) of a designed law, or None where it has no compiled form.

    A subclass is another law and has none.
    """
    if type(law) in (Lqr, Pd):
        return run_feedback, Feedback(tuple(map(float, law.gains)), float(law.force_limit))
    if type(law) is NestedLqr:
        return run_nested, Ladder(law.gains, law.forms, float(law.force_limit))
    return (run_swing_up, law.plan) if type(law) is SwingUp else None


def run(
    law,
    params,
    starts: Array,
    episode: Episode,
    threads: int | None = None,
    show: Callable[[int], object] | None = None,
) -> Outcomes:
    """Run each of the starts (n, 11), q and v, under a designed law, until it has settled or
    failed.

    `params` is the true plant, or one for each start; `show(done)` is called with the progress.
    The outcome of a start depends on nothing but that start. Raise ValueError for a law without
    compiled form, a plant that the equations on the sphere do not describe, and an invalid episode
    or start.
    """
    form = compiled_form(law)
    if form is None:
        raise ValueError(
            f"{type(law).__module__} has no compiled form; run it through simulation.closed_loop"
        )
    kernel, numbers = form
    episode, starts = check_episode(episode), _check_starts(starts)
    plants, results = _plants(params, len(starts)), np.full((len(starts), OUTCOME), np.nan)
    threads = threads or os.cpu_count() or 1
    parts, done = _parts(len(starts), threads), 0
    with ThreadPoolExecutor(threads) as pool:
        ended = pool.map(
            lambda p: kernel(numbers, episode, starts[p], plants[p], results[p]), parts
        )
        for part, _ in zip(parts, ended):
            done += part.stop - part.start
            if show:
                show(done)
    ended, since, *rest = results.T.copy()
    success = ended == SETTLED
    return Outcomes(ended, success, np.where(success, since, np.nan), *rest)


def _parts(n: int, threads: int) -> list:
    """Return n starts in slices of equal size, as many for each thread, none larger than
    `CHUNK`.
    """
    count = threads * -(-n // (threads * CHUNK))
    ends = [n * i // max(1, count) for i in range(count + 1)]
    return [slice(begin, end) for begin, end in zip(ends, ends[1:]) if end > begin]


def check_episode(episode: Episode) -> Episode:
    """Return the episode in the types for which the kernel is compiled already.

    Raise ValueError for a number out of range.
    """
    kinds = map(type, Episode())
    episode = Episode(*(kind(value) for kind, value in zip(kinds, episode)))
    for name in ("duration", "period", "travel", "tilt", "radius", "hold"):
        if not getattr(episode, name) > 0.0:
            raise ValueError(f"the episode's {name} is {getattr(episode, name)}; it must be > 0")
    if episode.steps < 1 or episode.delay < 0:
        raise ValueError(
            f"the episode has {episode.steps} steps a period and a delay of {episode.delay} "
            "periods; at least 1 and 0"
        )
    return episode


def is_round(moments: Sequence[float] | None) -> bool:
    """Return whether lanes describe a rod of these moments of inertia: the first two are equal, or
    none are given.
    """
    return not moments or moments[0] == moments[1]


def plant(system: System) -> tuple[float, ...]:
    """Return (M, b, m, l, I1, I3, d, g).

    Raise ValueError for a plant that the equations on the sphere do not describe.
    """
    if not is_round(system.inertia):
        raise ValueError(
            f"rod.inertia is {list(system.inertia)} kg m^2; the first two must be equal in a "
            "compiled campaign"
        )
    if not system.cart_free:
        raise ValueError("cart.fixed is true; no force balances a rod on a cart that is held")
    if coulomb_friction.acts(system):
        raise ValueError(
            f"cart.friction is {system.cart_friction:g} N and joint.friction is "
            f"{system.joint_friction:g} N m; here both must be 0: compiled episodes know no "
            "Coulomb friction"
        )
    if has_candidates(system.contacts):
        raise ValueError(
            "the plant has contacts; a compiled campaign knows none: leave contact.* out"
        )
    across, _, along = system.inertia
    return (
        system.cart_mass, system.cart_damping, system.rod_mass, system.center, across, along,
        system.joint_damping, system.gravity,
    )  # fmt: skip


def _plants(params, n: int) -> Array:
    if not isinstance(params, Sequence) or isinstance(params, spherical_pendulum.Params):
        return np.tile(plant(spherical_pendulum.build(params)), (n, 1))
    if len(params) != n:
        raise ValueError(
            f"there are {len(params)} plants for {n} starts; give one plant, or one for each start"
        )
    return np.array([plant(spherical_pendulum.build(p)) for p in params])


def _check_starts(starts: Array) -> Array:
    starts = np.array(starts, float, ndmin=2, order="C")
    if starts.ndim != 2 or starts.shape[1] != 11:
        raise ValueError(
            f"the starts have shape {starts.shape}; each is a row of 11 numbers: x y, w x y z, "
            "then the 5 velocities"
        )
    wrong = ~np.isfinite(starts).all(axis=1) | ~(
        abs(np.linalg.norm(starts[:, 2:6], axis=1) - 1.0) < 1e-6
    )
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"start {i} is {starts[i].tolist()}; its numbers must be finite, and its quaternion "
            "of norm 1"
        )
    return starts


class Ladder(NamedTuple):
    """The law's numbers, as in `control.laws.nested_lqr`."""

    gains: Array  # (n, 4)
    forms: Array  # (n, 4, 4)
    force_limit: float  # [N]


@kernel
def run_nested(ladder, episode, starts, plants, outcomes):
    """Run every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = form_queue(episode, starts, plants, outcomes)
    while is_running(episode, line):
        _choose(ladder, line.lanes)
        _command_nested(ladder, line.lanes)
        advance(episode, line)


@kernel
def _choose(ladder, a):
    """Set CHOSEN to the most aggressive rung in whose level set the state is, or to the number of
    rungs, if in none.
    """
    rungs = len(ladder.gains)
    for j in range(LANES):
        k, dk, _, _ = state(a, j)
        a[THX + j], a[THY + j], a[DTHX + j], a[DTHY + j] = tilt(k, dk)
        a[CHOSEN + j] = rungs
    for i in range(rungs - 1, -1, -1):
        S = ladder.forms[i]
        for j in range(LANES):
            ex, ey = (
                (a[X + j], a[VX + j], a[THX + j], a[DTHX + j]),
                (a[Y + j], a[VY + j], a[THY + j], a[DTHY + j]),
            )
            value = _form(S, ex) + _form(S, ey)
            a[CHOSEN + j] = i if value <= (DOWN if i < a[LEVEL + j] else 1.0) else a[CHOSEN + j]


@inlined
def _form(S, e):
    """Return e.S e of a symmetric S (4, 4)."""
    mixed = (
        e[0] * (S[0, 1] * e[1] + S[0, 2] * e[2] + S[0, 3] * e[3])
        + e[1] * (S[1, 2] * e[2] + S[1, 3] * e[3])
        + S[2, 3] * e[2] * e[3]
    )
    return (
        S[0, 0] * e[0] * e[0]
        + S[1, 1] * e[1] * e[1]
        + S[2, 2] * e[2] * e[2]
        + S[3, 3] * e[3] * e[3]
        + 2.0 * mixed
    )


@kernel
def _command_nested(ladder, a):
    """Compute the command of the chosen gain; outside every level set it is the gentlest gain, and
    the force towards the reference is limited.
    """
    last = len(ladder.gains) - 1
    for j in range(LANES):
        inside = a[CHOSEN + j] <= last
        rung = int(a[CHOSEN + j]) if inside else last
        K = ladder.gains[rung]
        gains, pull = (K[0], K[1], K[2], K[3]), math.inf if inside else ladder.force_limit
        th = (a[THX + j], a[THY + j], a[DTHX + j], a[DTHY + j])
        ux, uy = linear_force(
            (a[X + j], a[Y + j]), (a[VX + j], a[VY + j]), th, (0.0, 0.0), gains, pull
        )
        a[ASKED_X + j], a[ASKED_Y + j] = saturate(ux, uy, ladder.force_limit)
        a[LEVEL + j] = rung


@kernel
def run_swing_up(plan, episode, starts, plants, outcomes):
    """Run every start to its end. starts (n, 11), plants (n, 8), outcomes (n, 6) is written."""
    line = form_queue(episode, starts, plants, outcomes)
    memory = np.zeros((LANES, swing_up.SIZE))
    while is_running(episode, line):
        _look(plan, episode.period, line.lanes, memory)
        _command_swing_up(plan, episode.period, line.lanes)
        advance(episode, line)


@kernel
def _look(plan, period, a, memory):
    """Update which rods are caught, by `control.laws.swing_up.decide` without the force."""
    lowest = math.cos(RELEASE)
    for j in range(LANES):
        t = a[PERIODS + j] * period
        if a[CAUGHT + j] > 0.0:
            a[CAUGHT + j] = 1.0 if a[KZ + j] > lowest else 0.0
        elif a[END + j] == RUNNING and t - a[LOOKED + j] >= plan.look - 1e-9:
            m, s, p3 = memory[j], state(a, j), a[P3 + j]
            if a[LOOKED + j] == -math.inf:  # the lane has a new start
                swing_up.forget(plan, m)
            a[LOOKED + j] = t
            m[COMMANDED], m[COMMANDED + 1] = a[ASKED_X + j], a[ASKED_Y + j]
            m[PUSHED], m[PUSHED + 1] = a[PUSHED_X + j], a[PUSHED_Y + j]
            a[PUSHED_X + j] = a[PUSHED_Y + j] = 0.0
            swing_up.identify(plan, m, t, p3, s)
            for i in range(4):  # LENGTH, MASS, HEAVY, DRAG; GAIN_X, GAIN_V, GAIN_TH, GAIN_DTH
                a[LENGTH + i * LANES + j] = m[FACTORS + i]
                a[GAIN_X + i * LANES + j] = m[ADAPTED + i]
            caught = is_catchable(swing_up.identified_criteria(plan, m), p3, s, (0.0, 0.0), WIDEST)
            a[CAUGHT + j] = 1.0 if caught else 0.0
            if caught and a[CATCH + j] != a[CATCH + j]:
                a[CATCH + j] = t


@kernel
def _command_swing_up(plan, period, a):
    """Compute the command of the regulator for a rod that is caught, of (K.9) for the others."""
    criteria = plan.criteria
    for j in range(LANES):
        s = state(a, j)
        gains = (a[GAIN_X + j], a[GAIN_V + j], a[GAIN_TH + j], a[GAIN_DTH + j])
        system = identification.scaled(
            criteria.system, a[LENGTH + j], a[MASS + j], a[HEAVY + j], a[DRAG + j]
        )
        held = linear_force(s[2], s[3], tilt(s[0], s[1]), (0.0, 0.0), gains, criteria.force_limit)
        swung = swing(system, plan.shaping, a[P3 + j], s, (0.0, 0.0))
        caught = a[CAUGHT + j] > 0.0
        ux, uy = saturate(
            held[0] if caught else swung[0], held[1] if caught else swung[1], criteria.force_limit
        )
        a[ASKED_X + j], a[ASKED_Y + j] = ux, uy
        a[PUSHED_X + j] += period * ux
        a[PUSHED_Y + j] += period * uy
