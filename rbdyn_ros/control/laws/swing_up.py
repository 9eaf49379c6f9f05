"""Swing the rod up from anywhere, catch it, balance it.

With k the rod's direction, n = (k_x, k_y), J, alpha, beta of `pendulum.reduced_pendulum`
and

    E = J |k'|^2 / 2 + m g l (k_z - 1),     L_k = J (k_x k'_y - k_y k'_x),

an acceleration a of the cart makes E' = -m l a.n' and L_k' = -m l (k_x a_y - k_y a_x), up to
friction. Hence

    a = cut(c_E (E - E_0) n' + c_L L_k (-k_y, k_x)) - c_x (x - reference) - c_v x',           (K.9)

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

from rbdyn_ros.control import identification, riccati, scale
from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.planning.catching import (
    CatchCriteria,
    Mode,
    balance,
    is_catchable,
    unstable_mode,
)
from rbdyn_ros.control.scale import Scale
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.pendulum.reduced_pendulum import accelerations, force
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State, System

WIDEST = 1.2  # [rad] tilt below which it is asked whether the rod can be caught
RELEASE = 1.4  # [rad] tilt beyond which a catch has failed
# of 2 m g l: below it above hanging, and slower than `KICK_RATE`, the cart is kicked
KICK_ENERGY = 0.15 / 23.544
# in the units of `control.scale`
LOOK = 0.05  # between two questions whether the rod can be caught
KICK_RATE = 0.0202
KICK_REACH = 0.0312  # from the origin, within which a kick goes along x
BRAKE = 3.231  # how fast the speed is brought to what the edge allows
RETURN = 1.6155  # speed back, per distance beyond the edge
# of the rehearsals: tilt from upright [rad], rates down and across
STARTS = ((math.pi, 0.0, 0.0), (math.pi - 0.05, 0.01, -0.01), (math.pi - 0.5, 0.3, 0.4))
FINEST, LONGEST = 0.0125, 120.0  # longest step, duration
STANDING, NEAR, SETTLED = math.cos(math.radians(2.0)), 0.03, 2.5  # k_z, distance, time at rest
MORE = (1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)  # times the force or the travel
STEP = 1.2  # factor of the differences in `_exponents`
KINDS = ("swing_up",)  # what it is meant for, in the words of evaluation.suite


class Gains(NamedTuple):
    """The numbers of (K.9) in the units of `control.scale`; accelerations are parts of
    a_0 = u_max / alpha, which the drive has for a rod that does not pull.
    """

    energy: float  # c_E
    precession: float  # c_L
    position: float  # c_x
    velocity: float  # c_v
    acceleration_limit: float  # of what shapes energy and precession
    target: float  # E_0
    braking: float  # with which the cart is expected to stop before the edge
    edge: float  # of the travel, where the cart turns back
    catch_part: float  # c_z of (K.10), of the largest unstable mode that a force can stop
    hold: float  # c, of the rod's pull that the drive cancels


# Found by random search: the first for the default plant, the second for half its travel, then
# each for the plants that those before it do not swing up. `design` takes the first that does.
TABLE = (
    Gains(1.0733, 9.5795, 0.53195, 0.66813, 0.76108, 0.02496, 0.3590, 0.8026, 0.6569, 1.0),
    Gains(0.7359, 5.627, 0.3456, 0.6284, 0.3693, 0.03905, 0.1304, 0.9142, 0.7511, 1.0),
    Gains(1.67, 18.8, 0.0592, 0.805, 0.609, 0.111, 1.0, 0.654, 0.987, 0.17),
    Gains(0.301, 3.73, 0.0513, 0.278, 0.106, 0.14, 0.0856, 0.799, 0.537, 0.949),
    Gains(0.859, 2.94, 0.0192, 1.14, 0.272, 0.129, 0.396, 0.881, 0.624, 0.561),
    Gains(2.04, 12.4, 0.342, 1.31, 1.0, 0.2, 0.779, 0.842, 1.0, 0.102),
    Gains(1.85, 9.95, 0.11, 0.947, 0.42, 0.026, 0.717, 0.858, 0.999, 0.193),
    Gains(0.58, 5.82, 0.0966, 0.333, 0.122, 0.00299, 0.607, 0.974, 0.604, 0.13),
    Gains(1.0, 2.78, 0.0819, 0.722, 0.147, 0.0153, 0.158, 0.847, 0.743, 1.0),
)
NAMES = ", ".join(Gains._fields)


class Options(NamedTuple):
    """Gains other than those that are found by `design`, and what the plant allows."""

    gains: Annotated[
        tuple[float, ...],
        spec(
            f"Sets the gains, in the natural units of the plant: {NAMES}; empty: they are chosen "
            "by simulated swing-ups.",
            low=0.0,
            length=(0, len(Gains._fields)),
        ),
    ] = ()
    identify_plant: Annotated[
        bool,
        spec(
            "Identifies masses, length and damping while the rod swings, and uses them in place "
            "of the declared ones."
        ),
    ] = True
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


class Shaping(NamedTuple):
    """The numbers of (K.9) and of the edge for one plant."""

    energy_gain: float  # c_E [m/(J s)]
    precession_gain: float  # c_L [1/(kg m s)]
    position_gain: float  # c_x [1/s^2]
    velocity_gain: float  # c_v [1/s]
    acceleration_limit: float  # [m/s^2]
    energy: float  # E_0 [J]
    braking: float  # [m/s^2]
    edge: float  # [m]
    hold: float  # c
    kick_rate: float  # [1/s]
    kick_reach: float  # [m]
    brake: float  # [1/s]
    back: float  # [1/s]


class Plan(NamedTuple):
    """The law's numbers."""

    criteria: CatchCriteria
    shaping: Shaping
    look: float  # [s] between two questions whether the rod can be caught
    identify_plant: bool
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

    def __init__(self, plan: Plan, swings_up: bool, system: System, options: Options):
        self.plan, self.memory = plan, np.zeros(SIZE)
        self.swings_up = swings_up  # in the model, from hanging
        self._designed_for = system, options
        self.reset()

    def notes(self) -> tuple[str, ...]:
        """Return what the law cannot do with this plant, and the number that is missing."""
        if self.swings_up:
            return ()
        return (f"swing_up does not swing this rod up: {_missing(*self._designed_for)}",)

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
            "must be equal: the law sees a rod without its angle about itself"
        )
    try:
        weights = scale.weights(system, options.force_limit)
        _design_regulator(system, weights, options.period)  # it says what is missing
        exponents = _exponents(system, weights, options.period)
        return SwingUp(*_choose(system, options, exponents), system, options)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ValueError(f"controller swing_up: {error}; {NEEDS}") from error


