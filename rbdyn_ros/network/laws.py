"""The laws that close a relation, each a NamedTuple of numbers; y its value, u = dy/dt, P the
impulse over a step.

    Equality            y = 0
    Complementarity     0 <= y  _|_  lambda >= 0                            (N.4)
    NewtonImpact        0 <= u + e u^-  _|_  P >= 0 while closed            (N.5)
    Friction2d, 3d      K_mu in P  _|_  u + (e u_N^- + mu |u_T|) e_N in K_mu* while closed   (N.6)

(N.5) is Moreau's form, the product with u^- unclipped, as in Siconos. A law with friction has the
rows normal, tangent (, tangent).
"""

from typing import NamedTuple, TypeVar

from rbdyn_ros.numerics.arguments import number


class Equality(NamedTuple):
    """A joint: y = 0."""

    restitution: float = 0.0
    friction: float = 0.0


class Complementarity(NamedTuple):
    """0 <= y _|_ lambda >= 0; on mechanical systems, a contact without rebound."""

    restitution: float = 0.0
    friction: float = 0.0


class NewtonImpact(NamedTuple):
    """A contact without friction, made by `newton_impact`, which checks it."""

    restitution: float  # e in [0, 1]
    friction: float = 0.0


class Friction2d(NamedTuple):
    """A contact with one tangent, made by `friction_2d`."""

    restitution: float  # e
    friction: float  # mu


class Friction3d(NamedTuple):
    """A contact with two tangents, made by `friction_3d`."""

    restitution: float  # e
    friction: float  # mu


Law = Equality | Complementarity | NewtonImpact | Friction2d | Friction3d
Kind = TypeVar("Kind", bound=Law)
KNOWN = (Equality, Complementarity, NewtonImpact, Friction2d, Friction3d)
WITH_TANGENTS = (Friction2d, Friction3d)
# of one contact, which has one gap; equalities take any number
ROWS: dict[type, int] = {Complementarity: 1, NewtonImpact: 1, Friction2d: 2, Friction3d: 3}


def check(law: Kind) -> Kind:
    """Return the law. Raise ValueError for one that is none of these, or whose numbers are out of
    range.
    """
    if not isinstance(law, KNOWN):
        raise ValueError(
            f"the law is {law!r}; known are {', '.join(kind.__name__ for kind in KNOWN)}"
        )
    return law._replace(
        restitution=number(law.restitution, "restitution", 0.0, 1.0),
        friction=number(law.friction, "friction", 0.0),
    )


def newton_impact(restitution: float) -> NewtonImpact:
    """Return the law u^+ = -e u^-. Raise ValueError for e outside [0, 1]."""
    return check(NewtonImpact(restitution))


def friction_2d(friction: float, restitution: float = 0.0) -> Friction2d:
    """Return Coulomb's law in the plane. Raise ValueError for mu < 0 or e outside [0, 1]."""
    return check(Friction2d(restitution, friction))


def friction_3d(friction: float, restitution: float = 0.0) -> Friction3d:
    """Return Coulomb's law in space. Raise ValueError for mu < 0 or e outside [0, 1]."""
    return check(Friction3d(restitution, friction))
