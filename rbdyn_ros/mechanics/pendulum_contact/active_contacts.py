"""The active contacts of rod and cart, as sweeps and the law of an impact read them
(`mechanics.contact`).
"""

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics.pendulum_contact import contact_state
from rbdyn_ros.mechanics.pendulum_contact.contact_state import put, vector

FALLS_BACK = True  # where several contacts meet, Poisson's law takes the place of Stronge's


@inlined
def law(c):
    """Which of `restitution.LAWS` holds."""
    return c.impact_law[0]


@inlined
def count(c):
    """How many contacts are active."""
    return c.count[0]


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
    return block(c, c.place[i], c.place[i])


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
def block(c, a, b):
    """W_ab as three rows."""
    W, i, j = c.W, 3 * a, 3 * b
    return (
        (W[i, j], W[i, j + 1], W[i, j + 2]),
        (W[i + 1, j], W[i + 1, j + 1], W[i + 1, j + 2]),
        (W[i + 2, j], W[i + 2, j + 1], W[i + 2, j + 2]),
    )


@inlined
def velocity_of(c, i, u):
    """u + sum W P at contact i."""
    for b in range(c.count[0]):
        u = vec.add(u, vec.matvec(block(c, c.place[i], b), vector(c.P, c.active[b])))
    return u


@inlined
def velocity(c, i):
    """u of contact i after the impulses, u- + sum W P."""
    return velocity_of(c, i, vector(c.before, i))


@inlined
def fail(c, kind, i):
    """Poisson's law follows, and says what fails."""


@inlined
def forget_failure(c):
    """The impulses were found with a smaller share."""
    contact_state.record_failure(c, contact_state.NONE, 0)
