"""Measures by their names in a suite: each file of this folder is one, in the form of
`evaluation.metrics`.
"""

import pkgutil
from importlib import import_module
from types import ModuleType


def names() -> tuple[str, ...]:
    """Return the known measures, alphabetically."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> ModuleType:
    """Return the measure of that name."""
    return import_module(f"{__name__}.{name}")
