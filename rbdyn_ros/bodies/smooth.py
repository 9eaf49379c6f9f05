"""The smooth part of a step: bodies and joints under given impulses at the node (doc/nonsmooth.md,
M.5 to M.11).

    b = p + (h/2) f + A^T lambda + D^T Lambda          lambda, Lambda: whole impulses of the node
    m (x_1 - x) / h + b (x_1 - x)/2 = b_x,   (2/h) (w J v + v x J v + gamma (1 - w) v) + d v = b_w
    q_1 = q o F(v),   Phi(x_1, q_1) = 0
    p_1 = (m (x_1 - x)/h - b (x_1 - x)/2,
           (2/h) (w J v - v x J v + gamma (1 - w) v) - d v) + (h/2) f

The next node's reactions are not in p_1. b, d are viscous drags of a body, -b x' and -d w.
"""

from math import cos, sin, sqrt

from rbdyn_ros.bodies import arena, joint_blocks, turn
from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies.arena import get, get4, get9, put, put9
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.kernel import inlined, part

ITERATIONS = 20
# a change of v after which Newton's method stops; the error is its square, and goes into the
# momentum; where products with changes of place count, these are in LENGTH
HALF_TURN = 3.2  # the angle of a turn over |v| is at most pi
CLOSE = 1e-7
LONGEST_CHANGE = 0.03  # of v from one step to the next, in what the guess takes for smooth motion
BODY_FAILED, JOINT_FAILED = 1, 2


@inlined
def load(m, h, on_x, on_w):
    """Set columns on_x, on_w to the momenta at the node without its reactions: p + (h/2) f."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        put(bodies, i, on_x, vec.axpy(0.5 * h, get(bodies, i, c.F), get(bodies, i, c.P)))
        if bodies[i, c.TURNS] != 0.0:
            put(bodies, i, on_w, vec.axpy(0.5 * h, get(bodies, i, c.TAU), get(bodies, i, c.L)))


@part
def set_masses(m, h):
    """Set the masses of bodies with a drag to those that a step of h sees, m + b h/2; h = 0: those
    of an instant.
    """
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        if bodies[i, c.DRAG_X] != 0.0:
            for k in range(3):
                if bodies[i, c.M_0 + k] > 0.0:
                    mass = bodies[i, c.M_0 + k] + 0.5 * h * bodies[i, c.DRAG_X]
                    bodies[i, c.M + k], bodies[i, c.IM + k] = mass, 1.0 / mass


@part
def start(m):
    """Set P_1, L_1 to the momenta without reactions, to which impulses are added."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        put(bodies, i, c.P_1, get(bodies, i, c.B_X))
        put(bodies, i, c.L_1, get(bodies, i, c.B_W))


@inlined
def guess(m, h):
    """Guess v = h (4 r_1 - 6 r_2 + 4 r_3 - r_4) from the rates of the last four steps: correct to
    h^5 in smooth motion.
    """
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        if bodies[i, c.TURNS] != 0.0:
            old = vec.axpy(6.0, get(bodies, i, c.V_2), get(bodies, i, c.V_4))
            old = vec.axpy(-4.0, get(bodies, i, c.V_3), old)
            put(bodies, i, c.V, vec.axpy(4.0 * h, get(bodies, i, c.V_1), vec.scale(-h, old)))


