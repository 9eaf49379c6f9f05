"""Random models against an independent formulation: dense, in Python, from the equations and not
from the kernels.

    python test/verification/random_models.py [--models N] [--first SEED] [--steps K]

A step is checked, not repeated: with the impulses that it reports, the places that it found must
obey the equations of doc/nonsmooth.md (M.5 to M.8, M.15, M.16) and the law of every contact.
Printed are the steps that were not taken, with their reasons, and the largest errors.
`test/bodies/test_random_models.py` checks some models in the same way.
"""

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs, jacobian, joint_kinds
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion, vec
from rbdyn_ros.numerics.solvers import fc3d

H = 2e-3  # [s]


def random_joint(random, q, a, b):
    at = q[a, :3] + random.uniform(-0.1, 0.1, 3)
    p, s = joint_kinds.local(q, a, at), joint_kinds.local(q, b, at)
    axis = random.normal(size=3)
    relative = (
        q[a, 3:] if b == WORLD else quaternion.product(quaternion.conjugate(q[b, 3:]), q[a, 3:])
    )
    axis_a = quaternion.rotate(quaternion.conjugate(relative), axis)
    across = np.linalg.svd(axis[None])[2][1]
    across_a = quaternion.rotate(quaternion.conjugate(relative), across)
    kinds = (
        lambda: joint_kinds.ball_joint(a, p, b, s),
        lambda: joint_kinds.hinge(a, p, b, s, axis_a, axis),
        lambda: joint_kinds.universal(a, p, b, s, across_a, axis),
        lambda: joint_kinds.plane(a, p, b, axis, s),
        lambda: joint_kinds.prismatic(a, p, b, s, axis, relative),
        lambda: joint_kinds.fixed(a, p, b, s, relative),
    )
    return kinds[random.integers(len(kinds))]()


