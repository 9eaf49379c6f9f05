"""The notebook "Geometric Discrete Variational Dynamics": its unit test to all printed digits, and
why it fails.
"""

import numpy as np
import pytest

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus, free_body
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators import tqdl
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright

TILT = np.radians(10.0)


def test_unit_test_of_the_notebook_to_all_printed_digits():
    system, state = apparatus.dzhanibekov()
    result = step(select("tqdl"), system, state, no_input(), 0.03).state
    Q, w = result.q[2:], result.v[2:]
    p = w * np.array(system.inertia)
    assert w == pytest.approx([5.99999984, 0.0100898591, -0.00108325284], abs=5e-9)
    assert Q == pytest.approx([0.92008301, 0.08303691, 0.38127300, -0.03439501], abs=5e-9)
    assert quaternion.rotate(Q, w) == pytest.approx(
        [4.24189812, 0.01028234, -4.24338257], abs=5e-9
    )
    assert p == pytest.approx([0.480952187, 8.32813942e-4, -4.29861806e-6], abs=5e-10)
    assert quaternion.rotate(Q, p) == pytest.approx([0.34008552, 8.3308e-4, -0.34008359], abs=5e-9)


@pytest.mark.parametrize("h, turned", [(0.03, 3.84), (0.01, 1.279), (0.005, 0.640)])
def test_momentum_of_a_free_body_turns_with_order_1(h, turned):
    """The notebook's "wiggling magenta arrow": the attitude sees the old angular velocity."""
    system, state = apparatus.dzhanibekov()
    run = free_body.simulate(select("tqdl"), system, state, h, int(20.0 / h), 1)
    assert free_body.tilt_of_momentum(run).max() == pytest.approx(turned, rel=2e-3)


@pytest.mark.parametrize(
    "coupling, h, gain",
    [
        (tqdl.STALE, 0.01, 3.49),
        (tqdl.STALE, 0.001, 0.340),
        (tqdl.FROZEN, 0.01, 1.539),
        (tqdl.FROZEN, 0.001, 0.1533),
    ],
)
def test_the_falling_pendulum_gains_energy_in_proportion_to_the_step(coupling, h, gain):
    rig = apparatus.pendulum()
    record = apparatus.simulate(
        apparatus.notebook_scheme(coupling), rig, upright(TILT), h, 1.0, 0.01
    )
    energy = apparatus.pseudo_energy(rig, record.q, record.v)
    assert energy[-1] - energy[0] == pytest.approx(gain, rel=2e-3)


def test_first_full_turn_at_10_ms_after_1_28_s():
    rig = apparatus.pendulum()
    record = apparatus.simulate(select("tqdl"), rig, upright(TILT), 0.01, 1.5, 0.01)
    assert apparatus.first(
        record.t, apparatus.plane_angle(record.q) > 2.0 * np.pi
    ) == pytest.approx(1.28)


def test_coupled_it_is_of_order_4_and_keeps_the_energy():
    """Same model, same step, same Runge-Kutta: only attitude and velocity see each other."""
    rig = apparatus.pendulum()
    record = apparatus.simulate(
        apparatus.notebook_scheme(tqdl.COUPLED), rig, upright(TILT), 0.01, 10.0, 0.01
    )
    energy = apparatus.pseudo_energy(rig, record.q, record.v)
    assert np.abs(energy - energy[0]).max() < 1e-5


def test_the_lever_of_the_step_before_survives_a_call():
    """One call of 20 steps equals 20 calls of one step: the state alone does not hold the stale
    lever.
    """
    rig, integrator = apparatus.pendulum(), apparatus.notebook_scheme()
    once = apparatus.simulate(integrator, rig, upright(TILT), 0.01, 0.2, 0.2)
    often = apparatus.simulate(integrator, rig, upright(TILT), 0.01, 0.2, 0.01)
    assert once.q[-1] == pytest.approx(often.q[-1], abs=1e-14)


def test_the_center_of_mass_stays_where_it_is():
    """The notebook's model: the cart follows below it."""
    rig = apparatus.pendulum()
    record = apparatus.simulate(apparatus.notebook_scheme(), rig, upright(TILT), 0.01, 1.0, 0.01)
    across = record.q[:, :2] + rig.center * axis(record.q)[:, :2]
    assert across == pytest.approx(np.broadcast_to(across[0], across.shape), abs=1e-13)
    assert record.reaction[-1] == pytest.approx([0.0, 0.0, rig.rod_mass * rig.gravity])


def test_integral_of_the_energys_derivative_proves_nothing():
    """The notebook's check, sum dw.L against w.L/2, fails with the right end and holds for ANY
    integrator with the mean.
    """
    rig = apparatus.pendulum()
    record = apparatus.simulate(select("tqdl"), rig, upright(TILT), 0.01, 10.0, 0.01)
    w = record.v[:, 2:]
    L = w * np.array(rig.inertia)
    energy = 0.5 * np.sum(w[-1] * L[-1])
    right_end = np.sum(np.diff(w, axis=0) * L[1:])
    mean = np.sum(np.diff(w, axis=0) * 0.5 * (L[1:] + L[:-1]))
    assert mean == pytest.approx(energy, abs=1e-11) and abs(right_end - energy) > 0.1
