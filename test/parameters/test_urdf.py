"""URDFs: kinematics against hand calculation and MuJoCo, lumped links, and what is refused."""

import re

import numpy as np
import pytest

from rbdyn_ros import optional
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.parameters import model_file, urdf

pytest.importorskip(
    "urdf_parser_py", reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'"
)
INERTIAL = (
    '<inertial><origin xyz="0.1 0.02 -0.05" rpy="0.3 -0.2 0.5"/><mass value="{m}"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial>'
)
LINKS = "".join(
    f'<link name="{name}">{INERTIAL.format(m=m)}</link>'
    for name, m in (("a", 1.5), ("b", 0.7), ("c", 0.4))
)
JOINTS = (
    '<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 '
    '0.5" rpy="0.2 0 0.1"/>'
    '<axis xyz="0 1 0.3"/><limit effort="1" velocity="1" lower="-1" upper="1"/><dynamics '
    'damping="0.1"/></joint>'
    '<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0.3 0 0" '
    'rpy="0 0.4 0"/>'
    '<axis xyz="1 0 0.2"/><limit effort="1" velocity="1"/><dynamics damping="4.0" '
    'friction="0.5"/></joint>'
    '<joint name="j3" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0.1 0.2 '
    '0"/><axis xyz="0 0 1"/></joint>'
)
ROBOT = f'<robot name="three"><link name="base"/>{LINKS}{JOINTS}</robot>'
BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
POSITIONS = {"j1": 0.4, "j2": -0.1, "j3": 1.1}
RATES = {"j1": 1.2, "j2": 0.3, "j3": -2.0}


@pytest.fixture
def read(tmp_path):
    def reading(text: str, **starts):
        path = tmp_path / "r.urdf"
        path.write_text(text)
        given = {
            word: {name: (value, "m.yaml:7") for name, value in start.items()}
            for word, start in starts.items()
        }
        return urdf.read(path, **given)

    return reading


