"""Why a step of a model was not taken, in sentences; where no impulse was found, with a verdict on
whether one exists (doc/nonsmooth.md, S.22 to S.25).
"""

import numpy as np

from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import smooth, step
from rbdyn_ros.mechanics.arena import Arena
from rbdyn_ros.mechanics.contact import exchange, friction, impact
from rbdyn_ros.mechanics.contact.lagrangian import LARGEST
from rbdyn_ros.mechanics.description import jacobian, joints
from rbdyn_ros.mechanics.description.rows import WORLD
from rbdyn_ros.mechanics.packing import bind_once, part
from rbdyn_ros.mechanics.solvers import existence
from rbdyn_ros.types import Array

PIECES = 10  # halvings in which the start of a step is moved to the instant at which it fails
REACH = 4.0  # times the fastest body's way in two of the last pieces: gaps that may close
SMALLER, LESS = "take a smaller step", "take less friction"


def failure(model, of_active: bool = False) -> str:
    """Return why the last step was not taken, and what helps, in a sentence without its full stop;
    it names the body, the joint or the contact. See `judge`.
    """
    code, where = (int(x) for x in part(model.arena, "counters")[[c.FAILURE, c.WHERE], 0])
    verdict, pairs = judge(model, of_active)
    if verdict.kind == existence.JAMMED:
        return _jam(model, verdict, pairs)
    if verdict.kind == existence.LOCKED:
        names = (contact_name(model, pair) for pair in pairs)
        return f"{existence.describe_lock(names)}; {LESS}"
    if code == smooth.BODY_FAILED:
        name, most = model.names.bodies[where], smooth.ITERATIONS
        return f"Newton's method finds no turn of {name} within {most} iterations; {SMALLER}"
    if code == smooth.JOINT_FAILED:
        name = joint_name(model, model.owners[where])
        most = f"at most {smooth.ITERATIONS} iterations of Newton's method"
        return f"the {name} is not closed after {most}; {SMALLER}"
    if code == exchange.MEET_FAILED:
        return (
            f"{contact_name(model, where)} meets another contact in one impact; the energetic law "
            "knows one at a time: take impact_law poisson"
        )
    known, helps = "whether one exists is not known", SMALLER
    if verdict.kind == existence.SMOOTH:
        known = "without friction one exists, with it that is not known"
        helps = f"{LESS} or a smaller step"
    if verdict.kind == existence.EXISTS:
        most = LARGEST * part(model.arena, "clock")[c.SPEED, 0]
        refused = f"those that give more than {most:g} m/s are refused"
        known = f"one exists, for all contacts can open at once ({refused})"
    if code == friction.CONTACT_FAILED:
        what = f"no impulse was found that obeys the law of {contact_name(model, where)}"
    elif code == exchange.LAW_FAILED:
        what = f"no impulse was found by the energetic law of {contact_name(model, where)}"
    elif code == step.ROUNDS_FAILED:
        rounds = f"bodies and impulses do not agree within {step.ROUNDS} rounds"
        what = f"{rounds}; {contact_name(model, where)} is one of them"
    else:
        what, known, helps = "the instant of an impact is not found", "", SMALLER
    return "; ".join(filter(None, (what, known, helps)))


@np.errstate(over="ignore", invalid="ignore")  # numbers that are too large may be the reason
def judge(model, of_active: bool = False) -> tuple[existence.ExistenceVerdict, Array]:
    """Return the verdict on the impulses of what touches where the last step failed, and the pairs
    of its contacts; or on those of the active pairs at its start, as if they touched.
    """
    at = model._replace(arena=Arena(model.arena.f.copy(), model.arena.z.copy()))
    clock, pairs = part(at.arena, "clock"), part(at.arena, "pairs")
    advance = bind_once(step.advance, at.arena, 1e-3, 1)
    piece = 0.0 if of_active else clock[c.STEP, 0]
    pairs[:, c.E] = 0.0  # no restitution makes a jam of what is none
    for _ in range(PIECES if piece > 0.0 else 0):
        piece *= 0.5
        advance(at.arena, piece, 1)
    clock[c.STARTED] = 0.0
    advance(at.arena, 0.0, int(step.OBSERVE))  # sets the gaps
    clock[c.STARTED] = 1.0
    bodies, integers = part(at.arena, "bodies"), part(at.arena, "pair_integers")
    v = bodies[:, c.DRIVE : c.DRIVE + 3] + bodies[:, c.IM : c.IM + 3] * bodies[:, c.P : c.P + 3]
    w = bodies[:, c.IJ : c.IJ + 3] * bodies[:, c.L : c.L + 3]
    unit, ahead = clock[c.LENGTH, 0], 2.0 * piece
    fastest = (np.linalg.norm(v, axis=1) + unit * np.linalg.norm(w, axis=1)).max()
    touching = impact.TOUCHING * unit
    near = pairs[:, c.GAP] <= touching + REACH * ahead * fastest
    near = np.flatnonzero(near | (integers[:, c.CLOSED] != 0))
    if of_active:
        near = part(model.arena, "active")[: part(model.arena, "counters")[c.ACTIVE, 0], 0].copy()
        pairs[near, c.GAP] = 0.0
    gaps = np.where(integers[near, c.CLOSED] != 0, 0.0, pairs[near, c.GAP])
    integers[:, c.CLOSED] = 0
    integers[near, c.CLOSED] = 1
    advance(at.arena, 0.0, int(step.OBSERVE))  # sets the frames
    problem, inverse, momenta = _problem(at, near)
    problem.b[::3] += np.where(gaps > touching, gaps, 0.0) / max(ahead, 1e-300)
    few = len(near) <= existence.FEW  # others are not looked at one by one
    W, q = _delassus(problem, inverse, momenta) if few else (None, None)
    return existence.decide(problem, LARGEST * clock[c.SPEED, 0], W, q), near


