"""Springs, dampers and walls that move at a prescribed velocity, against closed forms."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import runs, shapes
from rbdyn_ros.bodies.description import scene

STILL, ALONG_X = (0.0, 0.0, 0.0), (0.5**0.5, 0.0, 0.5**0.5, 0.0)
G = 9.81


def advanced(model, h, n):
    """(q, v) after n steps that are all taken."""
    assert models.advance(model, h, n) == n, models.failure(model)
    return models.state(model)


def ball_on_a_spring(damping=0.0):
    """2 kg on 50 N/m, 0.2 m beyond the length at rest."""
    ball = shapes.sphere(0.1, mass=2.0, position=(1.2, 0.0, 0.0))
    spring = scene.Spring(50.0, ("ball", "world"), end=STILL, length=1.0, damping=damping)
    return scene.build(scene.Scene({"ball": ball}, gravity=STILL, springs={"spring": spring}))


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_an_oscillator_has_order_two_and_keeps_its_balance(damping):
    errors, balances = [], []
    for h in (1e-2, 5e-3):
        model, t = ball_on_a_spring(damping), 2.0
        start, decay = models.energy(model), damping / 4.0
        w = np.sqrt(25.0 - decay**2)
        swings = np.cos(w * t) + decay / w * np.sin(w * t)
        q, _ = advanced(model, h, round(t / h))
        errors.append(abs(q[0, 0] - 1.0 - 0.2 * np.exp(-decay * t) * swings))
        balances.append(abs(models.energy(model) + models.damping_loss(model) - start))
    assert errors[0] < 2e-4 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert balances[0] < 1e-3 and balances[1] < 0.3 * balances[0] + 1e-12


def test_the_energy_of_a_spring_is_bounded():
    """Over 500 periods its error is that of the first ones."""
    model, first, last = ball_on_a_spring(), 0.0, 0.0
    start = models.energy(model)
    for k in range(3000):
        advanced(model, 1e-2, 21)
        error = abs(models.energy(model) - start)
        first, last = (max(first, error), last) if k < 300 else (first, max(last, error))
    assert 1e-5 < first < 1e-3 and last < 1.001 * first


def test_two_bodies_on_a_spring_keep_their_momenta():
    """Fixed beside the centers of mass, so that they turn; and straight: the reduced mass
    swings.
    """
    bodies = {
        "a": shapes.box((0.2, 0.1, 0.1), mass=1.0, velocity=(0.3, 0.2, 0.0)),
        "b": shapes.box((0.2, 0.3, 0.1), mass=3.0, position=(1.0, 0.0, 0.0)),
    }
    spring = scene.Spring(40.0, ("a", "b"), (0.05, 0.05, 0.02), (0.9, -0.1, 0.0), 0.7, damping=0.2)
    model = scene.build(scene.Scene(bodies, gravity=STILL, springs={"s": spring}))
    P, L = models.momenta(model)
    _, v = advanced(model, 5e-3, 400)
    after = models.momenta(model)
    assert after[0] == pytest.approx(P, abs=1e-13) and after[1] == pytest.approx(L, abs=1e-13)
    assert np.abs(v[:, 3:]).max() > 0.1
    straight = scene.Spring(30.0, ("a", "b"), length=0.8)
    bodies["a"] = bodies["a"]._replace(velocity=STILL)
    model = scene.build(scene.Scene(bodies, gravity=STILL, springs={"s": straight}))
    q, _ = advanced(model, 1e-3, 1000)
    apart = 0.8 + 0.2 * np.cos(np.sqrt(30.0 / 0.75))
    assert q[1, 0] - q[0, 0] == pytest.approx(apart, abs=1e-5)


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_a_torsional_spring_turns_a_rod_many_times(damping):
    """Wound up by 9 rad about a hinge at the rod's end; J = m l^2 / 3 about it."""
    rod = shapes.Body(0.3, (0.025, 0.025, 0.001), (0.5, 0.0, 0.0), ALONG_X)
    hinge = scene.Joint("hinge", ("rod", "world"), STILL, axis=(0.0, 0.0, 1.0))
    spring = scene.Spring(0.8, hinge="pivot", angle=9.0, damping=damping)
    parts = scene.Scene({"rod": rod}, {"pivot": hinge}, gravity=STILL, springs={"coil": spring})
    J, errors = 0.025 + 0.3 * 0.25, []
    decay = damping / (2.0 * J)
    w = np.sqrt(0.8 / J - decay**2)
    angle = 9.0 - 9.0 * np.exp(-decay) * (np.cos(w) + decay / w * np.sin(w))
    for h in (2e-3, 1e-3):
        q, _ = advanced(scene.build(parts), h, round(1.0 / h))
        direction = np.array([np.cos(angle), np.sin(angle), 0.0])
        errors.append(np.abs(q[0, :3] / 0.5 - direction).max())
    assert errors[0] < 3e-3 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


