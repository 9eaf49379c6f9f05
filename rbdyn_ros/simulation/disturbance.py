"""A force towards a place: what a click on the pendulum asks for."""

import math


def towards(
    target: tuple[float, ...], point: tuple[float, ...], force: float
) -> tuple[float, ...]:
    """A force of size `force` [N] from `point` towards `target` (3,), zero if they are the
    same.
    """
    d = tuple(a - b for a, b in zip(target, point))
    distance = math.sqrt(sum(c * c for c in d))
    return tuple(force * c / distance for c in d) if distance > 0.0 else (0.0, 0.0, 0.0)
