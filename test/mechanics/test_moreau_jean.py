"""Moreau and Jean's scheme, compiled for models: held against the general stepper in Python, which
has other rows, other matrices and another friction solver.
"""

import numpy as np
import pytest

from rbdyn_ros.experiments import scenes
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import moreau_jean, scene, shapes
from rbdyn_ros.mechanics.description import joints, pairs, rigid_bodies
from rbdyn_ros.mechanics.network import moreau_jean as general
from rbdyn_ros.mechanics.network import of_bodies as network


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
    contacts = [pairs.ball(i, r, mu=0.3, e=0.7) for i, r in enumerate(radii)]
    contacts += [pairs.balls(i, radii[i], j, radii[j], e=0.7) for i in range(3) for j in range(i)]
    return models.build(bodies, q, v, None, pairs.build(3, *contacts))


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
    link = joints.hinge(1, (0.0, 0.0, -0.3), 0, (0.0, 0.0, 0.0), axis, axis)
    tip = pairs.corner(1, (0.0, 0.0, 0.3), s=(0.0, 0.0, 0.15), mu=0.2, e=0.5)
    spin = rigid_bodies.motion(bodies, np.zeros((2, 3)), np.zeros((2, 3)))
    return models.build(bodies, q, spin, joints.assembled(2, link), pairs.build(2, tip))


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


@pytest.mark.parametrize(
    "make, h, steps, linearised",
    [
        (block, 1e-2, 40, False),
        (balls, 2e-3, 60, False),
        (balls, 2e-3, 60, True),
        (top, 1e-2, 50, False),
        (cart, 5e-3, 40, False),
        (boxes, 5e-3, 20, False),
    ],
)
def test_it_is_the_general_scheme(make, h, steps, linearised):
    options = general.options(linearised=linearised)
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


def test_a_step_without_an_end_is_told_and_the_model_stays_where_it_was():
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
    assert pairs.gaps(one.pairs, q) == pytest.approx(np.zeros(len(one.pairs.kind)), abs=1e-9)


def test_a_step_that_is_none_is_refused():
    with pytest.raises(ValueError, match="h is -1"):
        moreau_jean.advance(top(), -1.0, 1)
