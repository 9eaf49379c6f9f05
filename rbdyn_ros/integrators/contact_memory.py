"""What the contacts of the rod and the cart remember from step to step, and where a step works."""

import numpy as np

from rbdyn_ros.contacts import world
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part

NONE, NO_LAW, NO_SWEEPS, NO_ROUNDS, NO_SPLITS, NO_POSE, JAMMED = range(7)  # what went wrong in a step that failed
_WHY = {
    NO_LAW: "{} has no impulse that obeys its law, its Delassus matrix is singular or nearly so: the pendulum is jammed there",
    NO_SWEEPS: "{} contacts at once did not agree on their impulses in 2000 sweeps of Gauss-Seidel",
    NO_ROUNDS: "the impulse at {} and the step did not agree in 50 rounds",
    NO_POSE: "{} overlaps and 2000 projections did not lift it",
    JAMMED: "{} overlaps and no motion within reach lifts it and what else touches: the pendulum is jammed there",
    NO_SPLITS: "it met {} and others more than 200 times in one step",
}


_N = world.COUNT
_FIELDS = [  # one row for each of the candidates of `contacts.world`
    ("closed", np.float64, (_N,)),  # 1 it touched in the last step
    ("force", np.float64, (_N, 3)),  # mean force on the pendulum over the last step [N, world]
    ("impulse", np.float64, (_N,)),  # normal impulse since the start [N s]
    ("work", np.float64, (2,)),  # of the contacts on the pendulum [J]: since the start; in the step that was solved last
    ("recorded", np.int64, (1,)),  # impacts so far; those beyond the rows of `events` are counted only
    ("recorded_before", np.int64, (1,)),  # impacts before the last call of `advance`
    ("start", np.float64, (11,)),  # q (6), v (5) at its start
    ("interval", np.float64, (1,)),  # [s] that it advanced
    ("trouble", np.int64, (2,)),  # why the last step failed, and at which contact (or at how many)
    ("active", np.int64, (_N,)),  # the contacts of this step
    ("mode", np.int64, (_N,)),
    ("axes", np.float64, (_N, 3, 3)),  # contact frames, rows n t1 t2
    ("rho", np.float64, (_N,)),
    ("law", np.float64, (_N, 2)),  # mu, w
    ("rebound", np.float64, (_N,)),  # e_n u_N^- of an impact, w but for what the energy allows
    ("before", np.float64, (_N, 3)),  # u^-
    ("kept", np.float64, (_N, 3)),  # P at the start of the step
    ("closed_before", np.float64, (_N,)),  # `closed` at the start of the step
    ("P", np.float64, (_N, 3)),  # half-step impulses [N s, contact frame]
    ("dP", np.float64, (_N, 3)),  # their change in the last sweep
    ("q", np.float64, (_N, 3)),
    ("status", np.int64, (_N,)),
    ("fixed", np.int64, (1,)),  # 1 the cart is: each block of W has rank 2
    ("W", np.float64, (3 * _N, 3 * _N)),  # Delassus matrix of the active contacts
    ("A", np.float64, (3 * _N, 3 * _N)),
    ("z", np.float64, (3 * _N,)),
]
Memory = np.record  # of the fields above and `events` (m, 8): t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s], status


def memory(events: int = 1000) -> Memory:
    """Nothing touches, nothing happened yet; room for so many `events`.

    One record and not many arrays: a kernel hands it on as one address, where 18 arrays are 126 numbers at each call.
    """
    return np.zeros((), [*_FIELDS, ("events", np.float64, (events, 8))]).view(np.recarray)[()]


def forget(memory: Memory) -> None:
    """Nothing touches, nothing happened yet."""
    for name in memory.dtype.names:
        memory[name][...] = 0


def trouble(memory: Memory | None) -> str:
    """Why the contacts failed in the last step, "" if they did not."""
    if memory is None or memory.trouble[0] == NONE:
        return ""
    kind, contact = memory.trouble.tolist()
    return _WHY[kind].format(contact if kind == NO_SWEEPS else f"contact.{world.NAMES[contact]}")


@inlined
def begin(c, q, v, interval):
    """Remember the state and the number of impacts at the start of a call of `advance`."""
    for i in range(6):
        c.start[i] = q[i]
    for i in range(5):
        c.start[6 + i] = v[i]
    c.recorded_before[0], c.interval[0] = c.recorded[0], interval


@inlined
def failed(c, kind, contact):
    """Remember why a step fails."""
    c.trouble[0], c.trouble[1] = kind, contact


@inlined
def vector(a, i):
    """Row i of an (n, 3) array as a tuple."""
    return a[i, 0], a[i, 1], a[i, 2]


@inlined
def put(a, i, v):
    """Row i := v."""
    a[i, 0], a[i, 1], a[i, 2] = v


@inlined
def frame(c, i):
    """The frame of contact i as three rows."""
    return vector(c.axes[i], 0), vector(c.axes[i], 1), vector(c.axes[i], 2)


@inlined
def aim(c, i, count, n, rho):
    """Write the frame and the height of contact i, the count-th active one."""
    T = world.frame(n)
    for j in range(3):
        put(c.axes[i], j, T[j])
    c.rho[i], c.active[count] = rho, i


@inlined
def on_world(c, i):
    """The impulse of contact i in world axes, T^T P."""
    return vec.transposed_matvec(frame(c, i), vector(c.P, i))


@part
def event(c, t, i, P, after):
    """Append one impact; counted even when the rows are full."""
    k = c.recorded[0]
    if k < c.events.shape[0]:
        c.events[k, 0], c.events[k, 1] = t, i
        c.events[k, 2], c.events[k, 3], c.events[k, 4] = P
        c.events[k, 5], c.events[k, 6], c.events[k, 7] = c.before[i, 0], after, c.status[i]
    c.recorded[0] = k + 1


@part
def account(c, h):
    """Add the impulses of a step of h, whose mean forces are known."""
    for i in range(world.COUNT):
        c.impulse[i] += h * vec.dot(vector(c.axes[i], 0), vector(c.force, i))
