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
    """Return which of `restitution.LAWS` holds."""
    return c.impact_law[0]


@inlined
def speed(c):
    """Return the unit of velocity [m/s]."""
    return 1.0


@inlined
def stalls(c):
    """Return how often impulses were found only nearly: they never are."""
    return 0


@inlined
def count(c):
    """Return the number of active contacts."""
    return c.count[0]


@inlined
def member(c, at):
    """Return the number of an active contact."""
    return c.active[at]


@inlined
def impulse(c, i):
    """Return P of contact i."""
    return vector(c.P, i)


@inlined
def put_impulse(c, i, P):
    """Set P of contact i."""
    put(c.P, i, P)


@inlined
def saved_impulse(c, i):
    """Return the stored impulse of contact i."""
    return vector(c.compressed, i)


@inlined
def save_impulse(c, i):
    """Store the impulse of contact i."""
    put(c.compressed, i, vector(c.P, i))


@inlined
def velocity_before(c, i):
    """Return u- of contact i."""
    return vector(c.before, i)


@inlined
def own_block(c, i):
    """Return W_ii."""
    return block(c, c.place[i], c.place[i])


@inlined
def friction(c, i):
    """Return mu of contact i."""
    return c.law[i, 0]


@inlined
def restitution(c, i):
    """Return e of contact i, with respect to its velocity before the impact."""
    return c.rebound[i] / c.before[i, 0] if c.rebound[i] < 0.0 else 0.0


@inlined
def rebound(c, i):
    """Return e u_N- of contact i, 0 where it stays closed."""
    return c.rebound[i]


@inlined
def require(c, i, u, back):
    """Require u_N + back >= 0 of contact i, whose velocity is u."""
    c.law[i, 1] = back
    put(c.q, i, (u[0] + back, u[1], u[2]))


@inlined
def block(c, a, b):
    """Return W_ab as three rows."""
    W, i, j = c.W, 3 * a, 3 * b
    return (
        (W[i, j], W[i, j + 1], W[i, j + 2]),
        (W[i + 1, j], W[i + 1, j + 1], W[i + 1, j + 2]),
        (W[i + 2, j], W[i + 2, j + 1], W[i + 2, j + 2]),
    )


@inlined
def velocity_of(c, i, u):
    """Return u + sum W P at contact i."""
    for b in range(c.count[0]):
        u = vec.add(u, vec.matvec(block(c, c.place[i], b), vector(c.P, c.active[b])))
    return u


@inlined
def velocity(c, i):
    """Return u of contact i after the impulses, u- + sum W P."""
    return velocity_of(c, i, vector(c.before, i))


@inlined
def fail(c, kind, i):
    """Do nothing, because Poisson's law follows and records what fails."""


@inlined
def forget_failure(c):
    """Clear the failure, because the impulses were found with a smaller share."""
    contact_state.record_failure(c, contact_state.NONE, 0)
