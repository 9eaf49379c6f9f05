"""Systems, relations and assembly: every gradient by differences, the block operator against one big matrix."""

import numpy as np
import pytest

from rbdyn_ros.experiments.nonsmooth_runs import march
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.nonsmooth import event_driven, moreau_jean
from rbdyn_ros.systems import assembly, lagrangian, laws, newton_euler, relations
from rbdyn_ros.systems.mechanical import differentiated

RNG = np.random.default_rng(7)


def random_pose(bodies: int) -> np.ndarray:
    q = RNG.normal(size=7 * bodies)
    for b in range(bodies):
        q[7 * b + 3 : 7 * b + 7] /= np.linalg.norm(q[7 * b + 3 : 7 * b + 7])
    return q


def spinning_bodies() -> newton_euler.Mechanical:
    return newton_euler.bodies([1.0, 2.0], [(0.3, 0.2, 0.1), (1.0, 2.0, 2.5)], lambda t, q, v: np.sin(q[:12] + t) - v)


def test_newton_euler_gradients():
    system, q, v = spinning_bodies(), random_pose(2), RNG.normal(size=12)
    by_v = differentiated(lambda x: system.force(0.3, q, x), v, 12)
    by_q = differentiated(lambda x: system.force(0.3, x, v), q, 12, newton_euler.moved)
    assert system.damping(0.3, q, v) == pytest.approx(by_v, abs=1e-8)
    assert system.stiffness(0.3, q, v) == pytest.approx(by_q, abs=1e-8)


def test_tangent_is_the_derivative_of_a_displacement():
    q, v, e = random_pose(2), RNG.normal(size=12), 1e-6
    rate = (newton_euler.moved(q, e * v) - newton_euler.moved(q, -e * v)) / (2 * e)
    assert newton_euler.tangent(q) @ v == pytest.approx(rate, abs=1e-9)


def test_exponential_keeps_the_norm_where_the_notes_update_stretches():
    q, w = random_pose(1), np.r_[np.zeros(3), 6.0, 1.0, -2.0] * 1e-3
    stretched = q + newton_euler.tangent(q) @ w
    assert newton_euler.norms(newton_euler.moved(q, w))[0] == pytest.approx(0.0, abs=1e-15)
    growth = np.sqrt(1.0 + w[3:] @ w[3:] / 4.0) - 1.0
    assert newton_euler.norms(stretched)[0] == pytest.approx(growth, rel=1e-6)


@pytest.mark.parametrize(
    "relation, bodies",
    [
        (relations.point_on_plane((0.1, -0.2, 0.3), (1.0, 2.0, -0.5), 0.4, friction=False), 1),
        (relations.ball_on_plane(0.2, (1.0, 2.0, -0.5), 0.4, friction=False), 1),
        (relations.balls(0.2, 0.3, friction=False), 2),
        (relations.ball_joint(((0.1, 0.2, 0.3),), (1.0, 0.0, 0.0)), 1),
        (relations.ball_joint(((0.1, 0.2, 0.3), (-0.3, 0.0, 0.7))), 2),
    ],
)
def test_relation_gradients_off_the_unit_sphere_too(relation, bodies):
    q = random_pose(bodies) * 1.1
    assert relation.gradient(0.0, q) == pytest.approx(differentiated(lambda x: relation.value(0.0, x), q, len(q)), abs=1e-8)


def test_contact_rows_are_the_velocity_of_the_point():
    c, n = np.array([0.1, -0.2, 0.3]), (0.0, 0.6, 0.8)
    q, v = random_pose(1), RNG.normal(size=6)
    relation = relations.point_on_plane(c, n)
    point = lambda x: relations.place(x, tuple(c))  # noqa: E731
    rate = (point(newton_euler.moved(q, 1e-6 * v)) - point(newton_euler.moved(q, -1e-6 * v))) / 2e-6
    D = relations.frame(n)
    assert D @ D.T == pytest.approx(np.eye(3), abs=1e-15) and np.linalg.det(D) == pytest.approx(1.0)
    assert relation.gradient(0.0, q) @ newton_euler.tangent(q) @ v == pytest.approx(D @ rate, abs=1e-8)


