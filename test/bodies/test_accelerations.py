"""Accelerations of a model: against dense multipliers, dense matrices and difference quotients."""

import dense_bodies
import numpy as np
import pytest

from rbdyn_ros.bodies import accelerations, moreau_jean, projection, runs, shapes
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import (
    contact_pairs,
    jacobian,
    joint_kinds,
    multipliers,
    rigid_bodies,
    scene,
)
from rbdyn_ros.experiments import bouncing_ball as closed_form
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.network import event_driven

RNG = np.random.default_rng(11)
POSE = np.hstack(
    [RNG.normal(size=(2, 3)), [q / np.linalg.norm(q) for q in RNG.normal(size=(2, 4))]]
)
BODIES = rigid_bodies.build([1.0, 2.0], [(0.3, 0.2, 0.1), (1.0, 2.0, 2.5)])
POINT, NORMAL = np.array([0.1, -0.2, 0.3]), np.array([0.0, 0.6, 0.8])
KINDS = {
    "ball joint": lambda p, s: joint_kinds.ball_joint(0, p, 1, s),
    "hinge": lambda p, s: joint_kinds.hinge(0, p, 1, s, *axes()),
    "universal": lambda p, s: joint_kinds.universal(0, p, 1, s, axes()[0], across()),
    "prismatic": lambda p, s: joint_kinds.prismatic(0, p, 1, s, axes()[0], relative()),
    "fixed": lambda p, s: joint_kinds.fixed(0, p, 1, s, relative()),
    "relative rotation": lambda p, s: joint_kinds.relative_rotation(0, 1, aside()),
}


def axes():
    """The same direction in both bodies."""
    q = POSE[:, 3:]
    return [quaternion.rotate(quaternion.conjugate(x), NORMAL) for x in q]


def across():
    """A direction of b normal to the first of `axes`."""
    n = np.cross(NORMAL, (1.0, 0.0, 0.0))
    return quaternion.rotate(quaternion.conjugate(POSE[1, 3:]), n / np.linalg.norm(n))


def relative():
    """The attitude of a in b."""
    q = POSE[:, 3:]
    return quaternion.product(quaternion.conjugate(q[1]), q[0])


def aside():
    """A direction of b normal to the axis of the turn from a to b."""
    n = np.cross(relative()[1:], (1.0, 0.0, 0.0))
    return n / np.linalg.norm(n)


def evaluated(model, q, v, load, chosen):
    memory = projection.memory_of(model)
    return accelerations.evaluate(memory, q, v, load, np.array(chosen, np.int64))


@pytest.mark.parametrize("kind", KINDS)
def test_joints_react_as_by_dense_multipliers(kind):
    """What closes them and what obeys them has no more to close and to obey."""
    q, load = POSE, RNG.normal(size=(2, 6))
    on = [joint_kinds.local(q, i, q[0, :3] + POINT) for i in range(2)]
    link = joint_kinds.assemble(2, KINDS[kind](*on))
    model = models.build(BODIES, q, np.zeros((2, 6)), link)
    v = evaluated(model, q, RNG.normal(size=(2, 6)), load, []).v.reshape(2, 6)
    found = evaluated(model, q, v, load, [])
    rows = joint_kinds.select_rows(model.constraints, model.kept).rows
    dense = multipliers.forward(model.bodies, rows, load, 0.0, q, v)
    assert found.free.reshape(2, 6) == pytest.approx(dense.acceleration, abs=1e-12)
    J = jacobian.jacobian(rows, q)
    assert np.abs(J @ v.ravel()).max() < 1e-13 and found.opening < 1e-14
    away = projection.move(q, 1e-4 * RNG.normal(size=12))
    far = evaluated(model, away, v, load, [])
    near = evaluated(model, projection.move(away, far.closing), v, load, [])
    assert 1e-6 < far.opening and near.opening < 1e-3 * far.opening


