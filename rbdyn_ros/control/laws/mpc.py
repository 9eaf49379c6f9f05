"""Linear model-predictive control: the regulator of `lqr`, bent as little as keeps force and cart
within their limits.

    minimize  sum_k H_k |c_k|^2 + w_s sum s^2   over c, s,   (K.16)
    u_k = -K_k e_k + c_k of the prediction
    n_i . u_k within +- u_max cos(pi/8),    n_i . x_k + s within +- x_max cos(pi/8),    i = 1 .. 4

Only the first force acts; the plan is made anew with every state. Where c = 0 keeps the limits it
is the answer, and no program is solved.

A disc is not linear. The n_i are the normals of a regular octagon within it, which is turned with
the state: one corner points along z, the unstable mode of both axes. There the whole force is at
hand, between two corners 92 % of it; what is sent is cut in norm all the same. The same octagon
stands for the travel, in every direction as far as `cart.travel`. It gives way at a price, so that
a cart that is already outside has an answer too.

OSQP solves the program, warm from the last one. It is stopped after `max_iterations` or
`time_limit`; what it has then is no plan, and the saturated feedback -K_0 e takes its place,
counted in `diagnostics`.

What the plant near upright will do, one axis of it, if the force is -K e + c and held over
blocks of growing length.

Block k lasts T_k = n_k h. With the stepper's own A, B over h, e_{k+1} = A_k e_k + B_k u_k, and the
regulator's cost summed over the n_k periods of a block is (e, u).W (e, u). Backward from the
Riccati matrix S_N of the regulator,

    H_k = W_uu + B_k^T S_{k+1} B_k,   K_k = H_k^-1 (W_ue + B_k^T S_{k+1} A_k),
    S_k = W_ee + A_k^T S_{k+1} A_k - K_k^T H_k K_k,

and with u_k = -K_k e_k + c_k the cost of all time to come is

    e_0.S_0 e_0 + sum_k H_k c_k^2:                                                           (K.15)

a diagonal form, however unstable the plant and however long the horizon. Source: Rossiter,
Kouvaritakis, Rice, A numerically robust state-space approach to stable-predictive control
strategies, Automatica 34 (1998) 65.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from scipy import sparse

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.feedback import NEEDS, feedback, regulator
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.planning.catching import unstable_mode
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.optional import library
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State


class Prediction(NamedTuple):
    """Force u_k and position x_{k+1} of each block as rows: u = force e_0 + force_by c, x =
    position e_0 + position_by c.
    """

    gain: Array  # K_0 (4,)
    cost: Array  # M (N,)
    force: Array  # (N, 4)
    force_by: Array  # (N, N)
    position: Array  # (N, 4)
    position_by: Array  # (N, N)


def predict(A: Array, B: Array, W: Array, S: Array, periods: list[int]) -> Prediction:
    """Return the prediction over blocks of `periods` [h] each.

    A (4, 4), B (4, 1) over one period, W (5, 5) its cost of (e, u), S (4, 4) the cost of what
    comes after the last block.
    """
    blocks = [_discretize(A, B, W, n) for n in periods]
    gains, cost = _backward(blocks, S)
    N = len(periods)
    now, by = np.eye(4), np.zeros((4, N))  # e_k = now e_0 + by c
    rows = Prediction(
        gains[0], cost, np.zeros((N, 4)), np.eye(N), np.zeros((N, 4)), np.zeros((N, N))
    )
    for k, ((A_k, B_k, _), K) in enumerate(zip(blocks, gains)):
        rows.force[k], rows.force_by[k] = -K @ now, rows.force_by[k] - K @ by
        closed = A_k - B_k * K
        now, by = closed @ now, closed @ by
        by[:, k] += B_k[:, 0]
        rows.position[k], rows.position_by[k] = now[0], by[0]
    return rows


def _discretize(A: Array, B: Array, W: Array, n: int) -> tuple[Array, Array, Array]:
    """(A_k, B_k, W_k) of n periods under one force."""
    one = np.vstack((np.hstack((A, B)), np.eye(1, 5, 4)))  # of (e, u)
    flow, cost = np.eye(5), np.zeros((5, 5))
    for _ in range(n):
        cost += flow.T @ W @ flow
        flow = one @ flow
    return flow[:4, :4], flow[:4, 4:], cost


def _backward(blocks: list, S: Array) -> tuple[Array, Array]:
    """(K (N, 4), M (N,))."""
    gains, cost = np.zeros((len(blocks), 4)), np.zeros(len(blocks))
    for k, (A, B, W) in reversed(list(enumerate(blocks))):
        M = W[4, 4] + (B.T @ S @ B).item()
        K = (W[4, :4] + (B.T @ S @ A)[0]) / M
        S = W[:4, :4] + A.T @ S @ A - M * np.outer(K, K)
        gains[k], cost[k] = K, M
    return gains, cost


INWARD = math.cos(math.pi / 8.0)  # distance of an octagon's sides, of that of its corners
NORMALS = np.array(
    [(math.cos(a), math.sin(a)) for a in math.pi / 8.0 * np.array((1.0, 3.0, 5.0, 7.0))]
)
# OSQP's rho and eps [N, m]; iterations between two tests
STIFFNESS, TOLERANCE, LOOKS = (
    0.1,
    2e-3,
    10,
)
KINDS = ("balance", "limited")  # what it is meant for, in the words of evaluation.suite


class Options(NamedTuple):
    """The weights of `lqr`, the horizon, the solver's limits, and what the plant allows."""

    position_weight: lqr.PositionWeight = 40.0
    velocity_weight: lqr.VelocityWeight = 10.0
    tilt_weight: lqr.TiltWeight = 100.0
    tilt_rate_weight: lqr.TiltRateWeight = 10.0
    force_weight: lqr.ForceWeight = 0.1
    moves: Annotated[int, spec("Sets the number of forces in the plan.", low=1, high=100)] = (
        20  # N
    )
    step: Annotated[
        float,
        spec(
            "Sets how long the first of them is held, a multiple of period.",
            "s",
            above=0.0,
            high=0.2,
        ),
    ] = 0.02  # T_0
    growth: Annotated[
        float,
        spec(
            "Sets how many times longer each force is held than the one before it.",
            low=1.0,
            high=2.0,
        ),
    ] = 1.1  # T_{k+1} / T_k
    travel_weight: Annotated[
        float,
        spec(
            "Sets the cost of the square of the distance beyond the edge of the travel.",
            "1/m^2",
            above=0.0,
        ),
    ] = 1e4  # W
    edge: Annotated[
        float,
        spec(
            "Sets where the edge of the travel is, as a fraction of cart.travel.",
            above=0.0,
            high=1.0,
        ),
    ] = 0.99
    max_iterations: Annotated[
        int,
        spec(
            "Limits the iterations of the solver, after which the feedback alone answers.",
            low=1,
            high=100000,
        ),
    ] = 200
    time_limit: Annotated[
        float,
        spec(
            "Limits the computing time of the solver, after which the feedback alone answers.",
            "s",
            above=0.0,
        ),
    ] = 0.003
    period: float = 0.002  # h [s]
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m]


