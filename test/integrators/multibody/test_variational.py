"""The midpoint scheme of several bodies without contacts: order, invariants, joints, exact gradients, failure."""

import numpy as np
import pytest

from rbdyn_ros.bodies import rigid_bodies
from rbdyn_ros.constraints import jacobian, joints
from rbdyn_ros.constraints.rows import WORLD
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators.multibody import plant as plants
from rbdyn_ros.integrators.multibody import multiplier_rk4, newton, variational

LENGTH = 0.5


def run(plant, q, v, h, n, **options):
    """(q, v, work, iterations per step) after n steps that must all converge."""
    work, q, v = plants.work(plant), q.copy(), v.copy()
    done, iterations, error = variational.advance(plant, plants.Options(**options), work, h, n, 0.0, q, v)
    assert done == n, error
    return q, v, work, iterations / n


def chain(n=3):
    """n rods of 0.5 m in a row along x, held at the origin, the first with a spin and a push."""
    bodies = rigid_bodies.build(np.ones(n), [(0.02, 0.02, 0.005)] * n)
    q = rigid_bodies.configuration(bodies, [(LENGTH * (i + 0.5), 0, 0) for i in range(n)], quaternion.exp((0, np.pi / 2, 0)))
    top, tip = (0, 0, -LENGTH / 2), (0, 0, LENGTH / 2)
    links = [joints.nail(0, top, (0, 0, 0))] + [joints.ball_joint(i, top, i - 1, tip) for i in range(1, n)]
    v = rigid_bodies.motion(bodies)
    v[:, 5] = 3.0
    return bodies, joints.assembled(n, *links), q, v


def test_chain_has_order_two_against_the_multipliers():
    """Two roads to one motion: the variational steps approach that of the multipliers by Runge-Kutta as h^2."""
    bodies, constraints, q, v = chain()
    exact, rate, reaction = q.copy(), v.copy(), np.zeros(9)
    multiplier_rk4.advance(bodies, constraints.rows, np.zeros((3, 6)), 0.0, 2.5e-4, 2000, exact, rate, reaction)
    plant = plants.build(bodies, q, constraints)
    errors = [np.abs(run(plant, q, v, 0.5 / n, n)[0][:, :3] - exact[:, :3]).max() for n in (50, 100, 200)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)


def test_chain_keeps_joints_norms_and_energy():
    bodies, constraints, q, v = chain()
    plant = plants.build(bodies, q, constraints)
    before = rigid_bodies.energy(bodies, q, v)
    q, v, work, iterations = run(plant, q, v, 2e-3, 2000)
    assert np.abs(jacobian.values(constraints.rows, q)).max() < 1e-12
    assert np.abs(jacobian.jacobian(constraints.rows, q) @ v.ravel()).max() < 1e-11
    assert np.abs(np.linalg.norm(q[:, 3:], axis=1) - 1.0).max() < 1e-15
    assert abs(rigid_bodies.energy(bodies, q, v) - before) < 2e-2  # J, of 22 J that fall; bounded
    assert iterations <= 3.0


def test_free_bodies_keep_their_momenta():
    bodies = rigid_bodies.build(1.0, (0.0801587, 0.0825397, 0.00396825), gravity=(0, 0, 0))
    q, v = rigid_bodies.configuration(bodies, (0, 0, 0)), rigid_bodies.motion(bodies, (0.3, 0, 0), (6.0, 0.01, 0.0))
    before = rigid_bodies.angular_momentum(bodies, q, v), rigid_bodies.energy(bodies, q, v)
    plant = plants.build(bodies, q, gamma=1e-6)
    q, v, _, iterations = run(plant, q, v, 1e-2, 1000)
    assert np.abs(rigid_bodies.angular_momentum(bodies, q, v) - before[0]).max() < 2e-11
    assert rigid_bodies.energy(bodies, q, v) == pytest.approx(before[1], rel=1e-8)
    assert iterations == pytest.approx(2.0, abs=0.1)


