"""`python -m rbdyn_ros simulate --controller`: a closed loop to a table, with the law of a file
too.
"""

import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest
from rbdyn_ros.evaluation.metrics import Scenario
from rbdyn_ros.integrators.select import select
from rbdyn_ros.parameters.tables import all_parameters
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults, SensorNoise
from rbdyn_ros.schema import defaults

ROOT = Path(__file__).parents[2]
TILTED = ("--set", "initial.orientation=[0.99619469809174555,0,0.08715574274765818,0]")
LAW = """\
from typing import NamedTuple

class Options(NamedTuple):
    gain: float = 3.0

class Pull:
    def __init__(self, gain):
        self.gain = gain
    def command(self, t, state, reference):
        {body}
    {reset}

def design(model, params, options):
    return Pull(options.gain)
"""
NO_OBSERVER = "observer.sensors=none"
RESET = "def reset(self): pass"


@pytest.fixture
def simulate(tmp_path, capsys, monkeypatch):
    """simulate(*options) in a folder: (exit code, rows, what was said, complaints)."""
    monkeypatch.chdir(tmp_path)

    def run(*options):
        code = main(["simulate", *options, "--out", "run.csv"])
        rows = (
            np.genfromtxt("run.csv", delimiter=",", names=True)
            if Path("run.csv").exists()
            else None
        )
        return (code, rows, *capsys.readouterr())

    return run


def test_a_law_catches_a_rod_that_leans_by_10_degrees(simulate):
    code, rows, out, err = simulate("--controller", "lqr", "--every", "0.01")
    assert code == 0 and len(rows) == 1001 and "nothing moved" not in out, err
    tilt = 2.0 * np.degrees(np.arcsin(np.hypot(rows["qx"], rows["qy"])))
    assert tilt[0] == pytest.approx(10.0) and tilt[-1] < 0.01
    turned = simulate("--controller", "lqr", "--every", "0.01", "--azimuth", "90")[1]
    np.testing.assert_allclose(turned["y"], rows["x"], atol=1e-9)


def test_a_law_that_has_nothing_to_do_is_said(simulate):
    code, rows, out, _ = simulate("--controller", "lqr", "--tilt", "0", "--duration", "1")
    assert code == 0 and not rows["Fx"][:-1].any()
    assert "nothing moved: the start is an equilibrium" in out


def test_a_scenario_may_name_the_law_and_a_given_one_wins(simulate):
    code, rows, out, err = simulate("--scenario", "swing_up", "--every", "0.01")
    assert code == 0 and "of the law swing_up" in out and rows["qw"][0] == 0.0, err
    assert np.hypot(rows["qx"], rows["qy"])[-1] < 1e-3
    how = ("--scenario", "swing_up", "--controller", "rest", "--duration", "0.1")
    assert "of the law rest" in simulate(*how)[2]


def test_an_option_of_another_law_names_that_law(simulate):
    code, _, _, err = simulate("--controller", "pd", "--set", "lqr.force_weight=3")
    sentence = "lqr.force_weight is an option of the law lqr, and the law is pd; leave it out, or"
    assert code == 2 and sentence in err and err.count("\n") == 1


def test_rk4_takes_a_light_rod_whose_spin_stops_within_a_step(simulate):
    """d / I_3 is 8000/s, and the attitude gives the spin a round-off."""
    plant = ("rod.mass=0.05", "rod.length=0.1", "rod.radius=0.005", "joint.damping=0.005")
    lean = "initial.orientation=[0.9990482216, -0.0169863, 0.0401761, 0.0]"
    options = [word for one in (*plant, lean) for word in ("--set", one)]
    for step in ("0.001", "0.002"):
        how = ("--controller", "lqr", "--integrator", "rk4", "--step", step)
        code, rows, _, err = simulate(*how, *options)
        assert code == 0 and np.hypot(rows["qx"], rows["qy"])[-1] < 1e-9, err


