"""The scenario of a case: settings that every measure understands."""

from typing import Annotated, Any, NamedTuple

from rbdyn_ros.faults.options import SEED, Faults
from rbdyn_ros.schema import record, spec, table
from rbdyn_ros.simulation.closed_loop import ACTING, COMMANDED

OBSERVERS = ("none", "encoders", "imu")


class Scenario(NamedTuple):
    """What holds during a case."""

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
    seed: Annotated[int, SEED] = SEED.default  # of everything random
    faults: Annotated[Faults, "faults."] = Faults()
    law: tuple[tuple[str, Any], ...] = ()  # options of laws over those of the whole evaluation


SCENARIO = table(Scenario)


def make_scenario(values: dict[str, Any], law: dict[str, Any]) -> Scenario:
    """Return the scenario of checked values by name, and of options of laws."""
    return record(Scenario, values, law=tuple(sorted(law.items())))
