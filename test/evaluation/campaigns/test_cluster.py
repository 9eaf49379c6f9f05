"""The same campaign on Dask: the same bytes, also where a worker is killed in the middle;
sentences where nobody computes.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.evaluation.campaigns import campaign_trial, plan, workers
from rbdyn_ros.evaluation.campaigns.store import Store, identities

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'rbdyn_ros[sweep]'")
CAMPAIGN = """\
params_files: [pendulum.yaml]
duration: 1
faults.noise.angle: 0.0005
start.tilt: {grid: [-20, 20, 30]}
start.spin: {uniform: [-5, 5]}
"""


@pytest.fixture(scope="module", autouse=True)
def distributed():
    """Dask, which takes half a second to import."""
    return pytest.importorskip(
        "distributed", reason="distributed is not installed: pip install 'rbdyn_ros[cluster]'"
    )


@pytest.fixture(scope="module")
def cluster(distributed):
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as running:
        yield running


@pytest.fixture
def sweep(tmp_path):
    (tmp_path / "mine.yaml").write_text(CAMPAIGN)
    return lambda out, *words: main(
        ["sweep", str(tmp_path / "mine.yaml"), "--out", str(out), *words]
    )


def parts(folder) -> dict:
    return {path.name: path.read_bytes() for path in sorted((folder / "parts").iterdir())}


def test_a_worker_that_is_killed_loses_nothing(cluster, sweep, tmp_path):
    victim = next(iter(cluster.workers.values())).pid
    killer = threading.Thread(
        target=kill_when_there_is, args=(victim, tmp_path / "spread" / "parts")
    )
    killer.start()
    code = sweep(tmp_path / "spread", "--scheduler", cluster.scheduler_address)
    killer.join()
    assert code == 0
    assert not os.path.exists(f"/proc/{victim}")
    planned = plan.read(tmp_path / "mine.yaml")
    store = Store(tmp_path / "spread", planned, False, identities(planned))
    spread = parts(tmp_path / "spread")
    assert len(spread) == store.count == 30
    for part in range(store.count):
        store.write(part, campaign_trial.outcomes(planned, *store.span(part)))
    assert spread == parts(tmp_path / "spread")


def test_ctrl_c_of_a_terminal_ends_a_cluster_of_this_machine(sweep, tmp_path):
    """It goes to every process of the terminal; a worker that it ended would be waited for in
    vain.
    """
    (tmp_path / "mine.yaml").write_text(CAMPAIGN.replace("30]", "3000]"))
    words = [
        sys.executable,
        "-m",
        "rbdyn_ros",
        "sweep",
        str(tmp_path / "mine.yaml"),
        "--out",
        "spread",
        "--scheduler",
        "local",
        "--jobs",
        "1",
    ]
    running = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 300.0
    while not list((tmp_path / "spread").glob("parts/*.parquet")):
        assert time.monotonic() < end and running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=200)
    assert (
        running.returncode == 130 and "add --resume to go on" in said and "Traceback" not in said
    ), said


def kill_when_there_is(victim: int, folder) -> None:
    """Kill a worker as soon as a part has been written."""
    end = time.monotonic() + 300.0
    while time.monotonic() < end:
        if folder.is_dir() and any(folder.glob("part-*")):
            os.kill(victim, signal.SIGKILL)
            return
        time.sleep(0.005)


def test_nobody_at_that_address(sweep, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(workers, "TIMEOUT", 0.5)
    assert sweep(tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1") == 2
    assert "--scheduler tcp://127.0.0.1:1: no scheduler answers" in capsys.readouterr().err


def test_an_address_that_is_none(sweep, tmp_path, capsys):
    assert sweep(tmp_path / "out", "--scheduler", "nonsense://here") == 2
    assert "--scheduler nonsense://here: no scheduler answers" in capsys.readouterr().err


def test_a_scheduler_without_workers(cluster, sweep, tmp_path, capsys):
    cluster.scale(0)
    while cluster.scheduler.workers:
        time.sleep(0.05)
    assert sweep(tmp_path / "out", "--scheduler", cluster.scheduler_address) == 2
    assert "it has no workers" in capsys.readouterr().err
