"""The filters of entities in requests of `simulation_interfaces`.

They do not import that package, which is optional. Names are matched by POSIX extended regular
expressions, as the interface requires, with the C library's `regcomp`. Bounds are spheres and
boxes along the axes of the world; other bounds are not supported.
"""

import ctypes
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_EXTENDED = 1  # REG_EXTENDED of glibc, musl, the BSDs and macOS
_ROOM = 512  # bytes for a regex_t, 32 to 64 on all of them
EMPTY, BOX, CONVEX_HULL, SPHERE = 0, 1, 2, 3  # Bounds.TYPE_*
_LONGEST, _REPEATED = 256, 1000  # characters of an expression; product of its repetitions
_REPETITION = re.compile(r"\{(\d*),?(\d*)\}")
_BACK_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")  # takes for ever in glibc
_ALL = 1  # TagsFilter.FILTER_MODE_ALL
Corner = tuple[float, float, float]


class Entity(NamedTuple):
    """A body of the simulation, as the interface describes it."""

    name: str
    category: int  # one of EntityCategory
    description: str
    tags: tuple[str, ...]
    lower: Corner  # corner of the bounding box [m, world]
    upper: Corner


class Unsupported(ValueError):
    """A filter that the simulator does not support."""


def choose(filters: Any, entities: Iterable[Entity]) -> list[Entity]:
    """Return the entities that match an EntityFilters message, in their order.

    Raise Unsupported for bounds of an unknown kind, and ValueError for a wrong expression or wrong
    bounds.
    """
    found = list(entities)
    if filters.filter:
        names = matching(filters.filter, [entity.name for entity in found])
        found = [entity for entity in found if entity.name in names]
    if filters.categories:
        wanted = {category.category for category in filters.categories}
        found = [entity for entity in found if entity.category in wanted]
    within = _test(filters.bounds)
    return [entity for entity in found if has_tags(filters.tags, entity.tags) and within(entity)]


def has_tags(asked: Any, tags: Iterable[str]) -> bool:
    """Return whether a TagsFilter message accepts these tags: any of its own, or all of them."""
    if not asked.tags:
        return True
    return (all if asked.filter_mode == _ALL else any)(tag in tuple(tags) for tag in asked.tags)


def _test(bounds: Any):
    """Return a predicate, whether an entity's box overlaps with a Bounds message. Raise
    Unsupported or ValueError for wrong bounds.
    """
    points = [(p.x, p.y, p.z) for p in bounds.points]
    if bounds.type == EMPTY and not points:
        return lambda entity: True
    if bounds.type not in (BOX, SPHERE):
        raise Unsupported(
            f"filters.bounds has type {bounds.type}; give a box ({BOX}) or a sphere ({SPHERE})"
        )
    if len(points) != 2 or not all(map(math.isfinite, (*points[0], *points[1]))):
        raise ValueError(
            f"filters.bounds has {len(points)} points; a box has two corners and a sphere its "
            "center and its radius as x, finite numbers"
        )
    if bounds.type == BOX:
        upper, lower = (tuple(map(pick, *points)) for pick in (max, min))
        return lambda entity: all(
            a <= d and c <= b for a, b, c, d in zip(entity.lower, entity.upper, lower, upper)
        )
    center, radius = points[0], points[1][0]
    if radius < 0.0:
        raise ValueError(f"filters.bounds has the radius {radius:g} m; it must be >= 0")
    return lambda entity: (
        math.dist(center, tuple(map(_clip, center, entity.lower, entity.upper))) <= radius
    )


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _limit_size(expression: str) -> None:
    """Raise ValueError for an expression for which the C library could need more stack or memory
    than there is.
    """
    if _BACK_REFERENCE.search(expression):
        what = "which a POSIX extended regular expression does not have"
        raise ValueError(f"filters.filter is '{expression}' with a back-reference, {what}")
    repeated = math.prod(
        max(1, *(int(number or 1) for number in bounds))
        for bounds in _REPETITION.findall(expression)
    )
    if len(expression) > _LONGEST or repeated > _REPEATED:
        raise ValueError(
            f"filters.filter has {len(expression)} characters, and repeats {repeated} times in "
            f"all; it must have at most {_LONGEST}, and the product of its {{n,m}} must be at "
            f"most {_REPEATED}"
        )


def matching(expression: str, names: Iterable[str]) -> list[str]:
    """Return the names in which a POSIX extended regular expression is found. Raise ValueError if
    it is none.
    """
    if "\0" in expression:
        what = "it must be a POSIX extended regular expression"
        raise ValueError(f"filters.filter has a zero byte; {what}")
    _limit_size(expression)
    c, compiled = ctypes.CDLL(None), ctypes.create_string_buffer(_ROOM)
    failed = c.regcomp(compiled, expression.encode(), _EXTENDED)
    if failed:
        why = ctypes.create_string_buffer(200)
        c.regerror(failed, compiled, why, ctypes.c_size_t(len(why)))
        sentence = f"filters.filter is '{expression}', no POSIX extended regular expression"
        raise ValueError(f"{sentence}: {why.value.decode(errors='replace')}")
    try:
        none = ctypes.c_size_t(0)
        return [name for name in names if c.regexec(compiled, name.encode(), none, None, 0) == 0]
    finally:
        c.regfree(compiled)
