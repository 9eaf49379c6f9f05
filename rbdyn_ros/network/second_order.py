"""Second-order systems, the relations that couple them, and the matrices of one step.

    M(q) dv/dt = F(t, q, v) + H^T lambda,     dq/dt = T(q) v                               (N.1)
    y = h(t, q),     u = dy/dt = H v + dh/dt,     H = (dh/dq) T(q)                         (N.7)
    u = G P + u_free                                                               (N.11 to N.13)

q is in any space (R^n, or positions and unit quaternions), v in R^n. A displacement is a vector w
of velocity coordinates; q (+) w moves along it: q + w in R^n, the exponential on rotations.
Gradients with respect to q are taken along such displacements. An interaction is a
relation, its law and the systems that it couples, whose q and v it takes one after the other;
tangential rows of a contact have a direction but no y: their value is zero.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.network import laws
from rbdyn_ros.network.laws import Equality, Law
from rbdyn_ros.numerics.arguments import matrix, rectangle, require_shape
from rbdyn_ros.types import Array

OVERLAP = 1e-9  # [m] what a contact may overlap, or a joint be open, where a run begins


class Mechanical(NamedTuple):
    """The functions of a system that a stepper needs."""

    degrees: int  # n, the length of v
    mass: Callable  # q -> M (n, n)
    force: Callable  # (t, q, v) -> F (n,), quadratic terms included
    stiffness: Callable  # (t, q, v) -> dF/dq along displacements (n, n)
    damping: Callable  # (t, q, v) -> dF/dv (n, n)
    tangent: Callable  # q -> T (n_q, n)
    move: Callable  # (q, w) -> q (+) w


def differentiate(
    function: Callable[[Array], Any],
    point: Array,
    degrees: int,
    move: Callable[[Array, Array], Array] = np.add,
) -> Array:
    """Return d function / d point along displacements, (m, degrees), by central differences with
    an error of about 1e-10 of the scale.

    It serves where a system comes without its gradients.
    """
    step = 1e-5
    columns = [
        (function(move(point, step * e)) - function(move(point, -step * e))) / (2.0 * step)
        for e in np.eye(degrees)
    ]
    return np.stack(columns, axis=-1)


def nonlinear(
    degrees: int,
    mass: Callable[[Array], Array],
    force: Callable[[float, Array, Array], Array],
    stiffness: Callable[[float, Array, Array], Array] | None = None,
    damping: Callable[[float, Array, Array], Array] | None = None,
) -> Mechanical:
    """Return the system M(q) dv/dt = F(t, q, v): mass(q) -> (n, n) [kg], force(t, q, v) -> (n,)
    [N] with the quadratic terms on this side.

    stiffness and damping are dF/dq and dF/dv (n, n), functions of (t, q, v); without them, finite
    differences.
    """
    identity = np.eye(degrees)
    return Mechanical(
        degrees,
        mass,
        force,
        stiffness or (lambda t, q, v: differentiate(lambda x: force(t, x, v), q, degrees)),
        damping or (lambda t, q, v: differentiate(lambda x: force(t, q, x), v, degrees)),
        lambda q: identity,
        lambda q, w: q + w,
    )


def linear(M, C=None, K=None, force: Callable[[float], Array] | None = None) -> Mechanical:
    """Return the system M dv/dt + C v + K q = F(t): M, C, K (n, n) constant (C, K zero where left
    out), force(t) -> (n,) [N] (N.2).

    Raise ValueError naming a matrix that is not (n, n), not finite, or an M that is not positive
    definite.
    """
    M = matrix(M, "M")
    n = len(M)
    C, K = (
        np.zeros((n, n)) if A is None else matrix(A, name, n) for A, name in ((C, "C"), (K, "K"))
    )
    if np.linalg.eigvalsh(0.5 * (M + M.T)).min() <= 0.0:
        raise ValueError("M is not positive definite; every direction needs a mass > 0")
    external = force or (lambda t: np.zeros(n))
    return nonlinear(
        n,
        lambda q: M,
        lambda t, q, v: external(t) - C @ v - K @ q,
        lambda t, q, v: -K,
        lambda t, q, v: -C,
    )


class Relation(NamedTuple):
    """y = h(t, q) and its gradients."""

    rows: int  # m
    value: Callable  # (t, q) -> (m,)
    gradient: Callable  # (t, q) -> dh/dq (m, n_q)
    drift: Callable  # t, q -> partial dh/dt (m,)
    # (t, q, v) -> dH/dt v + d(dh/dt)/dt (m,); left out: a difference quotient
    bias: Callable | None = None


class Interaction(NamedTuple):
    """A relation with its law between some systems, made by `interaction`, which checks it."""

    relation: Relation
    law: tuple  # one of laws.py
    systems: tuple  # indices


def interaction(relation: Relation, law: Law, systems: tuple[int, ...] = (0,)) -> Interaction:
    """Return the interaction. Raise ValueError where the law is none or takes another number of
    rows than the relation has, and where no system is coupled.
    """
    law = laws.check(law)
    if not systems:
        raise ValueError(
            "the interaction couples no system; systems holds their numbers, counted from 0"
        )
    rows = laws.ROWS.get(type(law), relation.rows)
    if rows != relation.rows:
        raise ValueError(
            f"the relation has {relation.rows} rows, but {type(law).__name__} takes {rows}"
        )
    return Interaction(relation, law, tuple(systems))


def linear_relation(H, b=0.0) -> Relation:
    """Return the relation y = H q + b: H (m, n_q), b (m,) or a number."""
    H = rectangle(H, "H")
    b, still = np.broadcast_to(np.asarray(b, float), (len(H),)), np.zeros(len(H))
    return Relation(len(H), lambda t, q: H @ q + b, lambda t, q: H, lambda t, q: still)


def above(height: Callable[[float], float], speed: Callable[[float], float]) -> Relation:
    """Return the relation y = q - c(t) for a point that a moving wall pushes: height(t) -> c [m],
    speed(t) -> dc/dt [m/s].
    """
    H = np.ones((1, 1))
    return Relation(
        1,
        lambda t, q: np.array([q[0] - height(t)]),
        lambda t, q: H,
        lambda t, q: np.array([-speed(t)]),
    )


class Singular(ValueError):
    """A matrix that has to be inverted has no inverse; the message names it."""


class MechanicalNetwork(NamedTuple):
    """Mechanical systems and their interactions, made by `network`, which checks them."""

    systems: tuple  # of Mechanical
    interactions: tuple  # of Interaction


def network(systems, interactions) -> MechanicalNetwork:
    """Return the network. Raise ValueError where an interaction names a system that is not
    there, or one twice.
    """
    systems = (systems,) if isinstance(systems, Mechanical) else tuple(systems)
    interactions = (
        (interactions,) if isinstance(interactions, Interaction) else tuple(interactions)
    )
    for k, one in enumerate(interactions):
        unknown = [i for i in one.systems if not 0 <= i < len(systems)]
        if unknown:
            raise ValueError(
                f"interaction {k} couples system {unknown[0]}; there are {len(systems)}, "
                "counted from 0"
            )
        if len(set(one.systems)) != len(one.systems):
            raise ValueError(
                f"interaction {k} couples systems {one.systems}; each may be named once"
            )
    return MechanicalNetwork(systems, interactions)


def check_state(net: MechanicalNetwork, q: tuple[Array, ...], v: tuple[Array, ...]) -> None:
    """Raise ValueError where (q, v) is no state of the network: parts, sizes, numbers that are not
    finite.
    """
    for name, parts in (("q", q), ("v", v)):
        if len(parts) != len(net.systems):
            raise ValueError(
                f"{name} has {len(parts)} parts; the network has {len(net.systems)} systems, a "
                "part for each"
            )
        for i, part in enumerate(parts):
            if not np.isfinite(part).all():
                raise ValueError(
                    f"{name} of system {i} is {np.asarray(part).tolist()}; every number must be "
                    "finite"
                )
    for i, (system, x, w) in enumerate(zip(net.systems, q, v)):
        require_shape(f"v of system {i}", w, (system.degrees,))
        require_shape(f"q of system {i}", x, system.tangent(x).shape[:1])
        require_shape(f"the mass of system {i}", system.mass(x), (system.degrees,) * 2)


def check_start(
    net: MechanicalNetwork, t: float, q: tuple[Array, ...], v: tuple[Array, ...]
) -> None:
    """Raise ValueError where no run can begin at (t, q, v): no state, contacts that overlap,
    equalities not met by q or by v.
    """
    check_state(net, q, v)
    for k, one in enumerate(net.interactions):
        y, u = one.relation.value(t, join(q, one)), speed(net, one, t, q, v)
        if not isinstance(one.law, Equality):
            if not y[0] >= -OVERLAP:
                raise ValueError(
                    f"interaction {k} starts with a gap of {y[0]:g} m; contacts may not overlap"
                )
            continue
        for j in range(len(y)):
            if not abs(y[j]) <= OVERLAP:
                raise ValueError(
                    f"row {j} of interaction {k} is {y[j]:g} at the start; an equality must be met"
                )
            if not abs(u[j]) <= OVERLAP * (1.0 + max(np.abs(x).max(initial=0.0) for x in v)):
                raise ValueError(
                    f"row {j} of interaction {k} changes at the rate {u[j]:g} at the start; v "
                    "must keep an equality"
                )


def forces(
    net: MechanicalNetwork, t: float, q: tuple[Array, ...], v: tuple[Array, ...]
) -> list[Array]:
    """Return F (n_i,) of each system. Raise ValueError for another shape."""
    found = [s.force(t, x, w) for s, x, w in zip(net.systems, q, v)]
    for i, (system, F) in enumerate(zip(net.systems, found)):
        require_shape(f"the force of system {i}", F, (system.degrees,))
    return found


def solve_mass(M: Array, B: Array, name: str) -> Array:
    """Return M^-1 B. Raise Singular with the matrix's name if there is no inverse."""
    try:
        return np.linalg.solve(M, B)
    except np.linalg.LinAlgError:
        raise Singular(f"the {name} is singular") from None


