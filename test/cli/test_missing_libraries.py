"""A library that is not installed is asked for by one sentence, before any work begins."""

import os

import pytest
from without import hide

from rbdyn_ros import __main__ as program

VARIED = "start.tilt: {grid: [-30, 30, 3]}\n"


@pytest.mark.parametrize(
    "library, extra, words",
    [
        ("osqp", "mpc", "evaluate --controller mpc --rows S3 --quick --out out"),
        ("osqp", "mpc", "simulate --controller mpc --duration 0.1 --out out.csv"),
        ("osqp", "mpc", "sweep mpc.yaml --out out"),
        ("osqp", "mpc", "bode --controller mpc --out out.csv"),
        ("osqp", "mpc", "view --controller mpc --no-browser"),
        ("osqp", "mpc", "demo --controller mpc --no-view --out out"),
        ("viser", "view", "view"),
        ("rosbags", "bag", "demo --no-view --out out"),
        ("rosbags", "bag", "repair bag --out out"),
        ("rosbags", "bag", "view bag"),
        ("rosbags", "bag", "identify bag --out out"),
        ("pyarrow", "sweep", "sweep varied.yaml --out out"),
        ("distributed", "cluster", "sweep varied.yaml --scheduler local --out out"),
        ("cobs", "hil", "hil"),
    ],
)
def test_a_missing_library_is_one_sentence_before_any_work(
    tmp_path, monkeypatch, capsys, library, extra, words
):
    monkeypatch.chdir(tmp_path)
    for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_DOMAIN_ID"):  # which some commands set
        monkeypatch.setenv(name, os.environ.get(name, ""))
    (tmp_path / "varied.yaml").write_text(VARIED)
    (tmp_path / "mpc.yaml").write_text(f"controller: mpc\n{VARIED}")
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag" / "bag.mcap").write_bytes(b"")
    if words.startswith("view bag"):
        (tmp_path / "bag" / "metadata.yaml").touch()
    before = {path.name for path in tmp_path.iterdir()}
    hide(library, monkeypatch)
    assert program.main(words.split()) == 2
    said = capsys.readouterr().err
    assert f" needs {library}, which is not installed" in said and said.count("\n") == 1
    assert f"'rbdyn_ros[{extra}]'" in said
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_list_of_all_laws_needs_no_library(monkeypatch, capsys):
    hide("osqp", monkeypatch)
    assert program.main(["parameters"]) == 0
    assert "mpc.travel_weight" in capsys.readouterr().out
