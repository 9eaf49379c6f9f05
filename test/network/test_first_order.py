"""First-order systems: gradients by differences, several systems coupled, relative degrees, input
that cannot be.
"""

import numpy as np
import pytest

from rbdyn_ros.network import first_order, laws, theta_gamma
from rbdyn_ros.network.first_order import reach, relative_degrees

RNG = np.random.default_rng(5)
SIZES, LINKS = (
    (2, 3, 2),
    ((0, 2), (1, 2)),
)  # the notes' example (1.22): relation 1 couples systems 1 and 3, relation 2 couples 2 and 3


def test_gradients_that_are_left_out_are_differences():
    """y = x_0 s + sin x_1, r = (s^2 x_1, x_0)."""
    one = first_order.relation(
        1,
        lambda t, x, s: x[:1] * s + np.sin(x[1:]),
        lambda t, x, s: np.array([s[0] ** 2 * x[1], x[0]]),
    )
    system = first_order.assemble(
        first_order.dynamics(2, lambda t, x: np.array([x[1] ** 3, t * x[0]])), one
    )
    x, s = np.array([0.3, -0.7]), np.array([0.4])
    assert system.A(2.0, x) == pytest.approx(np.array([[0.0, 3 * 0.49], [2.0, 0.0]]), abs=1e-8)
    assert system.C(0.0, x, s) == pytest.approx(np.array([[0.4, np.cos(-0.7)]]), abs=1e-8)
    assert system.D(0.0, x, s) == pytest.approx(np.array([[0.3]]), abs=1e-8)
    assert system.K(0.0, x, s) == pytest.approx(np.array([[0.0, 0.16], [1.0, 0.0]]), abs=1e-8)
    assert system.B(0.0, x, s) == pytest.approx(np.array([[0.8 * -0.7], [0.0]]), abs=1e-8)


def test_blocks_of_the_one_step_matrix_are_sums_over_the_shared_systems():
    """One implicit step of three coupled systems: y = (D + h C W^-1 B) lambda + C W^-1 x_k, block
    by block (N.32).
    """
    h, A = 0.1, [RNG.normal(size=(n, n)) for n in SIZES]
    B = [{i: RNG.normal(size=(SIZES[i], m)) for i in link} for link, m in zip(LINKS, (3, 1))]
    C = [{i: RNG.normal(size=(m, SIZES[i])) for i in link} for link, m in zip(LINKS, (3, 1))]
    D = [10.0 * np.eye(3), 10.0 * np.eye(1)]
    relations = [
        first_order.linear_relation(
            np.vstack(list(b.values())), np.hstack(list(c.values())), d, systems=link
        )
        for b, c, d, link in zip(B, C, D, LINKS)
    ]
    system = first_order.assemble([first_order.linear_dynamics(a) for a in A], relations)
    x = [RNG.normal(size=n) for n in SIZES]
    step = theta_gamma.step(
        system,
        theta_gamma.start(system, 0.0, np.concatenate(x), np.zeros(4)),
        h,
        theta_gamma.options(1.0, 1.0),
    )
    assert step.ok and (step.multiplier > 0.0).any()
    W = [np.linalg.inv(np.eye(len(a)) - h * a) for a in A]
    for a in range(2):
        rows = slice(0, 3) if a == 0 else slice(3, 4)
        y = D[a] @ step.multiplier[rows] + sum(C[a][i] @ W[i] @ x[i] for i in LINKS[a])
        for b in range(2):
            other = slice(0, 3) if b == 0 else slice(3, 4)
            y = (
                y
                + h
                * sum(C[a][i] @ W[i] @ B[b][i] for i in LINKS[a] if i in LINKS[b])
                @ step.multiplier[other]
            )
        assert step.y[rows] == pytest.approx(y, abs=1e-12)


def test_two_tanks_and_a_valve_between_them():
    """A valve that lets water flow one way only: levels become equal where the first is higher,
    and stay where it is not.
    """
    tanks = [first_order.linear_dynamics([[0.0]]) for _ in range(2)]
    valve = first_order.linear_relation(
        [[-1.0], [1.0]], [[-1.0, 1.0]], [[2.0]], systems=(0, 1)
    )  # 2 s of resistance
    system = first_order.assemble(tanks, valve)
    for levels, sign in (((1.0, 0.0), 1.0), ((0.0, 1.0), 0.0)):
        row = theta_gamma.start(system, 0.0, np.array(levels), np.zeros(1))
        for _ in range(1000):
            row = theta_gamma.step(system, row, 1e-3, theta_gamma.options(0.5, 0.5, True))
            assert row.ok, row.message
        half = 0.5 * (levels[0] - levels[1]) * (np.exp(-1.0) if sign else 1.0)
        assert row.x == pytest.approx([0.5 + half, 0.5 - half], abs=1e-6)


def test_relative_degrees():
    A, B = [[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]]
    assert relative_degrees(A, B, [[1.0, 0.0]], [[0.0]]) == [2]
    assert relative_degrees(A, B, [[0.0, 1.0]], [[0.0]]) == [1]
    assert relative_degrees(A, B, [[0.0, 1.0]], [[3.0]]) == [0]
    assert relative_degrees([[0.0, 0.0], [0.0, 0.0]], B, [[1.0, 0.0]], [[0.0]]) == [None]


