"""The arena of a model: its elements as rows of tables, and the integer tables that follow from
its graph of joints and contacts.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros import kernel
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import skyline, sparse
from rbdyn_ros.bodies.arena import HEADER, PARTS, Arena
from rbdyn_ros.bodies.contact import coupled, delassus
from rbdyn_ros.bodies.description import features
from rbdyn_ros.bodies.description.contact_pairs import Pairs, reach
from rbdyn_ros.bodies.description.joint_kinds import Constraints
from rbdyn_ros.bodies.description.rigid_bodies import Bodies
from rbdyn_ros.bodies.description.rows import POINT, WORLD
from rbdyn_ros.bodies.description.spring_kinds import Springs
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.types import Array

COARSEST = 64.0  # times one unit is the next
EARTH = 9.81  # [m/s^2]
_BOUND: dict = {}
_PLACES = {name: (k, width, in_f) for k, (name, width, in_f) in enumerate(PARTS)}


class Elements(NamedTuple):
    """The elements of a model."""

    bodies: Bodies
    constraints: Constraints  # independent rows
    pairs: Pairs
    springs: Springs


def arena_of(
    elements: Elements, q: Array, v: Array, gamma: Array, impacts: int, options: tuple[Any, ...]
) -> tuple[Arena, tuple[Any, ...]]:
    """Return (Arena, owners) of a model at q (n, 7), v (n, 6) whose rows are independent, with
    room for so many impacts; owners holds the joint that each block belongs to.

    gamma (n,) [kg m^2]; options: impacts within a step, the number of the impact law.
    """
    bodies, constraints, pairs, springs = elements
    blocks, integers, owners = _blocks(constraints)
    rows = _bodies(bodies, q, v, gamma, integers)
    rows[:, c.REACH] = reach(pairs, len(q))
    rows[:, c.X_1 : c.X_1 + 3] = rows[:, c.X : c.X + 3]
    count = len(springs.kind)
    parts = _parts(rows, blocks, integers, _pairs(pairs), pairs, count, impacts)
    parts |= _springs(springs)
    units = _units(rows)
    parts["clock"][[c.MAX_IMPACTS, c.LAW, c.LENGTH, c.SPEED], 0] = *options, *units
    parts["geoms"] = pairs.geoms.copy()
    parts["geoms"][:, features.UNIT] = units[0]
    return _pack(parts), owners


def _units(rows: Array) -> tuple[float, float]:
    """Return the units of length [m] and velocity [m/s] in which a model's tolerances are given,
    by its bodies' radii of gyration and weights or, without, the velocities of its start.

    Both are powers of `COARSEST`, and 1 for all that is from 2 cm to 1 m large and falls on earth.
    """
    turns = rows[:, c.TURNS] == 1.0
    inertia, mass = rows[turns, c.J : c.J + 3].sum(axis=1), rows[turns, c.M : c.M + 3].max(axis=1)
    radii = np.sqrt(inertia[mass > 0.0] / mass[mass > 0.0] / 2.0)
    size = 8.0 * np.exp(np.log(radii).mean()) if radii.size else 1.0
    weights = np.abs(rows[:, c.F : c.F + 3] * rows[:, c.IM : c.IM + 3]).max()
    speed = np.abs(
        rows[:, c.DRIVE : c.DRIVE + 3] + rows[:, c.P : c.P + 3] * rows[:, c.IM : c.IM + 3]
    ).max()
    rate = np.sqrt(weights / EARTH / size) if weights > 0.0 else speed / size
    length, rate = (
        COARSEST ** np.round(np.log(x or 1.0) / np.log(COARSEST)) for x in (size, rate)
    )
    return float(length), float(length * rate)


def bind_once(function: Callable[..., Any], arena: Arena, *numbers) -> Callable[..., Any]:
    """Return `kernel.bind` of a function, computed once for each: the arenas of all models have
    one type.
    """
    key = (function, *map(type, numbers))
    if key not in _BOUND:
        _BOUND[key] = kernel.bind(function, arena, *numbers)
    return _BOUND[key]


def part(arena: Arena, name: str) -> Array:
    """Return a view of a part of an arena as (rows, columns), of the pairs as records."""
    f, z = arena
    k, width, in_f = _PLACES[name]
    at, n = z[2 * k], z[2 * k + 1]
    rows = (f if in_f else z)[at : at + n * width].reshape(n, width)
    return rows.view(c.PAIR)[:, 0] if name == "pairs" else rows


def _bodies(bodies: Bodies, q: Array, v: Array, gamma: Array, integers: Array) -> Array:
    """Return the bodies' rows at the start."""
    rows = np.zeros((len(q), c.BODY))
    free, turns = 1.0 - bodies.held[:, :3], 1.0 - bodies.held[:, 3]
    rows[:, c.X : c.X + 3], rows[:, c.Q : c.Q + 4] = (
        q[:, :3],
        q[:, 3:] / np.linalg.norm(q[:, 3:], axis=1)[:, None],
    )
    rows[:, c.R : c.R + 9] = quaternion.to_matrix(rows[:, c.Q : c.Q + 4]).reshape(-1, 9)
    rows[:, c.R_1 : c.R_1 + 9] = rows[:, c.R : c.R + 9]  # steps set those of bodies that turn
    rows[:, c.Q_1 : c.Q_1 + 4] = rows[:, c.Q : c.Q + 4]
    mass, inertia = bodies.mass[:, None] * free, bodies.inertia * turns[:, None]
    rows[:, c.M : c.M + 3], rows[:, c.IM : c.IM + 3] = mass, free / bodies.mass[:, None]
    rows[:, c.M_0 : c.M_0 + 3] = mass
    rows[:, c.J : c.J + 3], rows[:, c.IJ : c.IJ + 3] = inertia, turns[:, None] / bodies.inertia
    rows[:, c.P : c.P + 3], rows[:, c.L : c.L + 3] = mass * v[:, :3], inertia * v[:, 3:]
    for column in (c.V_1, c.V_2, c.V_3, c.V_4):
        rows[:, column : column + 3] = 0.5 * v[:, 3:]
    rows[:, c.F : c.F + 3] = rows[:, c.F_0 : c.F_0 + 3] = mass * bodies.gravity
    rows[:, c.DRIVE : c.DRIVE + 3] = v[:, :3] * bodies.held[:, :3]
    rows[:, c.DRIVE_W : c.DRIVE_W + 3] = v[:, 3:] * bodies.held[:, 3:]
    driven = rows[:, c.DRIVE_W : c.DRIVE_W + 3].any(axis=1)
    rows[:, c.GAMMA], rows[:, c.W] = gamma, 1.0
    rows[:, c.TURNS] = np.where(driven, c.PRESCRIBED, turns)
    for column, of in (
        (c.JOINTED, integers),
        (c.SLIDES, integers[integers[:, c.KIND] == c.MIXED]),
    ):
        rows[sorted(set(of[:, [c.A, c.B]].ravel().tolist()) - {WORLD}), column] = 1.0
    return rows