def test_contacts_are_those_of_dense_matrices():
    """The network of the same bodies has joints and contacts as rows side by side."""
    q = POSE
    place = [joint_kinds.local(q, i, q[0, :3] + POINT) for i in range(2)]
    contacts = (
        contact_pairs.corner(0, POINT, n=NORMAL, s=(0.0, 0.0, -9.0), mu=0.3, e=0.5),
        contact_pairs.ball(0, 0.2, POINT, 1, (1.0, 0.0, 0.0), (-9.0, 0.0, 0.0), mu=0.3),
        contact_pairs.balls(0, 0.1, 1, 0.1, mu=0.3),
    )
    hinge = joint_kinds.assemble(2, joint_kinds.hinge(0, place[0], 1, place[1], *axes()))
    model = models.build(BODIES, q, np.zeros((2, 6)), hinge, contact_pairs.build(2, *contacts))
    net = dense_bodies.network(model)[0]
    v = evaluated(model, q, RNG.normal(size=(2, 6)), np.zeros((2, 6)), []).v
    found = evaluated(model, q, v.reshape(2, 6), np.zeros((2, 6)), [0, 1, 2])
    T, M = dense_bodies.tangent(q.ravel()), net.systems[0].mass(q.ravel())
    equal = [one for one in net.interactions if one.relation.bias]
    some = [one for one in net.interactions if not one.relation.bias]
    A = np.vstack([one.relation.gradient(0.0, q.ravel()) @ T for one in equal])
    D = np.vstack([one.relation.gradient(0.0, q.ravel()) @ T for one in some])
    inverse = np.linalg.inv(M)
    reduced = inverse - inverse @ A.T @ np.linalg.inv(A @ inverse @ A.T) @ A @ inverse
    assert found.carried.T == pytest.approx(reduced @ D.T, abs=1e-12)
    assert found.G == pytest.approx(D @ reduced @ D.T, abs=1e-12)
    assert found.u == pytest.approx(D @ v, abs=1e-12)
    values = [one.relation.value(0.0, q.ravel())[0] for one in some]
    assert found.gap == pytest.approx(values, abs=1e-12)
    assert found.closing_gap == pytest.approx((D @ found.closing)[::3], abs=1e-12)
    e = 1e-5
    ahead, behind = (dense_bodies.moved(q.ravel(), x * v) for x in (e, -e))
    rate = np.concatenate(
        [
            (one.relation.gradient(0.0, ahead) @ dense_bodies.tangent(ahead) @ v)
            - (one.relation.gradient(0.0, behind) @ dense_bodies.tangent(behind) @ v)
            for one in some
        ]
    ) / (2.0 * e)
    assert found.rate == pytest.approx(rate + D @ found.free, abs=1e-7)


def test_a_spring_with_a_damper_swings_as_the_closed_form():
    """2 kg on 50 N/m and 3 N s/m, 0.2 m beyond the length at rest, event-driven without events."""
    still, t = (0.0, 0.0, 0.0), np.array([0.5, 1.0, 2.0])
    ball = shapes.sphere(0.1, mass=2.0, position=(1.2, 0.0, 0.0))
    spring = scene.Spring(50.0, ("ball", "world"), end=still, length=1.0, damping=3.0)
    model = scene.build(scene.Scene({"ball": ball}, gravity=still, springs={"s": spring}))
    run = event_driven.run_model(model, t)
    w = np.sqrt(25.0 - 0.75**2)
    exact = 1.0 + 0.2 * np.exp(-0.75 * t) * (np.cos(w * t) + 0.75 / w * np.sin(w * t))
    assert run.ok and run.q[:, 0] == pytest.approx(exact, abs=1e-9)


def hung_rod(height):
    """A rod on a hinge in the world, horizontal at the start, over a rough floor."""
    rod = rigid_bodies.build(1.0, (0.0833, 0.0834, 0.001))
    down = quaternion.exp((0.0, 0.5 * np.pi, 0.0))
    q = rigid_bodies.configuration(rod, (0.5, 0.0, 0.0), down)
    axis = (0.0, 1.0, 0.0)
    link = joint_kinds.hinge(0, (0.0, 0.0, -0.5), joint_kinds.WORLD, (0.0, 0.0, 0.0), axis, axis)
    floor = contact_pairs.corner(0, (0.0, 0.0, 0.5), s=(0.0, 0.0, height), mu=0.3, e=0.5)
    return models.build(
        rod,
        q,
        rigid_bodies.motion(rod),
        joint_kinds.assemble(1, link),
        contact_pairs.build(1, floor),
    )