def arm():
    """A double pendulum with a damper at its elbow and a spring from its end to the ceiling."""
    bodies = {
        "upper": shapes.rod(0.5, mass=0.3, position=(0.25, 0, 0), orientation=ALONG_X),
        "lower": shapes.rod(0.4, mass=0.2, position=(0.5, 0, 0.2)),
    }
    y = (0.0, 1.0, 0.0)
    joints = {
        "shoulder": scene.Joint("hinge", ("upper", "world"), STILL, axis=y),
        "elbow": scene.Joint("hinge", ("lower", "upper"), (0.5, 0, 0), axis=y),
    }
    springs = {
        "coil": scene.Spring(0.1, hinge="elbow", damping=0.02),
        "cord": scene.Spring(5.0, ("lower", "world"), (0.5, 0, 0.4), (0, 0.3, 1), damping=0.1),
    }
    return scene.build(scene.Scene(bodies, joints, springs=springs))


def test_dampers_at_joints_balance_their_energy():
    lost, balances = [], []
    for h in (4e-3, 2e-3):
        model = arm()
        start = models.energy(model)
        advanced(model, h, round(2.0 / h))
        lost.append(models.damping_loss(model))
        balances.append(abs(models.energy(model) + lost[-1] - start))
    assert lost[1] > 0.1 and balances[0] < 2e-3 and balances[1] < 0.4 * balances[0] + 1e-6


def test_a_damper_takes_the_rates_of_a_body_that_slides():
    """m v' = -mu m g - c v: the rates of the damper have the friction of their node in them."""
    t, drag, decay = 0.5, 0.2 * G * 2.0 / 5.0, np.exp(-5.0 * 0.5 / 2.0)
    way = (3.0 + drag) * 2.0 / 5.0 * (1.0 - decay) - drag * t
    tip = shapes.Body(2.0, (1.0, 1.0, 1.0), velocity=(3.0, 0.0, 0.0), held=(0, 0, 0, 1, 1, 1))
    brake = scene.Spring(0.0, ("tip", "world"), end=(-1.0, 0.0, 0.0), damping=5.0)
    geoms = {"tip": scene.Geom("point", "tip"), "floor": scene.plane()}
    rub = {"rub": scene.Contact(("tip", "floor"), 0.2)}
    made, errors = scene.Scene({"tip": tip}, {}, geoms, rub, springs={"brake": brake}), []
    for h in (1e-2, 5e-3):
        q, v = advanced(scene.build(made), h, round(t / h))
        errors.append((q[0, 0] - way, v[0, 0] - (3.0 + drag) * decay + drag))
    assert np.abs(errors).max() < 5e-4
    assert np.log2(np.divide(*errors)) == pytest.approx(2.0, abs=0.1)


def test_multipliers_and_steps_give_one_motion_of_springs_and_dampers():
    """Two roads: forces with Runge and Kutta's method, potential and damping steps within the
    variational one, which approaches the former as h^2. Energy and work balance to h^4.
    """
    exact = runs.multiplier_run(arm(), 0.0, 5e-4, 1, 2000)
    assert exact.ok, exact.message
    assert exact.work[-1] < -0.05
    balance = exact.energy - exact.work
    assert balance[1] == pytest.approx(balance[0], abs=1e-8)
    errors, losses = [], []
    for h in (4e-3, 2e-3, 1e-3):
        model = arm()
        q, v = advanced(model, h, round(1.0 / h))
        errors.append(max(np.abs(q - exact.q[-1]).max(), np.abs(v - exact.v[-1]).max()))
        losses.append(abs(models.damping_loss(model) + exact.work[-1]))
    assert errors[2] < 1e-3 and losses[2] < 1e-4
    for found in (errors, losses):
        assert np.log2(found[0] / found[1]) == pytest.approx(2.0, abs=0.2)
        assert np.log2(found[1] / found[2]) == pytest.approx(2.0, abs=0.2)


