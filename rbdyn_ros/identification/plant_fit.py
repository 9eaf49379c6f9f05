"""The fit of the plant's numbers to a recorded motion, by multiple shooting on the stepper itself.

The record is cut into segments. In segment s the step z_{k+1} = F_h(z_k, u_k(tau), p) starts from
an unknown state z_s; the residuals are those of the measured place of the cart and of the measured
attitude, each over its deviation,

    r_k = (x - x(z_k)) / s_x,   (f / sin f) (-d_2, d_1) / s_a,                               (I.1)
    d = R(z_k)^T R e3,   cos f = d_3,

the angle of the rod's measured direction from that of z_k, about the body's axes; how the rod is
turned about its own axis does not count, and its spin is that of the record. The sum of their
squares (or of a robust function of them) is made least by p and all z_s. The derivatives are those
of the step (doc/derivatives.md): along a segment, with Z_k = dz_k/dz_s,

    Z_{k+1} = A_k Z_k,   W_{k+1} = A_k W_k + C_k + B_k du_k/dtau.                            (I.2)

The states of the segments are eliminated (variable projection): for given p each z_s follows from
its own segment, and with the QR factorization of its columns the Jacobian in p is

    J = (1 - Q Q^T) dr/dp.                                                                    (I.3)

The commanded force acts tau later, held as the steps are: u_k(tau) = (1 - f) u_{k-n} + f u_{k-n-1}
with tau = (n + f) h, so that tau is found to a fraction of a step, and is lagged by the drive
(`records.lag`). Biases and tilts are those of `plant_numbers`.

The intervals are those of `identification.intervals`, (I.4) and (I.5). A direction in which J is
nearly zero is one that the motion does not determine; `undetermined` has its components.

Source: H. G. Bock, Randwertproblemmethoden zur Parameteridentifizierung (1987); G. Golub and V.
Pereyra, Separable nonlinear least squares, Inverse Problems 19 (2003) R1.
"""

import math
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from rbdyn_ros.identification import intervals
from rbdyn_ros.identification.plant_numbers import (
    BIAS,
    DEFAULT,
    DELAY,
    GAIN,
    LAG,
    LARGEST_DELAY,
    LENGTH,
    TILT,
    bounds,
    check,
    combination,
    gravity_in_plane,
    numbers,
    plant,
    size_of,
    start_of,
    weight,
)
from rbdyn_ros.identification.records import (
    MOVED,
    MotionRecord,
    actuate,
    duration,
    rms,
    swing,
)
from rbdyn_ros.identification.segment import METHOD, SEEN, Segment, SegmentPlant
from rbdyn_ros.integrators import select
from rbdyn_ros.pendulum import coulomb_friction
from rbdyn_ros.types import Array, Contacts, System

WEAK = 1e-6  # relative singular value of J below which a direction is not determined
SURE, LONG = 1.0, 2.0  # [s] of a segment: short for a robust start, long for more information
ENOUGH = 40.0  # [s] of records from which on segments are LONG
MEMORY = 0.2  # [s] after which the force before the record has no effect on a drive with a lag
OTHERWISE = (
    "the plant is another than --params-file and --set say, or the record's units are not m, s, "
    "rad and N"
)
FAR = f"no motion of the plant comes near the record, its steps fail; {OTHERWISE}"
TRIALS = 30  # evaluations, with each tolerance
COARSE, FINE = 1e-3, 1e-7  # relative changes at which a fit ends;
RUBBING = 1e-6  # with a friction, where the squares have corners
EXPLAINED = 0.5  # of the residuals of straight lines, above which nothing is explained
NEAR = 1e-3  # relative distance from an end of the range
DECAY_SEGMENTS, LONGEST_SEGMENT = 8, 10.0  # of a rod that hangs: number, and length [s] at most
SWING_DAMPING = 0.01  # damping ratio from which the fit of a rod that hangs begins
SAMPLE = 0.01  # [s] between two samples that are fitted
PHASE, MOST_PARTS = 0.005, 10  # [rad] of a free swing in a step; steps between two samples
SEEN_FROM = 1.5  # intervals of 95 % by which an optional number must exceed 0
RESTARTS, NEARER = 3, 0.9  # with other start states, where these leave such a part of the squares
MORE = 1.5  # times the squares of the better segments, from which others may start so
LEAST_SCALE = 1e-4  # of the larger of both deviations
SMOOTH = 1e-4  # of the weight (times the lever): no bearing has less friction
LOOSE = (
    5.0 * coulomb_friction.CREEP
)  # [m/s] that 5 % of the samples of a cart that breaks loose exceed
HELD_BACK = 5  # segments of which one is not fitted but compared


