"""The experiments of the pendulum that hits things, in their short forms: claims, figures; and
their reference itself.
"""

import io
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from color_vision import closest, colors_of
from matplotlib.figure import Figure

from rbdyn_ros.experiments import contact_runs, falling_rod
from rbdyn_ros.experiments import outcome as outcomes
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, quantities, upright
from rbdyn_ros.pendulum.world import OBSTACLE
from rbdyn_ros.types import Contacts

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = ("pendulum_floor", "cart_stops", "falling_rod")


@pytest.mark.parametrize("name", NAMES)
def test_the_claims_hold_and_the_figure_can_be_drawn(name):
    experiment, received = import_module(f"rbdyn_ros.experiments.{name}"), []
    outcome = experiment.run(True, received.append)
    assert outcome.claims and outcomes.is_confirmed(outcome), "\n" + outcomes.verdict(outcome)
    assert received == sorted(received) and received[-1] == pytest.approx(1.0)
    for table, columns in outcome.tables.items():
        assert len({len(column) for column in columns.values()}) == 1, table
    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    experiment.draw(outcome, figure)
    figure.savefig(io.BytesIO(), dpi=40)
    assert closest(colors_of(figure))[0] >= 20.0, closest(colors_of(figure))
    assert all(
        axes.get_title(loc="left") and axes.get_xlabel() and axes.lines for axes in figure.axes
    )


def test_the_reference_finds_the_golden_impacts():
    golden = np.genfromtxt(GOLDEN / "rod_tip_frictionless_impacts.csv", delimiter=",", names=True)
    system = build(Params(contacts=Contacts(floor=1.0, floor_height=-0.1, floor_restitution=0.5)))
    _, found = contact_runs.follow(
        system, upright(np.pi / 6), no_input(), np.array((0.0, 1.6)), most=3
    )
    np.testing.assert_allclose(found["t"], golden["t"], atol=1e-9)
    np.testing.assert_allclose(found["P_n"], golden["P_n"], atol=1e-8)


def test_the_reference_meets_a_sphere_with_the_rod_as_the_steps_do():
    """The rod as a line, friction, a wrench on the rod and a force on the cart: the steps meet it
    with order 2.
    """
    at = {"obstacle_point": (1.2, 0.1, 0.9), "obstacle_radius": 0.2}
    law = {"obstacle_friction": 0.3, "obstacle_restitution": 0.5}
    system = build(Params(contacts=Contacts(obstacle=1.0, **at, **law)))
    push = np.array([0.1, 0.2, 0.3, 0.01, 0.02, 0.0, 0.1, 0.0, 0.7])
    input = no_input()._replace(force=np.array([1.0, 2.0]), disturbance=push)
    rows, found = contact_runs.follow(system, upright(np.pi / 6), input, np.array((0.0, 0.5)))
    assert found["contact"].tolist() == [OBSTACLE]
    errors = []
    for n in (1000, 2000):
        run = contact_runs.simulate(system, upright(np.pi / 6), input, 0.5 / n, 1, n)
        errors.append(np.abs(run.y[-1] - rows[-1]).max())
        np.testing.assert_allclose(run.impacts["P_n"][0], found["P_n"][0], rtol=1e-5)
    assert errors[1] < 2e-5 and errors[0] / errors[1] > 3.6  # parts of the errors cancel


def test_an_elastic_impact_of_the_reference_keeps_the_energy():
    system = build(Params(contacts=Contacts(floor=1.0, floor_height=-0.1, floor_restitution=1.0)))
    rows, found = contact_runs.follow(
        system, upright(np.pi / 6), no_input(), np.linspace(0.0, 3.0, 31)
    )
    energy = [quantities(system, row[:6], row[6:])[0] for row in rows]
    assert len(found["t"]) >= 2 and len(rows) == 31 and np.ptp(energy) < 1e-9


def test_the_deceleration_is_that_of_the_equations_of_motion():
    """Newton and Euler for the lying rod, solved for (N, a) as a linear system."""
    system, mu, k = build(Params()), 0.4, falling_rod.SLOPE
    s, m, l, L, g = np.sqrt(1.0 - k * k), system.rod_mass, system.center, 2.4, system.gravity
    # (M + m) a = mu N against the motion; about the joint: L (s N + k mu N) - m l (s g + k a) = 0,
    # all downhill of the tip
    A = np.array([[-mu, system.cart_mass + m], [L * s - L * k * mu, m * l * k]])
    N, a = np.linalg.solve(A, (0.0, m * l * s * g))
    assert falling_rod.deceleration(system, mu) == pytest.approx(a, rel=1e-12) and N > 0.0
