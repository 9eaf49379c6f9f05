"""The delay and gain margins of the linear loop of a law, from the law's own derivative at
upright.

With u = -K(z) e per axis, K by central differences of the law where it has no memory, and (A, B)
of the stepper over the control period h,

    L(z) = K(z) (z - A)^-1 B,  z = exp(j w h):  1 + g L(z) exp(-j w d) = 0  at the edge,

for a delay d with |L| = 1 and d = (pi + arg L) / w, for a gain g with arg L = pi and g = 1 / |L|.

Behind encoders the state is that of the filter, with its stationary gain G: with d periods of
delay and the actuator's gain g

    e_{k+1}  = A e_k + g B u_{k-d},    u_k = -K ê_k,
    ê-_{k+1} = A ê_k + B w_k,          ê_k = ê-_k + G C (e_k - ê-_k),

where w is the force that the filter is given: g u_{k-d} if it is the one that acted, u_k if it is
the one commanded. The edge is where an eigenvalue of this loop leaves the unit circle.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_are

from rbdyn_ros.control import linear_controller, step_linearization
from rbdyn_ros.control import margins as axis_margins
from rbdyn_ros.control.linear_controller import POSITIONS, LinearController
from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.bench import observer_options
from rbdyn_ros.numerics.bracket import edge
from rbdyn_ros.parameters.controller import FilterNoise
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.closed_loop import COMMANDED
from rbdyn_ros.plant.faults.fault_options import Faults, actual
from rbdyn_ros.types import Array, State, System

# delay [s] and gain up to which the stability limit behind an observer is searched
LATEST, STRONGEST = 0.3, 200.0
GRID = 5000  # frequencies, up to that of the sampling
_STEP = 1e-6  # of the differences, in each of x, x', th, th'


class Margins(NamedTuple):
    """The margins of a linear loop."""

    delay: float  # [s]
    gain_low: float
    gain_high: float


UNKNOWN = Margins(math.nan, math.nan, math.nan)


def of_scenario(bench, scenario) -> Margins:
    """Return the margins of the bench's law in the scenario, on the state or behind encoders, for
    the motion along x that `is_stable` looks at.

    They are nan behind an IMU, for a law with a memory behind encoders, and with faults that the
    theory does not cover: all but mismatch, delays, noise and encoders; behind encoders the plant
    must be the declared one, and only the delay of the search may come in.
    """
    law, h, faults = bench.law(scenario), scenario.period, scenario.faults
    known = Faults(
        command_delay=faults.command_delay,
        state_delay=faults.state_delay,
        noise=faults.noise,
        encoder=faults.encoder,
        mismatch=faults.mismatch,
    )
    if faults != known:
        return UNKNOWN
    system = spherical_pendulum.build(actual(bench.params, faults))
    I = system.inertia
    system = system._replace(inertia=(I[1], I[1], I[2]))  # a rod that falls along x turns about y
    late = sum(round(each / h) for each in (faults.command_delay, faults.state_delay))
    if scenario.observer == "none":
        return margins(system, linear_controller.delay(linear(law), late), h)
    if scenario.observer == "imu" or hasattr(law, "linear") or late or any(faults.mismatch):
        return UNKNOWN
    assumed = observer_options(scenario)
    commanded = scenario.observer_force == COMMANDED
    return behind_encoders(system, gains(law), h, (assumed.cart, assumed.angle), commanded)


def behind_encoders(
    system: System, K: Array, h: float, deviations: tuple[float, ...], commanded: bool
) -> Margins:
    """Return the margins of the loop of K (4,) behind the filter.

    `deviations` are those of the encoders (cart [m], angle [rad]); `commanded`: the filter is
    given the commanded force and not the one that acted.
    """
    A, B = step_linearization.upright(system, h)
    G = _filter_gain(A, deviations, h)

    def is_decaying(delay: int, gain: float) -> bool:
        loop = _loop_behind_filter(A, B, K, G, delay, gain, commanded)
        return bool(np.abs(np.linalg.eigvals(loop)).max() < 1.0)

    if not is_decaying(0, 1.0):
        return UNKNOWN

    def gain_margin(way: float) -> float:
        farthest = edge(lambda far: is_decaying(0, math.exp(way * far)), math.log(STRONGEST), 1e-3)
        return math.exp(way * farthest.holds)

    latest = edge(lambda periods: is_decaying(round(periods), 1.0), round(LATEST / h), 1.01)
    return Margins(h * round(latest.holds), gain_margin(-1.0), gain_margin(1.0))


def of_law(law, params, h: float) -> Margins:
    """Return the margins of a law at the plant `params`, its force held for h [s]."""
    return margins(spherical_pendulum.build(params), linear(law), h)


def linear(law) -> LinearController:
    """Return the linear controller of the law near upright rest: its own `linear()`, or its
    `gains`.
    """
    return law.linear() if hasattr(law, "linear") else linear_controller.constant(gains(law))


def is_stable(bench, scenario, settings, gain: float = 1.0) -> bool:
    """Return whether, in a run, the motion decays that begins with a tilt of settings["tilt"]
    [deg], small enough for the linear theory.
    """
    start = spherical_pendulum.upright(math.radians(settings["tilt"]))
    return metrics.is_decaying(
        bench.run(scenario, start, settings["duration"], gain=gain, stop=metrics.until_fall())
    )


def linear_gains(law, name: str) -> Array:
    """Return K (4,) of a law without memory: its own `gains`, or its derivative. Raise ValueError
    where the derivative depends on the step, so that the law is not linear near upright.
    """
    own = getattr(law, "gains", None)
    if own is not None and np.shape(own) == (4,):
        return np.asarray(own)
    near, far = gains(law), gains(law, 100.0 * _STEP)
    if not np.allclose(near, far, rtol=1e-3, atol=1e-3 * max(1.0, np.abs(near).max())):
        raise ValueError(
            f"{name} is not linear near upright: its derivative is {near.round(3).tolist()} in "
            f"steps of {_STEP:g}, {far.round(3).tolist()} in steps of {100.0 * _STEP:g}"
        )
    return near


def gains(law, step: float = _STEP) -> Array:
    """Return K (4,) of u_x = -K (x, x', th, th') at upright rest, by differences of 2 `step`."""
    return linear_controller.derivative(partial(_force, law), step)


def margins(system: System, controller: LinearController, h: float) -> Margins:
    """Return the margins of the loop of a controller, held for h [s]; inf or 0 where there is no
    limit, nan if the loop is unstable.
    """
    A, B = step_linearization.upright(system, h)
    if not linear_controller.is_stable(controller, A, B):
        return UNKNOWN
    w = np.geomspace(1e-2, math.pi / h, GRID)
    L = controller.loop(A, B, np.exp(1j * h * w))
    found = axis_margins.margins(w / (2.0 * math.pi), L)
    last = 1.0 / abs(L.item(-1))  # at half the sampling rate L is real
    low, high = (last, math.inf) if last < 1.0 else (0.0, last)
    return Margins(found.delay, max(low, found.gain_down), min(high, found.gain_up))


def _filter_gain(A: Array, deviations: tuple, h: float) -> Array:
    """Return the stationary gain G (4, 2) of the filter with the default `FilterNoise`,
    which measures x and th.
    """
    C, R = POSITIONS, np.diag(deviations) ** 2
    Q = h * np.diag((0.0, FilterNoise().cart, 0.0, FilterNoise().rod)) ** 2
    P = solve_discrete_are(A.T, C.T, Q, R)
    return np.linalg.solve(C @ P @ C.T + R, C @ P).T


def _loop_behind_filter(
    A: Array, B: Array, K: Array, G: Array, delay: int, gain: float, commanded: bool
) -> Array:
    """Return the matrix that takes (e, ê-, u_{k-1}, ..., u_{k-d}) to the next period."""
    n = 8 + delay
    loop, seen = np.zeros((n, n)), G @ POSITIONS
    corrected = np.hstack((seen, np.eye(4) - seen))  # ê of (e, ê-)
    command = np.concatenate((-K @ corrected, np.zeros(delay)))
    acting = gain * (np.eye(n)[n - 1] if delay else command)
    loop[:4, :4], loop[4:8, :8] = A, A @ corrected
    loop[:4] += B * acting
    loop[4:8] += B * (command if commanded else acting)
    if delay:
        loop[8] = command
        loop[9:, 8:-1] = np.eye(delay - 1)
    return loop


def _force(law, state: State) -> float:
    closed_loop.reset(law)
    return closed_loop.command_force(law, 0.0, state, np.zeros(2)).item(0)
