"""Columns of the tables of a model: one row for each body, joint block and contact pair.

State, constants and work of a body lie side by side, so that a step reads little memory. The
columns are np.int64: a plain Python integer would be a literal type of its own, and every kernel
that takes a column would be compiled once for each value.
"""

import numpy as np


def offsets(*widths: int) -> tuple[np.int64, ...]:
    """Return the first column of each of the groups of `widths`, and the number of all columns."""
    return tuple(np.int64(at) for at in np.cumsum((0, *widths)))


# Bodies. State: position [m, world], attitude wxyz, momenta that arrive at the node without the
# node's own reactions (linear [world], angular [body]), the attitude as a matrix, and the rates
# v/h of the last four steps (for the guess).
X, Q, P, L, R, V_1, V_2, V_3, V_4, STATE = offsets(3, 4, 3, 3, 9, 3, 3, 3, 3)
# Constants: masses along the world's axes (0: held), their inverses, principal inertias, their
# inverses, force [N, world], torque [N m, body], gamma [kg m^2], whether it turns (0, 1 or
# PRESCRIBED), whether a joint block holds it, whether a MIXED one does, the force without springs,
# the velocities that are prescribed where it is held ([m/s, world], [rad/s, body]), viscous drags
# [N s/m], [N m s/rad] and the masses without them.
M, IM, J, IJ, F, TAU, GAMMA, TURNS, JOINTED, SLIDES, _n = (
    STATE + c for c in offsets(3, 3, 3, 3, 3, 3, 1, 1, 1, 1)
)
F_0, DRIVE, DRIVE_W, DRAG_X, DRAG_W, M_0, _n = (_n + c for c in offsets(3, 3, 3, 1, 1, 3))
PRESCRIBED = 2.0  # of a body that turns at a constant rate, whatever acts on it
# Work: relative turn v and its w, momenta without reactions, end of the step (position, momenta
# with all impulses of the node, attitude, matrix); of bodies with joints the inverse of the
# gradient, from a torque [world] to a turn [world], the turn that the residual stands for [world]
# and the torque of the joints' impulses [world]; all impulses, velocities of an impulse response.
V, W, B_X, B_W, X_1, P_1, L_1, Q_1, R_1, _n = (_n + c for c in offsets(3, 1, 3, 3, 3, 3, 3, 4, 9))
K, EXCESS, TORQUE, D_X, D_W, U_X, U_W, _n = (_n + c for c in offsets(9, 3, 3, 3, 3, 3, 3))
# How far its shapes reach from its center; the way that no point of them has exceeded until the
# node, and in the step [m]. How far it has moved and turned (times LENGTH) since its contacts were
# computed [m].
REACH, WAY, STEP_WAY, DRIFT, BODY = (_n + c for c in offsets(1, 1, 1, 1))

# Joint blocks of three rows. Points or directions in a and directions or points in b, offsets c,
# kinds k of the rows; multipliers (impulse of the node), sum of the impulses (force and torque on
# a, on b), residual, gradients at the end by displacement and turn [world] of a and of b,
# gradients at the node by displacement and by turn of a and of b (of a POINTS block its point from
# the center of mass [m, world], instead), right side and solution, mean of the diagonal of its own
# block of A M^-1 A^T, gradients at the node by turn [body] of a and of b, the angle of a row of
# kind ANGLE at the node [rad].
(
    PA,
    NB,
    OFFSET,
    K_ROW,
    LAM,
    SUM,
    PHI,
    END_XA,
    END_XB,
    END_WA,
    END_WB,
    NODE_XA,
    NODE_XB,
    NODE_WA,
    NODE_WB,
    D,
    W_JOINT,
    BODY_WA,
    BODY_WB,
    ANGLE,
    BLOCK,
) = offsets(9, 9, 3, 3, 3, 12, 3, 9, 9, 9, 9, 9, 9, 9, 9, 3, 1, 9, 9, 1)
# ... and their integers: kind of the block, body a, body b, number of rows; of a row with two
# terms the block of the other one, else NO_OTHER. The blocks of second terms are the last ones.
# They have no row of their own in the joints' matrix, and the impulses of the first terms.
KIND, A, B, ROWS, OTHER, INTEGERS = offsets(1, 1, 1, 1, 1)
NO_OTHER = np.int64(-1)
# A point of a is a point of b; up to three rows of any kind; or those that no displacement opens.
POINTS, MIXED, DIRECTIONS = np.int64(0), np.int64(1), np.int64(2)

