"""Swing the rod up from anywhere, catch it, balance it.

With k the rod's direction, n = (k_x, k_y), J, alpha, beta of `models.reduced_pendulum` and

    E = J |k'|^2 / 2 + m g l (k_z - 1),     L = J (k_x k'_y - k_y k'_x),

an acceleration a of the cart makes E' = -m l a.n' and L' = -m l (k_x a_y - k_y a_x), up to friction. Hence

    a = cut(k_E (E - E_0) n' + k_L L (-k_y, k_x)) - k_x (x - reference) - k_v x',                              (K.9)

which drives E to E_0 and the precession L to zero (without its term the rod circles for ever), is made small towards the
edge of the travel (`_kept_inside`), and becomes a force by inverse dynamics. Hanging at rest is an equilibrium of this
law, so there the cart is kicked first. Every `LOOK` seconds the law asks whether the rod can be caught
(`controllers.catching`); from then on the regulator of `lqr` rules, until the tilt exceeds `RELEASE`.

Source of the energy and momentum shaping: Astrom and Furuta, Automatica 36 (2000) 287; Shiriaev, Ludvigsen, Egeland,
Swinging up the spherical pendulum via stabilization of its first integrals, Automatica 40 (2004) 73.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.controllers import lqr
from rbdyn_ros.controllers.admission import admitted
from rbdyn_ros.controllers.catching import Net, balance, is_catchable, unstable_mode
from rbdyn_ros.controllers.feedback import NEEDS, regulator
from rbdyn_ros.controllers.options import checked
from rbdyn_ros.controllers.rod_length import RodLength
from rbdyn_ros.controllers.saturation import saturated
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.models import sphere_state
from rbdyn_ros.models.reduced_pendulum import force
from rbdyn_ros.settings.parameter import Parameter
from rbdyn_ros.types import Array, State

LOOK = 0.02  # [s] between two questions whether the rod can be caught
WIDEST = 1.2  # [rad] tilt below which it is asked
RELEASE = 1.4  # [rad] tilt beyond which a catch has failed
KICK_ENERGY = 0.15 / 23.544  # of 2 m g l: below it above hanging, and slower than `KICK_RATE`, the cart is kicked
KICK_RATE = 0.05  # [1/s]
KICK_REACH = 0.05  # [m] from the origin, within which a kick goes along x
BRAKE = 8.0  # [1/s] how fast the speed is brought to what the edge allows
RETURN = 4.0  # [1/s] speed back, per metre beyond the edge
KINDS = ("swing_up",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """Gains, found by random search for the 2 m of travel and 20 N of the default plant."""

    energy_gain: float = 0.3273  # k_E [m/(J s)]
    precession_gain: float = 17.91  # k_L [1/(kg m s)]
    position_gain: float = 2.955  # k_x [1/s^2]
    velocity_gain: float = 1.499  # k_v [1/s]
    acceleration_limit: float = 6.765  # of the shaping [m/s^2]
    energy: float = 0.2938  # E_0 [J]
    braking: float = 3.191  # towards the edge [m/s^2]
    edge: float = 0.8026  # where the edge is, of the travel
    catch_part: float = 0.6569  # zeta
    learn_length: bool = True  # of the rod, while it swings
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


def _gain(option: str, unit: str, description: str, low: float | None = 0.0, high: float | None = None) -> Parameter:
    return Parameter(f"swing_up.{option}", Options._field_defaults[option], unit, description, low=low, high=high)


PARAMETERS = (
    _gain("energy_gain", "m/(J s)", "acceleration of the cart for the energy that is missing"),
    _gain("precession_gain", "1/(kg m s)", "acceleration of the cart against the rod's circling"),
    _gain("position_gain", "1/s^2", "acceleration towards the reference"),
    _gain("velocity_gain", "1/s", "acceleration against the cart's velocity"),
    _gain("acceleration_limit", "m/s^2", "largest acceleration that shapes energy and circling"),
    _gain("energy", "J", "energy above that of upright to swing for", low=None),
    _gain("braking", "m/s^2", "deceleration that the cart counts on towards the edge of its travel"),
    _gain("edge", "", "where the cart turns back, as a part of cart.travel", high=1.0),
    _gain("catch_part", "", "part of the largest unstable mode that a force can stop, below which a catch is tried", high=1.0),
    Parameter("swing_up.learn_length", True, "", "correct the believed length of the rod by how it swings", "bool"),
)


class Plan(NamedTuple):
    """The law's numbers."""

    net: Net
    options: Options


