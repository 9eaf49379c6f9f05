"""What a campaign can fix or vary, by name: the run, the start, the faults, the plant, and the options of its laws."""

from rbdyn_ros.control import options, select
from rbdyn_ros.faults.options import FAULTS
from rbdyn_ros.parameters.plant import PLANT
from rbdyn_ros.parameters.tables import known, nearest
from rbdyn_ros.schema import Parameter


def _start(name: str, unit: str, description: str, **bounds) -> Parameter:
    return Parameter(f"start.{name}", 0.0, unit, description, **bounds)


def _law(name: str) -> str:
    """A known law, or the path of one. ValueError with the rest of a sentence."""
    if not select.is_path(name) and name not in select.names():
        raise ValueError(
            f"it must be one of {', '.join(select.names())}, or the path of a law of your own, "
            "such as ./law.py"
        )
    return name


RUN = (
    Parameter(
        "controller",
        "lqr",
        "",
        "Names the control law, or gives the path of its file, which ends in .py.",
        "string",
        refine=_law,
    ),
    Parameter(
        "duration",
        10.0,
        "s",
        "Sets the simulated time of a sample, which ends earlier when it has settled or failed.",
        low=0.0,
        low_open=True,
    ),
    known("pendulum_controller")["period"],
    Parameter(
        "step",
        0.001,
        "s",
        "Sets the step of the integrator, rk4, of which the period is a multiple.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "settled.tilt",
        2.0,
        "degrees",
        "Limits the tilt of a rod that has settled.",
        low=0.0,
        low_open=True,
        high=180.0,
    ),
    Parameter(
        "settled.distance",
        0.05,
        "m",
        "Limits the distance from the origin of a cart that has settled.",
        low=0.0,
        low_open=True,
    ),
    Parameter(
        "settled.hold",
        1.0,
        "s",
        "Sets how long both must stay within their limits; it settled when that began.",
        low=0.0,
        low_open=True,
    ),
)
START = (
    _start("tilt", "degrees", "Sets the tilt of the rod from the vertical; at 180 it hangs."),
    _start("azimuth", "degrees", "Sets the direction of the tilt, from x towards y."),
    _start("rate", "rad/s", "Sets the rate of the tilt; where positive, the rod falls."),
    _start("precession", "rad/s", "Sets the rate of the azimuth, times the sine of the tilt."),
    _start("spin", "rad/s", "Sets the angular velocity of the rod about itself."),
    _start("x", "m", "Sets the position of the cart along x."),
    _start("y", "m", "Sets the position of the cart along y."),
    _start("vx", "m/s", "Sets the velocity of the cart along x."),
    _start("vy", "m/s", "Sets the velocity of the cart along y."),
)
SEED = Parameter("seed", 0, "", "Seeds all random numbers.", "int", low=0, high=2**63 - 1)
DRAWS = Parameter(
    "draws",
    1,
    "",
    "Sets the samples for each point of the grid; each draws anew.",
    "int",
    low=1,
    high=10**9,
)
PLANT_FILES = Parameter(
    "params_files",
    (),
    "",
    "Names parameter files of the plant, ROS YAML, beside the campaign's file or in config/.",
    "string_array",
)
OF_THE_WHOLE = (SEED, DRAWS, PLANT_FILES)
COMMON = RUN + START + PLANT + FAULTS


def table(laws: tuple) -> dict:
    """name -> Parameter of everything that can be fixed or varied where these laws are asked.

    ValueError: an unknown law.
    """
    of_laws = [parameter for name in laws for parameter in options.table(name, select.load(name))]
    return {parameter.name: parameter for parameter in (*COMMON, *of_laws)}


def lookup(name: str, known: dict, source: str) -> Parameter:
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
