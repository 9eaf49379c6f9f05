"""From encoders and an IMU to the state: a Kalman filter in the tangent space, near upright and through a swing-up.

The estimate moves by the stepper itself, its covariance by the stepper's own linearisation (K.4):

    predict   state := step(state, u),   P := A P A^T + Q
    correct   S = H P H^T + R,  G = P H^T S^-1,  state := state [+] G r,  P := (1 - G H) P (1 - G H)^T + G R G^T     (K.14)

with the force u that acted, after its limit. The gyroscope's bias is estimated with the state. The normalised innovation
r.S^-1 r of a consistent filter has the mean m, the number of measured values.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.integrators.select import Integrator, select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.models.measurements import SIZE, Reading, moved
from rbdyn_ros.models.step_linearisation import of_step
from rbdyn_ros.types import Array, Input, State, System


class Noise(NamedTuple):
    """What the model does not know, as spectral densities, and what is not known at the start, as deviations."""

    cart: float = 0.2  # acceleration [m/s^2 / sqrt Hz]
    rod: float = 0.1  # angular acceleration across the rod [rad/s^2 / sqrt Hz]
    spin: float = 1.0  # along it
    bias: float = 1e-4  # walk of the gyroscope's bias [rad/s^2 / sqrt Hz]
    position: float = 0.01  # of the start [m]
    attitude: float = 0.02  # [rad]
    velocity: float = 0.1  # [m/s]
    rate: float = 0.1  # [rad/s]
    first_bias: float = 0.02  # [rad/s]


class Observer:
    """The filter; `state` and `bias` are its estimate, `P` (13, 13) the covariance of its error."""

    def __init__(self, system: System, start: State, h: float, noise: Noise = Noise(), integrator: Integrator | None = None):
        """h [s] between two predictions; `integrator` is a step of (2.10), by default quaternion_midpoint."""
        self.system, self.h, self.integrator = system, h, integrator or select("quaternion_midpoint")
        self.gamma = getattr(self.integrator.options(system), "gamma", 0.0)
        n = noise
        blocks = (2, 3, 2, 3, 3)
        self._first = np.diag(np.repeat((n.position, n.attitude, n.velocity, n.rate, n.first_bias), blocks) ** 2)
        self._walk = h * np.diag((*(0.0,) * 5, n.cart, n.cart, n.rod, n.rod, n.spin, n.bias, n.bias, n.bias)) ** 2
        self.reset(start)

    def reset(self, start: State) -> None:
        """Begin anew from a first guess of the state."""
        self.state, self.bias, self.P = start, np.zeros(3), self._first.copy()

    def predict(self, force: Array) -> bool:
        """One period on, under the force (2,) [N] that acted; False, and no change, if the step did not converge."""
        input = Input(np.array(force, float), np.zeros((0, 4)), np.zeros(9))
        taken = step(self.integrator, self.system, self.state, input, self.h)
        if not taken.ok:
            return False
        A = np.eye(SIZE)
        A[:10, :10] = of_step(self.system, self.gamma, self.h, self.state, taken.state, force).A
        self.P = A @ self.P @ A.T + self._walk
        self.state = taken.state
        return True

    def correct(self, reading: Reading) -> float:
        """Take in a reading of `models.measurements`; returns the normalised innovation r.S^-1 r.

        ValueError for a reading that is not finite: the estimate stays.
        """
        r, H, R = reading
        if not np.isfinite(r).all():
            raise ValueError(f"a reading differs from the estimate by {r.tolist()}; every number must be finite")
        S = H @ self.P @ H.T + R
        G = np.linalg.solve(S, H @ self.P).T
        xi, rest = G @ r, np.eye(SIZE) - G @ H
        self.state, self.bias = moved(self.state, xi), self.bias + xi[10:]
        self.P = rest @ self.P @ rest.T + G @ R @ G.T
        return float(r @ np.linalg.solve(S, r))
