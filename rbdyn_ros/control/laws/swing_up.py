"""Swing the rod up from anywhere, catch it, balance it.

With k the rod's direction, n = (k_x, k_y), J, alpha, beta of `pendulum.reduced_pendulum`
and

    E = J |k'|^2 / 2 + m g l (k_z - 1),     L = J (k_x k'_y - k_y k'_x),

an acceleration a of the cart makes E' = -m l a.n' and L' = -m l (k_x a_y - k_y a_x), up to
friction. Hence

    a = cut(k_E (E - E_0) n' + k_L L (-k_y, k_x)) - k_x (x - reference) - k_v x',             (K.9)

which drives E to E_0 and the precession L to zero (without its term the rod circles for ever), is
made small towards the edge of the travel (`_kept_inside`), and becomes a force by inverse
dynamics. Hanging at rest is an equilibrium of this law, so there the cart is kicked first. Every
`LOOK` seconds the law asks whether the rod can be caught (`control.planning.catching`); from then
on the regulator of `lqr` rules, until the tilt exceeds `RELEASE`.

Source of the energy and momentum shaping: Astrom and Furuta, Automatica 36 (2000) 287; Shiriaev,
Ludvigsen, Egeland, Swinging up the spherical pendulum via stabilization of its first integrals,
Automatica 40 (2004) 73.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from rbdyn_ros.control import identification, riccati
from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.planning.catching import (
    CatchCriteria,
    Mode,
    balance,
    is_catchable,
    unstable_mode,
)
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.pendulum.reduced_pendulum import force
from rbdyn_ros.schema import spec
from rbdyn_ros.types import PART, Array, State, System

LOOK = 0.02  # [s] between two questions whether the rod can be caught
WIDEST = 1.2  # [rad] tilt below which it is asked
RELEASE = 1.4  # [rad] tilt beyond which a catch has failed
# of 2 m g l: below it above hanging, and slower than `KICK_RATE`, the cart is kicked
KICK_ENERGY = 0.15 / 23.544
KICK_RATE = 0.05  # [1/s]
KICK_REACH = 0.05  # [m] from the origin, within which a kick goes along x
BRAKE = 8.0  # [1/s] how fast the speed is brought to what the edge allows
RETURN = 4.0  # [1/s] speed back, per metre beyond the edge
STEP = 1.2  # factor of the differences in `_exponents`
KINDS = ("swing_up",)  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """Gains, found by random search for the 2 m of travel and 20 N of the default plant."""

    energy_gain: Annotated[
        float, spec("Sets the acceleration of the cart per missing energy.", "m/(J s)", low=0.0)
    ] = 0.3273  # k_E
    precession_gain: Annotated[
        float,
        spec(
            "Sets the acceleration of the cart against the rod's precession.",
            "1/(kg m s)",
            low=0.0,
        ),
    ] = 17.91  # k_L
    position_gain: Annotated[
        float, spec("Sets the acceleration of the cart towards the reference.", "1/s^2", low=0.0)
    ] = 2.955  # k_x
    velocity_gain: Annotated[
        float, spec("Sets the acceleration of the cart against its velocity.", "1/s", low=0.0)
    ] = 1.499  # k_v
    acceleration_limit: Annotated[
        float, spec("Limits the acceleration that shapes energy and precession.", "m/s^2", low=0.0)
    ] = 6.765
    energy: Annotated[
        float, spec("Sets the energy to swing up to, above that of upright rest.", "J")
    ] = 0.2938  # E_0
    braking: Annotated[
        float,
        spec(
            "Sets the deceleration with which the cart is expected to stop before the edge of its "
            "travel.",
            "m/s^2",
            low=0.0,
        ),
    ] = 3.191
    edge: Annotated[
        float, spec("Sets where the cart turns back, as a fraction of cart.travel.", **PART)
    ] = 0.8026
    catch_part: Annotated[
        float,
        spec(
            "Sets the fraction of the largest unstable mode that a force can stop, below which a "
            "catch is tried.",
            **PART,
        ),
    ] = 0.6569  # zeta
    identify_plant: Annotated[
        bool,
        spec(
            "Identifies masses, length and damping while the rod swings, and uses them in place "
            "of "
            "the declared ones."
        ),
    ] = True
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


class Plan(NamedTuple):
    """The law's numbers."""

    criteria: CatchCriteria
    options: Options
    exponents: Array  # (7, 4) of `ADAPTED` in the factors of `control.identification.FACTORS`


# The law's memory is one array: that of the identification, then these numbers.
ADAPTED = identification.SIZE  # K (4,), w_x', w_th', z_max / u_max of the plant as identified
CAUGHT = ADAPTED + 7  # 1 while the regulator rules
ASKED = CAUGHT + 1  # [s] when the last question was put
SENT = CAUGHT + 2  # [s] time of the last command; nan: none
COMMANDED = CAUGHT + 3  # (2,) [N] the last command
PUSHED = CAUGHT + 5  # (2,) [N s] of all commands since the last look
SIZE = CAUGHT + 7


