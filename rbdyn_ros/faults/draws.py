"""Random numbers that belong to one fault: what another one draws does not shift them."""

from zlib import crc32

import numpy as np


def draws(seed: int, name: str) -> np.random.Generator:
    """The stream of `name` under a seed >= 0; another name, or another seed, gives an independent
    one.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),)))
