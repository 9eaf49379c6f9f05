"""Relations y = h(t, q) of mechanical systems, and interactions: a relation, its law, the systems that it couples.

    u = dy/dt = H v + dh/dt,     H = (dh/dq) T(q)                                                           (N.7)

q and v are those of the coupled systems, one after the other. Tangential rows of a contact have a direction but no y;
their value is zero.
"""

from typing import Callable, NamedTuple

import numpy as np

from rbdyn_ros.systems import laws
from rbdyn_ros.systems.arguments import matrix
from rbdyn_ros.types import Array


class Relation(NamedTuple):
    """y = h(t, q) and its gradients."""

    rows: int  # m
    value: Callable  # (t, q) -> (m,)
    gradient: Callable  # (t, q) -> dh/dq (m, n_q)
    drift: Callable  # t, q -> partial dh/dt (m,)
    bias: Callable | None = None  # (t, q, v) -> dH/dt v + d(dh/dt)/dt (m,); left out: a difference quotient


class Interaction(NamedTuple):
    """A relation with its law between some systems; make it with `interaction`, which checks."""

    relation: Relation
    law: tuple  # one of laws.py
    systems: tuple  # indices


def interaction(relation: Relation, law: tuple, systems: tuple = (0,)) -> Interaction:
    """ValueError where the law is none or takes another number of rows than the relation has, and where no system is coupled."""
    law = laws.checked(law)
    if not systems:
        raise ValueError("the interaction couples no system; systems holds their numbers, counted from 0")
    rows = laws.ROWS.get(type(law), relation.rows)
    if rows != relation.rows:
        raise ValueError(f"the relation has {relation.rows} rows, but {type(law).__name__} takes {rows}")
    return Interaction(relation, law, tuple(systems))


def linear(H, b=0.0) -> Relation:
    """y = H q + b: H (m, n_q), b (m,) or a number."""
    H = np.atleast_2d(np.asarray(H, float))
    H = matrix(H, "H", *H.shape)
    b, still = np.broadcast_to(np.asarray(b, float), (len(H),)), np.zeros(len(H))
    return Relation(len(H), lambda t, q: H @ q + b, lambda t, q: H, lambda t, q: still)


def above(height: Callable, speed: Callable) -> Relation:
    """y = q - c(t) for a point that a moving wall pushes: height(t) -> c [m], speed(t) -> dc/dt [m/s]."""
    H = np.ones((1, 1))
    return Relation(1, lambda t, q: np.array([q[0] - height(t)]), lambda t, q: H, lambda t, q: np.array([-speed(t)]))
