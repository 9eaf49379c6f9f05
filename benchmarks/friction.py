"""Compare the frictional solvers with Siconos on the same problems in the same run: how many they
solve, and how fast.

    python benchmarks/friction.py [--json FILE] [--seed N] [--repeats N]

The tolerance of every solver is 1e-8. The error of every solution, ours and theirs, is
rbdyn_ros.numerics.solvers.fc3d.error: solved is 1e-7, for Siconos stops by a slightly different
norm. One BLAS thread; the best of the repeats for each problem, the median over the problems. Our
times hold the call from Python (3 to 5 us), theirs are of the C call alone.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = (
    "1"  # before NumPy: two threads on a 60x60 system only wait for each other
)
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402

from benchmarks import peer_siconos  # noqa: E402
from benchmarks.contact_problems import SETS, problems  # noqa: E402
from rbdyn_ros.numerics.solvers import fc3d  # noqa: E402
from rbdyn_ros.numerics.solvers.registry import select  # noqa: E402

TOLERANCE, SOLVED = 1e-8, 1e-7
OURS = {"fc3d_nsgs": 10000, "fc3d_newton": 200, "fc3d_admm": 10000, "fc3d_hybrid": 10000}
PEERS = {"S:NSGS": 10000, "S:NSGS+NSN": 10000, "S:NSN_AC": 200, "S:ADMM": 10000}


def main() -> int:
    """Measure, print the table, write the rows."""
    arguments = parser().parse_args()
    try:
        siconos = peer_siconos.library()
    except OSError as reason:
        print(f"{reason}; without it only our own rows appear", file=sys.stderr)
        siconos = None
    rows = []
    for name in SETS:
        given = problems(name, arguments.seed)
        for solver, limit in OURS.items():
            rows.append(row(name, solver, given, ours(solver, limit, given, arguments.repeats)))
        for solver, limit in PEERS.items() if siconos else ():
            rows.append(
                row(name, solver, given, theirs(siconos, solver, limit, given, arguments.repeats))
            )
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--json", metavar="FILE", help="write the rows there")
    p.add_argument("--seed", type=int, default=0, help="of the random problems (default 0)")
    p.add_argument("--repeats", type=int, default=3, help="calls for each problem (default 3)")
    return p


def ours(solver: str, limit: int, given: list, repeats: int) -> list:
    """Return (impulses, seconds) for each problem by one of our solvers."""
    chosen = select(solver, TOLERANCE, limit)
    chosen.solve(given[0], np.zeros_like(given[0].q), chosen.options)  # compiles

    def call(problem):
        guess = np.zeros_like(problem.q)
        start = time.perf_counter()
        solution = chosen.solve(problem, guess, chosen.options)
        return solution.z, time.perf_counter() - start

    return [best(call, problem, repeats) for problem in given]


def theirs(siconos, solver: str, limit: int, given: list, repeats: int) -> list:
    """Return (impulses, seconds) for each problem by one of Siconos's solvers."""
    return [
        best(lambda p: peer_siconos.solve(siconos, solver, p, TOLERANCE, limit), p, repeats)
        for p in given
    ]


def best(call, problem, repeats: int) -> tuple:
    """Return the quickest of several equal calls."""
    return min((call(problem) for _ in range(repeats)), key=lambda result: result[1])


def row(name: str, solver: str, given: list, results: list) -> dict:
    """Print and return the success by our error, the median time, and the mean, which failures
    make large.
    """
    errors = np.array([fc3d.error(problem, r) for problem, (r, _) in zip(given, results)])
    times = np.array([seconds for _, seconds in results])
    found = {
        "set": name,
        "solver": solver,
        "problems": len(given),
        "solved": int((errors <= SOLVED).sum()),
        "median_us": round(1e6 * float(np.median(times)), 2),
        "mean_us": round(1e6 * float(times.mean()), 2),
    }
    counts = f"{found['solved']:4} of {len(given):4}"
    print(
        f"{name:24} {solver:12} {counts}   median {found['median_us']:9.1f} us   mean "
        f"{found['mean_us']:9.1f} us",
        flush=True,
    )
    return found


if __name__ == "__main__":
    sys.exit(main())
