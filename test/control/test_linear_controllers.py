"""Linear controllers with a memory as laws: from a file, by Kalman's filter, by H-infinity."""

import math

import numpy as np
import pytest

from rbdyn_ros.control import linear_controller, linearization, step_linearization
from rbdyn_ros.control.laws import h_infinity, lqg, lqr, state_space
from rbdyn_ros.control.linear_controller import POSITIONS
from rbdyn_ros.evaluation import loop_margins
from rbdyn_ros.pendulum import spherical_pendulum as model
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import State

PLANT, H = model.Params(cart_damping=0.5, joint_damping=0.005), 0.002
SYSTEM = model.build(PLANT)
RNG = np.random.default_rng(3)


def designed(law, params=PLANT, **options):
    return law.design(model, params, law.Options(**options))


def states(n: int, size: float):
    """Random states near upright."""
    for i in range(n):
        angle, azimuth = RNG.uniform(0.0, size), RNG.uniform(-3.0, 3.0)
        start = model.upright(angle, azimuth)
        yield State(
            i * H,
            start.q + size * np.r_[RNG.normal(size=2), 0, 0, 0, 0],
            size * RNG.normal(size=5),
        )


@pytest.mark.parametrize("limit", (1e9, 2.0))
def test_the_law_is_its_recursion(limit):
    A, B, C, D = (0.4 * RNG.normal(size=s) for s in ((3, 3), (3, 4), (3,), (4,)))
    W, N, X = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=(3, 4))
    given = linear_controller.dynamic(A, B, C, D, windup=W, moved=N, start=X)
    law = linear_controller.LinearLaw(given, limit, 0.01)
    memory = r = None
    for state in states(12, 0.4):
        lean, goal = np.array(tilt(state.q, state.v)), np.array((0.3, -0.4))
        if r is None:
            r, memory = state.q[:2].copy(), None
        move = goal - r
        move *= min(1.0, 0.01 / np.linalg.norm(move))
        r = r + move
        e = np.array((state.q[:2] - r, state.v[:2], lean[:2], lean[2:]))
        memory = X @ e if memory is None else memory - np.outer(N, move)
        u = -(C @ memory + D @ e)
        f = u * min(1.0, limit / np.linalg.norm(u))
        np.testing.assert_allclose(law.command(0.0, state, goal), f, rtol=1e-11, atol=1e-11)
        memory = A @ memory + B @ e + np.outer(W, f - u)
    law.reset()
    again = law.command(0.0, state, state.q[:2])
    law.reset()
    np.testing.assert_array_equal(again, law.command(0.0, state, state.q[:2]))


def test_gains_from_a_file_are_the_regulator(tmp_path):
    own = designed(lqr)
    state_space.write(tmp_path / "mine.npz", own.gains)
    law = designed(state_space, file=str(tmp_path / "mine.npz"))
    for state in states(5, 0.02):
        expected = own.command(0.0, state, np.zeros(2))
        np.testing.assert_allclose(law.command(0.0, state, np.zeros(2)), expected, atol=1e-12)


def test_what_python_control_makes_is_a_law_and_what_a_law_is_goes_back(tmp_path):
    control = pytest.importorskip("control", reason="control is not installed (./testbed test)")
    own = designed(lqg)
    given = linear_controller.to_control(own.controller, H)
    state_space.write(tmp_path / "lqg.npz", given)
    law = designed(state_space, file=str(tmp_path / "lqg.npz"))
    z = np.exp(2j * math.pi * H * np.geomspace(0.1, 200.0, 20))
    expected = np.array([given(p)[0] for p in z])
    np.testing.assert_allclose(law.linear().response(z), expected, rtol=1e-9)
    plant = linear_controller.plant(SYSTEM, H)
    loop = control.feedback(plant, given)
    A, B = step_linearization.upright(SYSTEM, H)
    poles = np.linalg.eigvals(own.controller.close(A, B))
    np.testing.assert_allclose(np.abs(loop.poles()).max(), np.abs(poles).max(), rtol=1e-9)


def test_a_continuous_controller_is_sampled(tmp_path):
    """A lead network on the tilt beside gains: its response is that of s at the same place."""
    control = pytest.importorskip("control", reason="control is not installed (./testbed test)")
    lead = control.ss([[-30.0]], [[-4.0, 7.0]], [[2.0]], [[-19.0, -300.0]])
    state_space.write(tmp_path / "lead.npz", lead)
    found = state_space.read(tmp_path / "lead.npz", H)
    w = np.array((1.0, 10.0, 100.0))
    s = 2.0 / H * np.tanh(0.5j * w * H)  # Tustin's rule
    expected = np.array([lead(p)[0] for p in s])
    np.testing.assert_allclose(found.response(np.exp(1j * w * H))[:, ::2], expected, rtol=1e-10)
    assert not found.response(np.exp(1j * w * H))[:, 1::2].any()


