"""Learn a policy, by an evolution strategy, on the compiled Gymnasium environments.

    python examples/learning/train.py [balance] [--seed 0] [--generations 400] [--out balance.npz]
    python examples/learning/train.py swing_up [--seed 0] [--generations 500]
    python -m rbdyn_ros simulate --controller policy --set policy.file=./balance.npz ...

An evolution strategy (Salimans et al., "Evolution strategies as a scalable alternative to
reinforcement learning", 2017) needs no derivatives: it tries mirrored pairs of random changes of
the weights, ranks them by the mean return of the same episodes, and moves the weights by the
weighted sum of the changes, with Adam's step. One to two minutes on two cores; swing_up nine, on
two busy ones.

What swings up learns beside what balances: where the balancing policy holds the rod, inside a
level of the value function of `lqr` that is measured first, the balancing policy acts. The other
one has to learn to bring the rod there.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control.feedback import regulator
from rbdyn_ros.control.laws import lqr, policy
from rbdyn_ros.control.laws.policy import INPUTS, OUTPUTS, Catch, Network
from rbdyn_ros.environments.pendulums import Pendulums
from rbdyn_ros.kernel import kernel
from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.types import Array

PAIRS, EPISODES = 64, 32  # changes that are tried in a generation, each on as many episodes
DECAY = 5e-4  # of the weights
FORCE = 20.0  # [N]
THREADS = os.cpu_count() or 1


TILTED = {
    "start.tilt": {"uniform": [0.0, 20.0]},
    "start.x": {"uniform": [-0.8, 0.8]},
    "start.y": {"uniform": [-0.8, 0.8]},
    "start.vx": {"uniform": [-0.5, 0.5]},
    "start.vy": {"uniform": [-0.5, 0.5]},
    "start.rate": {"normal": [0.0, 0.3]},
    "start.precession": {"normal": [0.0, 0.3]},
}
HANGING = {
    "start.tilt": {"uniform": [150.0, 180.0]},
    "start.x": {"uniform": [-0.3, 0.3]},
    "start.y": {"uniform": [-0.3, 0.3]},
    "start.rate": {"normal": [0.0, 0.3]},
    "start.precession": {"normal": [0.0, 0.2]},
}
# where it is measured how far the balancing policy holds the rod
AROUND = TILTED | {
    **{f"start.{name}": {"uniform": [-1.0, 1.0]} for name in ("x", "y")},
    **{f"start.{name}": {"uniform": [-2.0, 2.0]} for name in ("vx", "vy")},
    "start.rate": {"normal": [0.0, 1.0]},
}
MEASURED, MARGIN = 16384, 0.9  # draws; of the least level at which one of them falls


class Plan(NamedTuple):
    """How a policy is learned."""

    task: str = "Balance"
    hidden: int = 16  # outputs of each of the two hidden layers
    scale: tuple[float, ...] = (1.0, 1.0, 0.3, 0.3, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)
    generations: int = 400
    deviation: float = 0.05  # of the changes
    rate: float = 0.03  # of Adam
    catches: bool = False  # whether the balancing policy takes over
    options: Mapping[str, float] = MappingProxyType({"duration": 6.0})  # of the environment
    vary: Mapping[str, Any] = MappingProxyType(TILTED)


PLANS = {
    "balance": Plan(),
    "swing_up": Plan(
        task="SwingUp",
        scale=(1.0, 1.0, 0.5, 0.5, 1.0, 2.0, 2.0, 4.0, 4.0, 4.0),
        generations=500,
        rate=0.04,
        catches=True,
        options=MappingProxyType(
            {"duration": 10.0, "rate": 0.002, "speed": 0.005, "effort": 0.0, "position": 0.03}
            | {"failure": 3.0}
        ),
        vary=MappingProxyType(HANGING),
    ),
}


@kernel
def act(weights, sizes, scale, episodes, seen, actions, catch):
    """Write the actions (n, 2) of n environments, of which `episodes` in a row have one row of
    weights.
    """
    s, work = np.zeros(INPUTS), np.zeros((2, policy.WIDEST))
    for i in range(len(seen)):
        for n in range(INPUTS):
            s[n] = seen[i, n]
        if policy.is_caught(catch.form, s):
            net = catch.network
            actions[i, 0], actions[i, 1] = policy.answer(
                net.weights, net.sizes, net.scale, s, work
            )
        else:
            own = weights[i // episodes]
            actions[i, 0], actions[i, 1] = policy.answer(own, sizes, scale, s, work)


def measure_catch() -> Catch:
    """Return the balancing policy, and the level of the value function of `lqr` within which it
    brings the rod upright.
    """
    balance = policy.read(policy.find("balance"))
    plant, weights = spherical_pendulum.build(spherical_pendulum.Params()), lqr.Options()
    _, S = regulator(plant, weights[:4], weights.force_weight, 0.02)
    form = np.zeros((INPUTS, INPUTS))
    for axis in (0, 1):
        places = [axis, 5 + axis, 2 + axis, 7 + axis]  # x, x', k, k'
        form[np.ix_(places, places)] = S
    env = Pendulums("Balance", MEASURED, AROUND, np.float64, {"duration": 6.0})
    env.seeds[:] = np.arange(MEASURED)
    env.begin(np.arange(MEASURED))
    levels = np.einsum("ni,ij,nj->n", env.out[0], form, env.out[0])
    actions, fallen = np.zeros((MEASURED, 2)), np.zeros(MEASURED, bool)
    own = Catch(balance, np.zeros_like(form))
    for _ in range(round(env.task.duration / env.task.period) - 1):
        act(
            balance.weights[None], balance.sizes, balance.scale, MEASURED, env.out[0], actions, own
        )
        env.step(actions)
        fallen |= env.out[2] > 0.0
    env.close()
    return Catch(balance, form / (MARGIN * levels[fallen].min()))


class Learner:
    """The weights and how they move."""

    def __init__(self, plan: Plan, seed: int):
        self.plan, self.rng = plan, np.random.default_rng(seed)
        self.sizes = np.array((INPUTS, plan.hidden, plan.hidden, OUTPUTS))
        self.scale = np.array(plan.scale)
        self.weights = self.draw()
        self.moments, self.generation = np.zeros((2, len(self.weights))), 0
        n = 2 * PAIRS * EPISODES
        self.env = Pendulums(plan.task, n, plan.vary, np.float32, dict(plan.options))
        own = Network(self.weights, self.sizes, self.scale, FORCE)
        self.catch = measure_catch() if plan.catches else Catch(own, policy.NEVER)
        self.actions, self.threads = np.zeros((n, 2)), ThreadPoolExecutor(THREADS)

    def draw(self) -> Array:
        """Return weights to begin with."""
        return np.concatenate(
            [
                np.append(self.rng.normal(0.0, inputs**-0.5, inputs * outputs), np.zeros(outputs))
                for inputs, outputs in zip(self.sizes, self.sizes[1:])
            ]
        )

    def returns(self, candidates: Array) -> Array:
        """Return the mean reward of a period (m,) of each candidate, over the same episodes."""
        env = self.env
        seeds = self.rng.integers(2**40, size=EPISODES).astype(np.uint64)
        env.seeds[:], env.episodes[:] = np.tile(seeds, len(candidates)), 0
        env.begin(np.arange(env.n))
        alive, total = np.ones(env.n, bool), np.zeros(env.n)
        periods = round(env.task.duration / env.task.period)
        for _ in range(periods):
            list(self.threads.map(partial(self.act, candidates), range(THREADS)))
            env.step(self.actions)
            total += np.where(alive, env.out[1], 0.0)
            alive &= env.out[2] == 0.0
            if not alive.any():
                break
        return total.reshape(len(candidates), EPISODES).mean(axis=1) / periods

    def act(self, candidates: Array, part: int) -> None:
        """Write the actions of one part of the candidates."""
        size = -(-len(candidates) // THREADS)
        own = slice(part * size, (part + 1) * size)
        rows = slice(part * size * EPISODES, (part + 1) * size * EPISODES)
        seen, actions = self.env.out[0][rows], self.actions[rows]
        act(candidates[own], self.sizes, self.scale, EPISODES, seen, actions, self.catch)

    def improve(self) -> float:
        """Run a generation, and return the mean return of its candidates."""
        changes = self.rng.normal(size=(PAIRS, len(self.weights)))
        steps = self.plan.deviation * changes
        found = self.returns(np.concatenate((self.weights + steps, self.weights - steps)))
        ranks = found.argsort().argsort() / (2 * PAIRS - 1) - 0.5
        gradient = (ranks[:PAIRS] - ranks[PAIRS:]) @ changes / (PAIRS * self.plan.deviation)
        gradient -= DECAY * self.weights
        self.generation += 1
        for moment, rate, value in zip(self.moments, (0.9, 0.99), (gradient, gradient**2)):
            moment += (1.0 - rate) * (value - moment)
        mean, square = (
            moment / (1.0 - rate**self.generation)
            for moment, rate in zip(self.moments, (0.9, 0.99))
        )
        left = 1.0 - self.generation / self.plan.generations  # the steps become smaller
        rate = self.plan.rate * max(left, 0.05)
        self.weights = self.weights + rate * mean / (np.sqrt(square) + 1e-8)
        return float(found.mean())


def learn(plan: Plan, seed: int) -> tuple[Network, Catch | None, float]:
    """Return the network, what takes over, and how long its answers are held [s]; print a line of
    progress after each ten generations.
    """
    learner, begin = Learner(plan, seed), time.monotonic()
    for generation in range(1, plan.generations + 1):
        mean = learner.improve()
        if generation % 10 == 0 or generation == plan.generations:
            print(
                f"generation {generation} of {plan.generations}: mean reward of a period "
                f"{mean:.3f}, {time.monotonic() - begin:.0f} s",
                flush=True,
            )
    network = Network(learner.weights, learner.sizes, learner.scale, FORCE)
    return (
        (network, learner.catch, learner.env.task.period) if plan.catches else (network, None, 0.0)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "plan", nargs="?", default="balance", choices=PLANS, help="What to learn (balance)."
    )
    parser.add_argument("--seed", type=int, default=0, help="Seed of all that is random (0).")
    parser.add_argument("--generations", type=int, help="How long (400; swing_up: 500).")
    parser.add_argument(
        "--out", type=Path, help="The file of weights (balance.npz, swing_up.npz)."
    )
    given = parser.parse_args()
    out = given.out or Path(f"{given.plan}{policy.SUFFIX}")
    if out.suffix != policy.SUFFIX or not out.absolute().parent.is_dir():
        parser.error(f"--out is {out}; it must end in {policy.SUFFIX}, in a folder that exists")
    plan = PLANS[given.plan]
    if given.generations is not None:
        plan = plan._replace(generations=max(1, given.generations))
    words = " ".join(
        ("examples/learning/train.py", *(() if given.plan == "balance" else (given.plan,)))
    )
    words += f" --seed {given.seed} --generations {plan.generations}"
    network, catch, hold = learn(plan, given.seed)
    policy.write(out, network, catch, hold, made_by=words)
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
