"""The two halves of a Kalman filter in the tangent space, (K.14), as kernels that write to the
memory of the estimate.

The derivative A of the step is taken by central differences of the step itself: 16 more steps of
0.3 us, where the closed form (K.1) to (K.4) costs 0.3 ms in Python. They agree to 1e-8.
"""

import numpy as np

from rbdyn_ros.control.observer.measurements import SIZE, move, nudge
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.integrators import quaternion_midpoint
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.numerics.linear import solution

_STEP = 1e-5  # of the differences
_STATE = 10  # the part of xi that is the plant's


@kernel
def predict(system, options, force, h, q, v, P, walk):
    """(q, v) and the covariance P (13, 13) one step of h [s] on under `force` (2,) [N]; False, and
    no change, if Newton fails.

    `walk` (13,) is the variance that a step adds.
    """
    A, q1, v1 = np.eye(SIZE), q.copy(), v.copy()
    done = _stepped(system, options, force, h, q1, v1)
    for i in range(2, _STATE):  # where the cart is changes nothing else
        ahead, behind = np.zeros(_STATE), np.zeros(_STATE)
        done = _differs(system, options, force, h, q, v, q1, v1, i, _STEP, ahead) and done
        done = _differs(system, options, force, h, q, v, q1, v1, i, -_STEP, behind) and done
        for j in range(_STATE):
            A[j, i] = (ahead[j] - behind[j]) / (2.0 * _STEP)
    if not done:
        return False
    P[:] = A @ P @ A.T
    for i in range(SIZE):
        P[i, i] += walk[i]
    q[:], v[:] = q1, v1
    return True


@kernel
def _stepped(system, options, force, h, q, v):
    """Whether one step of the plant, in place, converged."""
    load = rod_on_cart.Load(force, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return (
        quaternion_midpoint.steps(
            system, options, load, (1.0,), None, h, 1, 0.0, q, v, np.zeros(3)
        )[0]
        == 1
    )


@kernel
def _differs(system, options, force, h, q, v, q1, v1, i, e, xi):
    """xi (10,) := step((q, v) [+] e along i) [-] (q1, v1); whether the step converged."""
    a, b = q.copy(), v.copy()
    nudge(a, b, i, e)
    done = _stepped(system, options, force, h, a, b)
    turn = unit_quaternion.product((q1[2], -q1[3], -q1[4], -q1[5]), (a[2], a[3], a[4], a[5]))
    for j in range(2):
        xi[j] = a[j] - q1[j]
    for j in range(3):
        xi[2 + j] = 2.0 * turn[1 + j] / turn[0]
    for j in range(5):
        xi[5 + j] = b[j] - v1[j]
    return done


@kernel
def correct(q, v, bias, P, r, H, R):
    """Take r = H xi + noise, noise ~ (0, R), into (q, v), the bias (3,) and P; returns the
    normalised innovation r.S^-1 r.
    """
    HP = H @ P
    S = HP @ H.T + R
    G = np.ascontiguousarray(solution(S, HP).T)
    xi = G @ r
    move(q, v, xi)
    bias += xi[_STATE:]
    rest = np.eye(SIZE) - G @ H
    P[:] = rest @ P @ rest.T + G @ R @ G.T
    return r @ solution(S, r)