def random_model(seed):
    """Up to six bodies, some on the floor, some on each other, some coupled by joints (the odd
    seeds), with a start.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 7))
    q = np.zeros((n, 7))
    parts = []
    for i in range(n):
        turned = quaternion.normalize(random.normal(size=4))
        q[i] = [*(0.35 * random.normal(size=2)), 0.15 + 0.25 * i, *turned]
        spin = dict(
            velocity=tuple(random.normal(size=3)),
            angular_velocity=tuple(3.0 * random.normal(size=3)),
        )
        place = dict(position=tuple(q[i, :3]), orientation=tuple(turned))
        parts.append(shapes.box(random.uniform(0.1, 0.3, 3), density=500.0, **place, **spin))
    bodies, q, v = shapes.assemble(parts)
    links = []
    if seed % 2:
        links = [
            random_joint(random, q, i, int(random.integers(-1, i)))
            for i in range(n)
            if random.uniform() < 0.7
        ]
    constraints = joint_kinds.assemble(n, *links)
    if links:
        J = jacobian.jacobian(constraints.rows, q)
        v = (v.ravel() - np.linalg.pinv(J) @ (J @ v.ravel())).reshape(n, 6)
    law = dict(mu=float(random.choice([0.0, 0.3, 1.0])), e=float(random.choice([0.0, 0.5])))
    touches = [
        contact_pairs.ball(i, 0.05, p, **law)
        for i in range(n)
        for p in random.uniform(-0.05, 0.05, (3, 3))
    ]
    touches += [contact_pairs.balls(i, 0.05, j, 0.05, **law) for i in range(n) for j in range(i)]
    q[:, 2] += 0.05 - min(
        0.0, contact_pairs.gaps(contact_pairs.build(n, *touches[: 3 * n]), q).min()
    )
    if links:  # what is coupled to the world would be moved away from it
        constraints = joint_kinds.assemble(
            n,
            *(link for link in links if (np.array([row[2] for row in link.rows]) != WORLD).all()),
        )
    candidates = contact_pairs.build(n, *touches)
    apart = [touch for touch, gap in zip(touches, contact_pairs.gaps(candidates, q)) if gap > 0.0]
    return bodies, q, v, constraints, contact_pairs.build(n, *apart)


def turn_of(q_0, q_1):
    """v of the relative turn."""
    F = quaternion.product(quaternion.conjugate(q_0), q_1)
    return np.sign(F[:, :1]) * F[:, 1:], np.abs(F[:, 0])


def equations(bodies, q, q_1, P, L, reactions, contacts, model):
    """(residual of the momenta, momenta that arrive), from places, momenta at the node and
    impulses.
    """
    v, w = turn_of(q[:, 3:], q_1[:, 3:])
    J = bodies.inertia
    linear = bodies.mass[:, None] * (q_1[:, :3] - q[:, :3]) / H
    straight, sideways = 2.0 / H * w[:, None] * J * v, 2.0 / H * np.cross(v, J * v)
    force = 0.5 * H * bodies.mass[:, None] * bodies.gravity
    residual = np.hstack([linear - P - force, straight + sideways - L])
    for i, joint in enumerate(reactions):
        row = model.constraints.joint.index(i)
        for side, body in enumerate(
            (model.constraints.rows.a[row], model.constraints.rows.b[row])
        ):
            if body != WORLD:
                residual[body] -= joint[side]
    for (a, b, on_a, on_b), impulse in contacts:
        for body, point, sign in ((a, on_a, 1.0), (b, on_b, -1.0)):
            if body != WORLD:
                residual[body, :3] -= sign * impulse
                back = quaternion.rotate(quaternion.conjugate(q[body, 3:]), sign * impulse)
                residual[body, 3:] -= np.cross(point, back)
    return residual, np.hstack([linear + force, straight - sideways])


def carried(q, q_1, body, p, p_1):
    """How far a body has carried the contact, which moves over it from p to p_1 [in it]: with the
    vector of the skew part of R_1 R^T, which is the sine of the turn, and as much of the change of
    the lever as the cosine lacks to 1, halved.
    """
    if body == WORLD:
        return np.zeros(3)
    R, R_1 = quaternion.to_matrix(q[body, 3:]), quaternion.to_matrix(q_1[body, 3:])
    skew = 0.5 * (R_1 @ R.T - R @ R_1.T)
    sine = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    before, after = R @ p, R_1 @ p_1
    lacks = 0.25 * (3.0 - np.trace(R_1 @ R.T))
    moved = np.cross(sine, 0.5 * (before + after)) + lacks * (after - before)
    return q_1[body, :3] - q[body, :3] + moved


def checked_step(model):
    """One step of the model; (largest error of momenta [m/s], of the joints, of the contact law
    [m/s]), None after an impact. ArithmeticError where the step is not taken.
    """
    bodies, rows = model.bodies, models.part(model, "bodies")
    flags = models.part(model, "pair_integers")
    q, P, L = models.state(model)[0], rows[:, c.P : c.P + 3].copy(), rows[:, c.L : c.L + 3].copy()
    models.joint_impulses(model)
    models.contact_impulses(model)
    met, closed = len(models.impacts(model)), flags[:, c.CLOSED].copy()
    if models.advance(model, H, 1) != 1:
        raise ArithmeticError(models.failure(model))
    if len(models.impacts(model)) > met or models.part(model, "counters")[c.TRIALS, 0] > 0:
        models.part(model, "counters")[c.TRIALS] = 0
        return None
    q_1 = models.state(model)[0]
    reactions = models.joint_impulses(model).reshape(-1, 12)
    impulses = models.contact_impulses(model)[:, 1:]
    contacts, law = [], 0.0
    for k in np.flatnonzero(closed):
        a, b, touch = model.pairs.a[k], model.pairs.b[k], contact_pairs.touch(model.pairs, k, q)
        contacts.append(((a, b, touch.on_a, touch.on_b), impulses[k]))
        T = np.array(vec.frame(touch.normal))
        after = contact_pairs.touch(model.pairs, k, q_1)
        u = T @ (carried(q, q_1, a, touch.on_a, after.on_a)) / H
        u -= T @ (carried(q, q_1, b, touch.on_b, after.on_b)) / H
        u[0] = after.gap / H
        u[1:] += models.part(model, "pairs")["shift"][k]
        natural = fc3d.natural(
            tuple(T @ impulses[k]), tuple(u), float(model.pairs.mu[k]), 1.0 / bodies.mass.mean()
        )
        law = max(law, np.abs(natural).max())
    residual, arrives = equations(
        bodies, q, q_1, P, L, reactions.reshape(-1, 2, 6), contacts, model
    )
    found = np.hstack([rows[:, c.P : c.P + 3], rows[:, c.L : c.L + 3]])
    scale = np.hstack([np.repeat(bodies.mass[:, None], 3, axis=1), bodies.inertia])
    error = max(np.abs(residual / scale).max(), np.abs((found - arrives) / scale).max())
    opening = np.abs(jacobian.values(model.constraints.rows, q_1)).max(initial=0.0)
    return error, opening, law


class Outcome(NamedTuple):
    """How a model went."""

    reason: str  # why it stopped, "" if it did not
    steps: int  # that were checked
    touching: int  # with closed contacts
    stalled: int  # in which more contacts stick than there are motions
    # largest errors (momenta [m/s], joints [m], contact law [m/s]): of the steps that did not
    # stall, of those that did
    exact: tuple
    inexact: tuple


def run(seed: int, steps: int) -> Outcome:
    """The outcome of the model of a seed over so many steps."""
    bodies, q, v, constraints, touches = random_model(seed)
    model = models.build(bodies, q, v, constraints, touches)
    counters, counts = models.part(model, "counters")[:, 0], np.zeros(3, int)
    worst, reason = np.zeros((2, 3)), ""
    for _ in range(steps):
        try:
            found = checked_step(model)
        except ArithmeticError as error:
            reason = str(error)
            break
        if found is None:
            continue
        has_stalled = counters[c.STALLS] > 0
        counters[c.STALLS] = 0
        counts += 1, counters[c.ACTIVE] > 0, has_stalled
        worst[int(has_stalled)] = np.maximum(worst[int(has_stalled)], found)
    return Outcome(reason, *counts.tolist(), *map(tuple, worst.tolist()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--verbose", action="store_true", help="name each model that is amiss")
    arguments = parser.parse_args()
    outcomes = []
    for seed in range(arguments.first, arguments.first + arguments.models):
        outcomes.append(run(seed, arguments.steps))
        found = outcomes[-1]
        worst = np.maximum(found.exact, found.inexact)
        amiss = found.reason or (worst > (2e-10, 1e-13, 2e-10)).any()
        if arguments.verbose and amiss:
            print(seed, found, flush=True)
    reasons = Counter(o.reason for o in outcomes if o.reason)
    print(f"{sum(reasons.values())} of {len(outcomes)} models stopped")
    for reason, count in reasons.most_common():
        print(f"  {count}: {reason}")
    totals = np.sum([(o.steps, o.touching, o.stalled) for o in outcomes], axis=0)
    print("{} steps checked, {} with contacts, {} stalled".format(*totals))
    for word in ("exact", "inexact"):
        errors = np.array([getattr(o, word) for o in outcomes])
        largest = ", ".join(f"{x:.2g}" for x in errors.max(axis=0))
        print(f"{word}: largest errors of momenta, joints, contact law: {largest}")
        print(f"  over (2e-10, 1e-13, 2e-10): {(errors > (2e-10, 1e-13, 2e-10)).sum(axis=0)}")


if __name__ == "__main__":
    main()