def test_ball_rows_are_the_velocity_of_the_touching_points():
    q, v = random_pose(2), RNG.normal(size=12)
    R = quaternion.to_matrix(q.reshape(2, 7)[:, 3:])
    n = (q[:3] - q[7:10]) / np.linalg.norm(q[:3] - q[7:10])
    slip = v[:3] + np.cross(R[0] @ v[3:6], -0.2 * n) - v[6:9] - np.cross(R[1] @ v[9:], 0.3 * n)
    D = relations.frame(n)
    two, one = relations.balls(0.2, 0.3), relations.ball_on_plane(0.2, n, -1.0)
    assert two.gradient(0.0, q) @ newton_euler.tangent(q) @ v == pytest.approx(D @ slip, abs=1e-13)
    rolled = v[:3] + np.cross(R[0] @ v[3:6], -0.2 * n)
    assert one.gradient(0.0, q[:7]) @ newton_euler.tangent(q[:7]) @ v[:6] == pytest.approx(D @ rolled, abs=1e-13)
    assert two.value(0.0, q)[0] == pytest.approx(np.linalg.norm(q[:3] - q[7:10]) - 0.5)
    assert one.value(0.0, q[:7])[0] == pytest.approx(n @ q[:3] + 1.0 - 0.2)


def test_block_delassus_operator_is_the_product_of_the_whole_matrices():
    """The notes' example (1.22): interaction 1 couples systems 1 and 3, interaction 2 couples 2 and 3."""
    sizes, W = (2, 3, 2), []
    for n in sizes:
        A = RNG.normal(size=(n, n))
        W.append(A @ A.T + np.eye(n))
    blocks = [{0: RNG.normal(size=(3, 2)), 2: RNG.normal(size=(3, 2))}, {1: RNG.normal(size=(1, 3)), 2: RNG.normal(size=(1, 2))}]
    H = np.zeros((4, 7))
    H[:3, :2], H[:3, 5:], H[3:, 2:5], H[3:, 5:] = blocks[0][0], blocks[0][2], blocks[1][1], blocks[1][2]
    whole = np.zeros((7, 7))
    whole[:2, :2], whole[2:5, 2:5], whole[5:, 5:] = W
    G, carried = assembly.delassus(blocks, tuple(W))
    assert G == pytest.approx(H @ np.linalg.inv(whole) @ H.T, abs=1e-13)
    assert np.vstack([carried[i] for i in range(3)]) == pytest.approx(np.linalg.inv(whole) @ H.T, abs=1e-13)