# Contact pairs, records of named fields: what does not change, what a failed step restores, and
# the work of a node.
_CONSTANT = [
    ("point_a", "f8", 3),  # [m, in a]
    ("point_b", "f8", 3),  # normal or other center [in b]
    ("offset", "f8"),  # of a plane, or sum of radii
    ("radius", "f8"),
    ("mu", "f8"),
    ("e", "f8"),
]
_RESTORED = [
    ("impulse", "f8", 3),  # of the node
    # the gap that the law takes for 0: overlap that an open pair has left, or what closed ones
    # cannot take back all together
    ("slack", "f8"),
    ("u_last", "f8", 2),  # tangential velocity of the last step
    ("total", "f8", 4),  # sum of the impulses: normal, force [world]
    ("work", "f8"),  # and of their work [J]
    ("driven", "f8"),  # and of what bodies with prescribed velocities do by them [J]
]
_WORK = [
    ("frame", "f8", 9),  # normal, two tangents
    ("on", "f8", (2, 3)),  # where they touch [m, in a and b]
    ("gap", "f8"),
    ("gap_1", "f8"),  # at the end
    ("W", "f8", 9),  # own block of the Delassus matrix
    ("u", "f8", 3),  # velocity
    ("levers", "f8", (2, 9)),  # of a and b
    ("impulse_0", "f8", 3),  # at the start of an iteration
    ("slip", "f8"),  # mu |u_T| of the augmented Lagrangian
    ("u_now", "f8", 2),  # tangential velocity of this step
    ("shift", "f8", 2),  # of the friction law (M.17)
    ("status", "f8"),
    ("u_before", "f8", 3),  # before an impact
    ("kept", "f8", 3),  # saved impulse
    ("z", "f8", 3),  # of the alternating directions
    ("kept_2", "f8", 4),  # their result
    ("clearance", "f8"),  # sum of the ways of a and b below which the pair stays open
    ("up_to_date", "f8"),  # whether frame, points, levers are those of bodies that are still
    ("W_joined", "f8", 9),  # own block of a step whose joints react
    ("is_coupled", "f8"),  # whether there is one
]
PAIR = np.dtype(_CONSTANT + _RESTORED + _WORK)
FLOATS = PAIR.itemsize // 8
RESTORED = np.int64(np.dtype(_CONSTANT).itemsize // 8)  # the first number that is restored
KEPT = np.int64(np.dtype(_RESTORED).itemsize // 8)
# In a pair's integers: 1 if the contact persists, HELD if the rest of a step tries to close it.
CLOSED, HELD = ROWS, np.int64(2)
FACE, BALLS = np.int64(0), np.int64(1)
WORLD = np.int64(-1)

# Springs. Points [m] or axes in a and in b, attitude of a in b from which the angle counts,
# stiffness, length or angle at rest, damping; length or angle at the node, unit force or torque
# on a [world]; energy that the damper has taken, less what driven bodies have done through the
# spring and the damper, and that of the damper ahead of the node [J]; the power of driven bodies
# against the spring at the node [W].
(
    S_A,
    S_B,
    S_TURN,
    STIFFNESS,
    REST_AT,
    DAMPING,
    EXTENSION,
    ALONG,
    LOSS,
    LOSS_AHEAD,
    POWER,
    SPRING,
) = offsets(3, 3, 4, 1, 1, 1, 1, 3, 1, 1, 1)

# Impacts: time, contact, impulse (normal, tangents), normal velocity before and after.
IMPACT = np.int64(7)
# Counters of a run, and where a step has failed. RESPONDED: whether U_X, U_W and D are the
# response to the impulses of the only contact of bodies with joints. STALLED: whether those of the
# last step were found only nearly.
ACTIVE, ROUNDS, SWEEPS, FACTORS, IMPACTS, TRIALS, ITERATIONS, FRESH, _n = offsets(*[1] * 8)
STALLS, FAILURE, WHERE, RESPONDED, STALLED, COUNTERS = (_n + c for c in offsets(1, 1, 1, 1, 1))
# Newton's method for a few contacts: rows of as many numbers as their velocities have.
DENSE = np.int64(24)
# The clock: time of the node [s]; options: impacts within a step, the law of restitution (its
# place in `restitution.LAWS`); whether the run has started; how far a point of contact has gone
# along a rim in the step [radii], and how long steps are [s]; the model's own units of length [m]
# and of velocity [m/s], in which tolerances are given; what bodies with a prescribed velocity do
# by the part of the contacts' impulses that has acted until the node [J]; whether springs and
# wrenches do nothing now.
TIME, MAX_IMPACTS, LAW, STARTED, TRAVEL, STEP, _n = offsets(*[1] * 6)
LENGTH, SPEED, NODE_WORK, IDLE, CLOCK = (_n + c for c in offsets(1, 1, 1, 1))
