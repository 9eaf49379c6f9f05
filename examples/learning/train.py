"""Learn a policy that balances, by an evolution strategy, on the compiled Gymnasium environments.

    python examples/learning/train.py [--seed 0] [--generations 400] [--out balance.npz]
    python -m rbdyn_ros simulate --controller policy --set policy.file=./balance.npz ...

An evolution strategy (Salimans et al., "Evolution strategies as a scalable alternative to
reinforcement learning", 2017) needs no derivatives: it tries mirrored pairs of random changes of
the weights, ranks them by the mean return of the same episodes, and moves the weights by the
weighted sum of the changes, with Adam's step. One to two minutes on two cores.
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.laws import policy
from rbdyn_ros.control.laws.policy import INPUTS, OUTPUTS, Network
from rbdyn_ros.environments.pendulums import Pendulums
from rbdyn_ros.kernel import kernel
from rbdyn_ros.types import Array

PAIRS, EPISODES = 64, 32  # changes that are tried in a generation, each on as many episodes
DECAY = 5e-4  # of the weights
FORCE = 20.0  # [N]
THREADS = os.cpu_count() or 1


class Plan(NamedTuple):
    """How a policy is learned."""

    task: str = "Balance"
    hidden: int = 16  # outputs of each of the two hidden layers
    scale: tuple[float, ...] = (1.0, 1.0, 0.3, 0.3, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)
    generations: int = 400
    deviation: float = 0.05  # of the changes
    rate: float = 0.03  # of Adam


OPTIONS = {"duration": 6.0}
VARY = {
    "start.tilt": {"uniform": [0.0, 20.0]},
    "start.x": {"uniform": [-0.8, 0.8]},
    "start.y": {"uniform": [-0.8, 0.8]},
    "start.vx": {"uniform": [-0.5, 0.5]},
    "start.vy": {"uniform": [-0.5, 0.5]},
    "start.rate": {"normal": [0.0, 0.3]},
    "start.precession": {"normal": [0.0, 0.3]},
}


@kernel
def act(weights, sizes, scale, episodes, seen, actions):
    """The actions (n, 2) of n environments; `episodes` in a row belong to one row of weights."""
    source, target = np.zeros(policy.WIDEST), np.zeros(policy.WIDEST)
    for i in range(len(seen)):
        for n in range(INPUTS):
            source[n] = seen[i, n] / scale[n]
        own = weights[i // episodes]
        actions[i, 0], actions[i, 1] = policy.evaluate(own, sizes, source, target)


class Learner:
    """The weights and how they move."""

    def __init__(self, plan: Plan, seed: int):
        self.plan, self.rng = plan, np.random.default_rng(seed)
        self.sizes = np.array((INPUTS, plan.hidden, plan.hidden, OUTPUTS))
        self.scale = np.array(plan.scale)
        self.weights = self.draw()
        self.moments, self.generation = np.zeros((2, len(self.weights))), 0
        n = 2 * PAIRS * EPISODES
        self.env = Pendulums(plan.task, n, VARY, np.float32, OPTIONS)
        self.actions, self.threads = np.zeros((n, 2)), ThreadPoolExecutor(THREADS)

    def draw(self) -> Array:
        """Weights to begin with."""
        return np.concatenate(
            [
                np.append(self.rng.normal(0.0, inputs**-0.5, inputs * outputs), np.zeros(outputs))
                for inputs, outputs in zip(self.sizes, self.sizes[1:])
            ]
        )

    def returns(self, candidates: Array) -> Array:
        """The mean reward of a period (m,) of each candidate, over the same episodes."""
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
        """The actions of one part of the candidates."""
        size = -(-len(candidates) // THREADS)
        own = slice(part * size, (part + 1) * size)
        rows = slice(part * size * EPISODES, (part + 1) * size * EPISODES)
        seen, actions = self.env.out[0][rows], self.actions[rows]
        act(candidates[own], self.sizes, self.scale, EPISODES, seen, actions)

    def improve(self) -> float:
        """One generation; the mean return of its candidates."""
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


def learn(plan: Plan, seed: int) -> Network:
    """Every generation, with a line of progress after each ten."""
    learner, begin = Learner(plan, seed), time.monotonic()
    for generation in range(1, plan.generations + 1):
        mean = learner.improve()
        if generation % 10 == 0 or generation == plan.generations:
            print(
                f"generation {generation} of {plan.generations}: mean reward of a period "
                f"{mean:.3f}, {time.monotonic() - begin:.0f} s",
                flush=True,
            )
    return Network(learner.weights, learner.sizes, learner.scale, FORCE)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="Seed of all that is random (0).")
    parser.add_argument("--generations", type=int, default=400, help="How long (400).")
    parser.add_argument(
        "--out", type=Path, default=Path("balance.npz"), help="The file of weights (balance.npz)."
    )
    given = parser.parse_args()
    out = given.out
    if out.suffix != policy.SUFFIX or not out.absolute().parent.is_dir():
        parser.error(f"--out is {out}; it must end in {policy.SUFFIX}, in a folder that exists")
    plan = Plan(generations=max(1, given.generations))
    words = f"examples/learning/train.py --seed {given.seed} --generations {plan.generations}"
    policy.write(out, learn(plan, given.seed), made_by=words)
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