class NotFitted(ValueError):
    """The record is far from every motion of the plant."""


class Fit(NamedTuple):
    """The result of a fit."""

    names: tuple[str, ...]
    values: Array  # (p,)
    deviations: Array  # (p,) one standard deviation; inf where nothing is known
    intervals: Array  # (p,) half the width of the interval of 95 %
    undetermined: tuple[dict[str, float], ...]  # directions: name -> relative change
    residuals: tuple[float, float]  # effective deviations of place [m] and attitude [rad]
    validation: tuple[float, float]  # the same in the segments that were not fitted
    whiteness: float  # probability of so much correlation in white residuals
    curves: "Curves"
    ends: tuple[str, ...] = ()  # undetermined ones that are at an end of their range
    unseen: tuple[tuple[str, float], ...] = ()  # optional ones left out, and what they may be

    @property
    def given(self) -> dict[str, float]:
        """The values by their names."""
        return dict(zip(self.names, self.values.tolist()))

    @property
    def rows(self) -> list[tuple[str, float, float]]:
        """The (name, value, half the width of its interval) of each number."""
        return list(zip(self.names, self.values.tolist(), self.intervals.tolist()))


class Curves(NamedTuple):
    """The residuals of every sample, with the numbers known before and the fitted ones."""

    t: Array  # (n,) [s], from the start of the first record on; records follow each other
    before: Array  # (n, SEEN) [m, rad]; nan where the steps fail
    after: Array  # (n, SEEN)
    fitted: Array  # (n,) whether the sample was fitted, not only compared


class _Problem:
    """The problem of `least_squares` over the whole record: residuals and their derivatives
    at p.
    """

    def __init__(
        self,
        records: list[MotionRecord],
        system: System,
        names: tuple[str, ...],
        segments: list[Segment],
        scale: Array,
    ):
        """Set up the problem, with residuals divided by `scale` (SEEN,) [m, rad]."""
        self.system = system._replace(contacts=Contacts())
        self.names, self.segments, self.records, self.scale = names, segments, records, scale
        self.options = select.select(METHOD).options(self.system)
        self.last: tuple[bytes, Any] = (b"", None)

    def on(self, segments: list[Segment], scale: Array) -> "_Problem":
        """Return the problem over other segments."""
        return _Problem(self.records, self.system, self.names, segments, scale)

    def without(self, name: str) -> "_Problem":
        """Return the problem of the other numbers, where this one is 0."""
        names = tuple(other for other in self.names if other != name)
        system = plant(self.system, {name: 0.0})
        return _Problem(self.records, system, names, self.segments, self.scale)

    def residuals(self, p: Array) -> Array:
        return self._at(p)[0]

    def jacobian(self, p: Array) -> Array:
        return self._at(p)[1]

    def _at(self, p: Array) -> tuple[Array, Array]:
        if self.last[0] != p.tobytes():
            self.last = p.tobytes(), self._compute(p)
        return self.last[1]

    def _compute(self, p: Array) -> tuple[Array, Array]:
        given = dict(zip(self.names, p.tolist()))
        system = plant(self.system, given)
        normal, fall = gravity_in_plane(given, system.gravity)
        of_force = given.get(GAIN, 1.0), given.get(DELAY, 0.0), given.get(LAG, 0.0)
        paths = [actuate(record.force, *of_force, record.h) for record in self.records]
        bias = np.array([given.get(name, 0.0) for name in BIAS])
        tilted = system._replace(gravity=normal)
        systems = [
            tilted._replace(cart_free=0.0) if record.held else tilted for record in self.records
        ]
        plants = [
            SegmentPlant(own, self.options, *path, bias, fall) for own, path in zip(systems, paths)
        ]
        parts = [segment.settle(plants[segment.of], self.scale) for segment in self.segments]
        residual, W = (np.concatenate(each) for each in zip(*parts))
        return residual, W @ combination(self.names, given, system)


