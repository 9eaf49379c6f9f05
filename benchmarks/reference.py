"""The pendulum's true motion: our order 8 at a small step, and SciPy's DOP853 as a check."""

import math
from functools import cache

import numpy as np
from pendulum import SYSTEM, start, stepper, tip
from scipy.integrate import solve_ivp

from rbdyn_ros.integrators import rk4
from rbdyn_ros.kernel import kernel
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import Array

STEP = 2.5e-3  # [s] 17 stages in each


@cache
def tips(times: tuple) -> Array:
    """Return the rod's tip at the times (n,) after 0, in increasing order: (n, 3) [m]."""
    reference, state, rows, t = stepper("moser_veselov", "kahan_li8"), start(), [], 0.0
    for time in times:
        steps = math.ceil((time - t) / STEP)
        if not reference.advance(state.q, state.v, (time - t) / steps, steps):
            raise ArithmeticError("the reference did not converge")
        rows.append(tip(state.q))
        t = time
    return np.array(rows)


def tips_by_dop853(times: tuple) -> Array:
    """Return the same by an explicit Runge-Kutta method of order 8 on the equations of motion."""
    state = start()
    y0 = np.concatenate([state.q, state.v])
    solution = solve_ivp(_rates, (0.0, times[-1]), y0, "DOP853", times, rtol=1e-13, atol=1e-13)
    return np.array([tip(y[:6]) for y in solution.y.T])


@kernel
def _all_rates(system, load, y):
    Q, w, u = (y[2], y[3], y[4], y[5]), (y[8], y[9], y[10]), (y[6], y[7])
    return rk4.rates(system, load, (0.0, 0.0), Q, w, u)


def _rates(t: float, y: Array) -> Array:
    load = rod_on_cart.Load((0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    dx, dQ, dw, du = _all_rates(SYSTEM, load, y)
    return np.array([*dx, *dQ, *du, *dw])
