"""Random falls of the pendulum over a floor, between rail ends, with a sphere: how many end in a
fault, and what they gain.

    python test/verification/random_falls.py [--falls N] [--seed K] [--seconds S] [--obstacles]
                                             [--laws]

With --obstacles boxes, cylinders and spheres stand around, and in one of three falls a wall comes
slowly.

mu from 0 to 1.5, e_n from 0 to 1, steps of 1 to 20 ms; carts are fixed, massless, light, heavy.
Printed are the faults with their reasons, the largest gain of energy in a step, how far a contact
force lies outside of its cones at both ends of a step (steps in which a curved obstacle is met are
left out), how far one pulls, and how deep something overlaps at the end of a step.
`test/pendulum/test_random_falls.py` runs a small sample of the same.
"""

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from rbdyn_ros.bodies.contact.restitution import LAWS, NEWTON
from rbdyn_ros.geometry import unit_quaternion, vec
from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum import obstacles, world
from rbdyn_ros.pendulum.bodies import explain_failure
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, no_input, quantities, upright
from rbdyn_ros.types import Contacts, State

STEPS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2)  # [s]
MASSES = (0.0, 0.1, 2.0, 2.0, 100.0)  # [kg] of the cart


class Fall(NamedTuple):
    """What is dropped, and how it is stepped."""

    params: Params
    tilt: float  # [rad]
    azimuth: float  # [rad]
    v: np.ndarray  # (5,)
    h: float  # [s]


class Outcome(NamedTuple):
    """How a fall went."""

    reason: str  # why it stopped, "" if it did not
    time: float  # [s] when it ended
    gain: float  # [J] largest rise of the energy in a step, but for the work of what moves
    excess: float  # [N] how far a mean contact force lies outside of the cones of both ends
    pull: float  # [N] largest pulling force of a contact, seen from both ends
    balance: float  # [J] energy at the end, less that at the start and the work of the contacts
    overlap: float  # [m] deepest overlap at the end of a step


def draw(rng, fixed_share: float = 0.2) -> Fall:
    """A random fall that begins above everything."""
    while True:
        wide, mu = rng.uniform(0.2, 1.0), rng.choice([0.0, 0.1, 0.3, 0.8, 1.5])
        e = rng.choice([0.0, 0.0, 0.3, 0.5, 0.9, 1.0])
        contacts = Contacts(1.0, rng.choice([-0.1, -0.1, -1.0, -2.0]), mu, e, length=2.4)
        if rng.uniform() < 0.7:
            contacts = contacts._replace(
                stop_low=(-wide, -wide), stop_high=(wide, wide), stop_restitution=e
            )
        if rng.uniform() < 0.6:
            at = (*rng.uniform(-1.5, 1.5, 2), rng.uniform(contacts.floor_height, 0.4))
            friction = {
                "obstacle_friction": rng.choice([0.0, 0.5, 1.0]),
                "obstacle_restitution": e,
            }
            contacts = contacts._replace(
                obstacle=world.SPHERE, obstacle_point=at, obstacle_radius=0.25, **friction
            )
        spin = rng.choice([0.0, 10.0]) * rng.normal()
        v = np.concatenate([1.5 * rng.normal(size=2), 2.0 * rng.normal(size=2), [spin]])
        params = Params(contacts=contacts, cart_fixed=bool(rng.uniform() < fixed_share))
        fall = Fall(
            params,
            rng.uniform(0.1, 1.2),
            rng.uniform(-np.pi, np.pi),
            v,
            rng.choice(STEPS),
        )
        mass = MASSES[int(len(MASSES) * rng.uniform())]
        fall = fall._replace(params=params._replace(cart_mass=mass))
        if min(world.gaps(contacts, upright(fall.tilt, fall.azimuth)).values()) > 0.02:
            return fall


def with_law(fall: Fall, law: float) -> Fall:
    """The same fall with another law of impacts."""
    contacts = fall.params.contacts._replace(impact_law=law)
    return fall._replace(params=fall.params._replace(contacts=contacts))


