"""The pitch-cone equations (6.2) by an adaptive Runge-Kutta or multistep method: the notebook's
ground truth, remade.
"""

import numpy as np
from scipy.integrate import solve_ivp

from rbdyn_ros.mechanics.integrators import pitch_cone
from rbdyn_ros.types import Array, System


def solve(
    system: System, pitch: float, cone: float, t: Array, method: str, tolerance: float
) -> Array:
    """(d, e, d', e') (n, 4) at the times t, from rest at the angles [rad].

    ValueError if the solver gives up.
    """

    def rates(_, y):
        return (y[2], y[3], *pitch_cone.accelerations(system, y[0], y[1], y[2], y[3]))

    start = np.array([pitch, cone, 0.0, 0.0])
    solution = solve_ivp(
        rates, (t[0], t[-1]), start, method=method, t_eval=t, rtol=tolerance, atol=tolerance
    )
    if not solution.success:
        raise ValueError(f"{method} gave up on the pitch-cone equations: {solution.message}")
    return solution.y.T


def direction(y: Array) -> Array:
    """n = (sin d, cos d sin e, cos d cos e) (n, 3)."""
    d, e = y[:, 0], y[:, 1]
    return np.column_stack([np.sin(d), np.cos(d) * np.sin(e), np.cos(d) * np.cos(e)])


def angles(n: Array) -> tuple[Array, Array]:
    """(d, e) of directions n (n, 3), e in (-pi, pi]."""
    return np.arcsin(n[:, 0]), np.arctan2(n[:, 1], n[:, 2])


def energy(system: System, y: Array) -> Array:
    """J/2 (d'^2 + cos^2 d e'^2) + V cos d cos e [J]."""
    J, V = pitch_cone.constants(system)
    d, e, dd, de = y.T
    return 0.5 * J * (dd**2 + np.cos(d) ** 2 * de**2) + V * np.cos(d) * np.cos(e)
