"""The exact derivatives of a step: of the next state by the state, the force and the parameters.

The state changes by xi = (dx, dtheta, dx', dw), R by R dtheta^. A stepper is computed in dual
numbers (`geometry.dual`); where it solves equations r(y; z) = 0 with Newton's method, the implicit
function theorem gives the derivative of the solution: one more step of Newton's from the solution,
in dual numbers, whose matrix is that of the values,

    y + dy = y - (dr/dy)^-1 r(y; z + dz),   dy = -(dr/dy)^-1 (dr/dz) dz.                      (V.1)

Where the cart is does not matter, and a frame that moves with the velocity c sees the same steps
under the force b c more: with F = d xi_1/du the columns of x and x' of one step of h are

    d xi_1/dx = e_x,   d xi_1/dx' = e_x' + h e_x - b F.                                       (V.2)

So eight directions are enough: w, u and theta, one vector register of 512 bits; for `tqdl`, too,
to which x' does not matter. The logarithm of SE(3) and the fixed chart are no such frames; there
all ten are computed. Steps in which something is met are refused (doc/derivatives.md).
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import config

from rbdyn_ros.geometry import dual_attitude, quaternion, unit_quaternion
from rbdyn_ros.geometry.dual import store, variable
from rbdyn_ros.geometry.dual_attitude import real
from rbdyn_ros.integrators import boundary, dual_stages, stick_slip
from rbdyn_ros.integrators.dual_stages import real_pair
from rbdyn_ros.integrators.select import Integrator
from rbdyn_ros.kernel import inlined, specialize
from rbdyn_ros.numerics.arguments import require_shape
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import coulomb_friction, rod_on_cart, world
from rbdyn_ros.types import Array, Contacts, Input, State, System

SIZE = 10  # of xi
PARAMETERS = (
    "cart.mass",
    "cart.damping",
    "rod.mass",
    "rod.center_of_mass",
    "rod.inertia[0]",
    "rod.inertia[1]",
    "rod.inertia[2]",
    "joint.damping",
    "gravity",
    "cart.friction",
    "joint.friction",
    "gain",
)


class Derivatives(NamedTuple):
    """Derivatives of n steps, one after the other: xi_{i+1} = A_i xi_i + B_i du + C_i dp."""

    A: Array  # (n, 10, 10) by xi = (dx, dtheta, dx', dw): cart [world], rotation and rates [body]
    B: Array  # (n, 10, 2) by the force on the cart
    C: Array  # (n, 10, 12) by the `PARAMETERS`: "gain" multiplies the held force
    states: Array  # (n + 1, 11) q (6) and v (5) at the ends of the steps


@inlined
def along_eight(system, load, s):
    """Return the system, the load and the state with the derivatives by w, u and theta."""
    return along_state(8, 8, 8, system, load, s)


@inlined
def along_ten(system, load, s):
    """Return the system, the load and the state with the derivatives by w, u, theta and x'."""
    return along_state(16, 8, 9, system, load, s)


@inlined
def along_state(width, first, second, system, load, s):
    """Return the same in `width` directions: x' is the `first` and the `second`, or none, the
    `width`th. All three are literals.
    """
    force = variable(width, load.force[0], 6), variable(width, load.force[1], 7)
    theta = variable(width, 0.0, 1), variable(width, 0.0, 2), variable(width, 0.0, 0)
    w = variable(width, s[8], 3), variable(width, s[9], 4), variable(width, s[10], 5)
    x = variable(width, s[0], width), variable(width, s[1], width)
    u, f = (variable(width, s[6], first), variable(width, s[7], second)), system.cart_free
    state = x, ((s[2], s[3], s[4], s[5]), theta), w, (f * u[0], f * u[1])
    return system, rod_on_cart.Load(force, load.F, load.T, load.r), state


@inlined
def along_parameters(system, load, s):
    """Return the system, the load and the state with the derivatives by `PARAMETERS`."""
    m, gain, f = system, variable(16, 1.0, 11), system.cart_free
    I = m.inertia
    varied = System(
        variable(16, m.cart_mass, 0),
        m.cart_free,
        variable(16, m.cart_damping, 1),
        variable(16, m.rod_mass, 2),
        variable(16, m.center, 3),
        (variable(16, I[0], 4), variable(16, I[1], 5), variable(16, I[2], 6)),
        variable(16, m.joint_damping, 7),
        variable(16, m.gravity, 8),
        m.contacts,
        variable(16, m.cart_friction, 9),
        variable(16, m.joint_friction, 10),
    )
    force, zero = (gain * load.force[0], gain * load.force[1]), variable(16, 0.0, 16)
    Q = (s[2], s[3], s[4], s[5]), (zero, zero, zero)
    x, w = (zero + s[0], zero + s[1]), (zero + s[8], zero + s[9], zero + s[10])
    u = (f * (zero + s[6]), f * (zero + s[7]))
    return varied, rod_on_cart.Load(force, load.F, load.T, load.r), (x, Q, w, u)