class SwingUp:
    """Shaping, then a catch.

    It remembers whether the rod is caught, when to ask next, and the plant as identified so far.
    """

    def __init__(self, plan: Plan):
        self.plan, self.memory = plan, np.zeros(SIZE)
        self.reset()

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        if t < self.memory[ASKED]:  # time was set back
            self.reset()
        return np.array(_command(self.plan, self.memory, float(t), q, v, r))

    def reset(self) -> None:
        """Begin anew: the rod is not caught, nobody has asked, and the plant is as believed."""
        forget(self.plan, self.memory)

    @property
    def caught(self) -> bool:
        """Whether the regulator rules."""
        return bool(self.memory[CAUGHT] > 0.0)

    def diagnostics(self) -> dict[str, float]:
        """Return the plant as identified.

        Length and masses over those believed, and the delay of the force [s].
        """
        return identification.diagnostics(self.memory)


def design(model, params, options: Options) -> SwingUp:
    """Return the law for the plant that `model` builds from `params`, and its rolls compiled.

    ValueError if an option is out of range, if I1 != I2, or if nothing can be balanced: the cart
    is fixed, no lever.
    """
    options = checked("swing_up", options)
    system = model.build(params)
    if system.inertia[0] != system.inertia[1]:
        raise ValueError(
            f"controller swing_up: rod.inertia is {list(system.inertia)} kg m^2; the first two "
            "must be equal: "
            "the law sees a rod without its angle about itself"
        )
    try:
        K, mode = _design_regulator(system, options.period)
        exponents = _exponents(system, options.period)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ValueError(f"controller swing_up: {error}; {NEEDS}") from error
    return SwingUp(
        Plan(
            CatchCriteria(
                system, K, mode, options.force_limit, options.travel, options.catch_part
            ),
            options,
            exponents,
        )
    )


def _design_regulator(
    system: System, h: float, gain: Callable = riccati.gain
) -> tuple[Array, Mode]:
    """(K, mode) of the regulator that rules after a catch."""
    K, _ = regulator(system, lqr.Options()[:4], lqr.Options().force_weight, h, gain)
    return K, unstable_mode(system)


def _exponents(system: System, h: float) -> Array:
    """(7, 4): d ln|number| / d ln factor of `ADAPTED`, by central differences; 0 for a number that
    is 0.

    The powers give the numbers of a plant with all factors within 20 % of 1 to 2 per cent, within
    a factor of 2 to a fifth.
    """

    def logs(place: int, factor: float) -> Array:
        factors = [1.0] * 4
        factors[place] = factor
        K, mode = _design_regulator(
            identification.scaled(system, *factors), h, riccati.unchecked_gain
        )
        numbers = np.abs((*K, mode.weights[1], mode.weights[3], mode.reach))
        return np.log(np.where(numbers > 0.0, numbers, 1.0))

    return np.column_stack(
        [(logs(i, STEP) - logs(i, 1.0 / STEP)) / (2.0 * math.log(STEP)) for i in range(4)]
    )


@kernel
def forget(plan, m):
    """Write the memory of a law that has seen nothing."""
    identification.forget(m)
    m[CAUGHT:] = 0.0
    m[ASKED], m[SENT] = -math.inf, math.nan
    _adapt(plan, m)


@kernel
def _command(plan, m, t, q, v, reference):
    p3 = plan.criteria.system.inertia[2] * v[4]
    return decide(plan, m, t, p3, sphere_state.of_state(q, v), (reference[0], reference[1]))


@kernel
def decide(plan, m, t, p3, s, reference):
    """(u_x, u_y) of s = (k, k', x, x') at time t; the memory `m` (SIZE,) goes on."""
    count_impulse(m, t)
    if m[CAUGHT] > 0.0:
        m[CAUGHT] = 1.0 if s[0][2] > math.cos(RELEASE) else 0.0
    elif t - m[ASKED] >= LOOK - 1e-9:
        m[ASKED] = t
        identify(plan, m, t, p3, s)
        m[CAUGHT] = (
            1.0 if is_catchable(identified_criteria(plan, m), p3, s, reference, WIDEST) else 0.0
        )
    criteria = identified_criteria(plan, m)
    ux, uy = (
        balance(criteria, s, reference)
        if m[CAUGHT] > 0.0
        else swing(criteria.system, plan.options, p3, s, reference)
    )
    ux, uy = saturate(ux, uy, criteria.force_limit)
    remember(m, t, ux, uy)
    return ux, uy


