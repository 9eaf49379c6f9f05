"""Systems, relations and assembly: every gradient by differences, the block operator against one
big matrix.
"""

import numpy as np
import pytest

from rbdyn_ros.experiments.contact_runs import march
from rbdyn_ros.network import event_driven, laws, moreau_jean_theta, second_order

RNG = np.random.default_rng(7)


def test_block_delassus_operator_is_the_product_of_the_whole_matrices():
    """The notes' example (1.22): interaction 1 couples systems 1 and 3, interaction 2 couples 2
    and 3.
    """
    sizes, W = (2, 3, 2), []
    for n in sizes:
        A = RNG.normal(size=(n, n))
        W.append(A @ A.T + np.eye(n))
    blocks = [
        {0: RNG.normal(size=(3, 2)), 2: RNG.normal(size=(3, 2))},
        {1: RNG.normal(size=(1, 3)), 2: RNG.normal(size=(1, 2))},
    ]
    H = np.zeros((4, 7))
    H[:3, :2], H[:3, 5:], H[3:, 2:5], H[3:, 5:] = (
        blocks[0][0],
        blocks[0][2],
        blocks[1][1],
        blocks[1][2],
    )
    whole = np.zeros((7, 7))
    whole[:2, :2], whole[2:5, 2:5], whole[5:, 5:] = W
    G, carried = second_order.delassus(blocks, tuple(W))
    assert G == pytest.approx(H @ np.linalg.inv(whole) @ H.T, abs=1e-13)
    assert np.vstack([carried[i] for i in range(3)]) == pytest.approx(
        np.linalg.inv(whole) @ H.T, abs=1e-13
    )


def test_lagrangian_linear_is_the_nonlinear_one():
    M, C, K = (
        np.diag([1.0, 2.0]),
        np.array([[0.1, 0.0], [0.05, 0.2]]),
        np.array([[3.0, -1.0], [-1.0, 3.0]]),
    )
    one = second_order.linear(M, C, K, lambda t: np.array([t, 1.0]))
    other = second_order.nonlinear(2, one.mass, one.force)
    q, v = RNG.normal(size=2), RNG.normal(size=2)
    assert one.stiffness(0.5, q, v) == pytest.approx(other.stiffness(0.5, q, v), abs=1e-9)
    assert one.damping(0.5, q, v) == pytest.approx(other.damping(0.5, q, v), abs=1e-9)


