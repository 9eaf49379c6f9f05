"""`python -m rbdyn_ros bode`: what it prints, writes and refuses."""

import csv
import json

import numpy as np
import pytest
from simulated_loop import loop_of

from rbdyn_ros.__main__ import main


def test_it_prints_the_margins_and_writes_files(tmp_path, capsys):
    files = [tmp_path / name for name in ("r.csv", "m.json", "p.png")]
    words = [f"--{o}={f}" for o, f in zip(("out", "json", "picture"), files)]
    assert main(["bode", "--controller", "lqr", "--periods", "1", *words]) == 0
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


def test_it_measures_the_loop_of_each_measurement(tmp_path, capsys):
    files = [tmp_path / name for name in ("r.csv", "m.json", "p.png")]
    words = [f"--{o}={f}" for o, f in zip(("out", "json", "picture"), files)]
    words += ["--at", "measurement", "--band", "0.5,20", "--periods", "1"]
    assert main(["bode", *words]) == 0
    said = capsys.readouterr().out.splitlines()
    heads = "one measurement cart x cart y theory tilt x tilt y theory"
    assert said[1].split() == heads.split() and said[11].startswith("the force, L = C P ")
    assert max(map(len, said[:-3])) <= 99
    with open(files[0]) as file:
        first = next(csv.DictReader(file))
    assert float(first["Lxx.re"]) == pytest.approx(float(first["theory.re"]), rel=0.01)
    found, theory = (
        complex(*(float(first[f"{name}.{part}"]) for part in ("re", "im")))
        for name in ("Sthx_thx", "tilt_theory")
    )
    assert found == pytest.approx(1.0 / (1.0 + theory), rel=0.01)
    assert {"Cx_thx.re", "Cy_x.im", "cart_theory.im", "Pthx_x.re"} <= set(first)
    found = json.loads(files[1].read_text())
    assert found["at"] == "measurement"
    for name in ("cart", "tilt"):
        measured, theory = (found["margins"][f"{name}_{of}"] for of in ("y", "theory"))
        assert measured["disk"] == pytest.approx(theory["disk"], rel=0.01)
    assert found["margins"]["tilt_y"]["delay"] == pytest.approx(0.042, abs=0.001)
    assert found["margins"]["x"]["delay"] == pytest.approx(0.1026, abs=0.001)
    assert files[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "words, code, sentence",
    [
        (["--band", "20,1"], 2, "--band 20,1: the band is 20 to 1 Hz; it must rise"),
        (["--band", "low"], 2, "--band is low; it must be LOW,HIGH in hertz"),
        (["--band", "1,2_0"], 2, "--band is 1,2_0; it must be LOW,HIGH in hertz"),
        (["--amplitude", "0"], 2, "--amplitude is 0 N; it must be a finite number > 0"),
        (["--at", "measurement", "--amplitude", "0.1"], 2, "--amplitude is 0.1 m or rad; it must"),
        (["--at", "measurement", "--over-ros"], 2, "--at measurement is for a law that is simul"),
        (["--at", "measurement", "run.csv"], 2, "--at measurement is for a law that is simulated"),
        (["--periods", "0"], 2, "--periods is 0"),
        (["--out", "r.txt"], 2, "--out is r.txt; it must end in .csv or .npz"),
        (["--controller", "lqq"], 2, "known are"),
        (["--set", "cart.force_limit=0"], 2, "cart.force_limit is 0 N; it must be > 0"),
        (["--controller", "rest", "--set", "cart.fixed=true"], 2, "cart.fixed is true; it must"),
        (["--controller", "rest", "--band", "0.5,20"], 1, "the rod fell"),
        (["--set", "faults.command.delay=0.104"], 1, "lqr is not stable, by its theory"),
    ],
)
def test_what_does_not_work_gets_a_sentence(capsys, words, code, sentence):
    assert main(["bode", *words]) == code
    assert sentence in capsys.readouterr().err


