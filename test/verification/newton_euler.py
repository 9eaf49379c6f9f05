"""The second road: the rod and the cart by Newton and Euler, with the joint's force as an unknown.

Nothing here comes from the package but the nouns: rotation matrices from SciPy, dense linear
solves, DOP853. With r = (x, 0) + R c, R the joint's force on the rod and (F, T) the wrench at the
rod's point p,

    m r''              = R_j + F - m g e3              r'' = (x'', 0) + R (w' x c + w x (w x c))
    I w' + w x I w     = -c x R^T R_j + (p - c) x R^T F + R^T T - d w
    M x''              = u - R_j,xy - b x'                            x'' = 0 for a fixed cart

and -mu_c x' / sqrt(|x'|^2 + v_0^2) on the cart, -mu_j w / sqrt(|w|^2 + w_0^2) on the rod.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from rbdyn_ros.types import Input, State, System

E3 = np.array([0.0, 0.0, 1.0])
REST = 1e-3  # v_0 [m/s], w_0 [rad/s]


def hat(a) -> np.ndarray:
    """a^ with a^ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(q) -> np.ndarray:
    """R_wb of the configuration q (6,)."""
    return Rotation.from_quat([q[3], q[4], q[5], q[2]]).as_matrix()


def cart_force(input: Input, t: float) -> np.ndarray:
    """u(t) (2,) [N]."""
    u = np.array(input.force, dtype=float)
    for axis, amplitude, frequency, phase in input.sines:
        u[int(axis)] += amplitude * np.sin(frequency * t + phase)
    return u


def accelerations(system: System, input: Input, t: float, q, v) -> tuple:
    """(x'' (2,), w' (3,) [body], joint force on the rod (3,) [world])."""
    R, w, c = rotation(q), np.array(v[2:]), system.center * E3
    m, I = system.rod_mass, np.diag(system.inertia)
    F, T, p = np.split(input.disturbance, 3)
    A, y = np.zeros((8, 8)), np.zeros(8)  # unknowns: joint force, w', x''
    A[0:3] = np.hstack([-np.eye(3), -m * R @ hat(c), m * np.eye(3)[:, :2]])
    y[0:3] = F - m * system.gravity * E3 - m * R @ np.cross(w, np.cross(w, c))
    A[3:6] = np.hstack([hat(c) @ R.T, I, np.zeros((3, 2))])
    y[3:6] = -np.cross(w, I @ w) + np.cross(p - c, R.T @ F) + R.T @ T - system.joint_damping * w
    A[6:8, 6:8] = np.eye(2)
    y[3:6] -= system.joint_friction * w / np.sqrt(w @ w + REST**2)
    if system.cart_free:
        u = np.array(v[:2])
        A[6:8] = np.hstack([np.eye(3)[:2], np.zeros((2, 3)), system.cart_mass * np.eye(2)])
        y[6:8] = cart_force(input, t) - system.cart_damping * u
        y[6:8] -= system.cart_friction * u / np.sqrt(u @ u + REST**2)
    z = np.linalg.solve(A, y)
    return z[6:8], z[3:6], z[0:3]


def rates(system: System, input: Input, t: float, y) -> np.ndarray:
    """d(q, v)/dt (11,) of y = (q, v)."""
    q, v = y[:6], y[6:]
    quaternion, w = q[2:], v[2:]
    dq = 0.5 * np.concatenate(
        [[-quaternion[1:] @ w], quaternion[0] * w + np.cross(quaternion[1:], w)]
    )
    dv, dw, _ = accelerations(system, input, t, q, v)
    return np.concatenate([v[:2], dq, dv, dw])


def trajectory(system: System, input: Input, state: State, times) -> tuple:
    """(q (n, 6), v (n, 5)) at the times (n,), the first of which is that of `state`; to about
    1e-12.
    """
    solution = solve_ivp(
        lambda t, y: rates(system, input, t, y),
        (times[0], times[-1]),
        np.concatenate([state.q, state.v]),
        method="DOP853",
        t_eval=times,
        rtol=3e-14,
        atol=1e-14,
    )
    assert solution.success, solution.message
    return solution.y[:6].T, solution.y[6:].T


def center_velocity(system: System, q, v) -> np.ndarray:
    """Velocity of the rod's center of mass (3,) [world]."""
    return np.array([v[0], v[1], 0.0]) + rotation(q) @ np.cross(v[2:], system.center * E3)


def kinetic_energy(system: System, q, v) -> float:
    """Of the cart and of the rod [J]."""
    V, w = center_velocity(system, q, v), np.array(v[2:])
    rod = system.rod_mass * V @ V + w @ (np.array(system.inertia) * w)
    return 0.5 * (system.cart_mass * (v[0] ** 2 + v[1] ** 2) + rod)


def potential_energy(system: System, q) -> float:
    """Of the rod, zero at z = 0 [J]."""
    return system.rod_mass * system.gravity * system.center * rotation(q)[2, 2]


def quantities(system: System, q, v) -> np.ndarray:
    """(E, Lz, Px, Py, p3), each summed over the bodies."""
    R, V, m, M = rotation(q), center_velocity(system, q, v), system.rod_mass, system.cart_mass
    x, u = np.array([q[0], q[1], 0.0]), np.array([v[0], v[1], 0.0])
    spin = np.array(system.inertia) * np.array(v[2:])
    L = np.cross(x, M * u) + np.cross(x + R @ (system.center * E3), m * V) + R @ spin
    P = M * u + m * V
    return np.array(
        [kinetic_energy(system, q, v) + potential_energy(system, q), L[2], P[0], P[1], spin[2]]
    )
