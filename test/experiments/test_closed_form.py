"""Exact motions against trajectories that were made with 34 digits."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.experiments import apparatus, closed_form
from rbdyn_ros.experiments.free_body import DZHANIBEKOV

GOLDEN = Path(__file__).parents[1] / "golden"
W0 = np.sqrt(9.81 / 1.2)


def golden(name: str) -> np.ndarray:
    return np.genfromtxt(GOLDEN / f"{name}.csv", delimiter=",", names=True)


def test_intermediate_axis_is_jacobis():
    data = golden("dzhanibekov_20s")
    w = closed_form.intermediate_axis(DZHANIBEKOV, 6.0, 0.01, data["t"])
    assert w == pytest.approx(np.column_stack([data[f"w{k}"] for k in "xyz"]), abs=5e-8)


@pytest.mark.parametrize("inertia", [(3.0, 2.0, 1.0), (1.0, 2.0, 3.0)])
def test_intermediate_axis_refuses_another_order_of_the_inertia(inertia):
    with pytest.raises(ValueError, match="I_3 < I_1 < I_2"):
        closed_form.intermediate_axis(inertia, 6.0, 0.01, 0.0)


def test_pendulum_released_at_rest_stays_in_its_plane():
    data = golden("pitchcone_truth_25s")
    n = closed_form.from_rest(np.radians(10.0), np.radians(5.0), W0, data["t"])
    assert 1.2 * n == pytest.approx(np.column_stack([data[k] for k in "xyz"]), abs=1e-11)
    theta0 = np.arccos(np.cos(np.radians(10.0)) * np.cos(np.radians(5.0)))
    assert closed_form.pendulum_period(theta0, W0) == pytest.approx(5.207866185286068, rel=1e-14)


def test_pitch_and_cone_equations_give_the_same_motion():
    data = golden("pitchcone_truth_25s")
    y = closed_form.solve(
        apparatus.point_mass(), np.radians(10.0), np.radians(5.0), data["t"], "DOP853", 1e-13
    )
    names = ("delta", "eta", "ddelta", "deta")
    assert y == pytest.approx(np.column_stack([data[name] for name in names]), abs=1e-7)
    assert closed_form.energy(apparatus.point_mass(), y) == pytest.approx(
        11.772 * np.cos(data["delta"][0]) * np.cos(data["eta"][0]), abs=1e-9
    )


def test_massless_cart_cycle_and_joint_force():
    """4.329 s a cycle; 0.21 m g at 45 degrees, 12.9 m g at the bottom."""
    quarter, force = closed_form.massless_cart_cycle(0.4801, 1.44, 11.772, np.radians(10.0))
    assert 4.0 * quarter == pytest.approx(4.3287473, abs=1e-6)
    assert force(np.radians(45.0)) == pytest.approx(0.2115, abs=1e-4)
    assert force(np.pi) == pytest.approx(12.906, abs=1e-3)
