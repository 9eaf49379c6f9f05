"""Joints by Lagrange multipliers: the pendulum's exact motion, reaction wrenches, order 4,
stabilization.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.bodies import runs
from rbdyn_ros.bodies.description import jacobian, joint_kinds, multipliers, rigid_bodies
from rbdyn_ros.bodies.description.rows import WORLD

G, HALF, INERTIA = 9.81, 0.6, (0.3, 0.3, 0.01)


def door(angle=0.4, rate=0.0, twice=False):
    """A rod of 1.2 m, 2 kg, on a hinge about y through the origin; angle from straight down."""
    bodies = rigid_bodies.build(2.0, INERTIA)
    orientation = (np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0)
    down = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    along = np.array([np.cos(angle), 0.0, np.sin(angle)])
    q = rigid_bodies.configuration(bodies, HALF * down, orientation)
    v = rigid_bodies.motion(bodies, HALF * rate * along, (0.0, -rate, 0.0))
    hinge = joint_kinds.hinge(0, (0, 0, HALF), WORLD, (0, 0, 0), (0, 1, 0))
    return bodies, joint_kinds.assemble(1, *[hinge] * (2 if twice else 1)).rows, q, v


def advanced(plant, h, n, alpha=0.0):
    bodies, rows, q, v = plant
    q, v, reaction = q.copy(), v.copy(), np.zeros(len(rows.kind))
    done, rank, residual, _ = runs.multiplier_advance(
        bodies, rows, runs.no_forces(1), alpha, h, n, (q, v), reaction
    )
    assert done == n, residual
    return q, v, reaction, rank


def exact_angle(t, angle=0.4):
    total = INERTIA[1] + 2.0 * HALF**2
    f = lambda t, y: (y[1], -2.0 * G * HALF * np.sin(y[0]) / total)  # noqa: E731
    return solve_ivp(f, (0, t), (angle, 0.0), method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]


def angle_of(q):
    return np.arctan2(q[0, 0], -q[0, 2])


def test_hinge_pendulum_has_order_four():
    errors = [
        abs(angle_of(advanced(door(), 1.0 / n, n)[0]) - exact_angle(1.0)) for n in (50, 100, 200)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.3)
    assert errors[2] < 1e-7


def test_reaction_of_the_hinge_is_weight_and_centripetal_force():
    """At the lowest point the joint pulls with m g + m l w^2, upwards."""
    bodies, rows, q, v = door(angle=0.0, rate=3.0)
    found = multipliers.forward(bodies, rows, np.zeros_like(v), 0.0, q, v)
    wrenches = multipliers.reactions(rows, q, found.multipliers)
    force = wrenches[:, 0, :3].sum(axis=0)
    assert force == pytest.approx((0.0, 0.0, 2.0 * (G + HALF * 9.0)), abs=1e-12)
    assert found.rank == 5 and found.residual < 1e-14


def test_redundant_hinges_share_the_load():
    """Two hinges in one place: rank 5 of 10 rows, the same motion, half the multipliers each."""
    one, two = advanced(door(), 0.01, 50), advanced(door(twice=True), 0.01, 50)
    assert two[3] == 5
    assert np.abs(one[0] - two[0]).max() < 1e-11 and np.abs(one[1] - two[1]).max() < 1e-11
    assert two[2][:5] == pytest.approx(two[2][5:], abs=1e-9)
    assert two[2][:5] == pytest.approx(0.5 * one[2], abs=1e-9)


def test_hinge_of_the_appendix_turns_as_the_hinge_of_directions():
    """Ball joint and two relative rotations, normals across the axis, in place of two rows between
    directions.
    """
    bodies, _, q, v = door()
    turns = [joint_kinds.relative_rotation(0, WORLD, n) for n in ((1, 0, 0), (0, 0, 1))]
    rows = joint_kinds.assemble(
        1, joint_kinds.ball_joint(0, (0, 0, HALF), WORLD, (0, 0, 0)), *turns
    ).rows
    one, other = advanced(door(), 0.01, 100), advanced((bodies, rows, q, v), 0.01, 100)
    assert other[3] == 5
    assert np.abs(one[0] - other[0]).max() < 1e-12 and np.abs(one[1] - other[1]).max() < 1e-11


def test_contradictory_rows_stop_the_run():
    """A body nailed to two points of the world that are not the right distance apart, one of them
    in motion.
    """
    bodies, rows, q, v = door()
    nails = (
        joint_kinds.anchor(0, (0, 0, 0.3), (0, 0, 0)),
        joint_kinds.anchor(0, (0, 0, 0.3), (1, 0, 0)),
    )
    rows = joint_kinds.assemble(1, *nails).rows
    done, rank, residual, _ = runs.multiplier_advance(
        bodies, rows, runs.no_forces(1), 10.0, 0.01, 5, (q, v), np.zeros(6)
    )
    assert done == 0 and rank == 3 and residual > 0.1


def test_stabilization_closes_an_open_joint():
    bodies, rows, q, v = door()
    q[0, 0] += 1e-3
    loose, held = (advanced((bodies, rows, q, v), 0.01, 300, alpha)[0] for alpha in (0.0, 10.0))
    assert np.abs(jacobian.values(rows, loose)).max() > 5e-4
    assert np.abs(jacobian.values(rows, held)).max() < 1e-7


def test_numbers_that_are_not_finite_stop_the_run():
    """1e200 rad/s: the square overflows."""
    bodies, rows, q, v = door(rate=1e200)
    done, rank, residual, _ = runs.multiplier_advance(
        bodies, rows, runs.no_forces(1), 10.0, 0.01, 5, (q, v), np.zeros(5)
    )
    assert done == 0 and rank == 0 and np.isnan(residual)