def test_four_thirds_of_the_inertia_turns_with_order_four():
    bodies = rigid_bodies.build(1.0, (0.3, 0.4, 0.2), gravity=(0, 0, 0))
    q, v = rigid_bodies.configuration(bodies, (0, 0, 0)), rigid_bodies.motion(bodies, angular_velocity=(0, 0, 5.0))

    def angle_error(gamma, n):
        q_1, _, _, _ = run(plants.build(bodies, q, gamma=gamma), q, v, 1.0 / n, n)
        return abs(2.0 * np.arctan2(q_1[0, 6], q_1[0, 3]) % (2 * np.pi) - 5.0)

    assert np.log2(angle_error(4 / 3 * 0.2, 20) / angle_error(4 / 3 * 0.2, 40)) == pytest.approx(4.0, abs=0.1)
    assert np.log2(angle_error(0.2, 20) / angle_error(0.2, 40)) == pytest.approx(2.0, abs=0.1)


def test_redundant_hinges_make_a_door():
    """Two hinges on one axis: five of ten rows count; the joint force is the weight."""
    bodies = rigid_bodies.build(10.0, (0.5, 0.8, 0.4))
    q = rigid_bodies.configuration(bodies, (0.5, 0.0, 1.0))
    z = (0.0, 0.0, 1.0)
    low, high = joints.hinge(0, (-0.5, 0, -0.8), WORLD, (0, 0, 0.2), z), joints.hinge(0, (-0.5, 0, 0.8), WORLD, (0, 0, 1.8), z)
    plant = plants.build(bodies, q, joints.assembled(1, low, high))
    assert len(plant.rows.kind) == 5
    q_1, v_1, work, _ = run(plant, q, rigid_bodies.motion(bodies), 1e-2, 100)
    assert np.abs(q_1 - q).max() < 1e-13 and np.abs(v_1).max() < 1e-12
    assert (2.0 * work.ell - work.nu)[3] / 1e-2 == pytest.approx(98.1, rel=1e-9)


def test_gradient_of_the_equations_is_exact():
    """dR/dx and dPhi/dx of Newton's method against differences of the equations, at a state that solves nothing."""
    bodies, constraints, q, v = chain(2)
    plant, h = plants.build(bodies, q, constraints), 0.05
    work = plants.work(plant)
    newton.prepare(plant, work, h, q, v)
    random = np.random.default_rng(0)
    work.ell[:] = random.normal(size=len(work.ell))
    work.wrench[:] = random.normal(size=work.wrench.shape)
    N = len(work.p)

    def residual(y):
        work.x.reshape(-1)[:] = y[:N]
        work.ell[:] = y[N:]
        newton.equations.evaluate(plant, work, h, q)
        return np.concatenate([work.residual, work.phi])

    y = np.concatenate([work.x.ravel() + 0.01 * random.normal(size=N), work.ell])
    differences = np.array([(residual(y + e) - residual(y - e)) / 2e-6 for e in 1e-6 * np.eye(len(y))]).T
    residual(y)
    dp, dF = np.zeros((N, N)), np.zeros((N, N))
    newton.equations.fill_midpoint_gradients(plant, work, h, q, dp, dF)
    exact = newton.jacobian(work, dp, dF, h)
    assert np.abs(exact - differences).max() < 1e-6 * np.abs(exact).max()


def test_step_too_large_is_returned():
    bodies, constraints, q, v = chain()
    plant = plants.build(bodies, q, constraints)
    v[0, 3] = 40.0
    q_1, v_1 = q.copy(), v.copy()
    done, iterations, error = variational.advance(plant, plants.Options(), plants.work(plant), 0.3, 5, 0.0, q_1, v_1)
    assert done == 0 and iterations > 0 and not error < 1e-9
    assert np.array_equal(q, q_1) and np.array_equal(v, v_1)


@pytest.mark.parametrize("gamma", [0.0, -1.0, float("nan")])
def test_gamma_must_be_positive(gamma):
    bodies, constraints, q, _ = chain(1)
    with pytest.raises(ValueError, match="gamma of body 0 is .* it must be > 0"):
        plants.build(bodies, q, constraints, gamma=gamma)
