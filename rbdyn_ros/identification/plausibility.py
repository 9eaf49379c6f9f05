"""What a record must be before a plant is fitted to it: in SI units, with a rod that stays up, and
under a force that is no limit's.
"""

import math

import numpy as np

from rbdyn_ros.types import Array

LONGEST = 0.05  # [s] between rows: a rod falls in a few tenths of a second
FASTEST, STRONGEST = 50.0, 100.0  # [m/s], [m/s^2] of a cart, effective
WIDE = 0.05  # [s] over which an acceleration is taken, against noise of encoders
ALIKE, TIMES = 0.7, 5.0  # correlation of two rates, and their ratio, from which units differ
STANDS, FALLEN = math.radians(45.0), math.radians(80.0)  # from upright
STEADY = 1.0  # [s] for which a rod must be up to stand
AT_LIMIT = 0.05  # part of the rows at which a largest force is remarked on


def check_period(h: float) -> None:
    """ValueError where rows are farther apart than `LONGEST`."""
    if h > LONGEST:
        raise ValueError(
            f"its rows are {h:g} s apart by its column t; it must be at most {LONGEST:g} s, and t "
            "in seconds, not ms"
        )


def check_units(h: float, place: Array, velocity: Array, change: Array) -> None:
    """ValueError where the cart moves as none does, or velocities are not the change of the pose.

    `place` (n, 2) [m], `velocity` (n, 5) as the file has it, nan where it has none, `change` (n,
    5) the same by differences of the pose.
    """
    wide = max(1, round(WIDE / h))
    bend = (place[2 * wide :] - 2.0 * place[wide:-wide] + place[: -2 * wide]) / (wide * h) ** 2
    speed = _effective(change[:, :2])
    if speed > FASTEST or _effective(bend) > STRONGEST:
        raise ValueError(
            f"its cart moves with {speed:.3g} m/s and {_effective(bend):.3g} m/s^2, as no cart "
            "does; x and y must be in m, not mm, and t in s"
        )
    for columns, names, of in (
        (slice(0, 2), "vx, vy", "x, y over t; they must be in m/s, x and y in m, and t in s"),
        (slice(2, 4), "wx, wy", "the attitude over t; they must be in rad/s, not degrees"),
    ):
        told, seen = velocity[:, columns], change[:, columns]
        if not np.isfinite(told).all() or not told.any() or not seen.any():
            continue
        ratio = _effective(told) / _effective(seen)
        alike = float(np.mean(told * seen)) / (_effective(told) * _effective(seen))
        if alike > ALIKE and not 1.0 / TIMES < ratio < TIMES:
            raise ValueError(f"its {names} are {ratio:.3g} times the change of {of}")


def fallen(h: float, attitude: Array) -> tuple[Array, list[int]]:
    """(where the rod lies (n,), the rows of its falls) by the attitudes (n, 4).

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
    """A sentence where more than `AT_LIMIT` of the forces (n, 2) [N] have the largest norm."""
    size = np.hypot(*force.T)
    part = float(np.mean(size >= (1.0 - 1e-6) * size.max()))
    if part <= AT_LIMIT:
        return []
    return [
        f"its force has its largest size, {size.max():.4g} N, in {part:.0%} of its rows; if the "
        "drive was at its limit there and gave less, the fit is of that force: stay below the "
        "limit, or record what acted"
    ]


def _effective(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
