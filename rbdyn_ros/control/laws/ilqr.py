"""A swing-up that was planned: the cheapest motion from hanging to upright, followed, then caught.

`design` knows the plant; the motion is planned by `prepare`, or at the
first command, in a few seconds, and kept for the next design with the same numbers.
It uses a part of the force and of the travel, so that the regulator about it has something left.
From then on, every `swing_up.LOOK`, the law asks

    following the motion:    does a roll along the rest of it still arrive? then it goes on;
    else   the regulator of `lqr`, if it can catch the rod (`catching`), until the tilt
           exceeds `RELEASE`;
    else   the planned motion from its nearest point, rotated about the vertical, if a rollout
           along it arrives.

Where no answer is yes it swings as `swing_up` does, until one is. What it asks with, and swings,
is the plant as identified (`control.identification`); the motion stays the one that was planned.
Planning anew, from where the rod is, would take longer than the rod waits, and is not tried.

The motion from hanging to upright that `ilqr` follows: found from several first guesses,
checked, and with a regulator about it.
"""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from tqdm import tqdm

from rbdyn_ros.control import identification, scale
from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import swing_up
from rbdyn_ros.control.laws.swing_up import RELEASE, WIDEST
from rbdyn_ros.control.planning import ddp
from rbdyn_ros.control.planning.catching import CatchCriteria, balance, is_catchable
from rbdyn_ros.control.planning.path import Path, arrives, as_ten, force_at, nearest, rotate
from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State, System

# A motion is planned for the plant of the size and strength of `control.scale` that is like the
# given one, whose units these are.
NODE = 0.02  # [s] between two nodes
EFFORT, WALL = 1e-3, 10.0  # w_u and w_s of (K.18)
END = (300.0, 300.0, 300.0, 100.0, 100.0, 100.0, 300.0, 300.0, 100.0, 100.0)  # the diagonal of Q_N
GUESSES = (0.25, -0.5, 0.1)  # of the limit: a force that swings at the rod's own frequency
# relative fall of the cost; damping at which nothing helps any more
ITERATIONS, CONVERGED, LOST = (
    400,
    1e-6,
    1e6,
)
HANGING = (0.0, 0.0, -1.0) + (0.0,) * 7  # k k' x x'


def swing_path(
    criteria: CatchCriteria, duration: float, force_edge: float, travel_edge: float, period: float
) -> Path:
    """From hanging at rest to upright in `duration` [s], within a force [N] and a distance from
    the origin [m].

    About it the regulator with the weights of `lqr`, which is also what comes after its end.
    ValueError if the best motion that was found is none: it does not arrive, or not within the
    limits of the criteria.
    """
    system, limit = criteria.system, criteria.force_limit
    to = scale.to_reference(system, limit)
    motion = _cheapest(
        scale.similar(system, to)[:8],
        to.time * duration,
        to.force * force_edge,
        to.length * travel_edge,
    )
    motion = ddp.Motion(motion.states / _units(to), motion.forces / to.force)
    found = _design_gains(system, motion, limit, period, NODE / to.time)
    force, far = (np.hypot(*columns.T).max() for columns in (motion.forces, motion.states[:, 6:8]))
    if (
        force > criteria.force_limit
        or far > criteria.travel
        or not arrives(found, criteria, 0.0, 0.0, motion.states[0])
    ):
        tilt = math.degrees(math.acos(max(-1.0, min(1.0, motion.states[-1, 2]))))
        raise ValueError(
            f"the best swing-up of {duration:g} s that was found needs {force:.3g} N of "
            f"{criteria.force_limit:g} and "
            f"{far:.3g} m of {criteria.travel:g}, and ends with a tilt of {tilt:.3g} degrees"
        )
    return found


def _units(to: scale.Factors) -> Array:
    """Return the factors of the ten numbers of a state: k, k', x, x'."""
    return np.repeat((1.0, 1.0 / to.time, to.length, to.length / to.time), (3, 3, 2, 2))


@lru_cache(maxsize=8)
def _cheapest(
    numbers: tuple, duration: float, force_edge: float, travel_edge: float
) -> ddp.Motion:
    """Return the best motion that was found, of the plant in the units of `control.scale`."""
    system = System(*numbers)  # without contacts, which have arrays
    cost = ddp.Cost(EFFORT, force_edge, travel_edge, WALL, np.array(END))
    firsts = [
        initial_guess(system, np.array(HANGING), duration, guess * force_edge) for guess in GUESSES
    ]
    return min((plan_motion(system, cost, first) for first in firsts), key=lambda found: found[1])[
        0
    ]