def test_lagrangian_linear_is_the_nonlinear_one():
    M, C, K = np.diag([1.0, 2.0]), np.array([[0.1, 0.0], [0.05, 0.2]]), np.array([[3.0, -1.0], [-1.0, 3.0]])
    one = lagrangian.linear(M, C, K, lambda t: np.array([t, 1.0]))
    other = lagrangian.nonlinear(2, one.mass, one.force)
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
        ((np.zeros(1),), (np.zeros(1),), np.inf, "h is inf; it must be > 0 and finite"),
    ],
)
def test_a_state_that_is_none_is_refused(q, v, h, words):
    net = assembly.network(lagrangian.linear(1.0), ())
    with pytest.raises(ValueError, match=words):
        moreau_jean.step(net, 0.0, q, v, h)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: laws.newton_impact(1.2), "restitution is 1.2"),
        (lambda: laws.friction_3d(-0.1), "friction is -0.1"),
        (lambda: laws.friction_3d(np.inf), "friction is inf; it must be >= 0 and finite"),
        (lambda: laws.newton_impact("half"), "restitution is 'half'; it must be a number"),
        (lambda: lagrangian.linear([[1.0, 0.0], [0.0, 0.0]]), "M is not positive definite"),
        (lambda: lagrangian.linear(1.0, [[1.0, 2.0]]), r"C has shape \(1, 2\)"),
        (lambda: lagrangian.linear(np.nan), "finite"),
        (lambda: newton_euler.bodies(0.0, (1.0, 1.0, 1.0), None), "mass is 0.0"),
        (lambda: relations.interaction(relations.linear([[1.0]]), laws.friction_3d(0.3)), "1 rows, but Friction3d takes 3"),
        (lambda: assembly.network((), relations.interaction(relations.linear([[1.0]]), laws.Equality(), (3,))), "couples system 3"),
        (lambda: relations.interaction(relations.linear([[1.0]]), laws.NewtonImpact(2.0)), "restitution is 2.0"),
        (lambda: relations.interaction(relations.linear(np.eye(2)), laws.Complementarity()), "2 rows, but Complementarity takes 1"),
        (lambda: relations.interaction(relations.linear([[1.0]]), None), "the law is None; known are Equality"),
        (lambda: relations.interaction(relations.linear([[1.0]]), laws.Equality(), ()), "couples no system"),
        (lambda: relations.point_on_plane((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), "a direction must not be zero"),
        (lambda: relations.point_on_plane((0.0, 0.0)), r"point has shape \(2,\)"),
        (lambda: relations.ball_joint(((0.0,) * 3,) * 3), "points has 3 entries"),
        (lambda: relations.balls(-0.1, 0.1), "radius is -0.1"),
        (lambda: newton_euler.bodies((1.0, 2.0), (1.0, 1.0, 1.0), None), r"inertia has shape \(1, 3\); it must be \(2, 3\)"),
        (lambda: newton_euler.bodies(1.0, (1.0, 1.0, 5.0), None), "none may be larger than the sum of the others"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


BODY = newton_euler.bodies(1.0, (1.0, 1.0, 1.0), lambda t, q, v: np.zeros(6))


@pytest.mark.parametrize(
    "system, q, words",
    [
        (BODY, np.r_[0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0], "a quaternion in q of system 0 has norm 2; it must be 1"),
        (BODY, np.zeros(7), "a quaternion in q of system 0 has norm 0"),
        (lagrangian.nonlinear(1, lambda q: np.eye(2), lambda t, q, v: np.zeros(1)), np.zeros(1), r"mass of system 0 has shape \(2, 2\)"),
        (lagrangian.nonlinear(1, lambda q: np.eye(1), lambda t, q, v: np.zeros(2)), np.zeros(1), r"force of system 0 has shape \(2,\)"),
    ],
)
def test_systems_that_do_not_fit_their_state_are_named(system, q, words):
    with pytest.raises(ValueError, match=words):
        moreau_jean.step(assembly.network(system, ()), 0.0, (q,), (np.zeros(system.degrees),), 1e-2)


def test_a_relation_that_does_not_fit_its_system_is_named():
    net = assembly.network(lagrangian.linear(1.0), relations.interaction(relations.linear([[1.0, 2.0]]), laws.newton_impact(0.5)))
    with pytest.raises(ValueError, match=r"gradient has shape \(1, 2\); its rows and systems make \(1, 1\)"):
        moreau_jean.step(net, 0.0, (np.zeros(1),), (np.zeros(1),), 1e-2)


@pytest.mark.parametrize(
    "law, q, v, words",
    [
        (laws.newton_impact(0.5), -0.1, 0.0, "interaction 0 starts with a gap of -0.1 m; contacts may not overlap"),
        (laws.Equality(), 0.1, 0.0, "row 0 of interaction 0 is 0.1 at the start; an equality must be met"),
        (laws.Equality(), 0.0, 2.0, "row 0 of interaction 0 changes at the rate 2 at the start; v must keep an equality"),
    ],
)
def test_a_run_that_cannot_begin_is_refused(law, q, v, words):
    net = assembly.network(lagrangian.linear(1.0), relations.interaction(relations.linear([[1.0]]), law))
    for begin in (
        lambda: assembly.check_start(net, 0.0, (np.array([q]),), (np.array([v]),)),
        lambda: event_driven.run(net, 0.0, (np.array([q]),), (np.array([v]),), [1.0]),
        lambda: march(net, (np.array([q]),), (np.array([v]),), 1e-2, 1),
    ):
        with pytest.raises(ValueError, match=words):
            begin()
