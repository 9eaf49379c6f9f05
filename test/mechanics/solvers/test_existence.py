"""Verdicts on the impulses of contacts against an enumeration, and against solutions."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from rbdyn_ros.mechanics.solvers import existence, fc3d, select

MOST = 1e4  # [m/s]


def problem(random, n, m, j, mu):
    """Contacts with few different numbers, so that many of them press against each other."""
    D = random.integers(-1, 2, (3 * n, m)).astype(float)
    G = random.integers(-1, 2, (j, m)).astype(float)
    b, g = random.integers(-1, 2, 3 * n) / 4.0, random.integers(-1, 2, j) / 4.0
    sparse_rows = sparse.csc_matrix(D), sparse.csc_matrix(G)
    return existence.ExistenceProblem(sparse_rows[0], b, np.full(n, mu), sparse_rows[1], g)


def is_contradictory(at):
    """Whether D_N v >= -b_N, G v = g has no v, by all minimal sets of rows that can prove it:
    those with one multiplier only.
    """
    G = at.G.toarray()
    rows = np.vstack([at.D.toarray()[::3], G, -G])
    least = np.concatenate([-at.b[::3], at.g, -at.g])
    for count in range(1, min(len(rows), rows.shape[1] + 1) + 1):
        for chosen in map(list, combinations(range(len(rows)), count)):
            _, s, basis = np.linalg.svd(rows[chosen].T)
            if count - (s > 1e-9).sum() != 1:
                continue
            x = basis[-1] * (1.0 if basis[-1].sum() > 0.0 else -1.0)
            if (x > -1e-9).all() and x @ least[chosen] > 1e-9:
                return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_jammed_is_what_an_enumeration_finds(seed):
    """Never where velocities exist, always where none do; the multipliers prove it."""
    random = np.random.default_rng(seed)
    found = {True: 0, False: 0}
    for _ in range(50):
        n, m, j = int(random.integers(1, 6)), int(random.integers(1, 4)), int(random.integers(3))
        at = problem(random, n, m, j, 0.3)
        verdict, is_jammed = existence.decide(at, MOST), is_contradictory(at)
        found[is_jammed] += 1
        assert (verdict.kind == existence.JAMMED) == is_jammed, at
        if is_jammed:
            balance = at.D.toarray()[::3].T @ verdict.P + at.G.toarray().T @ verdict.nu
            assert (verdict.P >= 0.0).all() and np.abs(balance).max() < 1e-14
            work = verdict.nu @ at.g - verdict.P @ at.b[::3]
            assert work == pytest.approx(verdict.rate) and work > 1e-3
    assert min(found.values()) > 10


def test_impulses_are_found_where_they_exist():
    """All contacts open at the velocities of the proof, and a solver finds impulses."""
    random, found = np.random.default_rng(7), 0
    solvers = [select.select(name, 1e-8, 20_000) for name in ("fc3d_nsgs", "fc3d_hybrid")]
    for _ in range(60):
        n, m = int(random.integers(1, 4)), int(random.integers(4, 7))
        at = problem(random, n, m, 0, float(random.choice([0.0, 0.3, 0.8])))
        at = at._replace(D=sparse.csc_matrix(random.normal(size=(3 * n, m))))
        verdict = existence.decide(at, MOST)
        if verdict.kind != existence.EXISTS:
            continue
        found += 1
        D = at.D.toarray()
        u = (D @ verdict.v + at.b).reshape(-1, 3)
        assert (u[:, 0] > at.mu * np.hypot(u[:, 1], u[:, 2])).all()
        free = D @ random.normal(size=m) + at.b
        contacts = fc3d.problem(D @ D.T, free, at.mu)
        assert any(select.solve(solver, contacts).ok for solver in solvers), at
    assert found > 15


def test_friction_can_leave_it_open():
    """Two walls that close to a wedge: without friction the body slips out, with much of it
    neither proof is found.
    """
    c, s = np.cos(0.15), np.sin(0.15)
    D = np.array([[c, 0, s], [-s, 0, c], [0, 1, 0], [-c, 0, s], [s, 0, c], [0, 1, 0]])
    b = np.array([-0.2, 0.0, 0.0] * 2)
    none = sparse.csc_matrix((0, 3)), np.zeros(0)
    kinds = []
    for mu in (0.0, 0.1, 1.0):
        at = existence.ExistenceProblem(sparse.csc_matrix(D), b, np.full(2, mu), *none)
        kinds.append(existence.decide(at, MOST).kind)
    assert kinds == [existence.EXISTS, existence.EXISTS, existence.SMOOTH]


@pytest.mark.parametrize("n, count", [(1, 60), (2, 25)])
def test_friction_locks_where_no_solver_finds_impulses(n, count):
    """Contacts of a body that moves in few ways: what is proved and what is solved exclude each
    other, and one of them holds.
    """
    random, locked = np.random.default_rng(n), 0
    for _ in range(count):
        m = int(random.integers(1, 2 * n + 1))
        J, mu = random.normal(size=(3 * n, m)), random.uniform(0.0, 1.5, n)
        q = J @ random.normal(size=m) if random.random() < 0.5 else random.normal(size=3 * n)
        q[::3] -= 1.0
        found = select.solve(select.select("fc3d_hybrid"), fc3d.problem(J @ J.T, q, mu))
        is_locked = existence.is_locked(J @ J.T, q, mu)
        assert is_locked != found.ok
        locked += is_locked
    assert 3 < locked < count - 3


def test_a_verdict_with_the_masses_names_the_lock():
    """A rod of one direction of motion, (0.6, 0, 0.8) at the contact: it would slide along its
    surface with more friction than presses it there. With mu = 0.2 it is let go.
    """
    J, none = np.array([[0.6], [-0.8], [0.0]]), sparse.csc_matrix((0, 1))
    q = np.array([-1.0, 0.0, 0.0])
    for mu, kind in ((0.2, existence.EXISTS), (0.9, existence.LOCKED)):
        at = existence.ExistenceProblem(sparse.csc_matrix(J), q, np.array([mu]), none, np.zeros(0))
        assert existence.decide(at, MOST, J @ J.T, q).kind == kind
        expected = existence.EXISTS if kind == existence.EXISTS else existence.SMOOTH
        assert existence.decide(at, MOST).kind == expected


def test_walls_that_recede_prove_nothing_where_joints_forbid_their_velocities():
    """The wall recedes at 1 m/s, but the joint's velocity of 3 m/s approaches it: u_N = -2 m/s.
    The only motion that is left, u = (1, -2, 0) a, is locked by friction of 3.
    """
    D, G = np.array([[1.0, -1.0], [-2.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0]])
    rows = sparse.csc_matrix(D), sparse.csc_matrix(G)
    at = existence.ExistenceProblem(
        rows[0], np.array([1.0, 0.0, 0.0]), np.array([3.0]), rows[1], np.array([3.0])
    )
    free = D[:, :1]
    found = existence.decide(at, MOST, free @ free.T, np.array([-2.0, 0.0, 0.0]))
    assert found.kind == existence.LOCKED


def test_velocities_beyond_the_bound_do_not_count():
    """A wedge so narrow that the body would have to leave it faster than the bound."""
    none = sparse.csc_matrix((0, 2)), np.zeros(0)
    for angle, kind in ((1e-3, existence.EXISTS), (1e-8, existence.JAMMED)):
        D = np.zeros((6, 2))
        D[0], D[3], D[1], D[4] = (1.0, angle), (-1.0, angle), (-angle, 1.0), (angle, 1.0)
        at = existence.ExistenceProblem(
            sparse.csc_matrix(D), np.tile([-0.2, 0, 0], 2), np.zeros(2), *none
        )
        assert existence.decide(at, MOST).kind == kind


def test_numbers_that_are_not_finite_prove_nothing():
    at = problem(np.random.default_rng(1), 2, 3, 0, 0.0)
    at.b[0] = np.nan
    assert existence.decide(at, MOST).kind == existence.UNKNOWN
