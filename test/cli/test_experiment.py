"""`python -m rbdyn_ros experiment`: files, verdict, exit code, and one sentence for a mistake."""

import csv

import pytest

from rbdyn_ros import __main__ as program
from rbdyn_ros.experiments import forced_rod
from rbdyn_ros.experiments.outcome import below


def test_the_list_has_every_question(capsys):
    assert program.main(["experiment", "--list"]) == 0
    text = capsys.readouterr().out
    assert "four_disp\n  A rod falls from 10 degrees" in text and "dzhanibekov\n" in text


def test_writes_a_figure_and_tables_and_says_that_it_holds(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert program.main(["experiment", "forced_rod", "--short", "--out", str(out)]) == 0
    assert "holds  rk4" in capsys.readouterr().out
    assert (out / "forced_rod.png").read_bytes().startswith(b"\x89PNG")
    with open(out / "forced_rod_angle.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 501 and float(rows[-1]["t"]) == pytest.approx(5.0)


def test_a_claim_that_fails_is_printed_and_exits_with_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        forced_rod, "_claims", lambda tables, ratio: (below("pigs fly at", 2.0, 1.0, "m/s"),)
    )
    assert program.main(["experiment", "forced_rod", "--short", "--out", str(tmp_path)]) == 1
    assert "FAILS  pigs fly at  2  (expected < 1 m/s)" in capsys.readouterr().out


def test_what_was_written_before_ctrl_c_is_named(tmp_path, capsys, monkeypatch):
    def interrupted(outcome, figure):
        raise KeyboardInterrupt

    monkeypatch.setattr(forced_rod, "draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        program.main(["experiment", "forced_rod", "--short", "--out", str(tmp_path)])
    lines = [f"  wrote {tmp_path / name}" for name in sorted(p.name for p in tmp_path.iterdir())]
    assert lines and sorted(capsys.readouterr().out.splitlines()[-len(lines) :]) == lines


@pytest.mark.parametrize(
    "argv, sentence",
    [
        (["four_dips"], "'four_dips' is not an experiment; did you mean four_disp?"),
        ([""], "'' is not an experiment"),
        (
            ["forced_rod", "--short", "--animate", "gif"],
            "forced_rod has no film; leave --animate out, or take one of",
        ),
    ],
)
def test_a_mistake_gets_one_sentence_and_2(argv, sentence, tmp_path, capsys):
    assert program.main(["experiment", *argv, "--out", str(tmp_path / "x")]) == 2
    received = capsys.readouterr().err
    assert sentence in received and received.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_without_a_name_they_are_listed_a_line_each(capsys):
    assert program.main(["experiment"]) == 0
    *lines, empty, advice = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(
        program.import_module("rbdyn_ros.cli.experiment").names()
    )
    assert all(20 < len(line) <= 120 for line in lines) and empty == "" and "--list" in advice


def test_an_out_that_is_a_file_is_named(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert (
        program.main(["experiment", "forced_rod", "--short", "--out", str(tmp_path / "taken")])
        == 2
    )
    assert "taken" in capsys.readouterr().err and (tmp_path / "taken").read_text() == "mine"
