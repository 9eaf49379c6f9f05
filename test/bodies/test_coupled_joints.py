"""Joints that mimic others: closed forms of gears and racks, conservation, contacts, other
schemes, and a linkage in one coordinate of its own.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import moreau_jean, projection, runs, shapes
from rbdyn_ros.bodies.description import scene

G, STILL = 9.81, (0.0, 0.0, 0.0)


def rotor(inertia, position=STILL, rate=0.0, **more):
    return shapes.Body(1.0, (inertia,) * 3, position, angular_velocity=(0.0, 0.0, rate), **more)


def hinge(a, b="world", axis=(0.0, 0.0, 1.0), **more):
    return scene.Joint("hinge", (a, b), axis=axis, **more)


def gears(factor, rate=3.0):
    """Two rotors in the world, the second `factor` times as fast; a spring on the first."""
    bodies = {"a": rotor(0.03, rate=rate), "b": rotor(0.015, (0.5, 0.0, 0.0), factor * rate)}
    joints = {"first": hinge("a"), "second": hinge("b", mimic="first", multiplier=factor)}
    spring = scene.Spring(0.4, hinge="first", angle=1.0)
    return scene.build(scene.Scene(bodies, joints, springs={"s": spring}))


@pytest.mark.parametrize("factor", [-2.5, 1.0 / 3.0])
def test_geared_rotors_have_the_inertia_of_both(factor):
    """(I_a + m^2 I_b) phi'' = -k (phi - 1), a torque on one: order 2, and the torque between them
    is what turns the other.
    """
    inertia, end = 0.03 + factor**2 * 0.015, 0.6
    w = np.sqrt(0.4 / inertia)
    exact = w * np.sin(w * end) + 3.0 * np.cos(w * end)
    errors = []
    for h in (4e-3, 2e-3):
        model = gears(factor)
        assert models.advance(model, h, round(end / h)) == round(end / h)
        rates = models.state(model)[1][:, 5]
        assert rates[1] == pytest.approx(factor * rates[0], abs=1e-12)
        errors.append(abs(rates[0] - exact))
    assert errors[1] < 2e-4 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)
    wrench = models.reactions(model)  # on a and on b, of both joints
    assert wrench[1, 0, 5] == pytest.approx(0.015 * factor * (rates[0] - 3.0), abs=1e-12)
    by_spring = 0.03 * (rates[0] - 3.0) - wrench[0, 0, 5]
    assert wrench[0, 0, 5] == pytest.approx(-factor * wrench[1, 0, 5], abs=1e-12)
    assert by_spring == pytest.approx(inertia * (rates[0] - 3.0), abs=1e-12)


def test_angles_count_over_many_turns():
    """600 turns of one and 222 of the other, by a ratio that never comes back to where it was."""
    factor = 0.37
    bodies = {"a": rotor(0.03, rate=377.0), "b": rotor(0.015, (0.5, 0, 0), 377.0 * factor)}
    joints = {"first": hinge("a"), "second": hinge("b", mimic="first", multiplier=factor)}
    record = runs.run(scene.build(scene.Scene(bodies, joints)), 2e-3, 10, 500)
    assert record.ok and record.opening.max() < 1e-9
    assert np.ptp(record.energy) < 1e-9 * record.energy[0]


def floating():
    """A base that floats, with two geared rotors about askew axes, one of them on a slide."""
    turn = np.array([0.0, 0.6, 0.8])
    spin = tuple(4.0 * turn)
    bodies = {
        "base": shapes.Body(2.0, (0.3, 0.2, 0.25)),
        "a": shapes.Body(1.0, (0.02, 0.03, 0.03), (0.5, 0, 0), angular_velocity=spin),
        "b": shapes.Body(0.5, (0.01, 0.02, 0.02), (-0.5, 0.2, 0)),
        "c": shapes.Body(0.3, (0.01, 0.01, 0.01), (0.0, 0.4, 0.1)),
    }
    joints = {
        "drum": hinge("a", "base", tuple(turn)),
        "gear": hinge("b", "base", (1.0, 0.0, 0.0), mimic="drum", multiplier=-1.7),
        "rack": scene.Joint(
            "prismatic", ("c", "a"), axis=(1.0, 0.2, 0.0), mimic="gear", multiplier=0.03
        ),
    }
    return scene.Scene(bodies, joints, gravity=STILL, close=True)


def test_a_floating_train_of_gears_keeps_momentum_and_energy_and_moves_as_by_multipliers():
    model = scene.build(floating())
    record = runs.run(model, 1e-3, 10, 100)
    assert record.ok, record.message
    assert record.opening.max() < 1e-12
    assert np.ptp(record.energy) < 1e-4 * record.energy[0]
    linear, angular = models.momenta(model)
    start = models.momenta(scene.build(floating()))
    assert np.abs(linear - start[0]).max() < 1e-13 and np.abs(angular - start[1]).max() < 1e-13
    errors = []
    for h in (2e-3, 1e-3):
        exact = runs.multiplier_run(scene.build(floating()), 0.0, 1e-3, 1, 500)
        assert exact.ok and exact.opening.max() < 1e-9
        found = runs.run(scene.build(floating()), h, 1, round(0.5 / h))
        errors.append(np.abs(found.q[-1] - exact.q[-1]).max())
    assert errors[1] < 1e-4 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)


def test_reactions_balance_what_changes_the_momenta_of_geared_bodies():
    model = scene.build(floating())
    bodies, record = model.bodies, runs.run(model, 1e-3, 1, 200)
    momentum = bodies.mass[:, None] * (record.v[1] - record.v[0])[:, :3]
    rows, joints = model.constraints.rows, model.constraints.joint
    for joint, wrenches in enumerate(0.2 * record.reactions[1]):
        row = joints.index(joint)
        momentum[rows.a[row]] -= wrenches[0, :3]
        momentum[rows.b[row]] -= wrenches[1, :3]
    assert np.abs(momentum).max() < 1e-12


def test_a_weight_on_a_drum_falls_slower():
    """m g r^2 / (m r^2 + I) down, the rope a rack; the joint of the weight carries the rest."""
    m, r, inertia = 2.0, 0.1, 0.05
    drum = shapes.Body(1.0, (inertia,) * 3)
    weight = shapes.Body(m, (0.01,) * 3, (r, 0.0, -1.0))
    joints = {
        "axle": hinge("drum", axis=(0.0, 1.0, 0.0)),
        "rope": scene.Joint(
            "prismatic", ("weight", "world"), axis=(0, 0, -1), mimic="axle", multiplier=r
        ),
    }
    model = scene.build(scene.Scene({"drum": drum, "weight": weight}, joints))
    record = runs.run(model, 1e-3, 1, 1000)
    a = m * G * r**2 / (m * r**2 + inertia)
    assert record.v[1, 1, 2] == pytest.approx(-a, rel=1e-11)
    assert record.q[1, 1, 2] == pytest.approx(-1.0 - 0.5 * a, abs=1e-4)
    assert record.reactions[1, 1, 0, 2] == pytest.approx(m * (G - a), rel=1e-9)


LENGTHS = {"lower": 0.3, "upper": 0.2}


def finger(side):
    """The bodies and joints of one finger of a gripper: two rods, upright at the start."""
    bodies, joints, z = {}, {}, 0.0
    for name, length in LENGTHS.items():
        center = (side * 0.1, 0.0, z + 0.5 * length)
        bodies[f"{name}{side}"] = shapes.rod(length, mass=1.0 + length, position=center)
        below = "world" if name == "lower" else f"lower{side}"
        at = (side * 0.1, 0.0, z)
        joints[f"{name}{side}"] = scene.Joint("hinge", (f"{name}{side}", below), at, (0, 1, 0))
        z += length
    return bodies, joints


def gripper():
    """Two fingers of two joints each, in one coordinate: the second opens as the first does, the
    upper joints turn back by 1.4 times that.
    """
    bodies, joints = {}, {}
    for side in (-1, 1):
        more = finger(side)
        bodies |= more[0]
        joints |= more[1]
    for name, (other, factor) in {
        "lower1": ("lower-1", -1.0),
        "upper-1": ("lower-1", -1.4),
        "upper1": ("lower1", -1.4),
    }.items():
        joints[name] = joints[name]._replace(mimic=other, multiplier=factor)
    # a velocity that the gears can have, found by impulses
    bodies["lower-1"] = bodies["lower-1"]._replace(angular_velocity=(0.0, 5.0, 0.0))
    return scene.Scene(bodies, joints, close=True)


def test_a_gripper_moves_as_in_its_only_coordinate():
    """L = M(s) s'^2/2 - V(s), from the places of the rods in the plane by hand; energies agree to
    1e-9 at the start, angles after half a second.
    """
    model = scene.build(gripper())
    rate = models.state(model)[1][list(gripper().bodies).index("lower-1"), 4]

    def lagrangian(s):
        """(M, V) at angle s of the lower joint of a finger."""
        mass, height = 0.0, 0.0
        (a, b), (m, n) = LENGTHS.values(), [1.0 + x for x in LENGTHS.values()]
        J, K = (m * (3 * 0.01**2 + a * a) / 12, n * (3 * 0.01**2 + b * b) / 12)
        over = s - 1.4 * s  # the attitude of the upper rod
        mass = J + m * (0.5 * a) ** 2 + 0.16 * K
        mass += n * (a * a + 0.04 * b * b - 0.4 * a * b * np.cos(s - over))
        height = m * 0.5 * a * np.cos(s) + n * (a * np.cos(s) + 0.5 * b * np.cos(over))
        return 2.0 * mass, 2.0 * G * height

    def rhs(_, y, e=1e-6):
        (M, _), (M_up, V_up), (M_down, V_down) = (lagrangian(y[0] + d) for d in (0.0, e, -e))
        slope, pull = (M_up - M_down) / (2 * e), (V_up - V_down) / (2 * e)
        return [y[1], -(0.5 * slope * y[1] ** 2 + pull) / M]

    kinetic = models.energy(model) - lagrangian(0.0)[1]
    assert kinetic == pytest.approx(0.5 * lagrangian(0.0)[0] * rate**2, rel=1e-9)
    exact = solve_ivp(rhs, (0.0, 0.5), [0.0, rate], rtol=1e-10, atol=1e-10).y[:, -1]
    record = runs.run(model, 5e-4, 1, 1000)
    assert record.ok and record.opening.max() < 1e-12
    places = record.q[-1]
    for name, angle in {
        "lower-1": exact[0], "lower1": -exact[0], "upper-1": -0.4 * exact[0],
        "upper1": 0.4 * exact[0],
    }.items():  # fmt: skip
        at = places[list(gripper().bodies).index(name), 3:]
        assert 2.0 * np.arctan2(at[2], at[0]) == pytest.approx(angle, abs=2e-4), name


def rail(body, **more):
    return scene.Joint("prismatic", (body, "world"), axis=(0.0, 0.0, 1.0), **more)


@pytest.mark.parametrize("stacked", [False, True])
def test_geared_weights_rest_on_a_floor_with_the_difference_of_their_loads(stacked):
    """3 kg on four corners, geared to 1 kg in the air, which rises as it sinks; with 2 kg on top,
    eight contacts, the impulses are those of the augmented Lagrangian.
    """
    size = (0.2, 0.2, 0.1)
    bodies = {
        "left": shapes.box(size, mass=3.0, position=(0, 0, 0.05)),
        "right": shapes.box(size, mass=1.0, position=(1, 0, 1.0)),
    }
    geoms = {"left": scene.Geom("box", "left", size), "floor": scene.plane()}
    contacts = {"stands": scene.Contact(("left", "floor"), 0.5)}
    if stacked:
        bodies["top"] = shapes.box(size, mass=2.0, position=(0, 0, 0.15))
        geoms["top"] = scene.Geom("box", "top", size)
        contacts["lies"] = scene.Contact(("top", "left"), 0.5)
    joints = {"down": rail("left"), "up": rail("right", mimic="down", multiplier=-1.0)}
    record = runs.run(scene.build(scene.Scene(bodies, joints, geoms, contacts)), 2e-3, 4, 25)
    assert record.ok, record.message
    load = (2.0 + 2.0 * stacked) * G
    assert record.contacts[2:, 0, 0] == pytest.approx(0.05 * load, rel=1e-8)
    assert np.abs(record.v[-1]).max() < 1e-9 and record.opening.max() < 1e-12


def test_geared_weights_collide_with_the_mass_of_both():
    """3 kg fall geared to 1 kg; restitution 0.5 acts on the velocity of both, P = 1.5 (4 kg) v."""
    bodies = {
        "left": shapes.sphere(0.1, mass=3.0, position=(0, 0, 0.3)),
        "right": shapes.sphere(0.1, mass=1.0, position=(1, 0, 1.0)),
    }
    geoms = {"left": scene.Geom("sphere", "left", (0.1,)), "floor": scene.plane()}
    contacts = {"lands": scene.Contact(("left", "floor"), restitution=0.5)}
    joints = {"down": rail("left"), "up": rail("right", mimic="down", multiplier=-1.0)}
    model = scene.build(scene.Scene(bodies, joints, geoms, contacts))
    assert models.advance(model, 1e-3, 350) == 350
    (impact,) = models.impacts(model)
    speed = np.sqrt(2.0 * 0.5 * G * 0.2)
    assert impact[2] == pytest.approx(1.5 * 4.0 * speed, rel=1e-6)
    assert impact[6] == pytest.approx(0.5 * speed, rel=1e-6)


def test_moreau_jean_keeps_the_ratio_of_rates_and_projection_closes_the_angles():
    model = scene.build(gripper())
    assert moreau_jean.advance(model, 1e-3, 300) == 300
    bodies = list(gripper().bodies)
    w = moreau_jean.velocities(model)[:, 4]
    left, right = w[bodies.index("lower-1")], w[bodies.index("lower1")]
    assert abs(left) > 0.5 and right == pytest.approx(-left, abs=1e-9)
    before = models.opening(model, models.places(model))
    assert projection.project(model).ok
    models.observe(model)
    assert before > 1e-9 and models.opening(model, models.places(model)) < 1e-12


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"mimic": "third"}, "joint second: mimic is 'third'; known are first, up"),
        ({"mimic": "second"}, "joint second: mimic is 'second'; known are first, up"),
        ({"multiplier": 0.0}, "joint second: mimic is first, but the multiplier is 0; hinges and"),
        ({"multiplier": np.nan}, "joint second: multiplier is nan"),
        ({"kind": "ball"}, "joint second: mimic is first, but a ball has no position; hinges and"),
    ],
)
def test_what_cannot_be_coupled_is_named(change, sentence):
    bodies = {"a": rotor(0.03), "b": rotor(0.01, (0.5, 0, 0)), "c": rotor(0.01, (1, 0, 0))}
    second = hinge("b", mimic="first", multiplier=2.0)._replace(**change)
    joints = {"first": hinge("a"), "second": second, "up": rail("c")}
    with pytest.raises(ValueError, match=sentence):
        scene.build(scene.Scene(bodies, joints))


def test_velocities_that_would_break_the_gears_are_refused():
    bodies = {"a": rotor(0.03, rate=1.0), "b": rotor(0.01, (0.5, 0, 0))}
    joints = {"first": hinge("a"), "second": hinge("b", mimic="first", multiplier=2.0)}
    with pytest.raises(ValueError, match=r"joint second \(hinge, b on world\), row 6 of 6: dC/dt"):
        scene.build(scene.Scene(bodies, joints))
