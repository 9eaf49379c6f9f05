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

from rbdyn_ros.schema import Parameter, setting

# settings of several measures
AZIMUTH = setting("azimuth", 23.0, "deg", "Sets the azimuth of the tilt, from x towards y.")
COMPOSITION = setting("composition", "none", "", "Names the composition of the integrator.")
TILT = setting("tilt", 10.0, "deg", "Sets the tilt of the rod at the start.", low=0.0, high=180.0)


def duration(default: float) -> Parameter:
    """The setting of how long a run is."""
    return setting("duration", default, "s", "Sets the simulated time of a run.", above=0.0)


def deadline(default: float) -> Parameter:
    """The setting of how long a run may take to settle."""
    sentence = "Limits the time within which a run must settle."
    return setting("duration", default, "s", sentence, above=0.0)


def waiting(default: float) -> Parameter:
    """The setting of when a run begins to count."""
    sentence = "Sets the time from the start until the values are taken."
    return setting("waiting", default, "s", sentence, low=0.0)


def small_tilt(default: float) -> Parameter:
    """The setting of a start near upright."""
    sentence = "Sets the tilt of the rod at the start, so small that the loop is linear."
    return setting("tilt", default, "deg", sentence, above=0.0)


def tolerance(default: float, unit: str) -> Parameter:
    """The setting of how exact a bisection is."""
    sentence = "Sets the width at which the bisection ends."
    return setting("tolerance", default, unit, sentence, above=0.0)


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
