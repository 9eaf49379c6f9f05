"""`python -m rbdyn_ros simulate --model`: from a file of bodies to the tables."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.bodies import runs
from rbdyn_ros.parameters import model_file
from rbdyn_ros.parameters.shipped import config

ROOT = Path(__file__).parents[2]
BALL = """\
bodies: {ball: {shape: sphere, radius: 0.1, mass: 1.0, position: [0, 0, 1.1]}}
geoms: {floor: {shape: plane}}
contacts: {bounce: {between: [ball, floor], restitution: 0.5}}
"""


def table(path="run.csv"):
    """The columns of a file, with their names as they stand there."""
    names = Path(path).read_text().split("\n")[0].split(",")
    return dict(zip(names, np.genfromtxt(path, delimiter=",", skip_header=1).T))


@pytest.mark.parametrize("name", model_file.names())
def test_every_shipped_model_keeps_its_energy_and_its_joints(simulate, name):
    """Contacts may take energy, never give it; all bodies move but those of a stack."""
    if name in ("arm", "rover"):
        pytest.importorskip(
            "urdf_parser_py",
            reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'",
        )
    code, out, err = simulate("--model", name, "--duration", "0.5", "--every", "0.01")
    rows = table()
    assert code == 0 and out.startswith("run.csv: 51 rows; 500 steps of 0.001 s in "), err
    described = json.loads(Path("run.csv-metadata.json").read_text())
    titles = {c["name"]: c["titles"] for c in described["tableSchema"]["columns"]}
    assert [*titles] == [*rows] and described["dc:title"]
    pure = {name for name, title in titles.items() if title == name}
    assert pure == {n for n in rows if n == "opening" or n.endswith((".qw", ".qx", ".qy", ".qz"))}
    assert titles["E"] == "E [J]" and titles["Lz"] == "Lz [kg m^2/s]"
    gain = rows["E"] - rows["E"][0] - rows["work"]
    assert gain.max() < 2e-3 and rows["opening"].max() < 1e-12
    if not model_file.read(model_file.find(name)).scene.contacts:
        moved = max(np.ptp(column) for word, column in rows.items() if word.endswith((".x", ".z")))
        assert gain.min() > -2e-3 and moved > 0.05


def test_a_composition_keeps_the_energy_better(simulate):
    drift = []
    for name in ("none", "suzuki4"):
        options = [
            "--model",
            "cart_double_pendulum",
            "--step",
            "0.005",
            "--every",
            "0.01",
            "--duration",
            "1",
        ]
        assert simulate(*options, "--composition", name)[0] == 0
        drift.append(np.ptp(table()["E"]))
    assert drift[1] < 0.05 * drift[0]


def test_list_names_every_shipped_model_with_its_title(capsys):
    pytest.importorskip(
        "urdf_parser_py", reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'"
    )
    assert main(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(model_file.names())
    assert any(line.endswith("Double pendulum on a cart") for line in lines)


def test_the_tables_of_a_bouncing_ball(simulate):
    """Momentum, impulses, energy and impacts fit together; npz has the same numbers."""
    Path("ball.yaml").write_text(BALL)
    options = ["--model", "ball.yaml", "--duration", "0.8", "--every", "0.05"]
    code, out, err = simulate(*options, "--events", "impacts.csv", "--picture", "ball.png")
    assert code == 0 and "1 impacts" in err and "ball.png: the motion and its energy" in err
    assert Path("ball.png").read_bytes().startswith(b"\x89PNG")
    rows = table()
    np.testing.assert_allclose(
        np.diff(rows["Pz"]), rows["bounce.Pn"][1:] - 9.81 * 0.05, atol=1e-12
    )
    assert rows["E"][-1] == pytest.approx(9.81 * (0.1 + 0.25), rel=1e-9)
    touched = rows["bounce.Pn"] > 0.0
    assert touched.sum() == 1 and np.isnan(rows["bounce.Cz"][~touched]).all()
    assert rows["bounce.Cz"][touched] == pytest.approx(0.0, abs=1e-9)
    impact = np.genfromtxt("impacts.csv", delimiter=",", names=True, dtype=None, encoding="ascii")
    assert (str(impact["contact"]), str(impact["bodies"])) == ("bounce", "ball on world")
    assert impact["u_n_plus"] == pytest.approx(-0.5 * impact["u_n_minus"])
    assert simulate(*options, out="run.npz")[0] == 0
    with np.load("run.npz") as file:
        assert set(file) == set(rows)
        for name in rows:
            np.testing.assert_array_equal(file[name], rows[name])


def test_the_impact_law_is_an_option_and_a_line_of_the_file(simulate):
    """A rod that comes down on its tip bounces higher by one law than by another."""
    text = BALL.replace(
        "shape: sphere, radius: 0.1",
        "shape: rod, length: 0.6, rpy: [0, 0.5, 0], velocity: [1, 0, 0]",
    )
    text = text.replace(
        "geoms: {", "geoms: {tip: {shape: point, body: ball, position: [0, 0, -0.3]}, "
    )
    text = text.replace("[ball, floor], rest", "[tip, floor], friction: 0.6, rest")
    Path("rod.yaml").write_text(text)
    Path("poisson.yaml").write_text("impact_law: poisson\n" + text)
    after = []
    for options in (["rod.yaml"], ["rod.yaml", "--impact-law", "poisson"], ["poisson.yaml"]):
        assert simulate("--model", *options, "--duration", "0.5", "--events", "i.csv")[0] == 0
        after.append(float(np.genfromtxt("i.csv", delimiter=",")[-1][-1]))
    assert after[1] == after[2] and abs(after[1] - after[0]) > 1e-3


@pytest.mark.parametrize("line", ["whole_steps: true\n", "colliders: {friction: 0.5}\n"])
def test_heaps_are_refused_and_contacts_named(simulate, line):
    Path("ball.yaml").write_text(line + BALL)
    code, _, err = simulate("--model", "ball.yaml")
    assert code == 2 and "ball.yaml:1: " in err and "contacts: {NAME: " in err


def test_the_reactions_carry_the_weight(simulate):
    """Of a door whose axis is upright: half of it at each hinge."""
    text = (ROOT / "config" / "models" / "door.yaml").read_text()
    Path("door.yaml").write_text(text.replace("[0.979, 0, -9.761]", "[0, 0, -9.81]"))
    assert simulate("--model", "door.yaml", "--duration", "0.1")[0] == 0
    rows = table()
    np.testing.assert_allclose(rows["upper.fz"][1:], 20.0 * 9.81 / 2.0, rtol=1e-9)
    np.testing.assert_allclose(rows["lower.fx"][1:] + rows["upper.fx"][1:], 0.0, atol=1e-9)


def test_a_step_that_fails_keeps_the_last_good_state_and_names_the_joint(simulate):
    """A rod whirls so fast that a step of 0.2 s cannot follow."""
    Path("fast.yaml").write_text(
        "bodies:\n"
        "  a: {shape: rod, from: [0, 0, 0], to: [1, 0, 0], mass: 1.0, velocity: [0, 0, -500], "
        "angular_velocity: [0, 1000, 0]}\n"
        "  b: {shape: rod, from: [1, 0, 0], to: [2, 0, 0], mass: 1.0, velocity: [0, 0, -1000]}\n"
        "joints:\n"
        "  hinge: {type: hinge, between: [a, world], point: [0, 0, 0], axis: [0, 1, 0]}\n"
        "  elbow: {type: ball, between: [b, a], point: [1, 0, 0]}\n"
    )
    code, out, err = simulate("--model", "fast.yaml", "--step", "0.2", "--duration", "2")
    assert code == 3 and "run.csv has the rows until then" in err and "take a smaller step" in err
    assert (
        "joint hinge (hinge, a on world)" in err
        or "joint elbow (ball, b on a)" in err
        or " turn of " in err
    )
    assert np.isfinite(list(table().values())).all()


def test_an_interruption_keeps_the_rows(simulate, monkeypatch):
    """Ctrl-C, received between two rows."""
    import signal

    Path("ball.yaml").write_text(BALL)
    advance, count = runs.models.advance, []

    def interrupted(*arguments):
        count.append(1)
        if len(count) == 10:
            signal.raise_signal(signal.SIGINT)
        return advance(*arguments)

    monkeypatch.setattr(runs.models, "advance", interrupted)
    code, out, err = simulate("--model", "ball.yaml", "--every", "0.01", "--duration", "1")
    assert (
        code == 128 + signal.SIGINT
        and "interrupted at t = 0.1 s; run.csv has the rows until then" in err
    )
    assert len(table()["t"]) == 11


@pytest.mark.parametrize(
    "options, sentence",
    [
        (
            ["--model", "newton_cradle"],
            f"which is not in {config('models')}; did you mean newtons_cradle? known are arm",
        ),
        (
            ["--model", "none.yaml"],
            "none.yaml: cannot read the model file: No such file or directory",
        ),
        (
            ["--model", "door", "--set", "rod.mass=1"],
            "--set is given with --model, but it is the pendulum's",
        ),
        (["--model", "door", "--controller", "lqr"], "--controller is given with --model"),
        (["--model", "door", "--step", "0"], "--step is 0 s; it must be a finite number > 0"),
        (["--model", "door", "--step", ""], "--step is null; it must be a finite number > 0"),
        (["--model", "door", "--duration", ""], "--duration is null; it must be a finite number"),
        (["--model", "door", "--every", ""], "--every is null; it must be a finite number > 0"),
        (["--model", "door", "--impact-law", ""], "--impact-law is ; it must be one of"),
        (["--model", "door", "--composition", ""], "it must be one of none, suzuki4"),
        (["--model", "door", "--controller", ""], "--controller is given with --model"),
        (["--model", ""], "--model is '', which is not in"),
        (["--duration", ""], "--duration is null; it must be a finite number >= 0"),
        (["--picture", ""], "--picture is .; it must end in .png, .svg or .pdf"),
        (["--model", "arm", "--duration", "1e-4"], "it must be at least the step, which is"),
        (
            ["--model", "door", "--duration", "-1"],
            "--duration is -1 s; it must be a finite number > 0",
        ),
        (
            ["--model", "door", "--duration", "0.5", "--every", "1"],
            "--duration is 0.5 s; it must be at least --every, which is 1 s",
        ),
        (
            ["--model", "door", "--every", "0.0015"],
            "--every is 0.0015 s; it must be a multiple of the step",
        ),
        (
            ["--model", "door", "--events", "e.csv"],
            "door.yaml has no contacts; write some below contacts:",
        ),
        (
            ["--model", "belt", "--events", "./run.csv"],
            "--events is run.csv, which is the file of --out, too; choose another",
        ),
        (["--events", "run.csv"], "--events is run.csv, which is the file of --out, too"),
        (
            ["--model", "door", "--picture", "e.txt"],
            "--picture is e.txt; it must end in .png, .svg or .pdf",
        ),
        (
            ["--model", "door", "--duration", "1e5"],
            "more than 100000000 numbers; take an --every of at least",
        ),
        (["--model", "door", "--composition", "suzuki"], "it must be one of none, suzuki4"),
        (
            ["--model", "newtons_cradle", "--composition", "suzuki4"],
            "it must be none, for it has contacts",
        ),
        (
            ["--model", "door", "--impact-law", "hertz"],
            "--impact-law is hertz; it must be one of bounded_newton",
        ),
        (
            ["--impact-law", "poisson"],
            "--impact-law is given without --model; of the pendulum set",
        ),
    ],
)
def test_options_that_do_not_fit_get_a_sentence(simulate, options, sentence):
    code, _, err = simulate(*options)
    assert code == 2 and err.count("\n") == 1 and sentence in err
    assert not Path("run.csv").exists()


def test_a_urdf_beside_its_yaml_is_found(simulate):
    """Its joints start where the file says, and its carriage stands on the file's floor."""
    pytest.importorskip(
        "urdf_parser_py", reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'"
    )
    shutil.copy(ROOT / "config" / "models" / "arm.urdf", "arm.urdf")
    Path("arm.yaml").write_text(
        "urdf: arm.urdf\npositions: {shoulder: 1.5707963267948966}\nrates: {elbow: 2.0}\n"
        "geoms: {floor: {shape: plane, point: [0, 0, -0.8]}}\n"
        "contacts: {touch: {between: [hand, floor], friction: 0.5}}\n"
    )
    code, _, err = simulate("--model", "arm.yaml", "--duration", "0.01")
    rows = table()
    assert (
        code == 0
        and rows["upper.z"][0] == pytest.approx(-0.2)
        and rows["lower.wy"][0] == pytest.approx(2.0)
    )
    assert rows["shoulder.position"][0] == np.pi / 2 and abs(rows["shoulder.rate"][0]) < 1e-12
    assert rows["elbow.position"][0] == 0.0 and rows["elbow.rate"][0] == pytest.approx(2.0)
    assert "touch.Pn" in rows


