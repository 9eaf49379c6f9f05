"""The state of the contacts of the rod and the cart from step to step, and the work arrays of a
step.
"""

from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.mechanics.integrators.maximal_rod import StepInputs
from rbdyn_ros.mechanics.pendulum import world
from rbdyn_ros.types import Array, System

# why a step failed
NONE, NO_LAW, NO_SWEEPS, NO_ROUNDS, NO_SPLITS, NO_POSE, JAMMED = range(7)

# Rows of `journal`: what the parts and the impacts of the last step have found, for derivatives.
PIECE, KIND, DURATION, CONTACT, STATUS, IMPULSE, KEPT, REBOUND, WAS_CLOSED, NOTED = (
    np.int64(i) for i in (0, 1, 2, 3, 4, 5, 8, 11, 12, 13)
)
PART, IMPACT, MENDED = range(3)
_NOTES = 128  # rows of it
_ROOM = 16, 64, 256, 1024  # candidates; for another room the kernels are compiled once more
_ONCE = [
    # of the contacts on the pendulum [J]: since the start; in the step that was solved last
    ("work", np.float64, (2,)),
    # impacts so far; those beyond the rows of `events` are counted only
    ("recorded", np.int64, (1,)),
    ("recorded_before", np.int64, (1,)),  # impacts before the last call of `advance`
    ("start", np.float64, (11,)),  # q (6), v (5) at its start
    ("interval", np.float64, (1,)),  # [s] that it advanced
    ("noted", np.int64, (2,)),  # rows of `journal`, and pieces, of the last step
    ("trouble", np.int64, (2,)),  # why the last step failed, and at which contact (or at how many)
    ("attitude", np.float64, (3, 3)),  # R of W
    ("fixed", np.int64, (1,)),  # 1 the cart is: each block of W has rank 2
    ("count", np.int64, (1,)),  # of the active contacts
    ("impact_law", np.float64, (1,)),  # its law, of `contact.restitution.LAWS`
    # [s] when the obstacles were at their places, from where they move
    ("since", np.float64, (1,)),
]
_LONGEST = 48
_ROWS = [  # one row for each of the candidates of `mechanics.pendulum.world`
    ("closed", np.float64, ()),  # 1 it touched in the last step
    ("force", np.float64, (3,)),  # mean force on the pendulum over the last step [N, world]
    ("impulse", np.float64, ()),  # normal impulse since the start [N s]
    ("active", np.int64, ()),  # the contacts of this step
    ("place", np.int64, ()),  # of a contact among them
    ("axes", np.float64, (3, 3)),  # contact frames, rows n t1 t2
    ("rho", np.float64, ()),
    ("moving", np.float64, (3,)),  # velocity of the obstacle [m/s, contact frame]
    ("law", np.float64, (2,)),  # mu, w
    ("rebound", np.float64, ()),  # e_n u_N^- of an impact, w but for what the energy allows
    ("depth", np.float64, ()),  # [m] how far an impact is found below the surface
    ("before", np.float64, (3,)),  # u^- of an impact; P of a part before the projection
    ("compressed", np.float64, (3,)),  # P of an impact without its restitution
    ("closed_before", np.float64, ()),  # `closed` at the start of the step
    ("gap", np.float64, ()),  # [m] at the start of the step
    ("turns", np.float64, ()),  # 1 its normal changes as the pendulum moves along it
    ("P", np.float64, (3,)),  # half-step impulses [N s, contact frame]
    ("given", np.float64, (3,)),  # the whole impulse of a step [N s, world]
    ("dP", np.float64, (3,)),  # their change in the last sweep
    ("q", np.float64, (3,)),
    ("status", np.int64, ()),
    ("pressed", np.int64, ()),  # which of the active contacts Newton's method finds pressed
    ("name", np.int32, (_LONGEST,)),  # characters; Numba knows no arrays of strings in a record
]
# The fields above and `events` (m, 8): t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s],
# status. `journal` (n, NOTED): a row for each contact of each piece of the last step.
ContactState = np.record


class Workspace(NamedTuple):
    """The arguments that the functions of a step with contacts share."""

    system: System
    c: ContactState
    inputs: StepInputs


def create(names: tuple[str, ...] = world.NAMES, events: int = 1000) -> ContactState:
    """Return a state in which nothing touches and nothing has happened, with room for the
    candidates of these names and for so many `events`.

    One record and not many arrays: a kernel hands it on as one address, where 18 arrays are 126
    numbers at each call.
    """
    n = min((room for room in _ROOM if room >= len(names)), default=len(names))
    rows = [(name, kind, (n, *shape)) for name, kind, shape in _ROWS]
    matrices = [  # Delassus matrix of the active contacts, and where equations are solved
        *((name, np.float64, (3 * n, 3 * n)) for name in "WA"),
        ("z", np.float64, (3 * n,)),
        ("newton", np.float64, (9, 3 * n)),  # rows of `contact_law.solve_by_newton`
    ]
    tables = [("events", np.float64, (events, 8)), ("journal", np.float64, (_NOTES, NOTED))]
    kinds = [*_ONCE, *rows, *matrices, *tables]
    made: Any = np.zeros((), kinds).view(np.recarray)[()]
    made.name[: len(names)] = np.array(names, f"U{_LONGEST}").view(np.int32).reshape(-1, _LONGEST)
    return made


