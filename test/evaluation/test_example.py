"""The newcomer's twenty lines of examples/ run through `evaluate`, as doc/evaluation.md says."""

import json
import re
from pathlib import Path

import pytest

from rbdyn_ros import __main__ as program
from rbdyn_ros.evaluation import measures, suite
from rbdyn_ros.evaluation.score import controller_under_test
from rbdyn_ros.parameters.shipped import config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "doc/evaluation.md").read_text()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The example as pip would install it."""
    (tmp_path / "lean.py").write_text((ROOT / "examples/lean.py").read_text())
    info = tmp_path / "lean_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lean-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rbdyn_ros.control]\nlean = lean\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_the_newcomers_law_is_scored(installed, tmp_path, capsys):
    """Its gains by hand are 0.3 s too slow, and it learns so."""
    out = tmp_path / "out"
    arguments = [
        "--controller",
        "lean",
        "--quick",
        "--rows",
        "S3,S14,S27",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    assert program.main(["evaluate", *arguments]) == 1
    assert (
        "the law lean, for balance (the law has no KINDS, nothing else was said: see --kind)"
        in capsys.readouterr().out
    )
    rows = {row["row"]: row for row in json.loads((out / "evaluation.json").read_text())["rows"]}
    assert [rows[name]["verdict"] for name in ("S3", "S14", "S27")] == [
        "misses",
        "not for this kind of law",
        "holds",
    ]
    assert rows["S3"]["cases"][0]["values"]["settling_time"] == pytest.approx(3.82, abs=0.02)


def test_with_the_gains_of_its_file_every_row_holds(installed, tmp_path, capsys):
    arguments = ["--controller", "lean", "--params-file", str(ROOT / "examples/lean.yaml")]
    arguments += ["--quick", "--rows", "S3,S4,S7,S27", "--out", str(tmp_path / "out")]
    assert program.main(["evaluate", *arguments]) == 0
    assert "4 of 4 rows hold" in capsys.readouterr().out


def test_a_file_of_parameters_sets_its_gains_and_the_plant(installed, tmp_path):
    plant = tmp_path / "plant.yaml"
    plant.write_text("/**:\n  ros__parameters: {rod: {mass: 1.5}}\n")
    made = controller_under_test(
        "lean", (ROOT / "examples/lean.yaml", plant), None, {"joint.damping": 0.005}, 2.0
    )
    assert [made.values[name] for name in ("lean.tilt_gain", "rod.mass", "joint.damping")] == [
        170.0,
        1.5,
        0.005,
    ]
    assert (made.kinds, made.kinds_given) == (("balance",), False)


def test_an_option_that_the_law_does_not_have(installed, tmp_path):
    file = tmp_path / "gains.yaml"
    file.write_text("pendulum_controller:\n  ros__parameters: {lean: {tilt_gian: 1.0}}\n")
    with pytest.raises(
        ValueError,
        match="gains.yaml:2: lean.tilt_gian is not an option "
        "of lean; did you mean lean.tilt_gain?",
    ):
        controller_under_test("lean", (file,), None, {}, 2.0)


def test_the_page_names_every_row_and_every_measure():
    for row in suite.read(config("suites", "standard.yaml")).rows:
        assert re.search(rf"^\| {row.name} \|", PAGE, re.M), row.name
    for measure in measures.names():
        assert f"`{measure}`" in PAGE


def test_the_suite_of_the_page_is_a_suite(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(re.search(r"```yaml\n(.*?)```", PAGE, re.S)[1])
    assert [case.name for row in suite.read(path).rows for case in row.cases] == [
        "heavy 1 kg more",
        "heavy 2 kg more",
    ]


def test_the_plant_is_that_of_either_section(tmp_path):
    file = tmp_path / "plant.yaml"
    file.write_text("/pendulum_simulator: {ros__parameters: {rod.mass: 1.2}}\n")
    assert controller_under_test("lqr", (str(file),), None, {}, 2.0).values["rod.mass"] == 1.2
