"""A segment of a record under multiple shooting, (I.1) to (I.3) of `plant_fit`.

In a plane that is tilted, gravity accelerates cart and rod alike by a, (I.13). The steps are those
of the frame that falls with it from the start of the segment on, at rest there; in it the
rail moves, which changes only its friction, so that

    x = x~ + a t^2 / 2,   u~ = u - b a t.                                                    (I.14)
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification.plant_numbers import PATH, SEGMENT_COLUMNS
from rbdyn_ros.identification.records import MotionRecord
from rbdyn_ros.integrators import derivatives
from rbdyn_ros.kernel import specialize
from rbdyn_ros.pendulum import rod_on_cart
from rbdyn_ros.types import Array, System

METHOD = "moser_veselov"
ZERO = (0.0, 0.0, 0.0)
SEEN = 4  # components of xi that are compared: the place of the cart, the rod's direction
FREE = np.array((0, 1, 2, 3, 5, 6, 7, 8))  # of xi at the start of a segment: the spin is known
FORCES = 5  # columns of W that are forces: gain, delay, lag, and (I.14) along x and y
RANK = 1e-9  # relative singular value below which a change of the start does not show
# A step that makes the squares larger is replaced by the best of others: a part of it, or one that
# leaves out directions that show less than a part of the first. The velocity of a cart that sticks
# shows in its first millimeters only, and the linear step would be far too large.
TRIES = ((1.0, 0.0), (1.0, 1e-3), (1.0, 1e-2), (1.0, 0.1), (0.25, 0.0))
WORSE = 1.0 + 1e-6  # times the squares, which a step may leave
STEPS = 8  # of Gauss and Newton for the state of a segment
SETTLED = 1e-10  # part of the squares that one more step would remove
LITTLE = 1e-12  # part of the squares that a step removed, after which no more are taken


def _shoot(system, options, h, force, slope, room):
    """Step through a segment and return how many steps succeeded.

    `room` has S (n + 1, 11) states, the first given; J (10, 12) and G (10, 12); Z (n + 1, 10, 10)
    and W (n + 1, 10, 16) of (I.2), their first given. `slope` (n, 2, 5) is du/dp of `FORCES`.
    """
    S, J, G, Z, W = room
    loop = derivatives.StepSequence((1.0,), None, options.tolerance, h, 0.0)
    for k in range(len(force)):
        load = rod_on_cart.Load((force[k, 0], force[k, 1]), ZERO, ZERO, ZERO)
        pair = S[k : k + 2]
        if by_state(system, options, load, loop, pair, None, J) < 1:
            return k
        by_parameters(system, options, load, loop, pair, None, G)
        Z[k + 1] = 0.0
        for i in range(10):
            for j in range(PATH):
                W[k + 1, i, j] = G[i, j]
            for j in range(FORCES):
                W[k + 1, i, PATH + j] = J[i, 10] * slope[k, 0, j] + J[i, 11] * slope[k, 1, j]
            for m in range(10):
                a = J[i, m]
                for j in range(10):
                    Z[k + 1, i, j] += a * Z[k, m, j]
                for j in range(PATH + FORCES):
                    W[k + 1, i, j] += a * W[k, m, j]
    return len(force)


# placeholders for kernels of `derivatives`, which `compile_steps` binds
by_state: Any = _shoot
by_parameters: Any = _shoot


@cache
def compile_steps(template: Callable[..., Any], name: str, sticks: bool = False) -> Any:
    """Return the kernel of a function that calls `by_state` and `by_parameters` of `METHOD`, with
    the friction of a cart that `sticks` or of one that creeps.
    """
    return specialize(
        template,
        name,
        by_state=derivatives.compile_steps(METHOD, "state", True, sticks),
        by_parameters=derivatives.compile_steps(METHOD, "parameters", True, sticks),
    )


class SegmentPlant(NamedTuple):
    """A plant, and the force, bias and acceleration that act on it."""

    system: System  # its gravity is that along the normal of the plane
    options: Any  # of the integrator
    force: Array  # u (n, 2) [N] that acts, of the whole record
    slope: Array  # (n, 2, 3) its derivative by gain, delay and lag
    bias: Array  # (2,) of roll and pitch [rad]
    fall: Array  # a (2,) of (I.14) [m/s^2]


class Segment:
    """A part of the record, and the quantities computed along it."""

    def __init__(
        self, record: MotionRecord, of: int, first: int, length: int, every: int, parts: int = 1
    ):
        """Set up the segment; `of` is the number of the record, `first` its sample at the start,
        and `parts` the number of steps from each sample to the next.
        """
        n = parts * length
        self.of, self.first, self.h, self.parts = of, first, record.h / parts, parts
        self.rows = np.arange(0, length + 1, every)  # samples that are compared, from `first` on,
        self.at = parts * self.rows  # and their states
        self.place = record.place[first + self.rows]
        # the rod's direction Rx(roll) Ry(pitch) e3
        x, y, z = quaternion.to_matrix(record.attitude[first + self.rows])[..., 2].T
        self.roll, self.pitch = np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z))
        self.S = np.zeros((n + 1, 11))
        start = record.place[first], record.attitude[first], record.velocity[first]
        self.measured = np.concatenate(start)
        self.S[0] = self.measured
        self.Z, self.W = np.zeros((n + 1, 10, 10)), np.zeros((n + 1, 10, PATH + FORCES))
        self.Z[0] = np.eye(10)
        self.J, self.G = np.zeros((10, 12)), np.zeros((10, 12))
        self.slope = np.zeros((n, 2, FORCES))
        self.slope[:, 0, 3] = self.slope[:, 1, 4] = -self.h * (np.arange(n) + 0.5)

    def shoot(self, trial: SegmentPlant) -> Array:
        """Return the residuals (samples, SEEN) in meters and radians; nan where a step fails."""
        n = len(self.S) - 1
        steps, system = self.first + np.arange(n) // self.parts, trial.system
        self.slope[..., :3] = trial.slope[steps]
        force = (
            trial.force[steps] + system.cart_damping * self.slope[:, (0, 1), (3, 4)] * trial.fall
        )
        room = self.S, self.J, self.G, self.Z, self.W
        kernel = compile_steps(_shoot, "segment", sticks=True)
        if kernel(system, trial.options, self.h, force, self.slope, room) < n:
            return np.full((len(self.at), SEEN), np.nan)
        x, y, z = self._direction(trial.bias)
        size = np.hypot(x, y)
        factor = np.where(size > 0.0, np.arctan2(size, z) / np.where(size > 0.0, size, 1.0), 1.0)
        place = self.place - self.S[self.at, :2] - self._shift() * trial.fall
        return np.column_stack((place, -factor * y, factor * x))

    def seen(self) -> Array:
        """Return the measured place and angles (samples, SEEN) [m, rad]."""
        return np.column_stack((self.place, np.unwrap((self.roll, self.pitch)).T))

    def noise(self) -> Array:
        """Return the noise (samples - 3, SEEN) [m, rad] of the measurements, by their third
        differences.
        """
        return np.diff(self.seen(), 3, axis=0) / math.sqrt(20.0)

    def lines(self) -> Array:
        """Return the residuals of straight lines through the measurements (samples, SEEN) [m,
        rad].
        """
        seen = self.seen()
        basis = np.linalg.qr(np.column_stack((np.ones(len(self.at)), self.at)))[0]
        return seen - basis @ (basis.T @ seen)

    def move(self, xi: Array) -> None:
        """Change the state at the start by xi (10,)."""
        s = self.S[0]
        s[:2] += xi[:2]
        s[2:6] = quaternion.product(s[2:6], quaternion.exp(xi[2:5]))
        s[6:] += xi[5:]

    def settle(self, trial: SegmentPlant, scale: Array) -> tuple[Array, Array]:
        """Return (residuals, J) of (I.3) for the best state at the start, both over `scale`
        (SEEN,); the columns of J are those of `plant_numbers.combination`. Where a step fails, the
        residuals are nan and J is zero.
        """
        residual = self.shoot(trial) / scale
        if not np.isfinite(residual).all():
            nothing = np.zeros((residual.size, SEGMENT_COLUMNS))
            return np.full(residual.size, np.nan), nothing
        Q, R, shown = self._basis(scale)
        for _ in range(STEPS):
            less = Q.T @ residual.ravel()  # its square is what a change of the start removes
            squares = np.sum(residual**2)
            if less @ less < SETTLED * (1e-9 + squares):
                break
            start, best, least = self.S[0].copy(), np.zeros(len(FREE)), WORSE * squares
            for part, faint in TRIES:
                kept = shown > faint
                change = -part * R[:, kept] @ less[kept]
                residual = self._shoot_from(start, change, trial, scale)
                if np.sum(residual**2) < least:  # nan compares false
                    best, least = change, np.sum(residual**2)
                    if part == 1.0 and faint == 0.0:
                        break
            if best is not change:
                residual = self._shoot_from(start, best, trial, scale)
            if not best.any():
                break
            Q, R, shown = self._basis(scale)
            if squares - least < LITTLE * squares:
                break
        seen = np.zeros((len(self.at), SEEN, 4))  # of the fall and of the bias
        seen[:, 0, 0] = seen[:, 1, 1] = self._shift()[:, 0]
        seen[:, 2:, 2:] = self._by_bias(trial.bias)
        moved = np.concatenate((self.W[self.at, :SEEN], seen), axis=2)
        W = (-moved / scale[:, None]).reshape(-1, moved.shape[2])
        return residual.ravel(), W - Q @ (Q.T @ W)

    def _shoot_from(self, start: Array, change: Array, trial: SegmentPlant, scale: Array) -> Array:
        """Return the residuals over `scale` from the state `start` (11,) changed by xi[FREE]."""
        xi = np.zeros(10)
        xi[FREE] = change
        self.S[0] = start
        self.move(xi)
        return self.shoot(trial) / scale

    def _shift(self) -> Array:
        """Return t^2 / 2 (samples, 1) since the start."""
        return 0.5 * (self.h * self.at[:, None]) ** 2

    def _direction(self, bias: Array) -> tuple[Array, ...]:
        """Return the measured direction without the bias, x, y, z (samples,) each, in the computed
        axes of the body.
        """
        sr, sp, cr, cp = self._angles(bias)
        return self._in_body(sp, -sr * cp, cr * cp)

    def _by_bias(self, bias: Array) -> Array:
        """Return the derivative of (I.1) by the bias (samples, 2, 2), with its sign changed."""
        sr, sp, cr, cp = self._angles(bias)
        by_roll = self._in_body(np.zeros_like(sr), -cr * cp, -sr * cp)
        by_pitch = self._in_body(cp, sr * sp, -cr * sp)
        return np.array([[-by[1], by[0]] for by in (by_roll, by_pitch)]).transpose(2, 1, 0)

    def _angles(self, bias: Array) -> tuple[Array, ...]:
        """Return the sines, then the cosines, of roll and pitch without the bias."""
        roll, pitch = self.roll - bias[0], self.pitch - bias[1]
        return np.sin(roll), np.sin(pitch), np.cos(roll), np.cos(pitch)

    def _in_body(self, x: Array, y: Array, z: Array) -> tuple[Array, ...]:
        """Return R(z)^T (x, y, z) at the samples: k - w t + u x t with t = 2 u x k of q = (w,
        u).
        """
        w, a, b, c = self.S[self.at, 2:6].T
        tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
        return (
            x - w * tx + b * tz - c * ty,
            y - w * ty + c * tx - a * tz,
            z - w * tz + a * ty - b * tx,
        )

    def _basis(self, scale: Array) -> tuple[Array, Array, Array]:
        """Return Q (n, k) and R (8, k): an orthonormal basis of what changes of the state at the
        start change, and these changes; and how much (k,) each shows, relative to the first. Of a
        cart that stands, its velocity changes nothing.
        """
        Z = -self.Z[self.at, :SEEN][:, :, FREE] / scale[:, None]
        Q, R = np.linalg.qr(Z.reshape(-1, len(FREE)))
        U, s, V = np.linalg.svd(R)
        kept = s > RANK * s[0]
        return Q @ U[:, kept], V[kept].T / s[kept], s[kept] / s[0]
