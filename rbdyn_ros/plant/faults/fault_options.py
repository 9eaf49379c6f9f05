"""The faults as numbers and as parameters, zero for no fault; and the simulated plant where it
differs from the one that a law is designed for.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from rbdyn_ros.pendulum.params import Params, cylinder_inertia
from rbdyn_ros.plant.faults.drive import Drive
from rbdyn_ros.plant.faults.sensors import Bias, Encoder, SensorNoise
from rbdyn_ros.schema import Parameter, format_value, record, setting, spec, table
from rbdyn_ros.types import PART


def _chance(of: str, name: str) -> Parameter:
    return spec(f"Sets the probability that {of}.", "", name, **PART)


def _excess(of: str) -> Parameter:
    description = f"Sets the fraction by which the simulated {of} exceeds the declared one."
    return spec(description, low=-0.9, high=9.0)


class Mismatch(NamedTuple):
    """Fractions by which true numbers exceed the declared ones: true = (1 + mismatch) declared."""

    gravity: Annotated[float, _excess("gravity")] = 0.0
    cart_mass: Annotated[float, _excess("cart.mass")] = 0.0
    cart_damping: Annotated[float, _excess("cart.damping")] = 0.0
    rod_mass: Annotated[float, _excess("rod.mass")] = 0.0
    rod_length: Annotated[float, _excess("rod.length")] = 0.0
    center_of_mass: Annotated[float, _excess("rod.center_of_mass")] = 0.0
    inertia: Annotated[float, _excess("rod.inertia")] = 0.0
    joint_damping: Annotated[float, _excess("joint.damping")] = 0.0
    cart_friction: Annotated[float, _excess("cart.friction")] = 0.0
    joint_friction: Annotated[float, _excess("joint.friction")] = 0.0


class Faults(NamedTuple):
    """All faults between a law and its plant."""

    command_delay: Annotated[
        float,
        spec(
            "Delays every command on its way to the cart; loops round it to whole periods.",
            "s",
            "faults.command.delay",
            low=0.0,
            high=10.0,
        ),
    ] = 0.0
    command_jitter: Annotated[
        float,
        spec(
            "Sets the largest additional delay of a command, drawn uniformly from 0.",
            "s",
            "faults.command.jitter",
            low=0.0,
            high=10.0,
        ),
    ] = 0.0
    command_drop: Annotated[float, _chance("a command is lost", "faults.command.drop")] = 0.0
    command_duplicate: Annotated[
        float,
        _chance(
            "a command arrives twice, each time with its own jitter", "faults.command.duplicate"
        ),
    ] = 0.0
    state_delay: Annotated[
        float,
        spec(
            "Delays everything that is measured on its way to its reader; stamps stay.",
            "s",
            "faults.state.delay",
            low=0.0,
            high=10.0,
        ),
    ] = 0.0
    state_drop: Annotated[
        float, _chance("the measurements of one instant are lost", "faults.state.drop")
    ] = 0.0
    state_freeze: Annotated[
        float,
        _chance("the sensors repeat the values of the instant before", "faults.state.freeze"),
    ] = 0.0
    noise: Annotated[SensorNoise, "faults.noise."] = SensorNoise()
    bias: Annotated[Bias, "faults.bias."] = Bias()
    encoder: Annotated[Encoder, "faults.encoder."] = Encoder()
    actuator: Annotated[Drive, "faults.actuator."] = Drive()
    mismatch: Annotated[Mismatch, "faults.mismatch."] = Mismatch()


MISMATCH = table(Mismatch, "faults.mismatch.")
SEED = setting(
    "seed",
    0,
    "",
    "Seeds all random numbers of the faults; another value restarts them.",
    low=0,
    high=2**63 - 1,
)
FAULTS = table(Faults)


def describe(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the faults that are on, such as "command.delay 0.02 s", of those with a value."""
    return tuple(
        f"{p.name.removeprefix('faults.')} {format_value(values[p.name], p.unit)}"
        for p in FAULTS
        if values.get(p.name, p.default) != p.default
    )


def faults(values: Mapping[str, Any]) -> Faults:
    """Return the faults for checked values by name."""
    return record(Faults, values)


def actual(declared: Params, options: Faults) -> Params:
    """Return the simulated plant for a law that is designed for `declared`: each number is (1 +
    mismatch) times the declared one.

    A changed length or mass also changes the center of mass and the inertia that are derived from
    the geometry.
    """
    m = options.mismatch
    return scale(declared, Mismatch(*(1.0 + part for part in m))) if any(m) else declared


def scale(params: Params, factors: Mismatch) -> Params:
    """Return the plant with each number times its factor; factors may be arrays, one plant for
    each.
    """
    own = [
        name for name in factors._fields if name in params._fields
    ]  # all but center and inertia
    scaled = params._replace(**{n: getattr(factors, n) * getattr(params, n) for n in own})
    length, center, moments = scaled.rod_length, params.rod_center_of_mass, params.rod_inertia
    moments = moments or cylinder_inertia(scaled.rod_mass, length, params.rod_radius)
    return scaled._replace(
        rod_center_of_mass=factors.center_of_mass * (0.5 * length if center is None else center),
        rod_inertia=tuple(factors.inertia * moment for moment in moments),
    )