def test_multipliers_wind_a_torsional_spring_many_times():
    """The rod's closed form, wound up by 9 rad, and the reaction of its hinge."""
    rod = shapes.Body(0.3, (0.025, 0.025, 0.001), (0.5, 0.0, 0.0), ALONG_X)
    hinge = scene.Joint("hinge", ("rod", "world"), STILL, axis=(0.0, 0.0, 1.0))
    spring = scene.Spring(0.8, hinge="pivot", angle=9.0)
    parts = scene.Scene({"rod": rod}, {"pivot": hinge}, gravity=STILL, springs={"coil": spring})
    record = runs.multiplier_run(scene.build(parts), 0.0, 1e-3, 10, 100)
    assert record.ok, record.message
    w = np.sqrt(0.8 / (0.025 + 0.3 * 0.25))
    angle, rate = 9.0 - 9.0 * np.cos(w * record.t), 9.0 * w * np.sin(w * record.t)
    place = 0.5 * np.stack([np.cos(angle), np.sin(angle), np.zeros(11)], axis=1)
    assert record.q[:, 0, :3] == pytest.approx(place, abs=1e-8)
    assert record.energy == pytest.approx(0.5 * 0.8 * 81.0, rel=1e-8)
    turning = 0.3 * 0.8 * (9.0 - angle) / 0.1
    side = np.stack([-place[:, 1], place[:, 0], np.zeros(11)], axis=1)
    force = turning[:, None] * side - 0.3 * rate[:, None] ** 2 * place
    assert record.reactions[:, 0, 0, :3] == pytest.approx(force, abs=1e-5)


def test_a_load_of_the_weight_is_the_weight():
    """Upwards on one body it holds it; its work is what it gains, a torque spins it up."""
    ball = shapes.sphere(0.1, mass=2.0)
    model = scene.build(scene.Scene({"ball": ball}))
    load = np.array([[1.0, 0.0, 2.0 * G, 0.0, 0.0, 0.04]])
    record = runs.multiplier_run(model, 0.0, 1e-2, 2, 50, load)
    assert record.q[-1, 0, :3] == pytest.approx([0.25, 0.0, 0.0], abs=1e-12)
    assert record.v[-1, 0, 5] == pytest.approx(0.04 / ball.inertia[2], rel=1e-12)
    assert record.energy - record.energy[0] == pytest.approx(record.work, abs=1e-12)


def wall_scene(kind="plane", **law):
    """A wall that comes along x at 0.5 m/s towards a ball at rest."""
    ball = shapes.sphere(0.1, mass=2.0, position=(0.4, 0.0, 0.0))
    geoms = {"ball": scene.Geom("sphere", "ball", (0.1,))}
    if kind == "plane":
        geoms["wall"] = scene.plane((1.0, 0.0, 0.0), velocity=(0.5, 0.0, 0.0))
    else:
        at = {"position": (-0.1, 0.0, 0.0), "velocity": (0.5, 0.0, 0.0)}
        geoms["wall"] = scene.Geom("box", size=(0.2, 1.0, 1.0), **at)
    contacts = {"push": scene.Contact(("ball", "wall"), **law)}
    return scene.Scene({"ball": ball}, geoms=geoms, contacts=contacts, gravity=STILL)


@pytest.mark.parametrize("kind", ["plane", "box"])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_wall_pushes_a_ball(kind, e):
    """They meet at 0.6 s; the ball leaves at (1 + e) 0.5 m/s, and all that it has is the wall's
    work, less what the impact takes.
    """
    record = runs.run(scene.build(wall_scene(kind, restitution=e)), 2e-3, 10, 50)
    assert record.ok, record.message
    speed = 0.5 * (1.0 + e)
    assert record.v[-1, 0, 0] == pytest.approx(speed, abs=1e-12)
    assert record.v[-1, 1, 0] == 0.5 and record.q[-1, 1, 0] == pytest.approx(
        0.5 + (0.0 if kind == "plane" else -0.1), abs=1e-12
    )
    assert record.q[-1, 0, 0] == pytest.approx(0.4 + 0.4 * speed, abs=1e-9)
    assert record.work[-1] == pytest.approx(2.0 * speed * 0.5, rel=1e-12)
    taken = 0.5 * 2.0 * (1.0 - e * e) * 0.25
    assert record.energy[-1] == pytest.approx(record.work[-1] - taken, rel=1e-12)


