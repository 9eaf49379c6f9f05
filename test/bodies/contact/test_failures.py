"""Runs that stop because no impulses are found: what is said about it, and what is kept."""

import numpy as np
import pytest

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean, runs, shapes
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.bodies.description.scene import Contact, Geom, Joint, plane

H, V = 1e-3, 0.2  # [s], [m/s] of the wall
BALL, WEIGHTLESS = shapes.sphere(0.1, mass=1.0), (0.0, 0.0, 0.0)
LEFT = plane((1.0, 0.0, 0.0), (-0.15, 0.0, 0.0))
RIGHT = plane((-1.0, 0.0, 0.0), (0.15, 0.0, 0.0), velocity=(-V, 0.0, 0.0))


def squeezed(body, geom, friction=0.0, restitution=0.0):
    """A body between a wall that rests and one that moves toward it."""
    contacts = {
        name: Contact(("shape", name), friction, restitution) for name in ("left", "right")
    }
    geoms = {"shape": geom, "left": LEFT, "right": RIGHT}
    return scene.Scene({"body": body}, geoms=geoms, contacts=contacts, gravity=WEIGHTLESS)


def on_a_cart(joint, body, tip):
    """A body on a cart that is fixed, and a wall that moves down onto it."""
    top = plane((0.0, 0.0, -1.0), (0.0, 0.0, 0.55), velocity=(0.0, 0.0, -V))
    weld = Joint("fixed", ("cart", "world"))
    return scene.Scene(
        {"cart": shapes.box((0.3, 0.2, 0.1), mass=1.0), "body": body},
        {"weld": weld, "pivot": joint},
        {"tip": tip, "top": top},
        {"press": Contact(("tip", "top"), 0.3)},
    )


def wedge(friction):
    """A ball between two planes that rest below it and one that moves down."""
    s = 0.5**0.5
    geoms = {"shape": Geom("sphere", "body", (0.1,))}
    geoms |= {"left": plane((s, 0.0, s)), "right": plane((-s, 0.0, s))}
    geoms["top"] = plane((0.0, 0.0, -1.0), (0.0, 0.0, 0.4), velocity=(0.0, 0.0, -V))
    contacts = {name: Contact(("shape", name), friction) for name in ("left", "right", "top")}
    body = shapes.sphere(0.1, mass=1.0, position=(0.0, 0.0, 0.1 * 2**0.5 + 1e-3))
    return scene.Scene({"body": body}, geoms=geoms, contacts=contacts)