def initial_guess(system: System, start: Array, duration: float, force: float) -> ddp.Motion:
    """Return a first guess: the motion from `start` (10,) under a force [N] along x, at the
    frequency at which the rod hangs.
    """
    n, J = round(duration / NODE), system.inertia[0] + system.rod_mass * system.center**2
    w = math.sqrt(system.rod_mass * system.gravity * abs(system.center) / J)
    forces = np.zeros((n, 2))
    forces[:, 0] = force * np.cos(w * NODE * np.arange(n))
    return ddp.Motion(ddp.roll_out(system, start, forces, NODE), forces)


def plan_motion(system: System, cost: ddp.Cost, motion: ddp.Motion) -> tuple[ddp.Motion, float]:
    """(motion, what it costs) where iterating from a first guess ends; the start stays."""
    price, damping = ddp.price(cost, *motion, NODE), 1e-3
    for _ in tqdm(range(ITERATIONS), desc="planning the swing-up", disable=None, leave=False):
        before = price
        motion, price, damping = ddp.improve(system, cost, motion, NODE, damping)
        if damping > LOST or 0.0 < before - price < CONVERGED * price:
            break
    return motion, price


def _design_gains(
    system: System, motion: ddp.Motion, force_limit: float, period: float, node: float
) -> Path:
    """Return the motion with gains: Q and R of `lqr`, and its Riccati matrix at the end."""
    (x, v, th, dth), R = scale.weights(system, force_limit)
    Q = np.array((th, th, th, dth, dth, dth, x, x, v, v))
    _, S = regulator(system, (x, v, th, dth), R, period)
    end = np.zeros((ddp.SIZE, ddp.SIZE))
    for axis in (0, 1):
        places = np.array((6, 8, 0, 3)) + axis  # of x, x', th, th' near upright
        end[np.ix_(places, places)] = S
    n = len(motion.forces)
    gains, forms = np.zeros((n, 2, ddp.SIZE)), np.zeros((n + 1, ddp.SIZE, ddp.SIZE))
    ddp.design_gains(system, motion, node, (Q, R, end), gains, forms)
    return Path(*motion, gains, forms, node)


KINDS = ("swing_up",)  # what it is meant for, in the words of evaluation.suite
SWINGING, FOLLOWING, BALANCING = 0, 1, 2
LONGER = (1.0, 1.2, 1.44, 1.73)  # times `duration`: what is tried in turn


class Options(NamedTuple):
    """How long the motion takes, what it leaves to the feedback, and what the plant allows."""

    duration: Annotated[
        float,
        spec(
            "Sets the duration of the planned motion from hanging to upright; where there is "
            "none, "
            "longer ones are tried.",
            "s",
            low=0.1,
            high=30.0,
        ),
    ] = 3.8
    force_part: Annotated[
        float,
        spec("Sets the fraction of cart.force_limit that the plan may use.", above=0.0, high=1.0),
    ] = 0.9
    edge: Annotated[
        float, spec("Sets the fraction of cart.travel that the plan may use.", above=0.0, high=1.0)
    ] = 0.9
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


class Plan(NamedTuple):
    """What the law decides with."""

    path: Path
    swing: swing_up.Plan


class Memory(NamedTuple):
    """What the law remembers between two states."""

    phase: int  # SWINGING, FOLLOWING or BALANCING
    asked: float  # [s] when the last question was put
    begun: float  # [s] when the motion that is followed began
    angle: float  # [rad] by which it is turned


_NOTHING = Memory(SWINGING, -math.inf, 0.0, 0.0)


