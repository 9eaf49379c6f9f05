"""The reader of recorded motions: a table of `simulate` or of the user (.csv, .npz), or a bag.

A record to which a plant is fitted has to be in SI units, with a rod that stays up, and under a
force that is not cut by a limit.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array
from rbdyn_ros.view import recording

# parts of the period by which a sample may be early or late: without a note, and at most (with
# more, steps between two samples are like those over a missing or a repeated row)
EVEN, JITTER = 0.01, 0.25
UNIT = 1e-3  # by which the length of a quaternion may differ from 1
SHORTEST = 10  # samples of a piece


class MotionRecord(NamedTuple):
    """A motion in samples h [s] apart."""

    h: float  # [s]
    place: Array  # (n + 1, 2) of the cart [m]
    attitude: Array  # (n + 1, 4) wxyz
    velocity: Array  # (n + 1, 5) initial guess of v: cart [m/s], rates [rad/s, body]
    force: Array  # (n, 2) [N] from each sample on
    held: bool = False  # whether the cart stands, without a force: then it is a fixed pivot


def read(path: Path) -> tuple[list[MotionRecord], list[str]]:
    """Return (the pieces of a file without a gap, sentences on what was left out).

    Raise ValueError, with one sentence, for a file that is no record of a motion under known
    forces.
    """
    table = recording.read(path)
    try:
        pieces, notes = _cut(table, *_columns(table))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return pieces, [f"{path}: {note}" for note in notes]


def _columns(table: recording.Table) -> tuple[Array, Array, Array]:
    """Return t (n,), attitude (n, 4) and force (n, 2). Raise ValueError for a table that is no
    record of a motion.
    """
    t, q = table["t"], np.column_stack([table[name] for name in ("qw", "qx", "qy", "qz")])
    missing = [axis for axis in "xy" if not np.isfinite(table[f"F{axis}"]).any()]
    hangs = len(missing) == 2 and np.mean(np.sum(q[:, 1:3] ** 2, axis=1)) > 0.5
    if lost := [f"F{axis}" for axis in missing if np.ptp(table[axis]) > 0.0 and not hangs]:
        raise ValueError(
            f"it has no column {' and '.join(lost)}, the force on the cart [N] from "
            "each row on; a bag needs wrench/cart; only a rod that swings, hanging, needs none"
        )
    force = np.column_stack(
        [np.zeros(len(t)) if axis in missing else table[f"F{axis}"] for axis in "xy"]
    )
    if len(t) < SHORTEST:
        raise ValueError(f"it has {len(t)} rows; record a longer motion")
    with np.errstate(over="ignore"):
        length = np.linalg.norm(q, axis=1)
    if np.abs(length - 1.0).max() > UNIT:
        row = int(np.abs(length - 1.0).argmax())
        raise ValueError(
            f"at t = {t[row]:g} s qw, qx, qy, qz have the length {length[row]:.4g}; they "
            "must be a unit quaternion"
        )
    return t, q, force


def _cut(
    table: recording.Table, t: Array, q: Array, force: Array
) -> tuple[list[MotionRecord], list[str]]:
    """Return the pieces without a gap, and sentences on what was left out. Raise ValueError if no
    piece can be used.
    """
    h = float(np.median(np.diff(t)))
    if not h > 0.0:
        raise ValueError("most of its rows have the time of the row before")
    acting = force[np.isfinite(force).all(axis=1)]
    if acting.any() and not np.ptp(acting, axis=0).any():
        raise ValueError("its force never changes, so it says nothing of the plant")
    check_period(h)
    steps, notes = np.diff(t), []
    even = np.abs(steps - h) <= 2.0 * JITTER * h
    jitter = 0.5 * float(np.abs(steps[even] / h - 1.0).max(initial=0.0))
    h = float(np.mean(steps[even]))  # of stamps that are rounded the median is one of two values
    if jitter > EVEN:
        notes.append(
            f"its rows are {h:g} s apart, and up to {100.0 * jitter:.0f} % of that early or late; "
            "they are taken as evenly spaced"
        )
    lies, falls = find_falls(h, q)
    known = np.isfinite(force[:-1]).all(axis=1)
    pieces = [_piece(table, q, force, h, rows) for rows in _runs(even & known & ~lies[:-1])]
    if not pieces:
        raise ValueError(
            f"its rows are not evenly spaced in time (most are {h:g} s apart); a fit "
            "needs a fixed period"
        )
    place = np.column_stack((table["x"], table["y"]))
    if acting.any() and not moves(place):
        raise ValueError(
            f"its force, up to {np.hypot(*acting.T).max():.3g} N, does not move the cart: it "
            "cannot break it loose; record a motion under a larger force"
        )
    if not acting.any():
        notes.append(
            "it has no force, so that the rod swings freely, "
            + ("on a cart that stands" if pieces[0].held else "and moves the cart")
        )
    if gaps := np.count_nonzero(~even):
        notes.append(f"cut at {gaps} gaps or repeated rows in its time")
    if lost := np.count_nonzero(~known):
        notes.append(f"{lost} rows without a force were left out")
    if falls:
        notes.append(
            f"the rod fell at t = {', '.join(f'{t[row]:.3g}' for row in falls)} s; the "
            f"{h * np.count_nonzero(lies):.3g} s until it stands again, or to the end, are left "
            "out"
        )
    return pieces, notes + limit_notes(acting)


def _runs(good: Array) -> Iterator[slice]:
    """Yield the rows of each run of good steps (n - 1,) that is not too short."""
    first = 0
    for row in [*np.flatnonzero(~good).tolist(), len(good)]:
        if row - first >= SHORTEST:
            yield slice(first, row + 1)
        first = row + 1


def _piece(table: recording.Table, q: Array, force: Array, h: float, rows: slice) -> MotionRecord:
    """Return one piece, with velocities by differences where the file has none. Raise ValueError
    for units that differ.
    """
    place = np.column_stack((table["x"], table["y"]))[rows]
    attitude = q[rows]
    velocity = np.column_stack([table[name] for name in ("vx", "vy", "wx", "wy", "wz")])[rows]
    turns = quaternion.log(quaternion.product(quaternion.conjugate(attitude[:-1]), attitude[1:]))
    moved = np.cumsum(np.vstack((np.zeros(5), np.hstack((np.diff(place, axis=0), turns)))), axis=0)
    change = _rate(moved, h, 0.01)  # over so long a time, against noise
    check_units(h, place, velocity, change)
    if not np.isfinite(velocity).all():
        velocity = np.hstack((change[:, :4], _rate(moved[:, 4:], h, 0.05)))
    force = force[rows][:-1]
    return MotionRecord(
        h, place, attitude, velocity, force, not force.any() and stands(place, attitude, h)
    )


def moves(place: Array) -> bool:
    """Return whether the cart's positions (n, 2) [m] change by more than their noise, which is
    that of their third differences.
    """
    return rms(place - place.mean(axis=0)) > MOVED * rms(np.diff(place, 3, axis=0)) / math.sqrt(
        20.0
    )


def stands(place: Array, attitude: Array, h: float) -> bool:
    """Return whether less than half of the changes of the cart's position goes with the direction
    of the rod: the rest is noise.
    """
    changes, turns = _changes(place, attitude, h)
    along = np.linalg.qr(turns)[0].T @ changes
    return bool(np.sum(along**2) <= 0.5 * np.sum(changes**2))


def swing(record: MotionRecord, gravity: float) -> tuple[float, float]:
    """Return about how a hanging rod swings: the length [m] of the simple pendulum, g / w^2 with w
    the frequency at which its direction changes most, and how far [m] the cart moves against the
    direction of the rod, a unit vector.
    """
    direction = quaternion.to_matrix(record.attitude)[:, :2, 2]
    n = len(direction)
    wave = (direction - direction.mean(axis=0)) * np.hanning(n)[:, None]
    power = np.sum(np.abs(np.fft.rfft(wave, 8 * n, axis=0)) ** 2, axis=1)
    w = 2.0 * math.pi * max(1, int(power.argmax())) / (8 * n * record.h)
    changes, turns = _changes(record.place, record.attitude, record.h)
    recoil = -np.sum(changes * turns) / max(float(np.sum(turns**2)), np.finfo(float).tiny)
    return gravity / w**2, float(recoil)


def _changes(place: Array, attitude: Array, h: float) -> tuple[Array, Array]:
    """Return the cart's positions and the horizontal parts of the rod's direction (n, 2) each,
    without straight lines over a second.
    """
    direction = quaternion.to_matrix(attitude)[:, :2, 2]
    n = min(len(place), max(SHORTEST, round(1.0 / h)))
    lines = np.linalg.qr(np.column_stack((np.ones(n), np.arange(n))))[0]
    parts = np.hstack((place, direction))[: len(place) // n * n].reshape(-1, n, 4)
    changes, turns = np.split((parts - lines @ (lines.T @ parts)).reshape(-1, 4), 2, axis=1)
    return changes, turns


def _rate(moved: Array, h: float, time: float) -> Array:
    """Return the rate of change of signals (n, m), h [s] apart, over `time` [s] to both sides."""
    wide = max(1, round(time / h))
    index = np.arange(len(moved))
    late, early = np.minimum(index + wide, len(moved) - 1), np.maximum(index - wide, 0)
    return (moved[late] - moved[early]) / ((late - early) * h)[:, None]


def duration(records: list[MotionRecord]) -> float:
    """Return the length of all records [s]."""
    return math.fsum(len(record.force) * record.h for record in records)


def delay(force: Array, tau: float, h: float) -> tuple[Array, Array]:
    """Return (u_k(tau), du/dtau) of forces (n, 2) held for h [s]; the force before the first one
    equals it.
    """
    n, f = divmod(max(tau, 0.0) / h, 1.0)
    k = np.arange(len(force))
    newer, older = force[np.maximum(k - int(n), 0)], force[np.maximum(k - int(n) - 1, 0)]
    return newer + f * (older - newer), (older - newer) / h


def lag(force: Array, T: float, h: float) -> tuple[Array, Array]:
    """Return (the output of a drive with the time constant T [s] for forces (n, 2), its derivative
    by T).

    A force u_k that is held for h [s] becomes its mean over the step, u_k + L (f_k - u_k), where
    f_{k+1} = u_k + e (f_k - u_k), e = exp(-h / T), L = (T / h) (1 - e), as in
    `plant.faults.pipeline`; the force before the first one equals it.
    """
    if T <= 0.0:
        before = np.vstack((force[:1], force[:-1]))
        return force, (before - force) / h
    from scipy.signal import lfilter  # takes a second

    e = math.exp(-h / T)
    L, by_e, by_L = T / h * (1.0 - e), e * h / T**2, (1.0 - e) / h - e / T

    def follow(driven: Array, first: Array) -> Array:
        return lfilter([0.0, 1.0], [1.0, -e], driven, axis=0, zi=first[None])[0]

    rest = follow((1.0 - e) * force, force[0]) - force
    return force + L * rest, by_L * rest + L * follow(by_e * rest, np.zeros(2))


def actuate(force: Array, gain: float, tau: float, T: float, h: float) -> tuple[Array, Array]:
    """Return (the force (n, 2) that acts, its derivative (n, 2, 3) by gain, delay and lag) of
    commands (n, 2) that are multiplied, delayed by tau [s], and lagged by a drive.
    """
    late, by_tau = delay(gain * force, tau, h)
    acting, by_T = lag(late, T, h)
    return acting, np.stack((acting / gain, lag(by_tau, T, h)[0], by_T), axis=-1)


LONGEST = 0.05  # [s] between rows: a rod falls in a few tenths of a second
FASTEST, STRONGEST = 50.0, 100.0  # [m/s], [m/s^2] of a cart, effective
WIDE = 0.05  # [s] over which an acceleration is taken, against noise of encoders
ALIKE, TIMES = 0.7, 5.0  # correlation of two rates, and their ratio, for different units
STANDS, FALLEN = math.radians(45.0), math.radians(80.0)  # from upright
STEADY = 1.0  # [s] for which a rod must be upright to stand
MOVED = 2.0  # times its noise by which a cart that moves does
AT_LIMIT = 0.05  # part of the rows with the largest force from which there is a note


def check_period(h: float) -> None:
    """Raise ValueError where rows are farther apart than `LONGEST`."""
    if h > LONGEST:
        raise ValueError(
            f"its rows are {h:g} s apart by its column t; it must be at most {LONGEST:g} s, and t "
            "in seconds, not ms"
        )


def check_units(h: float, place: Array, velocity: Array, change: Array) -> None:
    """Raise ValueError where the cart moves implausibly, or velocities are not the change of the
    pose.

    `place` (n, 2) [m], `velocity` (n, 5) of the file, nan where it has none, `change` (n,
    5) the same by differences of the pose.
    """
    wide = max(1, round(WIDE / h))
    bend = (place[2 * wide :] - 2.0 * place[wide:-wide] + place[: -2 * wide]) / (wide * h) ** 2
    speed = rms(change[:, :2])
    if speed > FASTEST or rms(bend) > STRONGEST:
        raise ValueError(
            f"its cart moves with {speed:.3g} m/s and {rms(bend):.3g} m/s^2, as no cart "
            "does; x and y must be in m, not mm, and t in s"
        )
    for columns, names, of in (
        (slice(0, 2), "vx, vy", "x, y over t; they must be in m/s, x and y in m, and t in s"),
        (slice(2, 4), "wx, wy", "the attitude over t; they must be in rad/s, not degrees"),
    ):
        reported, seen = velocity[:, columns], change[:, columns]
        if not np.isfinite(reported).all() or not reported.any() or not seen.any():
            continue
        ratio = rms(reported) / rms(seen)
        alike = float(np.mean(reported * seen)) / (rms(reported) * rms(seen))
        if alike > ALIKE and not 1.0 / TIMES < ratio < TIMES:
            raise ValueError(f"its {names} are {ratio:.3g} times the change of {of}")


def find_falls(h: float, attitude: Array) -> tuple[Array, list[int]]:
    """Return (whether the rod lies (n,), the rows of its falls) by the attitudes (n, 4).

    It falls where it passes `FALLEN` after it stood for `STEADY`, and lies until it stands again;
    one that hangs from the start on does not fall.
    """
    lean = np.arccos(np.clip(1.0 - 2.0 * np.sum(attitude[:, 1:3] ** 2, axis=1), -1.0, 1.0))
    lies, falls = np.zeros(len(lean), bool), []
    up, stood, down = 0, False, False
    for k, angle in enumerate(lean.tolist()):
        up = up + 1 if angle < STANDS else 0
        if up * h >= STEADY:
            stood, down = True, False
        if stood and angle > FALLEN:
            stood, down = False, True
            falls.append(k)
        lies[k] = down
    return lies, falls


def limit_notes(force: Array) -> list[str]:
    """Return a sentence where more than `AT_LIMIT` of the forces (n, 2) [N] have the largest
    norm.
    """
    size = np.hypot(*force.T)
    part = float(np.mean(size >= (1.0 - 1e-6) * size.max()))
    if part <= AT_LIMIT or size.max() == 0.0:
        return []
    return [
        f"its force has its largest size, {size.max():.4g} N, in {part:.0%} of its rows; if the "
        "drive was at its limit there and gave less, the fit is of that force: stay below the "
        "limit, or record what acted"
    ]


def rms(values: Array) -> float:
    """Return the root of the mean square, 0 without values."""
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
