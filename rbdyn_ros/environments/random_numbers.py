"""Random numbers of an episode, by its seed, its number and their place: no state, so that they
are the same alone and among thousands.

The n-th number of a key is mix(key + n gamma), the generator SplitMix64 (Steele, Lea, Flood,
"Fast splittable pseudorandom number generators", 2014) with a jump to its n-th step.
"""

import math
from zlib import crc32

import numpy as np

from rbdyn_ros.kernel import inlined
from rbdyn_ros.types import Array

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@inlined
def mix(z):
    """Return the output of SplitMix64 for z (uint64): 64 bits, each of which depends on all of
    z.
    """
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


_mix = getattr(mix, "py_func", mix)  # of an array: whole numbers, so there is but one result


@inlined
def uniform(key, n):
    """Return the n-th number of a key (both uint64), uniform in (0, 1)."""
    return (float(mix(key + n * GAMMA) >> _11) + 0.5) * 2.0**-53


@inlined
def normal_pair(key, n):
    """Return numbers 2 n and 2 n + 1 of a key, normally distributed by Box and Muller's method."""
    radius = math.sqrt(-2.0 * math.log(uniform(key, n + n)))
    angle = 2.0 * math.pi * uniform(key, n + n + np.uint64(1))
    return radius * math.cos(angle), radius * math.sin(angle)


def keys(seeds: Array, episodes: Array) -> Array:
    """Return the keys (m,) of episodes (m,) of seeds (m,), both uint64."""
    return _mix(_mix(seeds) + episodes * GAMMA)


def uniform_of(keys: Array, name: str) -> Array:
    """Return the number (m,) of a name that each key draws, uniform in (0, 1)."""
    own = _mix(keys ^ np.uint64(crc32(name.encode())))
    return ((own >> _11).astype(float) + 0.5) * 2.0**-53