def fit(
    records: list[MotionRecord],
    system: System,
    names: tuple[str, ...] = DEFAULT,
    segment: float | None = None,
    robust: bool = False,
    optional: tuple[str, ...] = (),
) -> Fit:
    """Fit `names` of `NAMES`, from the numbers of `system` on, to segments of `segment` [s]; None
    is the usual length.

    One sample every 10 ms is fitted; one segment in every `HELD_BACK` is not fitted but
    compared. `robust`: residuals of more than three deviations count less. The `optional`
    frictions are fitted too, but for those that do not exceed their intervals `SEEN_FROM` times:
    these are taken as 0, are in `unseen`, and the others are fitted without them. Raise ValueError
    for a name that is unknown, for moments of inertia that differ where their one value is to be
    fitted, and for records that are too short.
    """
    cut = _check_and_cut(records, system, names + optional, segment)
    if len(cut.fitted) <= len(names) + len(optional):
        optional = ()  # such short records show no more than the names
    if len(cut.fitted) <= len(names):
        raise ValueError(
            f"the records have {duration(records):.3g} s, {len(cut.fitted)} segments of "
            f"{cut.length:g} s to fit; it must be more than {len(names)}, the numbers that are "
            "sought: record longer, or take a shorter --segment"
        )
    begin = _start(system, names + optional, records)
    limits = np.array([bounds(name, value) for name, value in begin.items()])
    problem, p = _approach(records, system, begin, cut, robust)
    unseen: list[tuple[str, float]] = []
    while True:
        spread = _spread(problem, p)
        given = dict(zip(problem.names, p.tolist()))
        widths = dict(zip(problem.names, spread.intervals.tolist()))
        fitted = plant(system, given)
        certain = {o: _certainty(o, given[o], widths[o], fitted) for o in optional}
        if not certain or min(certain.values()) >= SEEN_FROM:
            break
        name = min(certain, key=certain.__getitem__)
        optional = tuple(other for other in optional if other != name)
        unseen.append((name, given[name] + widths[name]))
        kept = [other != name for other in problem.names]
        problem, limits = problem.without(name), limits[kept]
        p = _minimize(problem, p[kept], limits, robust, FINE)
    found = _report(problem, p, spread, cut)
    return found._replace(ends=_check_range(found, *limits.T), unseen=tuple(unseen))


def _certainty(name: str, value: float, width: float, system: System) -> float:
    """Return by how many of its intervals a friction is above 0; none if it is below `SMOOTH` of
    the weight that it carries.
    """
    if value <= SMOOTH * weight(system, name):
        return 0.0
    return value / width if width > 0.0 else math.inf


class _Cut(NamedTuple):
    """The segments of the records."""

    length: float  # [s]
    first: list[Segment]  # short ones, for a robust start
    segments: list[Segment]
    fitted: list[Segment]
    rest: list[Segment]  # which are compared
    fresh: list[Segment]  # the same again, for the plant as known before


def _check_and_cut(
    records: list[MotionRecord], system: System, names: tuple[str, ...], segment: float | None
) -> _Cut:
    """Return the segments of the records. Raise ValueError for numbers that these do not show."""
    check(names, system)
    held = [record.held for record in records]
    tilts = any(name in names for name in TILT)
    if any(held) and tilts:
        raise ValueError(
            f"a rod that swings on a cart that stands does not show {TILT[0]} and {TILT[1]}; "
            "leave them out of --fit"
        )
    if tilts and ("cart.friction" in names or system.cart_friction > 0.0):
        raise ValueError(
            f"{TILT[0]} and {TILT[1]} are fitted to a cart without Coulomb friction only: leave "
            "them out of --fit, or cart.friction out and at 0"
        )
    time = duration(records)
    segment = segment or (decay_segment(time) if all(held) else usual_segment(time))
    lead = LARGEST_DELAY + (MEMORY if LAG in names else 0.0)
    first = _cut(records, min(segment, SURE), lead)
    segments = first if segment <= SURE else _cut(records, segment, lead)
    fitted = [s for i, s in enumerate(segments) if (i + 1) % HELD_BACK]
    rest = [s for i, s in enumerate(segments) if not (i + 1) % HELD_BACK]
    return _Cut(segment, first, segments, fitted, rest, _cut(records, segment, lead))


