"""Moreau and Jean's scheme, compiled for models: held against the general stepper in Python, which
has other rows, other matrices and another friction solver.
"""

import dense_bodies as network
import numpy as np
import pytest

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean, shapes
from rbdyn_ros.bodies.description import contact_pairs, joint_kinds, rigid_bodies, scene
from rbdyn_ros.experiments import scenes
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.network import moreau_jean_theta as general


def block():
    """A block that slides on four corners, one more than are needed."""
    return models.build(*scenes.block(scenes.Block(0.3), 2.0))


def balls():
    """Three balls with spin, over a rough plane and against each other."""
    bodies = rigid_bodies.build([1.0, 2.0, 1.5], [[i] * 3 for i in (0.004, 0.018, 0.0086)])
    q = rigid_bodies.configuration(
        bodies, [(0.0, 0.0, 0.13), (-0.4, 0.03, 0.16), (0.05, 0.01, 0.4)]
    )
    v = rigid_bodies.motion(
        bodies, [(0, 0, 0), (2.0, 0, 0), (0, 0, 0)], [(4, 0, -2), (0, 5, 3), (1, 2, 3)]
    )
    radii = (0.1, 0.15, 0.12)
    contacts = [contact_pairs.ball(i, r, mu=0.3, e=0.7) for i, r in enumerate(radii)]
    contacts += [
        contact_pairs.balls(i, radii[i], j, radii[j], e=0.7) for i in range(3) for j in range(i)
    ]
    return models.build(bodies, q, v, None, contact_pairs.build(3, *contacts))


def top():
    """A free body that spins about its middle axis, nearly."""
    bodies = rigid_bodies.build(1.0, (0.3, 0.2, 0.1), (0.0, 0.0, 0.0))
    spin = rigid_bodies.motion(bodies, (0, 0, 0), (0.0, 0.1, 6.0))
    return models.build(bodies, rigid_bodies.configuration(bodies, (0, 0, 0)), spin)


def cart():
    """A rod on a cart that is held but along x, with a hinge; the rod's tip falls on a floor."""
    bodies = rigid_bodies.build(
        [1.0, 0.5], [(0.1,) * 3, (0.02, 0.02, 0.001)], held=[(0, 1, 1, 1, 1, 1), (0,) * 6]
    )
    leaning = quaternion.exp((0.0, 1.2, 0.0))
    centers = [(0, 0, 0), quaternion.rotate(leaning, np.array([0, 0, 0.3]))]
    q = rigid_bodies.configuration(bodies, centers, [(1, 0, 0, 0), leaning])
    axis = (0.0, 1.0, 0.0)
    link = joint_kinds.hinge(1, (0.0, 0.0, -0.3), 0, (0.0, 0.0, 0.0), axis, axis)
    tip = contact_pairs.corner(1, (0.0, 0.0, 0.3), s=(0.0, 0.0, 0.15), mu=0.2, e=0.5)
    spin = rigid_bodies.motion(bodies, np.zeros((2, 3)), np.zeros((2, 3)))
    return models.build(
        bodies, q, spin, joint_kinds.assemble(2, link), contact_pairs.build(2, tip)
    )


def boxes():
    """A box that lands on another one, with faces that end."""
    above = shapes.box((0.3, 0.3, 0.2), 1.0, position=(0.0, 0.0, 0.31), velocity=(0.3, 0.0, 0.0))
    below = shapes.box((0.4, 0.4, 0.2), mass=1.0, position=(0.0, 0.0, 0.1))
    geoms = {
        "floor": scene.Geom("plane"),
        "below": scene.Geom("box", "low", (0.4, 0.4, 0.2)),
        "above": scene.Geom("box", "top", (0.3, 0.3, 0.2)),
    }
    foot, seat = scene.Contact(("below", "floor"), 0.5), scene.Contact(("above", "below"), 0.3)
    parts, contacts = {"low": below, "top": above}, {"foot": foot, "seat": seat}
    return scene.build(scene.Scene(parts, geoms=geoms, contacts=contacts))


FEET = [(0.1 * x, 0.05 * y, -0.2) for x in (-1, 1) for y in (-1, 1)]


def train(count=3, mu=0.3):
    """Boxes in a row that slide on four corners each, with ball joints between neighbors."""
    half = np.array([0.1, 0.05, 0.2])
    bodies = rigid_bodies.build([1.0] * count, [(np.sum(half**2) - half**2) / 3.0] * count)
    q = rigid_bodies.configuration(bodies, [(0.3 * i, 0.0, 0.2) for i in range(count)])
    v = rigid_bodies.motion(bodies, [(0.5, 0.1, 0.0)] * count, np.zeros((count, 3)))
    end = (0.15, 0.0, 0.1)
    links = [joint_kinds.ball_joint(i, (-0.15, 0.0, 0.1), i - 1, end) for i in range(1, count)]
    feet = contact_pairs.build(
        count, *(contact_pairs.corner(i, p, mu=mu) for i in range(count) for p in FEET)
    )
    return models.build(bodies, q, v, joint_kinds.assemble(count, *links), feet)


