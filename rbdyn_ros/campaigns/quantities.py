"""What a campaign can fix or vary, by name: the run, the start, the faults, the plant, and the
options of its laws.
"""

import math
from typing import Annotated, NamedTuple

from rbdyn_ros import schema
from rbdyn_ros.control import options, select
from rbdyn_ros.evaluation.metrics import SWING_UP
from rbdyn_ros.faults.options import FAULTS
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.tables import all_parameters, nearest
from rbdyn_ros.schema import Parameter, by_name, spec


def _law(name: str) -> str:
    """A known law, or the path of one. ValueError with the rest of a sentence."""
    if not select.is_path(name) and name not in select.names():
        raise ValueError(
            f"it must be one of {', '.join(select.names())}, or the path of a law of your own, "
            "such as ./law.py"
        )
    return name


PERIOD = all_parameters("pendulum_controller")["period"]


class Run(NamedTuple):
    """What holds during a sample, and when it has settled."""

    controller: Annotated[
        str,
        spec(
            "Names the control law, or gives the path of its file, which ends in .py.", refine=_law
        ),
    ] = "lqr"
    duration: Annotated[
        float,
        spec(
            "Sets the simulated time of a sample, which ends earlier when it has settled or "
            "failed.",
            "s",
            above=0.0,
        ),
    ] = 10.0
    period: Annotated[float, PERIOD] = PERIOD.default
    step: Annotated[
        float,
        spec(
            "Sets the step of the integrator, rk4, of which the period is a multiple.",
            "s",
            above=0.0,
        ),
    ] = 0.001
    tilt: Annotated[
        float,
        spec(
            "Limits the tilt of a rod that has settled.",
            "degrees",
            "settled.tilt",
            above=0.0,
            high=180.0,
        ),
    ] = math.degrees(SWING_UP.tilt)
    distance: Annotated[
        float,
        spec(
            "Limits the distance from the origin of a cart that has settled.",
            "m",
            "settled.distance",
            above=0.0,
        ),
    ] = SWING_UP.distance
    hold: Annotated[
        float,
        spec(
            "Sets how long both must stay within their limits; it settled when that began.",
            "s",
            "settled.hold",
            above=0.0,
        ),
    ] = SWING_UP.hold


class Start(NamedTuple):
    """Where a sample starts, in the words of a pendulum."""

    tilt: Annotated[
        float, spec("Sets the tilt of the rod from the vertical; at 180 it hangs.", "degrees")
    ] = 0.0
    azimuth: Annotated[
        float, spec("Sets the direction of the tilt, from x towards y.", "degrees")
    ] = 0.0
    rate: Annotated[
        float, spec("Sets the rate of the tilt; where positive, the rod falls.", "rad/s")
    ] = 0.0
    precession: Annotated[
        float, spec("Sets the rate of the azimuth, times the sine of the tilt.", "rad/s")
    ] = 0.0
    spin: Annotated[float, spec("Sets the angular velocity of the rod about itself.", "rad/s")] = (
        0.0
    )
    x: Annotated[float, spec("Sets the position of the cart along x.", "m")] = 0.0
    y: Annotated[float, spec("Sets the position of the cart along y.", "m")] = 0.0
    vx: Annotated[float, spec("Sets the velocity of the cart along x.", "m/s")] = 0.0
    vy: Annotated[float, spec("Sets the velocity of the cart along y.", "m/s")] = 0.0


class Campaign(NamedTuple):
    """What belongs to the whole campaign."""

    seed: Annotated[int, spec("Seeds all random numbers.", low=0, high=2**63 - 1)] = 0
    draws: Annotated[
        int,
        spec("Sets the samples for each point of the grid; each draws anew.", low=1, high=10**9),
    ] = 1
    params_files: Annotated[
        tuple[str, ...],
        spec(
            "Names parameter files of the plant, ROS YAML, beside the campaign's file or in "
            "config/."
        ),
    ] = ()


RUN = schema.table(Run)
START = schema.table(Start, "start.")
OF_THE_WHOLE = schema.table(Campaign)
COMMON = RUN + START + PLANT + FAULTS


def table(laws: tuple[str, ...]) -> dict[str, Parameter]:
    """name -> Parameter of everything that can be fixed or varied where these laws are asked.

    ValueError: an unknown law.
    """
    of_laws = [parameter for name in laws for parameter in options.table(name, select.load(name))]
    return by_name((*COMMON, *of_laws))


def lookup(name: str, known: dict[str, Parameter], source: str) -> Parameter:
    """The parameter of that name; ValueError, with the nearest known one."""
    if name in known:
        return known[name]
    group = [other for other in known if other.startswith(f"{name}.")]
    if group:
        raise ValueError(f"{source}: {name} is a group, not one number: {', '.join(group)}")
    raise ValueError(
        f"{source}: {name} is nothing that a campaign knows; {nearest(name, known)}list all with "
        "--list"
    )
