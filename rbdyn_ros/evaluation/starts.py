"""Random starts of a swing-up.

Each depends on the seed and its own number alone, not on how many there are.
"""

import math
from collections.abc import Iterable

import numpy as np

from rbdyn_ros.types import Array


def draw(kind: str, seed: int, numbers: Iterable[int]) -> Array:
    """The starts (n, 11), q and v, of a kind of `KINDS`, by their numbers."""
    return np.array(
        [KINDS[kind](np.random.default_rng((seed, number))) for number in numbers]
    ).reshape(-1, 11)


def exact(rng) -> tuple[float, ...]:
    """Hanging at rest: an equilibrium."""
    return _start(math.pi, 0.0, 0.0, 0.0, 0.0)


def hanging(rng) -> tuple[float, ...]:
    """Hanging, a little disturbed: 0.05 rad, 0.02 rad/s, a spin of 3 rad/s."""
    tilt, azimuth = math.pi - rng.uniform(0.0, 0.05), _azimuth(rng)
    down, across = rng.normal(0.0, 0.02, 2)
    return _start(tilt, azimuth, down, across, rng.uniform(-3.0, 3.0))


def precessing(rng) -> tuple[float, ...]:
    """On a cone of up to 40 degrees about hanging: precession to 3 rad/s, swing to 1.5 rad/s, spin
    to 10 rad/s.
    """
    tilt = math.pi - rng.uniform(0.0, math.radians(40.0))
    swing, precession = rng.uniform(-1.5, 1.5), rng.uniform(-3.0, 3.0)
    return _start(
        tilt, _azimuth(rng), swing, precession * math.sin(tilt), rng.uniform(-10.0, 10.0)
    )


def anywhere(rng) -> tuple[float, ...]:
    """Any attitude, a rate of up to 3 rad/s in any direction, spin to 10 rad/s."""
    rate, course = 3.0 * math.sqrt(rng.uniform()), rng.uniform(0.0, 2.0 * math.pi)
    tilt = math.acos(rng.uniform(-1.0, 1.0))
    return _start(
        tilt,
        _azimuth(rng),
        rate * math.cos(course),
        rate * math.sin(course),
        rng.uniform(-10.0, 10.0),
    )


KINDS = {kind.__name__: kind for kind in (exact, hanging, precessing, anywhere)}


def _azimuth(rng) -> float:
    return rng.uniform(0.0, 2.0 * math.pi)


def _start(tilt: float, azimuth: float, down: float, across: float, spin: float) -> tuple:
    """q and v of a rod at `tilt` [rad] towards `azimuth` [rad] whose tip moves `down` and `across`
    [rad/s]; cart at rest.

    With the horizontal directions e along the azimuth and n across it, q = exp(tilt n^) and w =
    down n - across e + spin e3.
    """
    c, s, half = math.cos(azimuth), math.sin(azimuth), 0.5 * tilt
    q = (0.0, 0.0, math.cos(half), -s * math.sin(half), c * math.sin(half), 0.0)
    return (*q, 0.0, 0.0, -down * s - across * c, down * c - across * s, spin)