def test_a_floor_that_rises_does_its_work_at_once():
    """A ball falls on it and stays: the impact takes m u^2/2, and from the row after it on all
    that the ball gains is the floor's work, with the half step that the velocities have already.
    """
    ball = {"ball": shapes.sphere(0.1, mass=2.0, position=(0.0, 0.0, 0.3))}
    geoms = {
        "ball": scene.Geom("sphere", "ball", (0.1,)),
        "floor": scene.plane(velocity=(0, 0, 0.5)),
    }
    contacts = {"lift": scene.Contact(("ball", "floor"))}
    record = runs.run(scene.build(scene.Scene(ball, geoms=geoms, contacts=contacts)), 2e-3, 50, 5)
    assert record.ok, record.message
    lost = record.energy - record.energy[0] - record.work
    meets = (np.sqrt(0.25 + 2.0 * G * 0.2) - 0.5) / G
    expected = np.where(record.t < meets, 0.0, -((G * meets + 0.5) ** 2))
    np.testing.assert_allclose(lost, expected, atol=1e-12)


def test_a_belt_carries_a_box_along():
    """mu g until it moves with the belt, without creep from then on; half of the belt's work is
    lost in sliding.
    """
    box = shapes.box((0.4, 0.4, 0.2), mass=1.5, position=(0.0, 0.0, 0.1))
    geoms = {
        "box": scene.Geom("box", "box", (0.4, 0.4, 0.2)),
        "belt": scene.plane(velocity=(0.6, 0.0, 0.0)),
    }
    contacts = {"rub": scene.Contact(("box", "belt"), friction=0.3)}
    model = scene.build(scene.Scene({"box": box}, geoms=geoms, contacts=contacts))
    record = runs.run(model, 1e-3, 10, 50)
    assert record.ok, record.message
    t = 0.6 / (0.3 * G)
    way = 0.5 * 0.3 * G * t**2 + 0.6 * (0.5 - t)
    assert record.q[-1, 0, 0] == pytest.approx(way, abs=2e-6)
    assert record.v[-1, 0] == pytest.approx([0.6, 0, 0, 0, 0, 0], abs=1e-12)
    assert record.work[-1] == pytest.approx(1.5 * 0.36, rel=1e-9)
    gained = record.energy[-1] - record.energy[0]
    assert gained == pytest.approx(0.5 * 1.5 * 0.36, rel=1e-9)


def test_a_pendulum_on_a_driven_cart_swings_as_on_a_fixed_one():
    """Galilei: all velocities shifted alike."""
    found = []
    for shift in (0.0, 0.7):
        bodies = {
            "cart": shapes.box((0.3, 0.2, 0.1), mass=1.0, velocity=(shift, 0, 0), held=(1,) * 6),
            "rod": shapes.rod(
                0.5,
                mass=0.2,
                position=(0, 0, 0.25),
                velocity=(shift + 0.25, 0, 0),
                angular_velocity=(0, 1.0, 0),
            ),
        }
        pivot = scene.Joint("ball", ("rod", "cart"), STILL)
        record = runs.run(scene.build(scene.Scene(bodies, {"pivot": pivot})), 1e-3, 5, 100)
        assert record.ok, record.message
        found.append((record.q[-1, 1] - [0.5 * shift, *[0] * 6], record.energy, record.work))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-12)
    gained = found[1][1] - found[1][1][0]
    assert np.abs(found[1][2]).max() > 0.01 and gained == pytest.approx(found[1][2], abs=1e-4)


def driven(shift, damping=0.0, support=True):
    """A rod on a ball joint of a cart that is driven along x, and a ball on a spring of the
    cart. All velocities are shifted alike; without a support the rod hangs from the world.
    """
    moving = {"velocity": (shift, 0.0, 0.0)}
    bodies = {
        "rod": shapes.rod(
            0.5,
            mass=0.2,
            position=(0.0, 0.0, 0.25),
            velocity=(shift + 0.25, 0.0, 0.0),
            angular_velocity=(0.0, 1.0, 2.0),
        ),
        "ball": shapes.sphere(0.05, mass=0.3, position=(0.6, 0.1, 0.0), **moving),
    }
    if support:
        bodies["cart"] = shapes.box((0.3, 0.2, 0.1), mass=1.0, held=(1,) * 6, **moving)
    below = "cart" if support else "world"
    joints = {"pivot": scene.Joint("ball", ("rod", below), STILL)}
    cord = scene.Spring(20.0, ("ball", below), end=STILL, length=0.5, damping=damping)
    return scene.build(scene.Scene(bodies, joints, springs={"cord": cord}))


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_multipliers_on_a_driven_body_move_as_on_one_at_rest(alpha):
    """Galilei, to round-off; the work of the drive is V dP, for V is normal to the weights."""
    world = runs.multiplier_run(driven(0.0, 0.4, support=False), alpha, 1e-3, 5, 100)
    for shift in (0.0, 0.7):
        record = runs.multiplier_run(driven(shift, 0.4), alpha, 1e-3, 5, 100)
        assert record.ok, record.message
        moved = world.q.copy()
        moved[:, :, 0] += shift * world.t[:, None]
        assert record.q[:, :2] == pytest.approx(moved, abs=1e-12)
        assert record.v[:, 2, 0] == pytest.approx(shift, abs=0.0)
        assert record.q[:, 2, 0] == pytest.approx(shift * world.t, abs=1e-14)
        assert record.opening.max() < 1e-8
        assert record.reactions[:, 0, 0] == pytest.approx(world.reactions[:, 0, 0], abs=1e-10)
        pulled = (0.2 * record.v[:, 0, 0] + 0.3 * record.v[:, 1, 0]) * shift
        work = record.work - world.work
        assert work == pytest.approx(pulled - pulled[0], abs=1e-12)
        balance = record.energy - record.work
        assert balance == pytest.approx(balance[0], abs=1e-9)
    assert np.ptp(work) > 0.1


