"""Measures by their names in a suite: measures.yaml describes each, and the file of this folder
that has its name measures, in the form of `evaluation.metrics`.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rbdyn_ros.parameters import nodes
from rbdyn_ros.schema import Parameter


class Value(NamedTuple):
    """A measured quantity."""

    description: str
    unit: str = ""


class Measure(NamedTuple):
    """The description of a measure."""

    question: str  # that it answers
    over_ros: bool  # whether it also works with a law behind topics
    settings: tuple[Parameter, ...]  # its own, besides those of `Scenario`
    values: dict[str, Value]


def _measure(
    question: str, over_ros: bool, settings: dict[str, Any], values: dict[str, Any]
) -> Measure:
    described = {name: Value(**row) for name, row in values.items()}
    return Measure(question, over_ros, nodes.table_of(settings), described)


_CONTENT = nodes.load(Path(__file__).with_name("measures.yaml"))
MEASURES = {name: _measure(**row) for name, row in _CONTENT.items() if name != "common"}


def names() -> tuple[str, ...]:
    """Return the known measures, alphabetically."""
    return tuple(sorted(MEASURES))


def load(name: str) -> ModuleType:
    """Return the module of the measure of that name."""
    return import_module(f"{__name__}.{name}")
