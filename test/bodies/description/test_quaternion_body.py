"""Every identity of the rigid body in quaternion coordinates, by complex step or against
matrices.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies.description import quaternion_body as body

J, GAMMA, MASS = (0.31, 0.52, 0.44), 0.17, 1.7
RANDOM = np.random.default_rng(3)
UNITS = [tuple(row) for row in np.eye(4)]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Kernels as Python functions: the complex step needs no compilation."""
    for name in dir(body):
        if hasattr(getattr(body, name), "py_func"):
            monkeypatch.setattr(body, name, getattr(body, name).py_func)
    for name in ("times", "cross", "scale", "add", "dot"):
        if hasattr(getattr(body.vec, name), "py_func"):
            monkeypatch.setattr(body.vec, name, getattr(body.vec, name).py_func)


def vector(n: int) -> tuple:
    return tuple(RANDOM.normal(size=n))


def unit(n: int) -> tuple:
    x = RANDOM.normal(size=n)
    return tuple(x / np.linalg.norm(x))


def complex_step(function, x) -> np.ndarray:
    """The Jacobian of function at x, exact to round-off."""
    columns = []
    for i in range(len(x)):
        moved = [complex(value) for value in x]
        moved[i] += 1e-30j
        columns.append(np.imag(np.atleast_1d(function(tuple(moved)))) / 1e-30)
    return np.array(columns).T


def columns(gradient) -> np.ndarray:
    """The matrix of a linear function of d."""
    return np.array([gradient(d) for d in UNITS]).T


def close(a, b):
    assert np.abs(np.asarray(a) - np.asarray(b)).max() < 1e-13


def L_matrix(q) -> np.ndarray:
    """L as the notes print it."""
    q0, q1, q2, q3 = q
    return np.array([[-q1, q0, q3, -q2], [-q2, -q3, q0, q1], [-q3, q2, -q1, q0]])


def hat(a) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def R_matrix(q) -> np.ndarray:
    return np.array([body.rotate(q, tuple(e)) for e in np.eye(3)]).T


def mass_matrix(q) -> np.ndarray:
    L = L_matrix(q)
    return 4 * L.T @ (np.diag(J) - GAMMA * np.eye(3)) @ L + 4 * GAMMA * np.eye(4)


def test_identities_of_L_hold_for_any_quaternion():
    q, p, e = vector(4), vector(4), vector(3)
    L, square = L_matrix(q), np.dot(q, q)
    close(body.L(q, p), L @ p)
    close(body.LT(q, e), L.T @ e)
    close(L @ q, np.zeros(3))
    close(L @ L.T, square * np.eye(3))
    close(L.T @ L, square * np.eye(4) - np.outer(q, q))
    close(body.L(q, p), -np.array(body.L(p, q)))


def test_L_of_a_unit_quaternion_gives_the_angular_velocity():
    q, w = unit(4), vector(3)
    rate = 0.5 * np.array(body.LT(q, w))
    close(2 * np.array(body.L(q, tuple(rate))), w)
    close(np.dot(w, w), 4 * rate @ rate)
    close(np.dot(q, rate), 0.0)


def test_E_is_the_gradient_of_LT():
    q, (e1, e2, e3) = vector(4), vector(3)
    E = [[0, -e1, -e2, -e3], [e1, 0, e3, -e2], [e2, -e3, 0, e1], [e3, e2, -e1, 0]]
    close(columns(lambda d: body.LT(d, (e1, e2, e3))), E)
    close(complex_step(lambda x: body.LT(x, (e1, e2, e3)), q), E)


def test_momentum_is_the_mass_matrix_times_the_rate():
    q, v = vector(4), vector(4)
    close(body.momentum(J, GAMMA, q, v), mass_matrix(q) @ v)


def test_mass_matrix_inverse_in_closed_form():
    q, p = unit(4), vector(4)
    close(body.velocity(J, GAMMA, q, p), np.linalg.solve(mass_matrix(q), p))


def test_gradient_of_the_inverse():
    q, p = unit(4), vector(4)
    exact = complex_step(lambda x: np.linalg.solve(mass_matrix(x), p), q)
    assert (
        np.abs(columns(lambda d: body.velocity_gradient(J, GAMMA, q, p, d)) - exact).max() < 1e-12
    )


def test_gamma_does_not_change_the_energy_of_a_rotation():
    q, w, u = unit(4), vector(3), vector(3)
    v = body.scale(0.5, body.LT(q, w))
    energy = 0.5 * MASS * np.dot(u, u) + 0.5 * np.dot(np.multiply(J, w), w)
    for gamma in (1e-6, 0.17, 3.0):
        close(body.kinetic_energy(MASS, J, gamma, u, q, v), energy)


def test_momentum_is_the_gradient_of_the_energy():
    q, v, u = vector(4), vector(4), vector(3)
    close(
        complex_step(lambda x: body.kinetic_energy(MASS, J, GAMMA, u, q, x), v)[0],
        body.momentum(J, GAMMA, q, v),
    )
    close(
        complex_step(lambda x: body.kinetic_energy(MASS, J, GAMMA, u, x, v), q)[0],
        body.energy_gradient(J, GAMMA, q, v),
    )


def test_gradient_of_the_momentum():
    q, v = vector(4), vector(4)
    found = columns(lambda d: body.momentum_gradient(J, GAMMA, q, v, d))
    close(found, complex_step(lambda x: body.momentum(J, GAMMA, x, v), q))
    Jg, L, Lv = np.diag(J) - GAMMA * np.eye(3), L_matrix(q), L_matrix(v)
    close(found, -4 * L.T @ Jg @ Lv + 4 * columns(lambda d: body.LT(d, tuple(Jg @ L @ v))))


