"""Measure how long one step takes, beside MuJoCo's mj_step of the same pendulum in the same run.

    python benchmarks/step.py [--json FILE] [--quick]

Each measurement of a stepper follows one of mj_step, so that both run at the same clock frequency
and load of the machine; the ratio is the median over such pairs. mj_step runs without spin, which
does not change its time and which it survives. Nothing is compiled while the clock runs.
"""

import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns

from command_line import read
from peer import MISSING, Peer, peer
from pendulum import Stepper, applicable_steppers, refusal, start

STEPS, SPINS = (1e-3, 1e-2), (0.0, 50.0)  # [s], [rad/s]
COMPOSITIONS = ("none", "suzuki4", "kahan_li8")
MEASUREMENT = 2e5  # [ns] long enough that the call from Python does not count
PEER_BATCH = 100  # steps
_ROWS = (
    "write rows {name, composition, step [s], spin [rad/s], ns, ratio_to_mj_step}; the ratio is "
    "mj_step's time over ours, more is faster; null: MuJoCo is not installed, or a step did not "
    "converge"
)


def main() -> int:
    arguments = read(__doc__, _ROWS, "fewer measurements, no compositions")
    other = peer("Euler")
    if other is None:
        print(MISSING, file=sys.stderr)
    print("compiling the steppers (a few seconds each, the first time) …", file=sys.stderr)
    steppers = applicable_steppers(("none",) if arguments.quick else COMPOSITIONS)
    rounds = 15 if arguments.quick else 101
    rows = []
    for stepper in steppers:
        for spin in SPINS:
            if refusal(stepper.integrator, start(spin)) is not None:
                continue
            for h in STEPS:
                rows.append(row(stepper, other, h, spin, rounds))
                print(line(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def row(stepper: Stepper, other: Peer | None, h: float, spin: float, rounds: int) -> dict:
    """Return the medians over `rounds` pairs of measurements; `ns` is null where a step did not
    converge.
    """
    times, ratios, converged = [], [], True
    about, _ = nanoseconds(lambda q, v: stepper.advance(q, v, h, 50), spin, 50)
    batch = round(min(2000.0, max(50.0, MEASUREMENT / about)))
    for _ in range(rounds):
        reference = (
            other
            and nanoseconds(lambda q, v: other.advance(q, v, h, PEER_BATCH), 0.0, PEER_BATCH)[0]
        )
        time, ok = nanoseconds(lambda q, v: stepper.advance(q, v, h, batch), spin, batch)
        times.append(time)
        ratios.append(reference and reference / time)
        converged = converged and ok
    return {
        "name": stepper.name,
        "composition": stepper.composition,
        "step": h,
        "spin": spin,
        "ns": median(times) if converged else None,
        "ratio_to_mj_step": median(ratios) if converged and other else None,
    }


def nanoseconds(advance: Callable, spin: float, steps: int) -> tuple:
    """Return (time per step [ns], whether all converged) of `steps` steps from the start."""
    state = start(spin)
    before = perf_counter_ns()
    ok = advance(state.q, state.v)
    return (perf_counter_ns() - before) / steps, ok


def line(row: dict) -> str:
    """Return a row as text."""
    ns = "no convergence" if row["ns"] is None else f"{row['ns']:8.1f} ns"
    ratio = (
        "" if row["ratio_to_mj_step"] is None else f"  {row['ratio_to_mj_step']:6.2f} x mj_step"
    )
    return (
        f"{row['name']:20} {row['composition']:10} {row['step'] * 1e3:4g} ms {row['spin']:4g} "
        f"rad/s  {ns}{ratio}"
    )


if __name__ == "__main__":
    sys.exit(main())