@pytest.mark.parametrize(
    "make, h, steps, linearized",
    [
        (block, 1e-2, 40, False),
        (balls, 2e-3, 60, False),
        (balls, 2e-3, 60, True),
        (top, 1e-2, 50, False),
        (cart, 5e-3, 40, False),
        (boxes, 5e-3, 20, False),
        (train, 5e-3, 5, False),
    ],
)
def test_it_is_the_general_scheme(make, h, steps, linearized):
    options = general.options(linearized=linearized)
    one = make()
    net, q, v = network.network(one)
    for k in range(steps):
        step = general.step(net, k * h, q, v, h, options)
        assert step.ok, step.message
        q, v = step.q, step.v
    assert moreau_jean.advance(one, h, steps, options) == steps, moreau_jean.failure(one)
    assert models.places(one).ravel() == pytest.approx(q[0], abs=1e-9)
    assert moreau_jean.velocities(one).ravel() == pytest.approx(v[0], abs=1e-8)
    assert models.part(one, "clock")[0, 0] == pytest.approx(h * steps)


def test_impulses_balance_the_weight_and_the_friction_of_a_sliding_block():
    one, h, n = block(), 1e-2, 10
    assert moreau_jean.advance(one, h, n) == n
    total = models.contact_impulses(one)[:, 1:].sum(axis=0)
    assert total == pytest.approx([-0.3 * 9.81 * h * n, 0.0, 9.81 * h * n], abs=1e-10)


def test_a_step_without_an_end_is_reported_and_the_model_stays_where_it_was():
    one = top()
    q, v = models.places(one), moreau_jean.velocities(one)
    once = general.options(max_iterations=1)
    assert moreau_jean.advance(one, 1e-2, 5, once) == 0
    assert "velocities and impulses do not agree" in moreau_jean.failure(one)
    assert (models.places(one) == q).all() and moreau_jean.velocities(one) == pytest.approx(v)
    assert moreau_jean.advance(one, 1e-2, 5) == 5


def test_a_variational_step_may_follow():
    """The block has landed by then: its contacts are found again, and it slides on."""
    one = block()
    moreau_jean.advance(one, 1e-2, 10)
    assert models.advance(one, 1e-2, 10) == 10
    q, v = models.state(one)
    assert v[0, 0] == pytest.approx(2.0 - 0.3 * 9.81 * 0.2, abs=1e-9)
    assert contact_pairs.gaps(one.pairs, q) == pytest.approx(
        np.zeros(len(one.pairs.kind)), abs=1e-9
    )


def test_a_step_that_is_none_is_refused():
    with pytest.raises(ValueError, match="h is -1"):
        moreau_jean.advance(top(), -1.0, 1)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_an_oscillator_on_a_spring_with_a_damper_has_order_two(damping):
    """2 kg on 50 N/m, 0.2 m beyond the length at rest."""
    still, errors, t = (0.0, 0.0, 0.0), [], 2.0
    for h in (1e-2, 5e-3):
        ball = shapes.sphere(0.1, mass=2.0, position=(1.2, 0.0, 0.0))
        spring = scene.Spring(50.0, ("ball", "world"), end=still, length=1.0, damping=damping)
        one = scene.build(scene.Scene({"ball": ball}, gravity=still, springs={"s": spring}))
        assert moreau_jean.advance(one, h, round(t / h)) == round(t / h), moreau_jean.failure(one)
        decay = damping / 4.0
        w = np.sqrt(25.0 - decay**2)
        swing = 0.2 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
        errors.append(abs(models.places(one)[0, 0] - 1.0 - swing))
    assert errors[0] < 4e-3 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_loads_act_at_the_ends_of_the_steps_and_are_gone_afterwards():
    """F = sin t e_x on 1 kg, and a torque about a principal axis; the trapezoidal rule,
    order 2.
    """
    errors = []
    for n in (50, 100):
        one = top()
        rows = np.zeros((n + 1, 1, 6))
        rows[:, 0, 0] = np.sin(np.arange(n + 1) / n)
        assert moreau_jean.advance(one, 1.0 / n, n, loads=rows) == n
        errors.append(abs(moreau_jean.velocities(one)[0, 0] - (1.0 - np.cos(1.0))))
    assert errors[0] < 1e-4 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.01)
    still = rigid_bodies.build(1.0, (0.3, 0.2, 0.1), (0.0, 0.0, 0.0))
    place = rigid_bodies.configuration(still, (0, 0, 0))
    one = models.build(still, place, rigid_bodies.motion(still))
    assert moreau_jean.advance(one, 1e-2, 100, loads=[[0, 0, 0, 0, 0, 0.05]]) == 100
    assert moreau_jean.velocities(one)[0, 5] == pytest.approx(0.5, abs=1e-12)
    assert moreau_jean.advance(one, 1e-2, 100) == 100
    assert moreau_jean.velocities(one)[0, 5] == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(ValueError, match=r"loads has shape \(2, 6\); it must be \(1, 6\)"):
        moreau_jean.advance(one, 1e-2, 3, loads=np.zeros((2, 6)))


