"""How far two states are apart, and how fast that shrinks with the step."""

import numpy as np

from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.types import Input, State, System

COMPONENTS = ("cart", "attitude", "cart velocity", "angular velocity")


def attitude_angle(p, q) -> np.ndarray:
    """Angle between attitudes (..., 4) [rad]; exact for small angles, p and -p are the same."""
    p, q = np.asarray(p), np.asarray(q)
    chord = np.minimum(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))
    return 4.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def distance(q, v, q_reference, v_reference) -> dict:
    """Distance of two states, component by component."""
    distances = (
        np.linalg.norm(q[..., :2] - q_reference[..., :2], axis=-1),
        attitude_angle(q[..., 2:], q_reference[..., 2:]),
        np.linalg.norm(v[..., :2] - v_reference[..., :2], axis=-1),
        np.linalg.norm(v[..., 2:] - v_reference[..., 2:], axis=-1),
    )
    return dict(zip(COMPONENTS, distances))


def advanced(
    integrator: Integrator, system: System, state: State, input: Input, h: float, n: int
) -> tuple:
    """(q, v, reaction of the last step) n steps of h later; every step has converged."""
    after, reaction = State(state.t, state.q.copy(), state.v.copy()), np.zeros(3)
    options = integrator.options(system)
    done, _, residual = integrator.advance(system, options, input, h, n, after, reaction)
    assert done == n, f"stopped after {done} of {n} steps with residual {residual}"
    return after.q, after.v, reaction


def slopes(steps, errors, floor: float) -> np.ndarray:
    """Orders log(e_i/e_i+1)/log(h_i/h_i+1) between neighboring steps whose errors are both above
    round-off.
    """
    h, e = np.asarray(steps), np.asarray(errors)
    above = (e[:-1] > floor) & (e[1:] > floor)
    return np.log(e[:-1][above] / e[1:][above]) / np.log(h[:-1][above] / h[1:][above])
