"""How well the composed loop keeps 1 kHz: simulator and controller over ROS 2, in one process and in two.

    python benchmarks/loop.py [--json FILE] [--quick]

Each measurement starts the nodes anew, as `ros2 run` does, warms them up, and looks on for a while. Neighbours on the
machine only ever make it worse, so the best of several is the machine's own, and the median tells how busy it was;
both are written. Times of the step thread are its own processor time, which neighbours hardly touch.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from command_line import read

WARM_UP, QUICK, LONG = 3.0, 5.0, 20.0  # [s]
SHOWN = {
    "period_p50_ms": ("period p50", "ms", None),
    "period_p99_ms": ("period p99", "ms", {1: 1.05, 2: 1.05}),
    "period_max_ms": ("period max", "ms", None),
    "round_trip_p50_ms": ("round trip p50", "ms", {1: 0.2, 2: 0.4}),
    "round_trip_p99_ms": ("round trip p99", "ms", None),
    "step_thread_percent": ("step thread", "% of a core", {1: 8.0, 2: 8.0}),
    "simulator_percent": ("whole process", "% of a core", None),
    "missed_percent": ("periods skipped", "%", None),
    "answered_percent": ("states answered", "%", None),
    "blocks_per_second": ("growth of objects", "1/s", None),
    "rss_kib_per_second": ("growth of memory", "KiB/s", None),
}
_ROWS = """write {goals, rows}; a row is one measurement: processes, the figures of the table, and the machine's load before it"""


def main() -> int:
    arguments = read(__doc__, _ROWS, f"two measurements of {QUICK:g} s each, not five of {LONG:g} s")
    seconds, rounds = (QUICK, 2) if arguments.quick else (LONG, 5)
    rows = [measured(processes, seconds) for _ in range(rounds) for processes in (1, 2)]
    for processes in (1, 2):
        print("\n".join(table(processes, [row for row in rows if row["processes"] == processes])), flush=True)
    if arguments.json:
        goals = {key: goal for key, (_, _, goal) in SHOWN.items() if goal}
        arguments.json.write_text(json.dumps({"goals": goals, "rows": rows}, indent=1) + "\n")
    return 0


def measured(processes: int, seconds: float) -> dict:
    """One measurement."""
    load = os.getloadavg()[0]
    probe = [sys.executable, Path(__file__).with_name("loop_probe.py"), str(processes), str(WARM_UP), str(seconds)]
    environment = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": str(1 + os.getpid() % 100), **os.environ}
    done = subprocess.run(probe, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"benchmarks/loop.py: the nodes ended with exit code {done.returncode}; see above")
    row = {"processes": processes, "load": load, **json.loads(done.stdout)}
    print(f"{processes} process{'es' if processes > 1 else ''}: period p99 {row['period_p99_ms']:.3f} ms, "
          f"round trip p50 {row['round_trip_p50_ms']:.3f} ms", file=sys.stderr, flush=True)
    return row


def table(processes: int, rows: list) -> list:
    """The rows of one kind, a line for each figure."""
    lines = [f"\n{processes} process{'es' if processes > 1 else ''}, {len(rows)} measurements", f"{'':20}{'best':>10}{'median':>10}{'goal':>10}"]
    for key, (name, unit, goal) in SHOWN.items():
        values = [row[key] for row in rows]
        best = max(values) if key == "answered_percent" else min(values)
        aim = f"{goal[processes]:g}" if goal else ""
        lines.append(f"{name:20}{round(best, 3) + 0.0:10.3f}{round(median(values), 3) + 0.0:10.3f}{aim:>10}  {unit}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
