"""From encoders and an IMU to the state: a Kalman filter in the tangent space, near upright and
through a swing-up.

The estimate moves by the stepper itself, its covariance by the stepper's own derivative
(`control.observer.kalman`):

    predict   state := step(state, u),   P := A P A^T + Q
    correct   S = H P H^T + R,  G = P H^T S^-1,  state := state [+] G r,
              P := (1 - G H) P (1 - G H)^T + G R G^T   (K.14)

with the force u that acted, after its limit. The gyroscope's bias is estimated with the state. The
normalised innovation r.S^-1 r of a consistent filter has the mean m, the number of measured
values.
"""

import numpy as np

from rbdyn_ros.control.observer import kalman
from rbdyn_ros.control.observer.measurements import Components, Reading
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.parameters.controller import Noise
from rbdyn_ros.types import Contacts, State, System


class Observer:
    """The filter; `state` and `bias` are its estimate, `P` (13, 13) the covariance of its
    error.
    """

    def __init__(self, system: System, start: State, h: float, noise: Noise = Noise()):
        """h [s] between two predictions."""
        self.system, self.h = system._replace(contacts=Contacts()), float(h)
        self._options = select("quaternion_midpoint").options(self.system)
        n = noise
        blocks = (2, 3, 2, 3, 3)
        self._first = np.diag(
            np.repeat((n.position, n.attitude, n.velocity, n.rate, n.first_bias), blocks) ** 2
        )
        self._density = (
            np.array((*(0.0,) * 5, n.cart, n.cart, n.rod, n.rod, n.spin, n.bias, n.bias, n.bias))
            ** 2
        )
        self.reset(start)

    @property
    def state(self) -> State:
        """The estimate, as a copy."""
        return State(self._t, self._q.copy(), self._v.copy())

    def reset(self, start: State) -> None:
        """Begin anew from a first guess of the state."""
        self._t, self._q, self._v = start.t, np.array(start.q, float), np.array(start.v, float)
        self.bias, self.P = np.zeros(3), self._first.copy()

    def predict(self, force: Components, h: float | None = None) -> bool:
        """One period, or h [s], on, under the force (2,) [N] that acted; False, and no change, if
        the step did not converge.
        """
        u, h = (float(force[0]), float(force[1])), self.h if h is None else float(h)
        if not kalman.predict(
            self.system, self._options, u, h, self._q, self._v, self.P, h * self._density
        ):
            return False
        self._t += h
        return True

    def correct(self, reading: Reading) -> float:
        """Take in a reading of `control.observer.measurements`; returns the normalised innovation
        r.S^-1 r.

        ValueError for a reading that is not finite: the estimate stays.
        """
        if not np.isfinite(reading.residual).all():
            raise ValueError(
                f"a reading differs from the estimate by {reading.residual.tolist()}; every "
                "number must be finite"
            )
        return kalman.correct(self._q, self._v, self.bias, self.P, *reading)
