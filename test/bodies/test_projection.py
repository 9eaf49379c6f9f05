"""The projection on joints and out of overlaps: N.18 in seven coordinates and dense as second
road.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean, projection
from rbdyn_ros.bodies.description import contact_pairs, jacobian, joint_kinds, rigid_bodies
from rbdyn_ros.geometry import quaternion

DEEP = models.Options(overlap=1.0)


def pinned_rod():
    a = np.radians(10.0)
    rod = rigid_bodies.build(1.0, (0.4801, 0.4801, 0.0002))
    q = [[1.2 * np.sin(a), 0.0, 1.2 * np.cos(a), np.cos(a / 2), 0.0, np.sin(a / 2), 0.0]]
    pinned = joint_kinds.assemble(1, joint_kinds.anchor(0, (0.0, 0.0, -1.2), (0.0, 0.0, 0.0)))
    return models.build(rod, q, np.zeros((1, 6)), pinned)


def opening(model):
    return np.abs(jacobian.values(model.constraints.rows, models.places(model))).max()


@pytest.mark.parametrize("projected", [False, True])
def test_it_closes_the_joint_that_steps_let_drift_and_keeps_the_quaternion(projected):
    rod, worst, stretch = pinned_rod(), 0.0, 0.0
    for _ in range(400):
        assert moreau_jean.advance(rod, 5e-3, 1) == 1
        if projected:
            found = projection.project(rod)
            assert found.ok and found.iterations <= 2
        worst = max(worst, opening(rod))
        stretch = max(stretch, abs(np.linalg.norm(models.places(rod)[0, 3:]) - 1.0))
    assert worst <= 1e-12 if projected else worst > 1e-6
    assert stretch < 1e-14


def notes_projection(model, q, unit):
    """Chapter 11 of the notes: least in r and Q, with the row |Q| - 1 or without."""
    for _ in range(20):
        C, G = (
            jacobian.values(model.constraints.rows, q),
            jacobian.gradients(model.constraints.rows, q),
        )
        norms = np.linalg.norm(q[:, 3:], axis=1)
        if unit:
            more = np.zeros((len(q), q.size))
            for i, row in enumerate(more):
                row[7 * i + 3 : 7 * i + 7] = q[i, 3:] / norms[i]
            C, G = np.append(C, norms - 1.0), np.vstack([G, more])
        q = q - (np.linalg.pinv(G) @ C).reshape(q.shape)
    return q


def test_it_is_that_of_the_notes_with_the_row_of_the_norm():
    """With 1 kg and 1/4 kg m^2 the kinetic metric is that of r and Q: the same up to the square of
    the way. Without the row the quaternion is stretched by that much.
    """
    bodies = rigid_bodies.build([1.0, 1.0], [(0.25,) * 3] * 2)
    turned = quaternion.exp((0.3, -0.7, 0.2))
    q = rigid_bodies.configuration(
        bodies, [(0, 0, 0), (0.2, 0.1, -0.3)], [(1.0, 0.0, 0.0, 0.0), turned]
    )
    on_b = quaternion.rotate(quaternion.conjugate(turned), -q[1, :3])
    axis = quaternion.rotate(quaternion.conjugate(turned), np.array([0.0, 0.0, 1.0]))
    link = joint_kinds.hinge(0, (0.0, 0.0, 0.0), 1, on_b, (0.0, 0.0, 1.0), axis)
    model = models.build(bodies, q, np.zeros((2, 6)), joint_kinds.assemble(2, link))
    away = projection.move(q, 1e-3 * np.random.default_rng(1).normal(size=12))
    rows = models.part(model, "bodies")
    rows[:, :7] = away
    rows[:, 13:22] = quaternion.to_matrix(away[:, 3:]).reshape(-1, 9)
    assert opening(model) > 1e-4
    assert projection.project(model).ok and opening(model) <= 1e-12
    found, notes = models.places(model), notes_projection(model, away, True)
    assert np.abs(notes - away).max() > 1e-4
    assert found == pytest.approx(notes, abs=3e-6)
    stretched = notes_projection(model, away, False)
    assert np.abs(np.linalg.norm(stretched[:, 3:], axis=1) - 1.0).max() > 1e-5


def corner(position, tied):
    """A ball beside two walls, held on the line x + y = 0.5 by a point on a plane if tied."""
    ball = rigid_bodies.build(1.0, (0.1,) * 3, (0.0, 0.0, 0.0))
    q = rigid_bodies.configuration(ball, position)
    walls = [contact_pairs.ball(0, 0.1, n=n, s=-0.1 * np.array(n), e=0.5) for n in np.eye(3)[:2]]
    n = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    line = joint_kinds.plane(0, (0.0, 0.0, 0.0), joint_kinds.WORLD, n, (0.25, 0.25, 0.0))
    link = joint_kinds.assemble(1, *([line] if tied else []))
    return models.build(ball, q, np.zeros((1, 6)), link, contact_pairs.build(1, *walls), DEEP)


def test_it_pushes_out_what_overlaps_while_joints_stay_closed():
    """One wall is overlapped, the other is open; the joint pulls on both."""
    model = corner((-0.1, 0.6, 0.0), True)
    found = projection.project(model)
    assert found.ok and found.q[0, :3] == pytest.approx([0.0, 0.5, 0.0], abs=1e-12)
    model = corner((-0.1, 0.4, 0.0), False)
    assert projection.project(model).q[0, :3] == pytest.approx([0.0, 0.4, 0.0], abs=1e-12)


def test_open_contacts_stay_where_they_are():
    model = corner((0.1, 0.4, 0.0), False)
    found = projection.project(model)
    assert found.iterations == 0 and found.q[0, :3] == pytest.approx([0.1, 0.4, 0.0], abs=0.0)


def test_an_overlap_that_no_displacement_takes_back_is_reported_and_the_model_stays():
    rod = rigid_bodies.build(1.0, (0.1,) * 3)
    q = rigid_bodies.configuration(rod, (0.0, 0.0, 0.0))
    nailed = joint_kinds.assemble(1, joint_kinds.anchor(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    below = contact_pairs.build(1, contact_pairs.ball(0, 0.1, s=(0.0, 0.0, 0.0)))
    model = models.build(rod, q, np.zeros((1, 6)), nailed, below, DEEP)
    found = projection.project(model)
    assert not found.ok and found.residual == pytest.approx(0.1)
    assert models.places(model) == pytest.approx(q, abs=0.0)