def _choose(system: System, options: Options, exponents: Array) -> tuple[Plan, bool]:
    """Return (plan, whether it swings up) of the first gains whose rehearsals succeed; where none
    do, of those that come furthest.
    """
    natural, h = scale.of_plant(system), options.period
    K, mode = _design_regulator(system, scale.weights(system, options.force_limit), h)
    limits = options.force_limit, options.travel
    look = _whole_periods(LOOK * natural.time, h)
    # what a drive of more than the usual strength can do is first left to the catch alone
    usual = min(options.force_limit, scale.usual_force(system)), options.travel
    candidates = [(gains, limits) for gains in TABLE]
    if options.gains:
        candidates = [(Gains(*options.gains), limits)]
    elif usual != limits:
        candidates.insert(0, (TABLE[0], usual))
    most, best = -1, None
    for gains, used in candidates:
        criteria = CatchCriteria(system, K, mode, *limits, gains.catch_part, natural.time)
        shaping = _shaping_of(gains, system, natural, *used)
        plan = Plan(criteria, shaping, look, options.identify_plant, exponents)
        passed = _count_rehearsals(plan, h)
        if passed > most:
            most, best = passed, plan
        if passed == len(STARTS):
            break
    assert best is not None
    return best, most == len(STARTS)


def _count_rehearsals(plan: Plan, h: float) -> int:
    """Return after how many of the rehearsals the first one fails."""
    T, known = plan.criteria.time, plan._replace(identify_plant=False)
    held = h * max(1, int(FINEST * T / h))
    steps = math.ceil(held / (FINEST * T) - 1e-9)
    for passed, (tilt, down, across) in enumerate(STARTS):
        c, d = math.cos(tilt), math.sin(tilt)
        start = (d, 0.0, c), (c * down / T, across / T, -d * down / T), (0.0, 0.0), (0.0, 0.0)
        if math.isnan(rehearse(known, start, held, steps, LONGEST * T)):
            return passed
    return len(STARTS)


