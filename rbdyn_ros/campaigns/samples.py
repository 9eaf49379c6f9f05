"""The numbers of a sample.

Those of sample i depend on i, on the seed and on the name alone: not on the batch that it is in.

Each name has a stream of its own, Philox with a counter: U_i in (0, 1) is the i-th number of it.
"""

from zlib import crc32

import numpy as np

from rbdyn_ros.campaigns.plan import CHOICE, UNIFORM, Draw, Plan
from rbdyn_ros.types import Array

_BLOCK = 4  # numbers of Philox for one step of its counter


def numbers(plan: Plan, begin: int, end: int) -> dict[str, Array]:
    """name -> values (end - begin,) of all that varies, of the samples from `begin` up to and
    without `end`.
    """
    point, columns = np.arange(begin, end) // plan.draws, {}
    for axis in reversed(plan.axes):
        columns[axis.name] = np.array(axis.values)[point % len(axis.values)]
        point //= len(axis.values)
    drawn = {
        draw.name: transform(draw, uniform(plan.seed, draw.name, begin, end))
        for draw in plan.drawn
    }
    return {name: columns[name] for name in reversed(columns)} | drawn


def uniform(seed: int, name: str, begin: int, end: int) -> Array:
    """U_begin ... U_{end - 1} of the stream of `name`."""
    return ((integers(seed, name, begin, end) >> 10) + 0.5) * 2.0**-53


def integers(seed: int, name: str, begin: int, end: int) -> Array:
    """The same as integers of 63 bits."""
    stream = np.random.Philox(key=(seed << 32) + crc32(name.encode()))
    stream.advance(begin // _BLOCK)
    raw = stream.random_raw(end - begin + begin % _BLOCK)[begin % _BLOCK :]
    return (raw >> np.uint64(1)).astype(np.int64)


def transform(draw: Draw, U: Array) -> Array:
    """What numbers U, uniform in (0, 1), are as drawn."""
    if draw.way == CHOICE:
        return np.array(draw.numbers)[(U * len(draw.numbers)).astype(int)]
    a, b = draw.numbers
    if draw.way == UNIFORM:
        return a + (b - a) * U
    from scipy.special import ndtri  # the inverse of the normal distribution: one U for one number

    return a + b * ndtri(U)
