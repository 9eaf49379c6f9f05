"""Integrators of somebody else: by the path of a file, by the entry point of an installed package,
and what is said of one that cannot be used.
"""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros import __main__ as program
from rbdyn_ros.integrators.derivatives import along
from rbdyn_ros.integrators.select import select
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, upright
from rbdyn_ros.plant import rollout
from rbdyn_ros.plant.setup import plant_setup
from rbdyn_ros.schema import defaults

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = str(EXAMPLES / "implicit_midpoint.py")
EULER = """
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.kernel import kernel
from rbdyn_ros.integrators import boundary, rk4
from rbdyn_ros.pendulum import rod_on_cart

ORDER = 1

@kernel
def advance(system, options, input, h, n, state, reaction):
    load, (t, q, v) = rod_on_cart.load(input), state
    y = boundary.read_plant(system, q, v)
    for i in range(n):
        x, Q, w, u = rk4.move(y, h, rk4.rates(system, load, (0.0, 0.0), y[1], y[2], y[3]))
        y = x, unit_quaternion.normalize(Q), w, u
    boundary.write(q, v, y[0], y[1], y[2], y[3])
    return n, 0, 0.0
"""

OPTIONS = """
from typing import NamedTuple
ORDER = 1
class Options(NamedTuple):
    mu: float
"""


def run(integrator, h=0.005, duration=2.0, spin=1.0):
    """Two seconds of a spinning rod that falls from 20 degrees."""
    state = upright(np.radians(20.0))
    state.v[:] = (0.2, -0.1, 0.3, -0.2, spin)
    system, rows = build(Params(cart_mass=2.0)), round(duration / 0.1)
    return rollout.run(integrator, system, state, no_input(), h, rows, round(0.1 / h))


def test_the_example_keeps_the_norm_and_agrees_with_the_others():
    mine, known = run(select(EXAMPLE, "kahan_li8")), run(select("moser_veselov", "kahan_li8"))
    assert mine.ok and known.ok
    np.testing.assert_allclose(mine.q, known.q, atol=1e-10)
    np.testing.assert_allclose(mine.v, known.v, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(mine.q[:, 2:], axis=1), 1.0, atol=1e-14)


def test_the_example_is_of_order_2_and_symmetric():
    exact = run(select("moser_veselov", "kahan_li8"), 0.0025).q[-1]
    errors = [abs(run(select(EXAMPLE), h).q[-1] - exact).max() for h in (0.01, 0.005)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)
    assert select(EXAMPLE).symmetric and select(EXAMPLE, "suzuki4").order == 4
    assert (select(EXAMPLE, "suzuki4").stages, select("rk4").stages) == (5, 4)


def test_the_force_of_the_joint_is_that_of_the_others():
    runs = [run(select(name), 0.001) for name in (EXAMPLE, "rk4")]
    np.testing.assert_allclose(runs[0].reaction[1:], runs[1].reaction[1:], atol=1e-4)


def test_a_step_that_does_not_converge_says_so():
    record = run(select(EXAMPLE), 0.1, spin=300.0)
    assert "implicit_midpoint did not converge at t = 0 s" in record.message


def test_a_node_takes_the_path_of_a_file():
    values = defaults(NODES["pendulum_simulator"]) | {"integrator.name": EXAMPLE}
    assert plant_setup(values).integrator.name == "implicit_midpoint"


def test_derivatives_of_its_steps_are_not_known():
    with pytest.raises(ValueError, match="'implicit_midpoint', of which no derivatives are known"):
        along(select(EXAMPLE), build(Params()), upright(0.1), no_input(), 0.001)


def test_where_something_can_be_touched_it_is_refused(tmp_path, capsys):
    floor = ["--set", "contact.floor.enabled=true", "--out", str(tmp_path / "run.csv")]
    assert program.main(["simulate", "--integrator", EXAMPLE, *floor]) == 2
    assert "which knows no contacts" in capsys.readouterr().err


