"""Scenes of named parts: what they become, and the sentence for each part that cannot be."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact.failures import contact_name
from rbdyn_ros.bodies.description import joint_kinds, multipliers
from rbdyn_ros.bodies.description.scene import Contact, Geom, Joint, Scene, build, plane
from rbdyn_ros.experiments import scenes

X, Y, Z = np.eye(3)
LYING = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # axis 3 along x
ROD = shapes.rod(0.5, mass=0.2, position=(0.25, 0.0, 0.0), orientation=LYING)
CART = shapes.box((0.3, 0.2, 0.1), mass=1.0)
FLOOR = Geom("plane", position=(0.0, 0.0, -1.0))


def scene(**parts) -> Scene:
    """A rod on a cart; parts replace those of the scene."""
    rail = Joint("prismatic", ("cart", "world"), axis=X)
    pivot = Joint("hinge", ("rod", "cart"), (0.0, 0.0, 0.0), axis=Y)
    whole = {"bodies": {"cart": CART, "rod": ROD}, "joints": {"rail": rail, "pivot": pivot}}
    return Scene(**whole | parts)


def with_joint(*words, **more) -> Scene:
    return scene(joints={"j": Joint(*words, **more)})


@pytest.mark.parametrize(
    "kind, axes, rows",
    [
        ("anchor", {}, 3),
        ("ball", {}, 3),
        ("hinge", {"axis": Y}, 5),
        ("universal", {"axis": Y, "axis_b": Z}, 4),
        ("plane", {"axis": (0, 0, 2)}, 1),
        ("planar", {"axis": Z}, 3),
        ("prismatic", {"axis": X}, 5),
        ("fixed", {}, 6),
    ],
)
def test_joints_of_any_kind_start_closed_and_stay_so(kind, axes, rows):
    """Of a turned body against a turned one, with points and axes of the world."""
    tilted = np.array([0.9, 0.1, -0.3, 0.2])
    bodies = {
        "a": shapes.box(
            (0.1, 0.2, 0.3),
            density=800.0,
            position=(1, 2, 3),
            orientation=tilted / np.linalg.norm(tilted),
        ),
        "b": shapes.sphere(0.1, mass=1.0, orientation=LYING),
    }
    other = "world" if kind == "anchor" else "b"
    model = build(Scene(bodies, {"j": Joint(kind, ("a", other), (0.5, 0.5, 0.5), **axes)}))
    assert len(model.kept) == rows and models.opening(model, models.places(model)) < 1e-14
    before = models.energy(model)
    assert models.advance(model, 1e-3, 200) == 200
    assert models.opening(model, models.places(model)) < 1e-13
    assert models.energy(model) == pytest.approx(before, abs=1e-2 * 25.0)


def test_momenta_without_a_force_stay():
    """Along the rail nothing pushes: momentum from a pull of gravity is vertical, and stays 0
    along x.
    """
    model = build(scene())
    assert models.advance(model, 1e-3, 300) == 300
    linear, angular = models.momenta(model)
    assert abs(linear[0]) < 1e-13 and linear[2] < -0.1 and angular[1] != 0.0
    assert models.energy(model) == pytest.approx(0.0, abs=1e-4)


def test_contacts_are_those_of_the_geoms():
    """A box falls flat on its bottom corners, a ball on the box's tip; impacts name their
    contact.
    """
    bodies = {
        "crate": shapes.box((0.2, 0.2, 0.1), mass=2.0, position=(0, 0, 0.06)),
        "bob": shapes.sphere(0.1, mass=1.0, position=(1.0, 0, 0.3)),
    }
    geoms = {
        "floor": Geom("plane"),
        "crate": Geom("box", "crate", (0.2, 0.2, 0.1)),
        "bob": Geom("sphere", "bob", (0.1,)),
        "tip": Geom("point", "crate", position=(0.1, 0.1, 0.05)),
    }
    contacts = {
        "sit": Contact(("floor", "crate"), 0.5),
        "bounce": Contact(("bob", "floor"), 0.5, 1.0),
        "far": Contact(("tip", "bob")),
    }
    model = build(Scene(bodies, geoms=geoms, contacts=contacts))
    assert model.names.contact_of == (0,) * 8 + (1, 2) and len(model.pairs.kind) == 10
    assert contact_name(model, 8) == "contact bounce (bob on the world)"
    assert models.advance(model, 1e-3, 300) == 300
    q, v = models.state(model)
    assert q[0, 2] == pytest.approx(0.05, abs=1e-9) and v[1, 2] > 0.0


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (scene(bodies={}), "there are no bodies"),
        (scene(bodies={"a b": CART}), "the name of a body is 'a b'; it must have letters"),
        (scene(bodies={"world": CART}), "the name of a body is 'world'"),
        (
            scene(bodies={"cart": CART._replace(mass=-1.0), "rod": ROD}),
            "body cart: the mass is -1.0 kg; it must be > 0",
        ),
        (
            scene(bodies={"cart": CART, "rod": ROD._replace(inertia=(1.0, 1.0, 3.0))}),
            "body rod: the inertia is .* none larger than the sum of the others",
        ),
        (with_joint("knee", ("rod", "cart")), "joint j: kind is 'knee'; known are anchor, ball"),
        (with_joint("ball", ("rod", "card")), "joint j: body is 'card'; known are world, cart"),
        (
            with_joint("ball", ("rod",)),
            r"joint j: between is \('rod',\); name two of world, cart, rod",
        ),
        (with_joint("ball", ("rod", "rod")), "joint j is between rod and rod; take two bodies"),
        (with_joint("ball", ("world", "rod")), "take two bodies, or a body and then the world"),
        (with_joint("hinge", ("rod", "cart")), "joint j: axis is missing"),
        (with_joint("hinge", ("rod", "cart"), axis=0 * X), "joint j: axis is .*must not be zero"),
        (
            with_joint("universal", ("rod", "cart"), axis=X, axis_b=X + Y),
            "cosine is 0.707; at the start they must be normal",
        ),
        (with_joint("ball", ("rod", "cart"), point_a=X), "joint j: give point, or point_a and"),
        (
            with_joint("ball", ("rod", "cart"), point_a=X, point_b=X),
            r"joint j \(ball, rod on cart\), row 1 of 3: C is .*; it must be 0: start where",
        ),
        (
            with_joint("anchor", ("rod", "world"), point_a=Z, point_b=(0, 0, 9))._replace(
                close=True, bodies={"rod": ROD._replace(held=(1.0,) * 6)}
            ),
            "row 1 of 3: C is .* contradict each other",
        ),
        (scene(geoms={"g": Geom("cone")}), "geom g: kind is 'cone'; known are plane, sphere"),
        (
            scene(geoms={"g": Geom("box", "rod", (1, 2))}),
            r"size is \[1.0, 2.0\]; a box has 3 numb",
        ),
        (
            scene(geoms={"g": Geom("sphere", "rob", (1,))}),
            "geom g: body is 'rob'; known are world",
        ),
        (scene(contacts={"c": Contact(("a", "b"))}), "contact c: geom is 'a'; known are "),
    ],
)
def test_what_cannot_be_is_named(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        build(wrong)


@pytest.mark.parametrize(
    "contact, sentence",
    [
        (
            Contact(("tip", "floor"), -0.1),
            "contact c: friction is -0.1; it must be finite and >= 0",
        ),
        (Contact(("tip", "floor"), 0.1, 1.1), "restitution is 1.1; it must be from 0 to 1"),
        (Contact(("tip", "end")), "both geoms belong to rod"),
        (Contact(("tip", "deep")), r"contact c overlaps by 1 m at the start"),
    ],
)
def test_contacts_that_cannot_be_are_named(contact, sentence):
    geoms = {
        "tip": Geom("point", "rod"),
        "end": Geom("point", "rod", position=Z),
        "floor": FLOOR,
        "deep": Geom("plane", position=(0, 0, 1.0)),
    }
    with pytest.raises(ValueError, match=sentence):
        build(scene(geoms=geoms, contacts={"c": contact}))


def test_two_laws_of_one_pair_are_named():
    geoms = {"tip": Geom("point", "rod"), "bob": Geom("sphere", "rod", (0.1,)), "floor": FLOOR}
    contacts = {"c": Contact(("bob", "floor"), 0.6), "d": Contact(("floor", "bob"), 0.1)}
    with pytest.raises(ValueError, match="contact d: it has the geoms of contact c; keep one"):
        build(scene(geoms=geoms, contacts=contacts))


def test_a_model_is_closed_where_points_are_given_in_the_bodies():
    """A rod that starts 0.1 m beside its hinge is moved there."""
    apart = Joint("hinge", ("rod", "world"), axis=Y, point_a=(0, 0, -0.25), point_b=(0.1, 0, 0))
    model = build(Scene({"rod": ROD}, {"j": apart}, close=True))
    assert models.places(model)[0, 0] == pytest.approx(0.35) and len(model.kept) == 5


@pytest.mark.parametrize("size", [1e-200, 1e160])
def test_directions_may_be_of_any_length(size):
    made = plane((0.0, size, 0.0))
    assert made.orientation == plane((0.0, 1.0, 0.0)).orientation


def test_a_held_body_that_would_open_a_joint_is_named_where_velocities_are_closed():
    driven = ROD._replace(velocity=(0.0, 0.0, 1.0), held=(1.0,) * 6)
    joint = Joint("ball", ("rod", "world"), (0.0, 0.0, 0.0))
    with pytest.raises(
        ValueError, match="joint j .*dC/dt is 1 .*the velocities of held bodies contradict"
    ):
        build(Scene({"rod": driven}, {"j": joint}, close=True))


def test_velocities_are_closed_as_by_impulses_of_the_joints():
    """A rod at rest whose end is driven by a crank: the hinge passes the crank's angular momentum
    on.

    The crank turns at 3 rad/s about the world's anchor; what is left is known for two rods in
    line: about its own anchor at the far end the second one can only turn with the common point.
    """
    crank = shapes.rod(1.0, mass=1.0, position=(0.5, 0, 0), orientation=LYING)
    rocker = shapes.rod(1.0, mass=1.0, position=(1.5, 0, 0), orientation=LYING)
    crank = crank._replace(velocity=(0, 0, -1.5), angular_velocity=(0, 3.0, 0))
    hinges = {
        "ground": Joint("hinge", ("crank", "world"), (0, 0, 0), axis=Y),
        "middle": Joint("ball", ("rocker", "crank"), (1, 0, 0)),
        "far": Joint("plane", ("rocker", "world"), (2, 0, 0), axis=Z),
    }
    model = build(Scene({"crank": crank, "rocker": rocker}, hinges, close=True))
    q, v = models.state(model)
    # both rods have the same inertia about their fixed ends, so half of the speed is left
    assert v[0, 4] == pytest.approx(1.5, rel=1e-12) and v[1, 4] == pytest.approx(-1.5, rel=1e-12)
    assert v[0, 2] == pytest.approx(-0.75) and v[1, 2] == pytest.approx(-0.75)
    with pytest.raises(
        ValueError, match="joint middle .*dC/dt is .*; v must keep the joint closed"
    ):
        build(Scene({"crank": crank, "rocker": rocker}, hinges))


# reactions of redundant joints
# ----------------------------------------------------------------------


def test_two_hinges_share_the_weight_of_a_door_evenly():
    """At rest, shut and upright, each bears half of the weight and opposite horizontal forces m g
    w/(2 d).
    """
    door = scenes.door(lean=0.0)
    model = models.build(door.bodies, door.q, door.v, door.constraints)
    assert models.advance(model, 1e-3, 20) == 20
    on_door = models.reactions(model)[:, 0] / 0.02
    weight = 20.0 * 9.81
    np.testing.assert_allclose(on_door[:, 2], weight / 2.0, rtol=1e-9)
    assert np.abs(on_door[0, :2] + on_door[1, :2]).max() < 1e-9 * weight


def test_shared_reactions_are_those_of_smallest_norm_and_balance_the_momentum():
    """Of a swinging door, against the multipliers of the accelerations: order 2 in the step."""
    door, errors = scenes.door(), []
    for h in (4e-3, 2e-3):
        model = models.build(door.bodies, door.q, door.v, door.constraints)
        worst, before, q = 0.0, None, models.places(model)
        for _ in range(round(0.2 / h)):
            speed = models.state(model)[1]
            assert models.advance(model, h, 1) == 1
            found = models.reactions(model, q) / h
            q, v = models.state(model)
            change = door.bodies.mass[0] * ((v - speed)[0, :3] / h - door.bodies.gravity)
            assert np.abs(found[:, 0, :3].sum(axis=0) - change).max() < 1e-9
            at = multipliers.forward(door.bodies, door.constraints.rows, 0.0 * v, 0.0, q, v)
            rows = multipliers.reactions(door.constraints.rows, q, at.multipliers)
            expected = np.array([rows[:5].sum(axis=0), rows[5:].sum(axis=0)])
            if before is not None:
                worst = max(worst, np.abs(found - 0.5 * (before + expected)).max())
            before = expected
        errors.append(worst)
    assert errors[1] < 1e-3 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_joints_that_are_given_twice_bear_half_each():
    """Two anchors at one point of a hanging rod."""
    hung = shapes.rod(0.5, mass=0.2, position=(0, 0, -0.25))
    bodies, q, v = shapes.assemble([hung])
    anchor = joint_kinds.anchor(0, (0, 0, 0.25), (0, 0, 0))
    model = models.build(bodies, q, v, joint_kinds.assemble(1, anchor, anchor))
    models.advance(model, 1e-3, 5)
    np.testing.assert_allclose(
        models.reactions(model)[:, 0, 2] / 5e-3, 0.2 * 9.81 / 2.0, rtol=1e-12
    )
