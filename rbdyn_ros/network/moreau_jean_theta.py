"""Moreau and Jean's time-stepping: a theta scheme for the smooth part, laws on the end velocity,
impacts inside steps.

Unknown the end velocity v of a step and the impulses P, with q(v) = q_k (+) h (theta v + (1 -
theta) v_k) and M taken at the point of the step that theta names,

    r(v) = M (v - v_k) - h theta F(t_{k+1}, q(v), v) - h (1 - theta) F(t_k, q_k, v_k)
         = H^T P                                                                             (N.15)
    u = H v + dh/dt  and P  obey the laws of the closed interactions; equalities always are closed,
    a contact is if  y_N + gamma h u_N <= 0  at t_k, up to TOUCHING                          (N.16)

Newton: with W = M - h theta dF/dv - (h theta)^2 dF/dq,

    v_free = v - W^-1 r(v),     v := v_free + W^-1 H^T P,     P from  u = G P + u_free,
    G = H W^-1 H^T                                                                           (N.17)

until r(v) - H^T P and the law with H at the new q vanish. `linearized` takes the first of these
steps only, from v_k: H is that of q_k (+) h v_k, the motion without forces. Siconos does so
wherever forces do not depend on the velocity; for constant matrices the step is exact. Order 2
(theta = 1/2) in smooth motion, 1 through impacts. Sources: Moreau (1988), Jean (1999); the Siconos
developer's notes, chapters 1, 8 and 9.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.network import one_step, second_order
from rbdyn_ros.network.laws import Equality
from rbdyn_ros.network.second_order import MechanicalNetwork, join
from rbdyn_ros.numerics.arguments import count, number, positive
from rbdyn_ros.numerics.solvers.solution import Solution, explain
from rbdyn_ros.types import Array

# [m] a gap below is zero, so that the solver's tolerance does not open a resting contact
TOUCHING = 1e-9


class Options(NamedTuple):
    """The options of the scheme, made by `options`, which checks them."""

    theta: float = 0.5  # 1/2 conserves, 1 damps
    gamma: float = 0.5  # how far ahead contacts are looked for, in steps
    tolerance: float = 1e-12  # of the residual, relative to the largest momentum of the step
    max_iterations: int = 20
    linearized: bool = False  # one Newton step, whatever the residual


class MoreauJeanStep(NamedTuple):
    """The result of a step.

    When `ok` is false, q and v are where Newton or the solver stopped; `message` says why.
    """

    t: float
    q: tuple  # of (n_q,), a part for each system
    v: tuple  # of (n,)
    impulses: list  # (m,) for each interaction [N s]; zero where open
    iterations: int
    residual: float
    ok: bool
    message: str


def options(*given: Any, **named: Any) -> Options:
    """Return the Options with these fields. Raise ValueError for theta outside (0, 1], gamma
    outside [0, 1], a tolerance <= 0.
    """
    made = Options(*given, **named)
    return Options(
        number(made.theta, "theta", 0.0, 1.0, open_low=True),
        number(made.gamma, "gamma", 0.0, 1.0),
        number(made.tolerance, "tolerance", 0.0, 1e-3, open_low=True),
        count(made.max_iterations, "max_iterations", 1, 1000),
        bool(made.linearized),
    )


def step(
    net: MechanicalNetwork,
    t: float,
    q: tuple[Array, ...],
    v: tuple[Array, ...],
    h: float,
    options: Options = Options(),
) -> MoreauJeanStep:
    """Return the Step of h [s] from (t, q, v); q and v are tuples, a part for each system.

    Raise ValueError for h <= 0 and for what is no state of the network; the Step reports all else.
    A contact that overlaps is one that a step before has missed; `second_order.check_start`
    refuses it where a run begins.
    """
    positive(h, "h")
    number(t, "t", -np.inf)
    second_order.check_state(net, q, v)
    speeds = [second_order.speed(net, one, t, q, v) for one in net.interactions]
    closed = [
        k for k, one in enumerate(net.interactions) if is_closed(one, t, q, speeds[k], h, options)
    ]
    before = [speeds[k] for k in closed]
    force = second_order.forces(net, t, q, v)
    problem = _Problem(net, closed, before, force, t, q, v, h, options)
    end, residual = v, np.inf
    for iteration in range(1, options.max_iterations + 1):
        try:
            end, solution, rows = _newton(problem, end)
        except second_order.Singular as reason:
            stopped = f"the step to t = {t + h:g} s is not solved: {reason}"
            impulses = _share(net, [], np.empty(0))
            return MoreauJeanStep(t + h, q, v, impulses, iteration, float("nan"), False, stopped)
        residual = _residual(problem, rows, solution.z, end)
        is_finite = bool(np.isfinite(residual))
        is_solved = residual <= options.tolerance or options.linearized
        if is_solved or not solution.ok or not is_finite:
            break
    ok = bool(solution.ok and is_solved and is_finite)
    message = "" if ok else _describe(problem, residual, iteration, solution)
    impulses = _share(net, closed, solution.z)
    return MoreauJeanStep(
        t + h, _positions(problem, end), end, impulses, iteration, float(residual), ok, message
    )


class _Problem(NamedTuple):
    """The data of a step before it is solved."""

    net: MechanicalNetwork
    closed: list[int]  # interactions
    before: list[Array]  # their velocities u at t_k
    force: list[Array]  # of each system at t_k
    t: float
    q: tuple[Array, ...]
    v: tuple[Array, ...]
    h: float
    options: Options


def is_closed(
    one, t: float, q: tuple[Array, ...], u: np.ndarray, h: float, options: Options
) -> bool:
    """Return whether an interaction whose velocity is u is closed during the step (N.16)."""
    if isinstance(one.law, Equality):
        return True
    return bool(one.relation.value(t, join(q, one))[0] + options.gamma * h * u[0] <= TOUCHING)


def _positions(problem: _Problem, end: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return q_{k+1} of each system for its velocity at the end."""
    theta = problem.options.theta
    return tuple(
        s.move(x, problem.h * (theta * b + (1.0 - theta) * a))
        for s, x, a, b in zip(problem.net.systems, problem.q, problem.v, end)
    )