def test_a_law_that_raises_is_reported_once(tmp_path, capsys):
    law = tmp_path / "mine.py"
    law.write_text(
        "class Mine:\n"
        "    def command(self, t, state, reference):\n"
        "        return (0.0, 0.0) if t < 0.1 else 1 / 0\n\n"
        "    def reset(self):\n        pass\n\n\n"
        "def design(model, params, options):\n    return Mine()\n"
    )
    assert main(["bode", "--controller", str(law), "--band", "0.5,20"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert "the law mine raised ZeroDivisionError" in said
    assert said.endswith("mine.py:3) while it was excited along x")
    assert (said.count("raised"), "--amplitude" in said) == (1, False)


def test_a_force_at_its_limit_is_remarked_on_and_npz_has_the_columns_of_csv(tmp_path, capsys):
    words = ["--set", "cart.force_limit=0.5", "--amplitude", "0.4", "--band", "0.5,20"]
    assert main(["bode", *words, "--out", str(tmp_path / "r.npz")]) == 0
    assert "met its limit of 0.5 N" in capsys.readouterr().err
    with np.load(tmp_path / "r.npz") as arrays:
        assert {"f", "Lxx.re", "Px_x.im", "theory.im", "coherence.y"} <= set(arrays)


@pytest.fixture
def recorded(tmp_path):
    """A table of 8 s of lqr under an excitation of 0.5 to 20 Hz along y, as a user may make it."""
    from rbdyn_ros.identification import excitation
    from rbdyn_ros.identification.frequency import measurement
    from rbdyn_ros.plant import closed_loop

    loop = loop_of("lqr", "cart.damping=0.5", "joint.damping=0.005")
    wave = excitation.build(0.5, 20.0, loop.period, 0.3, 7).sample(loop.period)
    law = measurement.Excited(loop, wave, 1)
    run = closed_loop.run(
        loop.params, loop.integrator, law, loop.state, 8.0, loop.period, loop.conditions
    )
    table = np.column_stack((run.t[:-1], run.q[:-1], np.array(law.sums)))
    file = tmp_path / "run.csv"
    np.savetxt(file, table, "%.17g", ",", header="t,x,y,qw,qx,qy,qz,Fx,Fy", comments="")
    (tmp_path / "excitation.yaml").write_text(
        "pendulum_controller:\n  ros__parameters:\n    excitation: "
        "{amplitude: 0.3, low: 0.5, axis: y, seed: 7}\n"
    )
    return file, tmp_path / "excitation.yaml"


def test_a_table_that_was_recorded_under_excitation_has_its_response(recorded, tmp_path, capsys):
    run, parameters = recorded
    words = [str(run), f"--params-file={parameters}", f"--out={tmp_path / 'r.npz'}"]
    assert main(["bode", *words, f"--picture={tmp_path / 'p.png'}", "--controller", "lqr"]) == 0
    said = capsys.readouterr().out
    assert "run.csv, a force every 0.002 s: 25 frequencies" in said and "both axes" not in said
    with np.load(tmp_path / "r.npz") as found:
        assert "Lxx.re" not in found
        L = found["Lyy.re"] + 1j * found["Lyy.im"]
        theory = found["theory.re"] + 1j * found["theory.im"]
    assert np.abs(L / theory - 1.0).max() < 0.01


def test_another_excitation_than_that_of_the_record_is_remarked_on(recorded, capsys):
    run, parameters = recorded
    for seed, is_said in ((7, False), (8, True)):
        words = [str(run), f"--params-file={parameters}", f"--seed={seed}"]
        assert main(["bode", *words]) == 0
        said = capsys.readouterr().err
        assert ("along y the response jumps from one frequency to the next" in said) is is_said


def test_a_table_is_not_read_as_what_it_is_not(recorded, capsys):
    run, parameters = recorded
    for words, sentence in (
        ([], "the loop was not excited: excitation.amplitude is 0"),
        (["--amplitude", "0.3", "--set", "period=0.004"], "its commands are 0.002 s apart, and"),
        (["--params-file", str(parameters), "--band", "0.1,20"], "too short: it needs 1 periods"),
        (["--over-ros"], "give one"),
    ):
        assert main(["bode", str(run), *words]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["bode", "--external"]) == 2
    assert "add --over-ros" in capsys.readouterr().err
