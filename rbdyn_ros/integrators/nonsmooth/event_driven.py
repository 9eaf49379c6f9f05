"""Event-driven integration: smooth flight by SciPy's solve_ivp, roots of the gaps as events, impacts solved exactly.

Between events the closed interactions I hold their acceleration at zero,

    M dv/dt = F + H_I^T lambda,     du/dt = H M^-1 (F + H_I^T lambda) + b = 0,   b = dH/dt v + d(dh/dt)/dt   (N.24)

An event is a gap that closes or a multiplier lambda_N that turns negative. At a gap's root the impulse problem
u^+ = u^- + G P, G = H M^-1 H^T, with the laws' restitution gives v^+; then 0 <= du/dt _|_ lambda >= 0 of the contacts that
stay decides which remain closed.

Zeno: bounces of a contact pressed on get shorter and shorter. Where the next flight, about 2 u^+ / |du/dt|, would last
less than `rest_time`, an impulse puts the contact at rest, u = 0; a bound on the events guards the rest.
A contact with friction that stays closed slides or sticks (phases.py); the ends of these phases are events too: a sliding
speed that reaches zero, and what the law wants of the accelerations where it is no longer the phase (N.30, N.31).
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.integrators.nonsmooth.journey import Halt, Journey
from rbdyn_ros.systems import assembly
from rbdyn_ros.systems.arguments import count, number
from rbdyn_ros.systems.assembly import Network
from rbdyn_ros.types import Array


class Options(NamedTuple):
    """Make them with `options`, which checks."""

    tolerance: float = 1e-10  # rtol and atol of the flight
    max_step: float = np.inf  # [s]; a gap may not close and open again within it
    rest_time: float = 1e-6  # [s] shorter flights are not flown
    max_events: int = 100000


class Run(NamedTuple):
    """States at the requested times, as far as it went; when not ok, `message` says why it stopped."""

    t: Array  # (k,)
    q: Array  # (k, sum n_q)
    v: Array  # (k, sum n)
    events: list
    ok: bool
    message: str


def options(tolerance: float = 1e-10, max_step: float = np.inf, rest_time: float = 1e-6, max_events: int = 100000) -> Options:
    """ValueError for numbers that are not positive."""
    return Options(
        number(tolerance, "tolerance", 0.0, 1e-2, open_low=True),
        number(max_step, "max_step", 0.0, open_low=True, infinite=True),
        number(rest_time, "rest_time", 0.0, open_low=True),
        count(max_events, "max_events", 1),
    )


def run(net: Network, t: float, q: tuple, v: tuple, times: Array, options: Options = Options()) -> Run:
    """From (t, q, v), tuples with a part for each system, to the last of `times` (k,), increasing, each >= t.

    ValueError for what is no start (`assembly.check_start`) and for times that do not increase; all else comes back in the Run.
    """
    assembly.check_start(net, t, q, v)
    times = np.asarray(times, float)
    if times.ndim != 1 or not len(times) or not times[0] >= t or not np.all(np.diff(times) > 0.0) or not np.isfinite(times).all():
        raise ValueError(f"the times must be finite, increase, and begin at t = {t:g} s or later")
    journey = Journey(net, t, q, v, times, options)
    message = ""
    try:
        journey.travel()
    except (Halt, assembly.Singular) as halt:
        message = f"event_driven stopped at t = {journey.t:g} s: {halt}"
    k = len(journey.rows)
    q, v = journey.split(np.array(journey.rows).reshape(k, journey.cuts_q[-1] + journey.cuts_v[-1]))
    return Run(times[:k], q, v, journey.events, not message, message)
