"""Measure how well the composed loop keeps 1 kHz: simulator and controller over ROS 2, in one
process and in two, beside rclpy alone.

    python benchmarks/loop.py [--json FILE] [--quick]

Each measurement starts the nodes anew, as `ros2 run` does, warms them up, and measures for a
while. After each the same is measured of `loop_peer.py`, a loop over the same topics without any
computation: its times are those of the machine, its system and rclpy. Other processes on the
machine only ever make it worse, so the best of several is the machine's own, and the median shows
how busy it was. Times of the step thread are its own processor time. Then two processes are
measured at 500 Hz, with faults, and in lockstep as fast as they go.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from command_line import read

from rbdyn_ros.optional import stay_local

WARM_UP, QUICK, LONG = 3.0, 5.0, 15.0  # [s]
OURS, PEER = "loop_probe.py", "loop_peer.py"
SHOWN = {
    "period_p50_ms": ("period p50", "ms", None),
    "period_p99_ms": ("period p99", "ms", {1: 1.05, 2: 1.05}),
    "period_max_ms": ("period max", "ms", None),
    "round_trip_p50_ms": ("round trip p50", "ms", {1: 0.25, 2: 0.4}),
    "round_trip_p99_ms": ("round trip p99", "ms", None),
    "step_thread_percent": ("step thread", "% of a core", {1: 15.0, 2: 15.0}),
    "simulator_percent": ("whole process", "% of a core", None),
    "missed_percent": ("periods skipped", "%", None),
    "answered_percent": ("states answered", "%", None),
    "blocks_per_second": ("growth of objects", "1/s", None),
    "rss_kib_per_second": ("growth of memory", "KiB/s", None),
}
# what is measured in two processes besides: settings, and the goal of each figure
VARIANTS = {
    "500 Hz": (("rates.state:=500.0",), {"step_thread_percent": 8.0}),
    "with faults": (
        (
            *("faults.noise.angle:=0.001", "faults.noise.rate:=0.01", "faults.noise.cart:=0.001"),
            *("faults.noise.cart_velocity:=0.01", "faults.noise.gyroscope:=0.001"),
            *("faults.noise.accelerometer:=0.01", "faults.encoder.gimbal:=4096.0"),
            *("faults.encoder.cart:=0.001", "faults.command.delay:=0.003"),
            "faults.state.delay:=0.002",
        ),
        {"period_p99_ms": 1.05, "step_thread_percent": 18.0},
    ),
    "lockstep": (
        ("lockstep.enabled:=true", "real_time_factor:=0.0"),
        {"ticks_per_second": 2500.0},
    ),
}
UNITS = {"period_p99_ms": "ms", "step_thread_percent": "% of a core", "ticks_per_second": "1/s"}
_ROWS = (
    "write {goals, rows}; a row is one measurement: who was measured, processes, the figures "
    "of the table, the machine's load before it; `variant` where its settings are others"
)


def main() -> int:
    arguments = read(
        __doc__, _ROWS, f"two measurements of {QUICK:g} s each, not five of {LONG:g} s"
    )
    seconds, rounds = (QUICK, 2) if arguments.quick else (LONG, 5)
    rows = [
        measure(who, processes, seconds)
        for _ in range(rounds)
        for processes in (1, 2)
        for who in (OURS, PEER)
    ]
    for processes in (1, 2):
        print(
            "\n".join(table(processes, [row for row in rows if row["processes"] == processes])),
            flush=True,
        )
    for name, (settings, goals) in VARIANTS.items():
        found = [measure(OURS, 2, seconds, *settings) for _ in range(rounds)]
        rows += [{**row, "variant": name} for row in found]
        for key, goal in goals.items():
            best = (max if key == "ticks_per_second" else min)(row[key] for row in found)
            figures = f"{best:12.3f}{median(row[key] for row in found):12.3f}{goal:>12g}"
            print(f"{name}, {key.rpartition('_')[0]}".ljust(32) + f"{figures}  {UNITS[key]}")
    if arguments.json:
        goals = {key: goal for key, (_, _, goal) in SHOWN.items() if goal}
        arguments.json.write_text(json.dumps({"goals": goals, "rows": rows}, indent=1) + "\n")
    return 0


def measure(who: str, processes: int, seconds: float, *settings: str) -> dict:
    """Return one measurement; `settings` are parameters besides the usual ones."""
    load = os.getloadavg()[0]
    probe = [
        sys.executable,
        Path(__file__).with_name(who),
        str(processes),
        str(WARM_UP),
        str(seconds),
        *settings,
    ]
    stay_local(own_domain=True)
    done = subprocess.run(probe, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"benchmarks/loop.py: {who} ended with exit code {done.returncode}; see above")
    row = {"who": who, "processes": processes, "load": load, **json.loads(done.stdout)}
    print(
        f"{'rclpy alone' if who == PEER else 'the nodes'}, {processes} "
        f"process{'es' if processes > 1 else ''}: "
        f"period p99 {row['period_p99_ms']:.3f} ms, round trip p50 {row['round_trip_p50_ms']:.3f} "
        "ms",
        file=sys.stderr,
        flush=True,
    )
    return row


def table(processes: int, rows: list) -> list:
    """Return the rows of one number of processes, a line for each figure."""
    ours, peers = ([row for row in rows if row["who"] == who] for who in (OURS, PEER))
    heads = ("best", "median", "goal", "rclpy", "best ratio")
    lines = [
        f"\n{processes} process{'es' if processes > 1 else ''}, {len(ours)} measurements of each",
        f"{'':20}" + "".join(f"{head:>12}" for head in heads),
    ]
    for key, (name, unit, goal) in SHOWN.items():
        best, alone = _best(key, ours), _best(key, peers)
        aim = f"{goal[processes]:g}" if goal else ""
        beside = "" if alone is None else f"{alone:.3f}"
        ratio = f"{best / alone:.2f}" if alone else ""
        middle = median(row[key] for row in ours)
        lines.append(
            f"{name:20}{round(best, 3) + 0.0:12.3f}{round(middle, 3) + 0.0:12.3f}"
            f"{aim:>12}{beside:>12}{ratio:>12}  {unit}"
        )
    return lines


def _best(key: str, rows: list) -> float | None:
    """Return the best of a figure; None where no row has it."""
    values = [row[key] for row in rows if key in row]
    return (max if key == "answered_percent" else min)(values, default=None)


if __name__ == "__main__":
    sys.exit(main())
