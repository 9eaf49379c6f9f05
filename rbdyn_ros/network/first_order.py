"""First-order systems with inputs and outputs, y and lambda closed by 0 <= y _|_ lambda >= 0 or y
= 0.

    M dx/dt = f(t, x) + r,     y = h(t, x, lambda),     r = g(t, x, lambda)                   (N.8)

One or several systems, each with its dynamics, and relations that couple some of them: `assemble`
makes one FirstOrder of all, whose W is block diagonal and whose one-step matrix has the blocks

    D_aa + h gamma sum_i C_a^i W_i^-1 B_a^i,     h gamma sum_i C_a^i W_i^-1 B_b^i
    over the systems i that both touch                                                       (N.32)

The relative degree (N.10) says how directly a multiplier acts on an output: in u = A x + B lambda,
y = C x + D lambda the multiplier lambda_j appears in the r-th derivative of y_j first, r = 0 where
D_jj is not zero, else the least r with C_j A^(r-1) B^j not zero. A step of y itself can enforce a
law of degree 0 or 1; at degree 2, mechanics, lambda is an impulse where y reaches zero; at 3 and
more it is more singular than that.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from rbdyn_ros.network import laws
from rbdyn_ros.network.laws import Law
from rbdyn_ros.network.second_order import differentiate
from rbdyn_ros.numerics.arguments import matrix, rectangle
from rbdyn_ros.types import Array

Row = Callable[[float, Array, Array], Array]  # of (t, x, lambda)
_ZERO = 1e-13  # of the product of the norms
_NEARBY = 1e-3  # to where a gradient that happens to vanish at a state is evaluated again


class FirstOrder(NamedTuple):
    """The functions of (N.8) with their gradients, all of (t, x, lambda) but f."""

    M: Array  # (n, n)
    f: Callable  # (t, x) -> (n,)
    A: Callable  # df/dx (n, n)
    h: Callable  # -> y (m,)
    C: Callable  # dh/dx (m, n)
    D: Callable  # dh/dlambda (m, m)
    g: Callable  # -> r (n,)
    K: Callable  # dg/dx (n, n)
    B: Callable  # dg/dlambda (n, m)
    laws: tuple  # of (rows, law): Complementarity or Equality


class Dynamics(NamedTuple):
    """One system without its input."""

    M: Array  # (n, n)
    f: Callable  # (t, x) -> (n,)
    A: Callable  # df/dx (n, n)


class OutputRelation(NamedTuple):
    """Output and input of m rows between some systems; the functions take (t, x, lambda), x of
    those systems in a row.
    """

    h: Callable
    C: Callable
    D: Callable
    g: Callable
    K: Callable
    B: Callable
    rows: int  # m
    law: tuple  # Complementarity or Equality
    systems: tuple  # indices


class Gradients(NamedTuple):
    """The gradients of a relation, functions of (t, x, lambda); None stands for finite
    differences.
    """

    C: Callable | None = None  # dh/dx
    D: Callable | None = None  # dh/dlambda
    K: Callable | None = None  # dg/dx
    B: Callable | None = None  # dg/dlambda


def dynamics(
    n: int,
    f: Callable[[float, Array], Array],
    A: Callable[[float, Array], Array] | None = None,
    M=None,
) -> Dynamics:
    """Return the system M dx/dt = f(t, x) of n states; A = df/dx is by finite differences where it
    is left out.
    """
    return Dynamics(
        np.eye(n) if M is None else matrix(M, "M", n),
        f,
        A or (lambda t, x: differentiate(lambda z: f(t, z), x, n)),
    )


def relation(
    m: int,
    h: Row,
    g: Row,
    gradients: Gradients = Gradients(),
    law: Law = laws.Complementarity(),
    systems: tuple[int, ...] = (0,),
) -> OutputRelation:
    """Return the relation y = h(t, x, lambda) (m,), r = g(t, x, lambda)."""

    def by_x(function):
        return lambda t, x, s: differentiate(lambda z: function(t, z, s), x, len(x))

    def by_multiplier(function):
        return lambda t, x, s: differentiate(lambda z: function(t, x, z), s, m)

    _require_law(law)
    C, D, K, B = gradients
    by_h, by_g = (C or by_x(h), D or by_multiplier(h)), (K or by_x(g), B or by_multiplier(g))
    return OutputRelation(h, *by_h, g, *by_g, m, law, tuple(systems))


def linear_dynamics(A, b: Callable[[float], Array] | None = None, M=None) -> Dynamics:
    """Return the system M dx/dt = A x + b(t)."""
    A = matrix(A, "A")
    b = b or (lambda t: np.zeros(len(A)))
    return dynamics(len(A), lambda t, x: A @ x + b(t), lambda t, x: A, M)


def linear_relation(
    B,
    C,
    D=None,
    e: Callable[[float], Array] | None = None,
    law: Law = laws.Complementarity(),
    systems: tuple[int, ...] = (0,),
) -> OutputRelation:
    """Return the relation y = C x + D lambda + e(t), r = B lambda: C (m, n), B (n, m), n all
    states of the coupled systems; D zero where left out.
    """
    C = rectangle(C, "C")
    m, n = C.shape
    B, D = matrix(B, "B", n, m), np.zeros((m, m)) if D is None else matrix(D, "D", m)
    e = e or (lambda t: np.zeros(m))
    gradients = Gradients(*(lambda t, x, s, G=G: G for G in (C, D, np.zeros((n, n)), B)))
    h, g = lambda t, x, s: C @ x + D @ s + e(t), lambda t, x, s: B @ s
    return relation(m, h, g, gradients, law, systems)


def linear(
    A, B, C, D=None, b=None, e=None, M=None, law: Law = laws.Complementarity()
) -> FirstOrder:
    """Return the system M dx/dt = A x + b(t) + B lambda, y = C x + D lambda + e(t) (N.9).

    A (n, n), B (n, m), C (m, n), D (m, m) zero where left out; b and e functions of time. Raise
    ValueError naming a wrong shape.
    """
    alone = linear_dynamics(A, b, M)
    n = len(alone.M)
    C = rectangle(C, "C", n)
    return assemble(alone, linear_relation(matrix(B, "B", n, len(C)), C, D, e, law))


def assemble(systems, relations) -> FirstOrder:
    """Return all systems and relations as one. Raise ValueError where a relation names a system
    that is not there, or one twice.
    """
    systems = (systems,) if isinstance(systems, Dynamics) else tuple(systems)
    relations = (relations,) if isinstance(relations, OutputRelation) else tuple(relations)
    for k, one in enumerate(relations):
        known = set(one.systems) & set(range(len(systems)))
        if len(known) != len(one.systems):
            raise ValueError(
                f"relation {k} couples systems {one.systems}; take different ones of 0 to "
                f"{len(systems) - 1}"
            )
    own = _ranges([len(s.M) for s in systems])
    rows = _ranges([one.rows for one in relations])
    states = [np.concatenate([own[i] for i in one.systems]) for one in relations]
    n, m = sum(map(len, own)), sum(map(len, rows))

    def gather(name: str, shape: tuple[int, ...], places: list[Any]) -> Callable[..., Array]:
        def function(t, x, s):
            out = np.zeros(shape)
            for one, at, r, place in zip(relations, states, rows, places):
                out[place] += getattr(one, name)(t, x[at], s[r])
            return out

        return function

    return FirstOrder(
        np.asarray(block_diag(*(s.M for s in systems))),
        lambda t, x: np.concatenate([s.f(t, x[at]) for s, at in zip(systems, own)]),
        lambda t, x: block_diag(*(s.A(t, x[at]) for s, at in zip(systems, own))),
        gather("h", (m,), rows),
        gather("C", (m, n), [np.ix_(r, at) for r, at in zip(rows, states)]),
        gather("D", (m, m), [np.ix_(r, r) for r in rows]),
        gather("g", (n,), states),
        gather("K", (n, n), [np.ix_(at, at) for at in states]),
        gather("B", (n, m), [np.ix_(at, r) for r, at in zip(rows, states)]),
        tuple((one.rows, one.law) for one in relations),
    )


def _require_law(law: tuple) -> None:
    if not isinstance(law, (laws.Complementarity, laws.Equality)):
        raise ValueError(
            f"the law of a first-order system is {law!r}; it must be Complementarity() or "
            "Equality()"
        )


def _ranges(sizes: list) -> list:
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends)]


def relative_degrees(A, B, C, D) -> list[int | None]:
    """Return for each row j how often y_j must be differentiated until lambda_j appears; None if
    it never does (N.10).
    """
    A, B, C, D = (np.atleast_2d(np.asarray(X, float)) for X in (A, B, C, D))
    return [_least(A, B[:, j : j + 1], C[j], D[j, j : j + 1]) for j in range(len(C))]


def reach(system: FirstOrder, t: float, x: Array, multiplier: Array) -> list[int | None]:
    """Return for each row how often y_j must be differentiated until some multiplier appears, near
    (t, x, lambda); None if none does.

    Some multiplier, not its own: rows may be closed by each other's. Where M is singular part of
    the dynamics is algebraic and a degree is not defined: then it is 0.
    """
    if np.linalg.matrix_rank(system.M) < len(system.M):
        return [0] * len(multiplier)
    degrees = []
    for shift in (0.0, _NEARBY):
        at = t, x + shift * (1.0 + np.abs(x)), multiplier + shift * (1.0 + np.abs(multiplier))
        A = np.linalg.solve(system.M, system.A(*at[:2]) + system.K(*at))
        B = np.linalg.solve(system.M, system.B(*at))
        outputs = zip(system.C(*at), system.D(*at))
        degrees.append([_least(A, B, row, direct) for row, direct in outputs])
    return [min((d for d in of_row if d is not None), default=None) for of_row in zip(*degrees)]


def _least(A: Array, B: Array, row: Array, direct: Array) -> int | None:
    """Return 0 where `direct` is not zero, else the least r with row A^(r-1) B not zero; None
    beyond the size of A.
    """
    if direct.any():
        return 0
    size = np.linalg.norm(B)
    for r in range(1, len(A) + 1):
        if np.abs(row @ B).max(initial=0.0) > _ZERO * np.linalg.norm(row) * size:
            return r
        row = row @ A
    return None
