"""Measure how many steps a second a Gymnasium environment makes, beside others in the same run.

    python benchmarks/environments.py [--json FILE] [--quick]

Ours: many pendulums as one environment, and one alone, under random and under balancing actions
(with random ones an episode lasts half a second, and every one that ends is begun anew in the
step). Peers: Gymnasium's CartPole, alone and as its own vector, and MuJoCo's InvertedPendulum.
Their plants are simpler: a cart on a line, one angle. Rounds alternate, the best one counts;
nothing is compiled meanwhile.
"""

import json
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from command_line import read

import rbdyn_ros.environments  # noqa: F401  registers ours

MANY = 65536
GAINS = (1.0, 1.55, 23.4, 7.8)  # of x, x', k and k', over the force limit
_ROWS = (
    "write rows {name, environments, steps_per_second, us_per_step}; a step of N environments "
    "counts N times"
)


class Case(NamedTuple):
    """One kind of environment and the step that is measured."""

    name: str
    environments: int
    step: Callable[[], object]


def main() -> int:
    arguments = read(__doc__, _ROWS, "fewer rounds")
    print("making the environments, and compiling ours the first time …", file=sys.stderr)
    made = [*ours(), *peers()]
    rounds, seconds = (3, 0.2) if arguments.quick else (9, 0.5)
    best = dict.fromkeys(made, float("inf"))
    for each in made:
        each.step()
    for _ in range(rounds):
        for each in made:
            best[each] = min(best[each], measure(each.step, seconds))
    rows = []
    for each, time in best.items():
        rate = each.environments / time
        rows.append(
            {
                "name": each.name,
                "environments": each.environments,
                "steps_per_second": rate,
                "us_per_step": 1e6 * time,
            }
        )
        print(f"{each.name:48} {each.environments:6} {rate:12.3g}/s {1e6 * time:10.1f} us a step")
    print(f"memory after 200 more steps of {MANY}: {grow(made[0].step):+d} bytes")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def measure(step: Callable[[], object], seconds: float) -> float:
    """Return the mean time [s] of a step, over so many seconds."""
    count, begin = 0, perf_counter()
    while perf_counter() < begin + seconds:
        step()
        count += 1
    return (perf_counter() - begin) / count


def grow(step: Callable[[], object]) -> int:
    """Return the growth of memory [bytes] by 200 steps."""
    tracemalloc.start()
    step()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        step()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown


def ours() -> list[Case]:
    """Return vectors whose arrays are reused, with copies, and one environment alone."""
    made = []
    for words, copy, policy in (
        ("random actions", False, None),
        ("random actions, with copies", True, None),
        ("a balancing policy", False, balance),
    ):
        env = gymnasium.make_vec("rbdyn/Balance-v0", num_envs=MANY, copy=copy)
        made.append(Case(f"ours, vector, {words}", MANY, player(env, policy)))
    env = gymnasium.make("rbdyn/Balance-v0").unwrapped
    made.append(Case("ours, alone", 1, single(env, np.zeros(2, np.float32))))
    return made


def balance(seen: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the actions of a linear policy, written to `out`."""
    for axis in range(2):
        x, k, v, dk = (seen[:, n + axis] for n in (0, 2, 5, 7))
        out[:, axis] = GAINS[0] * x + GAINS[1] * v + GAINS[2] * k + GAINS[3] * dk
    return np.clip(out, -1.0, 1.0, out=out)


def player(env: gymnasium.vector.VectorEnv, policy: Callable | None) -> Callable[[], object]:
    """Return a function that takes one step of a vector; a policy's own time counts, too."""
    rng = np.random.default_rng(0)
    actions = [rng.uniform(-1, 1, (MANY, 2)).astype(np.float32) for _ in range(8)]
    state = {"seen": env.reset(seed=0)[0], "count": 0}

    def step() -> None:
        state["count"] += 1
        given = actions[state["count"] % 8]
        state["seen"] = env.step(policy(state["seen"], given) if policy else given)[0]

    for _ in range(100):  # the first episodes end together
        step()
    return step


def single(env: Any, action: Any) -> Callable[[], object]:
    """Return a function that takes one step, or begins the next episode."""
    env.reset(seed=0)

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    return step


def peers() -> list[Case]:
    """Return the environments of others."""
    made = [
        Case("Gymnasium's CartPole, alone", 1, single(raw("CartPole-v1"), 1)),
        Case("MuJoCo's InvertedPendulum, alone", 1, single(raw("InvertedPendulum-v5"), [0.0])),
    ]
    env = gymnasium.make_vec("CartPole-v1", num_envs=MANY, vectorization_mode="vector_entry_point")
    env.reset(seed=0)
    actions = env.action_space.sample()
    made.append(Case("Gymnasium's CartPole, its own vector", MANY, partial(env.step, actions)))
    return made


def raw(name: str) -> gymnasium.Env:
    return gymnasium.make(name).unwrapped


if __name__ == "__main__":
    sys.exit(main())
