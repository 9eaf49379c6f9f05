"""Learn a policy, by an evolution strategy, on the compiled Gymnasium environments.

    python examples/learning/train.py [balance] [--seed 0] [--generations 400] [--out balance.npz]
    python examples/learning/train.py swing_up [--seed 0] [--generations 500]
    python examples/learning/train.py --resume         # goes on after Ctrl-C
    python -m rbdyn_ros simulate --controller policy --set policy.file=./balance.npz --out run.csv

An evolution strategy (Salimans et al., "Evolution strategies as a scalable alternative to
reinforcement learning", 2017) needs no derivatives: it tries mirrored pairs of random changes of
the weights, ranks them by the mean return of the same episodes, and moves the weights by the
weighted sum of the changes, with Adam's step. One to two minutes on two cores; swing_up nine, on
two busy ones. Ctrl-C ends it after the present generation: the file then has the weights so far,
with which `simulate` works, and with the same options and --resume it becomes what it would have
become without Ctrl-C.

What swings up learns beside what balances: where the balancing policy holds the rod, inside a
level of the value function of `lqr` that is measured first, the balancing policy acts. The other
one has to learn to bring the rod there.
"""

import argparse
import json
import os
import shlex
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
from rbdyn_ros.files import read_arrays
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.kernel import kernel
from rbdyn_ros.pendulum import spherical_pendulum
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
SIGNAL = 128  # exit code of a signal, less its number


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
        self.catch = measure_catch() if plan.catches else Catch(self.network(), policy.NEVER)
        self.actions, self.threads = np.zeros((n, 2)), ThreadPoolExecutor(THREADS)

    def state(self) -> dict[str, Any]:
        """Return what the next generation begins with, by its name in a file."""
        return {
            "resume_weights": self.weights,
            "resume_moments": self.moments,
            "resume_generation": self.generation,
            "resume_random": json.dumps(self.rng.bit_generator.state),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on with a `state`."""
        self.weights, self.moments = arrays["resume_weights"], arrays["resume_moments"]
        self.generation = int(arrays["resume_generation"])
        self.rng.bit_generator.state = json.loads(str(arrays["resume_random"]))

    def network(self) -> Network:
        """Return the network of the present weights."""
        return Network(self.weights, self.sizes, self.scale, FORCE)

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


def learn(learner: Learner) -> int:
    """Run the generations that are left, and print a line of progress after each ten; return the
    signal that came meanwhile, or 0.
    """
    begin, count = time.monotonic(), learner.plan.generations
    with Interruption() as interruption:
        while learner.generation < count and not interruption.signal:
            mean = learner.improve()
            if learner.generation % 10 == 0 or learner.generation == count:
                print(
                    f"generation {learner.generation} of {count}: mean reward of a period "
                    f"{mean:.3f}, {time.monotonic() - begin:.0f} s",
                    flush=True,
                )
    return interruption.signal


def read_state(out: Path, words: str) -> dict[str, Any]:
    """Return the `state` in the file that the command `words` wrote until Ctrl-C. Raise ValueError
    if it has none, or that of another command.
    """
    found = read_arrays(out)
    if "resume_random" not in found:
        raise ValueError(f"{out} was not interrupted: there is nothing to go on with")
    if (made_by := str(found["made_by"])) != words:
        raise ValueError(f"{out} was begun by `{made_by}`; give the same options")
    return found


def main() -> int:
    """Learn, and write the file; return the exit code."""
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
    parser.add_argument(
        "--resume",
        action="store_true",
        help="Go on with a run that Ctrl-C ended; give the options that it had.",
    )
    given = parser.parse_args()
    out = given.out or Path(f"{given.plan}{policy.SUFFIX}")
    if out.suffix != policy.SUFFIX or not out.absolute().parent.is_dir():
        parser.error(f"--out is {out}; it must end in {policy.SUFFIX}, in a folder that exists")
    plan = PLANS[given.plan]
    if given.generations is not None:
        plan = plan._replace(generations=given.generations)
    for name, value, least in (("seed", given.seed, 0), ("generations", plan.generations, 1)):
        if value < least:
            parser.error(f"--{name} is {value}; it must be >= {least}")
    words = " ".join(
        ("examples/learning/train.py", *(() if given.plan == "balance" else (given.plan,)))
    )
    words += f" --seed {given.seed} --generations {plan.generations}"
    try:
        state = read_state(out, words) if given.resume else {}
    except ValueError as error:
        parser.error(f"--resume: {error}")
    learner = Learner(plan, given.seed)
    if state:
        learner.restore(state)
    stopped = learn(learner)
    is_done = learner.generation == plan.generations
    catch, hold = (learner.catch, learner.env.task.period) if plan.catches else (None, 0.0)
    notes = {} if is_done else learner.state()
    policy.write(out, learner.network(), catch, hold, made_by=words, **notes)
    print(f"written: {out}")
    if is_done:
        return 0
    typed = shlex.join(["python", *(word for word in sys.argv if word != "--resume")])
    print(
        f"interrupted after generation {learner.generation} of {plan.generations}; to go on: "
        f"{typed} --resume",
        file=sys.stderr,
    )
    return SIGNAL + stopped


if __name__ == "__main__":
    sys.exit(main())