def test_a_rover_of_a_urdf_rolls_down_a_slope_as_it_must(simulate):
    """Fallen on its wheels it gains M g_x/(M + 2 I/r^2), and rolling costs no energy."""
    pytest.importorskip(
        "urdf_parser_py", reason="urdf_parser_py is not installed: pip install 'rbdyn_ros[urdf]'"
    )
    code, _, err = simulate("--model", "rover", "--duration", "0.6")
    rows, mass, wheels = table(), 6.1, 2.0 * 0.002 / 0.1**2
    assert code == 0 and err == ""
    late = rows["t"] > 0.2
    expected = 1.5 * mass / (mass + wheels)
    assert np.diff(rows["base.vx"][late]) / 0.01 == pytest.approx(expected, rel=2e-3)
    assert rows["left.wy"][late] * 0.1 == pytest.approx(rows["base.vx"][late], rel=5e-3)
    assert np.ptp(rows["E"][late]) < 1e-3
    carried = sum(rows[f"{name}.Pn"][late] for name in ("left_tire", "right_tire", "slider"))
    assert carried == pytest.approx(mass * 9.7 * 0.01, rel=1e-6)


# the page
# -------------------------------------------------------------------------------------------------

PAGE = (ROOT / "doc" / "bodies.md").read_text(encoding="utf-8")