def _blocks(constraints: Constraints) -> tuple:
    """Return (rows, integers, owners) of the joint blocks: three rows of one joint each, a ball
    joint's first. A row with two terms is a block alone, and its second term one of the last.
    """
    rows, blocks, integers, owners = constraints.rows, [], [], []
    count, second = len(rows.c), {int(row): i for i, row in enumerate(rows.of) if i != row}
    coupled = []  # (block, second term)
    for joint in sorted(set(constraints.joint)):
        owned = [i for i in range(count) if constraints.joint[i] == joint]
        of_joint = [i for i in owned if i not in second]
        points = [i for i in of_joint if rows.kind[i] == POINT and (rows.n[i] == 1.0).any()]
        is_ball = (
            len(points) == 3
            and (rows.n[points].sum(axis=0) == 1.0).all()
            and (rows.p[points] == rows.p[points[0]]).all()
        )
        rest = [i for i in of_joint if not (is_ball and i in points)]
        groups = ([points] if is_ball else []) + [
            rest[at : at + 3] for at in range(0, len(rest), 3)
        ]
        for group in groups + [[i] for i in owned if i in second]:
            block, first = np.zeros(c.BLOCK), group[0]
            is_point = is_ball and group is points
            if is_point:
                block[c.PA : c.PA + 3] = rows.p[first]
                block[c.NB : c.NB + 3] = rows.c[points] @ rows.n[points]
            else:
                for r, i in enumerate(group):
                    o = 3 * r
                    block[c.PA + o : c.PA + o + 3], block[c.NB + o : c.NB + o + 3] = (
                        rows.p[i],
                        rows.n[i],
                    )
                    block[c.OFFSET + r], block[c.K_ROW + r] = rows.c[i], rows.kind[i]
                    block[c.ANGLE] = rows.angle[i]
            terms = [*group, *(second[i] for i in group if i in second)]
            kind = c.MIXED if (rows.kind[terms] == POINT).any() else c.DIRECTIONS
            kind = c.POINTS if is_point else kind
            if len(terms) > len(group):
                coupled.append((len(blocks), terms[-1]))
            blocks.append(block)
            integers.append([kind, rows.a[first], rows.b[first], len(group), c.NO_OTHER])
            owners.append(joint)
    for j, i in coupled:
        block = np.zeros(c.BLOCK)
        block[c.PA : c.PA + 3], block[c.NB : c.NB + 3] = rows.p[i], rows.n[i]
        block[c.K_ROW], block[c.ANGLE] = rows.kind[i], rows.angle[i]
        integers[j][c.OTHER] = len(blocks)
        blocks.append(block)
        integers.append([integers[j][c.KIND], rows.a[i], rows.b[i], 1, j])
        owners.append(constraints.joint[i])
    return (
        np.array(blocks).reshape(-1, c.BLOCK),
        np.array(integers, np.int64).reshape(-1, c.INTEGERS),
        tuple(owners),
    )


