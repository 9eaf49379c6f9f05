"""An observer of constant gain for a measured motion, and the derivatives of its innovations by
the plant's numbers.

The step z_{k+1} = F_h(z_k, u_k, p) of the stepper predicts the measurement; the gain L corrects
the prediction in the tangent space xi = (dx, dtheta, dx', dw):

    nu_k = z_k^m - z_k^-,   z_k^+ = z_k^- + L nu_k.                                           (I.7)

Where the plant has the numbers p (1 + delta), the innovations nu are, in the first order, noise
and W delta, with the derivatives A, B, C of the step (doc/derivatives.md):

    W_k^- = A W_{k-1}^+ + C T + B du/dtau,   W_k^+ = (1 - L) W_k^-.                           (I.8)

T makes relative changes of `NAMES` of the parameters of `derivatives`. The force acts late: u_k is
the mean of u(t - tau) over the step, and its derivative by tau is the difference to that for tau
+ `LATER`, over `LATER`: the change that is expected, not the slope of a noisy force.

L belongs to the filter that forgets with the time constant T_f, whose errors decay at least as
exp(-t / T_f), whatever the process noise: that of Kalman for A exp(h / T_f), without process
noise, and with the deviations of the measurements.

Source: B. D. O. Anderson and J. B. Moore, Optimal Filtering (1979), section 6.2 (prescribed
stability); A. S. Willsky and H. L. Jones, A generalized likelihood ratio approach to the detection
and estimation of jumps in linear systems, IEEE Trans. Automatic Control 21 (1976) 108.

A change of the plant is reported as a sentence: "the rod is 18 ± 2 % heavier since t = 31.0 s".
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are

from rbdyn_ros.geometry import quaternion, unit_quaternion
from rbdyn_ros.identification.plant_numbers import COLUMNS, FROM, numbers, plant
from rbdyn_ros.identification.segment import METHOD, ZERO, compile_steps
from rbdyn_ros.integrators import derivatives, select
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart, spherical_pendulum
from rbdyn_ros.types import Array, Contacts, System

LATER = 0.01  # [s] of more delay
DELAY = "delay"
NAMES = (
    "cart.mass",
    "cart.damping",
    "cart.friction",
    "rod.mass",
    "rod.center_of_mass",
    "rod.inertia",
    "joint.damping",
    "gain",
    DELAY,
)
# unit of a relative change: the number itself, or this where it is larger, and for the delay [s]
UNIT = {**FROM, DELAY: LATER}
LONGEST = 0.005  # [s] of a step; a longer period is divided
SEEN = np.array((0, 1, 2, 3, 5, 6, 7, 8))  # of xi, compared: without the turn about e3
SMALLEST = np.array([1e-6] * 2 + [1e-6] * 3 + [1e-5] * 5)  # deviation of a measurement [m, rad, s]


class ObserverModel(NamedTuple):
    """The observer's model of the plant, with the numbers known at present."""

    system: System
    gain: float = 1.0  # factor on the commanded force
    delay: float = 0.0  # [s] from command to force
    spread: bool = True  # whether the rod's inertia is proportional to its mass

    def value(self, name: str) -> float:
        """Return the value of one of `NAMES`."""
        own = {"gain": self.gain, DELAY: self.delay}
        return own[name] if name in own else numbers(self.system)[name]

    def unit(self, name: str) -> float:
        """Return the size of a relative change of 1 of the name, in its own unit."""
        return UNIT[DELAY] if name == DELAY else max(self.value(name), UNIT.get(name, 0.0))

    def vary(self, name: str, relative: float) -> "ObserverModel":
        """Return the model with one number changed by `relative` of its `unit`."""
        value = self.value(name) + relative * self.unit(name)
        if name in ("gain", DELAY):
            changed: dict[str, Any] = {name: value}
            return self._replace(**changed)
        system = plant(self.system, {name: value})
        if name == "rod.mass" and self.spread:
            factor = value / self.value(name)
            system = system._replace(inertia=tuple(factor * I for I in system.inertia))
        if name == "rod.inertia":
            last = system.inertia[2] * value / self.value(name)
            system = system._replace(inertia=(*system.inertia[:2], last))
        return self._replace(system=system)


class Inputs(NamedTuple):
    """The inputs of a part of a run, one row for each step."""

    h: Array  # (n,) [s]
    force: Array  # (n, 2) mean force [N]
    later: Array  # (n, 2) the same, `LATER` later
    seen: Array  # (n,) 1 where a measurement follows the step
    measured: Array  # (n, 11) q and v there


def inputs(times: Array, rows: Array, commands: tuple[Array, Array], delay: float) -> Inputs:
    """Return the steps between the measurements `rows` (n + 1, 11) at `times` (n + 1,) [s], under
    the `commands`, times (m,) [s] and forces (m, 2) [N], each of which acts `delay` [s] later.
    """
    h = np.diff(times)
    parts = np.maximum(1, np.ceil(h / LONGEST - 1e-9)).astype(int)
    number = np.concatenate([np.arange(1, n + 1) for n in parts])
    steps = np.repeat(h / parts, parts)
    grid = np.append(times[0], np.repeat(times[:-1], parts) + number * steps)
    seen = np.zeros(len(steps), np.int64)
    seen[np.cumsum(parts) - 1] = 1
    force, later = (_mean_force(commands, grid - late) for late in (delay, delay + LATER))
    return Inputs(steps, force, later, seen, np.repeat(rows[1:], parts, axis=0))


