"""First-order schemes: the equations of chapter 8 with their factors, on circuits and on a
nonlinear input.
"""

import numpy as np
import pytest

from rbdyn_ros.network import first_order, laws, theta_gamma

L, C, R = 1e-2, 1e-6, 1e3  # H, F, ohm: an oscillator with a half-wave rectifier


def rectifier() -> first_order.FirstOrder:
    """x = (capacitor voltage, coil current); the diode lets the current lambda through the
    resistor, y = R lambda - v.
    """
    return first_order.linear(
        [[0.0, -1 / C], [1 / L, 0.0]], [[-1 / C], [0.0]], [[-1.0, 0.0]], [[R]]
    )


def nonlinear() -> first_order.FirstOrder:
    return first_order.FirstOrder(
        np.array([[1.0, 0.1], [0.0, 2.0]]),
        lambda t, x: np.array([-np.sin(x[0]) + x[1], -(x[1] ** 3) + 0.3 * x[0] - 1.0]),
        lambda t, x: np.array([[-np.cos(x[0]), 1.0], [0.3, -3.0 * x[1] ** 2]]),
        lambda t, x, s: np.array([x[0] + 0.2 * x[1] ** 2 - 0.5 + 0.3 * s[0]]),
        lambda t, x, s: np.array([[1.0, 0.4 * x[1]]]),
        lambda t, x, s: np.array([[0.3]]),
        lambda t, x, s: np.array([(1.0 + x[1] ** 2) * s[0], 0.2 * np.sin(s[0])]),
        lambda t, x, s: np.array([[0.0, 2.0 * x[1] * s[0]], [0.0, 0.0]]),
        lambda t, x, s: np.array([[1.0 + x[1] ** 2], [0.2 * np.cos(s[0])]]),
        ((1, laws.Complementarity()),),
    )


def run(system, x, h, n, options):
    rows = [theta_gamma.start(system, 0.0, np.asarray(x), np.zeros(1))]
    for _ in range(n):
        rows.append(theta_gamma.step(system, rows[-1], h, options))
        assert rows[-1].ok, rows[-1].message
    return rows


@pytest.mark.parametrize("full", [False, True])
def test_nonlinear_scheme_solves_its_own_equations(full):
    """(N.20) and (N.21) at the result, to round-off: with the factors missing they fail by 1e-3
    and more.
    """
    system, h, theta, gamma = nonlinear(), 0.02, 0.5, 0.6
    rows = run(system, [1.0, 0.5], h, 100, theta_gamma.options(theta, gamma, full))
    assert any(r.multiplier[0] > 0.1 for r in rows)
    for a, b in zip(rows, rows[1:]):
        r = h * b.r if full else h * gamma * b.r + h * (1.0 - gamma) * a.r
        smooth = h * theta * system.f(b.t, b.x) + h * (1.0 - theta) * system.f(a.t, a.x)
        assert system.M @ (b.x - a.x) == pytest.approx(smooth + r, abs=1e-11)
        z = gamma * b.x + (1.0 - gamma) * a.x if full else b.x
        y = system.h(0.0, z, b.multiplier)[0]
        assert b.r == pytest.approx(system.g(0.0, z, b.multiplier), abs=1e-13)
        assert min(y, b.multiplier[0]) == pytest.approx(0.0, abs=1e-11)
        assert b.iterations <= 4


@pytest.mark.parametrize("gamma, full, order", [(1.0, False, 1.0), (0.5, True, 2.0)])
def test_half_wave_rectifier(gamma, full, order):
    """The oscillator rings in one half wave, the resistor damps the other: dv/dt and di/dt piece
    by piece.
    """
    period = 5e-4
    A = {
        0: np.array([[0.0, -1 / C], [1 / L, 0.0]]),
        1: np.array([[-1 / (R * C), -1 / C], [1 / L, 0.0]]),
    }
    from scipy.integrate import solve_ivp

    y = solve_ivp(
        lambda t, x: A[int(x[0] > 0)] @ x,
        (0, period),
        [10.0, 0.0],
        "DOP853",
        rtol=1e-10,
        atol=1e-12,
        max_step=1e-6,
    ).y[:, -1]
    errors, counts = [], (200, 400, 800)
    for n in counts:
        end = run(rectifier(), [10.0, 0.0], period / n, n, theta_gamma.options(0.5, gamma, full))[
            -1
        ]
        errors.append(np.abs(end.x - y).max())
        assert end.iterations == 1
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(order, abs=0.3)


def test_sliding_mode_without_chatter():
    """dx/dt = -sgn x, as complementarity: 1 - s in [0, 2]; x is at zero after x_0 seconds and
    stays to round-off.
    """
    system = first_order.FirstOrder(
        np.eye(1),
        lambda t, x: np.zeros(1),
        lambda t, x: np.zeros((1, 1)),
        lambda t, x, s: np.array([s[1] + x[0], 2.0 - s[0]]),
        lambda t, x, s: np.array([[1.0], [0.0]]),
        lambda t, x, s: np.array([[0.0, 1.0], [-1.0, 0.0]]),
        lambda t, x, s: np.array([s[0] - 1.0]),
        lambda t, x, s: np.zeros((1, 1)),
        lambda t, x, s: np.array([[1.0, 0.0]]),
        ((2, laws.Complementarity()),),
    )
    row = theta_gamma.start(system, 0.0, np.array([0.503]), np.zeros(2))
    for _ in range(100):
        row = theta_gamma.step(system, row, 1e-2, theta_gamma.options(1.0, 1.0))
        assert row.ok, row.message
    assert row.x[0] == pytest.approx(0.0, abs=1e-13)


def test_bad_options_are_named():
    with pytest.raises(ValueError, match="gamma is 0.0"):
        theta_gamma.options(gamma=0.0)


def test_a_system_without_relations_decays_by_the_midpoint_rule():
    system = first_order.assemble(first_order.linear_dynamics([[-1.0]]), ())
    start = theta_gamma.start(system, 0.0, np.ones(1), np.zeros(0))
    after = theta_gamma.step(system, start, 0.1)
    assert after.ok and after.x[0] == pytest.approx(0.95 / 1.05, rel=1e-13)
