"""The numbers that a motion may determine: by name, in the plant, and as columns of a derivative.

Beside those of the plant there are the gain and the delay of the force, the lag T of the drive
(`plant.faults.pipeline`), the biases of the gimbal's encoders, and the tilt of the plane in which
the cart slides, R = Rx(roll) Ry(pitch) from the plane to the horizontal: in the axes of the plane
gravity has the parts

    a_x = g cos(roll) sin(pitch),   a_y = -g sin(roll),   -g cos(roll) cos(pitch)            (I.13)

along x, y and the normal. The attitude is that of the rod to the plane, as encoders on the cart
measure it.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbdyn_ros.types import Array, System

GAIN, DELAY, LAG = "gain", "delay", "lag"
BIAS = ("bias.roll", "bias.pitch")  # [rad]
TILT = ("tilt.roll", "tilt.pitch")  # [rad]
# The numbers that can be fitted, by the columns of `derivatives.PARAMETERS` that change together.
COLUMNS = {
    "cart.mass": (0,),
    "cart.damping": (1,),
    "cart.friction": (9,),
    "rod.mass": (2,),
    "rod.center_of_mass": (3,),
    "rod.inertia": (4, 5),  # about the axes normal to the rod
    "rod.inertia_3": (6,),
    "joint.damping": (7,),
    "joint.friction": (10,),
    "gravity": (8,),
    GAIN: (11,),
}
FIELDS = {  # of `System`, besides its inertia
    "cart.mass": "cart_mass",
    "cart.damping": "cart_damping",
    "cart.friction": "cart_friction",
    "rod.mass": "rod_mass",
    "rod.center_of_mass": "center",
    "joint.damping": "joint_damping",
    "joint.friction": "joint_friction",
    "gravity": "gravity",
}
LENGTH = "rod.equivalent_length"  # J / (m l), of the simple pendulum that swings as the rod
NAMES = (*COLUMNS, LENGTH, DELAY, LAG, *BIAS, *TILT)
OUTSIDE = (GAIN, DELAY, LAG, *BIAS, *TILT)  # which are no parameters of the plant
# The columns of a segment: those of the plant by `COLUMNS`, those of the force, and then
(PATH, FALL, BIASED, SEGMENT_COLUMNS) = (11, 14, 18, 20)
FROM = {  # least values from which the fit begins
    "cart.damping": 0.1,
    "cart.friction": 0.1,
    "joint.damping": 0.01,
    "joint.friction": 0.01,
    DELAY: 0.005,
    LAG: 0.005,
}
USUAL = FROM | dict.fromkeys((*BIAS, *TILT), 0.01)  # sizes of numbers that may be zero
LARGEST_ANGLE = 0.2  # [rad] of bias and tilt
LARGEST_DELAY, LARGEST_LAG = 0.05, 0.2  # [s]
RANGE = 0.05, 20.0  # times the known value, of numbers that are not zero
DEFAULT = (
    "cart.mass",
    "cart.damping",
    "rod.center_of_mass",
    "rod.inertia",
    "joint.damping",
    DELAY,
)

FRICTION = ("cart.friction", "joint.friction")  # which are fitted where a record shows them
LITTLE = 1e-3  # of the weight, from which the fit of a friction begins
DECAY = (LENGTH, "joint.damping")  # of a rod that swings on a cart that stands
SWINGING = ("cart.mass", "cart.damping", "rod.inertia", "joint.damping")  # that moves the cart


def numbers(system: System) -> dict[str, float]:
    """Return the value of each of `NAMES`."""
    I1, I2, I3 = system.inertia
    return {
        **{name: getattr(system, field) for name, field in FIELDS.items()},
        "rod.inertia": 0.5 * (I1 + I2),
        "rod.inertia_3": I3,
        LENGTH: equivalent_length(system),
        **dict.fromkeys(OUTSIDE, 0.0),
        GAIN: 1.0,
    }


def equivalent_length(system: System) -> float:
    """Return J / (m l) [m] with J = I + m l^2, the length of the simple pendulum that swings as
    the rod on a cart that stands.
    """
    return (
        0.5 * (system.inertia[0] + system.inertia[1]) / (system.rod_mass * system.center)
        + system.center
    )


def plant(system: System, given: Mapping[str, float]) -> System:
    """Return the system with other numbers, by `NAMES`; those `OUTSIDE` are not its own.

    An equivalent length L gives the inertia m l (L - l); where L is less than l, which no rod has,
    the rod is enlarged by one factor.
    """
    I1, I2, I3 = system.inertia
    if LENGTH in given:
        length, center = given[LENGTH], system.center
        if length > center:
            I1 = I2 = system.rod_mass * center * (length - center)
        else:
            factor = length / equivalent_length(system)
            I1, I2, I3 = (factor * factor * moment for moment in system.inertia)
            system = system._replace(center=factor * center)
    if "rod.inertia" in given:
        I1 = I2 = given["rod.inertia"]
    new: dict[str, Any] = {field: given[name] for name, field in FIELDS.items() if name in given}
    return system._replace(inertia=(I1, I2, given.get("rod.inertia_3", I3)), **new)


def parameters(system: System) -> dict[str, Any]:
    """Return the system as a tree of the parameters that every node takes."""
    I1, I2, I3 = system.inertia
    return {
        "gravity": system.gravity,
        "cart": {
            "mass": system.cart_mass,
            "damping": system.cart_damping,
            "friction": system.cart_friction,
        },
        "rod": {
            "mass": system.rod_mass,
            "center_of_mass": [system.center],
            "inertia": [I1, I2, min(I3, I1 + I2)],  # triangle inequality of the moments of inertia
        },
        "joint": {"damping": system.joint_damping, "friction": system.joint_friction},
    }


def check(names: tuple[str, ...], system: System) -> None:
    """Raise ValueError, with one sentence, for a name that is not one of `NAMES`, or is there
    twice, if there is none, and if the one value of moments that differ is to be fitted.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        raise ValueError(
            f"{', '.join(unknown) or 'nothing'} cannot be fitted; known are {', '.join(NAMES)}"
        )
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(f"{twice[0]} is to be fitted twice; name it once")
    twofold = [name for name in ("rod.center_of_mass", "rod.inertia") if name in names]
    if LENGTH in names and twofold:
        raise ValueError(
            f"{LENGTH} and {twofold[0]} are both to be fitted, and one follows from the other; "
            "leave one of them out"
        )
    I1, I2, _ = system.inertia
    if ("rod.inertia" in names or LENGTH in names) and I1 != I2:
        raise ValueError(
            f"the first moments of rod.inertia are {I1:g} and {I2:g} kg m^2; they must be equal "
            "where it is fitted: leave it out of --fit, or set equal ones"
        )