@pytest.mark.parametrize(
    "arrays, sentence",
    [
        ({}, "A is missing"),
        ({"K": np.zeros(3)}, r"K has shape \(3,\); it must be \(4,\)"),
        ({"K": np.full(4, np.nan)}, "K must be numbers, each finite"),
        ({"dt": 0.01}, "dt is 0.01, and the period is 0.002 s"),
        ({"D": np.zeros((2, 2))}, "2 inputs and 2 outputs|do not fit"),
        ({"B": np.zeros((2, 2))}, "do not fit"),
        ({"A": np.array("one")}, "A must be numbers"),
    ],
)
def test_a_file_that_is_no_controller_is_named(tmp_path, arrays, sentence):
    whole = {"A": np.eye(1), "B": np.ones((1, 2)), "C": np.ones((1, 1)), "D": np.zeros((1, 2)),
             "dt": H}  # fmt: skip
    np.savez(tmp_path / "bad.npz", **(whole | arrays if arrays else {}))
    with pytest.raises(ValueError, match=sentence):
        designed(state_space, file=str(tmp_path / "bad.npz"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="state_space.file is empty"):
        designed(state_space)
    with pytest.raises(ValueError, match="No such file"):
        designed(state_space, file=str(tmp_path / "none.npz"))


def test_the_kalman_filter_is_the_stationary_one():
    """Its gain is what the covariance's recursion goes to, and its poles are those of K and G."""
    o = lqg.Options()
    A, B = step_linearization.upright(SYSTEM, H)
    Q, R = o.force_noise**2 / H * B @ B.T, np.diag((o.cart_noise, o.angle_noise)) ** 2
    P = np.eye(4)
    for _ in range(20000):
        G = P @ POSITIONS.T @ np.linalg.inv(POSITIONS @ P @ POSITIONS.T + R)
        P = A @ (P - G @ POSITIONS @ P) @ A.T + Q
    K = designed(lqr).gains
    expected = np.concatenate(
        (np.linalg.eigvals(A - B * K), np.linalg.eigvals(A - A @ G @ POSITIONS))
    )
    found = np.linalg.eigvals(designed(lqg).controller.close(A, B))
    np.testing.assert_allclose(np.sort(np.abs(found)), np.sort(np.abs(expected)), rtol=1e-6)


def test_the_loop_recovers_that_of_the_regulator():
    """More noise at the force: the margins go to those of the true state."""
    delays = [
        loop_margins.of_law(designed(lqg, force_noise=n), PLANT, H).delay for n in (0.1, 2.0, 30.0)
    ]
    full = loop_margins.of_law(designed(lqr), PLANT, H).delay
    assert delays[0] < delays[1] < delays[2] < full and delays[2] == pytest.approx(full, rel=0.01)


@pytest.mark.parametrize("law", (lqg, h_infinity))
def test_no_rate_is_seen(law):
    given = designed(law).controller
    assert not given.B[:, 1::2].any() and not given.D[1::2].any()


def norm(problem, found, gamma) -> float:
    """The largest singular value of T over the frequencies, from the definition (K.26)."""
    A, B1, B2, C1, C2, N = problem
    n, q = len(A), len(C2)
    F, G, own = found.feedback, found.correction, found.observer + B2 @ found.feedback
    whole = np.block([[A, B2 @ F], [G @ C2, own]])
    enters = np.block([[B1, N], [np.zeros((n, B1.shape[1])), G @ np.eye(q)]])
    leaves = np.block([[C1, np.zeros((len(C1), n))], [np.zeros((len(F), n)), F]])
    assert np.linalg.eigvals(whole).real.max() < 0.0
    eye = np.eye(2 * n)
    values = (
        leaves @ np.linalg.solve(1j * w * eye - whole, enters)
        for w in np.geomspace(1e-3, 1e4, 2000)
    )
    return max(np.linalg.norm(T, 2) for T in values)


@pytest.mark.parametrize("noisy", (False, True))
def test_the_amplification_is_below_gamma_and_gamma_is_the_least(noisy):
    """The pendulum, with and without noise that enters its states; near the least gamma the norm
    reaches it.
    """
    A, B = linearization.upright(SYSTEM)
    N = 0.3 * RNG.normal(size=(4, 2)) if noisy else np.zeros((4, 2))
    problem = h_infinity.Problem(A, B, B, np.diag((3.0, 0.0, 1.0, 0.0)), 10.0 * POSITIONS, N)
    for slack, share in ((1.001, 0.98), (1.5, 0.6)):
        found, least = h_infinity.solve(problem, slack)
        assert share < norm(problem, found, least) / (slack * least) < 1.0 + 1e-6
    assert h_infinity.attempt(problem, 0.99 * least) is None


def test_a_plant_of_one_state_has_the_least_gamma_of_its_formula():
    """x' = a x + w + u, z = (c x, u), y = x + n: X = 1 / g, Y = 1 / k with closed forms, and
    X Y = gamma^2 at the least.
    """
    a, c = 1.0, 2.0
    one = np.ones((1, 1))
    problem = h_infinity.Problem(a * one, one, one, c * one, one, 0.0 * one)
    _, least = h_infinity.solve(problem, 1.1)

    def excess(gamma: float) -> float:
        """Both equations are quadratics: 2 a p + p^2 (s / gamma^2 - b) + q = 0."""

        def root(s, b, q):
            k = b - s / gamma**2
            return (a + math.sqrt(a * a + k * q)) / k

        return root(1.0, 1.0, c * c) * root(c * c, 1.0, 1.0) - gamma**2

    assert excess(1.001 * least) < 0.0 < excess(0.999 * least)


def test_what_no_controller_stabilizes_is_refused():
    zero = np.zeros((4, 1))
    A, B = linearization.upright(SYSTEM)
    with pytest.raises(ValueError, match="no controller bounds"):
        h_infinity.solve(
            h_infinity.Problem(A, B, zero, np.eye(4), POSITIONS, np.zeros((4, 2))), 1.1
        )
    for law in (lqg, h_infinity):
        with pytest.raises(ValueError, match="cart.fixed false"):
            designed(law, PLANT._replace(cart_fixed=True))


def test_the_worst_amplification_is_smaller_than_that_of_lqg():
    """What it is for: the largest |T| of the loop, at less than its own price elsewhere."""
    A, B = step_linearization.upright(SYSTEM, H)
    z = np.exp(2j * math.pi * H * np.geomspace(0.05, 200.0, 500))
    P = np.array([np.linalg.solve(p * np.eye(4) - A, B)[:, 0] for p in z])
    largest = {}
    for law in (lqg, h_infinity):
        L = (
            designed(law, **({"slack": 1.05} if law is h_infinity else {})).linear().response(z)
            * P
        ).sum(axis=1)
        largest[law] = np.abs(L / (1.0 + L)).max()
    assert largest[h_infinity] < 0.95 * largest[lqg]


@pytest.mark.parametrize("law", (lqg, h_infinity))
@pytest.mark.parametrize("period", (0.002, 0.01))
def test_it_balances(closed_loop, law, period):
    run = closed_loop(
        designed(law, period=period), PLANT, model.upright(math.radians(10.0), 0.5), 8.0,
        steps=round(1000 * period), integrator="moser_veselov",
    )  # fmt: skip
    assert run.settling_time() < 3.6 and run.force.max() <= 20.0 * (1 + 1e-12)


@pytest.mark.parametrize("law", (lqg, h_infinity))
def test_a_far_set_point_does_not_topple_the_rod(closed_loop, law):
    run = closed_loop(
        designed(law, period=0.01), PLANT, model.upright(), 25.0, (6.0, -3.0), steps=10
    )
    assert run.settling_time((6.0, -3.0)) < 25.0 and run.tilt.max() < math.radians(5.0)


@pytest.mark.parametrize("windup, error", [(1.0, 0.0), (0.0, 1e-3)])
def test_the_memory_follows_the_force_that_acts(windup, error):
    """On the linear plant from rest the filter's prediction is exact while the force is at its
    limit; without W it is not.
    """
    given, (A, B) = designed(lqg).controller, step_linearization.upright(SYSTEM, H)
    law = linear_controller.LinearLaw(given._replace(windup=windup * given.windup), 20.0)
    e, worst = np.array((0.0, 0.0, 0.3, 0.0)), 0.0
    for k in range(200):
        state = State(0.0, model.upright(e[2]).q + np.r_[e[0], np.zeros(5)], np.zeros(5))
        force = law.command(0.0, state, np.zeros(2))
        assert abs(force[0]) == pytest.approx(20.0) or k > 20
        e = A @ e + B[:, 0] * force[0]
        worst = max(worst, np.abs(law._memory[0] - e).max())
    assert worst < 1e-9 if error == 0.0 else worst > error


@pytest.mark.parametrize("period", (0.2, 0.5))
def test_a_period_that_is_too_long_is_refused(period):
    with pytest.raises(ValueError, match="controller h_infinity: sampled every"):
        designed(h_infinity, period=period)