@pytest.mark.parametrize("sensors", ("encoders", "imu"))
def test_the_law_is_behind_the_observer_that_the_evaluation_has(simulate, sensors):
    given = {
        "observer.sensors": sensors,
        **{"observer.cart": 0.01, "observer.angle": 0.002, "observer.gyroscope": 0.004},
        **{
            "faults.noise.cart": 0.01,
            "faults.noise.angle": 0.002,
            "faults.noise.gyroscope": 0.004,
        },
        **{"observer.accelerometer": 0.1, "faults.noise.accelerometer": 0.1, "seed": 3},
    }
    options = [word for item in given.items() for word in ("--set", "{}={}".format(*item))]
    how = ("--controller", "lqr", *TILTED, "--integrator", "rk4", "--duration", "1")
    code, rows, out, err = simulate(*how, *options)
    assert code == 0, err
    faults = Faults(noise=SensorNoise(cart=0.01, angle=0.002, gyroscope=0.004, accelerometer=0.1))
    start = spherical_pendulum.upright(np.radians(10.0))
    bench = Bench(ControllerUnderTest("lqr", defaults(all_parameters().values()), ()))
    truth = bench.run(Scenario(observer=sensors, faults=faults, seed=3), start, 1.0)
    np.testing.assert_allclose(
        np.column_stack([rows[name] for name in ("x", "y", "vx", "vy")]),
        np.column_stack((truth.q[:, :2], truth.v[:, :2])), rtol=0, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(rows["Fx"][:-1], truth.force[:, 0], rtol=0, atol=1e-9)
    assert not np.array_equal(rows["Fx"], simulate(*how, *options, "--set", NO_OBSERVER)[1]["Fx"])


def law(body="return self.gain * (reference - state.q[:2])", reset=RESET, name="pull.py") -> str:
    Path(name).write_text(LAW.format(body=body, reset=reset))
    return name


def test_the_force_of_a_row_is_all_that_acts_on_the_cart(simulate):
    """Without friction the horizontal momentum grows by F h; sines act beside the law's force."""
    sines = ("--set", "input.force_x=[4,3,0.5,2,200,1]", "--set", "input.force_y=[3,5,0]")
    how = ("--controller", "lqr", *sines, "--integrator", "rk4", "--duration", "1")
    code, rows, _, err = simulate(*how)
    assert code == 0, err
    for force, momentum in (("Fx", "Px"), ("Fy", "Py")):
        np.testing.assert_allclose(0.002 * rows[force][:-1], np.diff(rows[momentum]), atol=1e-8)


def test_a_cart_beyond_its_travel_is_said(simulate):
    how = ("--controller", "lqr", "--set", "initial.cart_velocity=[0,-1]", "--duration", "4")
    code, rows, out, _ = simulate(*how, "--set", "cart.travel=0.2")
    first = rows["t"][np.abs(rows["y"]) > 0.2][0]
    assert code == 0 and f"left its travel of 0.2 m at t = {first:.3f} s; largest force" in out
    assert "left its travel" not in simulate(*how)[2]


def test_the_rows_are_those_of_the_closed_loop(simulate):
    """Against the closed loop that the evaluation measures, called by hand."""
    code, rows, out, err = simulate(
        "--controller", "lqr", *TILTED, "--integrator", "rk4", "--duration", "2", "--every", "0.01"
    )
    params = spherical_pendulum.Params()
    designed = lqr.design(spherical_pendulum, params, lqr.Options())
    start = spherical_pendulum.upright(np.radians(10.0))
    conditions = closed_loop.Conditions(force_limit=20.0)
    truth = closed_loop.run(params, select("rk4"), designed, start, 2.0, 0.002, conditions)
    assert code == 0 and err == "" and "1000 commands of the law lqr, one in 0.002 s" in out
    names = ("x", "y", "qw", "qx", "qy", "qz"), ("vx", "vy", "wx", "wy", "wz"), ("Fx", "Fy")
    mean = truth.force.reshape(-1, 5, 2).mean(axis=1)  # from a row to the next
    for columns, true in zip(
        names, (truth.q[::5], truth.v[::5], np.vstack((mean, [np.nan, np.nan])))
    ):
        np.testing.assert_allclose(
            np.column_stack([rows[name] for name in columns]), true, rtol=0, atol=1e-12
        )
    assert rows["t"].tolist() == (0.01 * np.arange(201)).tolist()


def test_the_energy_of_the_rows_is_that_of_a_run_without_a_law(simulate):
    _, free, *_ = simulate(*TILTED, "--integrator", "rk4", "--duration", "0.5", "--every", "0.01")
    _, rested, *_ = simulate(
        "--controller",
        "rest",
        *TILTED,
        "--integrator",
        "rk4",
        "--duration",
        "0.5",
        "--every",
        "0.01",
    )
    for name in free.dtype.names[:-2]:  # without the integrator's iterations and residual
        np.testing.assert_allclose(rested[name], free[name], rtol=0, atol=1e-12, err_msg=name)


def test_options_come_from_files_and_from_the_command_line(simulate):
    """u = -gain x, from x = 1: the first force tells the gain."""
    start = ("--set", "initial.cart_position=[1,0]", "--duration", "0.01")
    Path("gain.yaml").write_text(
        "/**/pendulum_controller:\n  ros__parameters:\n    pull.gain: 5.0\n    period: 0.005\n"
    )
    given = ("--controller", law(), *start)
    assert simulate(*given)[1]["Fx"][0] == -3.0
    rows = simulate(*given, "--params-file", "gain.yaml")[1]
    assert rows["Fx"][0] == -5.0 and rows["t"][1] == 0.005
    assert (
        simulate(*given, "--params-file", "gain.yaml", "--set", "pull.gain=7")[1]["Fx"][0] == -7.0
    )
    assert simulate(*given, "--set", "reference=[-1,0]")[1]["Fx"][0] == -6.0
    assert simulate(*given, "--set", "cart.force_limit=2")[1]["Fx"][0] == -2.0
    assert simulate(*given, "--set", "faults.actuator.loss=0.5")[1]["Fx"][0] == -1.5


def test_a_force_known_in_advance_acts_beside_the_law(simulate):
    pushed = ("--set", "input.force_x=[3,2,0]", "--duration", "0.5", *TILTED)
    rested = simulate("--controller", "rest", *pushed)[1]
    free = simulate(*pushed, "--every", "0.002")[1]
    np.testing.assert_allclose(rested["x"], free["x"], rtol=0, atol=1e-9)


def test_an_edit_is_run(simulate):
    start = ("--set", "initial.cart_position=[1,0]", "--duration", "0.01")
    assert simulate("--controller", law(), *start)[1]["Fx"][0] == -3.0
    assert simulate("--controller", law("return -4 * state.q[:2]"), *start)[1]["Fx"][0] == -4.0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--controller", "lqrr"), "controller is 'lqrr'; did you mean lqr? known are "),
        (
            ("--controller", "lqr", "--set", "lqr.tilt_wait=1"),
            "lqr.tilt_wait is not a known parameter; did you mean lqr.tilt_weight?",
        ),
        (("--controller", "lqr", "--set", "lqr.tilt_weight=-1"), "lqr.tilt_weight is -1"),
        (
            ("--controller", "lqr", "--set", "period=0.0015"),
            "the control period is 0.0015 s; it must be a multiple of the step, 0.001 s",
        ),
        (
            ("--controller", "lqr", "--every", "0.003"),
            "--every is 0.003 s; it must be a multiple of the control period, 0.002 s",
        ),
        (("--controller", "lqr", "--events", "e.csv"), "the pendulum meets nothing"),
        (
            ("--controller", "lqr", "--set", "period=1e-8", "--step", "1e-8"),
            "is more than 20000000 rows",
        ),
        (  # in 0.0.1 the cart went there; the controller node refuses it with the same sentence
            ("--controller", "lqr", "--set", "reference=[0,-3]"),
            "reference is (0, -3) m; it must be within cart.travel, 2 m",
        ),
        (("--set", "period=0.01"), "period cannot be set; it is a parameter of the nodes"),
    ],
)
def test_bad_input_is_one_sentence(simulate, options, sentence):
    code, rows, out, err = simulate(*options)
    assert code == 2 and rows is None and out == "" and err.count("\n") == 1 and sentence in err, (
        err
    )


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("raise KeyError('gain')", "the law pull raised KeyError at t = 0.000 s: 'gain'"),
        (
            "return float('nan'), 0.0",
            (
                "the law pull returned (nan, 0.0) at t = 0.000 s; it must return two finite "
                "forces [N]"
            ),
        ),
        ("return 1.0", "the law pull returned 1.0 at t = 0.000 s"),
    ],
)
def test_a_law_that_cannot_be_asked_is_exit_code_3(simulate, body, sentence):
    code, rows, _, err = simulate("--controller", law(body))
    assert code == 3 and sentence in err and err.count("\n") == 1 and rows is None


