"""Runs of several bodies: rows, impacts, failure in a sentence, bad input."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs
from rbdyn_ros.bodies.description import contact_pairs, jacobian, joint_kinds, rigid_bodies
from rbdyn_ros.bodies.model import Options
from rbdyn_ros.experiments import scenes


def falling_ball():
    bodies = rigid_bodies.build(1.0, [0.004] * 3)
    return bodies, rigid_bodies.configuration(bodies, (0, 0, 0.6)), rigid_bodies.motion(bodies)


def test_rows_and_impacts_of_a_ball():
    bodies, q, v = falling_ball()
    floor = contact_pairs.build(1, contact_pairs.ball(0, 0.1, e=0.5))
    record = runs.run(models.build(bodies, q, v, None, floor), 1e-3, 50, 10)
    assert record.ok and record.message == "" and record.q.shape == (51, 1, 7)
    assert record.t[-1] == pytest.approx(0.5) and len(record.impacts) == 1
    assert record.energy[-1] - record.energy[0] == pytest.approx(-0.75 * 9.81 * 0.5, rel=1e-12)
    assert record.kinetic[0] == 0.0 and q[0, 2] == 0.6


@pytest.mark.parametrize("make", [scenes.chain, scenes.door, scenes.top_on_plane])
def test_machines_start_closed_and_stay_so(make):
    machine = make()
    record = runs.run(models.build(*machine), 5e-3, 20, 1)
    assert record.ok and record.opening.max() < 1e-12
    J = jacobian.jacobian(machine.constraints.rows, machine.q)
    assert np.abs(J @ machine.v.ravel()).max() < 1e-14


def test_step_too_large_is_said_in_a_sentence():
    machine = scenes.chain()
    v = 300.0 * machine.v
    record = runs.run(models.build(machine.bodies, machine.q, v, machine.constraints), 0.2, 10, 1)
    assert (
        not record.ok
        and record.message.startswith("stopped at t = ")
        and record.message.endswith("take a smaller step")
    )
    assert (
        "is not closed after at most 20 iterations of Newton's method" in record.message
        and "body" in record.message
    )
    assert np.isfinite(record.q).all()


@pytest.mark.parametrize(
    "h, sentence",
    [(1.0, "the energy is nan J: masses, sizes"), (1e9, "body 0: its state is not finite")],
)
def test_a_run_whose_numbers_overflow_stops_at_the_last_good_row(h, sentence):
    """In 0.0.1 it went on to its end with rows of nan, and was a success."""
    bodies = rigid_bodies.build(1.0, [1.0] * 3, gravity=(0.0, 0.0, -1e300))
    q, v = rigid_bodies.configuration(bodies, (0, 0, 0)), rigid_bodies.motion(bodies)
    record = runs.run(models.build(bodies, q, v), h, 5, 1)
    assert record.message.startswith("stopped at t = 0 s: ") and sentence in record.message
    assert not record.ok and len(record.t) == 1 and record.energy[0] == 0.0


@pytest.mark.parametrize("h", [0.0, -1e-3, float("nan")])
def test_step_that_is_none(h):
    bodies, q, v = falling_ball()
    with pytest.raises(ValueError, match="the step is .* s; it must be finite and > 0"):
        runs.run(models.build(bodies, q, v), h, 1, 1)


def test_reactions_balance_the_momentum_through_impacts_and_rest():
    """Two rods in a chain over a floor: what the joints did to each body is its change of momentum
    less its weight, and contacts.
    """
    bodies = rigid_bodies.build([1.0, 2.0], [(0.02, 0.02, 0.005)] * 2)
    half = (0.0, 0.0, -0.25), (0.0, 0.0, 0.25)
    q = rigid_bodies.configuration(
        bodies, [(0.25, 0.0, 0.0), (0.75, 0.0, 0.0)], (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    )
    constraints = joint_kinds.assemble(
        2,
        joint_kinds.anchor(0, half[0], (0, 0, 0)),
        joint_kinds.ball_joint(1, half[0], 0, half[1]),
    )
    floor = contact_pairs.build(
        2, contact_pairs.ball(1, 0.02, half[1], s=(0, 0, -0.6), mu=0.3, e=0.4)
    )
    weight = bodies.mass[:, None] * bodies.gravity
    record = runs.run(
        models.build(bodies, q, rigid_bodies.motion(bodies), constraints, floor), 1e-3, 80, 10
    )
    assert record.ok and len(record.impacts), record.message
    assert record.names == ("anchor of body 0", "ball joint between body 1 and body 0")
    change = (
        bodies.mass[:, None]
        * np.diff(record.v[:, :, :3], axis=0)
        / np.diff(record.t)[:, None, None]
        - weight
    )
    on_upper = record.reactions[1:, 0, 0, :3] + record.reactions[1:, 1, 1, :3]
    assert np.abs(on_upper - change[:, 0]).max() < 1e-9 * np.abs(on_upper).max()
    touched = np.abs(record.reactions[1:, 1, 0, :3] - change[:, 1]).max(axis=1) > 1e-6
    assert 0 < touched.sum() < 80


def test_reactions_of_both_roads_agree():
    """A door on one hinge: the mean over a step against the multipliers at its ends, to O(h^2)."""
    machine = scenes.door()
    one = joint_kinds.select_rows(machine.constraints, range(5))
    errors = []
    for h in (4e-3, 2e-3):
        rows = round(0.4 / h)
        mean = runs.run(models.build(machine.bodies, machine.q, machine.v, one), h, rows, 1)
        at = runs.multiplier_run(
            models.build(machine.bodies, machine.q, machine.v, one), 0.0, h, rows, 1
        )
        assert mean.names == at.names == (
            "hinge between body 0 and the world",
        ) and mean.reactions.shape == (rows + 1, 1, 2, 6)
        forces, expected = (
            x.sum(axis=1)[:, 0]
            for x in (mean.reactions[1:], 0.5 * (at.reactions[1:] + at.reactions[:-1]))
        )
        errors.append(np.abs(forces - expected).max())
    assert errors[1] < 0.05 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda q, v: (q[0], v), r"q has shape \(7,\)"),
        (lambda q, v: (q, np.zeros((2, 6))), r"v has shape \(2, 6\)"),
        (lambda q, v: (q, np.nan * v), "v.* is not finite"),
        (lambda q, v: (q * (1, 1, 1, 2, 2, 2, 2), v), "is not of norm 1"),
        (
            lambda q, v: (q + (0.1, 0, 0, 0, 0, 0, 0), v),
            "anchor of body 0, row 1 of 3: C is 0.1; it must be 0",
        ),
        (
            lambda q, v: (q, v + (1.0, 0, 0, 0, 0, 0)),
            "anchor of body 0, row 1 of 3: dC/dt is 1 at the start; v must keep the joint closed",
        ),
    ],
)
def test_starts_that_are_none_are_refused(change, words):
    bodies, q, v = falling_ball()
    nailed = joint_kinds.assemble(1, joint_kinds.anchor(0, (0, 0, 0.1), (0, 0, 0.7)))
    q, v = change(q, v)
    with pytest.raises(ValueError, match=words):
        runs.run(models.build(bodies, q, v, nailed), 1e-3, 1, 1)


def test_multipliers_refuse_contacts():
    bodies, q, v = falling_ball()
    model = models.build(bodies, q, v, None, contact_pairs.build(1, contact_pairs.ball(0, 0.1)))
    with pytest.raises(
        ValueError, match="the model has 1 contact pairs; its multipliers know joints only"
    ):
        runs.multiplier_run(model, 0.0, 1e-3, 1, 1)


@pytest.mark.parametrize("alpha", [-1.0, float("nan")])
def test_stabilization_that_is_none(alpha):
    bodies, q, v = falling_ball()
    with pytest.raises(ValueError, match="alpha is .*; it must be finite and >= 0"):
        runs.multiplier_run(models.build(bodies, q, v), alpha, 1e-3, 1, 1)


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"max_impacts": 0}, "max_impacts is 0; it must be a whole number from 1 to 1000"),
        ({"max_impacts": 1001}, "max_impacts is 1001"),
        ({"max_impacts": 1.5}, "max_impacts is 1.5"),
        ({"impacts": -1}, "impacts is -1; it must be a whole number >= 0"),
        ({"overlap": float("nan")}, "overlap is nan m; it must be finite and >= 0"),
        ({"gamma": [1.0, 2.0]}, r"gamma has shape \(2,\); give one number, or 1"),
    ],
)
def test_options_that_are_none(bad, words):
    bodies, q, v = falling_ball()
    with pytest.raises(ValueError, match=words):
        runs.run(models.build(bodies, q, v, options=Options(**bad)), 1e-3, 1, 1)


@pytest.mark.parametrize(
    "h, n, words",
    [
        (0.0, 1, "the step is 0.0 s; it must be finite and > 0"),
        (-1e-3, 1, "the step is -0.001 s"),
        (float("nan"), 1, "the step is nan s"),
        (float("inf"), 1, "the step is inf s"),
        (1e-3, -1, "the number of steps is -1; it must be a whole number >= 0"),
        (1e-3, 2.5, "the number of steps is 2.5"),
    ],
)
def test_steps_that_are_none(h, n, words):
    """Halving a step of 0 or of no number with contacts would not end."""
    bodies, q, v = falling_ball()
    model = models.build(bodies, q, v, None, contact_pairs.build(1, contact_pairs.ball(0, 0.1)))
    with pytest.raises(ValueError, match=words):
        models.advance(model, h, n)


@pytest.mark.parametrize(
    "rows, steps, words",
    [(0, 1, "rows is 0"), (2.5, 1, "rows is 2.5"), (1, 0, "steps_per_row is 0")],
)
def test_counts_that_are_none(rows, steps, words):
    bodies, q, v = falling_ball()
    for run in (
        lambda: runs.run(models.build(bodies, q, v), 1e-3, rows, steps),
        lambda: runs.multiplier_run(models.build(bodies, q, v), 0.0, 1e-3, rows, steps),
    ):
        with pytest.raises(ValueError, match=words + "; it must be a whole number >= 1"):
            run()


def test_multipliers_that_cannot_hold_stop_the_run_in_a_sentence():
    """The chain whirls so fast that a step of 0.2 s tears its joints apart."""
    machine = scenes.chain()
    record = runs.multiplier_run(
        models.build(*machine._replace(v=300.0 * machine.v)), 10.0, 0.2, 10, 1
    )
    assert record.iterations == 0
    assert not record.ok and "the residual of the multipliers is" in record.message