def join(parts: tuple[Array, ...], interaction: Interaction) -> Array:
    """Return the coordinates of the systems that the interaction couples, one after the other."""
    return np.concatenate([parts[i] for i in interaction.systems])


def rows(
    net: MechanicalNetwork, interaction: Interaction, t: float, q: tuple[Array, ...]
) -> dict[int, Array]:
    """Return H of the interaction as blocks, system -> (m, n_i) (N.7)."""
    gradient, blocks, at = interaction.relation.gradient(t, join(q, interaction)), {}, 0
    size = sum(len(q[i]) for i in interaction.systems)
    if np.shape(gradient) != (interaction.relation.rows, size):
        raise ValueError(
            f"a relation's gradient has shape {np.shape(gradient)}; its rows and systems make "
            f"{(interaction.relation.rows, size)}"
        )
    for i in interaction.systems:
        size = len(q[i])
        blocks[i] = gradient[:, at : at + size] @ net.systems[i].tangent(q[i])
        at += size
    return blocks


def velocity(blocks: dict[int, Array], drift: Array, v: Sequence[Array]) -> Array:
    """Return u = sum H^i v_i + drift (m,) (N.7)."""
    return sum((H @ v[i] for i, H in blocks.items()), drift)


def speed(
    net: MechanicalNetwork,
    interaction: Interaction,
    t: float,
    q: tuple[Array, ...],
    v: Sequence[Array],
) -> Array:
    """Return u (m,) of the interaction (N.7)."""
    drift = interaction.relation.drift(t, join(q, interaction))
    return velocity(rows(net, interaction, t, q), drift, v)


def delassus(
    blocks: list[dict[int, Array]], W: tuple[Array, ...]
) -> tuple[Array, dict[int, Array]]:
    """Return (G, carried): G = H W^-1 H^T with the block of interactions a, b the sum over the
    systems both touch (N.12).

    blocks: one dict for each interaction; W: the systems' iteration matrices (n_i, n_i). carried:
    system -> W_i^-1 H^T (n_i, m), the change of its velocity by an impulse.
    """
    sizes = [next(iter(b.values())).shape[0] for b in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    G, carried = np.zeros((starts[-1], starts[-1])), {}
    for i in range(len(W)):
        H = np.zeros((starts[-1], len(W[i])))
        for block, a, b in zip(blocks, starts, starts[1:]):
            if i in block:
                H[a:b] = block[i]
        carried[i] = solve_mass(W[i], H.T, f"iteration matrix of system {i}")
        G += H @ carried[i]
    return G, carried
