"""The command sweep: campaigns from a file to a picture, interrupted, resumed, spread over
workers, refused.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.control import provenance
from rbdyn_ros.evaluation.campaigns import campaign_trial, plan
from rbdyn_ros.evaluation.campaigns.store import Store, identities

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'rbdyn_ros[sweep]'")
ROOT = Path(__file__).parents[2]
CAMPAIGN = """\
params_files: [pendulum.yaml]
duration: 4
start.tilt: {grid: [-40, 40, 27]}
start.spin: {uniform: [-5, 5]}
draws: 20
"""
SLOW = """\
params_files: [pendulum.yaml]
duration: 1
controller: lqr
faults.noise.angle: 0.0005
start.tilt: {grid: [-20, 20, 24]}
"""


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """sweep(*words) -> exit code, in a folder that has mine.yaml and slow.yaml; with one worker
    where the words do not say how many.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(CAMPAIGN)
    (tmp_path / "slow.yaml").write_text(SLOW)
    return lambda *words: main(["sweep", *([] if "--jobs" in words else ["--jobs=1"]), *words])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of mine.yaml, computed, and what was said."""
    folder, said = tmp_path_factory.mktemp("whole"), io.StringIO()
    (folder / "mine.yaml").write_text(CAMPAIGN)
    words = ["sweep", str(folder / "mine.yaml"), "--jobs=1", "--out", str(folder / "mine")]
    with redirect_stdout(said):
        assert main(words) == 0
    return folder / "mine", said.getvalue()


@pytest.fixture
def computed(sweep, whole, tmp_path):
    """A copy of it in the working folder: its parts."""
    shutil.copytree(whole[0], tmp_path / "mine")
    return parts(tmp_path / "mine")


def parts(folder) -> dict:
    return {path.name: path.read_bytes() for path in sorted((folder / "parts").iterdir())}


def test_a_campaign_is_kept_in_the_home_folder(sweep, tmp_path, monkeypatch):
    """The parts were written there, and looked for in a folder that is called ~."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert sweep("mine.yaml", "--out=~/kept", "--set", "draws=1") == 0
    assert (tmp_path / "home" / "kept" / "summary.json").exists()


def test_a_campaign_ends_in_a_summary_and_a_picture(whole):
    folder, told = whole
    assert "lqr: " in told and "of 540 settled" in told
    row = json.loads((folder / "summary.json").read_text())["rows"][0]
    assert row["samples"] == 540
    assert 0.2 < row["interval"][0] < row["fraction"] < row["interval"][1] < 0.7
    assert (folder / "campaign.png").stat().st_size > 10_000


def test_results_say_when_where_and_with_what_they_were_computed(sweep, tmp_path):
    assert sweep("mine.yaml", "--set", "draws=1", "--set", "lqr.force_weight=0.2") == 0
    found = json.loads((tmp_path / "mine" / "summary.json").read_text())["provenance"]
    assert found["laws"]["lqr"]["options"]["lqr.force_weight"] == {
        "value": 0.2,
        "default": 0.1,
        "unit": "1/N^2",
    }
    assert (
        found["laws"]["lqr"]["versions"]["numpy"]
        and found["laws"]["lqr"]["files"]["rbdyn_ros/control"]
    )
    assert (
        found["sittings"][0]["machine"]["processors"] == os.cpu_count()
        and found["sittings"][0]["date"]
    )
    assert found["seeds"] == [0] and found["tolerances"]["settled.tilt"] == 2.0


def test_a_law_that_was_changed_is_computed_anew(sweep, computed, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(provenance, "_ours", lambda: {"rbdyn_ros/control": "another"})
    assert sweep("mine.yaml", "--resume") == 0
    told = capsys.readouterr()
    assert (
        "--resume begins anew: rbdyn_ros is gone; rbdyn_ros/bodies is gone;" in told.err
        and "3 of 3 parts computed" in told.out
    )
    assert parts(tmp_path / "mine").keys() == computed.keys()
    assert {
        path.name: path.read_bytes() for path in (tmp_path / "mine" / "parts.1").iterdir()
    } == computed


def test_resuming_computes_what_is_missing_and_damaged_only(sweep, computed, tmp_path, capsys):
    folder = tmp_path / "mine" / "parts"
    (folder / "part-000000.parquet").unlink()
    (folder / "part-000002.parquet").write_bytes(computed["part-000002.parquet"][:999])
    kept = (folder / "part-000001.parquet").stat().st_mtime_ns
    assert sweep("mine.yaml", "--resume") == 0
    told = capsys.readouterr()
    assert "2 of 3 parts computed" in told.out
    assert "part-000002.parquet is cut off or damaged" in told.err
    assert parts(tmp_path / "mine") == computed
    assert (folder / "part-000001.parquet").stat().st_mtime_ns == kept


def test_the_number_of_workers_changes_no_byte(sweep, computed, tmp_path):
    sweep("mine.yaml", "--out", "three", "--jobs", "3")
    assert parts(tmp_path / "three") == computed


def test_nothing_is_lost_where_a_worker_is_killed_and_somebody_interrupts(sweep, tmp_path):
    """Ctrl-C goes to every process of a terminal: those that compute leave it to their parent, and
    say nothing.
    """
    words = [sys.executable, "-m", "rbdyn_ros", "sweep", "slow.yaml", "--jobs", "1"]
    running = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: written(tmp_path) > 0, running)
    os.kill(workers(running.pid)[0], signal.SIGKILL)
    had = written(tmp_path)
    until(lambda: written(tmp_path) > had + 3, running)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=300)
    assert running.returncode == 130 and "Traceback" not in told, told
    assert "a worker process died" in told and "add --resume to go on" in told
    assert "finishing and keeping the parts that have begun" in told
    before = parts(tmp_path / "slow")
    assert sweep("slow.yaml", "--resume", "--jobs", "1") == 0
    after = parts(tmp_path / "slow")
    assert 0 < len(before) < len(after)
    assert before.items() <= after.items()
    assert after == alone(tmp_path / "slow.yaml", tmp_path / "alone")


