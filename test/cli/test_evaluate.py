"""`evaluate`: a law is scored; what is written, what is said, what is kept when it ends early."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rbdyn_ros import __main__ as program
from rbdyn_ros import origin

ROOT = Path(__file__).parents[2]
LAW = """\
from rbdyn_ros.control.laws import lqr


class Scaled(lqr.Lqr):
    def command(self, t, state, reference):
        return {gain} * super().command(t, state, reference)


def design(model, params, options):
    law = lqr.design(model, params, lqr.Options())
    return Scaled(law.gains, law.force_limit)
"""


def evaluate(*arguments) -> int:
    return program.main(["evaluate", "--controller", "lqr", "--jobs", "1", *map(str, arguments)])


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The folder of a quick evaluation, and its exit code."""
    out = tmp_path_factory.mktemp("evaluated") / "lqr"
    return out, evaluate("--quick", "--out", out)


def test_set_changes_law_and_plant_over_the_files_and_a_row_that_misses_is_exit_code_1(
    tmp_path, capsys
):
    law = "/**/pendulum_controller:\n  ros__parameters:\n    lqr: {force_weight: 3.0}\n"
    plant = "/**:\n  ros__parameters:\n    rod: {mass: 1.5}\n"
    (tmp_path / "heavy.yaml").write_text(plant + law)
    (tmp_path / "hard.yaml").write_text(
        "rows:\n"
        "  A: {measure: release, title: too soon, settings: {tilt: 2}, "
        "require: [settling_time <= 0.1]}\n"
        "  B: {measure: release, settings: {tilt: 1}, require: [settling_time <= 9]}\n"
    )
    words = ("--suite", tmp_path / "hard.yaml", "--rows", "A", "--set", "lqr.tilt_weight=7")
    words += ("--params-file", tmp_path / "heavy.yaml", "--set", "rod.mass=1.2")
    assert evaluate(*words, "--out", tmp_path / "out") == 1
    said = capsys.readouterr().out
    assert (
        re.search(r"A +MISSES +too soon\n +settling_time \d\.\d+ s \(must be <= 0\.1\)", said)
        and "0 of 1 rows hold, 1 miss" in said
    )
    given = json.loads((tmp_path / "out" / "evaluation.json").read_text())["parameters"]
    assert (given["rod.mass"], given["lqr.force_weight"], given["lqr.tilt_weight"]) == (1.2, 3, 7)


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("rod.mas=1", "--set rod.mas=1: rod.mas is not a known parameter; did you mean rod.mass?"),
        ("rod.mass=-1", "--set rod.mass=-1: rod.mass is -1 kg; it must be a finite number > 0"),
        (
            "cart.travel=3",
            "cart.travel cannot be set: an evaluation takes parameters of the plant",
        ),
        ("contact.floor.enabled=true", "contact.floor.enabled cannot be set: an evaluation takes"),
        ("pd.x=1", "--set pd.x=1: pd.x is an option of the law pd, and the law is lqr; leave it"),
    ],
)
def test_what_cannot_be_set_is_said_before_anything_is_measured(tmp_path, capsys, word, sentence):
    assert evaluate("--set", word, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and not (tmp_path / "out").exists()


def test_the_regulator_passes_the_quick_suite(scored):
    out, code = scored
    told = json.loads((out / "evaluation.json").read_text())
    verdicts = {row["row"]: row["verdict"] for row in told["rows"]}
    assert code == 0 and told["law"] == "lqr" and told["kinds"] == ["balance"]
    assert {row for row, verdict in verdicts.items() if verdict == "holds"} == {
        "S1",
        "S2",
        "S3",
        "S4",
        "S7",
        "S27",
        "S30",
    }
    assert {row for row, verdict in verdicts.items() if verdict != "holds"} == {
        "S14",
        "S19",
        "S20",
    }
    (release,) = next(row for row in told["rows"] if row["row"] == "S3")["cases"]
    assert release["values"]["settling_time"] == pytest.approx(3.276, abs=1e-3)


def test_the_report_stands_alone(scored):
    page = (scored[0] / "report.html").read_text()
    assert page.count('<img src="data:image/svg+xml;base64,') == 3  # S3, S4, S27
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert (
        "5 of 5 rows hold; 3 are not for this kind of law; the plant&#39;s own: 2 of 2 rows hold"
        in page
        and "3.276" in page
        and "≤ 3.5" in page
    )


def test_the_report_and_its_figures_say_what_made_them(scored):
    page = (scored[0] / "report.html").read_text()
    made = origin.origin()
    assert f'<meta name="generator" content="{made.program}">' in page
    assert page.count(f"{origin.PACKAGE} evaluate --") == 2  # in the metadata, and to be read
    assert made.commit.partition(" ")[0] in page
    drawn = base64.b64decode(page.partition("svg+xml;base64,")[2].partition('"')[0]).decode()
    assert made.program in drawn and f"{origin.PACKAGE} evaluate --" in drawn


def test_results_say_when_where_and_with_what_they_were_measured(scored):
    told = json.loads((scored[0] / "evaluation.json").read_text())
    found = told["provenance"]
    (sitting,) = found["sittings"]
    assert (
        re.match(r"20\d\d-\d\d-\d\dT", sitting["date"])
        and sitting["quick"] is True
        and sitting["rows"] == "all"
    )
    assert sitting["machine"]["processors"] == os.cpu_count() and found["seeds"] == [0]
    assert found["options"]["lqr.force_weight"] == {"value": 0.1, "default": 0.1, "unit": "1/N^2"}
    assert found["versions"]["numpy"] and found["files"]["rbdyn_ros/control"]
    assert found["tolerances"]["settled"] == {"tilt_deg": 0.5, "cart_m": 0.02}
    (tilt,) = [case for row in told["rows"] if row["row"] == "S4" for case in row["cases"]]
    assert (
        tilt["settings"]["tolerance"],
        tilt["conditions"]["seed"],
        tilt["conditions"]["period"],
    ) == (0.5, 0, 0.002)
    page = (scored[0] / "report.html").read_text()
    assert sitting["date"] in page and "the quick form" in page and "0.1 1/N^2" in page


def test_a_law_that_was_changed_is_measured_anew(tmp_path, monkeypatch, capsys):
    """Its file is edited between two evaluations; the second says why it begins anew."""
    (tmp_path / "edited.py").write_text(LAW.format(gain=1.0))
    info = tmp_path / "edited-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edited\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rbdyn_ros.control]\nedited = edited\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    rows, out = tmp_path / "rows.yaml", tmp_path / "out"
    rows.write_text(
        "rows: {A: {measure: release, settings: {tilt: 2}, require: [settling_time <= 4]}}"
    )
    arguments = [
        "evaluate",
        "--controller",
        "edited",
        "--suite",
        str(rows),
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    assert program.main(arguments) == 0
    capsys.readouterr()
    (tmp_path / "edited.py").write_text(LAW.format(gain=0.0))
    monkeypatch.delitem(sys.modules, "edited")
    assert program.main([*arguments, "--resume"]) == 1
    said = capsys.readouterr()
    assert (
        "--resume begins anew: edited.py was changed; what was measured before is kept in "
        "cases.1.jsonl" in said.err
    )
    assert "measured before" not in said.out and (out / "cases.1.jsonl").exists()


def test_nothing_is_measured_twice(scored, capsys):
    out, _ = scored
    before = (out / "cases.jsonl").read_text()
    assert evaluate("--quick", "--out", out, "--resume") == 0
    said = capsys.readouterr().out
    assert "; 8 cases, 8 of them measured before" in said and "5 of 5 rows hold" in said
    after = (out / "cases.jsonl").read_text()
    assert (
        after.splitlines()[1:] == before.splitlines()[1:]
        and len(json.loads(after.splitlines()[0])["sittings"]) == 2
    )


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--rows", ","], "--rows is ','; name rows, such as S3,S4, or leave it out for all"),
        (["--rows", "S99"], "--rows: "),
        (["--suite", "nowhere.yaml"], "nowhere.yaml: cannot read the suite: No such file"),
        (["--params-file", "nowhere.yaml"], "--params-file nowhere.yaml: there is no such file"),
        (["--kind", "balanse"], "--kind: balanse is not a kind of law; did you mean balance?"),
        (["--jobs", "-1"], "--jobs is -1; it must be a whole number >= 0"),
        (["--patience", "soon"], "--patience is 'soon'; it must be a finite number > 0"),
        (["--real-time"], "--real-time is for the running nodes; add --over-ros"),
        (["--resume"], "--resume is given without a folder; add --out DIR or --entry DIR"),
        (["--resume", "--out", "nowhere"], "--resume: there is no nowhere/cases.jsonl"),
        (["--controller", "lqrr"], "controller is 'lqrr'; did you mean lqr? known are "),
        (["--out", str(ROOT)], "which is not empty; choose another, so that nothing is lost"),
    ],
)
def test_bad_usage_gets_one_sentence(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert evaluate("--quick", *arguments) == 2
    said = capsys.readouterr().err
    assert (
        sentence in said
        and said.startswith("python -m rbdyn_ros evaluate: ")
        and said.count("\n") == 1
    )


def test_the_law_of_a_file_is_scored_under_its_short_name(tmp_path, monkeypatch, capsys):
    """In a process of its own, with the options of a parameter file, here too weak to hold; what
    never comes has no unit.
    """
    monkeypatch.chdir(tmp_path)
    Path("my_law.py").write_text((ROOT / "examples" / "lean.py").read_text())
    Path("rows.yaml").write_text(
        "rows: {A: {measure: release, settings: {tilt: 2}, require: [settling_time <= 5]}}"
    )
    Path("weak.yaml").write_text(
        "/**/pendulum_controller:\n  ros__parameters:\n    my_law: {tilt_gain: 1.0}\n"
    )
    files = ("--suite", "rows.yaml", "--params-file", "weak.yaml")
    assert evaluate(*files, "--controller", "my_law.py", "--out", "out") == 1
    said = capsys.readouterr().out
    assert "the law my_law, for" in said and "settling_time never (must be <= 5)" in said
    told = json.loads(Path("out/evaluation.json").read_text())
    assert told["law"] == "my_law" and told["parameters"]["my_law.tilt_gain"] == 1.0


def test_an_option_of_the_law_that_is_not_one(tmp_path, capsys):
    file = tmp_path / "gains.yaml"
    file.write_text("/**:\n  ros__parameters:\n    lqr: {tilt_wait: 3.0}\n")
    assert evaluate("--quick", "--params-file", file) == 2
    assert "gains.yaml:3: lqr.tilt_wait is not a known parameter" in capsys.readouterr().err


def test_a_plant_that_meets_something_is_refused(tmp_path, capsys):
    file = tmp_path / "floor.yaml"
    file.write_text("/**:\n  ros__parameters:\n    contact: {floor: {enabled: true}}\n")
    assert evaluate("--quick", "--params-file", file) == 2
    assert "floor.yaml: the pendulum meets a floor" in capsys.readouterr().err


def test_ctrl_c_keeps_what_there_is(tmp_path):
    """A suite of many rows is interrupted after the first; the second call measures the rest."""
    suite = tmp_path / "many.yaml"
    rows = [
        f"  R{i}: {{measure: release, settings: {{tilt: {i}}}, require: [travel <= 2]}}"
        for i in range(1, 9)
    ]
    rows += [
        (
            "  slow: {measure: recoverable_tilt, settings: {azimuths: 360, tolerance: 0.001}, "
            "require: [tilt >= 20]}"
        )
    ]
    suite.write_text("rows:\n" + "\n".join(rows))
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "rbdyn_ros",
        "evaluate",
        "--controller",
        "lqr",
        "--suite",
        str(suite),
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120.0
    while (
        not (out / "cases.jsonl").exists()
        or len((out / "cases.jsonl").read_text().splitlines()) < 9
    ):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: the workers hear it too
    said, complaint = process.communicate(timeout=60.0)
    assert process.returncode == 128 + signal.SIGINT
    assert (
        f"interrupted: 1 cases are left; go on with --out {out} --resume" in complaint
        and "Traceback" not in complaint
    )
    assert (
        "slow  open" in said
        and "8 of 8 rows hold, 1 open; 0 are not" in said
        and (out / "report.html").exists()
    )
    assert len((out / "cases.jsonl").read_text().splitlines()) == 9


def test_what_a_law_has_opened_is_closed_at_the_end(tmp_path):
    """Python warns at the end of semaphores that a process was not given the time to close."""
    law = tmp_path / "bar.py"
    law.write_text(
        "from multiprocessing import RLock\n"
        "from rbdyn_ros.control.laws import lqr\n"
        "LOCK = RLock()  # as a progress bar of tqdm has it\n"
        "def design(model, params, options=None):\n"
        "    return lqr.design(model, params, lqr.Options())\n"
    )
    words = ["evaluate", "--controller", str(law), "--rows", "S30", "--quick", "--jobs", "1"]
    ended = subprocess.run(
        [sys.executable, "-m", "rbdyn_ros", *words, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert ended.returncode == 0 and "semaphore" not in ended.stderr, ended.stderr
