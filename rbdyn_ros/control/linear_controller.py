"""Linear controllers with a memory, as laws, and their exchange with python-control.

One axis, with the error e = (x - r, x', th, th') and th the log-map tilt of
`pendulum.tilt`; both axes have the same controller:

    u_k = -(C xi_k + D e_k),   f_k = u_k cut in norm,
    xi_{k+1} = A xi_k + B e_k + W (f_k - u_k).                                               (K.24)

W corrects the memory for the force that acts (anti-windup): with W the input matrix of the
observer within, xi follows the plant also while the force is at its limit. The reference r moves
towards the set point at a limited speed, from the cart's place on; where it moves by dr, the
memory moves by -N dr, so that it causes no innovation in an observer.
"""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.admission import admit
from rbdyn_ros.kernel import inlined, kernel
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.optional import library
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import Array, State, System

INPUTS = 4  # of one axis: x - r, x', th, th'
POSITIONS = np.eye(INPUTS)[::2]  # of e the two that encoders measure, x - r and th
_CIRCLE = 1e-9  # a pole this near to the unit circle does not decay


class LinearController(NamedTuple):
    """The matrices of (K.24)."""

    A: Array  # (n, n)
    B: Array  # (n, 4)
    C: Array  # (n,)
    D: Array  # (4,)
    windup: Array  # W (n,)
    moved: Array  # N (n,)
    start: Array  # (n, 4): the memory of the first period is start e

    def response(self, z: Array) -> Array:
        """Return C (z - A)^-1 B + D at the points z (m,) of the plane: (m, 4), from e to -u."""
        identity = np.eye(len(self.A))
        solved = np.linalg.solve(z[:, None, None] * identity - self.A, self.B[None])
        return self.D + np.einsum("i,mij->mj", self.C, solved)

    def loop(self, A: Array, B: Array, z: Array) -> Array:
        """Return L (m,) at the points z (m,), around e_{k+1} = A e + B u."""
        return (self.response(z) * plant_response(A, B, z)).sum(axis=1)

    def close(self, A: Array, B: Array) -> Array:
        """Return the matrix of one period of the loop, of (e, xi), around e_{k+1} = A e + B u."""
        return np.block([[A - B * self.D, -B * self.C], [self.B, self.A]])


def plant_response(A: Array, B: Array, z: Array) -> Array:
    """Return (z - A)^-1 B (m, n) of one force at the points z (m,) of the plane."""
    return np.linalg.solve(z[:, None, None] * np.eye(len(A)) - A, B[None])[..., 0]


def constant(K: Array) -> LinearController:
    """Return the controller u = -K e, without a memory. K (4,)."""
    return dynamic(np.zeros((0, 0)), np.zeros((0, INPUTS)), np.zeros(0), K)


def of_law(law: Any) -> LinearController | None:
    """Return the linear controller of a linear law, its own `linear()` or that of its `gains`
    (4,); None for another law.
    """
    if hasattr(law, "linear"):
        return law.linear()
    K = getattr(law, "gains", None)
    return None if K is None or np.shape(K) != (INPUTS,) else constant(np.asarray(K, float))


def derivative(force: Callable[[State], float], step: float = 1e-6) -> Array:
    """Return K (4,) of u_x = -K (x, x', th, th') at upright rest, by differences of 2 `step`;
    `force` returns u_x [N] in a state.
    """
    K = np.zeros(INPUTS)
    for i, e in enumerate(step * np.eye(INPUTS)):
        K[i] = -(force(_leaning(e)) - force(_leaning(-e))) / (2.0 * step)
    return K


def _leaning(e: Array) -> State:
    """Return the state with e = (x, x', th, th') along x: a lean towards +x is a turn about +y."""
    x, v, th, rate = e.tolist()
    q = np.array((x, 0.0, math.cos(0.5 * th), 0.0, math.sin(0.5 * th), 0.0))
    return State(0.0, q, np.array((v, 0.0, 0.0, rate, 0.0)))


def dynamic(A: Array, B: Array, C: Array, D: Array, **more: Array) -> LinearController:
    """Return the controller of these matrices; `windup`, `moved`, `start` are zero if not
    given.
    """
    n = len(A)
    zero = {"windup": np.zeros(n), "moved": np.zeros(n), "start": np.zeros((n, INPUTS))}
    arrays = (A, B, C, D, *({**zero, **more}[name] for name in zero))
    return LinearController(*(np.ascontiguousarray(array, float) for array in arrays))


def delay(controller: LinearController, periods: int) -> LinearController:
    """Return the controller whose forces come `periods` later, without its anti-windup."""
    for _ in range(periods):
        n = len(controller.A)
        controller = dynamic(
            np.block([[controller.A, np.zeros((n, 1))], [controller.C, np.zeros(1)]]),
            np.vstack((controller.B, controller.D)),
            np.eye(n + 1)[n],
            np.zeros(INPUTS),
        )
    return controller


def is_stable(controller: LinearController, A: Array, B: Array) -> bool:
    """Return whether the loop around e_{k+1} = A e + B u decays."""
    return bool(np.abs(np.linalg.eigvals(controller.close(A, B))).max() < 1.0 - _CIRCLE)