def test_a_block_on_a_belt_is_dragged_along():
    """v = mu g t until it has the velocity of the belt, which is prescribed."""
    bodies = rigid_bodies.build([1.0, 1.0], [(0.1,) * 3] * 2, held=[(0,) * 6, (1, 1, 1, 1, 1, 1)])
    q = rigid_bodies.configuration(bodies, [(0.0, 0.0, 0.1), (0.0, 0.0, 0.0)])
    v = rigid_bodies.motion(bodies, [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], np.zeros((2, 3)))
    feet = [contact_pairs.ball(0, 0.0, (x, y, -0.1), 1, mu=0.3) for x in (-1, 1) for y in (-1, 1)]
    one = models.build(bodies, q, v, None, contact_pairs.build(2, *feet))
    for k in range(1, 51):
        assert moreau_jean.advance(one, 1e-2, 1) == 1, moreau_jean.failure(one)
        speed = moreau_jean.velocities(one)
        assert speed[0, 0] == pytest.approx(min(0.3 * 9.81e-2 * k, 1.0), abs=1e-9)
        assert speed[1, 0] == 1.0 and models.places(one)[1, 0] == pytest.approx(1e-2 * k)


def test_contacts_of_a_jointed_body_obey_their_law_with_the_joint_reacting():
    """A box on four rough corners that drags a rod on a ball joint: against the velocities after
    the impulses, and the friction that the whole must lose.
    """
    half = np.array([0.1, 0.05, 0.2])
    inertia = (np.sum(half**2) - half**2) / 3.0
    bodies = rigid_bodies.build([1.0, 0.3], [inertia, (0.003, 0.003, 0.0003)])
    lying = quaternion.exp((0.0, 0.5 * np.pi, 0.0))
    q = rigid_bodies.configuration(bodies, [(0, 0, 0.2), (0.1, 0, 0.4)], [(1, 0, 0, 0), lying])
    v = rigid_bodies.motion(bodies, [(0.5, 0.2, 0)] * 2, np.zeros((2, 3)))
    link = joint_kinds.assemble(2, joint_kinds.ball_joint(1, (0, 0, -0.1), 0, (0, 0, 0.2)))
    corners = [(0.1 * x, 0.05 * y, -0.2) for x in (-1, 1) for y in (-1, 1)]
    feet = contact_pairs.build(2, *(contact_pairs.corner(0, p, mu=0.3) for p in corners))
    one, h = models.build(bodies, q, v, link, feet), 1e-3
    for _ in range(100):
        before = moreau_jean.velocities(one)
        assert moreau_jean.advance(one, h, 1) == 1, moreau_jean.failure(one)
        after, P = moreau_jean.velocities(one), models.contact_impulses(one)
        R = quaternion.to_matrix(models.places(one)[0, 3:])
        slip = np.array([after[0, :3] + R @ np.cross(after[0, 3:], p) for p in corners])
        total = np.array([1.0, 0.3]) @ (after - before)[:, :3]
        assert P[:, 1:].sum(axis=0) + h * 1.3 * bodies.gravity == pytest.approx(total, abs=1e-12)
        for u, (normal, *force) in zip(slip, P):
            tangential = np.hypot(force[0], force[1])
            assert normal >= 0.0 and u[2] * normal == pytest.approx(0.0, abs=1e-12)
            assert tangential <= 0.3 * normal + 1e-12
            speed = np.hypot(u[0], u[1])
            assert force[0] * u[0] + force[1] * u[1] == pytest.approx(
                -0.3 * normal * speed, abs=1e-11
            )


@pytest.mark.parametrize("count, mu, factors", [(3, 0.3, 10.0), (6, 0.3, 10.0), (4, 0.8, 20.0)])
def test_more_than_eight_contacts_of_jointed_bodies_obey_their_law(count, mu, factors):
    """Impulses and joints by the augmented Lagrangian, which stops at the round-off of sigma u:
    law, dissipation and balance, with the velocities after the impulses.
    """
    one, h, n = train(count, mu), 1e-3, 50
    for _ in range(n):
        before = moreau_jean.velocities(one)
        assert moreau_jean.advance(one, h, 1) == 1, moreau_jean.failure(one)
        after, P = moreau_jean.velocities(one), models.contact_impulses(one).reshape(count, 4, 4)
        gained = (after - before)[:, :3].sum(axis=0) - h * count * one.bodies.gravity
        assert P[..., 1:].sum(axis=(0, 1)) == pytest.approx(gained, abs=1e-11)
        for body, q in enumerate(models.places(one)):
            R, (v, w) = quaternion.to_matrix(q[3:]), after[body].reshape(2, 3)
            for p, (normal, *force) in zip(FEET, P[body]):
                u, slides = v + R @ np.cross(w, p), np.hypot(force[0], force[1])
                assert normal >= 0.0 and slides <= mu * normal + 1e-11
                assert u[2] * normal == pytest.approx(0.0, abs=1e-11)
                lost = mu * normal * np.hypot(u[0], u[1])
                assert force[0] * u[0] + force[1] * u[1] == pytest.approx(-lost, abs=1e-11)
    counters = models.part(one, "counters")
    assert counters[c.FACTORS, 0] < factors * n