def _mean_force(commands: tuple[Array, Array], grid: Array) -> Array:
    """Return the mean commanded force (n, 2) between the n + 1 times of the grid."""
    at, u = commands
    knots = np.concatenate([[at[0] - 1.0], at, [max(at[-1], grid[-1]) + 1.0]])
    held = np.vstack([u[:1], u])  # before the first command, the first
    impulse = np.zeros((len(knots), 2))
    impulse[1:] = np.cumsum(held * np.diff(knots)[:, None], axis=0)
    there = np.column_stack([np.interp(grid, knots, impulse[:, i]) for i in (0, 1)])
    return np.diff(there, axis=0) / np.diff(grid)[:, None]


class ObserverState(NamedTuple):
    """The state of the observer."""

    state: Array  # (11,) q and v
    W: Array  # (10, p) of (I.8)


def _observe(system, options, gain, L, T, steps, room, found):
    """Take n steps and return how many succeeded.

    `steps` has rows (n, 5): h, force and du/dtau; `seen` (n,); M (n, 11) measurements. `room` has
    S (2, 11), the state first; W (10, p) memory; J (10, 12), G (10, 12), V (10, p). `found` is E
    (n, 10) and P (n, 10, p), innovations and their derivatives.
    """
    (rows, seen, M), (S, W, J, G, V), (E, P) = steps, room, found
    p = W.shape[1]
    for k in range(len(rows)):
        h, force = rows[k, 0], (gain * rows[k, 1], gain * rows[k, 2])
        load = rod_on_cart.Load(force, ZERO, ZERO, ZERO)
        loop = derivatives.StepSequence((1.0,), None, options.tolerance, h, 0.0)
        if by_state(system, options, load, loop, S, None, J) < 1:
            return k
        by_parameters(system, options, load, loop, S, None, G)
        V[:] = 0.0
        for i in range(10):
            V[i, p - 1] = gain * (J[i, 10] * rows[k, 3] + J[i, 11] * rows[k, 4])
            for m in range(10):
                for c in range(p):
                    V[i, c] += J[i, m] * W[m, c]
            for m in range(12):
                for c in range(p):
                    V[i, c] += G[i, m] * T[m, c]
        for i in range(11):
            S[0, i] = S[1, i]
        if seen[k] == 0:
            for i in range(10):
                for c in range(p):
                    W[i, c] = V[i, c]
            continue
        s, m = S[0], M[k]
        Q = (s[2], s[3], s[4], s[5])
        turn = unit_quaternion.product((Q[0], -Q[1], -Q[2], -Q[3]), (m[2], m[3], m[4], m[5]))
        sign = 2.0 if turn[0] >= 0.0 else -2.0
        for i in range(2):
            E[k, i] = m[i] - s[i]
        for i in range(3):
            E[k, 2 + i] = sign * turn[1 + i]
        for i in range(5):
            E[k, 5 + i] = m[6 + i] - s[6 + i]
        for i in range(10):
            move = 0.0
            for c in range(p):
                P[k, i, c] = V[i, c]
                W[i, c] = V[i, c]
            for j in range(10):
                move += L[i, j] * E[k, j]
                for c in range(p):
                    W[i, c] -= L[i, j] * V[j, c]
            S[1, i] = move
        xi = S[1]
        turned = unit_quaternion.product(Q, (1.0, 0.5 * xi[2], 0.5 * xi[3], 0.5 * xi[4]))
        turned = unit_quaternion.normalize(turned)
        for i in range(2):
            s[i] += xi[i]
        for i in range(4):
            s[2 + i] = turned[i]
        for i in range(5):
            s[6 + i] += xi[5 + i]
    return len(rows)


# placeholders for kernels of `derivatives`, which `compile_steps` binds
by_state: Any = _observe
by_parameters: Any = _observe


def observe(
    model: ObserverModel, L: Array, inputs: Inputs, memory: ObserverState
) -> tuple[Array, Array] | None:
    """Return the innovations (m, 8) of the m measurements and their derivatives (m, 8, p), and
    advance `memory`; return None where a step fails.
    """
    n, p = len(inputs.h), len(NAMES)
    system = model.system._replace(contacts=Contacts())
    options = select.select(METHOD).options(system)
    slope = inputs.later - inputs.force  # per unit of the delay
    rows = np.ascontiguousarray(np.column_stack((inputs.h, inputs.force, slope)))
    S, E, P = np.zeros((2, 11)), np.zeros((n, 10)), np.zeros((n, 10, p))
    S[0] = memory.state
    room = S, memory.W, np.zeros((10, 12)), np.zeros((10, 12)), np.zeros((10, p))
    settings = system, options, model.gain, L, columns(model)
    steps = rows, inputs.seen, inputs.measured
    if compile_steps(_observe, "innovations")(*settings, steps, room, (E, P)) < n:
        return None
    memory.state[:] = S[0]
    at = np.flatnonzero(inputs.seen)
    return E[at][:, SEEN], P[at][:, SEEN]