def test_joints_of_an_event_driven_run_do_not_drift():
    """Three seconds of a rod that bounces on its hinge; energy between impacts, restitution in
    them: the hinge passes them on, and friction takes nothing from a tip that the hinge leads.
    """
    model = hung_rod(-0.9)
    run = event_driven.run_model(model, np.linspace(0.01, 3.0, 300))
    assert run.ok, run.message
    impacts = [event for event in run.events if event.kind == "impact"]
    assert len(impacts) > 4
    rows = model.constraints.rows
    q, v = run.q.reshape(-1, 1, 7), run.v.reshape(-1, 1, 6)
    assert max(np.abs(jacobian.values(rows, x)).max() for x in q) <= 1e-13
    speeds = [jacobian.jacobian(rows, x) @ w.ravel() for x, w in zip(q, v)]
    assert np.abs(speeds).max() <= 1e-12
    energy = rigid_bodies.energy(model.bodies, q, v)
    first = run.t < impacts[0].t
    assert energy[first] == pytest.approx(energy[0], abs=1e-9) and first.sum() > 20
    for event in impacts:
        assert event.after[4] == pytest.approx(-0.5 * event.before[4], rel=1e-6)


def test_the_variational_scheme_comes_to_the_event_driven_run_with_order_two():
    """A rod on a hinge that hits the floor and flies on."""
    exact = event_driven.run_model(hung_rod(-0.9), [0.6])
    assert exact.ok and len(exact.events) == 1, exact.message
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        found = runs.run(hung_rod(-0.9), h, 1, round(0.6 / h))
        assert found.ok, found.message
        errors.append(np.abs(found.q[-1].ravel() - exact.q[0]).max())
    assert errors[0] < 1e-3 and np.log2(errors[0] / errors[2]) == pytest.approx(4.0, abs=0.6)


def bouncing_ball():
    """A ball at rest, 1 m over a plane."""
    ball = rigid_bodies.build(1.0, (0.004,) * 3)
    q = rigid_bodies.configuration(ball, (0.0, 0.0, 1.1))
    floor = contact_pairs.build(1, contact_pairs.ball(0, 0.1, mu=0.3, e=0.8))
    return models.build(ball, q, rigid_bodies.motion(ball), None, floor)


def test_schemes_let_a_ball_bounce_as_the_closed_form():
    """Event by event and split at impacts to round-off, Moreau and Jean's whole steps with order
    one.
    """
    times = np.linspace(0.1, 3.0, 30)
    exact = closed_form.exact(closed_form.BallParams(), times)[0] + 0.1
    flown = event_driven.run_model(bouncing_ball(), times)
    assert flown.ok and flown.q[:, 2] == pytest.approx(exact, abs=1e-9)
    split = runs.run(bouncing_ball(), 1e-3, 30, 100)
    assert split.ok and split.q[1:, 0, 2] == pytest.approx(exact, abs=1e-9)
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        ball, worst = bouncing_ball(), 0.0
        for z in exact:
            n = round(0.1 / h)
            assert moreau_jean.advance(ball, h, n) == n
            worst = max(worst, abs(models.places(ball)[0, 2] - z))
        errors.append(worst)
    assert errors[0] < 2e-2 and np.log2(errors[0] / errors[2]) == pytest.approx(2.0, abs=0.5)


def test_moreau_jean_comes_to_the_event_driven_rod_with_order_one():
    """A rod on a hinge that hits the floor; the projection closes what the scheme lets drift."""
    exact, errors = event_driven.run_model(hung_rod(-0.9), [0.6]), []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        rod = hung_rod(-0.9)
        n = round(0.6 / h)
        assert moreau_jean.advance(rod, h, n) == n, moreau_jean.failure(rod)
        assert projection.project(rod).ok
        errors.append(np.abs(models.places(rod).ravel() - exact.q[0]).max())
    order = -np.polyfit(range(4), np.log2(errors), 1)[0]
    assert errors[0] < 2e-2 and 0.7 < order < 2.2
