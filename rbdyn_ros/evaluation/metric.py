"""What a measure returns, and how it describes itself.

A file of measures/ exports

    QUESTION                  what it asks, one sentence
    SETTINGS                  its own settings, a table of `schema.Parameter`, besides those of
                              `scenario`
    VALUES                    name -> Value
    OVER_ROS                  whether it also works with a law behind topics
    measure(bench, scenario, settings)  -> Metric

One that is about many independent runs exports, in the place of `measure`, what lets them be
shared among processes:

    starts(bench, scenario, settings)           how many there are
    outcomes(bench, scenario, settings, part)   rows (n, m) of those in the range `part`
    summary(settings, rows)                       -> Metric
"""

from typing import NamedTuple


class Value(NamedTuple):
    """A number that is measured."""

    unit: str
    description: str


class Metric(NamedTuple):
    """What came out. `curves` are for pictures: name -> list of numbers."""

    values: dict  # name -> float
    curves: dict = {}
    note: str = ""  # what a reader should know


class NotForThisLaw(Exception):
    """The case does not fit the law; the message says why. It is no failure."""


class CannotGoOn(Exception):
    """Nothing more can be measured, by this case or another; the message says why."""
