"""Moreau and Jean's time-stepping: a theta scheme for the smooth part, laws on the end velocity,
impacts inside steps.

Unknown the end velocity v of a step and the impulses P, with q(v) = q_k (+) h (theta v + (1 -
theta) v_k) and M taken at the point of the step that theta names,

    R(v) = M (v - v_k) - h theta F(t_{k+1}, q(v), v) - h (1 - theta) F(t_k, q_k, v_k)
         = H^T P                                                                             (N.15)
    u = H v + dh/dt  and P  obey the laws of the closed interactions; equalities always are closed,
    a contact is if  y_N + gamma h u_N <= 0  at t_k, up to TOUCHING                          (N.16)

Newton: with W = M - h theta dF/dv - (h theta)^2 dF/dq,

    v_free = v - W^-1 R(v),     v := v_free + W^-1 H^T P,     P from  u = G P + u_free,
    G = H W^-1 H^T                                                                           (N.17)

until R(v) - H^T P and the law with H at the new q vanish. `linearized` takes the first of these
steps only, from v_k: H is that of q_k (+) h v_k, the motion without forces. Siconos does so
wherever forces do not depend on the velocity; for constant matrices the step is exact. Order 2
(theta = 1/2) in smooth motion, 1 through impacts. Sources: Moreau (1988), Jean (1999); the Siconos
developer's notes, chapters 1, 8 and 9.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.mechanics.network import one_step, second_order
from rbdyn_ros.mechanics.network.laws import Equality
from rbdyn_ros.mechanics.network.second_order import Network, joined
from rbdyn_ros.mechanics.solvers.solution import Solution, explain
from rbdyn_ros.numerics.arguments import count, number
from rbdyn_ros.types import Array

TOUCHING = (
    1e-9  # [m] a gap below is zero, so that the solver's tolerance does not open a resting contact
)


class Options(NamedTuple):
    """Make them with `options`, which checks."""

    theta: float = 0.5  # 1/2 conserves, 1 damps
    gamma: float = 0.5  # how far ahead contacts are looked for, in steps
    tolerance: float = 1e-12  # of the residual, relative to the largest momentum of the step
    max_iterations: int = 20
    linearized: bool = False  # one Newton step, whatever the residual


class Step(NamedTuple):
    """A step's result.

    When `ok` is false, q and v are where Newton or the solver gave up; `message` says why.
    """

    t: float
    q: tuple  # of (n_q,), a part for each system
    v: tuple  # of (n,)
    impulses: list  # (m,) for each interaction [N s]; zero where open
    iterations: int
    residual: float
    ok: bool
    message: str


def options(
    theta: float = 0.5,
    gamma: float = 0.5,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    linearized: bool = False,
) -> Options:
    """ValueError for theta outside (0, 1], gamma outside [0, 1], a tolerance <= 0."""
    return Options(
        number(theta, "theta", 0.0, 1.0, open_low=True),
        number(gamma, "gamma", 0.0, 1.0),
        number(tolerance, "tolerance", 0.0, 1e-3, open_low=True),
        count(max_iterations, "max_iterations", 1, 1000),
        bool(linearized),
    )


def step(
    net: Network,
    t: float,
    q: tuple[Array, ...],
    v: tuple[Array, ...],
    h: float,
    options: Options = Options(),
) -> Step:
    """One step of h [s] from (t, q, v); q and v are tuples, a part for each system.

    ValueError for h <= 0 and for what is no state of the network; all else comes back in the Step.
    A contact that overlaps is one that a step before has missed; `second_order.check_start`
    refuses it where a run begins.
    """
    number(h, "h", 0.0, open_low=True)
    number(t, "t", -np.inf)
    second_order.check_state(net, q, v)
    speeds = [velocity(net, one, t, q, v) for one in net.interactions]
    closed = [
        k for k, one in enumerate(net.interactions) if closes(one, t, q, speeds[k], h, options)
    ]
    before = [speeds[k] for k in closed]
    force = second_order.forces(net, t, q, v)
    end, residual = v, np.inf
    for iteration in range(1, options.max_iterations + 1):
        try:
            end, solution, rows = _newton(net, closed, before, force, t, q, v, end, h, options)
        except second_order.Singular as reason:
            stopped = f"the step to t = {t + h:g} s is not solved: {reason}"
            return Step(
                t + h, q, v, _shared(net, [], np.empty(0)), iteration, float("nan"), False, stopped
            )
        residual = _residual(net, closed, rows, solution.z, force, t, q, v, end, h, options)
        if (
            residual <= options.tolerance
            or options.linearized
            or not solution.ok
            or not np.isfinite(residual)
        ):
            break
    ok = bool(
        solution.ok
        and (residual <= options.tolerance or options.linearized and np.isfinite(residual))
    )
    message = "" if ok else _complaint(t + h, h, residual, iteration, solution, closed)
    after = _position(net, q, v, end, h, options.theta)
    return Step(
        t + h,
        after,
        end,
        _shared(net, closed, solution.z),
        iteration,
        float(residual),
        ok,
        message,
    )


def closes(one, t: float, q: tuple[Array, ...], u: np.ndarray, h: float, options: Options) -> bool:
    """Whether an interaction whose velocity is u is closed during the step (N.16)."""
    if isinstance(one.law, Equality):
        return True
    return bool(one.relation.value(t, joined(q, one))[0] + options.gamma * h * u[0] <= TOUCHING)


def velocity(
    net: Network, one, t: float, q: tuple[Array, ...], v: tuple[Array, ...]
) -> np.ndarray:
    """u (m,) of an interaction (N.7)."""
    return second_order.velocity(
        second_order.rows(net, one, t, q), one.relation.drift(t, joined(q, one)), v
    )


def _position(net, q, v, end, h, theta) -> tuple:
    return tuple(
        s.moved(x, h * (theta * b + (1.0 - theta) * a))
        for s, x, a, b in zip(net.systems, q, v, end)
    )


def _smooth(system, force, t, q, v, end, h, theta) -> tuple:
    """(R, M, q_{k+1}) of one system (N.15)."""
    w = h * (theta * end + (1.0 - theta) * v)
    after, M = system.moved(q, w), system.mass(system.moved(q, theta * w))
    R = M @ (end - v) - h * theta * system.force(t + h, after, end) - h * (1.0 - theta) * force
    return R, M, after


def _newton(net, closed, before, force, t, q, v, end, h, options) -> tuple:
    """One iteration (N.17): (v, Solution, the rows H that it used)."""
    W: list[Array] = []
    free: list[Array] = []
    after: tuple[Array, ...] = ()
    for s, F, x, a, b in zip(net.systems, force, q, v, end):
        R, M, y = _smooth(s, F, t, x, a, b, h, options.theta)
        k = h * options.theta
        W.append(M - k * s.damping(t + h, y, b) - k * k * s.stiffness(t + h, y, b))
        free.append(
            b - second_order.solve_mass(W[-1], R, f"iteration matrix of system {len(W) - 1}")
        )
        after = (*after, y)
    some = [net.interactions[k] for k in closed]
    rows = [second_order.rows(net, one, t + h, after) for one in some]
    if not rows:
        return tuple(free), one_step.solve(np.empty((0, 0)), np.empty(0), []), rows
    G, carried = second_order.delassus(rows, tuple(W))
    u = [
        second_order.velocity(H, one.relation.drift(t + h, joined(after, one)), free)
        for H, one in zip(rows, some)
    ]
    for one, now, then in zip(some, u, before):
        now[0] += one.law.restitution * then[0]
    solution = one_step.solve(G, np.concatenate(u), [(one.relation.rows, one.law) for one in some])
    return tuple(b + carried[i] @ solution.z for i, b in enumerate(free)), solution, rows


def _residual(net, closed, rows, P, force, t, q, v, end, h, options) -> float:
    """max |R - H^T P| and the change of H v from the rows used to those at the new q, relative to
    the momenta.
    """
    smooth = [
        _smooth(s, F, t, x, a, b, h, options.theta)
        for s, F, x, a, b in zip(net.systems, force, q, v, end)
    ]
    after = tuple(y for _, _, y in smooth)
    rest, size = [R.copy() for R, _, _ in smooth], np.finfo(float).tiny
    slips, at = [0.0], 0
    for H, k in zip(rows, closed):
        one = net.interactions[k]
        new, m = second_order.rows(net, one, t + h, after), one.relation.rows
        for i, block in H.items():
            rest[i] -= new[i].T @ P[at : at + m]
            slip = (new[i] - block) @ end[i]
            slips.append(np.abs(slip).max() / max(1.0, np.abs(end[i]).max()))
        at += m
    for _, (_, M, _), a, b in zip(rest, smooth, v, end):
        size = max(size, np.abs(M @ a).max(), np.abs(M @ b).max(), np.abs(M @ (b - a)).max())
    size = max(size, h * max(np.abs(F).max() for F in force))
    return float(
        np.max([*slips, *(np.abs(r).max() / size for r in rest)])
    )  # np.max keeps nan, which Python's max may drop


def _shared(net, closed, P) -> list:
    """The impulses by interaction, zero where open."""
    parts, at = [np.zeros(one.relation.rows) for one in net.interactions], 0
    for k in closed:
        m = net.interactions[k].relation.rows
        parts[k] = P[at : at + m]
        at += m
    return parts


def _complaint(
    t: float, h: float, residual: float, iterations: int, solution: Solution, closed: list
) -> str:
    if not np.isfinite(residual):
        return (
            f"the step to t = {t:g} s is not solved: a force, a mass or a relation is not "
            "finite on the way there"
        )
    if not solution.ok:
        who = ", ".join(map(str, closed))
        return (
            f"the one-step problem of interactions {who} at t = {t:g} s: {explain(solution)}; "
            f"try a smaller step than {h:g} s"
        )
    return (
        f"Newton at t = {t:g} s stopped at {residual:.1e} "
        f"after {iterations} iterations; try a "
        f"smaller step than {h:g} s"
    )
