"""Faults: what the simulator makes worse on purpose, while it runs. Zero is a perfect world."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rbdyn_ros.faults.options import Bias, Drive, Encoder, Faults, Mismatch, Noise
from rbdyn_ros.parameters.plant import plant_params
from rbdyn_ros.schema import Parameter

if TYPE_CHECKING:  # the tables are read without Numba, so that --help is quick
    from rbdyn_ros.mechanics.pendulum.spherical_pendulum import Params

_GROUPS = {
    "noise": Noise,
    "bias": Bias,
    "encoder": Encoder,
    "actuator": Drive,
    "mismatch": Mismatch,
}


def _size(name: str, unit: str, description: str, **bounds) -> Parameter:
    return Parameter(f"faults.{name}", 0.0, unit, description, **{"low": 0.0, **bounds})


def _chance(name: str, of: str) -> Parameter:
    return _size(name, "", f"Sets the probability that {of}.", high=1.0)


def _bias(name: str, axes: int, unit: str, of: str) -> Parameter:
    return Parameter(
        f"faults.bias.{name}",
        (0.0,) * axes,
        unit,
        f"Adds a constant to {of}.",
        "float_array",
        length=(axes,),
    )


def _mismatch(name: str, of: str) -> Parameter:
    return _size(
        f"mismatch.{name}",
        "",
        f"Sets the fraction by which the simulated {of} exceeds the declared one.",
        low=-0.9,
        high=9.0,
    )


MISMATCH = (
    _mismatch("gravity", "gravity"),
    _mismatch("cart_mass", "cart.mass"),
    _mismatch("cart_damping", "cart.damping"),
    _mismatch("rod_mass", "rod.mass"),
    _mismatch("rod_length", "rod.length"),
    _mismatch("center_of_mass", "rod.center_of_mass"),
    _mismatch("inertia", "rod.inertia"),
    _mismatch("joint_damping", "joint.damping"),
)
FAULTS = (
    Parameter(
        "seed",
        0,
        "",
        "Seeds all random numbers of the faults; setting it restarts them.",
        "int",
        low=0,
        high=2**63 - 1,
    ),
    _size("command.delay", "s", "Delays every command on its way to the cart.", high=10.0),
    _size(
        "command.jitter",
        "s",
        "Sets the largest additional delay of a command, drawn uniformly from 0.",
        high=10.0,
    ),
    _chance("command.drop", "a command is lost"),
    _chance("command.duplicate", "a command arrives twice, each time with its own jitter"),
    _size(
        "state.delay",
        "s",
        "Delays everything that is measured on its way to its reader; stamps stay.",
        high=10.0,
    ),
    _chance("state.drop", "the measurements of one instant are lost"),
    _chance("state.freeze", "the sensors repeat the values of the instant before"),
    _size(
        "noise.cart",
        "m",
        "Sets the standard deviation of the cart's measured position, for each axis.",
    ),
    _size(
        "noise.cart_velocity",
        "m/s",
        "Sets the standard deviation of the cart's measured velocity, for each axis.",
    ),
    _size(
        "noise.angle", "rad", "Sets the standard deviation of the measured roll, pitch and spin."
    ),
    _size(
        "noise.rate",
        "rad/s",
        "Sets the standard deviation of the rod's measured angular velocity, for each body axis.",
    ),
    _size(
        "noise.gyroscope",
        "rad/s",
        "Sets the standard deviation of the IMU's angular velocity, for each axis.",
    ),
    _size(
        "noise.accelerometer",
        "m/s^2",
        "Sets the standard deviation of the IMU's specific force, for each axis.",
    ),
    _bias("cart", 2, "m", "the cart's measured position, x and y"),
    _bias("angle", 3, "rad", "the measured roll, pitch and spin"),
    _bias("gyroscope", 3, "rad/s", "the IMU's angular velocity"),
    _bias("accelerometer", 3, "m/s^2", "the IMU's specific force"),
    _size(
        "encoder.cart",
        "m",
        "Sets the distance between two counts of the cart's encoder; 0 reads exactly.",
    ),
    _size(
        "encoder.gimbal",
        "",
        "Sets the counts per turn of the encoders of roll, pitch and spin; 0 reads exactly.",
    ),
    _size("actuator.dead_band", "N", "Sets the force below which the drive gives none."),
    _size(
        "actuator.saturation",
        "N",
        "Limits the norm of the drive's force without the law's knowledge; 0 is no limit.",
    ),
    _size(
        "actuator.rate_limit",
        "N/s",
        "Limits the rate of change of the drive's force; 0 is no limit.",
    ),
    _size("actuator.lag", "s", "Sets the time constant of the drive."),
    _size(
        "actuator.loss",
        "",
        "Sets the fraction of the force that never reaches the cart.",
        high=1.0,
    ),
    *MISMATCH,
)


def actual_plant(values: Mapping) -> "Params":
    """The plant that is simulated, from checked values by name.

    The declared one, but for `faults.mismatch`.
    """
    from rbdyn_ros.faults.mismatch import actual

    return actual(plant_params(values), Faults(mismatch=_group(values, "mismatch")))


def faults(values: Mapping) -> Faults:
    """What is wrong, from checked values by name.

    `faults.noise.cart` is noise.cart, `faults.command.delay` command_delay.
    """
    made = {}
    for field in Faults._fields:
        if field in _GROUPS:
            made[field] = _group(values, field)
        else:
            made[field] = values[f"faults.{field.replace('_', '.', 1)}"]
    return Faults(**made)


def _group(values: Mapping, field: str) -> tuple:
    group = _GROUPS[field]
    return group(*(values[f"faults.{field}.{name}"] for name in group._fields))
