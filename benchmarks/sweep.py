"""Measure how many pendulum steps a second a campaign makes, beside MuJoCo's rollout of the same
pendulum in the same run.

    python benchmarks/sweep.py [--json FILE] [--quick]

A step of ours is one of Runge and Kutta's order 4 with its part of the law and of the score; it is
closed loop. MuJoCo's rollout runs the pendulum open loop, in as many threads, Euler and RK4.
Rounds alternate, so that both run at the same load of the machine; processor time is the cost of
the steps, wall time the wait of a person. Nothing is compiled while the clock runs.
"""

import json
import math
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

import numpy as np
from command_line import read
from peer import MISSING, mujoco, peer
from pendulum import PARAMS

from rbdyn_ros.control.laws import lqr, nested_lqr, swing_up
from rbdyn_ros.evaluation.campaigns import batch
from rbdyn_ros.evaluation.campaigns.episode import Episode
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import Array

PLANT = PARAMS._replace(cart_damping=0.5, joint_damping=0.005)
THREADS = os.cpu_count() or 1
CASES = (  # name, law, period, step [s]
    ("lqr, 1 ms", lqr, 0.001, 0.001),
    ("lqr, 1 ms, law at 500 Hz", lqr, 0.002, 0.001),
    ("nested_lqr, 1 ms, law at 500 Hz", nested_lqr, 0.002, 0.001),
    ("swing_up, 5 ms", swing_up, 0.005, 0.005),
    ("swing_up, 1 ms, law at 500 Hz", swing_up, 0.002, 0.001),
)
ROLLOUTS, ROLLOUT_STEPS = 256, 500
_ROWS = (
    "write rows {name, steps, success, cpu_ns [per step], wall_s, per_second_and_core, "
    "ratio_to_rollout_euler}; the ratio is processor time of a MuJoCo rollout step over ours, "
    "more is faster; null: MuJoCo is not installed"
)


def main() -> int:
    arguments = read(
        __doc__, _ROWS, "a region of 60 x 60 starts instead of 200 x 200, fewer rounds"
    )
    if mujoco is None:
        print(MISSING, file=sys.stderr)
    print(
        f"{THREADS} threads; regions of attraction of 10 s within 2 m; compiling first (half a "
        "minute, the first time) …",
        file=sys.stderr,
    )
    starts = region(60 if arguments.quick else 200)
    rounds, rows = 2 if arguments.quick else 5, []
    euler, rk4 = (rollout(integrator) for integrator in ("Euler", "RK4"))
    for case in CASES:
        rows.append(row(*case, starts, rounds, euler))
        print(line(rows[-1]), flush=True)
    for name, other in (("MuJoCo rollout, Euler", euler), ("MuJoCo rollout, RK4", rk4)):
        if other:
            rows.append(
                {
                    "name": name,
                    "cpu_ns": 1e9
                    * median(measure(other)[0] for _ in range(rounds))
                    / (ROLLOUTS * ROLLOUT_STEPS),
                }
            )
            print(f"{name:34} {rows[-1]['cpu_ns']:8.1f} ns")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def region(n: int) -> Array:
    """Return (n^2, 11) planar starts: tilt to 180 degrees, rate to 6 rad/s."""
    tilt, rate = (
        grid.ravel()
        for grid in np.meshgrid(np.linspace(-math.pi, math.pi, n), np.linspace(-6.0, 6.0, n))
    )
    starts = np.zeros((n * n, 11))
    starts[:, 2], starts[:, 4], starts[:, 9] = np.cos(tilt / 2), np.sin(tilt / 2), rate
    return starts


def row(
    name: str, law, period: float, step: float, starts: Array, rounds: int, other: Callable | None
) -> dict:
    """Return the medians over rounds, each of which also measures the other one."""
    designed = law.design(spherical_pendulum, PLANT, law.Options(period=period))
    episode = Episode(period=period, steps=round(period / step))
    batch.run(designed, PLANT, starts[:64], episode._replace(duration=0.1))
    costs, ratios, walls = [], [], []
    for _ in range(rounds):
        reference = other and measure(other)[0] / (ROLLOUTS * ROLLOUT_STEPS)
        cpu, wall, outcomes = measure(lambda: batch.run(designed, PLANT, starts, episode, THREADS))
        steps = outcomes.lasted.sum() / step
        costs.append(cpu / steps)
        walls.append(wall)
        ratios.append(reference and reference / costs[-1])
    return {
        "name": name,
        "steps": int(steps),
        "success": float(outcomes.success.mean()),
        "cpu_ns": 1e9 * median(costs),
        "wall_s": median(walls),
        "per_second_and_core": 1.0 / median(costs),
        "ratio_to_rollout_euler": median(ratios) if other else None,
    }


def rollout(integrator: str) -> Callable | None:
    """Return a function that lets MuJoCo make `ROLLOUTS` times `ROLLOUT_STEPS` steps of 1 ms; None
    where it is not installed.
    """
    pendulum = peer(integrator)
    if pendulum is None:
        return None
    from mujoco.rollout import Rollout

    pendulum.model.opt.timestep = 0.001
    pool, data = Rollout(nthread=THREADS), [mujoco.MjData(pendulum.model) for _ in range(THREADS)]
    tilt = np.linspace(0.01, 0.3, ROLLOUTS)
    initial = np.zeros((ROLLOUTS, 12))  # t, q, v
    initial[:, 3], initial[:, 5] = np.cos(tilt / 2), np.sin(tilt / 2)
    models = [pendulum.model] * ROLLOUTS
    return lambda: pool.rollout(models, data, initial, nstep=ROLLOUT_STEPS)


def measure(work: Callable) -> tuple:
    """Return (processor time of all threads [s], wall time [s], what the work returned)."""
    cpu, wall = process_time(), perf_counter()
    returned = work()
    return process_time() - cpu, perf_counter() - wall, returned


def line(row: dict) -> str:
    """Return a row as text."""
    ratio = (
        ""
        if row["ratio_to_rollout_euler"] is None
        else f"  {row['ratio_to_rollout_euler']:5.0f} x rollout"
    )
    speed = f"{row['cpu_ns']:6.1f} ns, {row['per_second_and_core']:.2g} steps/s and core"
    return (
        f"{row['name']:34} {speed}  {row['wall_s']:6.2f} s  {100 * row['success']:6.2f} % "
        f"settle{ratio}"
    )


if __name__ == "__main__":
    sys.exit(main())
