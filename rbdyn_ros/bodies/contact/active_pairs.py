"""The active contact pairs of bodies, as sweeps and the law of an impact read them."""

from rbdyn_ros.bodies import arena
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import matrix_of, set_vector, vector_of
from rbdyn_ros.bodies.contact import pairs
from rbdyn_ros.kernel import inlined


@inlined
def law(m):
    """Return which of `restitution.LAWS` holds."""
    return arena.clock(m)[c.LAW]


@inlined
def speed(m):
    """Return the unit of velocity of the model [m/s]."""
    return arena.clock(m)[c.SPEED]


@inlined
def stalls(m):
    """Return how often impulses were found only nearly so far."""
    return arena.counters(m)[c.STALLS]


@inlined
def count(m):
    """Return how many pairs are active."""
    return arena.counters(m)[c.ACTIVE]


@inlined
def member(m, at):
    """Return the number of an active pair."""
    return arena.active(m)[at]


@inlined
def impulse(m, k):
    """Return the impulse P of pair k."""
    return vector_of(arena.pairs(m)[k].impulse)


@inlined
def put_impulse(m, k, P):
    """Set the impulse of pair k to P."""
    set_vector(arena.pairs(m)[k].impulse, P)


@inlined
def saved_impulse(m, k):
    """Return the saved impulse of pair k."""
    return vector_of(arena.pairs(m)[k].kept)


@inlined
def save_impulse(m, k):
    """Save the impulse of pair k."""
    set_vector(arena.pairs(m)[k].kept, vector_of(arena.pairs(m)[k].impulse))


@inlined
def velocity_before(m, k):
    """Return u-, the velocity of pair k before the impact."""
    return vector_of(arena.pairs(m)[k].u_before)


@inlined
def own_block(m, k):
    """Return W_kk, the own block of pair k of the Delassus matrix."""
    return matrix_of(arena.pairs(m)[k].W)


@inlined
def friction(m, k):
    """Return mu of pair k."""
    return arena.pairs(m)[k].mu


@inlined
def restitution(m, k):
    """Return e of pair k."""
    return arena.pairs(m)[k].e


@inlined
def rebound(m, k):
    """Return e u_N- of pair k where it approaches and was open, else 0."""
    pairs = arena.pairs(m)
    is_open = arena.pair_integers(m)[k, c.CLOSED] == 0
    return pairs[k].e * min(pairs[k].u_before[0], 0.0) if is_open else 0.0


@inlined
def require(m, k, u, back):
    """Require u_N + back >= 0 of pair k, whose velocity is u."""
    set_vector(arena.pairs(m)[k].u, (u[0] + back, u[1], u[2]))


@inlined
def velocity(m, k):
    """Return u of pair k after its impulses."""
    return pairs.velocity(m, k)


@inlined
def fail(m, kind, k):
    """Record why there are no impulses, and at which pair."""
    arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = kind, k


@inlined
def forget_failure(m):
    """Clear the failure: the impulses were found with a smaller share."""
    fail(m, 0, 0)
