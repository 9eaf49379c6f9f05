"""Two derivations of the same mechanics: the plant with its attitude against the equations on the
sphere. No law takes part.
"""

import math

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.evaluation.campaigns import batch
from rbdyn_ros.evaluation.metrics import Metric, NotForThisLaw
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import reduced_pendulum, sphere_state, spherical_pendulum
from rbdyn_ros.types import State


def measure(bench, scenario, settings) -> Metric:
    """Simulate random starts without spin under a force; the reference is DOP853 with a tolerance
    of 1e-13.

    Raise NotForThisLaw for a plant that the equations on the sphere do not describe.
    """
    params = bench.params
    if params.cart_fixed or not batch.is_round(params.rod_inertia):
        raise NotForThisLaw("the equations on the sphere are those of I_1 = I_2 and a free cart")
    params = params._replace(cart_friction=0.0, joint_friction=0.0)  # of which they have none
    system, rng = spherical_pendulum.build(params), np.random.default_rng(scenario.seed)
    method = select(scenario.integrator, settings["composition"])
    worst = np.array(
        [_one(system, method, scenario.step, settings, rng) for _ in range(settings["runs"])]
    )
    return Metric({"difference": float(worst[:, 0].max()), "quaternion": float(worst[:, 1].max())})


def _one(system, method, h: float, settings: dict, rng) -> tuple:
    """Return (largest difference, norm error) of one run, on the steps."""
    Q = rng.normal(size=4)
    q = np.array((*rng.uniform(-0.5, 0.5, 2), *(Q / np.linalg.norm(Q))))
    v = np.array((*rng.uniform(-0.5, 0.5, 2), *rng.uniform(-2.0, 2.0, 2), 0.0))
    sines = np.array(
        [(i, settings["amplitude"], rng.uniform(1.0, 6.0), rng.uniform(0.0, 6.0)) for i in (0, 1)]
    )
    input = spherical_pendulum.no_input()._replace(sines=sines)
    s, steps = sphere_state.of_state(q, v), round(settings["duration"] / h)
    exact = _exact(system, sines, s, h * np.arange(steps + 1))
    method.check(system, State(0.0, q, v), input)
    options, reaction, off, norm = method.options(system), np.zeros(3), 0.0, 0.0
    for i in range(steps):
        done, *_ = method.advance(system, options, input, h, 1, State(i * h, q, v), reaction)
        if done < 1:
            return math.inf, math.inf
        now = np.concatenate(sphere_state.of_state(q, v))
        off = max(off, np.abs(now - exact[i + 1]).max())
        norm = max(norm, abs(np.linalg.norm(q[2:]) - 1.0))
    return off, norm


def _exact(system, sines, s: tuple, t) -> np.ndarray:
    """Return (k, k', x, x') at the times t, (n, 10), of the reduced equations."""

    def rates(t, y):
        u = sines[:, 1] * np.sin(sines[:, 2] * t + sines[:, 3])
        k, dk, dx = tuple(y[:3]), tuple(y[3:6]), tuple(y[8:])
        a, ddk = reduced_pendulum.accelerations(system, 0.0, (u[0], u[1]), k, dk, dx)
        return np.concatenate((dk, ddk, dx, a))

    return solve_ivp(
        rates, (0.0, t[-1]), np.concatenate(s), "DOP853", t, rtol=1e-13, atol=1e-13
    ).y.T