def test_states_that_a_law_refuses_are_counted(simulate):
    name = law("if 0.0995 < t < 0.1035: raise ValueError('no')\n        return 1.0, 0.0")
    code, rows, out, _ = simulate("--controller", name)
    assert code == 0 and "states refused, with zero force there: 2" in out
    assert rows["Fx"][:-1].min() == 0.0 and rows["Fx"][:-1].max() == 1.0


def test_a_law_that_fails_later_keeps_the_rows_until_then(simulate):
    name = law(
        "if state.q[0] < 0.9: raise RuntimeError('enough')\n        return -3 * state.q[:2]"
    )
    Path("run.csv").write_text("an earlier run")
    Path(name).write_text(
        Path(name)
        .read_text()
        .replace("state.q[0] < 0.9", "0 < t and state.q[0] < 0.9 and state.q[0] > 0.1")
    )
    code, rows, _, err = simulate("--controller", name, "--set", "initial.cart_position=[1,0]")
    assert (
        code == 3
        and "the law pull raised RuntimeError at t = " in err
        and "run.csv has the rows until then" in err
    )
    assert 10 < len(rows) < 1000 and rows["x"][-1] < 0.9 and np.isnan(rows["Fx"][-1])


def test_an_excitation_is_refused_as_only_the_node_adds_it(simulate, tmp_path):
    file = tmp_path / "excitation.yaml"
    file.write_text("pendulum_controller: {ros__parameters: {excitation.amplitude: 3.0}}\n")
    code, rows, _, err = simulate("--controller", "lqr", "--params-file", str(file))
    assert code == 2 and rows is None
    assert "excitation.yaml:1: excitation.amplitude has no effect without the controller" in err