class Ilqr:
    """The law.

    It remembers what it is at, when to ask next, and the plant as identified so far.
    """

    def __init__(self, swing: swing_up.Plan, options: Options):
        self._swing, self._options = swing, options
        self._plan: Plan | None = None  # until `prepare`
        self._identified = np.zeros(swing_up.SIZE)  # memory of `swing_up`
        self.reset()

    def prepare(self) -> None:
        """Find the motion, a longer one where that of `duration` is none.

        RuntimeError if none is found.
        """
        if self._plan is None:
            self._plan = Plan(self._path(), self._swing)

    def _path(self) -> Path:
        o, why = self._options, None
        for longer in LONGER:
            try:
                limits = (o.force_part * o.force_limit, o.edge * o.travel)
                return swing_path(self._swing.criteria, longer * o.duration, *limits, o.period)
            except ValueError as error:
                why = error
        raise RuntimeError(
            f"controller ilqr: {why}; take another ilqr.duration, or more force or travel"
        ) from why

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.

        RuntimeError if there is no motion to follow.
        """
        q, v, r = admit(state, reference)
        self.prepare()
        if t < self._memory.asked:  # time was set back
            self.reset()
        self._memory, ux, uy = _command(
            self._plan, self._memory, self._identified, float(t), q, v, r
        )
        return np.array((ux, uy))

    def reset(self) -> None:
        """Begin anew: the rod swings, nobody has asked, and the plant is as believed."""
        self._memory = _NOTHING
        swing_up.forget(self._swing, self._identified)

    def diagnostics(self) -> dict[str, float | str]:
        """Return what the law does, how long its motion takes [s], and the identified plant."""
        phase = ("swinging", "following", "balancing")[self._memory.phase]
        duration = len(self._plan.path.forces) * self._plan.path.h if self._plan else 0.0
        return {
            "phase": phase,
            "duration": duration,
            **identification.diagnostics(self._identified),
        }


def design(model, params, options: Options) -> Ilqr:
    """Return the law for the plant that `model` builds from `params`; its motion is not
    planned yet.

    ValueError if an option is out of range, if I1 != I2, or if nothing can be balanced: the cart
    is fixed, no lever.
    """
    options = checked("ilqr", options)
    shared = {name: getattr(options, name) for name in ("period", "force_limit", "travel")}
    try:
        swing = swing_up.design(model, params, swing_up.Options(**shared)).plan
    except ValueError as error:
        raise ValueError(str(error).replace("controller swing_up", "controller ilqr")) from error
    return Ilqr(swing, options)


@kernel
def _command(plan, memory, m, t, q, v, reference):
    p3 = plan.swing.criteria.system.inertia[2] * v[4]
    return decide(
        plan, memory, m, t, p3, sphere_state.of_state(q, v), (reference[0], reference[1])
    )


@kernel
def decide(plan, memory, m, t, p3, s, reference):
    """(memory, u_x, u_y) of s = (k, k', x, x') at time t.

    `m` is the memory of `swing_up`, which goes on.
    """
    phase, asked, begun, angle = memory
    path, swing = plan.path, plan.swing
    swing_up.count_impulse(m, t)
    if phase == BALANCING and not s[0][2] > math.cos(RELEASE):
        phase = SWINGING
    over = phase == FOLLOWING and t - begun >= len(path.forces) * path.h - 1e-9
    if over or phase != BALANCING and t - asked >= swing.look - 1e-9:
        asked = t
        swing_up.identify(swing, m, t, p3, s)
        phase, begun, angle = _next_phase(
            path,
            swing_up.identified_criteria(swing, m),
            p3,
            s,
            reference,
            t,
            (SWINGING if over else phase, begun, angle),
        )
    criteria = swing_up.identified_criteria(swing, m)
    if phase == BALANCING:
        ux, uy = balance(criteria, s, reference)
    elif phase == FOLLOWING:
        c, d = math.cos(angle), math.sin(angle)
        ux, uy = force_at(path, t - begun, rotate(as_ten(s), -angle), criteria.force_limit)
        ux, uy = c * ux - d * uy, d * ux + c * uy
    else:
        ux, uy = swing_up.swing(criteria.system, swing.shaping, p3, s, reference)
    ux, uy = saturate(ux, uy, criteria.force_limit)
    swing_up.remember(m, t, ux, uy)
    return Memory(phase, asked, begun, angle), ux, uy


@kernel
def _next_phase(path, criteria, p3, s, reference, t, last):
    """(phase, begun, angle): what to do from here, after what was done last."""
    phase, begun, angle = last
    here = as_ten(s)
    if phase == FOLLOWING and arrives(path, criteria, p3, t - begun, rotate(here, -angle)):
        return FOLLOWING, begun, angle
    if is_catchable(criteria, p3, s, reference, WIDEST):
        return BALANCING, begun, angle
    angle, node = nearest(path, here)
    if arrives(path, criteria, p3, node * path.h, rotate(here, -angle)):
        return FOLLOWING, t - node * path.h, angle
    return SWINGING, begun, angle