@inlined
def components(state):
    """Return the ten components of xi at a state, of which those of dtheta have the value 0."""
    x, (_, theta), w, u = state
    return x[0], x[1], theta[0], theta[1], theta[2], u[0], u[1], w[0], w[1], w[2]


@inlined
def write_columns(J, i, xi):
    """Write rows 10 i to 10 i + 9 of J = d xi/d(dx, dtheta, dx', dw, du) but for the columns of
    dx', which lie between and are overwritten.
    """
    for r in range(10):
        row = 10 * i + r
        store(J, row, 4, xi[r], 0, 8)
        store(J, row, 2, xi[r], 1, 2)
        J[row, 0], J[row, 1] = 1.0 * (r == 0), 1.0 * (r == 1)


@inlined
def write_state(J, i, system, h, state):
    """Write rows 10 i to 10 i + 9 of J = d xi_1/d(dx, dtheta, dx', dw, du), by (V.2)."""
    xi, free = components(state), system.cart_free
    write_columns(J, i, xi)
    for r in range(10):
        store(J, 10 * i + r, 5, -free * system.cart_damping * xi[r], 6, 2)
    for k in range(2):
        J[10 * i + k, 5 + k] += free * h
        J[10 * i + 5 + k, 5 + k] += free


@inlined
def write_turning(J, i, system, h, state):
    """Write the rows of `write_state` where x' does not count."""
    write_columns(J, i, components(state))
    J[10 * i : 10 * i + 10, 5:7] = 0.0


@inlined
def write_ten(J, i, system, h, state):
    """Write the rows of `write_state` for ten directions."""
    xi = components(state)
    write_columns(J, i, xi)
    for r in range(10):
        store(J, 10 * i + r, 5, xi[r], 8, 2)


@inlined
def write_parameters(J, i, system, h, state):
    """Write rows 10 i to 10 i + 9 of J = d xi_1/d(parameters)."""
    xi = components(state)
    for r in range(10):
        store(J, 10 * i + r, 0, xi[r], 0, 12)


@inlined
def rub(system, h, state):
    """Return the state after the friction of cart and joint has acted for h/2."""
    x, attitude, w, u = state
    R = dual_attitude.matrix(attitude)
    w, u = coulomb_friction.slow(system, 0.5 * h, R, w, u)
    return x, attitude, w, u


# of the method and of the derivatives' kind; `compile_steps` replaces them
vary = stage = write = dual_stages.rk4_stage
ANEW = 1  # 0 where the stepper remembers more than the state
RUBS = 0  # 1 with the friction of cart and joint, 2 with a cart that sticks


class StepSequence(NamedTuple):
    """Settings of the loop that takes the steps of any method."""

    weights: Array | tuple[float]  # (s,) fractions of h; (1.0,) and None compile to a plain loop
    sines: Array | None  # (n, 4) of the `Input`
    tolerance: float  # relative residual
    h: float  # [s]
    t: float  # [s] at the start


def _steps(system, options, load, loop, S, held, J):
    """Take the steps of a loop and write their derivatives; return how many succeeded.

    S (n + 1, 11) has the states q, v: the first is read, the others are written. J (10 n, 12) has
    ten rows a step; where `ANEW` is 0, those of all steps so far.
    """
    (weights, sines, tolerance, h, t), n, unknown = loop, len(S) - 1, held
    varied, force, state = vary(system, load, S[0])
    f1 = rod_on_cart.sines_at(sines, t)
    for i in range(n):
        if ANEW == 1 and i > 0:
            varied, force, state = vary(system, load, S[i])
        s = t + i * h
        for j in range(len(weights)):
            hj = h * weights[j]
            f0, f = f1, rod_on_cart.sines_at(sines, s + 0.5 * hj)
            s += hj
            f1 = rod_on_cart.sines_at(sines, s)
            push = force
            if RUBS == 1:
                state, held = rub(varied, hj, state), unknown
            if RUBS == 2:
                state, held = rub(stick_slip.joint_alone(varied), hj, state), unknown
                push = stick_slip.hold(varied, force, hj, state)
            state, held, error = stage(varied, options, push, (f0, f, f1), hj, state, held)
            if RUBS == 1:
                state = rub(varied, hj, state)
            if RUBS == 2:
                state = rub(stick_slip.joint_alone(varied), hj, state)
            if not error <= tolerance:
                return i
        if ANEW == 1 or i == n - 1:
            write(J, ANEW * i, system, h, state)
        x, (Q, _), w, u = state
        q, v = S[i + 1, :6], S[i + 1, 6:]
        attitude = unit_quaternion.renormalize(Q)
        boundary.write(q, v, real_pair(x), attitude, real(w), real_pair(u))
    return n


