"""Read recorded motions: a table of `simulate` or of one's own (.csv, .npz), or a bag."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array
from rbdyn_ros.view import recording

EVEN = 0.02  # part of the period by which a sample may be early or late
UNIT = 1e-3  # by which the length of a quaternion may differ from 1
SHORTEST = 10  # samples of a piece


class Record(NamedTuple):
    """A motion in samples h [s] apart."""

    h: float  # [s]
    place: Array  # (n + 1, 2) of the cart [m]
    attitude: Array  # (n + 1, 4) wxyz
    velocity: Array  # (n + 1, 5) a first idea of v: cart [m/s], rates [rad/s, body]
    force: Array  # (n, 2) [N] from each sample on


def read(path: Path) -> tuple[list[Record], list[str]]:
    """(the pieces of a file without a gap, sentences on what was left out).

    ValueError, in one sentence, for what is no record of a motion under known forces.
    """
    table = recording.read(path)
    names = "Fx", "Fy"
    if missing := [name for name in names if not np.isfinite(table[name]).any()]:
        raise ValueError(
            f"{path}: it has no column {' and '.join(missing)}, the force on the cart [N] from "
            "each row on; a bag needs wrench/cart"
        )
    t, q = table["t"], np.column_stack([table[name] for name in ("qw", "qx", "qy", "qz")])
    if len(t) < SHORTEST:
        raise ValueError(f"{path}: it has {len(t)} rows; record a longer motion")
    length = np.linalg.norm(q, axis=1)
    if np.abs(length - 1.0).max() > UNIT:
        row = int(np.abs(length - 1.0).argmax())
        raise ValueError(
            f"{path}: at t = {t[row]:g} s qw, qx, qy, qz have the length {length[row]:.4g}; they "
            "must be a unit quaternion"
        )
    h = float(np.median(np.diff(t)))
    if not h > 0.0:
        raise ValueError(f"{path}: most of its rows have the time of the row before")
    force = np.column_stack([table[name] for name in names])
    if not np.ptp(force[np.isfinite(force).all(axis=1)], axis=0).any():
        raise ValueError(f"{path}: its force never changes, so it says nothing of the plant")
    even = np.abs(np.diff(t) - h) <= EVEN * h
    known = np.isfinite(force[:-1]).all(axis=1)
    pieces, notes = [], []
    first = 0
    for row in [*np.flatnonzero(~(even & known)).tolist(), len(t) - 1]:
        if row - first >= SHORTEST:
            pieces.append(_piece(table, q, force, h, slice(first, row + 1)))
        first = row + 1
    if not pieces:
        raise ValueError(
            f"{path}: its rows are not evenly spaced in time (most are {h:g} s apart); a fit "
            "needs a fixed period"
        )
    if gaps := np.count_nonzero(~even):
        notes.append(f"{path}: cut at {gaps} gaps or repeated rows in its time")
    if lost := np.count_nonzero(~known):
        notes.append(f"{path}: {lost} rows without a force were left out")
    return pieces, notes


def _piece(table: recording.Table, q: Array, force: Array, h: float, rows: slice) -> Record:
    """One piece, with velocities by differences where the file has none."""
    place = np.column_stack((table["x"], table["y"]))[rows]
    attitude = q[rows] * np.where(np.sum(q[rows] * q[rows][:1], axis=1) < 0.0, -1.0, 1.0)[:, None]
    velocity = np.column_stack([table[name] for name in ("vx", "vy", "wx", "wy", "wz")])[rows]
    if not np.isfinite(velocity).all():
        wide = max(1, round(0.01 / h))  # over which differences are taken, against noise
        index = np.arange(len(place))
        late, early = np.minimum(index + wide, len(place) - 1), np.maximum(index - wide, 0)
        span = ((late - early) * h)[:, None]
        turned = quaternion.product(quaternion.conjugate(attitude[early]), attitude[late])
        velocity = np.hstack(((place[late] - place[early]) / span, quaternion.log(turned) / span))
    return Record(h, place, attitude, velocity, force[rows][:-1])


def duration(records: list[Record]) -> float:
    """The length of all records [s]."""
    return math.fsum(len(record.force) * record.h for record in records)


def delayed(force: Array, tau: float, h: float) -> tuple[Array, Array]:
    """(u_k(tau), du/dtau) of forces (n, 2) held for h [s]; before the first, the first."""
    n, f = divmod(max(tau, 0.0) / h, 1.0)
    k = np.arange(len(force))
    newer, older = force[np.maximum(k - int(n), 0)], force[np.maximum(k - int(n) - 1, 0)]
    return newer + f * (older - newer), (older - newer) / h