def test_multipliers_and_steps_give_one_motion_of_driven_bodies():
    """The variational scheme approaches motion and work as h^2, its balance is as good."""
    exact, errors, works = runs.multiplier_run(driven(0.7, 0.4), 0.0, 2e-4, 1, 2500), [], []
    assert exact.ok and abs(exact.work[-1]) > 0.1
    for h in (4e-3, 2e-3, 1e-3):
        record = runs.run(driven(0.7, 0.4), h, 1, round(0.5 / h))
        assert record.ok, record.message
        at, v = record.q[-1] - exact.q[-1], record.v[-1] - exact.v[-1]
        errors.append(max(np.abs(at).max(), np.abs(v).max()))
        works.append(abs(record.work[-1] - exact.work[-1]))
        balance = record.energy - record.work
        assert balance[1] == pytest.approx(balance[0], abs=300.0 * h * h)
    assert errors[2] < 1e-3 and works[2] < 1e-3
    for found in (errors, works):
        assert np.log2(found[0] / found[1]) == pytest.approx(2.0, abs=0.2)
        assert np.log2(found[1] / found[2]) == pytest.approx(2.0, abs=0.2)


def test_the_load_of_a_driven_body_does_no_work():
    """Its drive takes what the load gives; nothing else is there."""
    cart = shapes.box((0.3, 0.2, 0.1), mass=1.0, velocity=(0.7, 0, 0), held=(1, 0, 0, 1, 1, 1))
    model = scene.build(scene.Scene({"cart": cart}, gravity=STILL))
    record = runs.multiplier_run(model, 0.0, 1e-2, 2, 50, np.array([[5.0, 2.0, 0, 0, 0, 0]]))
    assert record.q[-1, 0, :2] == pytest.approx([0.7, 1.0], abs=1e-12)
    assert record.work == pytest.approx(record.energy - record.energy[0], abs=1e-12)
    assert record.work[-1] == pytest.approx(2.0, rel=1e-12)


def refused(sentence, **parts):
    whole = wall_scene()._replace(**parts)
    with pytest.raises(ValueError) as error:
        scene.build(whole)
    assert str(error.value) == sentence


def test_what_cannot_be_gets_a_sentence():
    one = {"s": scene.Spring(1.0, ("ball", "world"), end=STILL)}
    for change, sentence in (
        ({"stiffness": -1.0}, "the stiffness of spring s is -1.0; it must be finite and >= 0"),
        ({"length": np.nan}, "the length of spring s is nan; it must be finite and >= 0"),
        ({"end": None}, "spring s: end is missing; give its point in the world"),
        ({"hinge": "door"}, "spring s: give its hinge, or between, start and end, not a mixture"),
        (
            {"between": ("world", "ball")},
            "spring s is between world and ball; take two bodies, or a body and then the world",
        ),
    ):
        refused(sentence, springs={"s": one["s"]._replace(**change)})
    wall = scene.plane(body="ball", velocity=(1.0, 0.0, 0.0))
    refused(
        "geom wall: velocity is [1.0, 0.0, 0.0], but it moves with ball: "
        "leave its velocity out, or its body",
        geoms={"ball": scene.Geom("sphere", "ball", (0.1,)), "wall": wall},
    )
    with pytest.raises(ValueError, match=r"load has shape \(6,\); it must be finite and \(1, 6\)"):
        runs.multiplier_run(ball_on_a_spring(), 0.0, 1e-3, 1, 1, np.zeros(6))
