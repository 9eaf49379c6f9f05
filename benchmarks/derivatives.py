"""Measure how long the derivatives of one step take, beside MuJoCo's mjd_transitionFD in the same
run.

    python benchmarks/derivatives.py [--json FILE] [--quick]

A (10, 10) and B (10, 2) of each step of a run, which is stepped with them, beside the steps alone
and MuJoCo's central differences (A and B, Euler) of the same pendulum. The measurements of the
three follow each other; the ratios are the medians over such rounds. Nothing is compiled while the
clock runs.
"""

import json
import sys
from statistics import median
from time import perf_counter_ns

import numpy as np
from command_line import read
from peer import MISSING, Peer, mujoco, peer
from pendulum import INPUT, SYSTEM, applicable_steppers, start

from rbdyn_ros.integrators import derivatives
from rbdyn_ros.pendulum import rod_on_cart

STEP, STEPS, PEER_CALLS = 1e-3, 500, 5
_ROWS = (
    "write rows {name, step_ns, derivatives_ns, ratio_to_step, parameters_to_step, "
    "ratio_to_mjd}; derivatives_ns is of a step with its A and B, parameters_to_step of one "
    "with its C; ratio_to_mjd: how many times longer mjd_transitionFD takes (null: MuJoCo is not "
    "installed)"
)


def main() -> int:
    arguments = read(__doc__, _ROWS, "fewer rounds")
    other = peer("Euler", actuated=True)
    if other is None:
        print(MISSING, file=sys.stderr)
    rows = []
    for stepper in applicable_steppers(("none",)):
        rows.append(row(stepper, other, 7 if arguments.quick else 41))
        print(line(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def row(stepper, other: Peer | None, rounds: int) -> dict:
    """Return the medians of one integrator over the rounds."""

    def step() -> None:
        state = start()
        stepper.advance(state.q, state.v, STEP, STEPS)

    simple = stepper.name not in ("se3_variational", "tqdl")
    stages = ((1.0,), None) if simple else (np.ones(1), INPUT.sines)
    loop = derivatives.StepSequence(*stages, 1e-13, STEP, 0.0)
    settings = stepper.options, rod_on_cart.load(INPUT), loop
    S, held = np.zeros((STEPS + 1, 11)), derivatives.carried_state(stepper.name)
    S[0, :6], S[0, 6:] = start().q, start().v
    J = {"state": np.zeros((10 * STEPS, 12)), "parameters": np.zeros((10 * STEPS, 10))}

    def differentiate(kind: str) -> None:
        kernel = derivatives.compile_steps(stepper.name, kind)
        kernel(SYSTEM, *settings, S, held, J[kind])

    differentiate("state")
    differentiate("parameters")
    times = []
    for _ in range(rounds):
        times.append(
            (
                nanoseconds(step),
                nanoseconds(lambda: differentiate("state")),
                nanoseconds(lambda: differentiate("parameters")),
                peer_nanoseconds(other) if other else np.nan,
            )
        )
    alone, with_state, with_all, theirs = np.array(times).T
    return {
        "name": stepper.name,
        "step_ns": median(alone),
        "derivatives_ns": median(with_state),
        "ratio_to_step": median(with_state / alone),
        "parameters_to_step": median(with_all / alone),
        "ratio_to_mjd": median(theirs / with_state) if other else None,
    }


def nanoseconds(function) -> float:
    """Return the time of a call, for each of `STEPS`."""
    before = perf_counter_ns()
    function()
    return (perf_counter_ns() - before) / STEPS


def peer_nanoseconds(other: Peer) -> float:
    """Return the time of mjd_transitionFD."""
    A, B, state = np.zeros((10, 10)), np.zeros((10, 2)), start()
    other.place(state.q, state.v, STEP)
    before = perf_counter_ns()
    for _ in range(PEER_CALLS):
        mujoco.mjd_transitionFD(other.model, other.data, 1e-6, True, A, B, None, None)
    return (perf_counter_ns() - before) / PEER_CALLS


def line(row: dict) -> str:
    """Return a row as text."""
    theirs = "" if row["ratio_to_mjd"] is None else f"  {row['ratio_to_mjd']:6.1f} x mjd"
    return (
        f"{row['name']:20} step {row['step_ns']:8.1f} ns, with A and B "
        f"{row['derivatives_ns']:8.1f} ns ({row['ratio_to_step']:.2f} steps), by parameters "
        f"{row['parameters_to_step']:.2f} steps{theirs}"
    )


if __name__ == "__main__":
    sys.exit(main())