# The directions, the rows that are written, and whether a step depends on the state alone.
_FRAME = (along_eight, write_state, 1)
_TEN = (along_ten, write_ten, 1)
_METHODS = {
    "moser_veselov": _FRAME,
    "quaternion_midpoint": _FRAME,
    "rattle_s2": _FRAME,
    "rk4": _FRAME,
    "se3_variational": _TEN,
    "tqdl": (along_eight, write_turning, 0),
    "euler_lagrange": _TEN,
}


_WITHOUT_FRICTION = ("tqdl", "euler_lagrange")
_FRICTIONS = [k for k, name in enumerate(PARAMETERS) if name.endswith("friction")]
_TOUCHING = 1e-9  # of the rod's length: a gap that counts as closed
_STATE, _PARAMETERS = "state", "parameters"  # what a kernel differentiates by


@cache
def compile_steps(
    name: str, kind: str, has_friction: bool = False, sticks: bool = False
) -> Callable[..., int]:
    """Return `_steps` of an integrator, by the "state" or by the "parameters".

    Those by the state are without the friction of cart and joint unless `has_friction`; it depends
    on x', so that (V.2) does not hold with it. A cart that `sticks` has that of `stick_slip`.
    """
    vary, write, anew = _METHODS[name]
    if kind == _PARAMETERS:
        vary, write, has_friction = along_parameters, write_parameters, True
    elif has_friction:
        vary, write = along_ten, write_ten
    rubs = int(has_friction and name not in _WITHOUT_FRICTION) * (2 if sticks else 1)
    stage = getattr(dual_stages, f"{name}_stage")
    called = f"{name}_{kind}" + ("", "_friction", "_sticking")[rubs]
    return specialize(_steps, called, vary=vary, stage=stage, write=write, ANEW=anew, RUBS=rubs)


def carried_state(name: str) -> Any:
    """Return what a method carries besides the state, nan at the start: a lever, or n and its
    rate.
    """
    unknown = (np.nan, np.nan, np.nan)
    return {"tqdl": unknown, "rattle_s2": (unknown, unknown)}.get(name)


def along(
    integrator: Integrator,
    system: System,
    state: State,
    input: Input,
    h: float,
    n: int = 1,
    by_parameters: bool = False,
) -> Derivatives:
    """Return the derivatives of each of n steps of h [s] from `state`; those by the parameters are
    (n, 10, 0) unless `by_parameters`.

    The steps of `tqdl` depend on more than the state: there they are those of all steps together,
    as one. Those by the frictions are 0 for the methods and compositions that take none. Raise
    ValueError if an array has another shape than in `types`, if the method does not apply or is
    not one of this package, where a step does not converge, and where something is met: the
    derivatives are those of free motion.
    """
    if integrator.name not in _METHODS:
        raise ValueError(
            f"integrator.name is '{integrator.name}', of which no derivatives are known; it must "
            f"be one of {', '.join(_METHODS)}"
        )
    if not n >= 1:
        raise ValueError(f"n is {n}; it must be >= 1")
    input = boundary.accept(input)
    integrator.check(system, state, input)
    contacts, system = system.contacts, system._replace(contacts=Contacts())
    steps = (integrator.name, system, integrator.options(system), state, input, float(h), int(n))
    S, J = _by_differences(*steps) if vars(config)["DISABLE_JIT"] else _write(*steps, _STATE)
    C = np.zeros((len(J), SIZE, len(PARAMETERS) if by_parameters else 0))
    if by_parameters:
        C[:] = _write(*steps, _PARAMETERS)[1]
        if integrator.composition != "none":  # which take no friction
            C[..., _FRICTIONS] = 0.0
    if world.has_candidates(contacts):
        _require_free(contacts, S, float(state.t), float(h))
    return Derivatives(J[..., :SIZE], J[..., SIZE:], C, S[[0, -1]] if len(J) < n else S)


def _require_free(contacts: Contacts, states: Array, t: float, h: float) -> None:
    """Raise ValueError where the pendulum meets something in one of the states (n + 1, 11), the
    first at t [s].
    """
    for i, row in enumerate(states):
        for name, gap in world.gaps(contacts, State(0.0, row[:6], row[6:]), t + i * h).items():
            if gap < 0.0 or i == 0 and gap <= _TOUCHING * contacts.length:
                raise ValueError(
                    f"at t = {t + i * h:.6g} s the pendulum touches {world.parameter(name)}; "
                    "derivatives are those of free motion: start elsewhere, or take fewer steps"
                )