def _approach(
    records: list[MotionRecord], system: System, begin: dict[str, float], cut: _Cut, robust: bool
) -> tuple[_Problem, Array]:
    """Return the problem of the segments that are fitted, with the deviations of their residuals,
    and the numbers (p,) that solve it, from the values with which they begin. Raise NotFitted if
    they do not explain the records.
    """
    names, p = tuple(begin), np.array([*begin.values()])
    limits = np.array([bounds(name, value) for name, value in begin.items()])
    problem = _Problem(records, system, names, cut.first, np.full(SEEN, 1e-3))
    if not np.isfinite(problem.residuals(p)).all():
        raise NotFitted(FAR)
    for tolerance in (COARSE, FINE):  # the second time with the deviations from the first
        for _ in range(RESTARTS):
            p = _minimize(problem, p, limits, robust, tolerance)
            if not _restart(problem, p):
                break
        left = _deviations(problem.residuals(p), problem.scale)
        _check_loose(problem, dict(zip(names, p.tolist())))
        _check_explained(left, problem.segments)
        if problem.segments is cut.first:
            _copy_starts(cut.segments, cut.first)
        # of a cart that stands the residuals are 0: with their deviation alone the rod would not
        # count in the ranks of `Segment`
        scale = np.repeat(np.maximum(left, max(1e-12, LEAST_SCALE * max(left))), 2)
        problem = problem.on(cut.fitted, scale)
    return problem, p


def _check_loose(problem: _Problem, given: dict[str, float]) -> None:
    """Raise NotFitted where the friction of a cart is to be fitted that never breaks loose."""
    free = [s for s in problem.segments if not problem.records[s.of].held]
    if not free or given.get("cart.friction", 0.0) == 0.0:
        return
    speed = np.quantile(np.concatenate([np.hypot(*s.S[:, 6:8].T) for s in free]), 0.95)
    if speed < LOOSE:
        force = max(float(np.hypot(*record.force.T).max()) for record in problem.records)
        raise NotFitted(
            f"the force, up to {force:.3g} N, never breaks the cart loose: it creeps with less "
            f"than {1e3 * LOOSE:g} mm/s, at which its friction is not known; record a motion "
            "under a larger force, or leave cart.friction out of the fit by --known"
        )


def _start(
    system: System, names: tuple[str, ...], records: list[MotionRecord]
) -> dict[str, float]:
    """Return the numbers, by their names, from which the fit begins: those known before or, of
    records of rods that swing without a force, those that follow from the frequency and the recoil
    of the cart.
    """
    begin = {name: start_of(system, name) for name in names}
    if not any(record.force.any() for record in records):
        begin |= {n: v for n, v in _of_swing(records[0], system).items() if n in names}
    return begin


def _of_swing(record: MotionRecord, system: System) -> dict[str, float]:
    """Return about the numbers of a hanging rod that swings with the frequency w on a cart that
    moves by -r times its direction: g / w^2 = L - r, r = m l / (M + m).
    """
    length, recoil = swing(record, system.gravity)
    m, l = system.rod_mass, system.center
    if record.held:
        recoil = 0.0
    found = {LENGTH: length + recoil}
    swinging = plant(system, found)
    if length + recoil > l:
        found["rod.inertia"] = swinging.inertia[0]
    if 0.0 < recoil < l:
        found["cart.mass"] = m * (l / recoil - 1.0)
    J = m * swinging.center * found[LENGTH]
    decay = SWING_DAMPING * J * math.sqrt(system.gravity / length)
    return found | {"joint.damping": max(system.joint_damping, decay)}


def decay_segment(time: float) -> float:
    """Return the length [s] of a segment of records of `time` [s] of a rod that hangs, which is
    stable: the longer, the better its damping is determined.
    """
    return min(max(usual_segment(time), math.floor(time / DECAY_SEGMENTS)), LONGEST_SEGMENT)


def usual_segment(time: float) -> float:
    """Return the length [s] of a segment of records of `time` [s]."""
    return LONG if time >= ENOUGH else SURE