class LinearLaw:
    """The law (K.24); one call is one period."""

    def __init__(
        self, controller: LinearController, force_limit: float, step: float = np.inf
    ) -> None:
        self.controller = controller
        self.force_limit = force_limit  # [N]
        self.step = step  # [m] by which the reference moves in a period at most
        self._memory = np.zeros((2, len(controller.A)))  # xi of both axes
        self._next = np.zeros(len(controller.A))
        self._target = np.full(2, np.nan)  # r; nan before the first period

    def linear(self) -> LinearController:
        """Return the law without its limits."""
        return self.controller

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the force on the cart (2,) [N, world].

        Raise ValueError for what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        work = self._memory, self._next, self._target
        return np.array(_command(q, v, r, self.controller, work, self.force_limit, self.step))

    def reset(self) -> None:
        """Forget the memory and where the reference was."""
        self._memory[:] = 0.0
        self._target[:] = np.nan


@kernel
def _command(q, v, r, controller, work, limit, step):
    """Return (f_x, f_y) of (K.24), and write the memory of the next period."""
    memory, following, target = work
    n, th = len(controller.C), tilt(q, v)
    is_first = np.isnan(target[0])
    if is_first:
        for axis in range(2):
            target[axis] = q[axis] if step < np.inf else r[axis]
    dx, dy = saturate(r[0] - target[0], r[1] - target[1], step)
    ux = uy = 0.0
    for axis in range(2):
        change = dx if axis == 0 else dy
        target[axis] += change
        e = (q[axis] - target[axis], v[axis], th[axis], th[2 + axis])
        u = -_dot(controller.D, e)
        for i in range(n):
            memory[axis, i] -= controller.moved[i] * change
            if is_first:
                memory[axis, i] = _dot(controller.start[i], e)
            u -= controller.C[i] * memory[axis, i]
        if axis == 0:
            ux = u
        else:
            uy = u
    fx, fy = saturate(ux, uy, limit)
    for axis in range(2):
        e = (q[axis] - target[axis], v[axis], th[axis], th[2 + axis])
        cut = fx - ux if axis == 0 else fy - uy
        for i in range(n):
            following[i] = controller.windup[i] * cut + _dot(controller.B[i], e)
            for j in range(n):
                following[i] += controller.A[i, j] * memory[axis, j]
        for i in range(n):
            memory[axis, i] = following[i]
    return fx, fy


@inlined
def _dot(row, e):
    """Return row . e."""
    return row[0] * e[0] + row[1] * e[1] + row[2] * e[2] + row[3] * e[3]


def python_control(job: str) -> ModuleType:
    """Return the library python-control. Raise MissingLibrary where it is not installed."""
    return library("control", "control", job)


def plant(system: System, period: float) -> Any:
    """Return the plant as python-control's `StateSpace`: one axis near upright, force [N] in, e
    out, sampled every `period` [s].
    """
    A, B = step_linearization.upright(system, period)
    return python_control("a StateSpace of the plant").ss(
        A, B, np.eye(INPUTS), np.zeros((INPUTS, 1)), period
    )


def to_control(controller: LinearController, period: float) -> Any:
    """Return the controller as python-control's `StateSpace`, e in, -u out, as `feedback` takes
    it.
    """
    arrays = controller.A, controller.B, controller.C[None], controller.D[None]
    return python_control("a StateSpace of the controller").ss(*arrays, period)


def from_control(found: Any, period: float) -> LinearController:
    """Return the controller of a `StateSpace` (or of anything that has A, B, C, D and dt), -u as
    its output.

    Its inputs are e, or x - r and th alone. A continuous one, dt = 0, is sampled by Tustin's
    rule,

        s = (2 / h) (z - 1) / (z + 1).

    Raise ValueError for another number of inputs or outputs, or another period than `period` [s].
    """
    A, B, C, D = (np.atleast_2d(np.asarray(getattr(found, name), float)) for name in "ABCD")
    n = A.shape[0] if A.size else 0
    A, B, C = A.reshape(n, -1), B.reshape(n, -1), C.reshape(-1, n)
    outputs, inputs = D.shape
    if A.shape != (n, n) or B.shape != (n, inputs) or C.shape != (outputs, n):
        raise ValueError(
            f"A, B, C, D have shapes {A.shape}, {B.shape}, {C.shape}, {D.shape}, which do not fit"
        )
    if outputs != 1 or inputs not in (2, INPUTS):
        raise ValueError(
            f"the controller has {inputs} inputs and {outputs} outputs; it must have 4 inputs "
            "(x - r, x', th, th'), or 2 (x - r, th), and 1 output, for one axis"
        )
    if not all(np.isfinite(array).all() for array in (A, B, C, D)):
        raise ValueError("A, B, C, D must be finite numbers")
    dt = found.dt
    if n and (dt is None or dt is True or (dt != 0.0 and abs(float(dt) - period) > 1e-9)):
        raise ValueError(
            f"the controller's dt is {dt}, and the period is {period:g} s; sample it anew, set "
            "period, or give a continuous controller, dt = 0"
        )
    if n and dt == 0.0:
        from scipy.signal import cont2discrete  # takes a second

        sampled: Any = cont2discrete((A, B, C, D), period, "bilinear")
        A, B, C, D, _ = sampled
    if inputs == 2:
        B, D = B @ POSITIONS, D @ POSITIONS
    return dynamic(A, B, C[0] if n else np.zeros(0), D[0])
