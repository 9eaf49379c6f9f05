"""One control period of `LANES` environments side by side: commands in, the plant's steps, scores
and observations out.

A block has an array of `evaluation.campaigns.lanes` for the plants and one with the rows below for
the rest. Every loop that computes runs over all lanes of a block, whether they are in use or not,
so that an environment's numbers do not depend on how many there are, to the last bit.

Faults have the names, ranges and units of `plant.faults.fault_options`; what they do is written
here once more. The definitions of `plant.faults` keep a state for each plant, in Python, and draw
from streams; here thousands of plants pass in one kernel, and a random number depends on its place
alone.
"""

import math

import numpy as np

from rbdyn_ros.environments.task import (
    COS_FALLEN,
    DELAYED,
    EFFORT,
    FAILURE,
    FORCE_LIMIT,
    LAST,
    LOSSY,
    MAX_RATE,
    MAX_SPEED,
    NOISY,
    PERIOD,
    POSITION,
    PUSH_CHANCE,
    PUSH_IMPULSE,
    RATE,
    SLOTS,
    SPEED,
    STEPS,
    TRACKING,
    TRAVEL,
    UPRIGHT,
    H,
)  # fmt: skip
from rbdyn_ros.environments.variation import normal_pair, uniform
from rbdyn_ros.evaluation.campaigns import lanes
from rbdyn_ros.evaluation.campaigns.lanes import (  # fmt: skip
    ACROSS,
    CART,
    DKX,
    DKY,
    DKZ,
    KZ,
    LANES,
    LEVER,
    ROD,
    UX,
    UY,
    VX,
    VY,
    X,
    Y,
    put,
    state,
)
from rbdyn_ros.geometry import vec
from rbdyn_ros.kernel import inlined, kernel, part
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.pendulum import sphere_state

SEEN, AIMED = 10, 4  # numbers of an observation: x y, k, x' y', k'; r - x, r' of a set point
(
    COUNT, ENDED,  # periods so far; how it ended
    TIP, DELAY, DROP, GAIN,  # [m]; periods; probability; part of the force that acts
    NOISE_CART, NOISE_SPEED, NOISE_ANGLE, NOISE_RATE,  # standard deviations
    TARGET_AX, TARGET_AY, TARGET_WX, TARGET_WY, TARGET_PX, TARGET_PY,  # of the set point's sines
    ACTION_X, ACTION_Y, HELD_X, HELD_Y, OLD_X, OLD_Y, REWARD,
    RX, RY, RVX, RVY,  # the set point and its velocity
    OUT,  # the first of the rows of what the sensors measure, in the order of `lanes.state`
) = range(0, 28 * LANES, LANES)  # fmt: skip
ROWS = OUT + SEEN * LANES
FIXED, SETTINGS = (TARGET_AX - TIP) // LANES, (ACTION_X - TIP) // LANES  # of an episode's own
RUNNING, FELL, LEFT, SPED, LATE = 0.0, 1.0, 2.0, 3.0, 4.0  # ENDED
_DROPPED, _PUSHED, _SIZE, _AZIMUTH = (np.uint64(n) for n in range(4))
_DRAWS = np.uint64(16)  # random numbers of a period: those above, then noise from _NOISE on
_NOISE = np.uint64(2)  # pairs


@kernel
def advance(task, plants, rest, keys, late, actions, out):
    """Advance the environments whose blocks are given by one period.

    task (SLOTS + 1,), plants (blocks, lanes.SIZE), rest (blocks, ROWS), keys (blocks, LANES),
    late (blocks, slots 2 LANES), actions (n, 2), out: observations (n, 10 or 14), rewards (n,),
    ended (n,) is written: a code, 0 while it goes on.
    """
    for b in range(len(plants)):
        a, e, key = plants[b], rest[b], keys[b]
        begin = b * LANES
        end = min(begin + LANES, len(actions))
        for i in range(begin, end):
            e[ACTION_X + i - begin] = actions[i, 0]
            e[ACTION_Y + i - begin] = actions[i, 1]
        _take(task, e, key)
        _move(task, a, e, late[b], key)
        _score(task, a, e)
        if task[NOISY]:
            measure(a, e, key)
        _show(task, a, e, 0, end - begin, begin, out)