def _smooth(
    problem: _Problem, end: tuple[Array, ...]
) -> tuple[list[Array], list[Array], tuple[Array, ...]]:
    """Return R, M and q_{k+1} of the systems (N.15)."""
    t, h, theta = problem.t, problem.h, problem.options.theta
    after, R, M = _positions(problem, end), [], []
    columns = zip(problem.net.systems, problem.q, problem.v, end, after, problem.force)
    for s, x, a, b, y, force in columns:
        M.append(s.mass(s.move(x, theta * (h * (theta * b + (1.0 - theta) * a)))))
        at_end = h * theta * s.force(t + h, y, b)
        R.append(M[-1] @ (b - a) - at_end - h * (1.0 - theta) * force)
    return R, M, after


def _newton(
    problem: _Problem, end: tuple[Array, ...]
) -> tuple[tuple[Array, ...], Solution, list[dict[int, Array]]]:
    """Return v, the Solution and the rows H that it used, of one iteration (N.17)."""
    net, t = problem.net, problem.t + problem.h
    k = problem.h * problem.options.theta
    R, M, after = _smooth(problem, end)
    W = tuple(
        m - k * s.damping(t, y, b) - k * k * s.stiffness(t, y, b)
        for s, m, y, b in zip(net.systems, M, after, end)
    )
    free = tuple(
        b - second_order.solve_mass(w, r, f"iteration matrix of system {i}")
        for i, (b, w, r) in enumerate(zip(end, W, R))
    )
    some = [net.interactions[k] for k in problem.closed]
    rows = [second_order.rows(net, one, t, after) for one in some]
    if not rows:
        return free, one_step.solve(np.empty((0, 0)), np.empty(0), []), rows
    G, carried = second_order.delassus(rows, W)
    u = [
        second_order.velocity(H, one.relation.drift(t, join(after, one)), free)
        for H, one in zip(rows, some)
    ]
    for one, now, then in zip(some, u, problem.before):
        now[0] += one.law.restitution * then[0]
    solution = one_step.solve(G, np.concatenate(u), [(one.relation.rows, one.law) for one in some])
    return tuple(b + carried[i] @ solution.z for i, b in enumerate(free)), solution, rows


def _residual(
    problem: _Problem, rows: list[dict[int, Array]], P: Array, end: tuple[Array, ...]
) -> float:
    """Return max |R - H^T P| and the change of H v from the rows used to those at the new q,
    relative to the momenta.
    """
    net = problem.net
    rest, M, after = _smooth(problem, end)
    slips, at, size = [0.0], 0, problem.h * max(np.abs(F).max() for F in problem.force)
    for H, k in zip(rows, problem.closed):
        one = net.interactions[k]
        new, m = second_order.rows(net, one, problem.t + problem.h, after), one.relation.rows
        for i, block in H.items():
            rest[i] -= new[i].T @ P[at : at + m]
            slip = (new[i] - block) @ end[i]
            slips.append(np.abs(slip).max() / max(1.0, np.abs(end[i]).max()))
        at += m
    for m, a, b in zip(M, problem.v, end):
        size = max(size, *(np.abs(m @ x).max() for x in (a, b, b - a)), np.finfo(float).tiny)
    # np.max keeps nan, which Python's max may drop
    return float(np.max([*slips, *(np.abs(r).max() / size for r in rest)]))


def _share(net: MechanicalNetwork, closed: list[int], P: Array) -> list[Array]:
    """Return the impulses by interaction, zero where open."""
    parts, at = [np.zeros(one.relation.rows) for one in net.interactions], 0
    for k in closed:
        m = net.interactions[k].relation.rows
        parts[k] = P[at : at + m]
        at += m
    return parts


def _describe(problem: _Problem, residual: float, iterations: int, solution: Solution) -> str:
    t, h = problem.t + problem.h, problem.h
    if not np.isfinite(residual):
        return (
            f"the step to t = {t:g} s is not solved: a force, a mass or a relation is not "
            "finite on the way there"
        )
    if not solution.ok:
        who = ", ".join(map(str, problem.closed))
        return (
            f"the one-step problem of interactions {who} at t = {t:g} s: {explain(solution)}; "
            f"try a smaller step than {h:g} s"
        )
    return (
        f"Newton at t = {t:g} s stopped at {residual:.1e} "
        f"after {iterations} iterations; try a "
        f"smaller step than {h:g} s"
    )
