"""Several bodies with joints and contacts: the midpoint scheme in quaternion coordinates, whole steps or split at impacts.

Order 2 between impacts and in persistent contact, 1 through impacts that fall anywhere in a step; with `options.split` a
step ends at the impact, the velocity jumps there, and the rest of the step follows. doc/nonsmooth.md, Q.15 to Q.25.

The parts of a step are kernels. What calls them is Python: a single kernel around them would compile for minutes and
save a quarter of a step.
"""

import math

from rbdyn_ros.constraints.rows import place
from rbdyn_ros.contacts import pairs as contacts
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.multibody import detection, impact, newton, projection, reaction
from rbdyn_ros.kernel import kernel

ORDER = 2
CLOSED = 1e-14  # [m] the gap at which a split step ends


@kernel
def commit(plant, w, q, v):
    """Take over the end of the step, its velocity projected."""
    for i in range(len(q)):
        w.x[i, 3], w.x[i, 4], w.x[i, 5], w.x[i, 6] = unit_quaternion.normalized(place(w.x, i)[1])
    projection.settle(plant, w)
    reaction.add(plant, w, q, 1.0, w.ell)
    reaction.add(plant, w, w.x, 1.0, w.ell - w.nu)
    q[:] = w.x
    impact.write_velocity(w, q, v)


@kernel
def record_impacts(plant, w, t, q):
    """Write down the impacts of a whole step, at its middle."""
    for at in range(w.count[0]):
        i = w.active[at]
        if w.persistent[i] == 0 and w.P[3 * at] > 0.0:
            after = detection.velocity(plant.pairs, w, q, w.rate, i)[0]
            impact.record(w, t, i, 2.0 * w.P[3 * at : 3 * at + 3], w.before[i], after)


def whole(plant, options, w, t, h, q, v):
    """One step in which impacts act over the step's whole length; (iterations, error, ok)."""
    detection.detect(plant.pairs, w, options.beta, h, q, v)
    iterations, error, ok = newton.solve(plant, options, w, h, q, v)
    if ok:
        commit(plant, w, q, v)
        record_impacts(plant, w, t + 0.5 * h, q)
    return iterations, error, ok


@kernel
def smallest_gap(plant, w, q):
    """The smallest gap of the contacts that are open at q (n, 7) [m], over what they had when they parted; infinite without any."""
    least = math.inf
    for i in range(len(plant.pairs.kind)):
        if w.closed[i] == 0:
            least = min(least, contacts.touch(plant.pairs, i, q).gap - w.slack[i])
    return least


@kernel
def note_slack(plant, w, q):
    """What overlaps at q while it parts: round-off, or what a contact that persisted has left."""
    for i in range(len(plant.pairs.kind)):
        w.slack[i] = min(contacts.touch(plant.pairs, i, q).gap, 0.0)


@kernel
def release(plant, w, q):
    """Open the closed contacts that push no more and have parted."""
    for at in range(w.count[0]):
        i = w.active[at]
        if not w.P[3 * at] > 0.0 and contacts.touch(plant.pairs, i, q).gap > detection.TOUCHING:
            w.closed[i] = 0


def smooth(plant, options, w, h, whole, q, v):
    """Solve a part h of a step `whole` without new contacts; the end stays in w. (iterations, error, ok)."""
    detection.hold(plant.pairs, w, h, whole, q, v)
    return newton.solve(plant, options, w, h, q, v)


def until_impact(plant, options, w, h, whole, q, v):
    """(tau, iterations, error, ok): the step within h at whose end the first gap is just closed; its end is in w.

    False position with halving (Illinois). It ends on the side where nothing overlaps; tau = 0 if that is no step at all.
    """
    low, high, side = 0.0, h, 0
    g_low, g_high = max(smallest_gap(plant, w, q), 0.0), smallest_gap(plant, w, w.x)
    iterations = 0
    while True:
        share = g_low / (g_low - g_high) if g_low > 0.0 else 0.5
        narrow = high - low <= 1e-12 * h
        if narrow and low == 0.0:
            return 0.0, iterations, 0.0, True
        tau = low if narrow else low + (high - low) * min(max(share, 1e-3), 1.0 - 1e-3)
        count, error, ok = smooth(plant, options, w, tau, whole, q, v)
        iterations += count
        g = smallest_gap(plant, w, w.x)
        if not ok or narrow or 0.0 <= g <= CLOSED:
            return tau, iterations, error, ok
        if g >= 0.0:
            low, g_low, g_high, side = tau, g, (0.5 * g_high if side == 1 else g_high), 1
        else:
            high, g_high, g_low, side = tau, g, (0.5 * g_low if side == -1 else g_low), -1


def split(plant, options, w, t, h, q, v):
    """One step that stops at each impact; (iterations, error, ok). Of max_impacts the last is without restitution."""
    left, total, worst = h, 0, 0.0
    if impact.closed_now(plant, w, q, v) and not impact.strike(plant, w, t, q, v, 1.0):
        return 0, math.inf, False
    for remaining in range(options.max_impacts, -1, -1):
        note_slack(plant, w, q)
        count, error, ok = smooth(plant, options, w, left, h, q, v)
        meets = ok and remaining > 0 and smallest_gap(plant, w, w.x) < 0.0
        tau = left
        if meets:
            tau, more, error, ok = until_impact(plant, options, w, left, h, q, v)
            count += more
        total, worst = total + count, max(worst, error)
        if not ok:
            return total, error, False
        if tau > 0.0:
            commit(plant, w, q, v)
            release(plant, w, q)
        left -= tau
        if not meets:
            return total, worst, True
        impact.closed_now(plant, w, q, v)
        if not impact.strike(plant, w, t + h - left, q, v, 0.0 if remaining == 1 or tau == 0.0 else 1.0):
            return total, math.inf, False


def advance(plant, options, w, h, n, t, q, v):
    """Take n steps of h in place; (steps done, iterations, largest error). At a step that fails, done < n and q, v stay."""
    iterations, worst = 0, 0.0
    step = split if options.split else whole
    for k in range(n):
        q_k, v_k = q.copy(), v.copy()
        count, error, ok = step(plant, options, w, t + k * h, h, q, v)
        iterations += count
        if not ok:
            q[:] = q_k
            v[:] = v_k
            return k, iterations, error
        worst = max(worst, error)
    return n, iterations, worst