@kernel
def rehearse(plan, s, held, steps, duration):
    """Return the time [s] from which on the rod stands if the law begins in the state s; nan if
    the cart leaves its travel, or the time is over.

    Forces are held for `held` [s], in which the model takes `steps` steps.
    """
    memory, c, since = np.zeros(SIZE), plan.criteria, 0.0
    forget(plan, memory)
    near = NEAR * c.system.gravity * c.time**2
    for i in range(int(duration / held)):
        u = decide(plan, memory, i * held, 0.0, s, (0.0, 0.0))
        for _ in range(steps):
            s = sphere_state.step(c.system, 0.0, u, s, held / steps)
        t, r = (i + 1) * held, math.hypot(s[2][0], s[2][1])
        if r > c.travel:
            return math.nan
        if s[0][2] < STANDING or r > near:
            since = t
        elif t - since >= SETTLED * c.time:
            return since
    return math.nan


def _missing(system: System, options: Options) -> str:
    """Return which force or which travel is enough, as a sentence."""
    unused = np.zeros((7, 4))  # a rehearsal identifies nothing

    def enough(name: str, now: float, unit: str, more: Callable[[float], Options]) -> list[str]:
        for factor in MORE:
            if _choose(system, more(factor * now), unused)[1]:
                return [f"cart.{name} some {factor * now:.2g} {unit} in place of {now:.3g}"]
        return []

    found = enough(
        "force_limit", options.force_limit, "N", lambda u: options._replace(force_limit=u)
    )
    if math.isfinite(options.travel):
        found += enough("travel", options.travel, "m", lambda r: options._replace(travel=r))
    if found:
        return f"it needs for {' or for '.join(found)}"
    return (
        f"{MORE[-1]:g} times cart.force_limit or cart.travel are not enough: the joint's or the "
        "cart's damping is too large, or the period too long"
    )


def _whole_periods(time: float, period: float) -> float:
    return period * max(1, round(time / period))


def _shaping_of(
    gains: Gains, system: System, natural: Scale, force_limit: float, travel: float
) -> Shaping:
    """Return the gains in SI units."""
    length, T = natural
    m, ml = system.rod_mass, system.rod_mass * system.center
    J, mgl = ml * length, ml * system.gravity
    a = force_limit / (system.cart_mass + m - ml * ml / J)
    return Shaping(
        energy_gain=a * gains.energy * T / mgl,
        precession_gain=a * gains.precession * T / J,
        position_gain=a * gains.position / length,
        velocity_gain=a * gains.velocity * T / length,
        acceleration_limit=a * gains.acceleration_limit,
        energy=gains.target * mgl,
        braking=a * gains.braking,
        edge=gains.edge * travel,
        hold=gains.hold,
        kick_rate=KICK_RATE / T,
        kick_reach=KICK_REACH * length,
        brake=BRAKE / T,
        back=RETURN / T,
    )


def _design_regulator(
    system: System,
    weights: tuple[tuple[float, ...], float],
    h: float,
    gain: Callable = riccati.gain,
) -> tuple[Array, Mode]:
    """(K, mode) of the regulator that rules after a catch."""
    K, _ = regulator(system, *weights, h, gain)
    return K, unstable_mode(system)


