"""Positions and rates of joints, and where contacts act, in the table of a model's run."""

import numpy as np
import pytest

from rbdyn_ros.bodies import runs, shapes
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.bodies.description.scene import Contact, Geom, Joint
from rbdyn_ros.plant import joint_columns

X, Y, Z, STILL = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
ALONG_X = (0.5**0.5, 0.0, 0.5**0.5, 0.0)


def joint_table(made, every, rows, steps):
    model = scene.build(made)
    record = runs.run(model, every / steps, rows, steps)
    assert record.ok, record.message
    found = joint_columns.columns(made.joints, model.names.bodies, record, {"pivot": 0.5})
    return record, found


def test_a_rod_turns_many_times():
    """At 31 rad/s with a row each 0.1 s, about an axis in the world."""
    spin = {"angular_velocity": (0.0, 31.0, 0.0), "velocity": (0.0, 0.0, -0.25 * 31.0)}
    rod = shapes.rod(0.5, mass=0.2, position=(0.25, 0.0, 0.0), orientation=ALONG_X, **spin)
    pivot = {"pivot": Joint("hinge", ("rod", "world"), STILL, axis=Y)}
    record, found = joint_table(scene.Scene({"rod": rod}, pivot, gravity=STILL), 0.1, 10, 100)
    np.testing.assert_allclose(found["pivot.rate"], 31.0, rtol=1e-3)
    np.testing.assert_allclose(found["pivot.position"], 0.5 + 31.0 * record.t, rtol=2e-3)


def test_positions_have_the_rates_as_derivatives():
    """A cart on a rail that falls with it, a hinge, and a universal joint."""
    bodies = {
        "cart": shapes.box((0.3, 0.2, 0.1), mass=1.0),
        "upper": shapes.rod(0.5, mass=0.3, position=(0.25, 0, 0), orientation=ALONG_X),
        "lower": shapes.rod(0.4, mass=0.2, position=(0.5, 0.0, 0.2)),
    }
    joints = {
        "rail": Joint("prismatic", ("cart", "world"), axis=X),
        "pivot": Joint("hinge", ("upper", "cart"), STILL, axis=Y),
        "cross": Joint("universal", ("lower", "upper"), (0.5, 0, 0), axis=X, axis_b=Y),
        "ball": Joint("fixed", ("tip", "lower")),
    }
    bodies["tip"] = shapes.sphere(0.05, mass=0.1, position=(0.5, 0.03, 0.4))
    record, found = joint_table(scene.Scene(bodies, joints), 1e-3, 400, 1)
    assert not any(name.startswith("ball") for name in found)
    pairs = [("rail", ""), ("pivot", ""), ("cross", ""), ("cross", "_b")]
    for name, suffix in pairs:
        position, rate = (found[f"{name}.{word}{suffix}"] for word in ("position", "rate"))
        assert np.ptp(position) > 1e-2
        by_differences = (position[2:] - position[:-2]) / 2e-3
        np.testing.assert_allclose(by_differences, rate[1:-1], atol=5e-3 * np.abs(rate).max())
    np.testing.assert_allclose(found["rail.position"], record.q[:, 0, 0], atol=1e-14)


def test_a_contact_acts_at_the_center_of_its_impulses():
    """A box on two sides of its center of mass, and one that nothing touches."""
    body = shapes.box((0.2, 0.2, 0.2), mass=1.0, position=(0.3, 0.1, 0.1))
    far = shapes.sphere(0.1, mass=1.0, position=(0.0, 0.0, 3.0))
    geoms = {"box": Geom("box", "box", (0.2,) * 3), "far": Geom("sphere", "far", (0.1,))}
    geoms["floor"] = scene.plane()
    contacts = {"stand": Contact(("box", "floor"), 0.5), "fall": Contact(("far", "floor"))}
    made = scene.Scene({"box": body, "far": far}, {}, geoms, contacts)
    record = runs.run(scene.build(made), 1e-3, 3, 20)
    np.testing.assert_allclose(record.points[1:, 0], [[0.3, 0.1, 0.0]] * 3, atol=1e-9)
    assert np.isnan(record.points[:, 1]).all()
    assert record.contacts[2, 0, 0] == pytest.approx(9.81 * 0.02, rel=1e-2)
