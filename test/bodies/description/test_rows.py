"""C, dC/dt, J and dJ/dt of every joint: against finite differences, and against the formulas of
the constraint appendix.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies.description import jacobian, joint_kinds, redundancy
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import floating_base, quaternion
from rbdyn_ros.numerics import finite_difference

JOINTS = {
    "nail": joint_kinds.anchor(0, (0.1, -0.2, 0.3), (0.4, 0.5, -0.6)),
    "ball joint": joint_kinds.ball_joint(0, (0.1, -0.2, 0.3), 1, (0.3, 0.2, 0.1)),
    "plane": joint_kinds.plane(0, (0.1, -0.2, 0.3), WORLD, (1.0, 2.0, -1.0), (0.0, 0.1, 0.0)),
    "plane on a body": joint_kinds.plane(
        0, (0.1, -0.2, 0.3), 1, (1.0, 2.0, -1.0), (0.0, 0.1, 0.0)
    ),
    "hinge": joint_kinds.hinge(
        0, (0.1, -0.2, 0.3), 1, (0.3, 0.2, 0.1), (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)
    ),
    "hinge of the world": joint_kinds.hinge(
        0, (0.1, -0.2, 0.3), WORLD, (0.3, 0.2, 0.1), (0.0, 0.6, 0.8)
    ),
    "universal": joint_kinds.universal(
        0, (0.1, -0.2, 0.3), 1, (0.3, 0.2, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    ),
    "relative rotation": joint_kinds.relative_rotation(0, 1, (0.3, -0.5, 0.8)),
}
COUNTS = {
    "nail": 3,
    "ball joint": 3,
    "plane": 1,
    "hinge": 5,
    "universal": 4,
    "relative rotation": 1,
}


@pytest.fixture
def state():
    random = np.random.default_rng(11)
    q = random.normal(size=(2, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    return q, random.normal(size=(2, 6))


def moved(q, e):
    return floating_base.boxplus(q, np.reshape(e, (len(q), 6)))


@pytest.mark.parametrize("name", COUNTS)
def test_number_of_rows(name):
    assert len(JOINTS[name].rows) == COUNTS[name]


@pytest.mark.parametrize("name", JOINTS)
def test_jacobian_against_finite_differences(name, state):
    q, _ = state
    rows = joint_kinds.assemble(2, JOINTS[name]).rows
    found = finite_difference.jacobian(lambda x: jacobian.values(rows, x), q, 12, plus=moved)
    assert np.abs(jacobian.jacobian(rows, q) - found.value).max() < 1e-10


@pytest.mark.parametrize("name", JOINTS)
def test_jacobian_rate_against_finite_differences(name, state):
    q, v = state
    rows = joint_kinds.assemble(2, JOINTS[name]).rows
    along = finite_difference.jacobian(
        lambda s: jacobian.jacobian(rows, moved(q, s[0] * v)), np.zeros(1)
    )
    J_rate = jacobian.jacobian_rate(rows, q, v)
    assert np.abs(J_rate.ravel() - along.value[:, 0]).max() < 1e-10


def coupled(kind, other):
    """The row of a joint of bodies 0 and 1 that mimics one of 2 and 1, neither of them closed."""
    make = {
        "hinge": lambda a: joint_kinds.angle(a, 1, (0.0, 0.6, 0.8), (0.6, 0.0, -0.8, 0.0)),
        "slide": lambda a: joint_kinds.displacement(
            a, (0.1, 0.2, 0.3), 1, (0.3, 0.1, 0), (1, 2, 0)
        ),
    }
    none = joint_kinds.JointRows("joint", ())
    one = joint_kinds.mimic(none, make[kind](0), 1, make[other](2), -1.7)
    return joint_kinds.assemble(3, one, none).rows


@pytest.mark.parametrize(
    "kind, other", [("hinge", "hinge"), ("hinge", "slide"), ("slide", "hinge")]
)
def test_coupled_joints_against_finite_differences(kind, other):
    """Two terms with a body in common, also where the quaternions are not of norm 1; angles that
    are counted over full turns keep their count.
    """
    random = np.random.default_rng(5)
    q, v, rows = random.normal(size=(3, 7)), random.normal(size=(3, 6)), coupled(kind, other)
    plain = jacobian.values(rows, q)
    by_coordinates = finite_difference.jacobian(
        lambda x: jacobian.values(rows, x.reshape(3, 7)), q.ravel()
    )
    assert np.abs(jacobian.gradients(rows, q) - by_coordinates.value).max() < 1e-8
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    found = finite_difference.jacobian(lambda x: jacobian.values(rows, x), q, 18, plus=moved)
    J = jacobian.jacobian(rows, q)
    assert np.abs(J - found.value).max() < 1e-8
    along = finite_difference.jacobian(
        lambda s: jacobian.jacobian(rows, moved(q, s[0] * v)), np.zeros(1)
    )
    assert np.abs(jacobian.jacobian_rate(rows, q, v).ravel() - along.value[:, 0]).max() < 1e-8
    rows.angle[0] = 14.0 * np.pi
    jacobian.track(rows, q)
    turns = 7.0 if kind == "hinge" else 0.0
    assert jacobian.values(rows, q) == pytest.approx(
        jacobian.values(coupled(kind, other), q) + 2.0 * np.pi * turns, abs=1e-12
    )
    assert np.isfinite(plain).all()


def parts(q, v):
    """(R, world angular velocity) of both bodies."""
    R = quaternion.to_matrix(q[:, 3:])
    return R, np.einsum("ijk,ik->ij", R, v[:, 3:])


def world_columns(J, R):
    """The 3-column blocks (a's velocity, a's world angular velocity, b's ...)."""
    return J[:, 0:3], J[:, 3:6] @ R[0].T, J[:, 6:9], J[:, 9:12] @ R[1].T


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def test_example_2_ball_joint_of_the_appendix(state):
    """In world axes J = [1, -s*, -1, t*]: n is carried by b, so our row x of b's axes is R_b^T of
    theirs where C = 0.
    """
    q, v = state
    constraints = joint_kinds.assemble(2, JOINTS["ball joint"])
    q = redundancy.close(constraints, q)
    R, w = parts(q, v)
    s, t = R[0] @ (0.1, -0.2, 0.3), R[1] @ (0.3, 0.2, 0.1)
    expected = np.eye(3), -hat(s), -np.eye(3), hat(t)
    for block, theirs in zip(world_columns(jacobian.jacobian(constraints.rows, q), R), expected):
        assert np.abs(R[1] @ block - theirs).max() < 1e-12


def test_example_3_plane_of_the_appendix_corrected(state):
    """dJ/dt v = -n . ((w x s)* w); component 1 of the corrected row: n3 w3 s1 - n3 w1 s3 - n2 w1
    s2 + n2 w2 s1.
    """
    q, v = state
    rows = joint_kinds.assemble(2, JOINTS["plane"]).rows
    R, w = parts(q, v)
    n, s = np.array([1.0, 2.0, -1.0]) / 6**0.5, R[0] @ (0.1, -0.2, 0.3)
    J = world_columns(jacobian.jacobian(rows, q), R)
    assert np.abs(J[0] - n).max() < 1e-13 and np.abs(J[1] - np.cross(s, n)).max() < 1e-13
    row = np.cross(np.cross(w[0], s), n)
    first = (
        n[2] * w[0, 2] * s[0]
        - n[2] * w[0, 0] * s[2]
        - n[1] * w[0, 0] * s[1]
        + n[1] * w[0, 1] * s[0]
    )
    assert row[0] == pytest.approx(first, abs=1e-13)
    assert (jacobian.jacobian_rate(rows, q, v) @ v.ravel())[0] == pytest.approx(
        row @ w[0], abs=1e-12
    )


def relative(q):
    return quaternion.product(q[1, 3:], quaternion.conjugate(q[0, 3:]))


def test_example_4_relative_rotation_of_the_appendix_corrected(state):
    """C = Re(n~ q), q = q2 q1^-1: J_w = (q_w n + n x v) / 2 = -J_phi, and its rate."""
    q, v = state
    rows = joint_kinds.assemble(2, JOINTS["relative rotation"]).rows
    R, (w, phi) = parts(q, v)
    n = R[1] @ np.array([0.3, -0.5, 0.8]) / 0.98**0.5
    qw, qv = relative(q)[0], relative(q)[1:]
    assert jacobian.values(rows, q)[0] == pytest.approx(-n @ qv, abs=1e-13)
    a = 0.5 * (qw * n + np.cross(n, qv))
    J = world_columns(jacobian.jacobian(rows, q), R)
    assert np.abs(J[1] - a).max() < 1e-13 and np.abs(J[3] + a).max() < 1e-13
    qw_rate, qv_rate = 0.5 * (w - phi) @ qv, 0.5 * (qw * (phi - w) + np.cross(phi + w, qv))
    n_rate = np.cross(phi, n)
    a_rate = 0.5 * (qw_rate * n + qw * n_rate + np.cross(n_rate, qv) + np.cross(n, qv_rate))
    assert (jacobian.jacobian_rate(rows, q, v) @ v.ravel())[0] == pytest.approx(
        a_rate @ (w - phi), abs=1e-12
    )


def test_example_4_does_not_feel_a_common_rotation(state):
    """The printed J does: its coefficients on the two bodies are not opposite."""
    q, v = state
    R, _ = parts(q, v)
    common = np.array([0.3, 0.4, -0.2])
    v = np.concatenate([np.zeros((2, 3)), np.einsum("ikj,k->ij", R, common)], axis=1)
    rows = joint_kinds.assemble(2, JOINTS["relative rotation"]).rows
    assert abs((jacobian.jacobian(rows, q) @ v.ravel())[0]) < 1e-15