def _minimize(
    problem: _Problem, start: Array, limits: Array, robust: bool, tolerance: float
) -> Array:
    """Return the numbers (p,) between the limits (p, 2) that minimize the squares. Raise NotFitted
    if the steps fail.
    """
    low, high = limits.T
    if coulomb_friction.acts(plant(problem.system, dict(zip(problem.names, start.tolist())))):
        tolerance = max(tolerance, RUBBING)
    jacobian: Any = problem.jacobian
    solution = least_squares(
        problem.residuals,
        np.clip(start, low + 1e-6, high),
        jacobian,
        bounds=(low, high),
        x_scale=np.array([size_of(name, v) for name, v in zip(problem.names, start)]),
        loss="soft_l1" if robust else "linear",
        f_scale=3.0,
        xtol=tolerance,
        ftol=tolerance,
        max_nfev=TRIALS,
    )
    if not np.isfinite(solution.cost):
        raise NotFitted(FAR)
    return solution.x


def _restart(problem: _Problem, p: Array) -> bool:
    """Let those segments start from the measured state again that come nearer to the record from
    there; return whether any does. Where friction holds the cart, states that suit numbers far
    from p may have no way back; such segments leave more than the others.
    """
    system = plant(problem.system, dict(zip(problem.names, p.tolist())))
    if not coulomb_friction.acts(system):
        return False
    segments = problem.segments
    begin = np.cumsum([0, *(len(segment.at) * SEEN for segment in segments)])[:-1]
    before = np.add.reduceat(problem.residuals(p) ** 2, begin)
    doubtful = np.flatnonzero(before > MORE * np.quantile(before, 0.25)).tolist()
    if not doubtful:
        return False
    starts = [segments[i].S[0].copy() for i in doubtful]
    for i in doubtful:
        segments[i].S[0] = segments[i].measured
    problem.last = b"", None
    after = np.add.reduceat(problem.residuals(p) ** 2, begin)
    is_nearer = after < NEARER * before  # nan compares false
    for i, start in zip(doubtful, starts):
        if not is_nearer[i]:
            segments[i].S[0] = start
    problem.last = b"", None
    return bool(is_nearer[doubtful].any())


def _copy_starts(segments: list[Segment], others: list[Segment]) -> None:
    """Let segments start from the fitted states of others with the same first sample."""
    found = {(segment.of, segment.first): segment.S[0] for segment in others}
    for segment in segments:
        segment.S[0] = found.get((segment.of, segment.first), segment.S[0])


def _check_explained(left: tuple[float, float], segments: list[Segment]) -> None:
    """Raise NotFitted where straight lines over each segment are about as near to the measurements
    as the fit, whose residuals are `left` [m, rad]; cart and rod count where they move, by more
    than their noise.
    """
    lines, noise = (
        _deviations(np.concatenate([part.ravel() for part in parts]), np.ones(SEEN))
        for parts in zip(*((segment.lines(), segment.noise()) for segment in segments))
    )
    moved = [old > max(MOVED * least, 1e-9) for old, least in zip(lines, noise)]
    ratios = [new / old for new, old, moves in zip(left, lines, moved) if moves]
    if not ratios or rms(np.array(ratios)) > EXPLAINED:
        place, angle, x, a = (1e3 * value for value in (*left, *lines))
        raise NotFitted(
            f"the plant explains little of the record: it leaves {place:.3g} mm and {angle:.3g} "
            f"mrad, straight lines over each segment {x:.3g} mm and {a:.3g} mrad; {OTHERWISE}, or "
            "the rod hardly moves"
        )


def _check_range(found: Fit, low: Array, high: Array) -> tuple[str, ...]:
    """Return the numbers that end at `low` or `high` and are hardly determined. Raise NotFitted
    where one that is determined does.
    """
    at_end = []
    for (name, value, width), least, most in zip(found.rows, low, high):
        ends = value > most * (1.0 - NEAR) or (least != 0.0 and value < least + NEAR * abs(least))
        if ends:
            at_end.append(name)
        if ends and width < size_of(name, value):
            raise NotFitted(
                f"{name} runs to {value:.4g}, an end of the range from {least:g} to {most:g} in "
                f"which it is sought; {OTHERWISE}"
            )
    return tuple(at_end)


def sensitivity(
    record: MotionRecord,
    system: System,
    names: tuple[str, ...],
    scale: Array,
    segment: float = 1.0,
) -> Array:
    """Return J (n, p) of (I.3) by `names` along a record of `system` itself, residuals over
    `scale` (SEEN,) [m, rad]. Raise ValueError for a name that is unknown.
    """
    check(names, system)
    segments = _cut([record], segment, LARGEST_DELAY)
    problem = _Problem([record], system, names, segments, scale)
    return problem.jacobian(np.array([numbers(system)[name] for name in names]))


