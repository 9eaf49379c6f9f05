"""The examples of doc/extending.md for other libraries: Gymnasium, python-control, CasADi."""

import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.control import law_selection
from rbdyn_ros.control.linear_controller import constant
from rbdyn_ros.evaluation import loop_margins
from rbdyn_ros.integrators import rk4
from rbdyn_ros.integrators.select import select as integrator
from rbdyn_ros.kernel import kernel
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.pendulum import spherical_pendulum as model
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.plant.faults.fault_options import Faults, SensorNoise

ROOT = Path(__file__).parents[2]


def example(name: str, library: str):
    """The module examples/<name>.py."""
    pytest.importorskip(library, reason=f"{library} is not installed (./testbed test brings it)")
    spec = importlib.util.spec_from_file_location(
        f"example_{name}", ROOT / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@kernel
def rates(system, input, q, w, u):
    """(x', q', w', u') of the package's own equations of motion."""
    return rk4.rates(system, rod_on_cart.load(input), (0.0, 0.0), q, w, u)


def test_the_model_in_casadi_is_the_plant():
    casadi_mpc = example("casadi_mpc", "casadi")
    chance, DM = np.random.default_rng(1), casadi_mpc.casadi.DM
    for _ in range(50):
        params = model.Params(
            cart_mass=chance.uniform(0.5, 3.0), rod_mass=chance.uniform(0.5, 2.0),
            rod_inertia=tuple(chance.uniform(0.3, 0.5, 3)),
            cart_damping=chance.uniform(0.0, 1.0), joint_damping=chance.uniform(0.0, 0.1),
            rod_center_of_mass=chance.uniform(0.5, 1.5),
        )  # fmt: skip
        system, input = model.build(params), model.no_input()
        q, x, u, w = (
            chance.normal(size=4),
            chance.normal(size=2),
            chance.normal(size=2),
            chance.normal(size=3),
        )
        q, input.force[:] = q / np.linalg.norm(q), 10.0 * chance.normal(size=2)
        dx, dq, dw, du = rates(
            system, input, tuple(q.tolist()), tuple(w.tolist()), tuple(u.tolist())
        )
        found = casadi_mpc.derivative(system, DM(np.concatenate((x, q, u, w))), DM(input.force))
        expected = np.concatenate((dx, dq, du, dw))
        assert np.abs(np.array(found).ravel() - expected).max() < 1e-12 * (
            1.0 + np.abs(expected).max()
        )


@pytest.mark.parametrize("tilt, azimuth", [(10.0, 0.4), (20.0, 0.0), (20.0, 0.8)])
def test_the_law_of_casadi_catches_the_rod(tilt, azimuth):
    """Within force and travel, also from where the rail is needed nearly to its end; and again
    with the same forces after a reset.
    """
    casadi_mpc = example("casadi_mpc", "casadi")
    params = model.Params(cart_mass=2.0, cart_damping=0.5, joint_damping=0.005)
    options = casadi_mpc.Options(force_limit=20.0, travel=2.0)
    law = law_selection.make_law("casadi_mpc", casadi_mpc, model, params, options)
    start = model.upright(math.radians(tilt), azimuth)
    within = closed_loop.Conditions(force_limit=20.0, travel=2.0, call_timeout=300.0)
    run = closed_loop.run(params, integrator("rk4"), law, start, 5.0, 0.01, within)
    assert run.fault == "" and run.t[-1] == pytest.approx(5.0)
    assert 2.0 * np.hypot(*run.q[-1, 3:5]) < math.radians(0.5)
    assert np.hypot(*run.q[-1, :2]) < 0.02
    assert np.hypot(*run.force.T).max() <= 20.0 + 1e-9
    law.reset()
    again = closed_loop.run(params, integrator("rk4"), law, start, 0.5, 0.01, within)
    assert np.array_equal(again.force, run.force[: len(again.force)])


def test_the_law_of_casadi_stands_where_the_velocities_are_noisy():
    """The noise turns a thin rod about its axis, which the joint's damping stops in 40 ms."""
    casadi_mpc = example("casadi_mpc", "casadi")
    params = model.Params(cart_mass=2.0, cart_damping=0.5, joint_damping=0.005)
    law = law_selection.make_law("casadi_mpc", casadi_mpc, model, params, casadi_mpc.Options())
    noise = SensorNoise(cart_velocity=0.1, rate=0.1)
    within = closed_loop.Conditions(
        force_limit=20.0, travel=2.0, call_timeout=300.0, faults=Faults()._replace(noise=noise)
    )
    run = closed_loop.run(
        params, integrator("rk4"), law, model.upright(math.radians(5.0)), 3.0, 0.01, within
    )
    assert run.fault == "" and run.t[-1] == pytest.approx(3.0)
    assert 2.0 * np.hypot(*run.q[-1, 3:5]) < math.radians(3.0)


def test_a_design_of_python_control_has_the_margins_of_the_suite():
    """And `stability_margins` of the model itself has others: the trap that the page names."""
    state_space = example("state_space", "control")
    system, options = model.build(model.Params()), state_space.Options()
    sampled = state_space.plant(system, options.period)
    K = state_space.gains(sampled, options.force_weight)
    opened = state_space.loop(sampled, K)
    gain, _, delay = state_space.margins(opened)
    expected = loop_margins.margins(system, constant(K), options.period)
    assert gain == pytest.approx(expected.gain_low, rel=1e-4) and delay == pytest.approx(
        expected.delay, rel=1e-3
    )
    misleading = state_space.control.stability_margins(opened)
    assert abs(misleading[0] - expected.gain_low) > 0.1 * expected.gain_low


def test_the_law_of_python_control_balances():
    state_space = example("state_space", "control")
    law = law_selection.make_law(
        "state_space", state_space, model, model.Params(), state_space.Options()
    )
    run = closed_loop.run(
        model.Params(), integrator("rk4"), law, model.upright(math.radians(10.0), 0.4), 4.0, 0.002
    )
    assert run.fault == "" and np.abs(run.q[-1, 3:5]).max() < 0.01


@pytest.mark.parametrize(
    "name, library, sentence",
    [
        ("state_space", "control", "which is wrong"),
        ("casadi_mpc", "casadi", "the rod leans by 0."),
    ],
)
def test_the_scripts_run(name, library, sentence, capsys):
    example(name, library).main()
    assert sentence in capsys.readouterr().out


def test_the_page_names_each_example_and_runs_its_lines():
    page = (ROOT / "doc/extending.md").read_text()
    for name in ("state_space", "casadi_mpc"):
        assert f"examples/{name}.py" in page
    script = re.search(r"## With other libraries.*?```python\n(.*?)```", page, re.DOTALL)[1]
    exec(script, names := {})
    assert names["A"].shape == (4, 4) and names["Ad"].shape == (4, 4) and names["run"].fault == ""
    assert np.abs(names["run"].q[-1, 3:5]).max() < 0.01


def teardown_module():
    for name in [name for name in sys.modules if name.startswith("example_")]:
        del sys.modules[name]
