"""Exact motions in Jacobi's elliptic functions, as references for the integrators; and the
pitch-cone equations (6.2) by an adaptive Runge-Kutta or multistep method, as in the notebook.
"""

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from rbdyn_ros.integrators import pitch_cone_chart
from rbdyn_ros.types import Array, System


def intermediate_axis(inertia: tuple[float, float, float], w1: float, w2: float, t) -> Array:
    """Return the angular velocity (n, 3) [rad/s, body] of the free body with I_3 < I_1 < I_2 that
    starts at (w1, w2, 0).

    With the frequency and modulus

        s^2 = (I_2 - I_1)(L^2 - 2 E I_3)/(I_1 I_2 I_3),
        k^2 = (I_1 - I_3)(2 E I_2 - L^2)/((I_2 - I_1)(L^2 - 2 E I_3)),

    w = (w1 cd, w2 nd, -a sd)(s t | k^2) with a from Euler's equation. Landau and Lifshitz,
    Mechanics, section 37. Raise ValueError unless axis 1 is the intermediate one and the motion on
    the side of axis 2.
    """
    I1, I2, I3 = inertia
    E2 = I1 * w1**2 + I2 * w2**2
    L2 = (I1 * w1) ** 2 + (I2 * w2) ** 2
    if not (I3 < I1 < I2 and L2 > E2 * I1):
        raise ValueError(f"the inertia is {inertia}; it takes I_3 < I_1 < I_2 and w2 != 0")
    s = np.sqrt((I2 - I1) * (L2 - E2 * I3) / (I1 * I2 * I3))
    k2 = (I1 - I3) * (E2 * I2 - L2) / ((I2 - I1) * (L2 - E2 * I3))
    sn, cn, dn, _ = ellipj(s * np.asarray(t), k2)
    return np.stack([w1 * cn / dn, w2 / dn, -(I2 - I1) / (I3 * s) * w1 * w2 * sn / dn], axis=-1)


def pendulum_angle(theta0: float, w0: float, t) -> Array:
    """Return the angle from the upright (n,) [rad], unwrapped, of a plane pendulum released at
    rest at theta0.

    sin(phi/2) = k cd(w0 t | k^2), k = cos(theta0/2), phi = theta - pi the angle from hanging, w0^2
    = m g l/J.
    """
    k = np.cos(0.5 * theta0)
    sn, cn, dn, _ = ellipj(w0 * np.asarray(t), k * k)
    return np.pi - 2.0 * np.arcsin(k * cn / dn)


def pendulum_period(theta0: float, w0: float) -> float:
    """Return 4 K(k^2)/w0 [s], the period from theta0 over the bottom to the other side and
    back.
    """
    return 4.0 * ellipk(np.cos(0.5 * theta0) ** 2) / w0


def from_rest(pitch: float, cone: float, w0: float, t) -> Array:
    """Return the direction n (n, 3) of a pendulum released at rest at the pitch-cone angles [rad]:
    it stays in its plane.
    """
    n0 = direction(np.array([[pitch, cone]]))[0]
    theta = pendulum_angle(np.arccos(n0[2]), w0, t)
    across = n0[:2] / np.hypot(*n0[:2])
    return np.column_stack([np.outer(np.sin(theta), across), np.cos(theta)])


def massless_cart_cycle(
    inertia: float, ml2: float, mgl: float, theta0: float
) -> tuple[float, Callable[[Array], Array]]:
    """Return (time from theta0 to pi [s], joint force / weight as a function of theta) of a rod on
    a massless free cart, from rest.

    The cart exerts no horizontal force, so the center of mass moves on a vertical line and energy
    alone gives

        theta'^2 = 2 m g l (cos theta0 - cos theta)/(I + m l^2 sin^2 theta),
        N / m g = 1 - (l/g)(theta'' sin theta + theta'^2 cos theta).
    """
    from scipy.integrate import quad

    def rate2(theta):
        return 2.0 * mgl * (np.cos(theta0) - np.cos(theta)) / (inertia + ml2 * np.sin(theta) ** 2)

    def force(theta):
        s, c = np.sin(theta), np.cos(theta)
        bend = (mgl * s - ml2 * s * c * rate2(theta)) / (inertia + ml2 * s * s)
        return 1.0 - ml2 / mgl * (bend * s + rate2(theta) * c)

    # theta = theta0 + u^2 takes the root out of the integrand
    time, _ = quad(
        lambda u: 2.0 * u / np.sqrt(rate2(theta0 + u * u)),
        0.0,
        np.sqrt(np.pi - theta0),
        epsabs=1e-12,
        epsrel=1e-12,
    )
    return time, force


def solve(
    system: System, pitch: float, cone: float, t: Array, method: str, tolerance: float
) -> Array:
    """Return (d, e, d', e') (n, 4) at the times t, from rest at the angles [rad].

    Raise ValueError if the solver fails.
    """

    def rates(_, y):
        return (y[2], y[3], *pitch_cone_chart.accelerations(system, y[0], y[1], y[2], y[3]))

    start = np.array([pitch, cone, 0.0, 0.0])
    solution = solve_ivp(
        rates, (t[0], t[-1]), start, method=method, t_eval=t, rtol=tolerance, atol=tolerance
    )
    if not solution.success:
        raise ValueError(f"{method} gave up on the pitch-cone equations: {solution.message}")
    return solution.y.T


def direction(y: Array) -> Array:
    """Return n = (sin d, cos d sin e, cos d cos e) (n, 3) of rows that begin with d and e."""
    d, e = y[:, 0], y[:, 1]
    return np.column_stack([np.sin(d), np.cos(d) * np.sin(e), np.cos(d) * np.cos(e)])


def angles(n: Array) -> tuple[Array, Array]:
    """Return (d, e) of directions n (n, 3), e in (-pi, pi]."""
    return np.arcsin(n[:, 0]), np.arctan2(n[:, 1], n[:, 2])


def energy(system: System, y: Array) -> Array:
    """Return J/2 (d'^2 + cos^2 d e'^2) + V cos d cos e [J]."""
    J, V = pitch_cone_chart.constants(system)
    d, e, dd, de = y.T
    return 0.5 * J * (dd**2 + np.cos(d) ** 2 * de**2) + V * np.cos(d) * np.cos(e)