def _cut(records: list[MotionRecord], segment: float, lead: float) -> list[Segment]:
    """Return segments of `segment` [s], one after the other, from `lead` [s] on: the forces before
    the record are not known.
    """
    segments = []
    for of, record in enumerate(records):
        every = max(1, round(SAMPLE / record.h))
        length = every * max(1, round(segment / (every * record.h)))
        firsts = range(math.ceil(lead / record.h), len(record.force) - length + 1, length)
        parts = _parts(record)
        segments += [Segment(record, of, first, length, every, parts) for first in firsts]
    return segments


def _parts(record: MotionRecord) -> int:
    """Return the number of steps from each sample to the next. A rod that swings freely shows its
    length within 1e-4, and steps that turn its phase by a make an error of about a^2 / 10.
    """
    if record.force.any():
        return 1
    phase = record.h / math.sqrt(swing(record, 1.0)[0])
    return min(MOST_PARTS, math.ceil(phase / PHASE))


def _deviations(residual: Array, scale: Array) -> tuple[float, float]:
    """Return the effective deviations of place and attitude of residuals (SEEN n,) over
    `scale`.
    """
    r = residual.reshape(-1, SEEN) * scale
    return rms(r[:, :2]), rms(r[:, 2:])


def _spread(problem: _Problem, p: Array) -> intervals.Spread:
    """Return the uncertainty of the numbers (p,) by the Jacobian and the residuals."""
    scale = np.array([size_of(n, v) for n, v in zip(problem.names, p)])
    r = problem.residuals(p)
    found = intervals.spread(problem.jacobian(p) * scale, r, _clusters(problem, r), WEAK)
    return found._replace(deviations=scale * found.deviations, intervals=scale * found.intervals)


def _report(problem: _Problem, p: Array, spread: intervals.Spread, cut: _Cut) -> Fit:
    """Return the fit with the uncertainty `spread`, and the residuals of all segments."""
    directions = []
    for direction in spread.weak:
        direction = direction / direction[np.argmax(np.abs(direction))]
        directions.append({n: float(d) for n, d in zip(problem.names, direction) if abs(d) > 0.05})
    validation = (math.nan, math.nan)
    if cut.rest:
        validation = _deviations(problem.on(cut.rest, problem.scale).residuals(p), problem.scale)
    _copy_starts(cut.fresh, cut.segments)
    r = problem.residuals(p)
    return Fit(
        problem.names,
        p,
        spread.deviations,
        spread.intervals,
        tuple(directions),
        _deviations(r, problem.scale),
        validation,
        intervals.whiteness(r.reshape(-1, SEEN)),
        _curves(problem, p, cut.segments, cut.fresh),
    )


def _curves(problem: _Problem, p: Array, segments: list[Segment], fresh: list[Segment]) -> Curves:
    """Return the residuals over time, of all `segments`; `fresh` are the same for the numbers
    known before.
    """
    known = np.array([numbers(problem.system)[name] for name in problem.names])
    before, after = (
        problem.on(part, problem.scale).residuals(at).reshape(-1, SEEN) * problem.scale
        for part, at in ((fresh, known), (segments, p))
    )
    begin = np.cumsum([0, *(len(record.force) * record.h for record in problem.records)])
    t = np.concatenate([begin[s.of] + s.first * s.parts * s.h + s.at * s.h for s in segments])
    fitted = np.concatenate([np.full(len(s.at), s in problem.segments) for s in segments])
    return Curves(t, before, after, fitted)


def _clusters(problem: _Problem, residual: Array) -> Array:
    """Return the cluster of each residual by (I.4), separately for each record."""
    labels, begin, next_label = [], 0, 0
    for _, group in groupby(problem.segments, key=lambda segment: segment.of):
        segments = list(group)
        first = np.array([segment.first for segment in segments])
        at = segments[0].rows
        size = len(segments) * len(at) * SEEN
        own = residual[begin : begin + size].reshape(len(segments), len(at), SEEN)
        spacing = int(at[1])
        period = intervals.repetition(own, first, spacing)
        parts = intervals.parts_of(first, int(at[-1]), spacing, period)
        labels.append(np.repeat(next_label + parts.ravel(), SEEN))
        begin, next_label = begin + size, next_label + int(parts.max()) + 1
    return np.concatenate(labels)