@kernel
def command(task, rest, keys, action):
    """Return the force (u_x, u_y) [N] that the action (2,) of the first environment commands."""
    e = rest[0]
    e[ACTION_X], e[ACTION_Y] = action[0], action[1]
    _take(task, e, keys[0])
    return e[HELD_X], e[HELD_Y]


@kernel
def score_external_state(task, plants, rest, q, v, is_period, out):
    """Write what `advance` writes of the first environment, whose plant was moved elsewhere to q
    (6,), v (5,); where no period has passed, only the observation.
    """
    a, e = plants[0], rest[0]
    put(a, 0, sphere_state.of_state(q, v))
    if is_period:
        _score(task, a, e)
    _show(task, a, e, 0, 1, 0, out)


@kernel
def begin(task, blocks, which, keys, starts, systems, settings, out):
    """Put the environments `which` (m,), in ascending order, at their starts (m, 11) with their
    keys (m,), plants (m, 8) or the one (1, 8), and settings (m, up to SETTINGS), from TIP on.

    The observations of those that `out` has are written.
    """
    plants, rest, own, late = blocks
    for i in range(len(which)):
        b, j = which[i] // LANES, which[i] % LANES
        e, old, own[b, j] = rest[b], late[b], keys[i]
        e[COUNT + j], e[ENDED + j], e[REWARD + j] = 0.0, RUNNING, 0.0
        e[HELD_X + j], e[HELD_Y + j] = 0.0, 0.0
        for row in range(0, len(old), LANES):
            old[row + j] = 0.0
        for n in range(settings.shape[1]):
            e[TIP + n * LANES + j] = settings[i, n]
        lanes.begin(plants[b], j, starts[i], systems[min(i, len(systems) - 1)], task[H])
        if task[TRACKING]:
            aim(e, j, 0.0)
    for i in range(len(which)):
        b, j = which[i] // LANES, which[i] % LANES
        if task[NOISY] and (i == 0 or b != which[i - 1] // LANES):
            measure(plants[b], rest[b], own[b])
        if which[i] < len(out[1]):
            _show(task, plants[b], rest[b], j, j + 1, which[i], out)


@part
def _show(task, a, e, first, last, i, out):
    """Write the observations of the lanes from `first` to before `last`, the first of them as
    number i, cut at the bounds: nothing is rounded here, so the number of lanes does not matter.
    """
    seen, rewards, ended = out
    travel, fast, turning = 2.0 * task[TRAVEL], task[MAX_SPEED], task[MAX_RATE]
    source = e[OUT:] if task[NOISY] > 0.0 else a
    tracking, i = task[TRACKING] > 0.0, i - first
    for j in range(first, last):
        rewards[i + j], ended[i + j] = e[REWARD + j], e[ENDED + j]
    for j in range(first, last):
        k, dk, x, v = state(source, j)
        for n in range(2):
            seen[i + j, n], seen[i + j, 5 + n] = _clip(x[n], travel), _clip(v[n], fast)
        for n in range(3):
            seen[i + j, 2 + n], seen[i + j, 7 + n] = _clip(k[n], 1.0), _clip(dk[n], turning)
        if tracking:
            for n in range(2):
                seen[i + j, 10 + n] = _clip(e[RX + n * LANES + j] - x[n], 2.0 * travel)
                seen[i + j, 12 + n] = _clip(e[RVX + n * LANES + j], fast)


@inlined
def _clip(value, bound):
    return min(max(value, -bound), bound)


@part
def _take(task, e, keys):
    """Take the commanded forces; a command that is lost leaves the one before."""
    limit, lossy = task[FORCE_LIMIT], task[LOSSY] > 0.0
    if lossy:
        for j in range(LANES):
            e[OLD_X + j], e[OLD_Y + j] = e[HELD_X + j], e[HELD_Y + j]
    for j in range(LANES):
        ax = min(max(e[ACTION_X + j], -1.0), 1.0)
        ay = min(max(e[ACTION_Y + j], -1.0), 1.0)
        e[ACTION_X + j], e[ACTION_Y + j] = ax, ay
        e[HELD_X + j], e[HELD_Y + j] = saturate(limit * ax, limit * ay, limit)
    if lossy:
        for j in range(LANES):
            if uniform(keys[j], _first_draw(e[COUNT + j]) + _DROPPED) < e[DROP + j]:
                e[HELD_X + j], e[HELD_Y + j] = e[OLD_X + j], e[OLD_Y + j]


@inlined
def _first_draw(count):
    """Return the index of the first random number of a period."""
    return np.uint64(count) * _DRAWS


@part
def _move(task, a, e, late, keys):
    """Advance the plants under the forces that arrive, after the pushes at the start of the
    period.
    """
    steps, slots = int(task[STEPS]), int(task[SLOTS])
    if task[PUSH_CHANCE]:
        for j in range(LANES):
            place = _first_draw(e[COUNT + j])
            if uniform(keys[j], place + _PUSHED) < task[PUSH_CHANCE]:
                size = task[PUSH_IMPULSE] * uniform(keys[j], place + _SIZE)
                angle = 2.0 * math.pi * uniform(keys[j], place + _AZIMUTH)
                push(a, e[TIP + j], j, (size * math.cos(angle), size * math.sin(angle), 0.0))
    if task[DELAYED]:
        for j in range(LANES):
            now = int(e[COUNT + j])
            late[(now % slots) * 2 * LANES + j] = e[HELD_X + j]
            late[(now % slots) * 2 * LANES + LANES + j] = e[HELD_Y + j]
    for j in range(LANES):
        a[UX + j], a[UY + j] = e[GAIN + j] * e[HELD_X + j], e[GAIN + j] * e[HELD_Y + j]
    for step in range(steps):
        if task[DELAYED]:
            _arrive(a, e, late, steps, step, slots)
        lanes.step(a, task[H])


@part
def _arrive(a, e, late, steps, step, slots):
    """Set the mean force of a step: a command that arrives in its midst acts for the rest of
    it.
    """
    for j in range(LANES):
        whole = int(e[DELAY + j])
        older = min(max((e[DELAY + j] - whole) * steps - step, 0.0), 1.0)
        newest = int(e[COUNT + j]) - whole
        new = ((newest + slots) % slots) * 2 * LANES + j
        old = ((newest - 1 + slots) % slots) * 2 * LANES + j
        for axis in range(2):
            row = axis * LANES
            force = (1.0 - older) * late[new + row] + older * late[old + row]
            a[UX + row + j] = e[GAIN + j] * force


@inlined
def push(a, tip, j, J):
    """Give lane j an impulse J (3,) [N s, world] at a point of its rod, `tip` [m] from the joint.

    With P = 1 - k k^T, I = I1 + m l^2:
    (M + m) dx' + m l dk'_xy = J_xy,    I dk' + m l P (dx', 0) = tip P J
    """
    k, dk, x, v = state(a, j)
    first, inertia = a[ROD + j] * a[LEVER + j], a[ACROSS + j]
    inertia += first * a[LEVER + j]
    PJ = vec.axpy(-vec.dot(k, J), k, J)
    c, r = first * first / inertia, first * tip / inertia
    mass = a[CART + j] + a[ROD + j] - c  # of the matrix mass 1 + c n n^T, n = k_xy
    bx, by = J[0] - r * PJ[0], J[1] - r * PJ[1]
    n_b = c * (k[0] * bx + k[1] * by) / (mass + c * (k[0] * k[0] + k[1] * k[1]))
    dx = ((bx - k[0] * n_b) / mass, (by - k[1] * n_b) / mass, 0.0)
    Pdx = vec.axpy(-vec.dot(k, dx), k, dx)
    dk = vec.axpy(tip / inertia, PJ, vec.axpy(-first / inertia, Pdx, dk))
    put(a, j, (k, dk, x, (v[0] + dx[0], v[1] + dx[1])))


@part
def _score(task, a, e):
    """Count the period, move the set point, compute the reward, and determine whether the episode
    has ended.
    """
    if task[TRACKING]:
        for j in range(LANES):
            aim(e, j, (e[COUNT + j] + 1.0) * task[PERIOD])
    for j in range(LANES):
        count = e[COUNT + j] + 1.0
        x, y, vx, vy = a[X + j], a[Y + j], a[VX + j], a[VY + j]
        ex, ey = x - e[RX + j], y - e[RY + j]
        turning = a[DKX + j] ** 2 + a[DKY + j] ** 2 + a[DKZ + j] ** 2
        moving, effort = vx * vx + vy * vy, e[ACTION_X + j] ** 2 + e[ACTION_Y + j] ** 2
        end = LATE if count >= task[LAST] else RUNNING
        is_slow_enough = (
            moving <= task[MAX_SPEED] * task[MAX_SPEED]
            and turning <= task[MAX_RATE] * task[MAX_RATE]
        )
        end = end if is_slow_enough else SPED  # not a number is too fast, too
        end = LEFT if max(abs(x), abs(y)) > task[TRAVEL] else end
        end = FELL if a[KZ + j] < task[COS_FALLEN] else end
        reward = 0.5 * task[UPRIGHT] * (1.0 + a[KZ + j]) - task[POSITION] * (ex * ex + ey * ey)
        reward -= task[SPEED] * moving + task[RATE] * turning + task[EFFORT] * effort
        failed = end == FELL or end == LEFT or end == SPED
        e[REWARD + j] = reward - task[FAILURE] if failed else reward
        e[COUNT + j], e[ENDED + j] = count, end


@inlined
def aim(e, j, t):
    """Set the set point of lane j at t [s] of its episode: r = A sin(w t + p), each axis."""
    px, py = e[TARGET_WX + j] * t + e[TARGET_PX + j], e[TARGET_WY + j] * t + e[TARGET_PY + j]
    e[RX + j], e[RY + j] = e[TARGET_AX + j] * math.sin(px), e[TARGET_AY + j] * math.sin(py)
    e[RVX + j] = e[TARGET_AX + j] * e[TARGET_WX + j] * math.cos(px)
    e[RVY + j] = e[TARGET_AY + j] * e[TARGET_WY + j] * math.cos(py)


@part
def measure(a, e, keys):
    """Write the present state of a block as the sensors measure it, with their noise."""
    for j in range(LANES):
        n = (_first_draw(e[COUNT + j]) >> np.uint64(1)) + _NOISE
        put(e[OUT:], j, _disturb(e, j, n, keys[j], state(a, j)))


@inlined
def _disturb(e, j, n, key, s):
    """Return s = (k, k', x, x') with the noise of one instant: of the direction and its rate as
    small turns w, k + w x k and k' + w' x k.
    """
    (k, dk, x, v), one = s, np.uint64(1)
    c, d = normal_pair(key, n), normal_pair(key, n + one)
    a, b = normal_pair(key, n + one + one), normal_pair(key, n + one + one + one)
    w = normal_pair(key, n + one + one + one + one)
    turn, spin = (a[0], a[1], b[0]), (b[1], w[0], w[1])
    seen = vec.axpy(e[NOISE_ANGLE + j], vec.cross(turn, k), k)
    cart, speed = e[NOISE_CART + j], e[NOISE_SPEED + j]
    return (
        vec.scale(1.0 / vec.norm(seen), seen),
        vec.axpy(e[NOISE_RATE + j], vec.cross(spin, k), dk),
        (x[0] + cart * c[0], x[1] + cart * c[1]),
        (v[0] + speed * d[0], v[1] + speed * d[1]),
    )