def test_parameters_may_come_through_a_pipe(simulate):
    """As from <(command) of a shell, which can be read only once."""
    reader, writer = os.pipe()
    with open(writer, "w") as file:
        file.write(
            "pendulum_simulator: {ros__parameters: {initial.cart_position: [0.25, 0]}}\n"
            "pendulum_controller: {ros__parameters: {lqr.force_weight: 0.2}}\n"
        )
    code, rows, _, err = simulate(
        *("--controller", "lqr", "--duration", "0.1", "--params-file", f"/dev/fd/{reader}")
    )
    os.close(reader)
    assert code == 0 and rows["x"][0] == 0.25, err


def test_a_law_without_reset_gets_a_sentence(simulate):
    code, _, _, err = simulate("--controller", law(reset="pass"))
    assert (
        code == 2
        and "the law pull: the Pull that design() returned has no method reset(self), which "
        "forgets the past; write it"
        in err
    )


def test_a_law_whose_reset_raises_gets_a_sentence(simulate):
    name = law(reset="def reset(self): raise RuntimeError('never')")
    code, rows, _, err = simulate("--controller", name)
    assert code == 2 and rows is None and err.count("\n") == 1
    assert "the law pull: its reset raised RuntimeError: never (" in err and "pull.py:11)" in err


def test_a_signal_keeps_the_rows_so_far(tmp_path):
    options = ["--controller", "rest", "--duration", "1e4", "--every", "0.1", "--out", "run.csv"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "rbdyn_ros", "simulate", *options]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    seen = ""
    while "s simulated" not in seen:
        seen += process.stderr.read(1)
        assert process.poll() is None, seen
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    rows = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    assert (
        process.returncode == 128 + signal.SIGTERM
        and "interrupted at t = " in err
        and "run.csv has the rows until then" in err
    )
    assert len(rows) > 1 and rows["t"][-1] == pytest.approx(0.1 * (len(rows) - 1))


