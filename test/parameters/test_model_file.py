"""Model files: what they say, and the sentence with file and line for what they cannot say."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.parameters import model_file

BOX = "bodies: {crate: {shape: box, size: [0.1, 0.2, 0.3], mass: 2.0}}\n"


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def reading(text: str, name: str = "m.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return model_file.read(path.relative_to(tmp_path))

    return reading


def test_values_reach_the_scene(read):
    file = read(
        "title: All of it\nstep: 2e-3\nduration: 3\nevery: 0.01\nview: yz\ngravity: [0, 0, -1]\n"
        "close: true\n"
        "bodies:\n"
        "  a: {shape: capsule, radius: 0.1, length: 0.4, density: 1000, position: [1, 2, 3], "
        "rpy: [0, 0.5, 0],\n"
        "      velocity: [1, 0, 0], angular_velocity: [0, 0, 2], held: [0, 1, 0, 0, 0, 0]}\n"
        "  b: {shape: none, mass: 2, inertia: [1, 1, 1], orientation: [0, 1, 0, 0]}\n"
        "  c: {shape: rod, from: [0, 0, 0], to: [0, 3, 4], mass: 1, radius: 0.02}\n"
        "joints: {j: {type: universal, between: [a, b], point: [0, 0, 1], axis: [1, 0, 0], "
        "axis_b: [0, 1, 0]}}\n"
        "geoms: {wall: {shape: plane, normal: [-1, 0, 0], point: [4, 0, 0]}, tip: {shape: "
        "point, body: b, position: [0, 0, 1]}}\n"
        "contacts: {hit: {between: [a, wall], friction: 0.3, restitution: 0.4}}\n"
    )
    assert (file.title, file.step, file.duration, file.every, file.view) == (
        "All of it",
        2e-3,
        3.0,
        0.01,
        "yz",
    )
    whole = file.scene
    assert whole.gravity == (0, 0, -1) and whole.close and list(whole.bodies) == ["a", "b", "c"]
    a, c = whole.bodies["a"], whole.bodies["c"]
    volume = np.pi * 0.1**2 * (0.4 + 4.0 / 3.0 * 0.1)
    assert a.mass == pytest.approx(1000.0 * volume) and a.held == (0, 1, 0, 0, 0, 0)
    assert a.orientation == pytest.approx((np.cos(0.25), 0, np.sin(0.25), 0)) and a.velocity == (
        1,
        0,
        0,
    )
    along = quaternion.rotate(np.array(c.orientation), np.array([0.0, 0.0, 1.0]))
    assert along == pytest.approx([0, 0.6, 0.8]) and c.position == pytest.approx((0, 1.5, 2.0))
    assert whole.geoms["a"].size == (0.1, 0.4) and whole.geoms["c"].kind == "cylinder"
    normal = quaternion.rotate(
        np.array(whole.geoms["wall"].orientation), np.array([0.0, 0.0, 1.0])
    )
    assert normal == pytest.approx([-1, 0, 0]) and "b" not in whole.geoms
    assert whole.joints["j"].between == ("a", "b") and whole.contacts["hit"].friction == 0.3


GEARS = (
    "bodies:\n"
    "  wheel: {shape: cylinder, radius: 0.1, length: 0.02, mass: 1, angular_velocity: [0, 0, 2]}\n"
    "  bar: {shape: box, size: [0.4, 0.02, 0.02], mass: 1, position: [0, 1, 0], "
    "velocity: [0.2, 0, 0]}\n"
    "joints:\n"
    "  axle: {type: hinge, between: [wheel, world], axis: [0, 0, 1]}\n"
    "  rack: {type: prismatic, between: [bar, world], axis: [1, 0, 0], mimic: axle, %s}\n"
)


def test_a_joint_mimics_another_one_and_a_geom_of_the_world_turns(read):
    text = GEARS % "multiplier: 0.1"
    file = read(text + "geoms: {table: {shape: plane, angular_velocity: [0, 0, 3]}}\n")
    assert (file.scene.joints["rack"].mimic, file.scene.joints["rack"].multiplier) == ("axle", 0.1)
    assert file.scene.geoms["table"].angular_velocity == (0, 0, 3)
    model = model_file.build(file, Path("m.yaml"))
    assert len(model.bodies.mass) == 3 and model.bodies.held[2].all()


@pytest.mark.parametrize(
    "line, sentence",
    [
        (GEARS % "multiplier: 0.3", r"m.yaml:6: joint rack \(prismatic, .*, row 6 of 6: dC/dt is"),
        (GEARS % "multiplier: 0", "m.yaml:6: joint rack: mimic is axle, but the multiplier is 0"),
        (
            GEARS.replace("mimic: axle, %s", "multiplier: 2"),
            "rack.multiplier has no meaning for a",
        ),
        (
            GEARS.replace("type: prismatic", "type: plane") % "multiplier: 1",
            "rack.mimic has no mea",
        ),
        (
            GEARS.replace("mimic: axle", "mimic: axles") % "multiplier: 1",
            "mimic is 'axles'; known",
        ),
    ],
)
def test_a_joint_that_cannot_mimic_is_named_with_its_line(read, line, sentence):
    with pytest.raises(ValueError, match=sentence):
        model_file.build(read(line), Path("m.yaml"))


def test_the_inertia_of_a_capsule_is_that_of_its_points(read):
    """Against a sum over a fine grid."""
    body = read("bodies: {a: {shape: capsule, radius: 0.1, length: 0.3, mass: 2}}").scene.bodies[
        "a"
    ]
    x = np.linspace(-0.25, 0.25, 201)
    X, Y, Z = np.meshgrid(x[50:151], x[50:151], x)
    inside = X**2 + Y**2 + np.maximum(np.abs(Z) - 0.15, 0.0) ** 2 <= 0.01
    m = 2.0 / inside.sum()
    expected = [m * (A**2 + B**2)[inside].sum() for A, B in ((Y, Z), (X, Z), (X, Y))]
    assert body.inertia == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "bodies: {a: {shape: box, size: [1, 2, 3], mass: -1}}",
            "m.yaml:1: bodies.a.mass is -1 kg; it must be a finite number > 0",
        ),
        (
            "bodies:\n  a:\n    shape: ball\n",
            "m.yaml:3: bodies.a.shape is 'ball'; it must be one of sphere, box",
        ),
        ("bodies: {a: {mass: 1}}", "m.yaml:1: bodies.a has no shape; write sphere, box"),
        ("bodies: {a: {shape: sphere, mass: 1}}", "bodies.a has no radius; a sphere needs it"),
        (
            "bodies: {a: {shape: none, mass: 1}}",
            "bodies.a has no inertia; a body without a shape needs it",
        ),
        (BOX + "geoms: {f: {shape: plane, normal: [0, 1]}}", r"normal is \[0, 1\]; it must be a"),
        (
            "bodies: {a: {shape: sphere, radius: 1}}",
            "bodies.a has neither mass nor density; give one",
        ),
        (
            "bodies: {a: {shape: sphere, radius: 1, mass: 1, density: 1}}",
            "bodies.a has both mass and density",
        ),
        (
            "bodies: {a: {shape: sphere, radius: 1, length: 1, mass: 1}}",
            "bodies.a.length has no meaning for a sphere",
        ),
        (
            "bodies: {a: {shape: sphere, radus: 1}}",
            "bodies.a.radus is not known; did you mean radius?",
        ),
        (
            "bodies: {a: {shape: box, size: [1, 2], mass: 1}}",
            r"bodies.a.size is \[1, 2\] m; it must be a list of 3",
        ),
        (
            BOX.replace("0.2", "0"),
            r"m.yaml:1: bodies.crate.size is .* m; it must be a list of 3 finite numbers > 0",
        ),
        (
            "bodies: {a: {shape: sphere, radius: 1e200, density: 1}}",
            "m.yaml:1: bodies.a: the mass of a sphere is inf kg",
        ),
        (
            "bodies: {a: {shape: rod, from: [0, 0, 0], mass: 1}}",
            "bodies.a has no to; give both ends",
        ),
        (
            "bodies: {a: {shape: rod, from: [0, 0, 0], to: [0, 0, 0], mass: 1}}",
            "from and to are the same point",
        ),
        (
            "bodies: {a: {shape: rod, from: [0, 0, 0], to: [0, 0, 1], length: 1, mass: 1}}",
            "a.length follows from its ends",
        ),
        (BOX.replace("2.0", "2, orientation: [1, 1, 0, 0]"), "its norm is 1.414 and must be 1"),
        (BOX.replace("2.0", "2, rpy: [0, 1e30, 0]"), "m.yaml:1: bodies.crate.rpy: v = .*too long"),
        (
            BOX.replace("2.0", "2, orientation: [1, 0, 0, 0], rpy: [0, 0, 0]"),
            "has both rpy and orientation",
        ),
        ("bodies: 3", "m.yaml:1: bodies has no parts; write bodies: {NAME: {...}}"),
        ("bodies: {a: 3}", "m.yaml:1: bodies.a has no parts"),
        (BOX + "contacts: {c: {}}", "m.yaml:2: contacts.c has no parts"),
        (BOX + "colliders: {}", "m.yaml:2: colliders is not known; list what touches: contacts"),
        (
            BOX + "colliders: {friction: 1}",
            "m.yaml:2: colliders is not known; list what touches: contacts: {NAME",
        ),
        (BOX + "whole_steps: true", "m.yaml:2: whole_steps is not known; list what touches"),
        (
            BOX.replace("2.0", "2.0, friction: 0.5"),
            "m.yaml:1: bodies.crate.friction is a contact's; list what touches: contacts",
        ),
        (
            BOX + "geoms: {g: {shape: plane, restitution: 0.5}}",
            "m.yaml:2: geoms.g.restitution is a contact's; list what touches: contacts",
        ),
        (
            BOX.replace("size", "from: [0, 0, 0], to: [0, 0, 1], size"),
            "m.yaml:1: bodies.crate.from has no meaning for a box; leave it out",
        ),
        (BOX + "duration: {}", "m.yaml:2: duration is {}; it must be a finite number > 0"),
        (BOX.replace("2.0", "{}"), "m.yaml:1: bodies.crate.mass is {}; it must be a finite"),
        (
            BOX + "joints: {j: {between: [crate, world]}}",
            "m.yaml:2: joints.j has no type; write one of anchor",
        ),
        (BOX + "joints: {j: {type: hinge}}", "joints.j has no between"),
        (
            BOX + "joints: {j: {type: hinge, between: [crate, world]}}",
            "joints.j has no axis; a joint of type hinge needs it",
        ),
        (
            BOX + "joints: {j: {type: ball, between: [crate, world], axis: [1, 0, 0]}}",
            "joints.j.axis has no meaning for a joint",
        ),
        (
            BOX + "joints: {j: {type: ball, between: [crate]}}",
            r"joints.j.between is \['crate'\]; it must be a list of 2",
        ),
        (
            BOX + "geoms: {g: {shape: plane, normal: [0, 0, 0]}}",
            "m.yaml:2: geoms.g.normal is zero",
        ),
        (
            BOX + "geoms: {g: {shape: plane, size: [1, 1, 1]}}",
            "geoms.g.size has no meaning for a plane",
        ),
        (BOX + "geoms: {g: {shape: sphere}}", "geoms.g has no radius; a sphere needs it"),
        (
            BOX + "springs: {s: {between: [crate, world]}}",
            "m.yaml:2: springs.s has no stiffness; write it in N/m",
        ),
        (
            BOX + "springs: {s: {stiffness: 1}}",
            "springs.s has no between; write .*, or hinge: NAME",
        ),
        (
            BOX + "springs: {s: {stiffness: 1, hinge: h, length: 1}}",
            "springs.s.length has no meaning for a spring at a hinge",
        ),
        (
            BOX + "springs: {s: {stiffness: -1, hinge: h}}",
            "springs.s.stiffness is -1; it must be a finite number >= 0",
        ),
        (
            BOX + "impact_law: hertz",
            "impact_law is 'hertz'; it must be one of bounded_newton, newton, poisson",
        ),
        (
            BOX + "geoms: {crate: {shape: point}}",
            "m.yaml:2: there are two geom definitions called crate",
        ),
        (BOX + "contacts: {c: {friction: 1}}", "contacts.c has no between"),
        (
            BOX + "contacts: {c: {between: [crate, crate], friction: -1}}",
            "contacts.c.friction is -1; it must be",
        ),
        (
            BOX + "contacts: {c: {between: [crate, crate], restitution: 2}}",
            "must be a finite number >= 0 and <= 1",
        ),
        (BOX + "gravty: [0, 0, 1]", "m.yaml:2: gravty is not known; did you mean gravity?"),
        (BOX + "positions: {j: 1}", "m.yaml:2: positions and rates are those of a URDF's joints"),
        ("/**:\n  ros__parameters:\n    rod.mass: 1\n", "m.yaml:3: a model file has no sections"),
        (BOX + "step: 0", "m.yaml:2: step is 0 s; it must be a finite number > 0"),
        (BOX + BOX, "m.yaml:2: bodies is given twice"),
        ("- a\n- b\n", "m.yaml:1: the file holds no parameters"),
        ("step: &h 1e-3\nevery: *h", "m.yaml:2: broken YAML: a model file has no aliases: write"),
    ],
)
def test_what_a_file_cannot_say_is_named_with_its_line(read, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(text)


def test_a_wrong_geom_of_a_contact_is_named_with_its_line(read):
    path = model_file.Path("m.yaml")
    file = read(BOX + "contacts: {c: {between: [crate, floor]}}")
    with pytest.raises(ValueError, match="m.yaml:2: contact c: geom is 'floor'; known are crate"):
        model_file.build(file, path)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("geoms:\n  g:\n    shape: point\n    body: crat\n", "m.yaml:5: geom g: body is 'crat'; "),
        ("joints: {j: {type: ball, between: [crate, cart]}}", "m.yaml:2: joint j: body is 'cart'"),
        (
            "springs:\n  s:\n    stiffness: 1.0\n    between: [crate, world]",
            "m.yaml:5: spring s: end",
        ),
        ("contacts: {c: {between: [crate, crate]}}", "m.yaml:2: contact c: both geoms belong to"),
        ("springs: {s: {stiffness: 1.0, hinge: door}}", "m.yaml:2: spring s: hinge is 'door'; "),
        (
            "joints:\n  j:\n    type: ball\n    between: [crate, world]\n    point: [0, 0, 0]\n"
            "    point_a: [0, 0, 0]\n",
            "m.yaml:5: joint j: give point, or point_a and point_b",
        ),
    ],
)
def test_what_the_scene_refuses_of_a_part_is_named_with_its_line(read, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        model_file.build(read(BOX + text), model_file.Path("m.yaml"))


def test_a_name_that_cannot_be_is_refused_with_its_line(read):
    """In 0.0.1 the sentence had the file alone."""
    with pytest.raises(ValueError, match="m.yaml:3: the name of a geom is 'a b'; it must have"):
        read(BOX + "geoms:\n  a b: {shape: plane}\n")


def test_groups_may_be_empty(read):
    assert read(BOX + "joints: {}\ncontacts: {}\n").scene.contacts == {}


@pytest.mark.parametrize(
    "stiffness, length, sentence",
    [
        ("1e300", "1e99", "m.yaml:1: body crate: its state is not finite: masses, sizes, springs"),
        ("1", "1e160", "m.yaml: the energy is inf J: masses, sizes, springs"),
    ],
)
def test_a_start_that_is_not_finite_is_refused(read, stiffness, length, sentence):
    spring = f"between: [crate, world], end: [0, 0, 1], stiffness: {stiffness}, length: {length}"
    with pytest.raises(ValueError, match=sentence):
        model_file.build(read(BOX + f"springs: {{s: {{{spring}}}}}"), model_file.Path("m.yaml"))


def test_joints_that_contradict_each_other_are_named(read):
    """A bar of 1 m between two anchors 1.5 m apart, which `close` cannot close."""
    file = read(
        "close: true\nbodies: {bar: {shape: rod, from: [0, 0, 0], to: [1, 0, 0], mass: 1}}\n"
        "joints:\n  left: {type: anchor, between: [bar, world], point: [0, 0, 0]}\n"
        "  right: {type: anchor, between: [bar, world], point_a: [0, 0, 0.5], point_b: [1.5, 0, "
        "0]}\n"
    )
    with pytest.raises(ValueError, match="joint (left|right) .*the joints contradict each other"):
        model_file.build(file, model_file.Path("m.yaml"))


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("robot.xml", "--model is robot.xml; its name must end in .yaml, .yml, .urdf; "),
        ("r.urdf.xacro", "expand a .xacro first: xacro r.urdf.xacro > expanded.urdf"),
    ],
)
def test_a_file_of_another_kind_is_not_read_as_yaml(tmp_path, monkeypatch, name, sentence):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("<robot/>")
    with pytest.raises(ValueError, match=sentence):
        model_file.find(name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "body, point, sentence",
    [
        ("shape: rod, from: [0, 0, 0], to: [0, 0, 1e300]", "[0, 0, 0]", "m.yaml:2: .*finite"),
        ("shape: sphere, radius: 1e-154", "[0, 0, 1]", "m.yaml: the equations of the joints are"),
        ("shape: sphere, radius: 1", "[1e154, 0, 0]", "m.yaml: the equations of the joints are"),
    ],
)
def test_numbers_beyond_numbers_are_a_sentence_and_nothing_else(
    read, capfd, body, point, sentence
):
    """LAPACK printed a message of its own, NumPy a warning."""
    text = (
        f"close: true\nbodies: {{a: {{{body}, mass: 1, velocity: [1, 0, 0]}}}}\n"
        f"joints: {{j: {{type: ball, between: [a, world], point: {point}}}}}\n"
    )
    with pytest.raises(ValueError, match=sentence):
        model_file.build(read(text), Path("m.yaml"))
    assert capfd.readouterr() == ("", "")
