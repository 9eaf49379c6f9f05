"""A model as a network: every gradient by differences, the rows of contacts as velocities of the
touching points.
"""

import dense_bodies as network
import numpy as np
import pytest

from rbdyn_ros.bodies import model, moreau_jean, projection, shapes
from rbdyn_ros.bodies.description import contact_pairs, joint_kinds, rigid_bodies, scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.network import event_driven, laws
from rbdyn_ros.network.second_order import differentiate

RNG = np.random.default_rng(7)
POSE = np.hstack(
    [RNG.normal(size=(2, 3)), [q / np.linalg.norm(q) for q in RNG.normal(size=(2, 4))]]
)
BODIES = rigid_bodies.build([1.0, 2.0], [(0.3, 0.2, 0.1), (1.0, 2.0, 2.5)])
POINT, NORMAL = np.array([0.1, -0.2, 0.3]), np.array([0.0, 0.6, 0.8])
GAP = np.linalg.norm(POSE[0, :3] - POSE[1, :3])


def coupled(bodies=BODIES, v=np.zeros((2, 6))):
    """Two bodies, a ball joint, a hinge; a corner over a plane, a ball over a plane of the other
    body, and two balls.
    """
    place = [joint_kinds.local(POSE, i, POSE[0, :3] + POINT) for i in range(2)]
    axes = [quaternion.rotate(quaternion.conjugate(q), np.array(NORMAL)) for q in POSE[:, 3:]]
    links = (
        joint_kinds.ball_joint(0, place[0], 1, place[1]),
        joint_kinds.hinge(0, place[0], 1, place[1], axes[0], axes[1]),
    )
    contacts = (
        contact_pairs.corner(0, POINT, n=NORMAL, s=(0.0, 0.0, -9.0), mu=0.3, e=0.5),
        contact_pairs.ball(0, 0.2, POINT, 1, (1.0, 0.0, 0.0), (-9.0, 0.0, 0.0), mu=0.3),
        contact_pairs.balls(0, 0.2, 1, GAP - 0.3, mu=0.3),
        contact_pairs.balls(0, 0.2, 1, 0.1),
    )
    return model.build(
        bodies, POSE, v, joint_kinds.assemble(2, *links), contact_pairs.build(2, *contacts)
    )


def test_bodies_obey_eulers_equations_with_their_gradients():
    system, v = network.network(coupled())[0].systems[0], RNG.normal(size=12)
    a = np.linalg.solve(system.mass(POSE.ravel()), system.force(0.0, POSE.ravel(), v)).reshape(
        2, 6
    )
    w = v.reshape(2, 6)[:, 3:]
    assert a[:, :3] == pytest.approx(np.tile(BODIES.gravity, (2, 1)))
    assert BODIES.inertia * a[:, 3:] == pytest.approx(-np.cross(w, BODIES.inertia * w))


def test_the_gradients_of_forces_are_those_of_weight_gyroscopic_term_and_load():
    loaded, q, v = (
        network.network(coupled(), lambda t, q, v: np.sin(q[:12] + t) - v)[0].systems[0],
        POSE.ravel(),
        RNG.normal(size=12),
    )
    free = network.network(coupled())[0].systems[0]
    assert loaded.force(0.3, q, v) - free.force(0.3, q, v) == pytest.approx(
        np.sin(q[:12] + 0.3) - v
    )
    for system in (free, loaded):
        by_v = differentiate(lambda x: system.force(0.3, q, x), v, 12)
        by_q = differentiate(lambda x: system.force(0.3, x, v), q, 12, network.moved)
        assert system.damping(0.3, q, v) == pytest.approx(by_v, abs=1e-8)
        assert system.stiffness(0.3, q, v) == pytest.approx(by_q, abs=1e-8)


def test_tangent_is_the_derivative_of_a_displacement():
    q, v, e = POSE.ravel(), RNG.normal(size=12), 1e-6
    rate = (network.moved(q, e * v) - network.moved(q, -e * v)) / (2 * e)
    assert network.tangent(q) @ v == pytest.approx(rate, abs=1e-9)


def test_exponential_keeps_the_norm_where_the_notes_update_stretches():
    q, w = POSE[0], np.r_[np.zeros(3), 6.0, 1.0, -2.0] * 1e-3
    stretched = q + network.tangent(q) @ w
    assert np.linalg.norm(network.moved(q, w)[3:]) == pytest.approx(1.0, abs=1e-15)
    growth = np.sqrt(1.0 + w[3:] @ w[3:] / 4.0)
    assert np.linalg.norm(stretched[3:]) == pytest.approx(growth, rel=1e-9)


def test_gradients_of_joints_off_the_unit_sphere_too():
    """The hinge repeats the rows of the ball joint: its directions alone are left."""
    net, (q,), _ = network.network(coupled())
    some = [one for one in net.interactions if isinstance(one.law, laws.Equality)]
    assert [one.relation.rows for one in some] == [3, 2]
    for one in some:
        by_q = differentiate(lambda x: one.relation.value(0.0, x), 1.1 * q, len(q))
        assert one.relation.gradient(0.0, 1.1 * q) == pytest.approx(by_q, abs=1e-8)
        v, e = RNG.normal(size=12), 1e-5
        ahead, behind = (
            one.relation.gradient(0.0, x) @ network.tangent(x) @ v
            for x in (network.moved(q, e * v), network.moved(q, -e * v))
        )
        assert one.relation.bias(0.0, q, v) == pytest.approx(
            (ahead - behind) / (2.0 * e), abs=1e-8
        )


