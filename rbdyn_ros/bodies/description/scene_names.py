"""Checks of the names in a scene."""

import re

GROUND = "world"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def check(what: str, name: str, source: str = "") -> None:
    """Raise ValueError, starting with the `source`, for a name that a scene cannot have."""
    if not NAME.fullmatch(name) or name == GROUND:
        rule = "letters, digits, _, - and dots, a letter or _ first, and not be the word world"
        raise ValueError(f"{source}the name of a {what} is {name!r}; it must have {rule}")


def one_of(called: str, word: str, value, known) -> None:
    """Raise ValueError unless a value is one of the known ones."""
    if value not in known:
        raise ValueError(f"{called}: {word} is {value!r}; known are {', '.join(known) or 'none'}")


def two(called: str, between, known, what: str) -> tuple[str, str]:
    """Return the two names in `between`. Raise ValueError unless both are known."""
    if isinstance(between, str) or len(between) != 2:
        raise ValueError(f"{called}: between is {between!r}; name two of {', '.join(known)}")
    for name in between:
        one_of(called, what, name, known)
    first, second = between
    return first, second


def require_one_law(scene) -> None:
    """Raise ValueError where two contacts have the same geoms."""
    known: dict[frozenset, str] = {}
    for name, contact in scene.contacts.items():
        pair = frozenset(contact.between)
        if (before := known.setdefault(pair, name)) != name:
            raise ValueError(f"contact {name}: it has the geoms of contact {before}; keep one")
