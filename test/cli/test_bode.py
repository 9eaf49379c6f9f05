"""`python -m rbdyn_ros bode`: what it prints, writes and refuses."""

import csv
import json

import numpy as np
import pytest

from rbdyn_ros.__main__ import main


def test_it_prints_the_margins_and_writes_files(tmp_path, capsys):
    files = [tmp_path / name for name in ("r.csv", "m.json", "p.png")]
    words = [f"--{o}={f}" for o, f in zip(("out", "json", "picture"), files)]
    assert main(["bode", "--controller", "lqr", *words]) == 0
    said = capsys.readouterr().out
    assert "phase margin [deg]" in said and all(f"wrote {file}" in said for file in files)
    with open(files[0]) as file:
        rows = list(csv.DictReader(file))
    first = rows[0]
    assert float(first["f"]) == pytest.approx(0.1)
    assert float(first["Lxx.re"]) == pytest.approx(float(first["theory.re"]), rel=1e-4)
    found = json.loads(files[1].read_text())["margins"]
    assert found["x"]["delay"] == pytest.approx(found["theory"]["delay"], rel=1e-4)
    assert found["x"]["gain_up"] is None  # none: JSON knows no infinity
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_npz_has_the_columns_of_csv(tmp_path):
    assert main(["bode", "--out", str(tmp_path / "r.npz"), "--band", "0.5,20"]) == 0
    with np.load(tmp_path / "r.npz") as arrays:
        assert {"f", "Lxx.re", "Px_x.im", "theory.im", "coherence.y"} <= set(arrays)


@pytest.mark.parametrize(
    "words, code, sentence",
    [
        (["--band", "20,1"], 2, "--band 20,1: the band is 20 to 1 Hz; it must rise"),
        (["--band", "low"], 2, "--band is low; it must be LOW,HIGH in hertz"),
        (["--amplitude", "0"], 2, "--amplitude is 0 N; it must be a finite number > 0"),
        (["--periods", "0"], 2, "--periods is 0"),
        (["--out", "r.txt"], 2, "--out is r.txt; it must end in .csv or .npz"),
        (["--controller", "lqq"], 2, "known are"),
        (["--controller", "rest", "--band", "0.5,20"], 1, "the rod fell"),
    ],
)
def test_what_does_not_work_gets_a_sentence(capsys, words, code, sentence):
    assert main(["bode", *words]) == code
    assert sentence in capsys.readouterr().err


def test_a_force_at_its_limit_is_remarked_on(capsys):
    words = ["--set", "cart.force_limit=0.5", "--amplitude", "0.4", "--band", "0.5,20"]
    assert main(["bode", *words]) == 0
    assert "met its limit of 0.5 N" in capsys.readouterr().err