def forget(state: ContactState, now: float = 0.0) -> None:
    """Reset the state: nothing touches and nothing has happened; at `now` [s] the obstacles are at
    their places.
    """
    for name in state.dtype.names or ():
        if name != "name":
            state[name][...] = 0
    state.since[0] = now


def take_impacts(state: ContactState) -> tuple[Array, int]:
    """Return the impacts since the last call, rows of `events` (n, 8), and how many had no room
    there, and make room for others.
    """
    count = int(state.recorded[0])
    rows = state.events[:count].copy()
    state.recorded[0] = 0
    return rows, count - len(rows)


def candidate(state: ContactState, i: int) -> str:
    """Return the name of candidate i."""
    return str(np.ascontiguousarray(state.name[i]).view(f"U{_LONGEST}")[0])


@inlined
def begin(c, q, v, interval):
    """Store the state and the number of impacts at the start of a call of `advance`."""
    for i in range(6):
        c.start[i] = q[i]
    for i in range(5):
        c.start[6 + i] = v[i]
    c.recorded_before[0], c.interval[0] = c.recorded[0], interval


@inlined
def record_failure(c, kind, contact):
    """Store why a step fails."""
    c.trouble[0], c.trouble[1] = kind, contact


@inlined
def vector(a, i):
    """Return row i of an (n, 3) array as a tuple."""
    return a[i, 0], a[i, 1], a[i, 2]


@inlined
def put(a, i, v):
    """Set row i := v."""
    a[i, 0], a[i, 1], a[i, 2] = v


@inlined
def frame(c, i):
    """Return the frame of contact i as three rows."""
    return vector(c.axes[i], 0), vector(c.axes[i], 1), vector(c.axes[i], 2)


@inlined
def aim(c, i, count, n, rho, velocity):
    """Write the frame and the height of contact i, the count-th active one, and the velocity of
    its obstacle [world].
    """
    T = vec.frame(n)
    put(c.moving, i, vec.matvec(T, velocity))
    for j in range(3):
        put(c.axes[i], j, T[j])
    c.rho[i], c.active[count], c.place[i] = rho, i, count


@inlined
def transport(c, i, n):
    """Turn the frame of contact i the shortest way to the normal n."""
    V, T = on_world_axes(c, i, vector(c.moving, i)), vec.turn_frame(frame(c, i), n)
    for j in range(3):
        put(c.axes[i], j, T[j])
    put(c.moving, i, vec.matvec(frame(c, i), V))


@inlined
def on_world_axes(c, i, a):
    """Return a vector of contact i in world axes, T^T a."""
    return vec.transposed_matvec(frame(c, i), a)


@inlined
def on_world(c, i):
    """Return the impulse of contact i in world axes, T^T P."""
    return on_world_axes(c, i, vector(c.P, i))


@part
def record_impact(c, t, i, P, before, after):
    """Append one impact, which is only counted when the rows are full."""
    k = c.recorded[0]
    if k < c.events.shape[0]:
        c.events[k, 0], c.events[k, 1] = t + c.since[0], i
        c.events[k, 2], c.events[k, 3], c.events[k, 4] = P
        c.events[k, 5], c.events[k, 6], c.events[k, 7] = before, after, c.status[i]
    c.recorded[0] = k + 1


@part
def account(C, c, h):
    """Add the impulses of a step of h, whose mean forces are known."""
    for i in range(world.count(C)):
        c.impulse[i] += h * vec.dot(vector(c.axes[i], 0), vector(c.force, i))


@part
def note(c, kind, duration, P):
    """Write a piece of the step into the journal, a row for each of its contacts with its impulse
    in P, or one without; rows beyond its end are only counted.
    """
    for a in range(max(c.count[0], 1)):
        k, i = c.noted[0], c.active[a] if c.count[0] > 0 else -1
        if k < len(c.journal):
            c.journal[k, PIECE], c.journal[k, KIND] = c.noted[1], kind
            c.journal[k, DURATION], c.journal[k, CONTACT] = duration, i
        if k < len(c.journal) and i >= 0:
            c.journal[k, STATUS], c.journal[k, REBOUND] = c.status[i], c.rebound[i]
            c.journal[k, WAS_CLOSED] = c.closed[i]
            for j in range(3):
                c.journal[k, IMPULSE + j], c.journal[k, KEPT + j] = P[i, j], c.compressed[i, j]
        c.noted[0] = k + 1
    c.noted[1] += 1


@inlined
def forget_notes(c):
    """Clear the journal for a new step."""
    c.noted[0] = c.noted[1] = 0
