"""No force: the rod falls, the reference is ignored. To see the plant alone, and to stop."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.types import Array, State

KINDS = ()  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """Nothing to choose."""


class Rest:
    """u = 0."""

    def command(self, t: float, state: State, reference: Array) -> Array:
        """(0, 0) [N], whatever the state."""
        return np.zeros(2)

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Rest:
    """Return the law u = 0, for any plant."""
    return Rest()