def draw_among_obstacles(rng) -> Fall:
    """A random fall that begins above everything, one to three obstacles among it."""
    while True:
        fall, made = draw(rng, 0.0), []
        law = {"friction": rng.choice([0.0, 0.3, 1.0]), "restitution": rng.choice([0.0, 0.5, 0.9])}
        for k in range(rng.integers(1, 4)):
            shape, Q = rng.choice(["box", "cylinder", "sphere"]), rng.normal(size=4)
            box, cylinder = rng.uniform(0.2, 0.8, 3), rng.uniform(0.1, 0.6, 2)
            size = {"box": box, "cylinder": cylinder, "sphere": [0.25]}[shape]
            at = (*rng.uniform(-2.0, 2.0, 2), rng.uniform(-0.8, 1.0))
            Q = tuple(Q / np.linalg.norm(Q))
            made.append(obstacles.Obstacle(f"n{k}", shape, at, Q, tuple(size), **law))
        if rng.uniform() < 0.33:
            a, far = rng.uniform(-np.pi, np.pi), 3.5
            n = -np.cos(a), -np.sin(a), 0.0
            velocity, at = (tuple(s * component for component in n) for s in (0.3, -far))
            wall = obstacles.Obstacle("wall", "wall", at, normal=n, velocity=velocity, **law)
            made.append(wall)
        nowhere = dict(stop_low=(-np.inf,) * 2, stop_high=(np.inf,) * 2, obstacle=0.0)
        made = obstacles.candidates(tuple(made))
        low = fall.params.contacts._replace(floor_height=-1.2, obstacles=made)
        contacts = low._replace(**nowhere)
        if min(world.gaps(contacts, upright(fall.tilt, fall.azimuth)).values()) > 0.02:
            return fall._replace(params=fall.params._replace(contacts=contacts))


def friction(contacts: Contacts, i: int) -> float:
    """mu of candidate i."""
    if i >= world.FIXED:
        o = contacts.obstacles[i - world.FIXED]
        return 0.0 if o["kind"] == obstacles.WALL_CART else o["friction"]
    fixed = {world.FLOOR: contacts.floor_friction, world.OBSTACLE: contacts.obstacle_friction}
    return fixed.get(i, 0.0)


def has_turning_normal(contacts: Contacts, i: int) -> bool:
    """Whether the normal of candidate i changes as the pendulum moves along it."""
    if i >= world.FIXED:
        return contacts.obstacles[i - world.FIXED]["kind"] < obstacles.WALL_TIP
    return i == world.OBSTACLE and contacts.obstacle == world.SPHERE


def beyond_cone(force: np.ndarray, axes: np.ndarray, mu: float) -> float:
    """|F_T| - mu F_N [N] of a force [world] in a contact frame, whose rows are n, t1, t2."""
    force = axes @ force
    return np.hypot(*force[1:]) - mu * force[0]


def beyond_cones(force: np.ndarray, frames: tuple[np.ndarray, ...], mu: float) -> float:
    """The distance [N] of a force [world] from the sum of the cones of all frames."""
    edges = []
    for axes in frames:
        n, t1, t2 = axes @ force
        for a in np.arctan2(t2, t1) + np.linspace(0.0, 2.0 * np.pi, 64 if mu > 0.0 else 1):
            edges.append(axes.T @ (1.0, mu * np.cos(a), mu * np.sin(a)))
    return nnls(np.array(edges).T, force)[1]


def frame_at(contacts: Contacts, i: int, q: np.ndarray, t: float) -> np.ndarray:
    """The frame of candidate i at a pose: forces of a step act in that of its start."""
    R = unit_quaternion.matrix(tuple(q[2:].tolist()))
    place = tuple(q[:2].tolist()), (R[0][2], R[1][2], R[2][2])
    return np.array(vec.frame(world.touch(contacts, i, *place, t)[1]))