def test_rows_of_contacts_are_the_velocities_of_the_points_that_touch():
    net, (q,), _ = network.network(coupled())
    v, T = RNG.normal(size=12), network.tangent(q)
    contacts = [one for one in net.interactions if not isinstance(one.law, laws.Equality)]
    assert [one.relation.rows for one in contacts] == [3, 3, 3, 1]
    assert contacts[0].law == laws.friction_3d(0.3, 0.5) and contacts[3].law == laws.newton_impact(
        0.0
    )
    for one in contacts:  # the rate of the gap, between balls and over a plane that turns
        rate = (
            one.relation.value(0.0, network.moved(q, 1e-6 * v))
            - one.relation.value(0.0, network.moved(q, -1e-6 * v))
        ) / 2e-6
        assert (one.relation.gradient(0.0, q) @ T @ v)[0] == pytest.approx(rate[0], abs=1e-8)
    R, n = quaternion.to_matrix(POSE[:, 3:]), (POSE[0, :3] - POSE[1, :3]) / GAP
    slip = (
        v[:3]
        + np.cross(R[0] @ v[3:6], -0.2 * n)
        - v[6:9]
        - np.cross(R[1] @ v[9:], (GAP - 0.2) * n)
    )
    u = contacts[2].relation.gradient(0.0, q) @ T @ v
    assert u[0] == pytest.approx(n @ slip) and np.linalg.norm(u) == pytest.approx(
        np.linalg.norm(slip)
    )
    corner = v[:3] + np.cross(R[0] @ v[3:6], R[0] @ POINT)
    u = contacts[0].relation.gradient(0.0, q) @ T @ v
    assert u[0] == pytest.approx(NORMAL @ corner) and np.linalg.norm(u) == pytest.approx(
        np.linalg.norm(corner)
    )


def test_a_body_that_is_held_keeps_its_place_and_its_attitude():
    """A cart under a pendulum, free along x only: the momentum along x and the height of the cart
    stay.
    """
    cart = rigid_bodies.build(
        [1.0, 0.5], [(0.1,) * 3, (0.02, 0.02, 0.001)], held=[(0, 1, 1, 1, 1, 1), (0,) * 6]
    )
    turned = quaternion.exp((0.2, 0.9, 0.0))
    q = rigid_bodies.configuration(
        cart, [(0, 0, 0), quaternion.rotate(turned, np.array([0, 0, 0.3]))], [(1, 0, 0, 0), turned]
    )
    link = joint_kinds.assemble(2, joint_kinds.ball_joint(1, (0.0, 0.0, -0.3), 0, (0.0, 0.0, 0.0)))
    run = event_driven.run_model(model.build(cart, q, np.zeros((2, 6)), link), [0.2])
    assert run.ok, run.message
    stepped = model.build(cart, q, np.zeros((2, 6)), link)
    assert moreau_jean.advance(stepped, 5e-3, 40) == 40
    place, speed = model.places(stepped).ravel(), moreau_jean.velocities(stepped).ravel()
    for q, v in ((place, speed), (run.q[0], run.v[0])):
        assert q[1:7] == pytest.approx((0, 0, 1, 0, 0, 0), abs=1e-10)
        assert 1.0 * v[0] + 0.5 * v[6] == pytest.approx(0.0, abs=1e-10)
    assert abs(speed[0]) > 0.05 and place == pytest.approx(run.q[0], abs=1e-3)


def test_boxes_with_edges_land_on_each_other_by_moreau_and_jean_as_by_the_variational_scheme():
    """It leaves the landing's overlap, of the speed times a part of a step; the projection takes
    it back.
    """
    parts = {
        "low": shapes.box((0.4, 0.4, 0.2), mass=1.0, position=(0.0, 0.0, 0.1)),
        "top": shapes.box(
            (0.3, 0.3, 0.2), mass=1.0, position=(0.02, 0.01, 0.31), velocity=(0.3, 0.0, 0.0)
        ),
    }
    geoms = {
        "floor": scene.Geom("plane"),
        "below": scene.Geom("box", "low", (0.4, 0.4, 0.2)),
        "above": scene.Geom("box", "top", (0.3, 0.3, 0.2)),
    }
    rough = {
        "foot": scene.Contact(("below", "floor"), 0.5),
        "seat": scene.Contact(("above", "below"), 0.3),
    }
    made = scene.Scene(parts, geoms=geoms, contacts=rough)
    boxes, second, h, steps = scene.build(made), scene.build(made), 5e-3, 40
    assert moreau_jean.advance(second, h, steps) == steps, moreau_jean.failure(second)
    assert model.advance(boxes, h, steps) == steps
    q, v = model.places(second), moreau_jean.velocities(second)
    overlap = -contact_pairs.gaps(boxes.pairs, q).min()
    found = projection.project(second)
    after = model.places(second)
    assert 1e-4 < overlap < 0.5 * h * 0.45 and found.ok
    assert contact_pairs.gaps(boxes.pairs, after).min() > -1e-12 and np.linalg.norm(
        after[:, 3:], axis=1
    ) == pytest.approx(1.0, abs=1e-12)
    assert after[:, 2] == pytest.approx([0.1, 0.3], abs=1e-3) and np.abs(v).max() < 1e-10
    assert after[:, 0] == pytest.approx(model.places(boxes)[:, 0], abs=h * 0.3)
