"""The two momenta of the discrete Lagrangian on SE(3) and Newton's matrix, by numerical
differentiation.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.experiments import apparatus
from rbdyn_ros.geometry import twist
from rbdyn_ros.integrators import discrete_twist
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum.spherical_pendulum import no_input

I, M, H = (0.4801, 0.2, 0.05), 1.3, 0.1

velocities = st.lists(st.floats(-3.0, 3.0, allow_subnormal=False), min_size=6, max_size=6).map(
    np.array
)


def pair(V) -> tuple:
    """(6,) as ((3,), (3,)) of plain floats."""
    V = np.asarray(V, float).tolist()
    return tuple(V[:3]), tuple(V[3:])


def flat(V) -> np.ndarray:
    return np.array([*V[0], *V[1]])


def momentum(V) -> np.ndarray:
    """dlog_{hV}^T G V."""
    return flat(
        twist.dlog_transposed(twist.scale(H, pair(V)), discrete_twist.metric(I, M, pair(V)))
    )


@given(velocities)
def test_newton_matrix_is_the_derivative_of_the_momentum(V):
    K = np.empty((6, 6))
    discrete_twist.momentum_jacobian(I, M, H, pair(V), K)
    expected = jacobian(momentum, V)
    assert K == pytest.approx(expected.value, abs=1e-9 * (1.0 + np.abs(expected.value).max()))


@given(velocities, velocities)
def test_newton_matrix_at_a_turn_where_closed_forms_replace_series(V, direction):
    """Steps up to 4.5 rad a step: both sides of the threshold of the coefficients."""
    V = V.copy()
    V[:3] *= 4.5 / (H * max(np.linalg.norm(V[:3]), 1e-3)) * min(1.0, np.linalg.norm(V[:3]))
    K = np.empty((6, 6))
    discrete_twist.momentum_jacobian(I, M, H, pair(V), K)
    s = 1e-5
    along = (momentum(V + s * direction) - momentum(V - s * direction)) / (2.0 * s)
    assert K @ direction == pytest.approx(along, abs=1e-6 * (1.0 + np.abs(along).max()))


def discrete_lagrangian(xi) -> float:
    """(h/2) V.G V with V = xi/h, without potential."""
    G = np.array([*I, M, M, M])
    return 0.5 / H * float(xi @ (G * xi))


@given(velocities)
def test_momenta_are_the_derivatives_of_the_discrete_lagrangian(V):
    """-D_1 L_d = dlog_xi^T G V and D_2 L_d = dlog_{-xi}^T G V, both left-trivialized: (8.2), signs
    and trivialization.
    """
    xi = H * V

    def moved(first, second) -> float:
        """L_d after moving T_k by exp(first) and T_{k+1} by exp(second)."""
        step = twist.product(
            twist.product(twist.exp(pair(-first)), twist.exp(pair(xi))), twist.exp(pair(second))
        )
        return discrete_lagrangian(flat(twist.log(step)))

    zero = np.zeros(6)
    D1 = jacobian(lambda e: moved(e, zero), zero).value.ravel()
    D2 = jacobian(lambda e: moved(zero, e), zero).value.ravel()
    GV = discrete_twist.metric(I, M, pair(V))
    size = 1.0 + np.abs(D1).max()
    assert -D1 == pytest.approx(flat(twist.dlog_transposed(pair(xi), GV)), abs=1e-9 * size)
    assert D2 == pytest.approx(flat(twist.dlog_transposed(pair(-xi), GV)), abs=1e-9 * size)


def test_left_trivialized_dlog_would_miss():
    """The other trivialization is not a matter of taste: it is off by tenths."""
    V = np.array([2.0, -1.0, 3.0, 0.5, -0.4, 0.8])
    GV = discrete_twist.metric(I, M, pair(V))
    xi = pair(H * 5.0 * V)
    assert (
        np.abs(
            flat(twist.dlog_transposed(xi, GV))
            - flat(twist.dlog_transposed(twist.scale(-1.0, xi), GV))
        ).max()
        > 0.1
    )


def test_runge_kutta_poses_leave_the_notebooks_residual():
    """DREPE(T0, T1, T2) of two steps of 10 ms: 8.0e-9, small because h is, not because it is a
    root.
    """
    system, state = apparatus.dzhanibekov()
    poses = [(tuple(state.q[2:].tolist()), (0.0, 0.0, 0.0))]
    for _ in range(2):
        state = step(select("tqdl"), system, state, no_input(), 0.01).state
        poses.append((tuple(state.q[2:].tolist()), (0.0, 0.0, 0.0)))
    sides = []
    for first, second, sign in ((poses[0], poses[1], -1.0), (poses[1], poses[2], 1.0)):
        back = (first[0][0], -first[0][1], -first[0][2], -first[0][3]), (0.0, 0.0, 0.0)
        xi = twist.log(twist.product(back, second))
        GV = discrete_twist.metric(system.inertia, 1.0, twist.scale(100.0, xi))
        sides.append(flat(twist.dlog_transposed(twist.scale(sign, xi), GV)))
    assert np.linalg.norm(sides[1] - sides[0]) == pytest.approx(7.998e-9, rel=1e-3)
