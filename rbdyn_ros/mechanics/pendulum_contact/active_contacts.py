"""The active contacts of rod and cart at an impact, as its law reads them
(`mechanics.contact.exchange`).
"""

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics.pendulum_contact import contact_law, contact_state
from rbdyn_ros.mechanics.pendulum_contact.contact_state import put, vector

FALLS_BACK = True  # where several contacts meet, Poisson's law takes the place of Stronge's


@inlined
def law(c):
    """Which of `restitution.LAWS` holds."""
    return c.impact_law[0]


@inlined
def count(c):
    """How many contacts are active."""
    return c.touching[0]


@inlined
def member(c, at):
    """The number of an active contact."""
    return c.active[at]


@inlined
def impulse(c, i):
    """P of contact i."""
    return vector(c.P, i)


@inlined
def put_impulse(c, i, P):
    """P of contact i := P."""
    put(c.P, i, P)


@inlined
def kept(c, i):
    """The impulse of contact i that was put by."""
    return vector(c.compressed, i)


@inlined
def keep(c, i):
    """Put the impulse of contact i by."""
    put(c.compressed, i, vector(c.P, i))


@inlined
def before(c, i):
    """u- of contact i."""
    return vector(c.before, i)


@inlined
def own(c, i):
    """W_ii."""
    return contact_law.block(c, c.place[i], c.place[i])


@inlined
def friction(c, i):
    """mu of contact i."""
    return c.law[i, 0]


@inlined
def restitution(c, i):
    """e of contact i, with respect to its velocity before."""
    return c.rebound[i] / c.before[i, 0] if c.rebound[i] < 0.0 else 0.0


@inlined
def rebound(c, i):
    """e u_N- of contact i, 0 where it stays closed."""
    return c.rebound[i]


@inlined
def ask(c, i, u, back):
    """Ask contact i, whose velocity is u, for u_N + back >= 0."""
    c.law[i, 1] = back
    put(c.q, i, (u[0] + back, u[1], u[2]))


@inlined
def solve(c):
    """P of the active contacts at their q; whether they were found."""
    return contact_law.sweeps(c, c.touching[0])[0] < np.inf


@inlined
def velocity(c, i):
    """u of contact i after the impulses, u- + sum W P."""
    u = vector(c.before, i)
    for b in range(c.touching[0]):
        W = contact_law.block(c, c.place[i], b)
        u = vec.add(u, vec.matvec(W, vector(c.P, c.active[b])))
    return u


@inlined
def swept_velocity(c, i):
    """u of contact i within a sweep."""
    return velocity(c, i)


@inlined
def couple(c):
    """W is that of all contacts."""


@inlined
def respond_to_all(c):
    """Velocities are computed where they are read."""


@inlined
def begin_sweeps(c):
    """Velocities are computed where they are read."""


@inlined
def respond_to(c, i, change):
    """Velocities are computed where they are read."""


@inlined
def fail(c, kind, i):
    """Poisson's law follows, and says what fails."""


@inlined
def forget_failure(c):
    """The impulses were found with a smaller share."""
    contact_state.failed(c, contact_state.NONE, 0)
