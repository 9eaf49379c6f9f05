"""URDFs as other programs write them: default namespaces, dots in names, inertias that are zero to
round-off, capsules, mimic joints; and contacts that overlap at the start.
"""

import csv

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from rbdyn_ros import __main__ as program
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.parameters import model_file, urdf

pytest.importorskip(
    "urdf_parser_py", reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'"
)
LINK = (
    '<link name="{name}"><inertial><origin xyz="0.05 0 -0.2" rpy="0 0 {yaw}"/><mass value="{m}"/>'
    '<inertia ixx="1e-3" iyy="1e-3" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
ARM = (
    '<robot name="arm"{space}><link name="base"/>'
    + LINK.format(name="{first}", yaw=0.4, m=0.5, izz="2e-4")
    + LINK.format(name="{second}", yaw=0.0, m=0.3, izz="{izz}")
    + '<joint name="{j1}" type="continuous"><parent link="base"/><child link="{first}"/>'
    '<axis xyz="0 1 0"/></joint>'
    '<joint name="{j2}" type="continuous"><parent link="{first}"/><child link="{second}"/>'
    '<origin xyz="0 0.1 -0.4"/><axis xyz="0.6 0.8 0"/></joint></robot>'
)
PLAIN = {"space": "", "first": "a", "second": "b", "j1": "j1", "j2": "j2", "izz": "2e-4"}
DIALECTS = {
    "default namespace": {"space": ' xmlns="http://example.org/robot"'},
    "namespaces": {"space": ' xmlns="http://a.org" xmlns:drake="http://drake.mit.edu"'},
    "dots": {"first": "link_1.0", "second": "link.2", "j1": "joint_1.0", "j2": "joint.2"},
    "thin rod": {"izz": "0"},
    "thin rod up to round-off": {"izz": "-5e-20"},
}


def written(folder, text, **more):
    """A model file beside the URDF of a text."""
    (folder / "r.urdf").write_text(text)
    lines = ["urdf: r.urdf", *(f"{key}: {value}" for key, value in more.items())]
    (folder / "m.yaml").write_text("\n".join(lines))
    return folder / "m.yaml"


def by_pinocchio(text, start, rates, duration):
    """The centers of mass of the links after a time, by Pinocchio and DOP853."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install pin")
    model = pin.buildModelFromXML(text)
    data = model.createData()
    turn = np.array(start)  # a continuous joint has the cosine and the sine of its angle

    def coordinates(angles):
        return np.ravel([(np.cos(angle), np.sin(angle)) for angle in angles])

    def rhs(_, y):
        return [*y[2:], *pin.aba(model, data, coordinates(y[:2]), y[2:], np.zeros(2))]

    end = solve_ivp(rhs, (0, duration), [*turn, *rates], "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    pin.forwardKinematics(model, data, coordinates(end[:2]))
    return [data.oMi[i].act(model.inertias[i].lever) for i in (1, 2)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_motion_of_each_dialect_is_that_of_pinocchio(dialect, tmp_path):
    given = {**PLAIN, **DIALECTS[dialect]}
    start = {given["j1"]: 0.4, given["j2"]: -0.7}
    rates = {given["j1"]: 1.0, given["j2"]: 2.0}
    path = written(tmp_path, ARM.format(**given), positions=start, rates=rates)
    path.write_text(path.read_text().replace("'", ""))
    model = model_file.build(model_file.read(path), path)
    assert models.advance(model, 0.002, 500, "kahan_li6") == 500
    plain = ARM.format(**{**PLAIN, "izz": given["izz"].replace("-5e-20", "0")})
    for at, expected in zip(models.state(model)[0], by_pinocchio(plain, (0.4, -0.7), (1, 2), 1)):
        np.testing.assert_allclose(at[:3], expected, atol=1e-7)


def test_a_thin_rod_swings_with_the_period_of_the_closed_form(tmp_path):
    """T = 4 sqrt(J / (m g l)) K(sin^2(a / 2)), of a rod that only turns about y; and it is said
    which moment of inertia its axis gets.
    """
    rod = LINK.format(name="rod", yaw=0, m=0.5, izz="-5e-20").replace('xyz="0.05', 'xyz="0')
    text = (
        f'<robot name="r"><link name="base"/>{rod}<joint name="j" type="continuous"><parent '
        'link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    path = written(tmp_path, text, positions="{j: 1.0}")
    period = 4.0 * np.sqrt((1e-3 + 0.5 * 0.04) / (0.5 * 9.81 * 0.2)) * ellipk(np.sin(0.5) ** 2)
    file = model_file.read(path)
    model = model_file.build(file, path)
    models.advance(model, period / 1000, 1000, "kahan_li6")
    x = models.state(model)[0][0, :3]
    np.testing.assert_allclose(x, (-0.2 * np.sin(1.0), 0.0, -0.2 * np.cos(1.0)), atol=1e-9)
    assert file.notes == (
        "the body rod has no moment of inertia about its axis z; it gets 1e-08 kg m^2",
    )


@pytest.mark.parametrize("ixx, iyy, izz", [("0", "0", "0"), ("0", "0", "1e-3")])
def test_other_inertias_that_are_zero_are_refused(ixx, iyy, izz, tmp_path):
    text = ARM.format(**{**PLAIN, "izz": izz}).replace(
        'ixx="1e-3" iyy="1e-3"', f'ixx="{ixx}" iyy="{iyy}"'
    )
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match="the inertia is .* kg m.2; each must be > 0"):
        model_file.build(model_file.read(path), path)


CAPSULE = (
    '<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="world"/><link name="pill">'
    '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial><collision><geometry><{tag} radius="0.1" length="0.4"/></geometry></collision>'
    '</link><joint name="free" type="floating"><parent link="world"/><child link="pill"/>'
    '<origin xyz="0 0 {z}"/></joint></robot>'
)
ON_GROUND = {
    "geoms": "{ground: {shape: plane}}",
    "contacts": "{lower: {between: [pill, ground], restitution: 1.0}}",
}


@pytest.mark.parametrize("tag", ["capsule", "drake:capsule"])
def test_a_capsule_bounces_at_half_its_length_and_its_radius(tag, tmp_path):
    """Dropped upright by 0.1 m it is back after 2 sqrt(2 g 0.1) / g."""
    path = written(tmp_path, CAPSULE.format(tag=tag, z=0.4), **ON_GROUND)
    file = model_file.read(path)
    assert file.notes == () and file.scene.geoms["pill"].kind == "capsule"
    model = model_file.build(file, path)
    period = 2.0 * np.sqrt(2.0 * 0.1 / 9.81)
    lowest = 1.0
    for _ in range(100):
        assert models.advance(model, period / 1000, 10) == 10
        lowest = min(lowest, models.state(model)[0][0, 2])
    assert lowest == pytest.approx(0.3, abs=1e-3)
    assert models.state(model)[0][0, 2] == pytest.approx(0.4, abs=1e-6)


def test_a_capsule_without_a_length_is_named(tmp_path):
    text = CAPSULE.format(tag="drake:capsule", z=1).replace(' length="0.4"', "")
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match="link pill: length of its <capsule> is missing"):
        model_file.read(path)


def test_an_overlap_at_the_start_is_allowed_by_an_option_of_the_model(tmp_path):
    path = written(tmp_path, CAPSULE.format(tag="capsule", z=0.2995), **ON_GROUND)
    with pytest.raises(ValueError, match="contact lower overlaps by 0.0005 m .*or set overlap"):
        model_file.build(model_file.read(path), path)
    path = written(tmp_path, CAPSULE.format(tag="capsule", z=0.2995), **ON_GROUND, overlap=1e-3)
    model = model_file.build(model_file.read(path), path)
    assert models.advance(model, 1e-3, 100) == 100
    assert models.state(model)[0][0, 2] > 0.3 - 1e-3
    written(tmp_path, CAPSULE.format(tag="capsule", z=0.2995), overlap=-1.0)
    with pytest.raises(ValueError, match="m.yaml:2: overlap is -1.0 m; it must be .* >= 0"):
        model_file.read(path)


def mimicking(text):
    """ARM with a second joint that has a <mimic>."""
    axis = '<axis xyz="0.6 0.8 0"/>'
    return ARM.format(**PLAIN).replace(axis, text + axis)


FOLLOWING = mimicking('<mimic joint="j1" multiplier="-1.5" offset="0.3"/>')


def test_a_joint_follows_the_one_that_it_mimics_as_by_pinocchio(tmp_path):
    """q = (s, 0.3 - 1.5 s) in the equations of the free arm: G^T M G s'' = -G^T n(q, q')."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install pin")
    path = written(tmp_path, FOLLOWING, positions="{j1: 0.4}", rates="{j1: 1.0}")
    file = model_file.read(path)
    assert file.notes == () and file.positions == {"j1": 0.4, "j2": pytest.approx(-0.3)}
    model = model_file.build(file, path)
    assert models.advance(model, 0.002, 500, "kahan_li6") == 500
    free = pin.buildModelFromXML(ARM.format(**PLAIN))
    data, G = free.createData(), np.array([1.0, -1.5])

    def places(s):
        return np.ravel([(np.cos(angle), np.sin(angle)) for angle in (s, 0.3 - 1.5 * s)])

    def rhs(_, y):
        mass = pin.crba(free, data, places(y[0]))
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.rnea(free, data, places(y[0]), y[1] * G, np.zeros(2))
        return [y[1], -(G @ bias) / (G @ mass @ G)]

    s = solve_ivp(rhs, (0, 1), [0.4, 1.0], "DOP853", rtol=1e-11, atol=1e-12).y[0, -1]
    pin.forwardKinematics(free, data, places(s))
    for i, at in enumerate(models.state(model)[0], 1):
        expected = data.oMi[i].act(free.inertias[i].lever)
        np.testing.assert_allclose(at[:3], expected, atol=1e-7)


def test_a_urdf_with_a_mimic_joint_runs_and_its_table_has_the_ratio(tmp_path, capsys):
    (tmp_path / "r.urdf").write_text(FOLLOWING)
    words = ["--model", str(tmp_path / "r.urdf"), "--duration", "0.5", "--every", "0.1"]
    assert program.main(["simulate", *words, "--out", str(tmp_path / "run.csv")]) == 0
    assert "has no effect" not in capsys.readouterr().out
    with open(tmp_path / "run.csv") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert rows[0]["j2.position"] == 0.3 and abs(rows[-1]["j1.rate"]) > 0.05
    for row in rows:
        assert row["j2.position"] == pytest.approx(0.3 - 1.5 * row["j1.position"], abs=1e-12)
        assert row["j2.rate"] == pytest.approx(-1.5 * row["j1.rate"], abs=1e-11)
        assert row["opening"] < 1e-12


def test_a_mimic_joint_moves_by_itself_where_that_is_asked_for(tmp_path):
    file = model_file.read(written(tmp_path, FOLLOWING, mimic="ignore"))
    assert file.notes == ("joint j2 moves by itself: its <mimic> has no effect",)
    plain = urdf.read(written(tmp_path, ARM.format(**PLAIN)).with_name("r.urdf"))
    assert file.scene == scene.Scene(plain.bodies, plain.joints, springs=plain.springs)
    with pytest.raises(ValueError, match="m.yaml:2: mimic is 'refuse'; it must be follow or ign"):
        model_file.read(written(tmp_path, FOLLOWING, mimic="refuse"))


@pytest.mark.parametrize(
    "mimic, more, sentence",
    [
        ("j9", {}, "r.urdf: joint j2 mimics j9, no hinge or slide; known are j1"),
        ("j2", {}, "r.urdf: joint j2 mimics j2, no hinge or slide; known are j1"),
        ('j1" multiplier="0', {}, "joint j2: the multiplier of its <mimic> is 0; make it fixed"),
        ('j1" offset="x', {}, "joint j2: offset of its <mimic> is 'x'; it must be a finite numb"),
        ("j1", {"positions": "{j2: 1.0}"}, "m.yaml:2: j2 has no start of its own: it mimics j1"),
        ("j1", {"rates": "{j2: 1.0}"}, "m.yaml:2: j2 has no start of its own: it mimics j1"),
    ],
)
def test_a_mimic_that_no_joint_can_follow_is_named(mimic, more, sentence, tmp_path):
    path = written(tmp_path, mimicking(f'<mimic joint="{mimic}"/>'), **more)
    with pytest.raises(ValueError, match=sentence):
        model_file.read(path)


def test_joints_that_mimic_each_other_in_a_circle_are_named(tmp_path):
    text = mimicking('<mimic joint="j1"/>').replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="j2"/>'
    )
    with pytest.raises(ValueError, match="the joints j2, j1 mimic each other in a circle"):
        model_file.read(written(tmp_path, text))


def test_names_with_dots_are_columns_of_the_table(tmp_path, capsys):
    given = {**PLAIN, **DIALECTS["dots"], **DIALECTS["default namespace"]}
    (tmp_path / "r.urdf").write_text(ARM.format(**given))
    words = ["--model", str(tmp_path / "r.urdf"), "--duration", "0.1"]
    assert program.main(["simulate", *words, "--out", str(tmp_path / "run.csv")]) == 0
    with open(tmp_path / "run.csv") as file:
        rows = list(csv.DictReader(file))
    assert {"link_1.0.x", "link.2.z", "joint_1.0.fx"} <= set(rows[0])
