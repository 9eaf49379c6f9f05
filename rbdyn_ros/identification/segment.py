"""A segment of a record under multiple shooting, (I.1) to (I.3) of `plant_fit`."""

from functools import cache
from typing import Any

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification.records import Record
from rbdyn_ros.kernel import specialize
from rbdyn_ros.mechanics.integrators import derivatives
from rbdyn_ros.mechanics.pendulum import rod_on_cart
from rbdyn_ros.types import Array, System

METHOD = "moser_veselov"
ZERO = (0.0, 0.0, 0.0)
SEEN = 4  # components of xi that are compared: the place of the cart, the rod's direction
FREE = np.array((0, 1, 2, 3, 5, 6, 7, 8))  # of xi at the start of a segment: no spin of the rod
STEPS = 8  # of Gauss and Newton for the state of a segment


def _shoot(system, options, h, tolerance, force, slope, S, J, G, Z, W):
    """Step through a segment; how many steps succeeded.

    S (n + 1, 11) states, the first given; Z (n + 1, 10, 10) and W (n + 1, 10, 11) of (I.2), their
    first given; J (10, 12) and G (10, 10) are room. `slope` (n, 2) is du/dtau.
    """
    for k in range(len(force)):
        load = rod_on_cart.Load((force[k, 0], force[k, 1]), ZERO, ZERO, ZERO)
        pair = S[k : k + 2]
        if by_state(system, options, load, (1.0,), None, tolerance, h, 1, 0.0, pair, None, J) < 1:
            return k
        by_parameters(system, options, load, (1.0,), None, tolerance, h, 1, 0.0, pair, None, G)
        for i in range(10):
            for j in range(10):
                Z[k + 1, i, j] = 0.0
            for j in range(10):
                W[k + 1, i, j] = G[i, j]
            W[k + 1, i, 10] = J[i, 10] * slope[k, 0] + J[i, 11] * slope[k, 1]
            for m in range(10):
                a = J[i, m]
                for j in range(10):
                    Z[k + 1, i, j] += a * Z[k, m, j]
                for j in range(11):
                    W[k + 1, i, j] += a * W[k, m, j]
    return len(force)


# kernels of `derivatives`, which `_compiled` puts in their places
by_state = by_parameters = _shoot


@cache
def _compiled() -> Any:
    return specialize(
        _shoot,
        "segment",
        by_state=derivatives.compile_steps(METHOD, "state"),
        by_parameters=derivatives.compile_steps(METHOD, "parameters"),
    )


class Segment:
    """A part of the record, and what is computed along it."""

    def __init__(self, record: Record, of: int, first: int, length: int, every: int):
        """`of` is the number of the record, `first` its sample at the start."""
        n = length
        self.of, self.first, self.h = of, first, record.h
        self.at = np.arange(0, n + 1, every)
        rows = slice(first, first + n + 1)
        self.place, self.attitude = record.place[rows][self.at], record.attitude[rows][self.at]
        self.S = np.zeros((n + 1, 11))
        start = record.place[first], record.attitude[first], record.velocity[first]
        self.S[0] = np.concatenate(start)
        self.S[0, 10] = 0.0
        self.Z, self.W = np.zeros((n + 1, 10, 10)), np.zeros((n + 1, 10, 11))
        self.Z[0] = np.eye(10)
        self.J, self.G = np.zeros((10, 12)), np.zeros((10, 10))

    def shoot(
        self, system: System, options: Any, force: Array, slope: Array, bias: Array
    ) -> Array:
        """The residuals (samples, SEEN) in meters and radians; nan where a step fails. `bias` (2,)
        [rad] is that of the encoders, (I.12).
        """
        n = len(self.S) - 1
        room = self.S, self.J, self.G, self.Z, self.W
        steps = slice(self.first, self.first + n)
        settings = system, options, self.h, options.tolerance
        if _compiled()(*settings, force[steps], slope[steps], *room) < n:
            return np.full((len(self.at), SEEN), np.nan)
        attitude = self.attitude
        if bias.any():
            roll, pitch = (quaternion.exp(b * axis) for b, axis in zip(-bias, np.eye(3)))
            attitude = quaternion.product(quaternion.product(roll, attitude), pitch)
        turned = quaternion.product(quaternion.conjugate(self.S[self.at, 2:6]), attitude)
        return np.hstack((self.place - self.S[self.at, :2], quaternion.log(turned)[:, :2]))

    def move(self, xi: Array) -> None:
        """Change the state at the start by xi (10,)."""
        s = self.S[0]
        s[:2] += xi[:2]
        s[2:6] = quaternion.product(s[2:6], quaternion.exp(xi[2:5]))
        s[6:] += xi[5:]

    def settle(
        self,
        system: System,
        options: Any,
        force: Array,
        slope: Array,
        scale: Array,
        bias: Array,
    ) -> Any:
        """(residuals, J) of (I.3) for the best state at the start, both over `scale` (SEEN,); the
        last two columns of J are those of the bias.
        """
        residual = self.shoot(system, options, force, slope, bias) / scale
        for _ in range(STEPS):
            Q, R = self._basis(scale)
            xi = np.zeros(10)
            xi[FREE] = -np.linalg.solve(R, Q.T @ residual.ravel())
            self.move(xi)
            before, residual = residual, self.shoot(system, options, force, slope, bias) / scale
            if abs(np.sum(residual**2) - np.sum(before**2)) < 1e-6 * (1e-9 + np.sum(before**2)):
                break
        moved = np.concatenate((self.W[self.at, :SEEN], self._by_bias()), axis=2)
        W = (-moved / scale[:, None]).reshape(-1, moved.shape[2])
        Q, _ = self._basis(scale)
        return residual.ravel(), W - Q @ (Q.T @ W)

    def _by_bias(self) -> Array:
        """What is seen of the bias (samples, SEEN, 2): R^T e1 of roll, e2 of pitch."""
        w, x, y, z = self.S[self.at, 2:6].T
        seen = np.zeros((len(self.at), SEEN, 2))
        seen[:, 2, 0] = 1.0 - 2.0 * (y * y + z * z)
        seen[:, 3, 0] = 2.0 * (x * y - w * z)
        seen[:, 3, 1] = 1.0
        return seen

    def _basis(self, scale: Array) -> tuple[Array, Array]:
        """Q and R of the columns of the state at the start."""
        Z = -self.Z[self.at, :SEEN][:, :, FREE] / scale[:, None]
        return np.linalg.qr(Z.reshape(-1, len(FREE)))
