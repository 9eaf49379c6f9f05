"""Runs of several bodies: rows, impacts, failure in a sentence, bad input."""

import numpy as np
import pytest

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.constraints import jacobian, joints
from rbdyn_ros.contacts import pairs
from rbdyn_ros.integrators.multibody.plant import Options
from rbdyn_ros.models import jointed_bodies
from rbdyn_ros.simulation import several_bodies

NONE = joints.assembled(1)


def falling_ball():
    bodies = rigid_bodies.build(1.0, [0.004] * 3)
    return bodies, rigid_bodies.configuration(bodies, (0, 0, 0.6)), rigid_bodies.motion(bodies)


def test_rows_and_impacts_of_a_ball():
    bodies, q, v = falling_ball()
    floor = pairs.build(1, pairs.ball(0, 0.1, e=0.5))
    record = several_bodies.variational_run(bodies, NONE, floor, q, v, 1e-3, 50, 10, Options(split=True))
    assert record.ok and record.message == "" and record.q.shape == (51, 1, 7)
    assert record.t[-1] == pytest.approx(0.5) and len(record.impacts) == 1
    assert record.energy[-1] - record.energy[0] == pytest.approx(-0.75 * 9.81 * 0.5, rel=1e-12)
    assert record.kinetic[0] == 0.0 and q[0, 2] == 0.6


@pytest.mark.parametrize("make", [jointed_bodies.chain, jointed_bodies.door, jointed_bodies.top_on_plane])
def test_machines_start_closed_and_stay_so(make):
    machine = make()
    record = several_bodies.variational_run(machine.bodies, machine.constraints, None, machine.q, machine.v, 5e-3, 20, 1)
    assert record.ok and record.opening.max() < 1e-12
    J = jacobian.jacobian(machine.constraints.rows, machine.q)
    assert np.abs(J @ machine.v.ravel()).max() < 1e-14


def test_step_too_large_is_said_in_a_sentence():
    machine = jointed_bodies.chain()
    v = machine.v.copy()
    v[0, 5], v[1, 4] = 0.0, 60.0
    record = several_bodies.variational_run(machine.bodies, machine.constraints, None, machine.q, v, 0.2, 10, 1)
    assert not record.ok and record.message.startswith("stopped at t = ") and record.message.endswith("take a smaller step")
    assert np.isfinite(record.q).all()


@pytest.mark.parametrize("h", [0.0, -1e-3, float("nan")])
def test_step_that_is_none(h):
    bodies, q, v = falling_ball()
    with pytest.raises(ValueError, match="the step is .* s; it must be finite and > 0"):
        several_bodies.variational_run(bodies, NONE, None, q, v, h, 1, 1)
