"""Under which conditions a case is measured: the settings that every measure understands."""

from typing import NamedTuple

from rbdyn_ros.faults.options import Faults
from rbdyn_ros.parameters.faults import FAULTS, faults
from rbdyn_ros.schema import Parameter
from rbdyn_ros.simulation.closed_loop import ACTING, COMMANDED

OBSERVERS = ("none", "encoders", "imu")
CONDITIONS = (
    Parameter(
        "force_limit",
        20.0,
        "N",
        "Limits the norm of the force, of the plant and of the law.",
        low=0.0,
    ),
    Parameter(
        "travel",
        0.0,
        "m",
        "Limits the distance of the cart from the origin, of plant and law; 0 is no limit.",
        low=0.0,
    ),
    Parameter(
        "period",
        0.002,
        "s",
        "Sets the control period that the law is designed for.",
        low=0.0,
        low_open=True,
    ),
    Parameter("step", 0.001, "s", "Sets the step of the integrator.", low=0.0, low_open=True),
    Parameter("integrator", "rk4", "", "Names the integrator of the plant.", "string"),
    Parameter(
        "observer",
        "none",
        "",
        "Names the sensors of the observer; with none the law sees the state.",
        "string",
        choices=OBSERVERS,
    ),
    Parameter(
        "observer_force",
        ACTING,
        "",
        "Chooses the force that the observer gets: after limit, faults, delay, or as commanded.",
        "string",
        choices=(ACTING, COMMANDED),
    ),
    Parameter("imu_position", 0.3, "m", "Sets the distance from the joint to the IMU."),
    *FAULTS,
)


class Conditions(NamedTuple):
    """What holds during a case."""

    force_limit: float  # [N]
    travel: float  # [m]; 0 is anywhere
    period: float  # [s]
    step: float  # [s]
    integrator: str
    observer: str
    observer_force: str
    imu_position: float  # [m]
    seed: int  # of everything random
    faults: Faults
    law: tuple = ()  # (parameter, value) pairs: options of laws over those of the whole evaluation


def conditions(values: dict, law: dict) -> Conditions:
    """The conditions from checked values by name, and from options of laws."""
    own = [values[field] for field in Conditions._fields[:9]]
    return Conditions(*own, faults(values), tuple(sorted(law.items())))


def of_fault(faults: Faults, name: str) -> object:
    """The value of a parameter of `parameters.faults`, such as faults.command.delay."""
    group, _, field = name.removeprefix("faults.").partition(".")
    return (
        getattr(getattr(faults, group), field)
        if hasattr(faults, group)
        else getattr(faults, f"{group}_{field}")
    )
