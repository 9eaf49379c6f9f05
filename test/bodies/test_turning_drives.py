"""Held bodies that turn at a prescribed rate: what hangs on them, lies on them and is pulled by
them, against closed forms and multipliers.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean, runs, shapes
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.network import event_driven

G, LENGTH, RATE = 9.81, 0.5, 6.0
HELD = (1.0,) * 6
BALANCED = np.arccos(G / (LENGTH * RATE**2))


def whirling(angle, rate=RATE, **more):
    """A bob on a hinge of a hub that turns about the vertical, at an angle from below."""
    at = np.array([LENGTH * np.sin(angle), 0.0, -LENGTH * np.cos(angle)])
    hub = shapes.Body(1.0, (1.0,) * 3, angular_velocity=(0.0, 0.0, rate), held=HELD)
    bob = shapes.Body(
        2.0, (1e-6,) * 3, tuple(at), velocity=(0.0, rate * at[0], 0.0),
        angular_velocity=(0.0, 0.0, rate),
    )  # fmt: skip
    pivot = scene.Joint("hinge", ("bob", "hub"), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return scene.build(scene.Scene({"hub": hub, "bob": bob}, {"pivot": pivot}, **more))


def angle_of(q):
    return np.arctan2(np.hypot(q[1, 0], q[1, 1]), -q[1, 2])


def test_a_pendulum_on_a_turning_hub_stays_where_its_cosine_is_g_by_l_w_squared():
    """cos theta = g/(l w^2); the step's own equilibrium differs by order 2."""
    away = []
    for h in (2e-3, 1e-3):
        record = runs.run(whirling(BALANCED), h, 20, round(0.05 / h))
        assert record.ok and record.opening.max() < 1e-13
        away.append(max(abs(angle_of(q) - BALANCED) for q in record.q))
    assert away[1] < 1e-5 and away[0] / away[1] == pytest.approx(4.0, abs=0.2)
    force = record.reactions[-1, 0, 0, :3]  # the mean over 0.05 s, in which it turns
    inward = 2.0 * LENGTH * np.sin(BALANCED) * RATE**2 * np.sinc(0.025 * RATE / np.pi)
    assert [np.hypot(*force[:2]), force[2]] == pytest.approx([inward, 2.0 * G], rel=1e-4)
    assert abs(record.work[-1]) < 1e-4  # a steady motion needs no torque


def test_a_pendulum_on_a_turning_hub_swings_as_by_multipliers_and_the_hub_does_the_work():
    """It has the integral of Jacobi, E - w L_z; and E - work stays."""
    exact = runs.multiplier_run(whirling(BALANCED + 0.4), 0.0, 5e-4, 10, 200)
    errors = []
    for h in (2e-3, 1e-3):
        record = runs.run(whirling(BALANCED + 0.4), h, 10, round(0.1 / h))
        errors.append(np.abs(record.q - exact.q).max())
        assert np.ptp(record.energy - record.work) < 3e2 * h**2
        jacobi = (
            record.energy - RATE * 2.0 * np.cross(record.q[:, 1, :3], record.v[:, 1, :3])[:, 2]
        )
        assert np.ptp(jacobi) < 3e2 * h**2
    assert np.abs(record.work).max() > 1.0
    assert errors[1] < 1e-3 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.2)
    assert record.work == pytest.approx(exact.work, abs=1e-3)


def test_a_turning_body_is_where_its_rate_brings_it():
    """Q exp(t w), about an axis askew in the body and in the world, with every composition."""
    q, w = quaternion.normalize(np.array([0.5, -0.2, 0.7, 0.1])), np.array([3.0, -1.0, 5.0])
    body = shapes.Body(
        1.0, (0.1, 0.2, 0.3), (1, 2, 3), tuple(q), (0.5, 0.0, -1.0), tuple(w), held=HELD
    )
    for composition in ("none", "suzuki4"):
        model = scene.build(scene.Scene({"body": body}))
        assert models.advance(model, 1e-3, 2000, composition) == 2000
        at, v = models.state(model)
        turned = quaternion.product(q, quaternion.exp(2.0 * w))
        assert min(np.abs(at[0, 3:] - sign * turned).max() for sign in (1, -1)) < 1e-12
        assert at[0, :3] == pytest.approx([2.0, 2.0, 1.0], abs=1e-12)
        assert v[0].tolist() == [0.5, 0.0, -1.0, *w.tolist()]
        assert models.momenta(model)[1].tolist() == [0.0, 0.0, 0.0]