def run(fall: Fall, seconds: float = 4.0) -> Outcome:
    """The Outcome of a fall."""
    contacts, system = fall.params.contacts, build(fall.params)
    integrator = select("quaternion_midpoint", max_iterations=50)
    options, state, reaction = (
        integrator.options(system),
        upright(fall.tilt, fall.azimuth),
        np.zeros(3),
    )
    state.v[:] = fall.v
    state.v[:2] *= system.cart_free
    start = energy = quantities(system, state.q, state.v)[0]
    gain, excess, pull, overlap = 0.0, 0.0, 0.0, 0.0
    memory = options.contact
    force = memory.force
    velocities = np.array([world.velocity(contacts, i) for i in range(world.count(contacts))])
    for k in range(round(seconds / fall.h)):
        q = state.q.copy()
        done = integrator.advance(
            system, options, no_input(), fall.h, 1, state._replace(t=k * fall.h), reaction
        )[0]
        if done < 1:
            balance = abs(energy - start - memory.work[0])
            why = explain_failure(memory) or "no reason"
            return Outcome(why, k * fall.h, gain, excess, pull, balance, overlap)
        before, energy = energy, quantities(system, state.q, state.v)[0]
        if force.any():
            now = State(0.0, state.q, state.v)
            overlap = max(overlap, -min(world.gaps(contacts, now, (k + 1) * fall.h).values()))
        moving = np.sum(force[: len(velocities)] * velocities)
        if contacts.impact_law != NEWTON:
            gain = max(gain, energy - before - fall.h * moving)
        for i in np.flatnonzero(force.any(axis=1)):
            mu, axes = friction(contacts, i), np.array(vec.frame(tuple(memory.normal[i])))
            rubs = beyond_cone(force[i], axes, mu)
            frames = (axes, frame_at(contacts, i, q, k * fall.h))
            if rubs > 1e-3:  # half of it has acted in either frame
                rubs = beyond_cones(force[i], frames, mu)
            if memory.recorded[0] > memory.recorded_before[0] and has_turning_normal(contacts, i):
                rubs = 0.0  # the frame of an impact within the step is not known
            excess = max(excess, rubs)
            pull = max(pull, min(-frame[0] @ force[i] for frame in frames))
    balance = abs(energy - start - memory.work[0])
    return Outcome("", seconds, gain, excess, pull, balance, overlap)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--falls", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--fixed", type=float, default=0.2, help="share of fixed carts")
    parser.add_argument(
        "--obstacles", action="store_true", help="boxes, cylinders, spheres and a wall that moves"
    )
    parser.add_argument("--laws", action="store_true", help="the laws of impacts in turn")
    parser.add_argument(
        "--verbose", action="store_true", help="name each fall that faults or gains 0.05 J"
    )
    arguments = parser.parse_args()
    rng, outcomes, gains = np.random.default_rng(arguments.seed), [], {}
    for k in range(arguments.falls):
        fall = draw_among_obstacles(rng) if arguments.obstacles else draw(rng, arguments.fixed)
        if arguments.laws:
            fall = with_law(fall, float(k % len(LAWS)))
        outcomes.append(run(fall, arguments.seconds))
        gains.setdefault(fall.h, []).append(outcomes[-1].gain)
        if arguments.verbose and (outcomes[-1].reason or outcomes[-1].gain > 0.05):
            print(k, outcomes[-1], fall, flush=True)
    reasons = Counter(o.reason for o in outcomes if o.reason)
    print(f"{sum(reasons.values())} of {len(outcomes)} falls ended in a fault")
    for reason, count in reasons.most_common():
        print(f"  {count}: {reason}")
    for h, values in sorted(gains.items()):
        print(f"  {1e3 * h:g} ms: {len(values)} falls, largest gain in a step {max(values):.1e} J")
    for name in ("gain", "excess", "pull", "balance", "overlap"):
        values = np.sort([getattr(o, name) for o in outcomes])
        print(
            f"{name}: largest {values[-1]:.3g}, second {values[-2]:.3g}, median "
            f"{np.median(values):.3g}"
        )


if __name__ == "__main__":
    main()