LIBRARIES = {"osqp": "mpc"}
LONGEST = 2000  # periods of the horizon


class Program:
    """(K.16) in OSQP: its matrices never change, only the bounds do.

    Unknowns: c along x, c along y, then s.
    """

    def __init__(self, prediction: Prediction, options: Options):
        osqp = library("osqp", "mpc", "controller mpc")
        self.length = len(prediction.cost)
        force, position = (
            np.vstack([np.kron(n, by) for n in NORMALS])
            for by in (prediction.force_by, prediction.position_by)
        )
        slack = len(position)
        weights = np.concatenate(
            (prediction.cost, prediction.cost, np.full(slack, options.travel_weight))
        )
        rows = np.block([[force, np.zeros((len(force), slack))], [position, np.eye(slack)]])
        self._solver, self._size = osqp.OSQP(), rows.shape
        bound = np.zeros(len(rows))
        self._solver.setup(
            sparse.diags(2.0 * weights, format="csc"),
            np.zeros(rows.shape[1]),
            sparse.csc_matrix(rows),
            bound,
            bound,
            verbose=False,
            rho=STIFFNESS,
            adaptive_rho=0,
            eps_abs=TOLERANCE,
            eps_rel=TOLERANCE,
            check_termination=LOOKS,
            max_iter=options.max_iterations,
            time_limit=options.time_limit,
        )
        self._solved = osqp.SolverStatus.OSQP_SOLVED
        self.forget()

    def solve(self, low: Array, high: Array) -> tuple[Array, float, bool]:
        """(c_0 (2,) [N], seconds, whether that was in time) between the bounds of the rows, force
        before position.

        It begins where the last solve ended, in time or not.
        """
        self._solver.update(l=low, u=high)
        result = self._solver.solve(raise_error=False)
        return (
            result.x[: 2 * self.length : self.length],
            result.info.run_time,
            result.info.status_val == self._solved,
        )

    def forget(self) -> None:
        """Begin the next solve from nothing."""
        self._solver.warm_start(x=np.zeros(self._size[1]), y=np.zeros(self._size[0]))