def _write(
    name: str,
    system: System,
    options: Any,
    state: State,
    input: Input,
    h: float,
    n: int,
    kind: str,
) -> tuple[Array, Array]:
    """Return the tables that the kernel writes: S (n + 1, 11) and J (n, 10, 12)."""
    weights, sines = getattr(options, "weights", np.ones(1)), input.sines
    if _METHODS[name] is _FRAME and len(weights) == 1 and len(sines) == 0:  # a plain loop
        weights, sines = (1.0,), None
    S, rows = np.zeros((n + 1, SIZE + 1)), n if _METHODS[name][2] == 1 else 1
    S[0] = np.concatenate(boundary.start(state))
    J = np.zeros((rows * SIZE, len(PARAMETERS) if kind == _PARAMETERS else SIZE + 2))
    loop = StepSequence(weights, sines, getattr(options, "tolerance", np.inf), h, float(state.t))
    load, held = rod_on_cart.load(input), carried_state(name)
    steps = compile_steps(name, kind, coulomb_friction.acts(system))
    done = steps(system, options, load, loop, S, held, J)
    if done < n:
        t = loop.t + done * h
        raise ValueError(f"{name} did not converge at t = {t:g} s; take a smaller h than {h:g} s")
    return S, J.reshape(rows, SIZE, -1)


def _by_differences(
    name: str, system: System, options: Any, state: State, input: Input, h: float, n: int
) -> tuple[Array, Array]:
    """Return the tables of `_write` by the state, from differences: under NUMBA_DISABLE_JIT=1."""
    advance = import_module(f"rbdyn_ros.integrators.{name}").advance
    S, J = np.concatenate(boundary.start(state))[None], []

    def flow(e: Array) -> Array:
        turn = quaternion.exp(e[2:5])
        q = np.concatenate((S[-1, :2] + e[:2], quaternion.product(S[-1, 2:6], turn)))
        after = State(state.t + h * len(J), q, S[-1, 6:] + e[5:SIZE])
        advance(system, options, input._replace(force=input.force + e[SIZE:]), h, 1, after, F)
        return np.concatenate((q, after.v))

    def difference(a: Array, b: Array) -> Array:
        turn = quaternion.log(quaternion.product(quaternion.conjugate(b[2:6]), a[2:6]))
        return np.concatenate((a[:2] - b[:2], turn, a[6:] - b[6:]))

    F = np.zeros(3)
    for _ in range(n):
        J.append(jacobian(flow, np.zeros(SIZE + 2), minus=difference, step=0.02).value)
        S = np.vstack((S, flow(np.zeros(SIZE + 2))))
    return S, np.array(J)


def total(derivatives: Derivatives) -> tuple[Array, Array, Array]:
    """Return A (10, 10), B (10, 2) and C (10, 12 or 0) of all steps together, the force held:

    A = A_n ... A_1,   B = sum_i A_n ... A_{i+1} B_i,   C likewise.                           (V.3)
    """
    A, B, C, _ = derivatives
    sums = np.eye(SIZE), np.zeros(B.shape[1:]), np.zeros(C.shape[1:])
    for A_i, B_i, C_i in zip(A, B, C):
        sums = A_i @ sums[0], A_i @ sums[1] + B_i, A_i @ sums[2] + C_i
    return sums


def adjoint(derivatives: Derivatives, gradients: Array) -> tuple[Array, Array, Array]:
    """Return the derivatives of a cost by the start (10,), by the force of each step (n, 2) and by
    the parameters (12 or 0), in one sweep back over the steps:

    lambda_n = g_n,   lambda_{i-1} = A_i^T lambda_i + g_{i-1},   dJ/du_i = B_i^T lambda_i.    (V.4)

    `gradients` (n + 1, 10) are the derivatives g_i of the cost by xi at each of the states.
    Raise ValueError if they have another shape.
    """
    A, B, C, _ = derivatives
    require_shape("gradients", gradients, (len(A) + 1, SIZE))  # a row for each state
    costate, by_force = np.array(gradients[-1], float), np.empty(B.shape[::2])
    by_parameters = np.zeros(C.shape[2])
    for i in range(len(A) - 1, -1, -1):
        by_force[i] = B[i].T @ costate
        by_parameters += C[i].T @ costate
        costate = A[i].T @ costate + gradients[i]
    return costate, by_force, by_parameters
