"""The pendulum as a model of bodies, for steps in which something may touch.

They are a cart that slides and does not turn, a rod on a ball joint, and what moves; pairs are
what they can meet.

    Memory: the arena of the model, and what has touched so far

The rod is a capsule whose radius is round-off, where it meets what is curved or ends. Obstacles
that move are bodies with a prescribed velocity.

Of the rod and the cart only M x'' + m r'' counts, not which of them holds a mass at the joint: the
step's kinetic energy is that of mass points. A light cart gets some of the rod's mass there, so
that no body is without.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import arena, packing, shapes, smooth, springs
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import Arena, get, get9, matrix_of, put, put9, set_vector, vector_of
from rbdyn_ros.bodies.contact.failures import failure
from rbdyn_ros.bodies.contact.pairs import velocity as pair_velocity
from rbdyn_ros.bodies.contact.restitution import ENERGETIC, ENERGETIC_ALONE
from rbdyn_ros.bodies.description import contact_pairs as candidates
from rbdyn_ros.bodies.description import geoms, joint_kinds
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.bodies.description.spring_kinds import Springs
from rbdyn_ros.bodies.model import Names
from rbdyn_ros.geometry import quaternion, unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part
from rbdyn_ros.numerics.solvers.fc3d_one_contact import SLIDE, STICK
from rbdyn_ros.pendulum import coulomb_friction, obstacles, world
from rbdyn_ros.types import Array, System

CART, ROD = np.int64(0), np.int64(1)
MOST_IMPACTS = 12  # in a step; the last one is without restitution
EVENTS = 1000  # impacts that are kept until they are taken
_NOTED = 64  # impacts of one step
_THIN = 1e-12  # [m] radius of the rod
_LIGHT = 0.05  # of the rod's mass: a lighter cart takes mass from it
_SHARE = 0.5  # of what it can give
_HELD = (1.0,) * 6
_LONGEST = 48


class Memory(NamedTuple):
    """What steps remember of the contacts; n are the candidates of `pendulum.world`."""

    arena: Arena
    of: Array  # (pairs, 2) candidate of each pair, and the row of the obstacle that moves or -1
    last: Array  # (11,) q and v that the last call left, with which the arena agrees
    start: Array  # (11,) q and v at the start of the last call
    interval: Array  # (1,) [s] that it advanced
    since: Array  # (1,) [s] when the obstacles were at their places, from where they move
    work: Array  # (1,) [J] of the contacts on the pendulum since the start
    force: Array  # (n, 3) mean force on the pendulum over the last step [N, world]
    point: Array  # (n, 3) where it acts [m, world]
    normal: Array  # (n, 3) out of the obstacle [world]
    impulse: Array  # (n,) normal impulse since the start [N s]
    closed: Array  # (n,) 1 it touches
    # (m, 8): t, contact, P_n, P_t1, P_t2 [N s], u_n before, after [m/s], STICK or SLIDE
    events: Array
    recorded: Array  # (1,) impacts so far; those beyond the rows of `events` are counted only
    recorded_before: Array  # (1,) impacts before the last call
    trouble: Array  # (2,) why the last step failed, and where, as in the arena's counters
    place: Array  # (bodies, 7) and
    rate: Array  # (bodies, 6) and
    acceleration: Array  # (6 bodies,): workspaces
    name: Array  # (n, 48) characters of the candidates' names


def create(system: System, gamma: float = 0.0) -> Memory:
    """Return a memory in which nothing touches and nothing has happened; gamma [kg m^2] is that of
    the rod.
    """
    C, names = system.contacts, world.candidates(system.contacts)
    light = lighten(system)
    center = np.array((0.0, 0.0, light.center))
    held = (0.0, 0.0, *_HELD[2:]) if system.cart_free else _HELD
    cart = shapes.Body(light.cart_mass or 1.0, (1.0, 1.0, 1.0), held=held)
    rod = shapes.Body(light.rod_mass, light.inertia, tuple(center))
    walls, met, of = _meets(C, center, bool(system.cart_free))
    bodies, q, v = shapes.assemble([cart, rod, *walls], (0.0, 0.0, -system.gravity))
    count = len(bodies.mass)
    joint = joint_kinds.assemble(
        count, joint_kinds.ball_joint(int(ROD), -center, int(CART), (0.0, 0.0, 0.0))
    )
    elements = packing.Elements(bodies, joint, candidates.build(count, *met), _wrench())
    gammas = np.zeros(count)
    gammas[ROD] = gamma
    law = ENERGETIC_ALONE if int(C.impact_law) == ENERGETIC else int(C.impact_law)
    options = MOST_IMPACTS, law
    made, _ = packing.arena_of(elements, q, v, gammas, _NOTED, options)
    rows = packing.part(made, "bodies")
    rows[CART, c.DRAG_X] = system.cart_free * system.cart_damping
    rows[ROD, c.DRAG_W] = system.joint_damping
    n, text = len(names), np.array(names, f"U{_LONGEST}").view(np.int32)
    return Memory(
        arena=made,
        of=np.array(of, np.int64).reshape(-1, 2),
        last=np.full(11, np.nan),
        start=np.zeros(11),
        interval=np.zeros(1),
        since=np.zeros(1),
        work=np.zeros(1),
        force=np.zeros((n, 3)),
        point=np.zeros((n, 3)),
        normal=np.zeros((n, 3)),
        impulse=np.zeros(n),
        closed=np.zeros(n),
        events=np.zeros((EVENTS, 8)),
        recorded=np.zeros(1, np.int64),
        recorded_before=np.zeros(1, np.int64),
        trouble=np.zeros(2, np.int64),
        place=np.zeros((count, 7)),
        rate=np.zeros((count, 6)),
        acceleration=np.zeros(6 * count),
        name=text.reshape(-1, _LONGEST).copy(),
    )


def lighten(system: System) -> System:
    """Return a system with the same motions whose cart is not lighter than a share of the rod."""
    m, l, I = system.rod_mass, system.center, system.inertia
    lacking = _LIGHT * m - system.cart_mass
    if lacking <= 0.0 or not system.cart_free:
        return system
    least = min(I[0], I[1])
    moved = min(lacking, _SHARE * m * least / (least + m * l * l))
    less = m * l * l - (m * l) ** 2 / (m - moved)
    return system._replace(
        cart_mass=system.cart_mass + moved,
        rod_mass=m - moved,
        center=m * l / (m - moved),
        inertia=(I[0] + less, I[1] + less, I[2]),
    )


def _wrench() -> Springs:
    """Return the wrench on the rod, which `set_loads` writes, as the only spring."""
    body = np.array([ROD])
    nothing, zero = np.zeros((1, 3)), np.zeros(1)
    turn = np.array([(1.0, 0.0, 0.0, 0.0)])
    kind, none = np.array([springs.WRENCH]), np.array([WORLD])
    return Springs(kind, body, none, nothing, nothing, turn, zero, zero, zero)


def _meets(C, center: Array, is_free: bool) -> tuple[list, list, list]:
    """Return (bodies of obstacles that move, pairs, (candidate, moving obstacle or -1) of each) of
    what the pendulum can meet; `center` is the rod's center of mass, seen from the joint.
    """
    tip, foot = np.array((0.0, 0.0, C.length)) - center, np.zeros(3)
    middle = tuple(np.array((0.0, 0.0, 0.5 * C.length)) - center)
    moving, found, of, cart, rod = [], [], [], int(CART), int(ROD)
    thin = geoms.capsule(_THIN, C.length, rod, middle)

    def add(candidate: int, *met, row: int = -1) -> None:
        found.extend(met)
        of.extend([(candidate, row)] * len(met))

    if C.floor:
        law = C.floor_friction, C.floor_restitution
        add(
            world.FLOOR,
            candidates.corner(rod, tip, s=(0.0, 0.0, C.floor_height), mu=law[0], e=law[1]),
        )
    for k, axis in enumerate(np.eye(3)[: 2 * is_free]):
        for side, at in ((1.0, C.stop_low[k]), (-1.0, C.stop_high[k])):
            if np.isfinite(at):
                stop = {"n": side * axis, "s": at * axis, "e": C.stop_restitution}
                add(world.STOP_X + k, candidates.corner(cart, foot, **stop))
    law = C.obstacle_friction, C.obstacle_restitution
    if C.obstacle == world.SPHERE:
        ball = geoms.sphere(C.obstacle_radius, position=C.obstacle_point)
        add(world.OBSTACLE, *geoms.pairs_between(thin, ball, *law))
    elif C.obstacle == world.HALF_SPACE:
        plane = {"n": C.obstacle_normal, "s": C.obstacle_point, "mu": law[0], "e": law[1]}
        add(world.OBSTACLE, candidates.corner(rod, tip, **plane))
    for row, o in enumerate(C.obstacles):
        law, candidate = (float(o["friction"]), float(o["restitution"])), world.FIXED + row
        kind, size, at, body = o["kind"], o["size"], tuple(map(float, o["center"])), WORLD
        if kind in (obstacles.BOX_TIP, obstacles.CYLINDER_TIP):
            continue  # the pairs of the length have those of the tip
        if o["velocity"].any():
            body = 2 + len(moving)
            moving.append(shapes.Body(1.0, (1, 1, 1), at, velocity=o["velocity"], held=_HELD))
            at = (0.0, 0.0, 0.0)
        which = row if body != WORLD else -1
        if kind in (obstacles.WALL_TIP, obstacles.WALL_CART):
            n, tip_meets = o["axes"][0], kind == obstacles.WALL_TIP
            if not tip_meets and not is_free and body == WORLD:
                continue
            mu = law[0] if tip_meets else 0.0
            carrier, p = (rod, tip) if tip_meets else (cart, foot)
            wall = candidates.corner(carrier, p, body, n, at, mu=mu, e=law[1])
            add(candidate, wall, row=which)
            continue
        Q = tuple(quaternion.from_matrix(o["axes"].T))
        if kind == obstacles.SPHERE:
            solid = geoms.sphere(float(size[0]), body, at)
        elif kind == obstacles.BOX:
            solid = geoms.box(2.0 * size, body, at, Q)
        else:
            solid = geoms.cylinder(float(size[0]), float(2.0 * size[2]), body, at, Q)
        add(candidate, *geoms.pairs_between(thin, solid, *law), row=which)
    return moving, found, of


def forget(memory: Memory, now: float = 0.0) -> None:
    """Reset the memory: nothing touches and nothing has happened; at `now` [s] the obstacles are
    at their places.
    """
    for name in ("start", "interval", "work", "force", "impulse", "closed"):
        getattr(memory, name)[...] = 0.0
    for name in ("recorded", "recorded_before", "trouble"):
        getattr(memory, name)[...] = 0
    memory.last[:] = np.nan
    memory.since[0] = now


def carry_over(old: Memory, new: Memory) -> None:
    """Let a memory of the same candidates go on counting where another one is."""
    for name in ("since", "work", "recorded", "recorded_before", "impulse", "events"):
        getattr(new, name)[...] = getattr(old, name)


def take_impacts(memory: Memory) -> tuple[Array, int]:
    """Return the impacts since the last call, rows of `events` (n, 8), and how many had no room
    there, and make room for others.
    """
    count = int(memory.recorded[0])
    rows = memory.events[:count].copy()
    memory.recorded[0] = memory.recorded_before[0] = 0
    return rows, count - len(rows)


def candidate(memory: Memory, i: int) -> str:
    """Return the name of candidate i."""
    return str(np.ascontiguousarray(memory.name[i]).view(f"U{_LONGEST}")[0])


def explain_failure(memory: Memory | None) -> str:
    """Return why the last step was not taken, "" if it was or nothing can be touched."""
    if memory is None or memory.trouble[0] == 0:
        return ""
    counters = packing.part(memory.arena, "counters")
    counters[[c.FAILURE, c.WHERE], 0] = memory.trouble
    bodies = ("the cart", "the rod", *(["an obstacle"] * (len(memory.place) - 2)))
    called = tuple(world.parameter(candidate(memory, i)) for i in range(len(memory.name)))
    names = Names(bodies, called, tuple(memory.of[:, 0].tolist()))
    constraints = SimpleNamespace(names=("joint, row 1",) * 3, joint=[0] * 3)
    model = SimpleNamespace(arena=memory.arena, names=names, owners=(0,), constraints=constraints)
    return failure(model)


@part
def put_state(m, memory, system, h, t, x, R, Q, w, u):
    """Start the model at a state of the pendulum, t [s] after the obstacles left their places."""
    bodies, blocks, pairs = arena.bodies(m), arena.blocks(m), arena.pairs(m)
    integers, clock, count = arena.pair_integers(m), arena.clock(m), arena.counters(m)
    smooth.set_masses(m, 0.0)
    u = (u[0], u[1], 0.0)
    put(bodies, CART, c.X, (x[0], x[1], 0.0))
    put(bodies, CART, c.P, vec.times(get(bodies, CART, c.M), u))
    lever = vec.scale(-1.0, get(blocks, 0, c.PA))
    put(bodies, ROD, c.X, vec.add((x[0], x[1], 0.0), vec.matvec(R, lever)))
    arena.put(bodies, ROD, c.Q, Q)
    put9(bodies, ROD, c.R, R)
    V = vec.add(u, vec.matvec(R, vec.cross(w, lever)))
    put(bodies, ROD, c.P, vec.times(get(bodies, ROD, c.M), V))
    put(bodies, ROD, c.L, vec.times(get(bodies, ROD, c.J), w))
    smooth.put_rates(bodies, ROD, vec.scale(0.5, w))
    obstacles_at, of = system.contacts.obstacles, memory.of
    for k in range(len(of)):
        if of[k, 1] >= 0:
            place = obstacles.center(obstacles_at[of[k, 1]], t)
            put(bodies, integers[k, c.B], c.X, place)
    for i in range(len(bodies)):
        bodies[i, c.WAY] = bodies[i, c.STEP_WAY] = bodies[i, c.DRIFT] = 0.0
        put(bodies, i, c.X_1, get(bodies, i, c.X))
    for j in range(len(blocks)):
        put(blocks, j, c.LAM, (0.0, 0.0, 0.0))
    for k in range(len(pairs)):
        integers[k, c.CLOSED] = 0
        set_vector(pairs[k].impulse, (0.0, 0.0, 0.0))
        set_vector(pairs[k].kept, (0.0, 0.0, 0.0))
        set_vector(pairs[k].total, (0.0, 0.0, 0.0))
        pairs[k].total[3] = pairs[k].work = pairs[k].slack = 0.0
        pairs[k].u_last[0] = pairs[k].u_last[1] = 0.0
        pairs[k].clearance = pairs[k].up_to_date = pairs[k].is_coupled = 0.0
    clock[c.TIME], clock[c.STARTED], clock[c.STEP] = 0.0, 0.0, h
    count[c.IMPACTS] = count[c.FAILURE] = 0
    set_loads(m, system, (0.0, 0.0), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    springs.update(m, 0.0)


@part
def set_loads(m, system, force, wrench):
    """Set the force (2,) on the cart, and (force [world], torque [world], point from the joint
    [body]) of the wrench on the rod, from the node on.
    """
    bodies, rows = arena.bodies(m), arena.springs(m)
    F, T, r = wrench
    put(bodies, CART, c.F_0, (system.cart_free * force[0], system.cart_free * force[1], 0.0))
    put(rows, 0, c.S_A, vec.add(r, get(arena.blocks(m), 0, c.PA)))
    put(rows, 0, c.S_B, F)
    put(rows, 0, c.ALONG, T)
    for i in range(2):
        put(bodies, i, c.F, get(bodies, i, c.F_0))
        put(bodies, i, c.TAU, (0.0, 0.0, 0.0))
    is_idle = vec.size(F) + vec.size(T) == 0.0
    arena.clock(m)[c.IDLE] = 1.0 if is_idle else 0.0
    if not is_idle:
        springs.act(bodies, ROD, F, T, get(rows, 0, c.S_A), 1.0, c.F, c.TAU)


@part
def set_dampings(m, system):
    """Set the dampings of cart and joint to those that have, at the velocities of the node, the
    force of their friction too.
    """
    bodies = arena.bodies(m)
    p, mass = get(bodies, CART, c.P), bodies[CART, c.M_0]  # c.M may be that of the last step
    i_M = 1.0 / mass if mass > 0.0 else 0.0
    w = vec.times(get(bodies, ROD, c.IJ), get(bodies, ROD, c.L))
    at = coulomb_friction.as_damping(system, w, (i_M * p[0], i_M * p[1]))
    bodies[CART, c.DRAG_X] = system.cart_free * at.cart_damping
    bodies[ROD, c.DRAG_W] = at.joint_damping


@inlined
def read_state(m):
    """Return (x, Q, R, w, u) of the pendulum (after `impact.observe`)."""
    bodies = arena.bodies(m)
    Q, R = arena.get4(bodies, ROD, c.Q), get9(bodies, ROD, c.R)
    x, u, w = get(bodies, CART, c.X), get(bodies, CART, c.U_X), get(bodies, ROD, c.U_W)
    return (x[0], x[1]), unit_quaternion.renormalize(Q), R, w, (u[0], u[1])


@inlined
def opening(m):
    """Return by how much the ball joint is open [m]."""
    bodies, blocks = arena.bodies(m), arena.blocks(m)
    foot = vec.add(get(bodies, ROD, c.X), vec.matvec(get9(bodies, ROD, c.R), get(blocks, 0, c.PA)))
    return vec.size(vec.sub(foot, get(bodies, CART, c.X)))


@part
def settle(m, memory, h, t0):
    """Take the impulses since the last call: set the mean forces over h [s], add up normal
    impulses and work, and move impacts, whose instants count from t0 [s], to `events`. The part of
    the node's impulses that has acted (after `impact.observe`) belongs to them. Return the mean
    force on the rod [N, world].
    """
    bodies, pairs, integers = arena.bodies(m), arena.pairs(m), arena.pair_integers(m)
    of, force, on_rod = memory.of, memory.force, (0.0, 0.0, 0.0)
    for i in range(len(force)):
        memory.closed[i] = 0.0
        for k in range(3):
            force[i, k] = 0.0
    for k in range(len(pairs)):
        i, T, acted = of[k, 0], matrix_of(pairs[k].frame), vector_of(pairs[k].kept)
        on_world = vec.transposed_matvec(T, acted)
        sums = pairs[k].total
        total = vec.add(vec.three(sums, 1), on_world)
        if integers[k, c.CLOSED] != 0:
            memory.closed[i] = 1.0
        memory.impulse[i] += sums[0] + acted[0]
        rubbed = 0.0
        if acted[0] != 0.0:
            u = pair_velocity(m, k)
            rubbed = acted[1] * u[1] + acted[2] * u[2]
        memory.work[0] += pairs[k].work + rubbed
        if integers[k, c.B] != c.WORLD:
            memory.work[0] += vec.dot(total, get(bodies, integers[k, c.B], c.DRIVE))
        sums[0], pairs[k].work = -acted[0], -rubbed
        sums[1], sums[2], sums[3] = vec.scale(-1.0, on_world)
        if vec.size(total) > 0.0:
            if integers[k, c.A] == ROD:
                on_rod = vec.axpy(1.0 / h, total, on_rod)
            if vec.size(total) > h * vec.size(vec.three(force[i], 0)):
                a = integers[k, c.A]
                lever = vec.matvec(get9(bodies, a, c.R), vector_of(pairs[k].on[0]))
                write(memory.point, i, vec.add(get(bodies, a, c.X), lever))
                write(memory.normal, i, T[0])
            write(force, i, vec.axpy(1.0 / h, total, vec.three(force[i], 0)))
    impacts, count, recorded = arena.impacts(m), arena.counters(m), memory.recorded
    for e in range(min(count[c.IMPACTS], len(impacts))):
        n = recorded[0]
        if n < len(memory.events):
            k = int(impacts[e, 1])
            P = get(impacts, e, 2)
            rubs = (P[1] * P[1] + P[2] * P[2]) ** 0.5 >= pairs[k].mu * P[0] * (1.0 - 1e-9)
            memory.events[n, 0], memory.events[n, 1] = t0 + impacts[e, 0], of[k, 0]
            memory.events[n, 2], memory.events[n, 3], memory.events[n, 4] = P
            memory.events[n, 5], memory.events[n, 6] = impacts[e, 5], impacts[e, 6]
            memory.events[n, 7] = SLIDE if rubs else STICK
        recorded[0] = n + 1
    recorded[0] += max(count[c.IMPACTS] - len(impacts), 0)
    count[c.IMPACTS] = 0
    return on_rod


@part
def put_velocities(m, memory, R, w, u):
    """Set U_X, U_W to the velocities of the pendulum, and `place` and `rate` of the memory to the
    state of all bodies.
    """
    bodies = arena.bodies(m)
    u, lever = (u[0], u[1], 0.0), vec.scale(-1.0, get(arena.blocks(m), 0, c.PA))
    for i in range(len(bodies)):
        V, turning = get(bodies, i, c.DRIVE), (0.0, 0.0, 0.0)
        if i == CART:
            V = u
        elif i == ROD:
            V, turning = vec.add(u, vec.matvec(R, vec.cross(w, lever))), w
        put(bodies, i, c.U_X, V)
        put(bodies, i, c.U_W, turning)
        write(memory.place, i, get(bodies, i, c.X))
        write(memory.rate, i, V)
        for k in range(3):
            memory.rate[i, 3 + k] = turning[k]
        for k in range(4):
            memory.place[i, 3 + k] = bodies[i, c.Q + k]


@part
def is_touching(memory, q, v):
    """Return whether the last call ended in this state, and something touched there."""
    touches = False
    for k in range(len(memory.closed)):
        touches = touches or memory.closed[k] != 0.0
    for k in range(11):
        touches = touches and memory.last[k] == (q[k] if k < 6 else v[k - 6])
    return touches


@inlined
def count_closed(m):
    """Return how many pairs touch."""
    integers, n = arena.pair_integers(m), 0
    for k in range(len(integers)):
        n += 1 if integers[k, c.CLOSED] != 0 else 0
    return n


@inlined
def write(table, i, a):
    """Set row i of an (n, 3) table."""
    table[i, 0], table[i, 1], table[i, 2] = a
