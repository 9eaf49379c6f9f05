"""Compare the error at equal step and the work for equal error with MuJoCo's on the same pendulum
in the same run.

    python benchmarks/accuracy.py [--json FILE] [--quick]

Errors: energy in units of m g l, its largest deviation; trajectory: the rod's tip [m], its largest
distance from the truth over 10 s, twice a second. Work: wall time per simulated second [us] at the
largest step that meets the target, and how many times less that is than MuJoCo's RK4 needs for it.
"""

import json
import math
import sys
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
import reference
from command_line import read
from peer import MISSING, peer
from pendulum import SCALE, energy, start, stepper, tip

STEPS = (1e-3, 1e-2, 3e-2)  # [s]
OURS = (
    ("rk4", "none"),
    ("moser_veselov", "none"),
    ("moser_veselov", "suzuki4"),
    ("moser_veselov", "kahan_li8"),
    ("quaternion_midpoint", "none"),
    ("quaternion_midpoint", "suzuki4"),
    ("quaternion_midpoint", "kahan_li8"),
    ("rattle_s2", "none"),
    ("rattle_s2", "kahan_li8"),
)
TARGETS = (
    ("energy", 1e-3, 10.0),
    ("energy", 1e-6, 10.0),
    ("tip", 1e-3, 10.0),
    ("tip", 1e-6, 10.0),
    ("energy", 1e-6, 1000.0),
)
ROWS = 20  # tip samples in 10 s
ENERGY_EVERY = 0.02  # [s]
FINEST = 2e-5  # [s] a method that needs a smaller step is given up


class Error(NamedTuple):
    energy: float  # [m g l]
    tip: float  # [m], over the first 10 s


def main() -> int:
    arguments = read(__doc__, "write both tables", "100 s in place of 1000 s")
    if peer("Euler") is None:
        print(MISSING, file=sys.stderr)
    times = tuple(np.arange(1, ROWS + 1) * 10.0 / ROWS)
    distance = float(np.abs(reference.tips(times) - reference.tips_by_dop853(times)).max())
    print(
        f"reference: Kahan-Li 8 at {reference.STEP * 1e3:g} ms, {distance:.1e} m from SciPy's "
        "DOP853 at 1e-13\n"
    )
    methods = [method for method in (peer("RK4"), peer("Euler")) if method] + [
        stepper(*name) for name in OURS
    ]
    long = 100.0 if arguments.quick else 1000.0
    result = {
        "reference_difference": distance,
        "errors": errors(methods, long),
        "work": work(methods, long),
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def errors(methods: list, long: float) -> list:
    """Return the table of errors at equal step; print it as it grows."""
    print(
        f"{f'energy 10 s, energy {long:g} s, tip 10 s':32}"
        + "".join(f"{h * 1e3:>24g} ms" for h in STEPS)
    )
    rows = []
    for method in methods:
        print(f"{method.name:20} {method.composition:11}", end="", flush=True)
        for h in STEPS:
            short, far = error(method, h, 10.0), error(method, h, long)
            print(f"   {short.energy:7.1e} {far.energy:7.1e} {short.tip:7.1e}", end="", flush=True)
            found = {
                "energy_10": short.energy,
                f"energy_{long:g}": far.energy,
                "tip_10": short.tip,
            }
            rows.append(
                {"name": method.name, "composition": method.composition, "step": h, **found}
            )
        print()
    print()
    return rows


def work(methods: list, long: float) -> list:
    """Return the table of work at equal error; print it as it grows.

    The first method is the reference of the others.
    """
    targets = [(what, target, min(span, long)) for what, target, span in TARGETS]
    heads = "".join(f"{f'{what} {target:g}, {span:g} s':>22}" for what, target, span in targets)
    print(f"{'us/s (times faster than MuJoCo RK4)':35}{heads}")
    rows, yardstick = [], {}
    for method in methods:
        print(f"{method.name:20} {method.composition:14}", end="", flush=True)
        for target in targets:
            steps = fewest_steps(method, *target)
            time = microseconds(method, steps) if steps else None
            if method.name == "mujoco_rk4":
                yardstick[target] = time
            ratio = yardstick[target] / time if time and yardstick.get(target) else None
            print(f"{as_text(time, ratio):>22}", end="", flush=True)
            found = {
                "step": steps and 10.0 / steps,
                "us_per_s": time,
                "ratio_to_mujoco_rk4": ratio,
            }
            rows.append(
                {"name": method.name, "composition": method.composition, "target": target, **found}
            )
        print()
    return rows


def as_text(time: float | None, ratio: float | None) -> str:
    """Return a cell of the table of work."""
    if time is None:
        return "not reached"
    return f"{time:.3g}" + (f" ({ratio:.3g})" if ratio else "")


def error(method, h: float, span: float) -> Error:
    """Return the errors over `span` [s] from the start; infinite where the method failed."""
    state = start()
    before, worst, path = energy(state.q, state.v), 0.0, []
    marks = [round(row * 10.0 / ROWS / h) for row in range(round(span / 10.0 * ROWS) + 1)]
    for steps in np.diff(marks).tolist():
        for part in parts(steps, max(1, round(ENERGY_EVERY / h))):
            if not method.advance(state.q, state.v, h, part):
                return Error(np.inf, np.inf)
            worst = max(worst, abs(energy(state.q, state.v) - before))
        path.append(tip(state.q))
    truth = reference.tips(tuple(round(mark * h, 12) for mark in marks[1 : ROWS + 1]))
    return Error(worst / SCALE, float(np.linalg.norm(np.array(path[:ROWS]) - truth, axis=1).max()))


def parts(total: int, most: int) -> list:
    """Return `total` cut into pieces of at most `most`."""
    whole, rest = divmod(total, most)
    return [most] * whole + ([rest] if rest else [])


def fewest_steps(method, what: str, target: float, span: float) -> int | None:
    """Return the fewest steps in 10 s, in fifths of an octave, that meet the target; None if they
    would be shorter than FINEST.
    """
    steps = 2 * ROWS
    while 10.0 / steps >= FINEST:
        if all(
            getattr(error(method, 10.0 / steps, length), what) <= target
            for length in sorted({10.0, span})
        ):
            return steps
        steps = ROWS * math.ceil(steps * 2**0.2 / ROWS)
    return None


def microseconds(method, steps: int) -> float:
    """Return the wall time per simulated second [us], the least of several runs of 10 s: other
    processes can only add to it.
    """
    times = []
    for _ in range(15):
        state = start()
        before = perf_counter_ns()
        method.advance(state.q, state.v, 10.0 / steps, steps)
        times.append((perf_counter_ns() - before) / 1e4)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
