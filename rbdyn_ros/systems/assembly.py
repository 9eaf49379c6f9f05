"""From systems and interactions to the matrices of one step: u = G P + u_free   (N.11 to N.13)."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.systems.laws import Equality
from rbdyn_ros.systems.mechanical import Mechanical
from rbdyn_ros.systems.relations import Interaction
from rbdyn_ros.types import Array

OVERLAP = 1e-9  # [m] what a contact may overlap, or a joint be open, where a run begins
UNIT = 1e-3  # by how much the norm of a quaternion may differ from 1: more than any drift, less than one that was never normalised


class Singular(ValueError):
    """A matrix that has to be inverted and has no inverse; says which."""


class Network(NamedTuple):
    """Mechanical systems and what couples them; make it with `network`, which checks."""

    systems: tuple  # of Mechanical
    interactions: tuple  # of Interaction


def network(systems, interactions) -> Network:
    """ValueError where an interaction names a system that is not there."""
    systems = (systems,) if isinstance(systems, Mechanical) else tuple(systems)
    interactions = (interactions,) if isinstance(interactions, Interaction) else tuple(interactions)
    for k, one in enumerate(interactions):
        unknown = [i for i in one.systems if not 0 <= i < len(systems)]
        if unknown:
            raise ValueError(f"interaction {k} couples system {unknown[0]}; there are {len(systems)}, counted from 0")
    return Network(systems, interactions)


def check_state(net: Network, q: tuple, v: tuple) -> None:
    """ValueError where (q, v) is no state of the network: parts, sizes, numbers that are not finite, quaternions not of norm 1."""
    for name, parts in (("q", q), ("v", v)):
        if len(parts) != len(net.systems):
            raise ValueError(f"{name} has {len(parts)} parts; the network has {len(net.systems)} systems, a part for each")
        for i, part in enumerate(parts):
            if not np.isfinite(part).all():
                raise ValueError(f"{name} of system {i} is {np.asarray(part).tolist()}; every number must be finite")
    for i, (system, x, w) in enumerate(zip(net.systems, q, v)):
        if np.shape(w) != (system.degrees,):
            raise ValueError(f"v of system {i} has shape {np.shape(w)}; it must be ({system.degrees},)")
        if np.shape(x) != system.tangent(x).shape[:1]:
            raise ValueError(f"q of system {i} has shape {np.shape(x)}; it must be {system.tangent(x).shape[:1]}")
        for miss in system.norms(x)[0]:
            if not abs(miss) <= UNIT:
                raise ValueError(f"a quaternion in q of system {i} has norm {1.0 + miss:.9g}; it must be 1: divide it by its norm")
        if np.shape(system.mass(x)) != (system.degrees, system.degrees):
            raise ValueError(f"the mass of system {i} has shape {np.shape(system.mass(x))}; it must be {(system.degrees,) * 2}")


def check_start(net: Network, t: float, q: tuple, v: tuple) -> None:
    """ValueError where no run can begin at (t, q, v): no state, contacts that overlap, equalities not met by q or by v."""
    check_state(net, q, v)
    for k, one in enumerate(net.interactions):
        y, u = one.relation.value(t, joined(q, one)), velocity(rows(net, one, t, q), one.relation.drift(t, joined(q, one)), v)
        if not isinstance(one.law, Equality):
            if not y[0] >= -OVERLAP:
                raise ValueError(f"interaction {k} starts with a gap of {y[0]:g} m; contacts may not overlap")
            continue
        for j in range(len(y)):
            if not abs(y[j]) <= OVERLAP:
                raise ValueError(f"row {j} of interaction {k} is {y[j]:g} at the start; an equality must be met: projection.project closes it")
            if not abs(u[j]) <= OVERLAP * (1.0 + max(np.abs(x).max(initial=0.0) for x in v)):
                raise ValueError(f"row {j} of interaction {k} changes at the rate {u[j]:g} at the start; v must keep an equality")


def forces(net: Network, t: float, q: tuple, v: tuple) -> list:
    """F (n_i,) of each system; ValueError for another shape."""
    found = [s.force(t, x, w) for s, x, w in zip(net.systems, q, v)]
    for i, (system, F) in enumerate(zip(net.systems, found)):
        if np.shape(F) != (system.degrees,):
            raise ValueError(f"the force of system {i} has shape {np.shape(F)}; it must be ({system.degrees},)")
    return found


def solved(M: Array, B: Array, name: str) -> Array:
    """M^-1 B; Singular with the matrix's name."""
    try:
        return np.linalg.solve(M, B)
    except np.linalg.LinAlgError:
        raise Singular(f"the {name} is singular") from None


def joined(parts: tuple, interaction: Interaction) -> Array:
    """The coordinates of the systems that the interaction couples, one after the other."""
    return np.concatenate([parts[i] for i in interaction.systems])


def rows(net: Network, interaction: Interaction, t: float, q: tuple) -> dict:
    """H of the interaction as blocks, system -> (m, n_i) (N.7)."""
    gradient, blocks, at = interaction.relation.gradient(t, joined(q, interaction)), {}, 0
    size = sum(len(q[i]) for i in interaction.systems)
    if np.shape(gradient) != (interaction.relation.rows, size):
        raise ValueError(f"a relation's gradient has shape {np.shape(gradient)}; its rows and systems make {(interaction.relation.rows, size)}")
    for i in interaction.systems:
        size = len(q[i])
        blocks[i] = gradient[:, at : at + size] @ net.systems[i].tangent(q[i])
        at += size
    return blocks


def velocity(blocks: dict, drift: Array, v: tuple) -> Array:
    """u = sum H^i v_i + drift (m,) (N.7)."""
    return sum((H @ v[i] for i, H in blocks.items()), drift)


def delassus(blocks: list, W: tuple) -> tuple:
    """(G, carried): G = H W^-1 H^T with the block of interactions a, b the sum over the systems both touch  (N.12).

    blocks: one dict for each interaction; W: the systems' iteration matrices (n_i, n_i). carried: system -> W_i^-1 H^T
    (n_i, m), what an impulse does to its velocity.
    """
    sizes = [next(iter(b.values())).shape[0] for b in blocks]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    G, carried = np.zeros((starts[-1], starts[-1])), {}
    for i in range(len(W)):
        H = np.zeros((starts[-1], len(W[i])))
        for block, a, b in zip(blocks, starts, starts[1:]):
            if i in block:
                H[a:b] = block[i]
        carried[i] = solved(W[i], H.T, f"iteration matrix of system {i}")
        G += H @ carried[i]
    return G, carried