ROD = shapes.rod(0.5, mass=0.2, position=(0.0, 0.0, 0.25))
HINGE = Joint("hinge", ("body", "cart"), (0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
TIP = Geom("point", "body", (), (0.0, 0.0, 0.25))
SPHERE, CUBE = Geom("sphere", "body", (0.1,)), Geom("box", "body", (0.2, 0.2, 0.2))
JAMS = {  # scene, when it jams [s], the contacts that press
    "ball": (squeezed(BALL, SPHERE), 0.5, ("left", "right")),
    "ball, friction": (squeezed(BALL, SPHERE, 0.5, 0.5), 0.5, ("left", "right")),
    "box": (squeezed(shapes.box((0.2,) * 3, mass=1.0), CUBE), 0.5, ("left", "right")),
    "rod": (on_a_cart(HINGE, ROD, TIP), 0.25, ("press",)),
    "welded": (
        on_a_cart(Joint("fixed", ("body", "cart")), ROD, TIP),
        0.25,
        ("press",),
    ),
    "wedge": (wedge(0.5), 0.7929, ("left", "right", "top")),
}


@pytest.mark.parametrize("name", JAMS)
def test_a_jam_is_named(name):
    """Runs stop in the step in which it jams; the rows until then are kept."""
    parts, when, pressed = JAMS[name]
    model = scene.build(parts)
    record = runs.run(model, H, 100, 10)
    assert not record.ok and np.isfinite(record.q).all()
    at = models.part(model, "clock")[c.TIME, 0]
    assert when - 1.1 * H <= at <= when + 1e-9 and at - 10.0 * H <= record.t[-1] <= at + 1e-9
    assert any(
        f"no impulses were found at contact {name} (body on" in record.message for name in pressed
    )


def test_a_faster_wall_than_impulses_may_give():
    """Impulses are refused that give more than 1e4 m/s."""
    wall = plane((1.0, 0.0, 0.0), (-0.2, 0.0, 0.0), velocity=(3e4, 0.0, 0.0))
    parts = scene.Scene({"body": BALL}, {}, {"shape": SPHERE, "wall": wall})
    model = scene.build(parts._replace(contacts={"hit": Contact(("shape", "wall"))}))
    record = runs.run(model, H, 10, 1)
    assert "no impulses were found at contact hit (body on wall); take a" in record.message


@pytest.mark.parametrize(("friction", "stops"), [(0.1, False), (1.0, True)])
def test_friction_that_locks(friction, stops):
    """A ball slips out between two walls that close to a wedge, or friction holds it: then there
    are velocities, but no impulses.
    """
    x, z, d = np.cos(0.15), np.sin(0.15), 0.12
    geoms = {"shape": SPHERE}
    for name, sign in (("left", 1.0), ("right", -1.0)):
        velocity = (sign * V, 0.0, 0.0)
        geoms[name] = plane((sign * x, 0.0, z), (-sign * d * x, 0.0, -d * z), velocity=velocity)
    contacts = {name: Contact(("shape", name), friction) for name in ("left", "right")}
    parts = scene.Scene({"body": BALL}, {}, geoms, contacts, gravity=WEIGHTLESS)
    record = runs.run(scene.build(parts), H, 50, 10)
    assert record.ok != stops
    if stops:
        assert "no impulses were found at contact " in record.message


def test_moreau_jean_says_the_same():
    """Its steps end in the same jam."""
    model = scene.build(squeezed(BALL, SPHERE, 0.3))
    taken = moreau_jean.advance(model, H, 700)
    assert abs(taken * H - 0.5) < 2.0 * H
    assert "no impulses were found at contact " in moreau_jean.failure(model)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_welded_takes_no_impulse(seed):
    """The Delassus matrix of a welded body, anywhere and turned, is round-off; its impulses were
    1e11 to 1e16 N s, and the run went on.
    """
    random = np.random.default_rng(seed)
    turn, normal = random.normal(size=4), random.normal(size=3)
    turn, normal = turn / np.linalg.norm(turn), normal / np.linalg.norm(normal)
    at = random.uniform(-1.0, 1.0, 3)
    body = shapes.sphere(0.1, mass=1.0, position=tuple(at), orientation=tuple(turn))
    wall = plane(tuple(normal), tuple(at - 0.32 * normal), velocity=tuple(V * normal))
    weld = Joint("fixed", ("body", "world"), tuple(random.uniform(-1.0, 1.0, 3)))
    parts = scene.Scene({"body": body}, {"weld": weld}, {"s": SPHERE, "wall": wall})
    model = scene.build(parts._replace(contacts={"press": Contact(("s", "wall"), 0.2, 0.5)}))
    record = runs.run(model, H, 200, 10)
    assert "no impulses were found at contact press (body on wall)" in record.message
    assert len(record.impacts) == 0


@pytest.mark.parametrize("law", ["bounded_newton", "poisson"])
@pytest.mark.parametrize("seed", range(8))
def test_a_contact_between_welded_bodies_stops_no_run(seed, law):
    """Two balls that touch and are welded to each other, thrown on a wall and turning: what
    round-off leaves of their approach was a contact that finds no impulse.
    """
    random = np.random.default_rng(seed)
    v, w, apart = random.normal(size=(3, 3))
    apart, v = 0.2 * apart / np.linalg.norm(apart), 2.0 * v / np.linalg.norm(v)
    first = shapes.sphere(0.1, mass=1.0, velocity=tuple(v), angular_velocity=tuple(w))
    second = shapes.sphere(0.1, mass=3.0, position=tuple(apart), angular_velocity=tuple(w))
    second = second._replace(velocity=tuple(v + np.cross(w, apart)))
    weld = Joint("fixed", ("first", "second"), tuple(random.uniform(-1.0, 1.0, 3)))
    balls = {"first": first, "second": second}
    geoms = {name: scene.Geom("sphere", name, (0.1,)) for name in balls}
    geoms["wall"] = plane(tuple(-0.5 * v), tuple(0.155 * v))
    met = {name: Contact((name, "wall"), 0.4, 0.5) for name in balls}
    met["between"] = Contact(("first", "second"), 0.2, 0.5)
    parts = scene.Scene(balls, {"weld": weld}, geoms, met, WEIGHTLESS)
    record = runs.run(scene.build(parts, models.Options(impact_law=law)), H, 400, 1)
    assert record.ok and len(record.impacts) > 0
    assert record.energy.max() <= record.energy[0] * (1.0 + 1e-9)


def load_on_a_cube(mass):
    """A box that falls 10 cm onto a cube of 1 kg on a table."""
    bodies = {
        "cube": shapes.box((0.2,) * 3, mass=1.0, position=(0.0, 0.0, 0.1)),
        "load": shapes.box((0.3,) * 3, mass=mass, position=(0.0, 0.0, 0.45)),
    }
    geoms = {"cube": CUBE._replace(body="cube"), "load": Geom("box", "load", (0.3,) * 3)}
    geoms["table"] = Geom("box", size=(2.0, 2.0, 1.0), position=(0.0, 0.0, -0.5))
    contacts = {"stand": Contact(("cube", "table"), 0.5), "press": Contact(("load", "cube"), 0.5)}
    return scene.build(scene.Scene(bodies, geoms=geoms, contacts=contacts))


@pytest.mark.parametrize("mass", [10.0, 1e3, 3e3, 5e4])
def test_a_body_lands_on_one_that_is_much_lighter(mass):
    model = load_on_a_cube(mass)
    assert models.advance(model, H, 300) == 300, models.failure(model)
    q, v = models.state(model)
    np.testing.assert_allclose(q[:, 2], [0.1, 0.35], atol=1e-8)
    assert np.abs(v).max() < 1e-6


def test_masses_that_are_too_different_are_named():
    model = load_on_a_cube(1e8)
    assert models.advance(model, H, 300) < 300
    sentence = models.failure(model)
    assert "load is 1e+08 times as heavy as cube" in sentence and "a ratio of 100000" in sentence