SMALL = {"rod.length": 0.1, "rod.mass": 0.05, "cart.mass": 0.1, "cart.force_limit": 2.0}
LARGE = {"rod.length": 10.0, "rod.mass": 10.0, "cart.mass": 20.0, "cart.force_limit": 200.0}
SIZES = {
    "10 cm and 2 N": (SMALL | {"cart.travel": 0.2, "period": 0.002}, 5.0, 4.0),
    "10 cm and 2 N, every 20 ms": (SMALL | {"cart.travel": 0.2, "period": 0.02}, 5.0, 4.0),
    "10 m": (LARGE | {"cart.travel": 10.0, "period": 0.02}, 5.0, 25.0),
    "2 N": ({"cart.force_limit": 2.0, "period": 0.002}, 1.0, 8.0),
    "2 N, every 20 ms": ({"cart.force_limit": 2.0, "period": 0.02}, 1.0, 8.0),
    "5 m": ({"rod.length": 5.0, "period": 0.002}, 2.0, 12.0),
}
WHY_NOT = {  # what a law says where its defaults are not for a plant of that size
    "pd": "take other gains",
    "h_infinity": "does not stabilize; take a shorter period",
    "tracking": "take a smaller",
    "mppi": "take mppi.horizon <= ",
}
DOUBTS = {  # what it says where it is designed, and will not hold the rod
    "policy": "near upright policy is not stable",
    "h_infinity": "h_infinity recovers about 0.67 degrees",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "law",
    [
        *("h_infinity", "lqg", "lqr", "mpc", "mppi", "nested_lqr", "pd", "policy", "swing_up"),
        "tracking",
    ],
)
def test_the_defaults_of_a_law_balance_a_plant_of_another_size_or_say_why_not(simulate, law, size):
    values, tilt, duration = SIZES[size]
    duration *= 0.5 if law == "mppi" else 1.0  # which computes for as long as the rod moves
    sets = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    words = ["--tilt", str(tilt), "--duration", str(duration), "--every", "0.1"]
    code, rows, _, complaint = simulate("--controller", law, *words, *sets)
    if code:
        assert code == 2 and WHY_NOT[law] in complaint
        return
    up = 1.0 - 2.0 * (rows["qx"] ** 2 + rows["qy"] ** 2)
    # `tracking` leans as it follows its path
    is_upright = up.min() > math.cos(math.radians(20.0)) and up[-1] > math.cos(math.radians(6.0))
    has_room = np.hypot(rows["x"], rows["y"]).max() < values.get("cart.travel", 2.0)
    doubts = re.findall("note: (.*)", complaint)  # beside a progress bar
    assert (is_upright and has_room) == (not doubts)
    if doubts:
        assert len(doubts) == 1 and DOUBTS[law] in doubts[0]


@pytest.mark.parametrize("law", ["lqr", "pd", "lqg", "h_infinity"])
@pytest.mark.parametrize("plant", [{}, {"rod.length": 0.5}, {"period": 0.02}])
def test_a_linear_law_recovers_the_tilt_that_its_note_says(simulate, law, plant):
    """The note is of the linear loop; the run is of the pendulum."""
    values = {"cart.force_limit": 8.0, **plant}
    sets = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]

    def run(tilt):
        words = ("--tilt", str(tilt), "--duration", "6", "--every", "0.1")
        code, rows, _, note = simulate("--controller", law, *words, *sets)
        assert code == 0, note
        tilts = np.degrees(np.arccos(1.0 - 2.0 * (rows["qx"] ** 2 + rows["qy"] ** 2)))
        return tilts, "".join(re.findall("note: (.*)", note))

    largest = float(re.search(rf"{law} recovers about ([0-9.]+) degrees", run(50.0)[1])[1])
    tilt, note = run(0.9 * largest)
    assert tilt[-1] < 2.0 and note == ""
    tilt, note = run(1.2 * largest)
    assert tilt.max() > 60.0 and "falls" in note


def test_a_linear_law_of_a_file_that_is_not_stable_is_said(simulate):
    np.savez("weak.npz", K=np.array([-1.0, -1.0, -20.0, -1.0]))
    how = ("--controller", "state_space", "--tilt", "5", "--duration", "6")
    code, rows, _, note = simulate(*how, "--set", "state_space.file=weak.npz")
    assert code == 0 and np.hypot(rows["qx"], rows["qy"]).max() > 0.5
    assert "near upright state_space is not stable with a period of 0.002 s" in note


def test_a_law_that_swings_up_and_a_start_that_moves_get_no_note(simulate):
    how = ("--duration", "0.1", "--set", "cart.force_limit=2", "--tilt", "10")
    assert "falls" in simulate("--controller", "lqr", *how)[3]
    moves = ("--set", "initial.cart_velocity=[1,0]")
    assert "falls" not in simulate("--controller", "mppi", *how)[3]
    assert "falls" not in simulate("--controller", "lqr", *how, *moves)[3]