def test_motion_of_a_chain_is_that_of_mujoco(read):
    """Places, velocities and accelerations of a chain with skewed axes and inertias, damped."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco")
    robot = read(ROBOT, positions=POSITIONS, rates=RATES)
    model = scene.build(scene.Scene(robot.bodies, robot.joints, springs=robot.springs))
    compiler = (
        '<mujoco><compiler balanceinertia="false" '
        'discardvisual="false" fusestatic="false"/>'
        "</mujoco>"
    )
    peer = mujoco.MjModel.from_xml_string(
        ROBOT.replace('<link name="base"/>', compiler + '<link name="base"/>')
    )
    peer.opt.gravity[:], peer.dof_frictionloss[:] = (0.0, 0.0, -9.81), 0.0
    assert peer.dof_damping.tolist() == [0.1, 4.0, 0.0]
    peer.jnt_limited[:] = 0
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:] = list(POSITIONS.values()), list(RATES.values())
    mujoco.mj_forward(peer, data)
    q, v = models.state(model)
    h = 1e-5
    assert models.advance(model, h, 2) == 2
    faster = (models.state(model)[1] - v) / (2.0 * h)
    mujoco.mj_rnePostConstraint(peer, data)
    for i, name in enumerate(robot.bodies):
        body = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, name)
        assert q[i, :3] == pytest.approx(data.xipos[body], abs=1e-12)
        assert robot.bodies[name].mass == pytest.approx(peer.body_mass[body])
        moving = np.zeros(6)
        mujoco.mj_objectVelocity(peer, data, mujoco.mjtObj.mjOBJ_BODY, body, moving, 0)
        assert v[i, :3] == pytest.approx(moving[3:], abs=1e-12)
        assert quaternion.rotate(q[i, 3:], v[i, 3:]) == pytest.approx(moving[:3], abs=1e-12)
        mujoco.mj_objectAcceleration(peer, data, mujoco.mjtObj.mjOBJ_BODY, body, moving, 0)
        assert faster[i, :3] == pytest.approx(moving[3:] + peer.opt.gravity, abs=2e-3)


def test_what_has_no_effect_is_noted(read):
    notes = read(ROBOT).notes
    assert "the limits of joint j1 are no stops: it moves past them" in notes
    assert "the limits of joint j2 are no stops: it moves past them" in notes  # 0 to 0, left out
    assert "the dry friction of joint j2 has no effect" in notes and len(notes) == 3


@pytest.mark.parametrize(
    "word, other, sentence",
    [
        ("<dynamics damping", "<dynamic damping", 'Unknown tag "dynamic" in .*: it has no effect'),
        ("dynamics damping", "dynamics dampng", 'Unknown attribute "dampng" .*: it has no effect'),
        ("<inertial>", INERTIAL.format(m=1) + "<inertial>", "inertial: the first counts"),
    ],
)
def test_what_is_not_read_is_noted(read, word, other, sentence):
    """A wrong name or a second element would otherwise be lost without a word."""
    notes = read(ROBOT.replace(word, other, 1)).notes
    assert any(re.search(f"^r.urdf: .*{sentence}$", note) for note in notes), notes


def test_a_damped_slide_and_hinge_slow_down_as_the_closed_form_says(read):
    """v exp(-c t / m) and w exp(-c t / J), level, so that no weight acts along either."""
    bar = '<mass value="2"/><inertia ixx="1" iyy="1" izz="0.5" ixy="0" ixz="0" iyz="0"/>'
    joint = (
        '<joint name="{n}" type="{kind}"><parent link="{a}"/><child link="{b}"/>'
        '<axis xyz="{axis}"/><dynamics damping="{c}"/></joint>'
    )
    slide = joint.format(n="x", kind="prismatic", a="base", b="cart", axis="3 4 0", c=3)
    turn = joint.format(n="z", kind="continuous", a="cart", b="disk", axis="0 0 1", c=0.4)
    links = "".join(
        f'<link name="{n}"><inertial>{bar}</inertial></link>' for n in ("cart", "disk")
    )
    text = f'<robot name="r"><link name="base"/>{links}{slide}{turn}</robot>'
    robot = read(text, rates={"x": 5.0, "z": 8.0})
    model = scene.build(scene.Scene(robot.bodies, robot.joints, springs=robot.springs))
    assert models.advance(model, 1e-3, 1000) == 1000
    _, v = models.state(model)
    assert v[0, :2] == pytest.approx(5.0 * np.exp(-3.0 / 4.0) * np.array((0.6, 0.8)), rel=1e-6)
    assert v[1, 5] == pytest.approx(8.0 * np.exp(-0.4 / 0.5), rel=1e-6)
    assert robot.notes == ()


def test_links_that_are_fixed_to_each_other_are_one_body(read):
    """Two bars of a cross: mass, center and inertia by hand; the massless frame beside them adds
    nothing.
    """
    bar = (
        '<inertial><mass value="{m}"/><inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" '
        'iyz="0"/></inertial>'
    )
    fixed = (
        '<joint name="{n}" type="fixed"><parent '
        'link="{a}"/><child link="{b}"/><origin xyz="{x} '
        '0 0"/></joint>'
    )
    sphere = (
        '<collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.2"/></geometry></collision>'
    )
    text = (
        f'<robot name="r"><link name="world"/><link name="a">{bar.format(m=1)}</link><link '
        f'name="b">{bar.format(m=3)}{sphere}</link>'
        '<link name="frame"/><joint name="free" type="floating"><parent link="world"/><child '
        'link="a"/></joint>'
        + fixed.format(n="f", a="a", b="b", x=1)
        + fixed.format(n="g", a="b", b="frame", x=5)
        + "</robot>"
    )
    robot = read(text)
    assert list(robot.bodies) == ["a"] and not robot.joints
    body = robot.bodies["a"]
    assert body.mass == 4.0 and body.position == pytest.approx((0.75, 0, 0))
    assert body.inertia == pytest.approx((0.2, 0.4 + 0.75, 0.6 + 0.75))
    geom = robot.geoms["b"]
    assert (geom.kind, geom.body, geom.size) == (
        "sphere",
        "a",
        (0.2,),
    ) and geom.position == pytest.approx((0.25, 0, 0.1))


def test_a_fixed_joint_needs_no_axis_and_a_link_without_mass_adds_its_inertia(read):
    """Exporters write the axis 0 0 0; Pinocchio adds such an inertia, too."""
    tip = (
        '<link name="tip"><inertial><mass value="0"/><inertia ixx="0.01" iyy="0.02" izz="0.03" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="weld" type="fixed"><parent '
        'link="c"/><child link="tip"/><axis xyz="0 0 0"/></joint>'
    )
    alone = read(ROBOT).bodies["c"]
    body = read(ROBOT.replace("<link name=", tip + "<link name=", 1)).bodies["c"]
    assert body.mass == alone.mass and body.position == pytest.approx(alone.position)
    assert sum(body.inertia) == pytest.approx(sum(alone.inertia) + 0.06)


def test_what_is_for_drawing_and_drives_is_not_read(read):
    """Textures without a file and transmissions of other kinds, which the parser refuses."""
    drawn = (
        '<visual><geometry><box size="1"/></geometry><material name="m"><texture/></material>'
        "</visual>"
    )
    text = ROBOT.replace("<inertial>", f"{drawn}<inertial>").replace(
        "</robot>", '<transmission type="x"/><gazebo><a/></gazebo></robot>'
    )
    assert read(text).bodies == read(ROBOT).bodies


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            ROBOT.replace('value="0.4"', 'value="-0.4"'),
            "r.urdf: the mass of link c is -0.4 kg; it must be >= 0",
        ),
        (
            ROBOT.replace('ixx="0.02"', 'ixx="-0.02"', 1),
            "the inertia of link a has the principal moments .* kg m.2; each must be >= 0",
        ),
        (
            ROBOT.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"').replace(
                "<joint", '<xacro:include filename="arm.xacro"/><joint', 1
            ),
            "r.urdf: it has tags of xacro; expand it first: xacro r.urdf > expanded.urdf",
        ),
        ("", "r.urdf: this is no URDF: "),
        ("<robot", "r.urdf: this is no URDF: "),
        ("<sdf/>", "r.urdf: this is no URDF: "),
        ('<robot name="r"/>', "r.urdf: a URDF needs links"),
        (
            ROBOT.replace('<child link="b"/>', '<child link="x"/>'),
            "joint j2 names the link x, which is not there",
        ),
        (
            ROBOT.replace('<child link="c"/>', '<child link="b"/>'),
            "link b is the child of joints j2 and j3; keep one",
        ),
        (
            ROBOT.replace('<parent link="base"/>', '<parent link="c"/>'),
            "the joints of a, b, c go round in a circle",
        ),
        (
            ROBOT.replace('<link name="base"/>', '<link name="base"/><link name="d"/>'),
            "there are 2 links without a parent",
        ),
        (
            ROBOT.replace('xyz="0 0 1"', 'xyz="0 0 0"'),
            "the axis of joint j3 is .* must be finite and not zero",
        ),
        (ROBOT.replace(INERTIAL.format(m=0.4), ""), "link c moves and has no mass"),
        (
            ROBOT.replace('"b"', '"world"'),
            "r.urdf: joint j2 moves the link world; world is the ground, the root of a URDF",
        ),
        (
            ROBOT.replace('name="j2"', 'name="j1"'),
            "r.urdf: there are 2 joints called j1; rename one",
        ),
        (
            ROBOT.replace('value="0.7"', 'value="${m}"'),
            "r.urdf: it has expressions of xacro; expand it first: xacro r.urdf > expanded",
        ),
        (
            ROBOT.replace('value="0.7"', 'value="0,7"'),
            "link b: value of its <mass> is '0,7'; it must be a finite number",
        ),
        (
            ROBOT.replace('<axis xyz="0 0 1"/>', '<axis xzy="0 0 1"/>'),
            "joint j3: xyz of its <axis> is missing; it must be 3 finite numbers",
        ),
        (
            ROBOT.replace('xyz="0.3 0 0"', 'xyz="nan 0 0"'),
            "joint j2: xyz of its <origin> is 'nan 0 0'; it must be 3 finite numbers",
        ),
        (
            ROBOT.replace('value="0.7"', 'value="inf"'),
            "link b: value of its <mass> is 'inf'; it must be a finite number",
        ),
        (
            ROBOT.replace('value="0.7"', 'value="1_0"'),
            "link b: value of its <mass> is '1_0'; it must be a finite number",
        ),
        (
            ROBOT.replace('<link name="a">', f'<link name="a">{2 * BALL}')
            .replace('"b"', '"a_1"')
            .replace('<link name="a_1">', f'<link name="a_1">{BALL}'),
            "link a_1: two collision shapes are called a_1; rename the link",
        ),
    ],
)
def test_what_cannot_be_simulated_is_named(read, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(text)


def test_a_start_of_a_joint_that_is_not_there_is_named_with_its_line(read):
    with pytest.raises(
        ValueError, match="^m.yaml:7: j4 is no hinge or slide of r.urdf; known are j1, j2, j3"
    ):
        read(ROBOT, positions={"j4": 1.0})


def test_a_joint_whose_name_has_dots_is_named_with_its_line(tmp_path):
    (tmp_path / "r.urdf").write_text(ROBOT)
    path = tmp_path / "m.yaml"
    path.write_text("urdf: r.urdf\npositions: {j_0.0.1: 1.0}\n")
    with pytest.raises(ValueError, match="m.yaml:2: j_0.0.1 is no hinge or slide of r.urdf"):
        model_file.read(path)


def test_a_missing_library_is_said_with_the_way_to_get_it(read, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'urdf_parser_py'", name="urdf_parser_py")

    monkeypatch.setattr(optional, "import_module", missing)
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"--model r.urdf needs urdf_parser_py.*pip install 'rbdyn_ros\[urdf\]'"
    ):
        read(ROBOT)


def test_the_shipped_urdf_is_a_model():
    path = model_file.find("arm")
    assert model_file.build(model_file.read(path), path).names.bodies == (
        "carriage",
        "upper",
        "lower",
    )