def on_a_table(share, mu=0.5, radius=0.4):
    """A block on a turntable, both turning at a share of the rate at which it begins to slide."""
    rate = share * np.sqrt(mu * G / radius)
    size, spin = (0.05, 0.05, 0.02), (0.0, 0.0, rate)
    start = {"position": (radius, 0.0, 0.01), "velocity": (0.0, rate * radius, 0.0)}
    block = shapes.box(size, mass=2.0, angular_velocity=spin, **start)
    geoms = {
        "block": scene.Geom("box", "block", size),
        "table": scene.plane(angular_velocity=spin),
    }
    contacts = {"rubs": scene.Contact(("block", "table"), mu)}
    return scene.build(scene.Scene({"block": block}, geoms=geoms, contacts=contacts)), rate


def test_a_block_on_a_turntable_slides_where_the_friction_is_too_small():
    """It stays below w^2 r = mu g, to round-off, and slides outward above."""
    model, rate = on_a_table(0.98)
    record = runs.run(model, 1e-3, 5, 200)
    assert record.ok and np.ptp(np.hypot(*record.q[:, 0, :2].T)) < 1e-9
    turned = np.arctan2(record.q[-1, 0, 1], record.q[-1, 0, 0])
    assert np.cos(turned - rate) == pytest.approx(1.0, abs=1e-8)
    assert np.ptp(record.energy - record.work) < 1e-9
    model, _ = on_a_table(1.02)
    record = runs.run(model, 1e-3, 5, 40)
    out = np.hypot(*record.q[:, 0, :2].T)
    assert record.ok and (np.diff(out) > 0.0).all() and out[-1] > 0.402
    lost = record.energy - record.work
    assert (np.diff(lost) < 0.0).all() and record.work[-1] > 0.0


def test_a_puck_takes_the_rate_of_a_turntable_below_it():
    """At rest on the axis, it is turned by friction until both turn alike; the table does twice
    the work that the puck has at the end.
    """
    puck = shapes.cylinder(0.1, 0.05, mass=1.0, position=(0.0, 0.0, 0.025))
    spin = (0.0, 0.0, 3.0)
    geoms = {
        "puck": scene.Geom("cylinder", "puck", (0.1, 0.05)),
        "table": scene.plane(angular_velocity=spin),
    }
    contacts = {"rubs": scene.Contact(("puck", "table"), 0.3)}
    model = scene.build(scene.Scene({"puck": puck}, geoms=geoms, contacts=contacts))
    record = runs.run(model, 1e-3, 2, 100)
    assert record.ok and record.v[-1, 0, 5] == pytest.approx(3.0, abs=1e-9)
    gained = record.energy[-1] - record.energy[0]
    assert gained == pytest.approx(0.5 * 0.5 * 0.01 * 9.0, rel=1e-6)
    assert record.work[-1] == pytest.approx(2.0 * gained, rel=0.02)


