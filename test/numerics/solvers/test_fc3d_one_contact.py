"""One contact, exactly: analytic cases, and random ones by the tens of thousands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.kernel import kernel
from rbdyn_ros.numerics.solvers import fc3d
from rbdyn_ros.numerics.solvers import fc3d_one_contact as exact
from rbdyn_ros.numerics.solvers.registry import select, solve
from rbdyn_ros.numerics.solvers.solution import SINGULAR

from .coulomb import violations

NOTHING = (0.0, 0.0, 0.0)


@kernel
def solve_all(W, q, mu, r, kind, error):
    """Contact and error of each of many problems."""
    for i in range(len(mu)):
        found = exact.contact(
            fc3d.block(W[i], 0), fc3d.part(q[i], 0), mu[i], (0.0, 0.0, 0.0), exact.FLAT
        )
        r[i, 0], r[i, 1], r[i, 2] = found.r
        kind[i] = found.kind
        error[i] = fc3d.error(fc3d.Problem(W[i], q[i], mu[i : i + 1]), r[i])


def solved(W, q, mu):
    """(r, kind, error) of many problems."""
    n = len(mu)
    r, kind, error = np.empty((n, 3)), np.empty(n, np.int64), np.empty(n)
    solve_all(np.ascontiguousarray(W), q, mu, r, kind, error)
    return r, kind, error


def positive_definite(rng, n, least=0.05):
    """n symmetric matrices; their condition stays below about 1e3."""
    A = rng.normal(size=(n, 3, 3))
    return A @ A.transpose(0, 2, 1) + least * np.eye(3)


def one(W, q, mu):
    """Contact of one problem."""
    return exact.contact(
        tuple(map(tuple, np.asarray(W, float))),
        tuple(map(float, q)),
        float(mu),
        NOTHING,
        exact.FLAT,
    )


def test_take_off_needs_no_impulse():
    assert one(2.0 * np.eye(3), (0.1, 3.0, -1.0), 0.7) == exact.ContactImpulse(
        NOTHING, exact.TAKE_OFF
    )
    assert one(2.0 * np.eye(3), (0.0, 3.0, -1.0), 0.7) == exact.ContactImpulse(
        NOTHING, exact.TAKE_OFF
    )


def test_sticking_of_a_point_mass_stops_it():
    found = one(np.eye(3) / 4.0, (-1.0, 0.3, -0.4), 0.6)
    assert found.kind == exact.STICK
    assert found.r == pytest.approx((4.0, -1.2, 1.6), rel=1e-15)


def test_sliding_of_a_point_mass_is_against_its_velocity():
    found = one(np.eye(3) / 4.0, (-1.0, 0.6, -0.8), 0.5)
    assert found.kind == exact.SLIDE
    assert found.r == pytest.approx((4.0, -1.2, 1.6), rel=1e-14)


def test_painleve_rod_slides_by_the_coupled_law():
    """A uniform rod at 45 degrees whose lower end slides: r_N = -q_N / (W_NN -+ mu W_NT), in the
    plane.
    """
    W = np.array([[2.5, 1.5, 0.0], [1.5, 2.5, 0.0], [0.0, 0.0, 1.0]])
    for slip, mu in ((1.0, 0.4), (-1.0, 0.4)):
        q = (-1.0, 20.0 * slip, 0.0)
        found = one(W, q, mu)
        normal = 1.0 / (2.5 - slip * mu * 1.5)
        assert found.kind == exact.SLIDE
        assert found.r == pytest.approx((normal, -slip * mu * normal, 0.0), rel=1e-14, abs=1e-15)


def test_frictionless_contact_has_a_normal_impulse_only():
    W = positive_definite(np.random.default_rng(2), 1)[0]
    found = one(W, (-0.7, 5.0, 3.0), 0.0)
    assert found.r == pytest.approx((0.7 / W[0, 0], 0.0, 0.0), rel=1e-15)


@pytest.mark.parametrize(
    "slip", [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
)
def test_sliding_along_the_axes_where_tan_of_the_half_angle_is_infinite(slip):
    found = one(np.eye(3), (-1.0, 9.0 * slip[0], 9.0 * slip[1]), 0.5)
    direction = -np.array(slip) / np.hypot(*slip)
    assert found.r[1:] == pytest.approx(0.5 * direction, abs=1e-15)


def test_every_random_positive_definite_contact_is_solved(rng):
    n = 40000
    W, q, mu = positive_definite(rng, n), rng.normal(size=(n, 3)), rng.uniform(0.0, 1.5, n)
    r, kind, error = solved(W, q, mu)
    assert error.max() < 1e-11
    assert np.bincount(kind, minlength=4)[:3].min() > 1000 and not (kind == exact.NONE).any()
    assert max(violations(W[i], q[i], mu[i], r[i]) for i in range(2000)) < 1e-11


def test_every_non_symmetric_positive_contact_is_solved(rng):
    n = 20000
    S = rng.normal(size=(n, 3, 3))
    W = positive_definite(rng, n) + 0.3 * (S - S.transpose(0, 2, 1))
    _, kind, error = solved(W, rng.normal(size=(n, 3)), rng.uniform(0.0, 0.5, n))
    assert error.max() < 1e-11 and not (kind == exact.NONE).any()


def test_effective_masses_of_unlike_size(rng):
    """Diagonal W over eight decades: the quartic's roots crowd at the axes; the error is limited
    by round-off of W r.
    """
    n = 20000
    W = np.zeros((n, 3, 3))
    for k in range(3):
        W[:, k, k] = 10.0 ** rng.uniform(-4.0, 4.0, n)
    _, kind, error = solved(W, rng.normal(size=(n, 3)), rng.uniform(0.0, 1.5, n))
    assert not (kind == exact.NONE).any() and error.max() < 1e-7


@kernel
def update_all(W, u, mu, start, r, kind):
    """As `solve_all`, from impulses at which the velocities are u."""
    for i in range(len(mu)):
        found = exact.update(
            fc3d.block(W[i], 0), fc3d.part(u[i], 0), mu[i], fc3d.part(start[i], 0), exact.FLAT
        )
        r[i, 0], r[i, 1], r[i, 2] = found.r
        kind[i] = found.kind


def test_an_update_finds_the_contact_of_its_free_velocity(rng):
    n = 20000
    W, q, mu = positive_definite(rng, n), rng.normal(size=(n, 3)), rng.uniform(0.0, 1.5, n)
    start, found, kinds = rng.normal(size=(n, 3)), np.empty((n, 3)), np.empty(n, np.int64)
    update_all(W, q + np.einsum("ijk,ik->ij", W, start), mu, start, found, kinds)
    r, kind, _ = solved(W, q, mu)
    assert np.bincount(kinds, minlength=4)[:3].min() > 1000
    assert (kinds == kind).all()
    assert np.abs(found - r).max() < 1e-10


def test_an_update_of_a_contact_at_rest_leaves_its_impulse_to_the_bit(rng):
    W, start = positive_definite(rng, 1000), np.tile((1.0, 0.1, -0.2), (1000, 1))
    found, kinds = np.empty((1000, 3)), np.empty(1000, np.int64)
    update_all(W, np.zeros((1000, 3)), np.full(1000, 0.9), start, found, kinds)
    at_rest = kinds == exact.STICK
    assert at_rest.sum() > 300  # those whose own velocity without the impulse approaches
    assert (found[at_rest] == start[at_rest]).all()


@pytest.mark.parametrize("rank", [1, 2])
def test_degenerate_contacts_of_bodies_that_move_in_few_ways(rng, rank):
    """W = J J^T of rank 1 or 2 and q = J v: solvable, though r is not unique.

    Directions that cannot slide count too.
    """
    n = 20000
    J, v = rng.normal(size=(n, 3, rank)), rng.normal(size=(n, rank, 1))
    J[::4, 1:] = 0.0
    r, kind, error = solved(
        J @ J.transpose(0, 2, 1), (J @ v)[:, :, 0].copy(), rng.uniform(0.1, 0.4, n)
    )
    assert (error < 1e-9).mean() > 0.999
    assert ((error < 1e-9) | (kind == exact.NONE)).all()


def test_a_contact_that_is_singular_but_for_round_off_has_no_impulse_of_round_off(rng):
    """W has the round-off of joints that react, over which the velocity along what they hold is
    not divided.
    """
    for _ in range(200):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        W = Q @ np.diag([1.0, 0.5, 3e-13]) @ Q.T
        q = Q @ (*rng.normal(size=2), 1e-9)
        W, q = tuple(map(tuple, W)), tuple(q)
        found = exact.contact(W, q, 0.8, NOTHING, 1e-11)
        assert found.kind == exact.NONE or np.linalg.norm(found.r) < 1e3


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 10**6))
def test_the_solution_scales_with_mass_and_velocity(mass, speed, seed):
    rng = np.random.default_rng(seed)
    W, q = positive_definite(rng, 1)[0], rng.normal(size=3)
    base, scaled = one(W, q, 0.5), one(W / mass, speed * q, 0.5)
    assert np.array(scaled.r) == pytest.approx(
        mass * speed * np.array(base.r), rel=1e-6, abs=1e-9 * mass * speed
    )


@given(st.floats(-3.2, 3.2), st.integers(0, 10**6))
def test_turning_the_tangents_turns_the_impulse(angle, seed):
    rng = np.random.default_rng(seed)
    W, q = positive_definite(rng, 1)[0], rng.normal(size=3)
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    turned = one(R @ W @ R.T, R @ q, 0.3)
    error = fc3d.error(fc3d.problem(W, q, 0.3), R.T @ np.array(turned.r))
    assert error < 1e-10 and turned.kind == one(W, q, 0.3).kind


@pytest.mark.parametrize("case", range(20))
def test_any_guess_leads_to_a_solution(rng, case):
    W, q = positive_definite(rng, 1)[0], rng.normal(size=3)
    q[0] = -abs(q[0])
    found = exact.contact(
        tuple(map(tuple, W)), tuple(q), 0.4, tuple(rng.normal(size=3)), exact.FLAT
    )
    assert fc3d.error(fc3d.problem(W, q, 0.4), np.array(found.r)) < 1e-12


def test_a_contact_that_nothing_can_move_is_said_to_have_no_solution():
    problem = fc3d.problem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], 0.5)
    solution = solve(select("fc3d_one_contact"), problem)
    assert not solution.ok and solution.status == SINGULAR and solution.residual >= 1.0 - 1e-12


def test_more_than_one_contact_is_refused():
    problem = fc3d.problem(np.eye(6), np.zeros(6), 0.5)
    with pytest.raises(
        ValueError, match="fc3d_one_contact solves one contact, not 2; take fc3d_hybrid"
    ):
        solve(select("fc3d_one_contact"), problem)