@part
def clear(m, on_x, on_w):
    """Set the vectors in columns on_x, on_w of all bodies to 0."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        put(bodies, i, on_x, (0.0, 0.0, 0.0))
        put(bodies, i, on_w, (0.0, 0.0, 0.0))


@inlined
def finish(bodies, i, v, w):
    """Set the attitude of body i at the end of the step, W, Q_1 and R_1, of its turn (w, v)."""
    bodies[i, c.W] = w
    q = unit_quaternion.product(get4(bodies, i, c.Q), (w, v[0], v[1], v[2]))
    put(bodies, i, c.Q_1, q)
    put9(bodies, i, c.R_1, unit_quaternion.matrix(q))


@inlined
def end_place(bodies, i, h, b):
    """Return the position of body i after h with the momentum b, or at the prescribed velocity."""
    v = vec.add(vec.times(get(bodies, i, c.IM), b), get(bodies, i, c.DRIVE))
    return vec.axpy(h, v, get(bodies, i, c.X))


@part
def turn_as_prescribed(m, h):
    """Turn the bodies with a prescribed angular velocity by h times that."""
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        if bodies[i, c.TURNS] == c.PRESCRIBED:
            w = get(bodies, i, c.DRIVE_W)
            rate, half = vec.norm(w), 0.5 * h
            put(bodies, i, c.V, vec.scale(sin(half * rate) / rate, w))
            finish(bodies, i, get(bodies, i, c.V), cos(half * rate))


@inlined
def move_free(m, h):
    """Move each body without joints by Newton's method; return how many iterations, -1 where it
    fails.
    """
    bodies, f, total = arena.bodies(m), 2.0 / h, 0
    for i in range(len(bodies)):
        if bodies[i, c.JOINTED] != 0.0:
            continue
        put(bodies, i, c.X_1, end_place(bodies, i, h, get(bodies, i, c.P_1)))
        if bodies[i, c.TURNS] != 1.0:
            continue
        J, gamma, v = get(bodies, i, c.J), bodies[i, c.GAMMA], get(bodies, i, c.V)
        b, close, drag = get(bodies, i, c.L_1), False, 0.5 * h * bodies[i, c.DRAG_W]
        w = turn.cosine(v)
        for _ in range(ITERATIONS):
            forward, sideways = turn.momentum(f, J, gamma, v, w, drag)
            r = vec.sub(vec.add(forward, sideways), b)
            if vec.size(r) <= 1e-15 * vec.size(forward):
                close = True
                break
            o = vec.solve(turn.momentum_gradient(2.0, J, gamma, v, w, drag), vec.scale(-h, r))
            d = turn.change(v, w, o)
            v = vec.add(v, d)
            total += 1
            close = vec.size(d) < CLOSE
            if close:
                w = turn.next_cosine(v, w)
                break
            w = turn.cosine(v)
        if not close:
            arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = BODY_FAILED, i
            return -1
        put(bodies, i, c.V, v)
        finish(bodies, i, v, w)
    return total


@inlined
def begin_joined(m):
    """Begin without the joints' impulses, which are linear unknowns: any start serves. Rows whose
    residual has products of turns and displacements begin with those of the step before.
    """
    blocks, integers = arena.blocks(m), arena.block_integers(m)
    for j in range(len(blocks)):
        if integers[j, c.KIND] == c.MIXED:
            joint_blocks.push(m, j)
        else:
            put(blocks, j, c.LAM, (0.0, 0.0, 0.0))


@inlined
def linearize_bodies(m, h):
    """Linearize the joined bodies at v under the joints' impulses: set their ends, the inverse
    gradients K and the turns that stand for their residuals.
    """
    bodies, f = arena.bodies(m), 2.0 / h
    for i in range(len(bodies)):
        if bodies[i, c.JOINTED] == 0.0:
            continue
        put(bodies, i, c.X_1, end_place(bodies, i, h, get(bodies, i, c.P_1)))
        put(bodies, i, c.TORQUE, (0.0, 0.0, 0.0))
        if bodies[i, c.TURNS] == 1.0:
            v, J, gamma = get(bodies, i, c.V), get(bodies, i, c.J), bodies[i, c.GAMMA]
            w = turn.close_cosine(v, bodies[i, c.W])
            finish(bodies, i, v, w)
            R, R_1 = get9(bodies, i, c.R), get9(bodies, i, c.R_1)
            drag = 0.5 * h * bodies[i, c.DRAG_W]
            forward, sideways = turn.momentum(f, J, gamma, v, w, drag)
            r = vec.sub(vec.add(forward, sideways), get(bodies, i, c.L_1))
            inverse, det = turn.adjugate(turn.momentum_gradient(2.0, J, gamma, v, w, drag))
            turned, s = turn.product(R_1, inverse), h / det
            put(bodies, i, c.EXCESS, vec.scale(s, vec.matvec(turned, r)))
            put9(bodies, i, c.K, turn.scale(s, turn.product_transposed(turned, R)))


@inlined
def correct(m, h):
    """Correct v and the ends of the joined bodies for a change of the joints' impulses, whose
    torque is in TORQUE. Return the largest change of v, or geometric mean of it and of the change
    of place [LENGTH].
    """
    bodies, largest, bad = arena.bodies(m), 0.0, 0.0
    per = 1.0 / arena.clock(m)[c.LENGTH]
    for i in range(len(bodies)):
        if bodies[i, c.JOINTED] == 0.0:
            continue
        x_1 = end_place(bodies, i, h, get(bodies, i, c.P_1))
        moved = vec.size(vec.sub(x_1, get(bodies, i, c.X_1))) if bodies[i, c.SLIDES] else 0.0
        put(bodies, i, c.X_1, x_1)
        if bodies[i, c.TURNS] == 1.0:
            v, w = get(bodies, i, c.V), bodies[i, c.W]
            torque = get(bodies, i, c.TORQUE)
            o = vec.sub(vec.matvec(get9(bodies, i, c.K), torque), get(bodies, i, c.EXCESS))
            d = turn.change(v, w, vec.transposed_matvec(get9(bodies, i, c.R_1), o))
            v = vec.add(v, d)
            put(bodies, i, c.V, v)
            finish(bodies, i, v, turn.next_cosine(v, w))
            arena.add(bodies, i, c.L_1, vec.transposed_matvec(get9(bodies, i, c.R), torque))
            # Newton's method leaves open the products of these changes
            largest = max(largest, vec.size(d), sqrt(vec.size(d) * per * moved))
            bad += 0.0 * vec.size(d)  # nan, which a maximum may pass over
    return largest + bad


@inlined
def move_joined(m, h):
    """Move all bodies with joints by Newton's method; return the number of iterations, -1 where it
    fails.
    """
    largest, iterations = 0.0, 0
    begin_joined(m)
    for _ in range(ITERATIONS):
        linearize_bodies(m, h)
        joint_blocks.linearize(m)
        joint_blocks.solve(m, h, c.END_WA)
        joint_blocks.spread(m, c.D, c.P_1, True)
        largest = correct(m, h)
        iterations += 1
        if not largest >= CLOSE:
            break
    if not largest < CLOSE:
        joint_blocks.linearize(m)  # residuals with the last impulses
        arena.counters(m)[c.FAILURE], arena.counters(m)[c.WHERE] = (
            JOINT_FAILED,
            joint_blocks.largest_residual(m),
        )
        return -1
    return iterations


@part
def move(m, h):
    """Move all bodies by a step of h with the momenta P_1, L_1, to which the joints' impulses are
    added; return the number of iterations, -1 where it fails.
    """
    turn_as_prescribed(m, h)
    free = move_free(m, h)
    if free < 0:
        return -1
    joined = move_joined(m, h) if len(arena.blocks(m)) > 0 else 0
    return -1 if joined < 0 else free + joined


@inlined
def way(bodies, i):
    """Return a bound of the way of all points of the shapes of body i in the step [m]."""
    moved = vec.size(vec.sub(get(bodies, i, c.X_1), get(bodies, i, c.X)))
    turned = vec.size(get(bodies, i, c.V)) if bodies[i, c.TURNS] != 0.0 else 0.0
    return moved + HALF_TURN * turned * bodies[i, c.REACH]


@inlined
def put_rates(bodies, i, rate):
    """Set the rates from which the next step is guessed to one rate, where the steps before give
    none.
    """
    put(bodies, i, c.V_1, rate)
    put(bodies, i, c.V_2, rate)
    put(bodies, i, c.V_3, rate)
    put(bodies, i, c.V_4, rate)


@part
def commit(m, h, has_rate):
    """Make the end of the step the node; with `has_rate` h is long enough for rates of turning."""
    joint_blocks.add_up(m)
    bodies = arena.bodies(m)
    for i in range(len(bodies)):
        if bodies[i, c.REACH] > 0.0:
            bodies[i, c.WAY] += way(bodies, i)
        p = vec.axpy(0.5 * h, get(bodies, i, c.F), get(bodies, i, c.P_1))
        if bodies[i, c.DRAG_X] != 0.0:
            moved = vec.sub(get(bodies, i, c.X_1), get(bodies, i, c.X))
            p = vec.axpy(-bodies[i, c.DRAG_X], moved, p)
        put(bodies, i, c.X, get(bodies, i, c.X_1))
        put(bodies, i, c.P, p)
        if bodies[i, c.TURNS] != 0.0:
            b = vec.axpy(0.5 * h, get(bodies, i, c.TAU), get(bodies, i, c.L_1))
            back = turn.sideways(2.0 / h, get(bodies, i, c.J), get(bodies, i, c.V))
            b = vec.axpy(-2.0 * bodies[i, c.DRAG_W], get(bodies, i, c.V), b)
            put(bodies, i, c.L, vec.axpy(-2.0, back, b))
            # the norm of the node before, which is known long before Q_1 is
            s, q = unit_quaternion.repair(get4(bodies, i, c.Q)), get4(bodies, i, c.Q_1)
            put(bodies, i, c.Q, (s * q[0], s * q[1], s * q[2], s * q[3]))
            put9(bodies, i, c.R, get9(bodies, i, c.R_1))
            if has_rate:
                v, rate = get(bodies, i, c.V), get(bodies, i, c.V_1)
                if vec.size(vec.axpy(-h, rate, v)) <= LONGEST_CHANGE:
                    put(bodies, i, c.V_4, get(bodies, i, c.V_3))
                    put(bodies, i, c.V_3, get(bodies, i, c.V_2))
                    put(bodies, i, c.V_2, rate)
                    put(bodies, i, c.V_1, vec.scale(1.0 / h, v))
                else:
                    put_rates(bodies, i, vec.scale(1.0 / h, v))