def weight(system: System, name: str) -> float:
    """Return the weight that the friction `name` carries [N], of the joint times its lever
    [N m].
    """
    if name == "joint.friction":
        return system.rod_mass * system.gravity * system.center
    return (system.cart_mass + system.rod_mass) * system.gravity


def start_of(system: System, name: str) -> float:
    """Return the value from which the fit of a number begins."""
    if name in FRICTION:
        return max(float(numbers(system)[name]), LITTLE * weight(system, name))
    return max(float(numbers(system)[name]), FROM.get(name, 0.0))


def size_of(name: str, value: float) -> float:
    """Return the scale for a change of the number: its value, or the usual one."""
    return max(abs(value), USUAL.get(name, 0.0))


def bounds(name: str, start: float) -> tuple[float, float]:
    """Return the bounds between which a number is sought."""
    if name in (*BIAS, *TILT):
        return -LARGEST_ANGLE, LARGEST_ANGLE
    if name in (DELAY, LAG):
        return 0.0, LARGEST_DELAY if name == DELAY else LARGEST_LAG
    return (0.0, math.inf) if name in FROM else (RANGE[0] * start, RANGE[1] * start)


def gravity_in_plane(given: Mapping[str, float], gravity: float) -> tuple[float, Array]:
    """Return (gravity along the normal of the plane, (a_x, a_y) in it) [m/s^2] by (I.13)."""
    roll, pitch = (given.get(name, 0.0) for name in TILT)
    along = math.cos(roll) * math.sin(pitch), -math.sin(roll)
    return gravity * math.cos(roll) * math.cos(pitch), gravity * np.array(along)


def by_length(length: float, system: System) -> dict[int, float]:
    """Return the changes of center and inertia by the equivalent length, for the system that has
    it by `plant`.
    """
    center, (I1, I2, I3) = system.center, system.inertia
    if length > center * (1.0 + 1e-12):
        rate = system.rod_mass * center
        return {4: rate, 5: rate}
    return {3: center / length, **{4 + i: 2.0 * I / length for i, I in enumerate((I1, I2, I3))}}


def combination(names: tuple[str, ...], given: Mapping[str, float], system: System) -> Array:
    """Return M (SEGMENT_COLUMNS, p): the derivative by the names is that by the columns of a
    segment, times M; `system` has the numbers `given`, and its gravity is that of the vertical.

    The four columns from FALL on are the force and the shift of the cart, each along x and y, in
    a frame that falls along the plane: `segment`.
    """
    roll, pitch = (given.get(name, 0.0) for name in TILT)
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    g, fall = system.gravity, gravity_in_plane(given, system.gravity)[1]

    def by(x: float, y: float, normal: float) -> dict[int, float]:
        """Return the columns of a change of the three parts of (I.13)."""
        b = system.cart_damping
        return {FALL: b * x, FALL + 1: b * y, FALL + 2: x, FALL + 3: y, 8: normal}

    special = {
        "cart.damping": {1: 1.0, FALL: fall[0], FALL + 1: fall[1]},
        "gravity": by(cr * sp, -sr, cr * cp),
        "tilt.roll": by(-g * sr * sp, -g * cr, -g * sr * cp),
        "tilt.pitch": by(g * cr * cp, 0.0, -g * cr * sp),
    }
    plain = COLUMNS | {n: (PATH + i,) for i, n in enumerate((GAIN, DELAY, LAG))}
    plain |= {n: (BIASED + i,) for i, n in enumerate(BIAS)}
    if LENGTH in names:
        special[LENGTH] = by_length(given[LENGTH], system)
    M = np.zeros((SEGMENT_COLUMNS, len(names)))
    for j, name in enumerate(names):
        for row, part in special.get(name, dict.fromkeys(plain.get(name, ()), 1.0)).items():
            M[row, j] = part
    return M
