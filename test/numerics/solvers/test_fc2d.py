"""Friction in the plane: as a linear complementarity problem and in space."""

import numpy as np
import pytest
from oracles import fc2d, oracle

from rbdyn_ros.numerics.solvers.registry import names, select, solve


@pytest.mark.parametrize("solver", [n for n in names("fc3d") if n != "fc3d_one_contact"])
def test_pivots_in_the_plane_agree_with_solvers_in_space(rng, solver):
    for _ in range(60):
        n = int(rng.integers(1, 5))
        A = rng.normal(size=(2 * n, 2 * n))
        problem = fc2d.problem(
            np.eye(2 * n) + 0.05 * (A + A.T), rng.normal(size=2 * n), rng.uniform(0.0, 0.8, n)
        )
        plane, space = (
            solve(oracle("fc2d_lemke"), problem),
            solve(select(solver, 1e-11), fc2d.in_space(problem)),
        )
        assert plane.ok and space.ok
        assert space.z[fc2d.in_plane(n)] == pytest.approx(plane.z, abs=1e-8)
        assert np.abs(space.z[2::3]).max() < 1e-9


@pytest.mark.parametrize(("slip", "kind"), [(0.3, "stick"), (5.0, "right"), (-5.0, "left")])
def test_a_point_mass_sticks_or_slides(slip, kind):
    expected = {"stick": [2.0, -0.6], "right": [2.0, -1.0], "left": [2.0, 1.0]}[kind]
    solution = solve(oracle("fc2d_lemke"), fc2d.problem(np.eye(2) / 2.0, [-1.0, slip], 0.5))
    assert solution.ok and solution.z == pytest.approx(expected, rel=1e-14)


def test_two_feet_of_a_block_share_the_load():
    """Redundant feet: the sum of the impulses is unique, their shares are not."""
    J = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [1.0, 0.0, -0.5], [0.0, 1.0, 0.0]])
    problem = fc2d.problem(J @ J.T, J @ np.array([-1.0, 0.2, 0.0]), 0.5)
    solution = solve(oracle("fc2d_lemke"), problem)
    assert (
        solution.ok
        and solution.z[0::2].sum() == pytest.approx(1.0)
        and solution.z[1::2].sum() == pytest.approx(-0.2)
    )


def test_bad_input_gets_one_sentence():
    with pytest.raises(
        ValueError, match=r"W has shape \(3, 3\); it must be square, 2 rows for each contact"
    ):
        fc2d.problem(np.eye(3), np.zeros(3), 0.5)
