"""A thousand seconds: energy bounded without trend, momenta and spin kept, the quaternion unit,
the joint closed.
"""

import numpy as np
import pytest
from plants import FORCED, PLANTS, SLOWED, start

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright
from rbdyn_ros.plant.rollout import run
from rbdyn_ros.plant.tick import power

DURATION = 1000.0  # [s]
VARIATIONAL = ["moser_veselov", "quaternion_midpoint"]
STARTS = {"drop": lambda system: upright(np.radians(10.0)), "moving and spinning": start}

# the largest |dE| [J] over 1000 s at (composition, h): the size of the swing's oscillation, see
# the order of each
ENERGY = {
    ("none", 0.01): 1.5e-2,
    ("none", 0.03): 0.12,
    ("suzuki4", 0.01): 5e-6,
    ("suzuki4", 0.03): 2e-4,
}


def thousand_seconds(
    plant: str, name: str, composition: str, h: float, begin: str = "moving and spinning"
):
    """The run, a row about every 0.1 s."""
    system, steps = PLANTS[plant], round(0.1 / h)
    rows = round(DURATION / (steps * h))
    record = run(
        select(name, composition), system, STARTS[begin](system), no_input(), h, rows, steps
    )
    assert record.ok, record.message
    return record


@pytest.mark.parametrize(("composition", "h"), ENERGY)
@pytest.mark.parametrize("name", VARIATIONAL)
@pytest.mark.parametrize("plant", ["cart", "fixed pivot"])
@pytest.mark.parametrize("begin", STARTS)
def test_energy_is_bounded_and_has_no_trend(plant, name, composition, h, begin):
    record = thousand_seconds(plant, name, composition, h, begin)
    dE = record.quantities[:, 0] - record.quantities[0, 0]
    assert np.abs(dE).max() < ENERGY[composition, h]
    assert abs(np.polyfit(record.t, dE, 1)[0]) < 1e-7  # [J/s]


@pytest.mark.parametrize("composition", ["none", "suzuki4", "kahan_li8"])
@pytest.mark.parametrize("name", VARIATIONAL)
@pytest.mark.parametrize("plant", ["cart", "massless cart", "asymmetric"])
def test_momenta_are_kept(plant, name, composition):
    """The cart ends 250 m away, so that 1 ulp of P is already 1e-13 in Lz; no symmetry, no p3."""
    d = np.abs(
        np.diff(thousand_seconds(plant, name, composition, 0.01).quantities, axis=0).cumsum(axis=0)
    )
    _, Lz, Px, Py, p3 = d.max(axis=0)
    assert Lz < (1e-10 if composition == "none" else 1e-8), Lz
    assert max(Px, Py) < (1e-10 if composition != "kahan_li8" else 1e-9)
    assert p3 < 1e-12 or plant == "asymmetric"


@pytest.mark.parametrize("name", VARIATIONAL)
def test_momenta_do_not_drift_with_the_tolerance(name):
    """What Newton leaves of the residual is handed on: a hundred times more of it stays without
    effect.
    """
    system = PLANTS["cart"]
    record = run(select(name, tolerance=1e-11), system, start(system), no_input(), 0.01, 1000, 100)
    dLz, dp3 = np.abs(record.quantities - record.quantities[0]).max(axis=0)[[1, 4]]
    assert record.residual.max() > 1e-13
    assert dLz < 1e-8 and dp3 < 1e-12


@pytest.mark.parametrize("name", VARIATIONAL + ["rk4"])
@pytest.mark.parametrize("plant", PLANTS)
def test_quaternion_stays_unit(plant, name):
    norms = np.linalg.norm(thousand_seconds(plant, name, "none", 0.01).q[:, 2:], axis=1)
    assert np.abs(norms - 1.0).max() < 1e-15


def test_runge_kutta_drifts():
    """The bounds above can fail: rk4, more accurate over seconds, loses energy and turns the swing
    plane.
    """
    record = thousand_seconds("cart", "rk4", "none", 0.01)
    dE, dLz = (record.quantities[-1] - record.quantities[0])[:2]
    assert abs(dE) > 1e-5 and abs(dLz) > 1e-5


@pytest.mark.parametrize("name", VARIATIONAL + ["rk4"])
def test_friction_takes_energy_all_the_time(name):
    """Without forces E falls from row to row but for the oscillation of the method's own energy
    error.
    """
    system = PLANTS["damped"]
    record = run(select(name), system, start(system), no_input(), 1e-3, 3000, 10)
    steps = np.diff(record.quantities[:, 0])
    assert record.quantities[-1, 0] < record.quantities[0, 0] - 5.0
    assert steps.max() < 1e-6


def imbalance(name: str, composition: str, h: float) -> float:
    """|E(T) - E(0) - work| [J] over 2 s, the work of forces and friction by Simpson's rule at
    every step.
    """
    record = run(select(name, composition), SLOWED, start(SLOWED), FORCED, h, round(2.0 / h), 1)
    assert record.ok, record.message
    P = np.array([power(SLOWED, FORCED, t, q, v) for t, q, v in zip(record.t, record.q, record.v)])
    work = h / 3.0 * (P[0] + P[-1] + 4.0 * P[1:-1:2].sum() + 2.0 * P[2:-1:2].sum())
    return abs(record.quantities[-1, 0] - record.quantities[0, 0] - work)


@pytest.mark.parametrize(
    ("name", "composition", "order"),
    [
        ("rk4", "none", 4),
        ("moser_veselov", "none", 2),
        ("quaternion_midpoint", "none", 2),
        ("quaternion_midpoint", "suzuki4", 4),
    ],
)
def test_change_of_energy_is_the_work_done_to_the_order_of_the_method(name, composition, order):
    coarse, fine = imbalance(name, composition, 0.01), imbalance(name, composition, 0.005)
    assert np.log2(coarse / fine) > order - 0.2
    assert fine < 1e-2
