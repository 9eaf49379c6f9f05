"""What a measure is given and returns, and how it describes itself: the scenario of a case has the
settings that every measure understands.

A file of measures/ exports

    QUESTION                  the question that it answers, one sentence
    SETTINGS                  its own settings, a table of `schema.Parameter`, besides those of
                              `Scenario`
    VALUES                    name -> Value
    OVER_ROS                  whether it also works with a law behind topics
    measure(bench, scenario, settings)  -> Metric

One that is about many independent runs exports, in the place of `measure`, what lets them be
shared among processes:

    starts(bench, scenario, settings)           how many there are
    outcomes(bench, scenario, settings, part)   rows (n, m) of those in the range `part`
    summary(settings, rows)                       -> Metric
"""

from typing import Annotated, Any, NamedTuple

from rbdyn_ros.faults.options import SEED, Faults
from rbdyn_ros.schema import Parameter, record, setting, spec, table
from rbdyn_ros.simulation.closed_loop import ACTING, COMMANDED

# settings of several measures
AZIMUTH = setting("azimuth", 23.0, "deg", "Sets the azimuth of the tilt, from x towards y.")
COMPOSITION = setting("composition", "none", "", "Names the composition of the integrator.")
TILT = setting("tilt", 10.0, "deg", "Sets the tilt of the rod at the start.", low=0.0, high=180.0)


def duration(default: float) -> Parameter:
    """Return the setting of how long a run is."""
    return setting("duration", default, "s", "Sets the simulated time of a run.", above=0.0)


def deadline(default: float) -> Parameter:
    """Return the setting of how long a run may take to settle."""
    sentence = "Limits the time within which a run must settle."
    return setting("duration", default, "s", sentence, above=0.0)


def waiting(default: float) -> Parameter:
    """Return the setting of the time after which a run counts."""
    sentence = "Sets the time from the start until the values are taken."
    return setting("waiting", default, "s", sentence, low=0.0)


def small_tilt(default: float) -> Parameter:
    """Return the setting of a start near upright."""
    sentence = "Sets the tilt of the rod at the start, so small that the loop is linear."
    return setting("tilt", default, "deg", sentence, above=0.0)


def tolerance(default: float, unit: str) -> Parameter:
    """Return the setting of how exact a bisection is."""
    sentence = "Sets the width at which the bisection ends."
    return setting("tolerance", default, unit, sentence, above=0.0)


class Value(NamedTuple):
    """A measured quantity."""

    unit: str
    description: str


class Metric(NamedTuple):
    """The outcome of a measure. `curves` are for pictures: name -> list of numbers."""

    values: dict  # name -> float
    curves: dict = {}
    note: str = ""  # a remark for the reader


class NotForThisLaw(Exception):
    """The case does not apply to the law, which is no failure; the message says why."""


class CannotGoOn(Exception):
    """No further case can be measured; the message says why."""


OBSERVERS = ("none", "encoders", "imu")


class Scenario(NamedTuple):
    """The conditions of a case."""

    force_limit: Annotated[
        float, spec("Limits the norm of the force, of the plant and of the law.", "N", low=0.0)
    ] = 20.0
    travel: Annotated[
        float,
        spec(
            "Limits the distance of the cart from the origin, of plant and law; 0 is no limit.",
            "m",
            low=0.0,
        ),
    ] = 0.0
    period: Annotated[
        float, spec("Sets the control period that the law is designed for.", "s", above=0.0)
    ] = 0.002
    step: Annotated[float, spec("Sets the step of the integrator.", "s", above=0.0)] = 0.001
    integrator: Annotated[str, spec("Names the integrator of the plant.")] = "rk4"
    observer: Annotated[
        str,
        spec(
            "Names the sensors of the observer; with none the law sees the state.",
            choices=OBSERVERS,
        ),
    ] = "none"
    observer_force: Annotated[
        str,
        spec(
            "Chooses the force that the observer gets: after limit, faults, delay, or as "
            "commanded.",
            choices=(ACTING, COMMANDED),
        ),
    ] = ACTING
    imu_position: Annotated[float, spec("Sets the distance from the joint to the IMU.", "m")] = 0.3
    seed: Annotated[int, SEED] = SEED.default  # of all random numbers
    faults: Annotated[Faults, "faults."] = Faults()
    law: tuple[tuple[str, Any], ...] = ()  # options of laws, over those of the whole evaluation


SCENARIO = table(Scenario)


def make_scenario(values: dict[str, Any], law: dict[str, Any]) -> Scenario:
    """Return the scenario of checked values by name, and of options of laws."""
    return record(Scenario, values, law=tuple(sorted(law.items())))