def _exponents(system: System, weights: tuple[tuple[float, ...], float], h: float) -> Array:
    """(7, 4): d ln|number| / d ln factor of `ADAPTED`, by central differences; 0 for a number that
    is 0.

    The powers give the numbers of a plant with all factors within 20 % of 1 to 2 per cent, within
    a factor of 2 to a fifth.
    """

    def logs(place: int, factor: float) -> Array:
        factors = [1.0] * 4
        factors[place] = factor
        K, mode = _design_regulator(
            identification.scaled(system, *factors), weights, h, riccati.unchecked_gain
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
    elif t - m[ASKED] >= plan.look - 1e-9:
        m[ASKED] = t
        identify(plan, m, t, p3, s)
        m[CAUGHT] = (
            1.0 if is_catchable(identified_criteria(plan, m), p3, s, reference, WIDEST) else 0.0
        )
    criteria = identified_criteria(plan, m)
    ux, uy = (
        balance(criteria, s, reference)
        if m[CAUGHT] > 0.0
        else swing(criteria.system, plan.shaping, p3, s, reference)
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
    if plan.identify_plant:
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
        criteria.time,
    )


@inlined
def swing(system, o, p3, s, reference):
    """Return the force of (K.9), not yet cut [N].

    No call in it to what a loop over many states could not vectorise.
    """
    (k, dk, (x, y), (vx, vy)), ml = s, system.rod_mass * system.center
    # from the cart to the point that stays where the drive leaves the rod's pull to the cart
    shift = (1.0 - o.hold) * ml / (system.cart_mass + system.rod_mass)
    ax, ay = _shaping(system, o, s, shift)
    ax -= o.position_gain * (x + shift * k[0] - reference[0]) + o.velocity_gain * (
        vx + shift * dk[0]
    )
    ay -= o.position_gain * (y + shift * k[1] - reference[1]) + o.velocity_gain * (
        vy + shift * dk[1]
    )
    if o.hold < 1.0:
        ax, ay = _give_way(system, o.hold, p3, (ax, ay), s)
    ax, ay = _kept_inside(o, ax, ay, s[2], s[3])
    return force(system, p3, (ax, ay), k, dk, s[3])


@inlined
def _give_way(system, hold, p3, a, s):
    """Return the acceleration of the cart if the part `hold` of the rod's pull is canceled."""
    k, dk, _, v = s
    ml = system.rod_mass * system.center
    beta = ml * ml / (system.inertia[0] + ml * system.center)
    alpha = system.cart_mass + system.rod_mass - beta
    pull = force(system, p3, (0.0, 0.0), k, dk, v)
    along = beta * (k[0] * a[0] + k[1] * a[1])
    ux = alpha * a[0] + hold * (along * k[0] + pull[0])
    uy = alpha * a[1] + hold * (along * k[1] + pull[1])
    return accelerations(system, p3, (ux, uy), k, dk, v)[0]


@inlined
def _shaping(system, o, s, shift):
    """Return the part of a that changes E and L; hanging at rest, a kick towards the origin."""
    k, dk, (x, y), _ = s
    ml = system.rod_mass * system.center
    J, mgl = system.inertia[0] + ml * system.center, ml * system.gravity
    across = dk[0] * dk[0] + dk[1] * dk[1]
    E = 0.5 * (J * vec.dot(dk, dk) - shift * ml * across) + mgl * (k[2] - 1.0)
    L = J * (k[0] * dk[1] - k[1] * dk[0])
    if k[2] < 0.0 and E < 2.0 * mgl * (KICK_ENERGY - 1.0) and across < o.kick_rate**2:
        r = math.sqrt(x * x + y * y)
        return (
            (o.acceleration_limit, 0.0)
            if r < o.kick_reach
            else (-o.acceleration_limit * x / r, -o.acceleration_limit * y / r)
        )
    e, c = o.energy_gain * (E - o.energy), o.precession_gain * L
    return saturate(e * dk[0] - c * k[1], e * dk[1] + c * k[0], o.acceleration_limit)


@inlined
def _kept_inside(o, ax, ay, x, v):
    """Return a with its outward part at most `brake` (v_lim - v_r).

    Here v_lim is the speed from which `braking` stops at the edge.
    """
    r = math.sqrt(x[0] * x[0] + x[1] * x[1])
    if r == 0.0:
        return ax, ay
    nx, ny, gap = x[0] / r, x[1] / r, o.edge - r
    allowed = math.sqrt(2.0 * o.braking * gap) if gap > 0.0 else o.back * gap
    excess = ax * nx + ay * ny - o.brake * (allowed - (v[0] * nx + v[1] * ny))
    return (ax - excess * nx, ay - excess * ny) if excess > 0.0 else (ax, ay)