@inlined
def remember(m, t, ux, uy):
    """Keep the command of time t."""
    m[SENT], m[COMMANDED], m[COMMANDED + 1] = t, ux, uy


@inlined
def count_impulse(m, t):
    """Count the impulse of the last command, which has acted until t."""
    if m[SENT] == m[SENT]:
        m[PUSHED] += m[COMMANDED] * (t - m[SENT])
        m[PUSHED + 1] += m[COMMANDED + 1] * (t - m[SENT])


@kernel
def identify(plan, m, t, p3, s):
    """Let the identification look at s.

    The regulator and its unstable mode become those of the plant that it finds.
    """
    if plan.options.identify_plant:
        force, impulse = (m[COMMANDED], m[COMMANDED + 1]), (m[PUSHED], m[PUSHED + 1])
        if identification.look(m, plan.criteria.system, t, p3, s, force, impulse):
            _adapt(plan, m)
    m[PUSHED] = m[PUSHED + 1] = 0.0


@kernel
def _adapt(plan, m):
    """Compute the numbers of `ADAPTED`.

    Those of the believed plant times the powers of the factors by which it was wrong.
    """
    criteria, E, f = plan.criteria, plan.exponents, identification.FACTORS
    believed = (
        criteria.gains[0],
        criteria.gains[1],
        criteria.gains[2],
        criteria.gains[3],
        criteria.mode.weights[1],
        criteria.mode.weights[3],
        criteria.mode.reach,
    )
    logs = (math.log(m[f]), math.log(m[f + 1]), math.log(m[f + 2]), math.log(m[f + 3]))
    for i in range(7):
        m[ADAPTED + i] = believed[i] * math.exp(
            E[i, 0] * logs[0] + E[i, 1] * logs[1] + E[i, 2] * logs[2] + E[i, 3] * logs[3]
        )


@inlined
def identified_criteria(plan, m):
    """Return what a catch is decided with, of the plant as identified."""
    criteria = plan.criteria
    mode = Mode((0.0, m[ADAPTED + 4], 1.0, m[ADAPTED + 5]), m[ADAPTED + 6])
    system = identification.identified(m, criteria.system)
    return CatchCriteria(
        system,
        m[ADAPTED : ADAPTED + 4],
        mode,
        criteria.force_limit,
        criteria.travel,
        criteria.part,
    )


@inlined
def swing(system, o, p3, s, reference):
    """Return the force of (K.9), not yet cut [N].

    No call in it to what a loop over many states could not vectorise.
    """
    (x, y), (vx, vy) = s[2], s[3]
    ax, ay = _shaping(system, o, s)
    ax -= o.position_gain * (x - reference[0]) + o.velocity_gain * vx
    ay -= o.position_gain * (y - reference[1]) + o.velocity_gain * vy
    ax, ay = _kept_inside(o, ax, ay, s[2], s[3])
    return force(system, p3, (ax, ay), s[0], s[1], s[3])


@inlined
def _shaping(system, o, s):
    """Return the part of a that changes E and L; hanging at rest, a kick towards the origin."""
    k, dk, (x, y), _ = s
    J = system.inertia[0] + system.rod_mass * system.center**2
    mgl = system.rod_mass * system.gravity * system.center
    E, L = 0.5 * J * vec.dot(dk, dk) + mgl * (k[2] - 1.0), J * (k[0] * dk[1] - k[1] * dk[0])
    if (
        k[2] < 0.0
        and E < 2.0 * mgl * (KICK_ENERGY - 1.0)
        and dk[0] * dk[0] + dk[1] * dk[1] < KICK_RATE**2
    ):
        r = math.sqrt(x * x + y * y)
        return (
            (o.acceleration_limit, 0.0)
            if r < KICK_REACH
            else (-o.acceleration_limit * x / r, -o.acceleration_limit * y / r)
        )
    e, c = o.energy_gain * (E - o.energy), o.precession_gain * L
    return saturate(e * dk[0] - c * k[1], e * dk[1] + c * k[0], o.acceleration_limit)


@inlined
def _kept_inside(o, ax, ay, x, v):
    """Return a with its outward part at most BRAKE (v_lim - v_r).

    Here v_lim is the speed from which `braking` stops at the edge.
    """
    r = math.sqrt(x[0] * x[0] + x[1] * x[1])
    if r == 0.0:
        return ax, ay
    nx, ny, gap = x[0] / r, x[1] / r, o.edge * o.travel - r
    allowed = math.sqrt(2.0 * o.braking * gap) if gap > 0.0 else RETURN * gap
    excess = ax * nx + ay * ny - BRAKE * (allowed - (v[0] * nx + v[1] * ny))
    return (ax - excess * nx, ay - excess * ny) if excess > 0.0 else (ax, ay)
