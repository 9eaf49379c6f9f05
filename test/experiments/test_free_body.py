"""The free body: its modified inertia (Hairer, Vilmart 2006) and what is not a body."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.experiments import apparatus, free_body
from rbdyn_ros.experiments.outcome import slope
from rbdyn_ros.geometry import increments
from rbdyn_ros.integrators.select import select

GOLDEN = Path(__file__).parents[1] / "golden" / "dzhanibekov_20s.csv"
SYSTEM, START = apparatus.dzhanibekov()


def golden() -> tuple:
    """(t, Q, w) every 50 ms."""
    data = np.genfromtxt(GOLDEN, delimiter=",", names=True)
    return (
        data["t"],
        np.column_stack([data[f"q{k}"] for k in "wxyz"]),
        np.column_stack([data[f"w{k}"] for k in "xyz"]),
    )


@pytest.mark.parametrize(
    "name, composition",
    [("rk4", "none"), ("moser_veselov", "kahan_li8"), ("quaternion_midpoint", "kahan_li8")],
)
def test_reference_trajectory_over_six_flips(name, composition):
    """Each flip multiplies round-off and what Newton leaves by some ten: 1e-15 becomes 6e-7
    rad.
    """
    _, Q, w = golden()
    h = 5e-4 if name == "rk4" else 0.01
    run = free_body.simulate(
        select(name, composition, tolerance=1e-15), SYSTEM, START, h, 400, round(0.05 / h)
    )
    assert run.ok and np.linalg.norm(increments.boxminus(run.Q, Q), axis=-1).max() < 2e-6
    assert run.w == pytest.approx(w, abs=1e-5)


def test_modified_inertia_is_of_order_4_and_the_plain_one_of_order_2():
    """At 10 ms over 10 s: 1.8e-5 rad instead of 5.2e-2, for one line before the run."""
    _, Q, _ = golden()
    steps, plain, modified = (0.01, 0.005, 0.0025), [], []
    for h in steps:
        for errors, simulate in (
            (plain, free_body.simulate),
            (modified, free_body.simulate_modified),
        ):
            run = simulate(select("moser_veselov"), SYSTEM, START, h, 200, round(0.05 / h))
            errors.append(np.linalg.norm(increments.boxminus(run.Q, Q[:201]), axis=-1).max())
    assert slope(steps, plain) == pytest.approx(2.0, abs=0.05)
    assert slope(steps, modified) == pytest.approx(4.0, abs=0.15)
    assert plain[0] == pytest.approx(5.2e-2, rel=0.05) and modified[0] == pytest.approx(
        1.8e-5, rel=0.1
    )


@pytest.mark.parametrize("h", [0.01, 0.03, 0.1])
def test_moser_veselov_keeps_energy_and_momentum_over_1e5_steps(h):
    run = free_body.simulate(select("moser_veselov"), SYSTEM, START, h, 1000, 100)
    assert run.ok and free_body.worst_energy(run) < 1e-10 and free_body.worst_momentum(run) < 1e-10


def test_preprocessing_keeps_the_momentum():
    modified, state = free_body.preprocess(SYSTEM, START, 0.02)
    assert np.array_equal(state.q, START.q)
    assert np.multiply(modified.inertia, state.v[2:]) == pytest.approx(
        np.multiply(SYSTEM.inertia, START.v[2:]), abs=1e-15
    )


@pytest.mark.parametrize(
    "inertia", [(1.0, 1.0, 3.0), (1.0, -1.0, 1.0), (1.0, 0.0, 1.0), (1.0, np.nan, 1.0), (1.0, 2.0)]
)
def test_what_is_no_body_is_refused(inertia):
    with pytest.raises(ValueError, match="inertia"):
        free_body.build(inertia)