class SwingUp:
    """Shaping, then a catch. It remembers whether the rod is caught, when to ask next, and how long the rod seems to be."""

    def __init__(self, plan: Plan):
        self.plan = self._plan = plan
        self._length = RodLength(plan.net.system)
        self.reset()

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world]. ValueError names what is not finite, of another shape or not unit."""
        q, v, r = admitted(state, reference)
        if t < self.asked:  # time was set back
            self.reset()
        if self.plan.options.learn_length and not self.caught and t - self.asked >= LOOK - 1e-9:
            self._learn(float(t), q, v)
        self.caught, self.asked, ux, uy = _command(self._plan, float(t), q, v, r, self.caught, self.asked)
        return np.array((ux, uy))

    def reset(self) -> None:
        """The rod is not caught, nobody has asked, and it is as long as believed."""
        self.caught, self.asked, self._plan = False, -math.inf, self.plan
        self._length.forget()

    def evidence(self) -> dict:
        """How long the rod seems to be, of what is believed."""
        return {"rod_length_factor": self._length.factor}

    def _learn(self, t: float, q: Array, v: Array) -> None:
        self._length.look(t, sphere_state.of_state(q, v))
        self._plan = self.plan._replace(net=self.plan.net._replace(system=self._length.system()))


def design(model, params, options: Options) -> SwingUp:
    """The law for the plant that `model` builds from `params`, and its rolls compiled.

    ValueError if an option is out of range, if I1 != I2, or if nothing can be balanced: the cart is fixed, no lever.
    """
    options = checked(options, PARAMETERS)
    system = model.build(params)
    if system.inertia[0] != system.inertia[1]:
        raise ValueError(
            f"controller swing_up: rod.inertia is {list(system.inertia)} kg m^2; the first two must be equal: "
            "the law sees a rod without its angle about itself"
        )
    try:
        K, _ = regulator(system, lqr.Options()[:4], lqr.Options().force_weight, options.period)
        mode = unstable_mode(system)
    except ValueError as error:
        raise ValueError(f"controller swing_up: {error}; {NEEDS}") from error
    return SwingUp(Plan(Net(system, K, mode, options.force_limit, options.travel, options.catch_part), options))


@kernel
def _command(plan, t, q, v, reference, caught, asked):
    p3 = plan.net.system.inertia[2] * v[4]
    return decide(plan, t, p3, sphere_state.of_state(q, v), (reference[0], reference[1]), caught, asked)


@kernel
def decide(plan, t, p3, s, reference, caught, asked):
    """(caught, asked, u_x, u_y) of s = (k, k', x, x') at time t; `asked` is when the last question was put."""
    if caught:
        caught = s[0][2] > math.cos(RELEASE)
    elif t - asked >= LOOK - 1e-9:
        asked, caught = t, is_catchable(plan.net, p3, s, reference, WIDEST)
    ux, uy = balance(plan.net, s, reference) if caught else swing(plan, p3, s, reference)
    ux, uy = saturated(ux, uy, plan.net.force_limit)
    return caught, asked, ux, uy


@inlined
def swing(plan, p3, s, reference):
    """The force of (K.9), not yet cut [N]. No call in it to what a loop over many states could not vectorise."""
    o, (x, y), (vx, vy) = plan.options, s[2], s[3]
    ax, ay = _shaping(plan.net.system, o, s)
    ax -= o.position_gain * (x - reference[0]) + o.velocity_gain * vx
    ay -= o.position_gain * (y - reference[1]) + o.velocity_gain * vy
    ax, ay = _kept_inside(o, ax, ay, s[2], s[3])
    return force(plan.net.system, p3, (ax, ay), s[0], s[1], s[3])


@inlined
def _shaping(system, o, s):
    """The part of a that changes E and L; hanging at rest, a kick towards the origin."""
    k, dk, (x, y), _ = s
    J = system.inertia[0] + system.rod_mass * system.center**2
    mgl = system.rod_mass * system.gravity * system.center
    E, L = 0.5 * J * vec.dot(dk, dk) + mgl * (k[2] - 1.0), J * (k[0] * dk[1] - k[1] * dk[0])
    if k[2] < 0.0 and E < 2.0 * mgl * (KICK_ENERGY - 1.0) and dk[0] * dk[0] + dk[1] * dk[1] < KICK_RATE**2:
        r = math.sqrt(x * x + y * y)
        return (o.acceleration_limit, 0.0) if r < KICK_REACH else (-o.acceleration_limit * x / r, -o.acceleration_limit * y / r)
    e, c = o.energy_gain * (E - o.energy), o.precession_gain * L
    return saturated(e * dk[0] - c * k[1], e * dk[1] + c * k[0], o.acceleration_limit)


@inlined
def _kept_inside(o, ax, ay, x, v):
    """a with its outward part at most BRAKE (v_lim - v_r): v_lim is the speed from which `braking` stops at the edge."""
    r = math.sqrt(x[0] * x[0] + x[1] * x[1])
    if r == 0.0:
        return ax, ay
    nx, ny, gap = x[0] / r, x[1] / r, o.edge * o.travel - r
    allowed = math.sqrt(2.0 * o.braking * gap) if gap > 0.0 else RETURN * gap
    excess = ax * nx + ay * ny - BRAKE * (allowed - (v[0] * nx + v[1] * ny))
    return (ax - excess * nx, ay - excess * ny) if excess > 0.0 else (ax, ay)