def test_the_law_of_a_file_beside_the_campaign(sweep, tmp_path, monkeypatch):
    """In worker processes, from another working folder; the file is edited, and the edit is
    run.
    """
    law = (ROOT / "examples" / "lean.py").read_text()
    (tmp_path / "my_law.py").write_text(law)
    assert "start.tilt: {grid: [-20, 20, 24]}\n" in SLOW
    changes = (
        "--controller",
        "my_law.py",
        "--set",
        "start.tilt={grid: [-5, 5, 2]}",
        "--jobs",
        "1",
    )
    assert sweep("slow.yaml", *changes, "--set", "duration=4", "--out", "first") == 0
    row = json.loads((tmp_path / "first" / "summary.json").read_text())["rows"][0]
    assert (row["settled"], row["controller"]) == (2, str(tmp_path / "my_law.py"))
    (tmp_path / "my_law.py").write_text(law.replace("return o.tilt_gain", "return -o.tilt_gain"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert sweep("../slow.yaml", *changes, "--out", "second") == 0
    assert (
        json.loads((tmp_path / "elsewhere" / "second" / "summary.json").read_text())["rows"][0][
            "settled"
        ]
        == 0
    )


def written(tmp_path) -> int:
    return len(list((tmp_path / "slow").glob("parts/part-*")))


def alone(file, folder) -> dict:
    """The parts of a campaign that is computed here and now, one after the other."""
    planned = plan.read(file)
    store = Store(folder, planned, campaign_trial.is_compiled(planned), identities(planned))
    store.open(resume=False)
    for part in store.missing_parts()[0]:
        store.write(part, campaign_trial.outcomes(planned, *store.span(part)))
    return parts(folder)


def until(happened, running, seconds=300.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def workers(pid: int) -> list:
    """The processes in which a campaign computes."""
    import psutil

    children = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.parametrize(
    ("words", "sentence"),
    (
        ((), "give a campaign's FILE.yaml or one --preset"),
        (("nowhere.yaml",), "nowhere.yaml: cannot read the campaign file"),
        (("--preset", "region_of_atraction"), "did you mean region_of_attraction?"),
        (("mine.yaml", "--controller", "lqrr"), "--controller: controller is 'lqrr'"),
        (("mine.yaml", "--set", "start.tillt=3"), "did you mean start.tilt?"),
        (
            ("mine.yaml", "--controller", "nowhere.py"),
            "nowhere.py' cannot be read: No such file or directory",
        ),
        (
            ("mine.yaml", "--set", "start.tilt={grid: [-40, 40, 100000000000]}"),
            "has 100000000000 points; it must be a whole number >= 1 and <= 1e+08",
        ),
        (("mine.yaml", "--jobs", "-1"), "--jobs is -1"),
        (("mine.yaml", "--out", "."), "is not empty and holds no campaign"),
    ),
)
def test_bad_input_is_one_sentence(sweep, capsys, words, sentence):
    assert sweep(*words) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_a_place_where_nobody_can_write(sweep, capsys):
    assert sweep("mine.yaml", "--out", "/proc/self/out") == 1
    assert "cannot write /proc/self/out" in capsys.readouterr().err


def test_another_campaign_in_the_folder_is_refused(sweep, computed, tmp_path, capsys):
    assert sweep("mine.yaml", "--set", "draws=30", "--resume") == 2
    assert "draws was 20, now 30" in capsys.readouterr().err
    assert parts(tmp_path / "mine") == computed


def test_the_list_names_presets_and_quantities(sweep, capsys):
    assert sweep("--list") == 0
    told = capsys.readouterr().out
    for word in (
        "region_of_attraction",
        "start.precession [rad/s]",
        "faults.mismatch.rod_length",
        "cart.travel [m]",
        "draws",
    ):
        assert word in told
