"""The DREPE of a free body: exact momentum, bounded energy of order 2, wrenches, Newton against
RIQN, and its screw.
"""

import numpy as np
import pytest

from rbdyn_ros.experiments import apparatus, free_body
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators import se3_free

NEWTON, RIQN = (se3_free.Options(1e-13, 500, kind) for kind in (1, 0))
BODY, START = apparatus.dzhanibekov()
NOTHING = np.zeros(9)


def thrown() -> tuple:
    """(q, v): the flipping body on its way at 0.62 m/s."""
    return np.r_[0.1, 0.2, 0.3, START.q[2:]], np.r_[0.3, -0.2, 0.5, START.v[2:]]


@pytest.mark.parametrize(
    "h, energy, newton_iterations, riqn_iterations",
    [(0.01, 1.66e-4, 2.0, 6.0), (0.03, 1.495e-3, 2.3, 10.0), (0.1, 1.664e-2, 2.7, 51.0)],
)
def test_energy_is_bounded_and_momentum_exact_over_many_steps(
    h, energy, newton_iterations, riqn_iterations
):
    for newton, expected in ((True, newton_iterations), (False, riqn_iterations)):
        run = free_body.simulate_se3(newton, BODY, START, h, 2000, 10)
        assert run.ok and free_body.worst_energy(run) == pytest.approx(energy, rel=0.01)
        assert free_body.worst_momentum(run) < 1e-11
        assert run.iterations == pytest.approx(expected, rel=0.1)


def test_momentum_is_exact_whatever_the_tolerance():
    """What the solver leaves of the equation is handed to the next step."""
    run = free_body.simulate_se3(False, BODY, START, 0.03, 1000, 10, tolerance=1e-6)
    assert free_body.worst_momentum(run) < 1e-11


def test_linear_and_angular_momentum_of_a_thrown_body_in_space():
    q, v = thrown()
    system = BODY._replace(rod_mass=2.0)

    def momenta():
        p = 2.0 * v[:3]
        spin = quaternion.rotate(q[3:], np.multiply(system.inertia, v[3:]))
        return np.r_[p, np.cross(q[:3], p) + spin]

    before = momenta()
    done, _, _ = se3_free.advance_free(system, NEWTON, NOTHING, 0.02, 5000, q, v)
    assert done == 5000 and momenta() == pytest.approx(before, abs=1e-11)


@pytest.mark.parametrize("h, off", [(0.01, 3.8e-3), (0.03, 3.4e-2), (0.1, 0.365)])
def test_the_screw_leaves_the_straight_line(h, off):
    """exp on SE(3) screws the center of mass: 3.8, 34, 365 mm in 20 s."""
    assert free_body.drift_of_the_screw(BODY, START, h, 20.0) == pytest.approx(off, rel=0.03)


@pytest.mark.parametrize("options", [NEWTON, RIQN], ids=["newton", "riqn"])
def test_weight_and_a_wrench_at_a_point_give_the_right_accelerations(options):
    """One short step against Newton and Euler: m a = F - m g e3, I w' + w x I w = R^T T + s x R^T
    F.
    """
    system = BODY._replace(rod_mass=2.0, gravity=9.81, inertia=(0.3, 0.2, 0.12))
    q, v = thrown()
    v[3:] = 0.5, -0.3, 0.8
    F, T, s = np.array([0.5, -0.3, 0.8]), np.array([0.02, 0.1, -0.05]), np.array([0.1, -0.2, 0.4])
    R = quaternion.to_matrix(q[3:])
    I, w = np.array(system.inertia), v[3:].copy()
    linear = F / 2.0 - np.array([0.0, 0.0, 9.81])
    angular = (R.T @ T + np.cross(s, R.T @ F) - np.cross(w, I * w)) / I
    rates = []
    for h in (1e-3, -1e-3):
        qh, vh = q.copy(), v.copy()
        done, _, _ = se3_free.advance_free(system, options, np.r_[F, T, s], h, 1, qh, vh)
        assert done == 1
        rates.append(vh)
    assert (rates[0] - rates[1]) / 2e-3 == pytest.approx(np.r_[linear, angular], abs=1e-5)


def test_a_step_too_large_is_reported_and_nothing_is_nan():
    q, v = thrown()
    v[3:] = 60.0, 30.0, 0.0
    done, iterations, residual = se3_free.advance_free(
        BODY, se3_free.Options(1e-13, 30, 0), NOTHING, 0.1, 5, q, v
    )
    assert done < 5 and not residual <= 1e-13 and iterations <= 31 * (done + 1)
    assert np.isfinite(q).all() and np.isfinite(v).all()