def _pairs(pairs: Pairs) -> Array:
    rows = np.zeros(len(pairs.kind), c.PAIR)
    for field, values in (
        ("point_a", pairs.p),
        ("point_b", pairs.n),
        ("offset", pairs.size),
        ("radius", pairs.radius),
        ("mu", pairs.mu),
        ("e", pairs.e),
    ):
        rows[field] = values
    return rows.view(float).reshape(len(rows), c.FLOATS)


def _springs(springs: Springs) -> dict:
    """Return the parts of the springs."""
    rows = np.zeros((len(springs.kind), c.SPRING))
    for column, values in (
        (c.S_A, springs.on_a),
        (c.S_B, springs.on_b),
        (c.S_TURN, springs.turn),
        (c.STIFFNESS, springs.stiffness[:, None]),
        (c.REST_AT, springs.rest[:, None]),
        (c.DAMPING, springs.damping[:, None]),
    ):
        rows[:, column : column + values.shape[1]] = values
    integers = np.column_stack([springs.kind, springs.a, springs.b])
    return {"springs": rows, "spring_integers": integers}


def _parts(
    bodies: Array,
    blocks: Array,
    integers: Array,
    pair_rows: Array,
    pairs: Pairs,
    springs: int,
    impacts: int,
) -> dict:
    """Return all parts of the arena by name."""
    n, k = len(bodies), len(pair_rows)
    joined = _sides(integers)
    size, gather, pivots, reach, updates = sparse.plan(joined)
    ends = (pair for sides in joined for pair in combinations(sides, 2))
    touching = [*((int(a), int(b)) for a, b in zip(pairs.a, pairs.b)), *ends] if k else []
    numbers, envelope = skyline.plan(n, touching)
    flags = np.zeros((k, c.INTEGERS), np.int64)
    flags[:, c.KIND], flags[:, c.A], flags[:, c.B] = pairs.kind, pairs.a, pairs.b
    saved = n * (c.STATE + 1) + k * c.KEPT + len(blocks) * (c.PHI - c.LAM) + springs + 2
    saved = max(2 * saved, coupled.size(k))
    return {
        "bodies": bodies,
        "blocks": blocks,
        "pairs": pair_rows,
        "matrix": np.zeros((size, 9)),
        "block_integers": integers,
        "pair_integers": flags,
        "gather": _complete_gather(gather, integers),
        "pivots": pivots,
        "reach": reach,
        "updates": updates,
        "active": np.zeros((k, 1), np.int64),
        "counters": np.zeros((c.COUNTERS, 1), np.int64),
        "skyline": np.zeros((numbers, 1)),
        "envelope": envelope,
        "right_side": np.zeros((6 * n, 1)),
        "last_change": np.zeros((6 * n, 1)),
        "impacts": np.zeros((impacts, c.IMPACT)),
        "saved": np.zeros((saved, 1)),
        "saved_flags": np.zeros((2 * k, 1), np.int64),
        "clock": np.zeros((c.CLOCK, 1)),
        "geoms": pairs.geoms,
        "pair_shapes": pairs.shapes,
        "dense": np.zeros((delassus.rows(k), c.DENSE)),
    }


def _complete_gather(gather: Array, integers: Array) -> Array:
    """Return `gather` of `sparse.plan` with the columns that follow from the joint blocks, and
    with the blocks of second terms for the sides from 2 on.
    """
    k, j, on_j, l, on_l = gather.T
    j, l = (np.where(on < 2, i, integers[i, c.OTHER]) for i, on in ((j, on_j), (l, on_l)))
    on_j, on_l = on_j % 2, on_l % 2
    points = integers[:, c.KIND] == c.POINTS
    is_last = np.diff(k, append=-1) != 0
    both = points[j] & points[l]
    return np.column_stack((k, j, on_j, l, on_l, integers[j, c.A + on_j], both, is_last))


def _sides(integers: Array) -> list[tuple[int, ...]]:
    """Return the bodies of each joint block that has a row of its own: a, b, and those of the
    second term of a row.
    """
    sides, found = [(int(a), int(b)) for a, b in integers[:, [c.A, c.B]]], []
    for j, other in enumerate(integers[:, c.OTHER].tolist()):
        if other == c.NO_OTHER:
            found.append(sides[j])
        elif other > j:
            found.append(sides[j] + sides[other])
    return found


def _pack(parts: dict) -> Arena:
    """Return the arena of the parts."""
    header, floats, whole = np.zeros(HEADER, np.int64), [], []
    sizes = {True: 0, False: HEADER}
    for k, (name, width, in_f) in enumerate(PARTS):
        assert parts[name].shape[1] == width, name
        header[2 * k], header[2 * k + 1] = sizes[in_f], len(parts[name])
        sizes[in_f] += parts[name].size
        (floats if in_f else whole).append(parts[name].ravel())
    return Arena(np.concatenate(floats), np.concatenate([header, *whole], dtype=np.int64))
