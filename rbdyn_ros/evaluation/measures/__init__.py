"""Measures by the names of the suite: each file of this folder is one, as `evaluation.metric`
describes it.
"""

import pkgutil
from importlib import import_module
from types import ModuleType


def names() -> tuple[str, ...]:
    """The known measures, alphabetically."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load(name: str) -> ModuleType:
    """The measure of that name."""
    return import_module(f"{__name__}.{name}")