def columns(model: ObserverModel) -> Array:
    """Return T (12, p), the change of the parameters of `derivatives` by one `unit` of each
    name.
    """
    T, I = np.zeros((12, len(NAMES))), model.system.inertia
    for i, name in enumerate(NAMES):
        if name == "rod.inertia":
            T[4:7, i] = I
        elif name in COLUMNS:
            T[COLUMNS[name][0], i] = 1.0 if name == "gain" else model.unit(name)
        if name == "rod.mass" and model.spread:
            T[4:7, i] = I
    return T


def start(measured: Array) -> ObserverState:
    """Return the observer at a measured state (11,)."""
    return ObserverState(np.array(measured, float), np.zeros((10, len(NAMES))))


def deviations(measured: Array) -> Array:
    """Return the deviations (10,) of the noise of measurements (n, 11) at a fixed period, from
    their third differences, in which a smooth motion vanishes: of white noise s they have s
    sqrt(20).
    """
    Q = measured[:, 2:6]
    between = quaternion.product(quaternion.conjugate(Q[:-1]), Q[1:])
    turn = np.copysign(2.0, between[:, :1]) * between[:, 1:]  # small
    place, speed = (np.diff(each, 3, axis=0) for each in (measured[:, :2], measured[:, 6:]))
    found = [np.sqrt(np.mean(d**2, axis=0) / 20.0) for d in (place, np.diff(turn, 2, axis=0))]
    last = np.sqrt(np.mean(speed**2, axis=0) / 20.0)
    mean = [np.full(len(part), part.mean()) for part in (*found, last[:2], last[2:])]
    return np.maximum(np.concatenate(mean), SMALLEST)


def gain(model: ObserverModel, h: float, forget: float, deviation: Array) -> Array:
    """Return L (10, 10) for measurements of the `deviation` (10,) each h [s], with T_f = `forget`
    [s].
    """
    n = max(1, math.ceil(h / LONGEST - 1e-9))
    system = coulomb_friction.without(model.system)._replace(contacts=Contacts())
    rest = spherical_pendulum.upright()
    steps = select.select(METHOD), system, rest, spherical_pendulum.no_input(), h / n, n
    A = derivatives.total(derivatives.along(*steps))[0]
    scale = deviation[:, None] / deviation
    A = math.exp(h / forget) * A / scale
    P = solve_discrete_are(A.T, np.eye(10), 1e-6 * (h / forget) ** 2 * np.eye(10), np.eye(10))
    return scale * (P @ np.linalg.inv(P + np.eye(10)))


WORDS = {
    "cart.mass": ("the cart is {} heavier", "the cart is {} lighter"),
    "cart.damping": ("the cart's damping is {} larger", "the cart's damping is {} smaller"),
    "cart.friction": ("the cart's friction is {} larger", "the cart's friction is {} smaller"),
    "rod.mass": ("the rod is {} heavier", "the rod is {} lighter"),
    "rod.center_of_mass": (
        "the rod's center of mass is {} farther from the joint",
        "the rod's center of mass is {} nearer to the joint",
    ),
    "rod.inertia": ("the rod's inertia is {} larger", "the rod's inertia is {} smaller"),
    "joint.damping": ("the joint's damping is {} larger", "the joint's damping is {} smaller"),
    "gain": ("the actuator gives {} more force", "the actuator gives {} less force"),
    DELAY: ("the force acts {} later", "the force acts {} earlier"),
}
_SI = {"cart.damping": "N s/m", "cart.friction": "N", "joint.damping": "N m s/rad"}


class Estimate(NamedTuple):
    """The estimate of one number that may have changed."""

    name: str  # of `innovations.NAMES`
    before: float  # SI
    after: float
    deviation: float  # of after - before, one standard deviation, SI

    def sentence(self) -> str:
        """Return a clause with the change of the number and its interval of 95 %."""
        change, interval = abs(self.after - self.before), 1.96 * self.deviation
        words = WORDS[self.name][0 if self.after > self.before else 1]
        if self.name == DELAY:
            return words.format(f"{1e3 * change:.1f} ± {1e3 * interval:.1f} ms")
        if self.before < UNIT.get(self.name, 0.0):
            return words.format(f"{change:.3g} ± {interval:.1g} {_SI[self.name]}")
        change, interval = (100.0 * x / self.before for x in (change, interval))
        digits = 0 if interval >= 0.95 else 1
        return words.format(f"{change:.{digits}f} ± {interval:.{digits}f} %")


class Change(NamedTuple):
    """The change of one number; the data may not tell which of several estimates it is."""

    since: float  # [s]
    named: float  # [s] when that was known
    estimates: tuple[Estimate, ...]  # the likeliest first

    def sentence(self) -> str:
        """Return a sentence: which number, by how much, since when."""
        found = ", or ".join(estimate.sentence() for estimate in self.estimates)
        return f"{found}{',' if len(self.estimates) > 1 else ''} since t = {self.since:.1f} s"
