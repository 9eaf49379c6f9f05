"""From systems and interactions to the matrices of one step: u = G P + u_free   (N.11 to N.13)."""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.systems.mechanical import Mechanical
from rbdyn_ros.systems.relations import Interaction
from rbdyn_ros.types import Array


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
    """ValueError where (q, v) is no state of the network: parts, sizes, numbers that are not finite."""
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


def joined(parts: tuple, interaction: Interaction) -> Array:
    """The coordinates of the systems that the interaction couples, one after the other."""
    return np.concatenate([parts[i] for i in interaction.systems])


def rows(net: Network, interaction: Interaction, t: float, q: tuple) -> dict:
    """H of the interaction as blocks, system -> (m, n_i) (N.7)."""
    gradient, blocks, at = interaction.relation.gradient(t, joined(q, interaction)), {}, 0
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
        carried[i] = np.linalg.solve(W[i], H.T)
        G += H @ carried[i]
    return G, carried