@pytest.mark.parametrize(
    "q, v, h, words",
    [
        ((np.zeros(2),), (np.zeros(2),), 1e-2, r"v of system 0 has shape \(2,\)"),
        ((np.zeros(1), np.zeros(1)), (np.zeros(1),), 1e-2, "q has 2 parts"),
        ((np.array([np.nan]),), (np.zeros(1),), 1e-2, "q of system 0 is"),
        ((np.zeros(1),), (np.zeros(1),), -1e-2, "h is -0.01"),
        ((np.zeros(1),), (np.zeros(1),), np.inf, "h is inf; it must be finite and > 0"),
    ],
)
def test_a_state_that_is_none_is_refused(q, v, h, words):
    net = second_order.network(second_order.linear(1.0), ())
    with pytest.raises(ValueError, match=words):
        moreau_jean_theta.step(net, 0.0, q, v, h)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: laws.newton_impact(1.2), "restitution is 1.2"),
        (lambda: laws.friction_3d(-0.1), "friction is -0.1"),
        (lambda: laws.friction_3d(np.inf), "friction is inf; it must be finite and >= 0"),
        (lambda: laws.newton_impact("half"), "restitution is 'half'; it must be a number"),
        (lambda: second_order.linear([[1.0, 0.0], [0.0, 0.0]]), "M is not positive definite"),
        (lambda: second_order.linear(1.0, [[1.0, 2.0]]), r"C has shape \(1, 2\)"),
        (lambda: second_order.linear(np.nan), "finite"),
        (
            lambda: second_order.interaction(
                second_order.linear_relation([[1.0]]), laws.friction_3d(0.3)
            ),
            "1 rows, but Friction3d takes 3",
        ),
        (
            lambda: second_order.network(
                (),
                second_order.interaction(
                    second_order.linear_relation([[1.0]]), laws.Equality(), (3,)
                ),
            ),
            "couples system 3",
        ),
        (
            lambda: second_order.interaction(
                second_order.linear_relation([[1.0]]), laws.NewtonImpact(2.0)
            ),
            "restitution is 2.0",
        ),
        (
            lambda: second_order.interaction(
                second_order.linear_relation(np.eye(2)), laws.Complementarity()
            ),
            "2 rows, but Complementarity takes 1",
        ),
        (
            lambda: second_order.interaction(second_order.linear_relation([[1.0]]), None),
            "the law is None; known are Equality",
        ),
        (
            lambda: second_order.interaction(
                second_order.linear_relation([[1.0]]), laws.Equality(), ()
            ),
            "couples no system",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    "system, q, words",
    [
        (
            second_order.nonlinear(1, lambda q: np.eye(2), lambda t, q, v: np.zeros(1)),
            np.zeros(1),
            r"mass of system 0 has shape \(2, 2\)",
        ),
        (
            second_order.nonlinear(1, lambda q: np.eye(1), lambda t, q, v: np.zeros(2)),
            np.zeros(1),
            r"force of system 0 has shape \(2,\)",
        ),
    ],
)
def test_systems_that_do_not_fit_their_state_are_named(system, q, words):
    with pytest.raises(ValueError, match=words):
        moreau_jean_theta.step(
            second_order.network(system, ()), 0.0, (q,), (np.zeros(system.degrees),), 1e-2
        )


def test_a_relation_that_does_not_fit_its_system_is_named():
    net = second_order.network(
        second_order.linear(1.0),
        second_order.interaction(
            second_order.linear_relation([[1.0, 2.0]]), laws.newton_impact(0.5)
        ),
    )
    with pytest.raises(
        ValueError, match=r"gradient has shape \(1, 2\); its rows and systems make \(1, 1\)"
    ):
        moreau_jean_theta.step(net, 0.0, (np.zeros(1),), (np.zeros(1),), 1e-2)


@pytest.mark.parametrize(
    "law, q, v, words",
    [
        (
            laws.newton_impact(0.5),
            -0.1,
            0.0,
            "interaction 0 starts with a gap of -0.1 m; contacts may not overlap",
        ),
        (
            laws.Equality(),
            0.1,
            0.0,
            "row 0 of interaction 0 is 0.1 at the start; an equality must be met",
        ),
        (
            laws.Equality(),
            0.0,
            2.0,
            "row 0 of interaction 0 changes at the rate 2 at the start; v must keep an equality",
        ),
    ],
)
def test_a_run_that_cannot_begin_is_refused(law, q, v, words):
    net = second_order.network(
        second_order.linear(1.0),
        second_order.interaction(second_order.linear_relation([[1.0]]), law),
    )
    for begin in (
        lambda: second_order.check_start(net, 0.0, (np.array([q]),), (np.array([v]),)),
        lambda: event_driven.run(net, 0.0, (np.array([q]),), (np.array([v]),), [1.0]),
        lambda: march(net, (np.array([q]),), (np.array([v]),), 1e-2, 1),
    ):
        with pytest.raises(ValueError, match=words):
            begin()


def test_an_interaction_that_names_a_system_twice_is_refused():
    """Of the blocks on the same system the last one alone was kept."""
    ball = second_order.linear(M=1.0)
    twice = second_order.linear_relation([[1.0, 1.0]])
    contact = second_order.interaction(twice, laws.newton_impact(0.0), (0, 0))
    with pytest.raises(ValueError, match=r"couples systems \(0, 0\); each may be named once"):
        second_order.network(ball, contact)
