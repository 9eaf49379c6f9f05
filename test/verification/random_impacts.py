"""Random impacts of one body with one to three contacts against the law of impacts, dense and in
Python.

    python test/verification/random_impacts.py [--impacts N] [--first SEED]

The body has a joint to the world where the seed is odd; all its contacts touch at the start. The
impulses that the model reports must obey the law of its option at the velocities that a dense W
gives: no contact approaches, friction obeys Coulomb's law, and no energy is gained except by
Newton's law. Printed is what does not; `test_random_impacts.py` of the contacts checks some.
"""

import argparse
from typing import NamedTuple

import numpy as np

from rbdyn_ros.bodies import columns as c
from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.contact import restitution
from rbdyn_ros.bodies.description import contact_pairs, jacobian, joint_kinds
from rbdyn_ros.bodies.description.rows import WORLD
from rbdyn_ros.geometry import quaternion, vec
from rbdyn_ros.numerics.solvers import fc3d

H = 1e-3  # [s]


class Impact(NamedTuple):
    """What an impact was, and how it went: velocities in units of the largest before it."""

    law: str
    contacts: int
    joint: bool
    mu: float
    e: float
    reason: str  # why no impulses were found
    approach: float  # the largest velocity at which a contact still approaches
    unlawful: float  # the largest error of Coulomb's law
    gained: float  # energy, over that before
    W: np.ndarray  # (3n, 3n)
    u: np.ndarray  # (3n,) before the impact
    P: np.ndarray  # (3n,)


def random_model(seed):
    """A model whose contacts touch and approach, and what `Impact` begins with."""
    random = np.random.default_rng(seed)
    law, n = str(random.choice(restitution.LAWS)), int(random.integers(1, 4))
    mu, e = float(random.uniform(0.0, 1.5)), float(random.choice([0.0, 0.3, 0.5, 0.8, 1.0]))
    x, turn = random.uniform(-1.0, 1.0, 3), quaternion.normalize(random.normal(size=4))
    box = shapes.box(random.uniform(0.1, 0.5, 3), mass=float(random.uniform(0.5, 2.0)))
    bodies, q, v = shapes.assemble([box._replace(position=tuple(x), orientation=tuple(turn))])
    constraints = joint_kinds.assemble(1)
    if seed % 2:
        p, s = random.uniform(-0.3, 0.3, 3), random.normal(size=3)
        at = x + quaternion.rotate(turn, p)
        back = quaternion.rotate(quaternion.conjugate(turn), s)
        across = np.linalg.svd(s[None])[2][1]
        made = joint_kinds.hinge(0, p, WORLD, at, back, s), joint_kinds.ball_joint(0, p, WORLD, at)
        made += (
            joint_kinds.plane(0, p, WORLD, s, at),
            joint_kinds.universal(0, p, WORLD, at, back, across),
        )
        constraints = joint_kinds.assemble(1, made[random.integers(4)])
    v = random.normal(size=6)
    J = jacobian.jacobian(constraints.rows, q)
    v -= np.linalg.pinv(J) @ (J @ v) if len(J) else 0.0
    touches = []
    for _ in range(n):
        p, normal = random.uniform(-0.3, 0.3, 3), random.normal(size=3)
        arm = quaternion.rotate(turn, p)
        moves = v[:3] + np.cross(quaternion.rotate(turn, v[3:]), arm)
        normal *= -np.sign(normal @ moves) / np.linalg.norm(normal)
        touches.append(contact_pairs.corner(0, p, n=normal, s=x + arm, mu=mu, e=e))
    options = models.Options(impact_law=law)
    model = models.build(
        bodies, q, v[None], constraints, contact_pairs.build(1, *touches), options
    )
    return model, (law, n, bool(seed % 2), mu, e)


def delassus(model, q):
    """(W, D, frames) of the contacts of the only body, its joint reacting."""
    pose, D = q[0], []
    for k in range(len(model.pairs.kind)):
        touch = contact_pairs.touch(model.pairs, k, q)
        T, R = np.array(vec.frame(touch.normal)), quaternion.to_matrix(pose[3:])
        D.append(np.hstack([T, T @ R @ np.cross(touch.on_a, np.eye(3))]))
    D = np.vstack(D)
    M = np.diag(np.r_[np.repeat(model.bodies.mass, 3), model.bodies.inertia[0]])
    A = jacobian.jacobian(model.constraints.rows, q)
    root = np.sqrt(np.linalg.inv(M))
    B = A @ root
    free = np.eye(6) - np.linalg.pinv(B, 1e-10) @ B if len(B) else np.eye(6)
    return D @ root @ free @ root @ D.T, D, M


def strike(seed):
    """The Impact of a seed."""
    model, what = random_model(seed)
    q, v = models.state(model)
    W, D, M = delassus(model, q)
    u, before = D @ v[0], 0.5 * v[0] @ M @ v[0]
    models.contact_impulses(model)
    models.advance(model, H, 0)
    started = models.part(model, "clock")[c.STARTED, 0] == 1.0
    world = models.contact_impulses(model)[:, 1:]
    P = np.concatenate([D[3 * k : 3 * k + 3, :3] @ world[k] for k in range(len(world))])
    after, size = u + W @ P, np.abs(u).max()
    mu, w, wrong = what[3], W.trace() / len(W), 0.0
    for k in range(0, len(P), 3):
        r, own = P[k : k + 3], after[k : k + 3]
        # without the part of the normal, which depends on the law: what Coulomb's law changes
        lifted = (0.0 if r[0] > 0.0 else max(own[0], 0.0), own[1], own[2])
        wrong = max(wrong, np.abs(fc3d.natural(tuple(r), lifted, mu, w)).max())
    gained = P @ (u + after) / 2.0 / before
    reason = "" if started else models.failure(model)
    return Impact(*what, reason, -after[::3].min() / size, wrong / size, gained, W, u, P)


def is_amiss(found, allowed):
    """Whether an Impact breaks its law, or found no impulses where the law has any."""
    if "knows one at a time" in found.reason:
        return False
    gains = found.gained > 1e-9 and found.law != "newton"
    # the friction of Poisson's law is that of two phases, Stronge's follows the collision
    wrong = found.unlawful if "newton" in found.law else 0.0
    return bool(found.reason) or gains or max(found.approach, wrong) > allowed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--impacts", type=int, default=1500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--allowed", type=float, default=1e-7, help="of the velocities before")
    arguments = parser.parse_args()
    count = 0
    for seed in range(arguments.first, arguments.first + arguments.impacts):
        found = strike(seed)
        if is_amiss(found, arguments.allowed):
            count += 1
            print(seed, *found[:6], *(f"{x:.2g}" for x in found[6:9]), flush=True)
    print(f"{count} of {arguments.impacts} impacts are amiss")


if __name__ == "__main__":
    main()