def test_the_files_of_the_page_can_be_simulated(simulate):
    """The first one is the shipped one; each runs for a while."""
    texts = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    shipped = (ROOT / "config" / "models" / "cart_double_pendulum.yaml").read_text()
    assert len(texts) == 3 and texts[0] in shipped
    for text in texts:
        Path("page.yaml").write_text(text)
        assert simulate("--model", "page.yaml", "--duration", "0.2")[0] == 0
        assert len(table()["t"]) in (21, 201)


def test_the_python_of_the_page_runs():
    names: dict = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.S)[0], names)
    assert names["impulses"].shape == (2, 2, 6) and names["energy"] == pytest.approx(0.0, abs=1e-3)


def test_the_columns_of_the_page_are_those_of_the_file(simulate):
    assert simulate("--model", "newtons_cradle", "--duration", "0.01")[0] == 0
    words = {word.rpartition(".")[2] for word in table()}
    told = set(
        re.findall(r"`(?:\w+\.)?(\w+)`", PAGE.split("## What comes out")[1].split("## Joints")[0])
    )
    assert {
        "t",
        "x",
        "z",
        "qw",
        "qz",
        "vx",
        "wz",
        "fx",
        "fz",
        "tx",
        "tz",
        "Pn",
        "Px",
        "Pz",
        "Lx",
        "E",
        "opening",
    } <= words & told


def test_round_bodies_of_a_file_lie_and_stand(simulate):
    """A cylinder stands on a box, on it lies a capsule."""
    Path("round.yaml").write_text(
        "bodies:\n"
        "  drum: {shape: cylinder, radius: 0.2, length: 0.3, mass: 1, position: [0, 0, 0.15]}\n"
        "  pill: {shape: capsule, radius: 0.05, from: [-0.1, 0, 0.36], to: [0.1, 0, 0.36], "
        "mass: 1}\n"
        "geoms: {table: {shape: box, size: [1, 1, 0.2], position: [0, 0, -0.1]}}\n"
        "contacts:\n"
        "  stand: {between: [drum, table], friction: 0.5}\n"
        "  lie: {between: [pill, drum], friction: 0.5}\n"
    )
    assert simulate("--model", "round.yaml", "--duration", "0.5", "--step", "0.002")[0] == 0
    rows = table()
    assert rows["drum.z"][-1] == pytest.approx(0.15, abs=1e-9)
    assert rows["pill.z"][-1] == pytest.approx(0.35, abs=1e-9)
    assert rows["stand.Pz"][-1] == pytest.approx(2.0 * 9.81 * 0.002, rel=1e-6)
