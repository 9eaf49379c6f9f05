"""`python -m rbdyn_ros plot`, and `simulate --picture` of the pendulum: from runs to figures."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.image import imread
from PIL import Image

from rbdyn_ros import origin
from rbdyn_ros.__main__ import main

CAUGHT = ("--controller", "lqr", "--tilt", "5", "--duration", "0.2", "--every", "0.01")


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        try:
            code = main(list(words))
        except SystemExit as ended:
            code = ended.code
        return (code, *capsys.readouterr())

    return call


@pytest.mark.parametrize("name", ["run.png", "run.svg", "RUN.PDF"])
def test_simulate_draws_the_pendulum_and_says_by_what_command(run, name):
    code, out, err = run("simulate", *CAUGHT, "--out", "run.csv", "--picture", name)
    assert code == 0 and out.startswith("run.csv: 21 rows; ")
    assert f"{name}: tilt, cart, force, energy and the path of the tip" in err
    content, command = Path(name).read_bytes(), f"rbdyn_ros simulate {' '.join(CAUGHT)}"
    if name.endswith("png"):
        assert imread(name).std() > 0.0 and command in Image.open(name).info["Description"]
    else:
        assert command.encode() in content and b"lqr, a command every 2 ms, seed 0" in content
    first = content
    assert run("simulate", *CAUGHT, "--out", "run.csv", "--picture", name)[0] == 0
    assert Path(name).read_bytes() == first, "the same command writes the same bytes"


def test_a_run_without_a_law_has_no_force_in_its_figure(run):
    words = ("--tilt", "5", "--duration", "0.1", "--out", "run.csv", "--picture", "run.svg")
    assert run("simulate", *words)[0] == 0
    text = Path("run.svg").read_text()
    assert "force [N]" not in text and "tilt [°]" in text and "no law; quaternion_midpoint" in text


def test_the_table_of_a_run_has_units_and_origin_beside_it(run):
    assert run("simulate", *CAUGHT, "--set", "rod.length=2", "--out", "run.csv")[0] == 0
    about = json.loads(Path("run.csv-metadata.json").read_text())
    head = Path("run.csv").read_text().split("\n")[0].split(",")
    assert [column["name"] for column in about["tableSchema"]["columns"]] == head
    assert {"t [s]", "vx [m/s]", "qw", "Fx [N]"} <= {
        column["titles"] for column in about["tableSchema"]["columns"]
    }
    made = origin.origin()
    assert about["url"] == "run.csv" and about["dc:creator"] == made.program
    assert about["dc:source"] == made.commit
    assert about["dc:description"].startswith("rbdyn_ros simulate --controller lqr")
    assert about["parameters"] == {"rod.length": 2.0} and "rod 1 kg, 2 m" in about["dc:title"]


def test_runs_are_laid_over_each_other(run):
    assert run("simulate", *CAUGHT, "--out", "a.csv")[0] == 0
    assert run("simulate", *CAUGHT, "--azimuth", "90", "--out", "b.npz")[0] == 0
    code, out, err = run("plot", "a.csv", "b.npz", "--out", "compare.svg")
    assert (code, err) == (0, "") and out == "compare.svg: a and b\n"
    titles = {e.text for e in ElementTree.parse("compare.svg").iter() if e.tag.endswith("title")}
    assert "a and b" in titles
    named = run("plot", "a.csv", "a.csv", "--labels", "one, other", "--out", "c.pdf")
    assert named[:2] == (0, "c.pdf: one and other\n")
    assert run("plot", "a.csv", "a.csv", "--out", "c.png")[1] == "c.png: a (1) and a (2)\n"


def test_a_table_of_somebody_else_can_be_drawn(run):
    """Of the rod alone: no force, no energy, no length of the rod."""
    Path("mine.csv").write_text("t,x,pitch\n0,0,0.1\n0.1,0.01,0.05\n0.2,0.02,0.0\n")
    code, out, err = run("plot", "mine.csv", "--out", "mine.svg")
    assert (code, out, err) == (0, "mine.svg: mine\n", "")
    text = Path("mine.svg").read_text()
    assert "energy [J]" not in text and "cart where the rod" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a.csv", "--out", "a.jpg"), "--out is a.jpg; it must end in .png, .svg or .pdf"),
        (("a.csv", "--out", "no/a.png"), "there is no folder"),
        (("none.csv", "--out", "a.png"), "none.csv: there is no such file; give a run"),
        (("wrong.csv", "--out", "a.png"), "wrong.csv: it is no run of the pendulum: it has no"),
        (("a.csv", "--labels", "a,b", "--out", "a.png"), "--labels has 2 words; it must have 1"),
        (("a.csv", *41 * ("a.csv",), "--out", "a.png"), "there are 42 runs; a figure shows 1 to"),
        (("--out", "a.png"), "the following arguments are required: RUN"),
    ],
)
def test_bad_input_gets_one_sentence_and_2(run, words, sentence):
    Path("a.csv").write_text("t,x,pitch\n0,0,0.1\n0.1,0.01,0.05\n")
    Path("wrong.csv").write_text("a,b\n1,2\n")
    code, out, err = run("plot", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("python -m rbdyn_ros plot: ") and sentence in err
    assert not [*Path().glob("a.[jps]*")]


@pytest.mark.parametrize(
    ("push", "sentence"),
    [
        ("1", "--push is 1; it must be TIME,IMPULSE[,AZIMUTH[,DURATION]] in s, N s, degrees, s"),
        ("1,2,3,4,5", "--push is 1,2,3,4,5; it must be TIME,IMPULSE"),
        ("-1,2", "the time of --push is -1 s; it must be a finite number >= 0"),
        ("1,x", "the impulse of --push is 'x'; it must be a finite number"),
        ("1,2,400", "the azimuth of --push is 400 degrees; it must be a finite number >= -360"),
        ("10,2", "the time of --push is 10 s; it must be before the end, 10 s"),
        ("1,2,0,0", "the duration of --push is 0 s; it must be a finite number > 0"),
    ],
)
def test_a_push_that_cannot_be_gets_one_sentence_and_2(run, push, sentence):
    code, out, err = run("simulate", "--controller", "lqr", f"--push={push}", "--out", "run.csv")
    assert (code, out) == (2, "") and err.count("\n") == 1 and sentence in err


def test_an_experiment_draws_in_another_format_and_describes_its_tables(run):
    words = ("forced_rod", "--short", "--format", "pdf", "--out", "results")
    code, out, _ = run("experiment", *words)
    assert code == 0 and not Path("results/forced_rod.png").exists()
    content = Path("results/forced_rod.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"rbdyn_ros experiment forced_rod" in content
    about = json.loads(Path("results/forced_rod_angle.csv-metadata.json").read_text())
    assert about["url"] == "forced_rod_angle.csv" and "rbdyn_ros" in about["dc:creator"]
    assert "  wrote results/forced_rod_angle.csv-metadata.json" in out
