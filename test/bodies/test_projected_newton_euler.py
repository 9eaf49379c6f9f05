"""Projected Newton-Euler equations: energy, impulses, a change of velocities, and Pinocchio on
random trees.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import projected_newton_euler
from rbdyn_ros.bodies import projected_newton_euler as pne
from rbdyn_ros.geometry import floating_base, quaternion, so3
from rbdyn_ros.integrators import rk4
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import System

GRAVITY = np.array([0.3, -0.2, -9.81])


def test_mass_matrix_gives_the_kinetic_energy(tree):
    joints, links, q, u = tree
    energy, at = 0.0, projected_newton_euler.placements(joints, q)
    for i, link in enumerate(links):
        v, w = np.split(projected_newton_euler.jacobian(joints, q, i, link.center) @ u, 2)
        w = at.R[i].T @ w
        energy += 0.5 * link.mass * v @ v + 0.5 * w @ link.inertia @ w
    M = pne.equations(joints, links, q, u).M
    assert np.allclose(M, M.T, atol=1e-12) and np.linalg.eigvalsh(M).min() > 0.0
    assert 0.5 * u @ M @ u == pytest.approx(energy, rel=1e-12)


def test_gyroscopic_forces_do_no_net_work(tree):
    """d/dt (u.M u / 2) = u.f, so u.(dM/dt u / 2 - g) = 0."""
    joints, links, q, u = tree
    g = pne.equations(joints, links, q, u).g

    def moving(t):
        return pne.equations(joints, links, floating_base.boxplus(q, t[0] * u), u).M

    dM = jacobian(moving, np.zeros(1)).value.reshape(len(u), len(u))
    assert 0.5 * u @ dM @ u == pytest.approx(u @ g, abs=1e-7)


def test_weight_is_the_gradient_of_the_potential(tree):
    joints, links, q, _ = tree

    def potential(p):
        at = projected_newton_euler.placements(joints, p)
        return -sum(
            link.mass * GRAVITY @ (at.r[i] + at.R[i] @ link.center) for i, link in enumerate(links)
        )

    f = pne.generalized_force(joints, q, pne.weight(links, GRAVITY))
    gradient = jacobian(potential, q, len(f), plus=floating_base.boxplus).value[0]
    assert np.allclose(f, -gradient, atol=1e-8)


def test_forces_and_impulses_of_a_contact(tree):
    joints, links, q, u = tree
    equations, f = (
        pne.equations(joints, links, q, u),
        pne.generalized_force(joints, q, pne.weight(links, GRAVITY)),
    )
    W = projected_newton_euler.jacobian(joints, q, len(joints), np.ones(3))[:3].T
    P, dt = np.array([0.1, -0.5, 2.0]), 1e-3
    impact = pne.velocity_change(equations, f, 0.0, W, P)
    assert np.allclose(equations.M @ impact, W @ P, atol=1e-12)
    both = pne.velocity_change(equations, f, dt, W, P)
    assert np.allclose(both, impact + dt * pne.acceleration(equations, f), atol=1e-12)
    held = pne.acceleration(equations, f, W, P)
    assert np.allclose(equations.M @ held + equations.g, f + W @ P, atol=1e-9)


def test_transformed_to_the_rod_on_the_cart():
    """A rod with its base at the joint, its height taken away by u_bar = B u, and the cart's mass
    added.
    """
    rng = np.random.default_rng(5)
    M, m, l, I = 2.0, 1.0, 1.2, (0.4801, 0.4701, 0.0002)
    q = np.concatenate([np.zeros(3), quaternion.exp(rng.normal(size=3))])
    u = rng.normal(size=5)
    B = np.zeros((6, 5))
    B[0, 0] = B[1, 1] = B[3, 2] = B[4, 3] = B[5, 4] = 1.0
    links = (pne.LinkInertia(m, np.array([0.0, 0.0, l]), np.diag(I)),)
    equations = pne.equations((), links, q, B @ u)
    f = pne.generalized_force((), q, pne.weight(links, [0.0, 0.0, -9.81]))
    mass, h = pne.transform(equations.M, f - equations.g, B, np.zeros((6, 5)), u)
    dv = np.linalg.solve(mass + np.diag([M, M, 0.0, 0.0, 0.0]), h)
    system = System(M, 1.0, 0.0, m, l, I, 0.0, 9.81)
    no_load = rod_on_cart.Load((0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    *_, dw, dx = rk4.rates(system, no_load, (0.0, 0.0), tuple(q[3:]), tuple(u[2:]), tuple(u[:2]))
    assert np.allclose(dv, [*dx, *dw], rtol=1e-10)


def test_singular_mass_matrix_and_missing_link_are_named(tree):
    joints, links, q, u = tree
    empty = tuple(pne.LinkInertia(0.0, np.zeros(3), np.zeros((3, 3))) for _ in links)
    with pytest.raises(ValueError, match="the mass matrix is singular"):
        pne.acceleration(pne.equations(joints, empty, q, u), np.zeros(len(u)))
    with pytest.raises(ValueError, match="links has"):
        pne.equations(joints, links[1:], q, u)
    with pytest.raises(ValueError, match="the mass of link 0 is -1.0 kg"):
        pne.equations(joints, (links[0]._replace(mass=-1.0), *links[1:]), q, u)


def test_joints_in_another_order_are_the_same_tree():
    """Two arms of two joints, one after the other or in turn."""
    random = np.random.default_rng(4)
    arms = [
        pne.TreeJoint(
            kind,
            parent,
            random.normal(size=3),
            quaternion.normalize(random.normal(size=4)),
            np.eye(3)[axis],
        )
        for kind, parent, axis in (
            ("revolute", 0, 0), ("prismatic", 1, 1), ("revolute", 0, 2), ("revolute", 3, 0),
        )
    ]  # fmt: skip
    links = [pne.LinkInertia(m, random.normal(size=3), np.diag((1.0, 2.0, 2.5))) for m in range(5)]
    q, u = np.append([0, 0, 0, 0.6, 0, 0.8, 0], random.normal(size=4)), random.normal(size=10)
    turned = [0, 2, 1, 3]
    mixed = [arms[k]._replace(parent=p) for k, p in zip(turned, (0, 0, 1, 2))]
    order = [*range(6), *(6 + k for k in turned)]
    one = pne.equations(pne.build(*arms), tuple(links), q, u)
    other = pne.equations(
        pne.build(*mixed),
        (links[0], *(links[1 + k] for k in turned)),
        np.append(q[:7], q[7:][turned]),
        u[order],
    )
    np.testing.assert_allclose(other.M, one.M[np.ix_(order, order)], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other.g, one.g[order], rtol=1e-12, atol=1e-12)


class TestPinocchio:
    """Its free flyer moves at the body-frame velocity: u_bar = B u with B = diag(R^T, 1, 1)."""

    @pytest.fixture
    def pin(self):
        return pytest.importorskip(
            "pinocchio", reason="Pinocchio is not installed: pip install pin"
        )

    @pytest.fixture
    def model(self, pin, tree):
        joints, links, *_ = tree
        model = pin.Model()
        ids = [model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")]
        for i, j in enumerate(joints):
            kind = (
                pin.JointModelRevoluteUnaligned
                if j.kind == "revolute"
                else pin.JointModelPrismaticUnaligned
            )
            placement = pin.SE3(quaternion.to_matrix(j.orientation), j.position)
            ids.append(model.addJoint(ids[j.parent], kind(j.axis), placement, f"joint {i}"))
        for i, link in zip(ids, links):
            inertia = pin.Inertia(link.mass, link.center, link.inertia)
            model.appendBodyToJoint(i, inertia, pin.SE3.Identity())
        model.gravity.linear = GRAVITY
        return model, model.createData(), ids

    def test_equations_of_motion(self, pin, model, tree):
        model, data, _ = model
        joints, links, q, u = tree
        p, B, dB = pinocchio_coordinates(q, u)
        h_bar = -pin.rnea(model, data, p, B @ u, np.zeros(len(u)))
        upper = np.triu(pin.crba(model, data, p))
        M, h = pne.transform(upper + np.triu(upper, 1).T, h_bar, B, dB, u)
        ours = pne.equations(joints, links, q, u)
        assert np.allclose(ours.M, M, rtol=1e-11, atol=1e-11)
        f = pne.generalized_force(joints, q, pne.weight(links, GRAVITY))
        assert np.allclose(f - ours.g, h, rtol=1e-10, atol=1e-10)

    def test_jacobians_and_accelerations(self, pin, model, tree):
        model, data, ids = model
        joints, _, q, u = tree
        p, B, dB = pinocchio_coordinates(q, u)
        du = np.linspace(-1.0, 1.0, len(u))
        pin.forwardKinematics(model, data, p, B @ u, B @ du + dB @ u)
        pin.computeJointJacobians(model, data, p)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        for link, i in enumerate(ids):
            J = projected_newton_euler.jacobian(joints, q, link, np.zeros(3))
            assert np.allclose(J, pin.getJointJacobian(model, data, i, world) @ B, atol=1e-12)
            a = J @ du + projected_newton_euler.jacobian_rate(joints, q, u, link, np.zeros(3)) @ u
            assert np.allclose(
                a[:3], pin.getClassicalAcceleration(model, data, i, world).linear, atol=1e-10
            )
            assert np.allclose(
                a[3:], pin.getClassicalAcceleration(model, data, i, world).angular, atol=1e-10
            )


def pinocchio_coordinates(q, u):
    """(its q, B, dB/dt): quaternions scalar last, the base's velocity in the body frame."""
    R = quaternion.to_matrix(q[3:7])
    B, dB = np.eye(len(u)), np.zeros((len(u), len(u)))
    B[:3, :3], dB[:3, :3] = R.T, -so3.hat(u[3:6]) @ R.T
    return np.concatenate([q[:3], q[4:7], q[3:4], q[7:]]), B, dB