def test_gradients_of_the_energy_gradient():
    q, v, zero = vector(4), vector(4), (0.0,) * 4
    by_q = columns(lambda d: body.energy_gradient_rate(J, GAMMA, q, v, d, zero))
    by_v = columns(lambda d: body.energy_gradient_rate(J, GAMMA, q, v, zero, d))
    close(by_q, complex_step(lambda x: body.energy_gradient(J, GAMMA, x, v), q))
    close(by_v, complex_step(lambda x: body.energy_gradient(J, GAMMA, q, x), v))


def test_quadratic_term_is_a_column_of_four():
    q, v = vector(4), vector(4)
    rate = np.array(body.momentum_gradient(J, GAMMA, q, v, v))
    close(body.quadratic_term(J, GAMMA, q, v), rate - body.energy_gradient(J, GAMMA, q, v))


def test_gradient_of_a_turned_vector():
    q, c = vector(4), vector(3)
    exact = complex_step(lambda x: body.rotate(x, c), q)
    q0, v = q[0], np.array(q[1:])
    first = 2 * (q0 * np.eye(3) + hat(v)) @ c
    close(columns(lambda d: body.rotate_gradient(q, c, d)), exact)
    close(exact, np.column_stack([first, 2 * np.dot(v, c) * np.eye(3) - hat(first)]))


def test_gradient_of_a_vector_turned_back():
    q, f = vector(4), vector(3)
    exact = complex_step(lambda x: body.inverse_rotate(x, f), q)
    q0, v = q[0], np.array(q[1:])
    first = 2 * (q0 * np.eye(3) - hat(v)) @ f
    close(columns(lambda d: body.inverse_rotate_gradient(q, f, d)), exact)
    close(exact, np.column_stack([first, 2 * np.dot(v, f) * np.eye(3) + hat(first)]))


def test_point_jacobian_is_not_the_gradient_of_the_point():
    """-2 R c^ L misses the gradient of R c by 2 R c q^T: nothing for a rate with q . q' = 0."""
    q, c = unit(4), vector(3)
    C = -2 * R_matrix(q) @ hat(c) @ L_matrix(q)
    close(columns(lambda d: body.point_velocity(q, c, (0.0,) * 3, d)), C)
    close(complex_step(lambda x: body.rotate(x, c), q), C + 2 * np.outer(R_matrix(q) @ c, q))


def test_forces_are_the_transposed_jacobians():
    q, c, f, d = vector(4), vector(3), vector(3), vector(4)
    close(
        np.dot(body.point_force(q, c, f), d), np.dot(f, body.point_velocity(q, c, (0.0,) * 3, d))
    )
    close(np.dot(body.lever(q, c, f), d), np.dot(f, body.rotate_gradient(q, c, d)))


def test_gradient_of_the_point_velocity():
    q, c, v, u = vector(4), vector(3), vector(4), vector(3)
    exact = complex_step(lambda x: body.point_velocity(x, c, u, v), q)
    close(columns(lambda d: body.point_velocity_gradient(q, c, v, d)), exact)


def test_gradient_K_of_the_generalized_force():
    q, c, f = vector(4), vector(3), vector(3)
    K = columns(lambda d: body.point_force_gradient(q, c, f, d))
    close(K, complex_step(lambda x: body.point_force(x, c, f), q))
    back = columns(lambda d: body.inverse_rotate_gradient(q, f, d))
    e = tuple(hat(c).T @ np.array(body.inverse_rotate(q, f)))
    close(K, -2 * (L_matrix(q).T @ hat(c).T @ back + columns(lambda d: body.LT(d, e))))


def test_gradient_of_the_exact_lever():
    q, c, f = vector(4), vector(3), vector(3)
    close(columns(lambda d: body.lever(d, c, f)), complex_step(lambda x: body.lever(x, c, f), q))


@pytest.mark.parametrize("gamma", [1e-3, 0.17, 3.0])
def test_differential_algebraic_form_has_the_acceleration_of_euler(gamma):
    """Whatever gamma is: q'' = (L^T(q') Omega + L^T(q) dOmega/dt) / 2, and lambda = 2 Omega . J
    Omega - gamma |Omega|^2.
    """
    q, w, tau = unit(4), vector(3), vector(3)
    v = body.scale(0.5, body.LT(q, w))
    spin = tuple((np.array(tau) - np.cross(w, np.multiply(J, w))) / J)
    found, multiplier = body.acceleration(J, gamma, q, v, tau)
    expected = 0.5 * (np.array(body.LT(v, w)) + body.LT(q, spin))
    assert np.abs(np.array(found) - expected).max() < 1e-11
    assert multiplier == pytest.approx(
        2 * np.dot(w, np.multiply(J, w)) - gamma * np.dot(w, w), abs=1e-11
    )


def test_lagrange_equations_are_eulers():
    """M q'' + 8 L^T(q') J_g L(q) q' = -A^T lambda + 2 L^T tau, |q| = 1: the minus sign, and
    Euler's equations.
    """
    q, w, tau = unit(4), vector(3), vector(3)
    acceleration = (np.array(tau) - np.cross(w, np.multiply(J, w))) / J
    v = np.array(body.scale(0.5, body.LT(q, w)))
    v_rate = 0.5 * (np.array(body.LT(tuple(v), w)) + body.LT(q, tuple(acceleration)))
    q_column = np.array(q)
    left = (
        mass_matrix(q) @ v_rate
        + body.quadratic_term(J, GAMMA, q, tuple(v))
        - 2 * np.array(body.LT(q, tau))
    )
    multiplier = -q_column @ left
    close(left, -q_column * multiplier)
    close(multiplier, 2 * np.dot(w, np.multiply(J, w)) - GAMMA * np.dot(w, w))
