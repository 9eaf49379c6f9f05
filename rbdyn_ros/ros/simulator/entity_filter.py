"""Which entities a request of `simulation_interfaces` asks for.

It is written without that package, which few have. Names are matched by POSIX extended regular
expressions, as the interface has it, by the C library's own `regcomp`. The simulator declares no
tags, categories or bounds of entities: a request that filters by them is refused.
"""

import ctypes
from collections.abc import Iterable

_EXTENDED = 1  # REG_EXTENDED of glibc, musl, the BSDs and macOS
_ROOM = 512  # bytes for a regex_t, 32 to 64 on all of them
_EMPTY = 0  # Bounds.TYPE_EMPTY


class Unsupported(ValueError):
    """A filter that the simulator does not know."""


def entities(filters, names: Iterable[str]) -> list[str]:
    """The names that match an EntityFilters message, in their order.

    Unsupported names what is asked for beyond names; ValueError says why the expression is none.
    """
    given = {
        "tags": bool(filters.tags.tags),
        "categories": bool(filters.categories),
        "bounds": filters.bounds.type != _EMPTY or bool(filters.bounds.points),
    }
    for what, wanted in given.items():
        if wanted:
            advice = f"leave filters.{what} empty and filter by name"
            raise Unsupported(f"entities have no {what} here; {advice}")
    return matching(filters.filter, names) if filters.filter else list(names)


def matching(expression: str, names: Iterable[str]) -> list[str]:
    """The names in which a POSIX extended regular expression is found, or ValueError."""
    if "\0" in expression:
        what = "it must be a POSIX extended regular expression"
        raise ValueError(f"filters.filter has a zero byte; {what}")
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
