"""The active contact pairs of bodies, as sweeps and the law of an impact read them."""

from rbdyn_ros.kernel import inlined
from rbdyn_ros.mechanics import arena
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics.arena import get, get9, put
from rbdyn_ros.mechanics.contact import pairs

FALLS_BACK = False  # where several contacts meet Stronge's law fails


@inlined
def law(m):
    """Which of `restitution.LAWS` holds."""
    return arena.clock(m)[c.LAW]


@inlined
def count(m):
    """How many pairs are active."""
    return arena.counters(m)[c.ACTIVE]


@inlined
def member(m, at):
    """The number of an active pair."""
    return arena.active(m)[at]


@inlined
def impulse(m, k):
    """P of pair k."""
    return get(arena.pairs(m), k, c.LA)


@inlined
def put_impulse(m, k, P):
    """P of pair k := P."""
    put(arena.pairs(m), k, c.LA, P)


@inlined
def kept(m, k):
    """The impulse of pair k that was put by."""
    return get(arena.pairs(m), k, c.KEEP)


@inlined
def keep(m, k):
    """Put the impulse of pair k by."""
    put(arena.pairs(m), k, c.KEEP, get(arena.pairs(m), k, c.LA))


@inlined
def before(m, k):
    """u- of pair k."""
    return get(arena.pairs(m), k, c.BEFORE)


@inlined
def own(m, k):
    """W_kk."""
    return get9(arena.pairs(m), k, c.W_OWN)


@inlined
def friction(m, k):
    """mu of pair k."""
    return arena.pairs(m)[k, c.MU]


@inlined
def restitution(m, k):
    """e of pair k."""
    return arena.pairs(m)[k, c.E]


@inlined
def rebound(m, k):
    """e u_N- of pair k where it approaches and was open, else 0."""
    pairs = arena.pairs(m)
    is_open = arena.pair_integers(m)[k, c.CLOSED] == 0
    return pairs[k, c.E] * min(pairs[k, c.BEFORE], 0.0) if is_open else 0.0


@inlined
def ask(m, k, u, back):
    """Ask pair k, whose velocity is u, for u_N + back >= 0."""
    put(arena.pairs(m), k, c.U, (u[0] + back, u[1], u[2]))


@inlined
def velocity(m, k):
    """u of pair k after its impulses."""
    return pairs.velocity(m, k)


@inlined
def fail(m, kind, k):
    """Write down why there are no impulses, and at which pair."""
    arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = kind, k


@inlined
def forget_failure(m):
    """The impulses were found with a smaller share."""
    fail(m, 0, 0)
