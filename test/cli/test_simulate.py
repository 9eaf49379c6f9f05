"""`python -m rbdyn_ros simulate`, from the command line to the file."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.plant.rollout import COLUMNS

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "test" / "golden"
TILTED = "initial.orientation=[0.99619469809174555,0,0.08715574274765818,0]"
FORCED = [
    "input.force_x=[3,2,0]",
    "input.force_y=[2,3,1.5707963267948966]",
    "cart.damping=0.5",
    "joint.damping=0.01",
]


def setting(*assignments):
    return [word for assignment in assignments for word in ("--set", assignment)]


def table(path="run.csv"):
    return np.genfromtxt(path, delimiter=",", names=True)


# golden trajectories
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("golden", "assignments"),
    [("disp_i_drop", [TILTED]), ("disp_iii_forced_rest", [TILTED, *FORCED])],
)
@pytest.mark.parametrize(
    ("integrator", "composition", "step", "tolerance"),
    [
        ("rk4", "none", "0.001", 1e-9),
        ("quaternion_midpoint", "none", "0.001", 5e-4),
        ("quaternion_midpoint", "suzuki4", "0.001", 3e-8),
        ("moser_veselov", "kahan_li8", "0.01", 3e-8),
    ],
)
def test_the_reference_trajectories(
    simulate, golden, assignments, integrator, composition, step, tolerance
):
    chosen = [
        "--integrator",
        integrator,
        "--composition",
        composition,
        "--step",
        step,
        "--every",
        "0.01",
    ]
    code, _, err = simulate(*setting(*assignments, "rod.inertia=[0.4801,0.4801,0.0002]"), *chosen)
    truth, result = table(GOLDEN / f"{golden}.csv"), table()
    assert code == 0 and err == "" and result.dtype.names == COLUMNS
    for name in truth.dtype.names:
        np.testing.assert_allclose(
            result[name],
            truth[name],
            rtol=0,
            atol=1e-14 if name == "t" else tolerance,
            err_msg=name,
        )


# what the options mean
# -------------------------------------------------------------------------------------------


STILL = "nothing moved: the start is an equilibrium"


def test_it_works_without_any_option(simulate):
    """The default rod stands upright at rest: an equilibrium."""
    code, out, _ = simulate()
    assert code == 0 and STILL in out
    rows = table()
    assert len(rows) == 10001 and (rows["t"][0], rows["t"][-1]) == (0.0, 10.0)
    assert (
        not rows["x"].any()
        and (rows["qw"] == 1.0).all()
        and np.allclose(rows["E"], 11.772, rtol=1e-15)
    )


def test_the_shipped_files_and_their_overrides(simulate):
    files = [
        word
        for name in ("pendulum", "simulation")
        for word in ("--params-file", str(ROOT / "config" / f"{name}.yaml"))
    ]
    assert simulate(*files, "--duration", "0.5")[0] == 0
    damped = table()
    assert damped["E"][-1] < damped["E"][0] and damped["qy"][0] == pytest.approx(
        0.08715574274765818, rel=1e-15
    )
    assert (
        simulate(*files, *setting("cart.damping=0", "joint.damping=0"), "--duration", "0.5")[0]
        == 0
    )
    assert np.ptp(table()["E"]) < 1e-4


def test_a_tilt_towards_a_direction(simulate):
    code, out, err = simulate("--tilt", "30", "--azimuth", "90", "--duration", "0.5")
    assert code == 0 and STILL not in out, err
    rows = table()
    start = [rows[name][0] for name in ("qw", "qx", "qy", "qz")]
    assert start == pytest.approx([math.cos(math.pi / 12), -math.sin(math.pi / 12), 0, 0])
    assert np.abs(rows["x"]).max() < 1e-15 < 1e-3 < np.abs(rows["y"]).max()


def test_a_scenario_starts_the_run_and_files_win_over_it(simulate):
    assert simulate("--scenario", "spinning", "--duration", "0.1")[0] == 0
    assert table()["wz"][0] == pytest.approx(4.0 * math.pi)
    Path("slow.yaml").write_text("initial: {angular_velocity: [0, 0, 1]}")
    slow = ("--params-file", "slow.yaml", "--tilt", "20", "--duration", "0.1")
    assert simulate("--scenario", "spinning", *slow)[0] == 0
    assert table()["wz"][0] == 1.0
    assert table()["qy"][0] == pytest.approx(math.sin(math.radians(10.0)))


def test_a_later_file_wins(simulate):
    Path("a.yaml").write_text(
        "/**:\n  ros__parameters:\n    gravity: 9.0\n    integrator: {name: rk4}\n"
    )
    Path("b.yaml").write_text("/**:\n  ros__parameters:\n    gravity: 1.0\n")
    assert (
        simulate("--params-file", "a.yaml", "--params-file", "b.yaml", "--duration", "0")[0] == 0
    )
    assert table()["E"] == pytest.approx(1.2)


def test_npz_and_csv_hold_the_same_numbers(simulate):
    options = [*setting(TILTED), "--duration", "1", "--every", "0.05", "--step", "0.01"]
    assert simulate(*options)[0] == 0 and simulate(*options, out="run.npz")[0] == 0
    rows = table()
    with np.load("run.npz") as file:
        assert len(file["t"]) == 21
        for name in COLUMNS:
            np.testing.assert_array_equal(file[name], rows[name])


def test_rows_do_not_change_the_motion(simulate):
    """Every fifth row of a run is the run with a row every five steps, up to Newton's
    tolerance.
    """
    options = [*setting(TILTED, *FORCED), "--step", "0.01", "--duration", "2"]
    simulate(*options)
    fine = table()
    simulate(*options, "--every", "0.05")
    np.testing.assert_allclose(table()["wy"], fine["wy"][::5], rtol=0, atol=1e-10)


def test_a_duration_between_two_rows_is_cut_and_said(simulate):
    code, _, err = simulate("--step", "0.03", "--duration", "1")
    assert (
        code == 0
        and "the duration, 1 s, is not a multiple of 0.03 s; the last row is at 0.99 s" in err
    )
    assert table()["t"][-1] == 0.99


def test_the_summary_tells_steps_pace_and_energy(simulate):
    code, out, err = simulate(*setting(TILTED), "--duration", "1")
    assert code == 0 and err == ""
    assert (
        out.startswith("run.csv: 1001 rows; 1000 steps of 0.001 s in ")
        and "times real time; energy 11.5" in out
        and "damping" not in out
    )
    assert "the dampings of cart" in simulate(*setting(TILTED, "cart.damping=1"))[1]


def test_a_fixed_cart_stays(simulate):
    assert simulate(*setting(TILTED, "cart.fixed=true"), "--duration", "1")[0] == 0
    rows = table()
    assert not rows["x"].any() and not rows["vx"].any() and np.ptp(rows["qy"]) > 0.1


def test_a_cart_without_mass(simulate):
    assert simulate(*setting(TILTED, "cart.mass=0"), "--duration", "1")[0] == 0
    rows = table()
    height = np.ptp(rows["x"] + 1.2 * 2 * (rows["qw"] * rows["qy"] + rows["qx"] * rows["qz"]))
    assert height < 1e-12, "without a horizontal force the center of mass falls straight down"


# what does not fit
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--params-file", "none.yaml"],
            "none.yaml: cannot read the parameter file: No such file or directory",
        ),
        (
            ["--params-file", "bad.yaml"],
            "bad.yaml:2: rod.mas is not a known parameter; did you mean rod.mass?",
        ),
        (
            ["--set", "rod.mass=-1"],
            "--set rod.mass=-1: rod.mass is -1 kg; it must be a finite number > 0",
        ),
        (["--set", "rod.mass=true"], "rod.mass is true; it must be a finite number > 0"),
        (["--set", "rod.mass=.nan"], "rod.mass is nan kg; it must be a finite number > 0"),
        (
            ["--set", "rod.inertia=[1,1,3]"],
            "no body has such moments: the largest, 3, must be <= the sum of the others, 2",
        ),
        (["--set", "initial.orientation=[0,0,0,0]"], "its norm is 0 and must be 1"),
        (
            ["--set", "initial.orientation=[1,1,0,0]"],
            "its norm is 1.41421356 and must be 1 within 1e-06",
        ),
        (["--set", "initial.angular_velocity=[1,2]"], "it must be a list of 3 finite numbers"),
        (
            ["--set", "cart.fixed=true", "--set", "initial.cart_velocity=[1,0]"],
            "a fixed cart has velocity [0, 0]",
        ),
        (
            ["--integrator", "euler"],
            "--integrator: integrator.name is 'euler'; it must be one of ",
        ),
        (
            ["--composition", "yoshida"],
            "--composition: integrator.composition is 'yoshida'; it must be one of none, suzuki4",
        ),
        (["--integrator", "rk4", "--composition", "suzuki4"], "rk4 is not symmetric"),
        (["--tilt", "181"], "--tilt is 181 degrees; it must be a finite number >= 0 and <= 180"),
        (["--tilt", "1_0"], "--tilt is '1_0'; it must be a finite number"),
        (["--azimuth", "x"], "--azimuth is 'x'; it must be a finite number >= -360 and <= 360"),
        (
            ["--tilt", "5", "--set", "initial.orientation=[1,0,0,0]"],
            "--set initial.orientation=[1,0,0,0] and --tilt both set the start; leave one out",
        ),
        (
            ["--scenario", "spinning", "--azimuth", "5"],
            "--azimuth is given without --tilt, and scenario or parameters set the start",
        ),
        (["--scenario", "nowhere"], "--scenario is nowhere"),
        (
            ["--scenario", "lossy"],
            "--scenario is lossy, which has no effect without a law; add --controller",
        ),
        (
            ["--set", "lqr.force_weight=1"],
            "lqr.force_weight is an option of the law lqr, and there is no law; leave it out, or "
            "choose --controller lqr",
        ),
        (["--step", "0"], "--step: integrator.step is 0 s; it must be a finite number > 0"),
        (["--step=-1e-3"], "--step: integrator.step is -0.001 s; it must be a finite number > 0"),
        (["--step", "fast"], "--step: integrator.step is 'fast'; it must be a finite number > 0"),
        (
            ["--duration", "-1"],
            "command line: --duration is -1 s; it must be a finite number >= 0",
        ),
        (
            ["--duration", "inf"],
            "command line: --duration is 'inf'; it must be a finite number >= 0",
        ),
        (["--every", "0"], "command line: --every is 0 s; it must be a finite number > 0"),
        (["--every", "0.0015"], "--every is 0.0015 s; it must be a multiple of the step, 0.001 s"),
        (["--duration", "1e12"], "is more than 20000000 rows; take an --every of at least"),
        (
            ["--integrator", "euler_lagrange"],
            "euler_lagrange is for a fixed joint without damping",
        ),
    ],
)
def test_bad_input_gets_one_sentence_and_writes_nothing(simulate, options, sentence):
    Path("bad.yaml").write_text("gravity: 1\nrod.mas: 2\n")
    Path("run.csv").write_text("an earlier run")
    code, out, err = simulate(*options)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("python -m rbdyn_ros simulate: ") and sentence in err
    assert Path("run.csv").read_text() == "an earlier run" and len(list(Path().iterdir())) == 2


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("run.txt", "--out is run.txt; it must end in .csv or .npz"),
        ("none/run.csv", "there is no folder"),
        ("folder.csv", "--out is folder.csv, which is a folder; name a file in it"),
    ],
)
def test_a_place_that_cannot_be_written(simulate, out, sentence):
    Path("folder.csv").mkdir()
    code, _, err = simulate(out=out)
    assert code == 2 and sentence in err


def full_from(call, monkeypatch, until=999):
    """Let the disk be full from one call of fsync on: the first one is that of the trial before
    the work.
    """
    calls = []

    def fsync(_):
        calls.append(1)
        if call <= len(calls) < until:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)


def test_a_full_disk_is_found_before_the_work(simulate, monkeypatch):
    full_from(1, monkeypatch)
    code, _, err = simulate("--duration", "1e9", "--every", "1e3")
    assert (
        code == 2 and "--out is run.csv, which cannot be written: No space left on device" in err
    )
    assert not list(Path().iterdir())


@pytest.mark.parametrize("options", [(), ("--controller", "rest")])
def test_a_disk_that_fills_meanwhile_loses_no_earlier_file(
    simulate, monkeypatch, tmp_path_factory, options
):
    Path("run.csv").write_text("an earlier run")
    elsewhere = tmp_path_factory.mktemp("elsewhere")  # is full, too
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    full_from(2, monkeypatch)
    code, _, err = simulate("--duration", "0.1", *options)
    assert code == 1 and "cannot write run.csv: No space left on device; make room" in err
    assert Path("run.csv").read_text() == "an earlier run" and len(list(Path().iterdir())) == 1
    assert not [*elsewhere.iterdir()]


@pytest.mark.parametrize("options", [(), ("--controller", "rest")])
def test_what_cannot_be_written_in_its_place_is_written_elsewhere(
    simulate, monkeypatch, tmp_path, options
):
    Path("run.csv").write_text("an earlier run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    full_from(2, monkeypatch, until=3)
    code, out, err = simulate("--duration", "0.1", *options)
    (rescued,) = (tmp_path / "elsewhere").glob("rbdyn_ros_*/run.csv")
    assert (
        code == 1
        and f"cannot write run.csv: No space left on device; it is in {rescued}" in err
        and err.count("\n") == 1
    )
    assert out.startswith(f"{rescued}: ") and table(rescued)["t"][-1] == 0.1
    assert Path("run.csv").read_text() == "an earlier run"


def test_a_step_too_large_to_converge_keeps_the_rows_before_it(simulate):
    code, out, err = simulate(*setting(TILTED), "--step", "0.25", "--duration", "10")
    assert code == 3 and err.count("\n") == 1
    for part in (
        "quaternion_midpoint did not converge at t = ",
        "residual",
        "iterations",
        "smaller",
        "run.csv has the rows until then",
    ):
        assert part in err
    rows = table()
    assert (
        1 < len(rows) < 41 and np.isfinite(rows["E"]).all() and f"run.csv: {len(rows)} rows" in out
    )


def test_a_signal_keeps_the_rows_so_far(tmp_path):
    """Long enough to show progress, which says that it is on its way; then the signal, here
    SIGINT; test_robust_signals.py sends SIGTERM as well.
    """
    options = [
        "--set",
        TILTED,
        "--integrator",
        "rk4",
        "--step",
        "1e-6",
        "--every",
        "1e-3",
        "--duration",
        "1e4",
        "--out",
        "run.csv",
    ]
    command = [sys.executable, "-m", "rbdyn_ros", "simulate", *options]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, **pipes
    )
    seen = ""
    while "s simulated" not in seen:
        seen += process.stderr.read(1)
        assert process.poll() is None, seen
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    rows = table(tmp_path / "run.csv")
    assert (
        process.returncode == 128 + signal.SIGINT
        and "interrupted at t = " in err
        and "run.csv has the rows until then" in err
    )
    assert (
        len(rows) > 1
        and rows["t"][-1] == pytest.approx((len(rows) - 1) * 1e-3)
        and sorted(path.name for path in tmp_path.iterdir())
        == ["run.csv", "run.csv-metadata.json"]
    )