class Mpc:
    """The law. It remembers how the octagon was turned, and the last plan."""

    def __init__(self, prediction: Prediction, program: Program, weights: tuple, options: Options):
        self.gains, self._program, self._options = prediction.gain, program, options
        self._mode = np.array(weights)  # w of z = w.e
        self._rows = np.vstack(
            [np.kron(n, by) for by in (prediction.force, prediction.position) for n in NORMALS]
        )
        # of the reference
        self._shift = np.repeat(np.vstack((0.0 * NORMALS, NORMALS)), program.length, axis=0)
        inside = (options.force_limit, options.edge * options.travel)
        self._bound = INWARD * np.repeat(inside, len(NORMALS) * program.length)
        self.solved, self.replaced, self.longest = 0, 0, 0.0
        self.reset()

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        th = tilt(q, v)
        e = np.array(((q[0] - r[0], v[0], th[0], th[2]), (q[1] - r[1], v[1], th[1], th[3])))
        turn = self._turned(e @ self._mode)
        here = turn.T @ e
        expected = self._rows @ here.ravel() + self._shift @ (turn.T @ r)
        c = self._plan(expected)
        if c is None:
            return np.array(feedback(q, v, r, self.gains, self._options.force_limit))
        return np.array(
            saturate(*(turn @ (c - here @ self.gains)).tolist(), self._options.force_limit)
        )

    def reset(self) -> None:
        """Forget the last plan; the counts stay."""
        self._axis = np.array((1.0, 0.0))
        self._program.forget()

    def diagnostics(self) -> dict[str, float]:
        """Programs solved, answers of the feedback in their place, longest solve [ms]."""
        return {
            "programs_solved": self.solved,
            "programs_replaced": self.replaced,
            "program_max_ms": 1e3 * self.longest,
        }

    def _turned(self, z: Array) -> Array:
        """Return the axes of the octagon as columns (2, 2).

        Along z, or against it, whichever is nearer to the last ones.
        """
        size = math.hypot(*z)
        if size > 0.0:
            self._axis = z / math.copysign(size, z @ self._axis)
        x, y = self._axis
        return np.array(((x, -y), (y, x)))

    def _plan(self, expected: Array) -> Array | None:
        """c_0 (2,) in the octagon's axes, if `expected` is what the rows are without any c.

        None if there was no time.
        """
        if (np.abs(expected) <= self._bound).all():
            return np.zeros(2)
        c, seconds, solved = self._program.solve(-self._bound - expected, self._bound - expected)
        self.solved, self.replaced, self.longest = (
            self.solved + solved,
            self.replaced + (not solved),
            max(self.longest, seconds),
        )
        return c if solved else None


def design(model, params, options: Options) -> Mpc:
    """Return the law for the plant that `model` builds from `params`.

    ValueError if an option is out of range, OSQP is not installed, or no gains stabilize: the cart
    is fixed, no lever.
    """
    options, system = checked("mpc", options), model.build(params)
    *weights, R = options[:5]
    h = options.period
    try:
        A, B = step_linearization.upright(system, h)
        _, S = regulator(system, weights, R, h)
        mode = unstable_mode(system)
    except ValueError as error:
        raise ValueError(f"controller mpc: {error}; {NEEDS}") from error
    prediction = predict(A, B, h * np.diag((*weights, R)), S, _blocks(options))
    return Mpc(prediction, Program(prediction, options), mode.weights, options)


def _blocks(options: Options) -> list:
    """Return the length of each block in periods. ValueError for a horizon beyond reason."""
    lengths = options.step * options.growth ** np.arange(options.moves) / options.period
    if not lengths.sum() <= LONGEST:
        raise ValueError(
            f"controller mpc: the horizon is {lengths.sum() * options.period:.3g} s; it must be "
            "at most "
            f"{LONGEST * options.period:g} s ({LONGEST} periods): take a smaller mpc.growth, "
            "mpc.step or mpc.moves"
        )
    return [max(1, round(length)) for length in lengths]