def _delassus(
    problem: existence.ExistenceProblem, inverse: Array, momenta: Array
) -> tuple[Array, Array]:
    """Return (W, q) of the contacts, u = W r + q, at which the joints react; `inverse` are those
    of the masses.
    """
    D, G = problem.D.toarray(), problem.G.toarray()
    reaction = np.linalg.pinv(G * inverse @ G.T, rcond=1e-12)
    free = inverse * momenta
    free -= inverse * (G.T @ (reaction @ (G @ free - problem.g)))
    coupling = G * inverse @ D.T
    return D * inverse @ D.T - coupling.T @ reaction @ coupling, D @ free + problem.b


def _problem(model, near: Array) -> tuple[existence.ExistenceProblem, Array, Array]:
    """Return the problem of the pairs `near`, whose frames are set, in the velocities that are
    not prescribed, with their inverse masses and their momenta.
    """
    from scipy import sparse  # takes a quarter of a second to import

    rows, bodies = part(model.arena, "pairs")[near], part(model.arena, "bodies")
    integers, n = part(model.arena, "pair_integers")[near], len(bodies)
    frames = rows[:, c.FRAME : c.FRAME + 9].reshape(-1, 3, 3)
    D = sparse.lil_matrix((3 * len(near), 6 * n))
    for side, sign, levers in ((c.A, 1.0, c.T_A), (c.B, -1.0, c.T_B)):
        turns = rows[:, levers : levers + 9].reshape(-1, 3, 3)
        for k in np.flatnonzero(integers[:, side] != WORLD):
            at = 6 * integers[k, side]
            D[3 * k : 3 * k + 3, at : at + 6] = sign * np.hstack([frames[k], turns[k]])
    kept = joints.select_rows(model.constraints, model.kept).rows
    q = np.hstack([bodies[:, c.X : c.X + 3], bodies[:, c.Q : c.Q + 4]])
    G, D = sparse.csc_matrix(jacobian.jacobian(kept, q)), D.tocsc()
    drive, free = np.zeros((n, 6)), np.zeros((n, 6), bool)
    drive[:, :3] = bodies[:, c.DRIVE : c.DRIVE + 3]
    free[:, :3], free[:, 3:] = bodies[:, c.IM : c.IM + 3] > 0.0, bodies[:, c.IJ : c.IJ + 3] > 0.0
    drive, free = drive.ravel(), free.ravel()
    inverse = np.hstack([bodies[:, c.IM : c.IM + 3], bodies[:, c.IJ : c.IJ + 3]]).ravel()
    momenta = np.hstack([bodies[:, c.P : c.P + 3], bodies[:, c.L : c.L + 3]]).ravel()
    problem = existence.ExistenceProblem(
        D[:, free], D @ drive, rows[:, c.MU], G[:, free], -(G @ drive)
    )
    return problem, inverse[free], momenta[free]


def _jam(model, verdict: existence.ExistenceVerdict, pairs: Array) -> str:
    """Return the sentence that names what carries the impulses of a certificate."""
    P, nu = verdict.P > existence.CARRIES, np.abs(verdict.nu) > existence.CARRIES
    kept = joints.select_rows(model.constraints, model.kept)
    named = [contact_name(model, pair) for pair in pairs[P]]
    held = [joint_name(model, kept.joint[row]) for row in np.flatnonzero(nu)]
    names, held = list(dict.fromkeys(named + held)), list(dict.fromkeys(held))
    integers = part(model.arena, "pair_integers")[pairs[P]]
    drive = part(model.arena, "bodies")[:, c.DRIVE : c.DRIVE + 3].any(axis=1)
    carriers = {*integers[:, c.A], *integers[:, c.B], *kept.rows.a[nu], *kept.rows.b[nu]}
    moving = [model.names.bodies[i] for i in np.flatnonzero(drive) if i in carriers]
    helps = [f"stop the motion of {' and '.join(moving)} earlier"]
    helps += [f"replace the {name} by a spring" for name in held]
    press = "press against each other" if len(names) > 1 else "is pressed"
    return (
        f"no impulse exists: {existence.join_names(names)} {press} and nothing gives way "
        "(certificate: impulses in equilibrium on which the required velocities do work); "
        f"{' or '.join(helps)}"
    )


def contact_name(model, pair: int) -> str:
    """Return the name of the contact of a pair, and its bodies."""
    bodies = model.names.bodies
    a, b = (int(body) for body in part(model.arena, "pair_integers")[pair, [c.A, c.B]])
    name = model.names.contacts[model.names.contact_of[pair]]
    return f"{name} ({bodies[a]} on {'the world' if b == WORLD else bodies[b]})"


def joint_name(model, number: int) -> str:
    """Return the name of a joint."""
    return model.constraints.names[model.constraints.joint.index(number)].rsplit(", row ", 1)[0]