def wound(h):
    """A ball on a damped spring from a point off the axis of a turning body, and a rotor on its
    hinge with a torsional spring and a damper.
    """
    tilted = tuple(quaternion.exp((0.3, 0.2, 0.0)).tolist())
    spin = quaternion.rotate(quaternion.conjugate(np.array(tilted)), (0.0, 0.0, 4.0))
    bodies = {
        "drive": shapes.Body(1.0, (1.0,) * 3, (0, 0, 0), tilted, STILL, tuple(spin), HELD),
        "ball": shapes.sphere(0.05, mass=1.0, position=(0.8, 0.0, 0.0)),
        "rotor": shapes.Body(1.0, (0.02,) * 3, (0.0, 0.0, 0.5)),
    }
    joints = {"axle": scene.Joint("hinge", ("rotor", "drive"), axis=(0.0, 0.0, 1.0))}
    springs = {
        "line": scene.Spring(60.0, ("ball", "drive"), end=(0.3, 0.1, 0.0), damping=0.5),
        "coil": scene.Spring(0.5, hinge="axle", damping=0.02),
    }
    made = scene.Scene(bodies, joints, gravity=STILL, springs=springs)
    return runs.run(scene.build(made), h, 5, round(0.1 / h)), made


STILL = (0.0, 0.0, 0.0)


def test_springs_and_dampers_on_a_turning_body_work_as_by_multipliers():
    errors = []
    for h in (1e-3, 5e-4):
        record, made = wound(h)
        exact = runs.multiplier_run(scene.build(made), 0.0, 2e-4, 5, 500)
        errors.append([np.abs(record.q - exact.q).max(), np.abs(record.work - exact.work).max()])
    fine, coarse = np.array(errors[1]), np.array(errors[0])
    assert (fine < [1e-4, 1e-3]).all() and coarse / fine == pytest.approx([4.0, 4.0], abs=0.6)
    assert abs(exact.work[-1]) > 0.1


def test_moreau_jean_and_the_event_driven_scheme_turn_the_hub_too():
    end = 0.2
    exact = runs.multiplier_run(whirling(BALANCED + 0.4), 0.0, 2e-4, 1, 1000).q[-1]
    errors = []
    for h in (1e-3, 5e-4):
        model = whirling(BALANCED + 0.4)
        assert moreau_jean.advance(model, h, round(end / h)) == round(end / h)
        assert moreau_jean.velocities(model)[0].tolist() == [0.0] * 5 + [RATE]
        errors.append(np.abs(models.places(model) - exact).max())
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 1.8
    run = event_driven.run_model(whirling(BALANCED + 0.4), np.array([end]))
    assert run.ok and run.q[-1].reshape(-1, 7) == pytest.approx(exact, abs=1e-7)


def test_a_crank_that_is_held_from_turning_freely_drives_a_slider():
    """x = r cos(w t) of a pin at radius r, in a slot of a slider: the crank, whose turn alone is
    held, is free to move, and a ball joint holds it.
    """
    r, w = 0.2, 5.0
    crank = shapes.Body(
        1.0, (0.1,) * 3, angular_velocity=(0.0, 0.0, w), held=(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)
    )
    slider = shapes.Body(0.7, (0.1,) * 3, (r, 0.0, 0.0))
    joints = {
        "bearing": scene.Joint("ball", ("crank", "world"), (0.0, 0.0, 0.0)),
        "rail": scene.Joint("prismatic", ("slider", "world"), axis=(1.0, 0.0, 0.0)),
        "slot": scene.Joint("plane", ("crank", "slider"), (r, 0.0, 0.0), (1.0, 0.0, 0.0)),
    }
    model = scene.build(scene.Scene({"crank": crank, "slider": slider}, joints, gravity=STILL))
    record = runs.run(model, 1e-3, 5, 100)
    assert record.ok and record.opening.max() < 1e-12
    assert record.q[:, 1, 0] == pytest.approx(r * np.cos(w * record.t), abs=1e-12)
    assert record.energy == pytest.approx(record.work, abs=1e-4)


def test_a_geom_of_a_body_has_no_motion_of_its_own():
    ball = {"ball": shapes.sphere(0.1, mass=1.0)}
    geom = scene.Geom("sphere", "ball", (0.1,), angular_velocity=(0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="geom g: angular_velocity is .*it moves with ball"):
        scene.build(scene.Scene(ball, geoms={"g": geom}))
