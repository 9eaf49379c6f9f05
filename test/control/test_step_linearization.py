"""The derivative of the step against finite differences of the step, and near upright against the
continuous plant's.
"""

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tangent import difference, moved

from rbdyn_ros.control import linearization, step_linearization
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import State

ROOT = Path(__file__).parents[2]
DAMPED = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
PLANTS = {
    "damped": DAMPED,
    "massless cart": DAMPED._replace(cart_mass=0.0),
    "fixed cart": DAMPED._replace(cart_fixed=True),
    "asymmetric rod": DAMPED._replace(rod_inertia=(0.5, 0.3, 0.25), joint_damping=0.1),
    "undamped": spherical_pendulum.Params(),
}
FORCE = np.array((7.0, -3.0))


def somewhere(spin: float = 3.0) -> State:
    Q = np.array((0.4, -0.5, 0.7, 0.3))
    return State(
        0.0,
        np.array((0.3, -0.2, *(Q / np.linalg.norm(Q)))),
        np.array((0.5, -0.8, 1.1, -0.7, spin)),
    )


def with_force(u):
    return spherical_pendulum.no_input()._replace(force=np.array(u, float))


@pytest.mark.parametrize("integrator", ("moser_veselov", "quaternion_midpoint"))
@pytest.mark.parametrize("name", PLANTS)
def test_it_is_the_jacobian_of_the_step(name, integrator):
    h = 0.03
    system, state = spherical_pendulum.build(PLANTS[name]), somewhere()
    if not system.cart_free:
        state.v[:2] = 0.0
    method = select(integrator, tolerance=1e-15, max_iterations=50)

    def flow(xi_u):
        return step(
            method, system, moved(state, xi_u[:10]), with_force(FORCE + xi_u[10:]), h
        ).state

    linear, end = step_linearization.along(method, system, state, FORCE, h)
    numeric = jacobian(flow, np.zeros(12), minus=difference).value
    np.testing.assert_allclose(np.hstack(linear), numeric, atol=2e-9)
    np.testing.assert_allclose(end.q, flow(np.zeros(12)).q, atol=1e-14)


def test_several_composed_steps_are_the_jacobian_of_their_flow():
    system, state = spherical_pendulum.build(DAMPED), somewhere()
    method, h, n = select("moser_veselov", "suzuki4", tolerance=1e-15, max_iterations=50), 0.02, 3

    def flow(xi_u):
        s = moved(state, xi_u[:10])
        for _ in range(n):
            s = step(method, system, s, with_force(FORCE + xi_u[10:]), h).state
        return s

    linear, _ = step_linearization.along(method, system, state, FORCE, h, n)
    np.testing.assert_allclose(
        np.hstack(linear), jacobian(flow, np.zeros(12), minus=difference).value, atol=1e-8
    )


def test_on_the_sphere_the_angle_about_the_axis_is_gone():
    """The same direction and rate, the body turned about its axis: the same matrix, in the turned
    axes.
    """
    system, method = (
        spherical_pendulum.build(DAMPED._replace(joint_damping=0.0)),
        select("moser_veselov", tolerance=1e-15),
    )
    a, angle = somewhere(), 0.9
    c, s = math.cos(angle), math.sin(angle)
    Q = unit_quaternion.product(
        tuple(a.q[2:].tolist()), (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2))
    )
    turned = np.array(((c, s), (-s, c)))
    b = State(0.0, np.array((*a.q[:2], *Q)), np.array((*a.v[:2], *(turned @ a.v[2:4]), a.v[4])))
    matrices = []
    for state in (a, b):
        linear, end = step_linearization.along(method, system, state, FORCE, 0.01)
        matrices.append(step_linearization.on_sphere(linear, end))
    Z, I = np.zeros((2, 2)), np.eye(2)
    T = np.block([[I, Z, Z, Z], [Z, turned, Z, Z], [Z, Z, I, Z], [Z, Z, Z, turned]])
    np.testing.assert_allclose(matrices[1][0], T @ matrices[0][0] @ T.T, atol=1e-11)
    np.testing.assert_allclose(matrices[1][1], T @ matrices[0][1], atol=1e-12)


def test_near_upright_it_tends_to_the_continuous_plant_with_order_two():
    system, period = spherical_pendulum.build(DAMPED), 0.04
    exact = np.hstack(linearization.discretize(*linearization.upright(system), period))
    errors = [
        np.abs(np.hstack(step_linearization.upright(system, period, h)) - exact).max()
        for h in (0.02, 0.01, 0.005)
    ]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.02)


def test_integrators_have_linearizations_that_differ_by_the_order_of_their_steps():
    system, state = spherical_pendulum.build(DAMPED), somewhere(0.0)
    linear = {
        name: np.hstack(step_linearization.along(select(name), system, state, FORCE, 1e-3)[0])
        for name in ("moser_veselov", "quaternion_midpoint", "rk4")
    }
    for name, found in linear.items():
        np.testing.assert_allclose(found, linear["rk4"], atol=2e-6, err_msg=name)


def test_without_the_compiler_differences_take_its_place():
    """NUMBA_DISABLE_JIT=1, for the debugger: the laws near upright can be designed there."""
    text = (
        "from rbdyn_ros.control import step_linearization\n"
        "from rbdyn_ros.pendulum.spherical_pendulum import Params, build\n"
        "print(repr([m.tolist() for m in step_linearization.upright(build(Params()), 0.002)]))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    exact = step_linearization.upright(spherical_pendulum.build(PLANTS["undamped"]), 0.002)
    for found, matrix in zip(ast.literal_eval(done.stdout), exact):
        np.testing.assert_allclose(found, matrix, atol=1e-9)


def test_a_step_that_does_not_converge_is_said():
    with pytest.raises(ValueError, match="did not converge at t = 0 s; take a smaller h"):
        step_linearization.along(
            select("moser_veselov"), spherical_pendulum.build(DAMPED), somewhere(), FORCE, 5.0
        )