def test_a_file_without_options_is_an_integrator(tmp_path):
    (tmp_path / "euler.py").write_text(EULER)
    euler = select(str(tmp_path / "euler.py"))
    assert (euler.name, euler.order, euler.symmetric, euler.stages) == ("euler", 1, False, 1)
    exact = run(select("rk4"), 0.001, 0.5).q[-1]
    errors = [abs(run(euler, h, 0.5).q[-1] - exact).max() for h in (0.002, 0.001)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    with pytest.raises(ValueError, match="is not symmetric; take 'none' or one of euler_lagr"):
        select(str(tmp_path / "euler.py"), "suzuki4")


@pytest.mark.parametrize(
    "change, name, sentence",
    [
        (("ORDER = 1", ""), "mine.py", "says no order of accuracy; write one, such as ORDER = 2"),
        (("@kernel", ""), "mine.py", "its `advance` is not compiled; write @kernel"),
        (("def advance", "def step"), "mine.py", r"has no function `advance\(system, options,"),
        (("import kernel", "import kernels"), "mine.py", r"does not load: ImportError.*mine.py:3"),
        (("load, (0.0", "lode, (0.0"), "mine.py", r"not compile: .*'lode'.* \(.*mine.py:14\)"),
        (("reaction", "F, more"), "mine.py", "does not compile: .*argument"),
        (("return n, 0, 0.0", "return n"), "mine.py", "does not compile: advance returns 1"),
        (("", ""), "rk4.py", "rk4 is the name of an integrator of this package; rename the file"),
        (("", ""), "my-method.py", "my-method is no name that code can have; rename the file"),
        (
            ("ORDER = 1", OPTIONS),
            "mine.py",
            "its Options have a field mu without a default; known without one are weights",
        ),
    ],
)
def test_what_is_no_integrator_says_why(change, name, sentence, tmp_path):
    file = tmp_path / name
    file.write_text(EULER.replace(*change) if change[0] else EULER)
    with pytest.raises(ValueError, match=sentence) as raised:
        run(select(str(file)))
    assert "\n" not in str(raised.value)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match="one of euler_lagrange, .* tqdl, or the path of a .py"):
        select("rk5")


# the command line
# ----------------------------------------------------------------------------------------------


def test_work_precision_measures_it_and_has_it_in_its_figure(tmp_path, capsys):
    methods = f"rk4,{EXAMPLE}"
    arguments = ["work_precision", "--short", "--methods", methods, "--out", str(tmp_path)]
    assert program.main(["experiment", *arguments]) == 0
    said = capsys.readouterr().out
    assert "holds  rk4 at 10 ms, tip" in said and "Moser-Veselov" not in said
    with open(tmp_path / "work_precision_costs.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"rk4", "implicit_midpoint"}
    composed = {row["composition"] for row in rows if row["method"] == "implicit_midpoint"}
    assert composed == {"none", "suzuki4", "kahan_li6", "kahan_li8"}
    assert (tmp_path / "work_precision.png").exists()


@pytest.mark.parametrize("experiment", ["work_precision", "order_of_accuracy", "forced_rod"])
def test_an_experiment_of_one_method_of_ones_own(experiment, tmp_path, capsys):
    (tmp_path / "euler.py").write_text(EULER)
    methods = str(tmp_path / "euler.py")
    arguments = [experiment, "--short", "--methods", methods, "--out", str(tmp_path)]
    assert program.main(["experiment", *arguments]) == 0
    assert (tmp_path / f"{experiment}.png").exists()


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("work_precision --methods rk4,rk5", "integrator.name is 'rk5'; it must be one of"),
        ("work_precision --methods ,", "--methods is ','; name integrators, such as"),
        ("work_precision --methods rk4,rk4", "--methods: rk4 is there twice"),
        ("work_precision --methods euler_lagrange", "euler_lagrange is for a fixed joint"),
        ("four_disp --methods rk4", "four_disp compares no integrators; leave --methods out"),
    ],
)
def test_methods_that_do_not_fit_get_one_sentence(arguments, sentence, tmp_path, capsys):
    assert program.main(["experiment", *arguments.split(), "--out", str(tmp_path)]) == 2
    received = capsys.readouterr().err
    assert sentence in received and received.rstrip().count("\n") == 0
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process that has the package of examples/, which pip installed."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "lean.py", "implicit_midpoint.py"):
        shutil.copy(EXAMPLES / name, source)
    pip = f"-m pip install --quiet --no-build-isolation --no-deps --target {folder / 'site'}"
    subprocess.run([sys.executable, *pip.split(), str(source)], check=True, timeout=120)
    paths = os.pathsep.join(filter(None, (str(folder / "site"), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": paths}


@pytest.mark.parametrize(
    "command",
    [
        "simulate --integrator implicit_midpoint --composition suzuki4 --duration 1 --out run.csv",
        "experiment forced_rod --short --methods rk4,implicit_midpoint",
    ],
)
def test_the_installed_example_is_known_by_its_name(installed, command, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rbdyn_ros", *command.split()],
        cwd=tmp_path,
        env=installed,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.csv"))
