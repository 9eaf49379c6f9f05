"""The quantities that a campaign can fix or vary, by name: the run, the start, the faults, the
plant, and the options of its laws.
"""

import math

from rbdyn_ros.control import options, select
from rbdyn_ros.evaluation.metrics import SWING_UP
from rbdyn_ros.faults.options import FAULTS
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.tables import all_parameters, nearest
from rbdyn_ros.schema import Parameter, by_name, setting


def _law(name: str) -> str:
    """Return the name of a known law, or the path of one. Raise ValueError with the rest of a
    sentence.
    """
    if not select.is_path(name) and name not in select.names():
        raise ValueError(
            f"it must be one of {', '.join(select.names())}, or the path of a law of your own, "
            "such as ./law.py"
        )
    return name


# conditions of a sample, and when it has settled
RUN = (
    setting(
        "controller",
        "lqr",
        "",
        "Names the control law, or gives the path of its file, which ends in .py.",
        refine=_law,
    ),
    setting(
        "duration",
        10.0,
        "s",
        "Sets the simulated time of a sample, which ends earlier when it has settled or failed.",
        above=0.0,
    ),
    all_parameters("pendulum_controller")["period"],
    setting(
        "step",
        0.001,
        "s",
        "Sets the step of the integrator, rk4, of which the period is a multiple.",
        above=0.0,
    ),
    setting(
        "settled.tilt",
        math.degrees(SWING_UP.tilt),
        "degrees",
        "Limits the tilt of a rod that has settled.",
        above=0.0,
        high=180.0,
    ),
    setting(
        "settled.distance",
        SWING_UP.distance,
        "m",
        "Limits the distance from the origin of a cart that has settled.",
        above=0.0,
    ),
    setting(
        "settled.hold",
        SWING_UP.hold,
        "s",
        "Sets how long both must stay within their limits; it settled when that began.",
        above=0.0,
    ),
)
# start of a sample, in the coordinates of a pendulum
START = (
    setting(
        "start.tilt",
        0.0,
        "degrees",
        "Sets the tilt of the rod from the vertical; at 180 it hangs.",
    ),
    setting("start.azimuth", 0.0, "degrees", "Sets the direction of the tilt, from x towards y."),
    setting(
        "start.rate", 0.0, "rad/s", "Sets the rate of the tilt; where positive, the rod falls."
    ),
    setting(
        "start.precession",
        0.0,
        "rad/s",
        "Sets the rate of the azimuth, times the sine of the tilt.",
    ),
    setting("start.spin", 0.0, "rad/s", "Sets the angular velocity of the rod about itself."),
    setting("start.x", 0.0, "m", "Sets the position of the cart along x."),
    setting("start.y", 0.0, "m", "Sets the position of the cart along y."),
    setting("start.vx", 0.0, "m/s", "Sets the velocity of the cart along x."),
    setting("start.vy", 0.0, "m/s", "Sets the velocity of the cart along y."),
)
# settings of the whole campaign
OF_THE_WHOLE = (
    setting("seed", 0, "", "Seeds all random numbers.", low=0, high=2**63 - 1),
    setting(
        "draws",
        1,
        "",
        "Sets the samples for each point of the grid; each draws anew.",
        low=1,
        high=10**9,
    ),
    Parameter(
        "params_files",
        (),
        "",
        "Names parameter files of the plant and of the laws, ROS YAML, beside the campaign's file "
        "or in config/.",
        "string_array",
    ),
)
COMMON = RUN + START + PLANT + FAULTS


def table(laws: tuple[str, ...]) -> dict[str, Parameter]:
    """Return name -> Parameter of everything that can be fixed or varied with these laws. Raise
    ValueError for an unknown law.

    ValueError: an unknown law.
    """
    of_laws = [parameter for name in laws for parameter in options.table(name, select.load(name))]
    return by_name((*COMMON, *of_laws))


def lookup(name: str, known: dict[str, Parameter], source: str) -> Parameter:
    """Return the parameter of that name. Raise ValueError, with the nearest known one, if there is
    none.
    """
    if name in known:
        return known[name]
    group = [other for other in known if other.startswith(f"{name}.")]
    if group:
        raise ValueError(f"{source}: {name} is a group, not one number: {', '.join(group)}")
    raise ValueError(
        f"{source}: {name} is nothing that a campaign knows; {nearest(name, known)}list all with "
        "--list"
    )