def test_equality_and_complementarity_together():
    """Two tanks with equal levels by a wide pipe and an overflow at 0.3: 1/s flows into the first,
    both rise by half of it, then stay.
    """
    tanks = [
        first_order.linear_dynamics([[0.0]], lambda t: np.ones(1)),
        first_order.linear_dynamics([[0.0]]),
    ]
    pipe = first_order.linear_relation(
        [[1.0], [-1.0]], [[1.0, -1.0]], law=laws.Equality(), systems=(0, 1)
    )
    overflow = first_order.linear_relation(
        [[-1.0]], [[-1.0]], e=lambda t: np.array([0.3]), systems=(1,)
    )
    system = first_order.assemble(tanks, (pipe, overflow))
    row, h = theta_gamma.start(system, 0.0, np.zeros(2), np.zeros(2)), 1e-2
    assert row.degree == 1
    for _ in range(100):
        row = theta_gamma.step(system, row, h, theta_gamma.options(1.0, 1.0))
        assert row.ok, row.message
        assert row.x == pytest.approx(np.full(2, min(0.5 * row.t, 0.3)), abs=1e-12)
    assert row.multiplier == pytest.approx([-1.0, 1.0])


def test_reach_asks_for_any_multiplier_and_looks_beside_a_gradient_that_vanishes():
    """Rows closed by each other's multiplier; y = x^2 at x = 0; a state that its input does not
    move.
    """
    relay = first_order.linear([[0.0]], [[1.0, 0.0]], [[1.0], [0.0]], [[0.0, 1.0], [-1.0, 0.0]])
    assert reach(relay, 0.0, np.zeros(1), np.zeros(2)) == [0, 0]
    curved = first_order.relation(1, lambda t, x, s: x**2, lambda t, x, s: s)
    assert reach(
        first_order.assemble(first_order.dynamics(1, lambda t, x: -x), curved),
        0.0,
        np.zeros(1),
        np.zeros(1),
    ) == [1]
    assert reach(
        first_order.linear(-np.eye(2), [[1.0], [0.0]], [[0.0, 1.0]]), 0.0, np.zeros(2), np.zeros(1)
    ) == [None]
    assert reach(
        first_order.linear([[-1.0]], [[1.0]], [[1.0]], M=[[0.0]]), 0.0, np.zeros(1), np.zeros(1)
    ) == [0]


def falling():
    """A ball as a first-order system: y is its height, lambda acts on the second derivative."""
    return first_order.linear(
        [[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [[1.0, 0.0]], b=lambda t: np.array([0.0, -9.81])
    )


def jerked():
    """lambda acts on the third derivative of y."""
    return first_order.linear(np.eye(3, k=1), np.eye(3)[:, 2:], np.eye(3)[:1])


def test_degree_two_is_taken_by_the_implicit_scheme_and_refused_by_others():
    system = falling()
    row = theta_gamma.start(system, 0.0, np.array([0.1, 0.0]), np.zeros(1))
    assert row.degree == 2
    for theta, gamma, full in ((0.5, 1.0, False), (0.5, 0.5, True)):
        with pytest.raises(ValueError, match="a law of relative degree 2 needs 1 and 1"):
            theta_gamma.step(system, row, 1e-3, theta_gamma.options(theta, gamma, full))
    for _ in range(1000):
        row = theta_gamma.step(system, row, 1e-3, theta_gamma.options(1.0, 1.0))
        assert row.ok, row.message
    assert row.x == pytest.approx([0.0, 0.0], abs=1e-12) and row.multiplier == pytest.approx(
        [9.81]
    )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: first_order.linear([[1.0]], [[1.0, 2.0]], [[1.0]]), "B has shape"),
        (
            lambda: first_order.linear([[1.0]], [[1.0]], [[1.0]], law=laws.friction_3d(0.3)),
            "it must be Complementarity",
        ),
        (
            lambda: first_order.assemble(
                first_order.linear_dynamics(1.0),
                first_order.linear_relation(1.0, 1.0, systems=(1,)),
            ),
            "take different ones of 0 to 0",
        ),
        (
            lambda: theta_gamma.start(falling(), 0.0, np.zeros(3), np.zeros(1)),
            r"x has shape \(3,\); it must be \(2,\)",
        ),
        (
            lambda: theta_gamma.start(falling(), 0.0, np.array([np.nan, 0.0]), np.zeros(1)),
            r"x\[0\] is nan.*finite",
        ),
        (
            lambda: theta_gamma.start(falling(), 0.0, np.zeros(2), np.zeros(2)),
            "multiplier has shape",
        ),
        (
            lambda: theta_gamma.start(
                first_order.linear(-1.0, 0.0, 1.0), 0.0, np.zeros(1), np.zeros(1)
            ),
            "appears in no derivative of it",
        ),
        (
            lambda: theta_gamma.start(jerked(), 0.0, np.zeros(3), np.zeros(1)),
            "in its derivative 3 only",
        ),
        (
            lambda: theta_gamma.step(
                falling(), theta_gamma.start(falling(), 0.0, np.ones(2), np.zeros(1)), -1e-3
            ),
            "h is -0.001",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "system, words",
    [
        (
            first_order.linear(100.0, 1.0, 1.0),
            "matrix M - h theta A is singular",
        ),  # h = 0.02, theta = 1/2
        (first_order.linear(-1.0, 1.0, 1.0, b=lambda t: np.array([np.nan])), "not finite"),
    ],
)
def test_a_step_that_cannot_be_solved_says_why(system, words):
    last = theta_gamma.start(system, 0.0, np.ones(1), np.zeros(1))
    step = theta_gamma.step(system, last, 0.02)
    assert not step.ok and words in step.message
