"""The interface for Python: what it returns, that it is what the command line does, its errors,
and that nothing of it is loaded before it is used.
"""

import gc
import math
import re
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import rbdyn_ros
from rbdyn_ros import (
    Impulse,
    Params,
    Run,
    compare,
    design,
    evaluate,
    laws,
    linearize,
    read_run,
    simulate,
)
from rbdyn_ros.__main__ import main

ROOT = Path(__file__).parents[1]
QUICK = {"duration": 0.2, "every": 0.01}


def table(path):
    return np.genfromtxt(path, delimiter=",", names=True)


def test_the_import_of_the_package_loads_nothing_of_it():
    """Nor NumPy; every name is there when it is used."""
    code = (
        "import sys, rbdyn_ros; "
        "assert not {'numpy', 'numba', 'matplotlib', 'rbdyn_ros.api'} & set(sys.modules); "
        "assert set(rbdyn_ros.__all__) <= set(dir(rbdyn_ros)); "
        "from rbdyn_ros import simulate; "
        "assert not {'numba', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run((sys.executable, "-c", code), check=True)
    for name in rbdyn_ros.__all__:
        assert getattr(rbdyn_ros, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        rbdyn_ros.simulat  # noqa: B018


# the same as the command line
# ------------------------------------------------------------------------------------------------


def test_a_run_is_that_of_the_command(tmp_path):
    run = simulate(
        tilt=5.0, law="lqr", azimuth=30.0, integrator="rk4", faults={"noise.angle": 1e-3},
        settings={"seed": 3}, pushes=[(0.05, 0.3), Impulse(0.1, 0.2, 90.0, 0.02)], **QUICK,
    )  # fmt: skip
    out = tmp_path / "run.csv"
    words = ["--tilt", "5", "--controller", "lqr", "--azimuth", "30", "--integrator", "rk4"]
    words += ["--set", "faults.noise.angle=1e-3", "--set", "seed=3"]
    words += ["--push", "0.05,0.3", "--push", "0.1,0.2,90,0.02"]
    assert main(["simulate", *words, "--duration=0.2", "--every=0.01", "--out", str(out)]) == 0
    written = table(out)
    assert written.dtype.names == tuple(run.columns)
    for name, column in run.columns.items():
        np.testing.assert_array_equal(column, written[name], err_msg=name)
    assert run.to_csv(tmp_path / "mine.csv").read_bytes() == out.read_bytes()


def test_a_run_without_a_law_is_that_of_the_command_too(tmp_path):
    given = Params(cart_mass=3.0, rod_inertia=(0.4, 0.4, 0.01), rod_center_of_mass=1.1)
    run = simulate(tilt=20.0, params=given, composition="suzuki4", step=0.01, duration=0.5)
    out = tmp_path / "run.npz"
    words = ["--tilt=20", "--composition=suzuki4", "--step=0.01", "--duration=0.5"]
    words += ["--set", "cart.mass=3", "--set", "rod.inertia=[0.4,0.4,0.01]"]
    words += ["--set", "rod.center_of_mass=1.1", "--out", str(out)]
    assert main(["simulate", *words]) == 0
    with np.load(out) as written:
        for name, column in run.columns.items():
            np.testing.assert_array_equal(column, written[name], err_msg=name)
    assert np.isnan(run.force).all() and np.ptp(run.energy) < 1e-5


# what it means
# ------------------------------------------------------------------------------------------------


def test_the_arrays_of_a_run_fit_each_other():
    run = simulate(tilt=10.0, azimuth=90.0, duration=0.5, every=0.05)
    assert run.ok and run.message == "" and len(run.t) == 11
    assert run.tilt[0] == pytest.approx(10.0) and run.tilt[-1] > 10.0
    lean = math.radians(10.0)
    at = (0.0, 2.4 * math.sin(lean), 2.4 * math.cos(lean))
    np.testing.assert_allclose(run.tip[0], at, atol=1e-12)
    np.testing.assert_array_equal(run.cart, run.q[:, :2])
    height = np.linalg.norm(run.tip - np.column_stack((run.cart, 0.0 * run.t)), axis=1)
    np.testing.assert_allclose(height, 2.4)
    assert "no law; quaternion_midpoint, steps of 1 ms; cart 2 kg, rod 1 kg, 2.4 m" == run.title
    lossy = simulate(params=Params(joint_damping=0.01, cart_friction=0.5), duration=0.001)
    assert lossy.title.endswith("damping 0.01 N m s/rad of the joint, friction 0.5 N of the cart")


@pytest.mark.parametrize("azimuth", [0.0, 90.0])
def test_an_impulse_changes_the_momentum_by_its_size(azimuth):
    """Of the pendulum on a cart that nothing else moves: d/dt (Px, Py) is the force on the tip."""
    run = simulate(pushes=[Impulse(0.1, 0.4, azimuth, 0.05)], duration=0.3)
    momentum = np.column_stack((run.columns["Px"], run.columns["Py"]))
    towards = np.array((math.cos(math.radians(azimuth)), math.sin(math.radians(azimuth))))
    np.testing.assert_allclose(momentum[-1], 0.4 * towards, atol=1e-9)
    assert not momentum[run.t <= 0.1].any()
    rows = simulate(pushes=np.array([(0.1, 0.4, azimuth, 0.05)]), duration=0.3)
    np.testing.assert_array_equal(rows.q, run.q)
    assert run.tilt[-1] > 1.0


def test_a_law_of_one_plant_moves_another():
    """A law that is given is not designed anew: with it the force at the start is -K e of its own
    plant.
    """
    law, heavy = design("lqr", Params()), Params(rod_mass=1.5)
    given = simulate(tilt=1.0, law=law, params=heavy, **QUICK)
    anew = simulate(tilt=1.0, law="lqr", params=heavy, **QUICK)
    first = [run.columns["Fx"][0] for run in (given, anew)]
    assert law.gains.shape == (4,) and abs(first[0] - first[1]) > 0.05
    usual = simulate(tilt=1.0, law="lqr", duration=0.002)
    assert usual.force[0, 0] == pytest.approx(-law.gains[2] * math.radians(1.0), rel=1e-3)


def test_the_linear_model_has_the_rates_of_the_nonlinear_plant():
    """A rod that leans by 1e-4 rad at rest: the accelerations of a short run are A e."""
    A, B, period = linearize(Params(cart_mass=1.7))
    assert (A.shape, B.shape, period) == ((4, 4), (4, 1), 0.0)
    run = simulate(
        tilt=math.degrees(1e-4), params=Params(cart_mass=1.7), duration=1e-3, step=1e-3,
        integrator="rk4",
    )  # fmt: skip
    e = np.array((0.0, 0.0, 1e-4, 0.0))
    assert run.columns["vx"][-1] / 1e-3 == pytest.approx((A @ e)[1], rel=1e-4)
    assert run.columns["wy"][-1] / 1e-3 == pytest.approx((A @ e)[3], rel=1e-4)


def test_python_control_gets_the_same_model():
    control = pytest.importorskip("control", reason="python-control is not installed")
    plant = linearize(Params()).state_space()
    np.testing.assert_array_equal(plant.A, linearize(Params()).A)
    held = control.c2d(plant, 0.01)
    np.testing.assert_allclose(held.A, linearize(Params(), 0.01).A, atol=1e-12)
    np.testing.assert_allclose(held.B, linearize(Params(), 0.01).B, atol=1e-12)
    assert linearize(Params(), 0.01).state_space().dt == 0.01


def test_an_evaluation_is_that_of_the_command(tmp_path, capsys):
    scores = evaluate("pd", rows=["S2"], settings={"pd.tilt_gain": 150.0})
    words = ["--controller", "pd", "--rows", "S2", "--quick", "--jobs", "1"]
    words += ["--set", "pd.tilt_gain=150", "--out", str(tmp_path / "scored")]
    code = main(["evaluate", *words])
    assert scores.table in capsys.readouterr().out and str(scores) == scores.table
    assert scores.ok == (code == 0)
    assert scores.values and set(scores.values) <= set(scores.verdicts)


def test_the_laws_are_those_of_the_package():
    assert {"lqr", "mpc", "pd", "rest", "swing_up"} <= set(laws())


def test_a_law_of_a_file_is_evaluated_by_a_script_that_guards_nothing(tmp_path):
    """No process is started, which would run the script again."""
    source = ROOT / "rbdyn_ros/control/laws/pd.py"
    (tmp_path / "mine.py").write_text(source.read_text())
    script = tmp_path / "script.py"
    script.write_text(
        "from rbdyn_ros import evaluate\nprint(evaluate('mine.py', rows='S2').verdicts)\n"
    )
    done = subprocess.run(
        (sys.executable, script), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("{'S2': 'holds'}\n", 0), done.stderr


def test_what_is_returned_prints_in_a_few_lines():
    run = simulate(tilt=5.0, law="lqr", **QUICK)
    assert repr(run) == "<Run lqr: 21 rows until 0.2 s; ok>"
    with pytest.warns(RuntimeWarning, match="did not converge"):
        early = simulate(tilt=5.0, step=0.25, duration=10.0)
    assert repr(early).startswith("<Run quaternion_midpoint: ") and early.message in repr(early)
    assert repr(design("pd")).startswith(
        "<Design pd: a command every 2 ms, at most 20 N; Options("
    )
    model = linearize(Params())
    lines = repr(model).splitlines()
    assert lines[0].startswith("e' = A e + B u;") and len(lines) == 9
    assert f"{model.A[3, 2]:.4f}" in lines[4] and f"{model.B[1, 0]:.4f}" in lines[6]
    assert "-0. " not in repr(model)
    assert repr(linearize(period=0.002)).startswith("e_{k+1} = A e_k + B u_k, 0.002 s apart;")


# files and figures
# ------------------------------------------------------------------------------------------------


def test_a_table_that_is_read_is_the_run(tmp_path):
    run = simulate(tilt=10.0, law="lqr", **QUICK)
    run.to_csv(tmp_path / "run.csv")
    read = read_run(tmp_path / "run.csv")
    np.testing.assert_array_equal(read.tip, run.tip)
    np.testing.assert_array_equal(read.force, run.force)
    assert (read.title, read.name, read.rod_length) == (run.title, "run", 2.4)
    (tmp_path / "run.csv-metadata.json").unlink()
    assert np.isnan(read_run(tmp_path / "run.csv").tip).all()


def test_a_figure_of_a_run_has_its_curves_and_its_title():
    run = simulate(tilt=10.0, law="lqr", **QUICK)
    figure = run.plot()
    by_label = {axes.get_ylabel(): axes for axes in figure.axes}
    assert list(by_label) == ["tilt [°]", "cart [m]", "force [N]", "energy [J]", "y [m]"]
    np.testing.assert_array_equal(by_label["tilt [°]"].lines[0].get_ydata(), run.tilt)
    np.testing.assert_array_equal(by_label["energy [J]"].lines[0].get_ydata(), run.energy)
    np.testing.assert_array_equal(by_label["y [m]"].lines[0].get_xdata(), run.tip[:, 0])
    assert figure.get_suptitle() == run.title
    for word in ("lqr", "every 2 ms", "seed 0", "quaternion_midpoint", "rod 1 kg, 2.4 m"):
        assert word in run.title


def test_runs_are_laid_over_each_other(tmp_path):
    runs = [simulate(tilt=tilt, law="lqr", **QUICK) for tilt in (5.0, 10.0)]
    figure = compare(*runs, path=tmp_path / "both.svg")
    tilt = figure.axes[0]
    assert [line.get_label() for line in tilt.lines] == ["lqr (1)", "lqr (2)"]
    assert len({line.get_color() for line in tilt.lines}) == 2
    assert "lqr (1) and lqr (2)" in (tmp_path / "both.svg").read_text()
    runs[0].to_csv(tmp_path / "a.csv")
    named = compare(tmp_path / "a.csv", runs[1], labels=["small", "large"])
    assert [line.get_label() for line in named.axes[0].lines] == ["small", "large"]


def test_a_duration_between_two_rows_warns():
    with pytest.warns(
        RuntimeWarning, match="0.025 s, is not a multiple of 0.01 s; the last row is"
    ):
        run = simulate(tilt=5.0, duration=0.025, every=0.01)
    assert run.t[-1] == 0.02 and run.ok


def test_a_figure_has_scales_that_can_be_read(tmp_path):
    """The energy without its start where it is conserved; y only where there is y; one row."""
    falling, caught = simulate(tilt=5.0, **QUICK), simulate(tilt=5.0, law="lqr", **QUICK)
    labels = [axes.get_ylabel() for axes in falling.plot().axes]
    assert labels == ["tilt [°]", "cart [m]", "change of energy [J]", "y [m]"]
    drift = falling.plot().axes[2].lines[0].get_ydata()
    np.testing.assert_array_equal(drift, falling.energy - falling.energy[0])
    both = compare(falling, caught)
    assert [axes.get_ylabel() for axes in both.axes[1:4]] == [
        "cart [m]",
        "force [N]",
        "energy [J]",
    ]
    skew = simulate(tilt=5.0, law="lqr", azimuth=30.0, **QUICK)
    assert compare(skew, caught).axes[1].get_ylabel() == "cart (y thin) [m]"
    alone = skew.plot(tmp_path / "run.pdf")
    assert [text.get_text() for text in alone.legends[0].texts] == ["along x", "along y"]
    assert not any(axes.get_legend() for axes in alone.axes)
    aside = simulate(tilt=5.0, law="lqr", azimuth=90.0, **QUICK).plot()
    assert [text.get_text() for text in aside.legends[0].texts] == ["along y"]
    assert not caught.plot().legends
    assert alone.get_figwidth() < 7.3, "8 points stay 8 points in the width of a page"
    one = simulate(tilt=5.0, duration=0.0).plot(tmp_path / "one.png")
    assert all(axes.lines[0].get_marker() == "." for axes in one.axes[:3])


def test_a_run_without_rows_is_named():
    run = simulate(tilt=5.0, duration=0.0)
    empty = Run({name: values[:0] for name, values in run.columns.items()}, "nothing")
    assert repr(empty) == "<Run nothing: 0 rows; ok>"
    with pytest.raises(ValueError, match="the run nothing has no rows; a figure needs one"):
        empty.plot()


def test_figures_belong_to_nobody_else():
    """A notebook shows what a cell returns, once, and pyplot keeps none of them."""
    import matplotlib.pyplot as plt

    run = simulate(tilt=5.0, duration=0.0)
    refs = [weakref.ref(run.plot()) for _ in range(3)]
    gc.collect()
    assert not plt.get_fignums() and not any(ref() for ref in refs)


def test_a_run_that_ends_early_warns_and_keeps_its_rows():
    with pytest.warns(RuntimeWarning, match="quaternion_midpoint did not converge at t = "):
        run = simulate(tilt=5.0, step=0.25, duration=10.0)
    assert not run.ok and 1 < len(run.t) < 41 and "take a smaller" in run.message


# errors
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: simulate(tilt=181.0),
            "simulate: tilt is 181.0 degrees; it must be a finite number >= 0 and <= 180",
        ),
        (lambda: simulate(tilt="ten"), "simulate: tilt is 'ten'; it must be a finite number >= 0"),
        (
            lambda: simulate(duration=-1.0),
            "simulate: duration is -1.0 s; it must be a finite number >= 0",
        ),
        (
            lambda: simulate(every=0.0015),
            "simulate: every is 0.0015 s; it must be a multiple of the step, 0.001 s",
        ),
        (lambda: simulate(law="lqrr"), "simulate: law is 'lqrr'; did you mean lqr? known are "),
        (
            lambda: simulate(integrator="euler"),
            "the integrator's name: integrator.name is 'euler'; it must be one of ",
        ),
        (
            lambda: simulate(step=0.0),
            "the integrator's step: integrator.step is 0.0 s; it must be a finite number > 0",
        ),
        (
            lambda: simulate(params=Params(rod_mass=-1.0)),
            "simulate: params: rod.mass is -1.0 kg; it must be a finite number > 0",
        ),
        (
            lambda: simulate(law="lqr", faults={"noise.angel": 1.0}),
            "faults: faults.noise.angel is not a known parameter",
        ),
        (
            lambda: simulate(faults={"noise.angle": 1.0}),
            "faults: faults.noise.angle cannot be set",
        ),
        (
            lambda: simulate(settings={"rod.mas": 1.0}),
            "settings: rod.mas is not a known parameter; did you mean rod.mass?",
        ),
        (lambda: simulate(pushes=[(1.0,)]), "pushes is 1.0; it must be TIME,IMPULSE"),
        (lambda: simulate(pushes=[1.0]), "pushes is [1.0]; it must be a list of Impulse"),
        (lambda: simulate(pushes=1.0), "pushes is 1.0; it must be a list of Impulse"),
        (lambda: simulate(pushes=Impulse(1.0, 1.0)), "it must be a list of Impulse"),
        (
            lambda: simulate(pushes=[(0.5, 1.0)], duration=0.5),
            "the time of pushes is 0.5 s; it must be before the end, 0.5 s",
        ),
        (
            lambda: simulate(every=1.0, duration=0.5),
            "every is 1 s; it must be at most the duration, 0.5 s",
        ),
        (lambda: simulate(law=3), "law is 3; it must be the name of a law, the path of its file"),
        (lambda: simulate(params=[1.0]), "simulate: params is [1.0]; it must be a Params"),
        (lambda: simulate(settings=["seed"]), "settings is ['seed']; it must be a dict"),
        (
            lambda: simulate(pushes=[(-1.0, 1.0)]),
            "the time of pushes is -1.0 s; it must be a finite number >= 0",
        ),
        (lambda: simulate(scenario="nowhere"), "simulate: scenario is nowhere"),
        (lambda: simulate(files="nowhere"), "simulate: files is nowhere"),
        (
            lambda: linearize(period=-1.0),
            "linearize: period is -1.0 s; it must be a finite number >= 0",
        ),
        (
            lambda: linearize(Params(rod_mass=0.0)),
            "linearize: Params: rod.mass is 0.0 kg; it must be a finite number > 0",
        ),
        (lambda: design("nothing"), "design: law is 'nothing'; known are "),
        (
            lambda: design("lqr", settings={"pd.tilt_gain": 1.0}),
            "is an option of the law pd, and the law is lqr",
        ),
        (
            lambda: design("lqr", settings={"initial.cart_velocity": [1.0, 0.0]}),
            "has no effect on a law; leave it out",
        ),
        (lambda: linearize([1.0]), "linearize: params is [1.0]; it must be a Params"),
        (lambda: evaluate("lqrr"), "evaluate: law is 'lqrr'; did you mean lqr?"),
        (lambda: evaluate("lqr", rows=["S99"]), "evaluate: rows: "),
        (lambda: evaluate("lqr", suite="nowhere"), "evaluate: suite is nowhere"),
        (lambda: read_run("none.csv"), "read_run: none.csv: there is no such file"),
        (lambda: compare(), "compare: there are 0 runs; a figure shows 1 to 40"),
        (lambda: compare(["none.csv"]), "compare: a run is ['none.csv']; it must be a Run"),
        (lambda: compare("none.csv", labels="a"), "labels is 'a'; it must be a list"),
        (lambda: compare("none.csv", labels=["a"]), "none.csv: there is no such file"),
    ],
)
def test_an_error_is_one_sentence_that_names_the_argument(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as raised:
        call()
    assert "--" not in str(raised.value) and "\n" not in str(raised.value)


def test_a_wrong_suffix_or_number_of_labels_is_named(tmp_path):
    run = simulate(tilt=10.0, duration=0.01)
    with pytest.raises(ValueError, match="path is run.jpg; it must end in .png, .svg or .pdf"):
        run.plot("run.jpg")
    with pytest.raises(ValueError, match="path is run.txt; it must end in .csv or .npz"):
        run.to_csv("run.txt")
    with pytest.raises(ValueError, match="labels has 1 words; it must have 2, one for each run"):
        compare(run, run, labels=["a"])


def test_contacts_of_a_record_are_refused_with_the_way_to_set_them():
    from rbdyn_ros.types import Contacts

    with pytest.raises(ValueError, match="params has contacts; set them by name"):
        simulate(params=Params(contacts=Contacts(floor=1.0)))


# pages
# ------------------------------------------------------------------------------------------------


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("control", reason="python-control is not installed")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "doc/python.md").read_text(), re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        exec(block, {})
    for name in ("run.pdf", "run.csv", "run.csv-metadata.json", "laws.svg"):
        assert (tmp_path / name).stat().st_size, name


def test_the_code_of_the_readme_runs_in_three_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len([line for line in block.splitlines() if line]) == 3
    exec(block, {})
    assert [path.suffix for path in tmp_path.iterdir()] == [".pdf"]
