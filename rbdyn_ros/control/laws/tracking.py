"""The cart on a periodic path with the rod upright above it: a feed-forward motion, and the
regulator about it.

    u = u_ff(t) - K (e - e_ff(t)),      K of `lqr`,                                          (K.11)

where e_ff is the whole state (x, x', th, th') of the path's motion (`control.planning.periodic`),
not the position alone: with that, the error would exceed the path. The path lies about the
reference and starts with t.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, linear_force, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.planning import periodic
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State, System

KINDS = ("tracking",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The path, how much of the plant its motion knows, and what the plant allows."""

    path: Annotated[
        str, spec("Chooses the path of the cart.", choices=("circle", "eight", "harmonics"))
    ] = "circle"
    size: Annotated[
        float, spec("Sets the radius of the circle, or half the width of the eight.", "m", low=0.0)
    ] = 0.5
    frequency: Annotated[float, spec("Sets the rounds per second.", "Hz", above=0.0)] = 0.25
    harmonics: Annotated[
        tuple[float, ...],
        spec(
            "Lists x cos, x sin, y cos, y sin of each harmonic in turn, for the path harmonics.",
            "m",
            length=range(0, 65, 4),
        ),
    ] = ()
    feedforward: Annotated[
        str, spec("Chooses the plant whose motion is followed.", choices=("nonlinear", "harmonic"))
    ] = "nonlinear"
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


_MOTIONS = {"nonlinear": periodic.nonlinear, "harmonic": periodic.harmonic}


class Tracking:
    """The regulator about a moving state."""

    def __init__(self, gains: Array, motion: Array, w: float, force_limit: float):
        self.gains = gains  # K (4,)
        self.motion = motion  # (H + 1, 10) coefficients, see `periodic`
        self.w = w  # [rad/s]
        self.force_limit = force_limit  # [N]

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world]; the path lies about `reference`.

        ValueError for a state of no use.
        """
        q, v, r = admit(state, reference)
        return np.array(_tracking(q, v, r, self.gains, self.motion, self.w * t, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Tracking:
    """Return the law for the plant that `model` builds from `params`.

    ValueError if an option is out of range, the path leaves the travel, its motion needs more
    force than there is or does not exist, or if no gains stabilize.
    """
    options = checked("tracking", options)
    path, w = _path(options), 2.0 * math.pi * options.frequency
    system = _symmetric(model.build(params))
    try:
        K, _ = regulator(system, lqr.Options()[:4], lqr.Options().force_weight, options.period)
    except ValueError as error:
        raise ValueError(f"controller tracking: {error}; {NEEDS}") from error
    try:
        motion = _MOTIONS[options.feedforward](system, path, w, options.period)
    except ValueError as error:
        raise ValueError(
            f"controller tracking: {error}; take a smaller tracking.size or tracking.frequency"
        ) from error
    _check(periodic.samples(motion), options)
    return Tracking(K, np.ascontiguousarray(motion), w, options.force_limit)


def _path(options: Options) -> Array:
    if options.path == "harmonics" and not options.harmonics:
        raise ValueError(
            "controller: tracking.harmonics is []; the path harmonics needs four numbers for "
            "each harmonic"
        )
    if options.path == "harmonics":
        return periodic.series(options.harmonics)
    return {"circle": periodic.circle, "eight": periodic.eight}[options.path](options.size)


def _symmetric(system: System) -> System:
    mean = 0.5 * (system.inertia[0] + system.inertia[1])
    return system._replace(inertia=(mean, mean, system.inertia[2]))


def _check(motion: Array, options: Options) -> None:
    """ValueError for a path that the cart may not or cannot follow."""
    distance, force = np.abs(motion[:, :2]).max(), np.hypot(*motion[:, 8:].T).max()
    smaller = "take a smaller tracking.size or tracking.frequency"
    if distance > options.travel:
        raise ValueError(
            f"controller tracking: the path reaches {distance:.3g} m; cart.travel is "
            f"{options.travel:g} m: take a smaller one"
        )
    if force > options.force_limit:
        raise ValueError(
            f"controller tracking: the path needs {force:.3g} N; cart.force_limit is "
            f"{options.force_limit:g} N: {smaller}"
        )


@kernel
def _tracking(q, v, reference, K, motion, phase, limit):
    """(K.11) at the phase w t [rad]."""
    turn, power = complex(math.cos(phase), math.sin(phase)), complex(1.0, 0.0)
    s = np.zeros(10)  # x y, x' y', th_x th_y, th'_x th'_y, u_x u_y
    for n in range(len(motion)):
        for i in range(10):
            s[i] += (motion[n, i] * power).real
        power *= turn
    th = tilt(q, v)
    away = (th[0] - s[4], th[1] - s[5], th[2] - s[6], th[3] - s[7])
    centre = (reference[0] + s[0], reference[1] + s[1])
    ux, uy = linear_force(q, (v[0] - s[2], v[1] - s[3]), away, centre, K, limit)
    return saturate(ux + s[8], uy + s[9], limit)
