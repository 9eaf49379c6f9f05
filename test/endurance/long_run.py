"""Simulator and controller run for a long time, and nothing may grow, drift or queue."""

import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from checks import Check
from loop_watch import Watch

from rbdyn_ros.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    canvas,
    draw_legend,
    label_axes,
    save,
)
from rbdyn_ros.ros.node_processes import COMING_UP, NodeProcesses

SETTLED = 0.3  # part of a run after which caches, rings and allocators have filled
LOOKED_EVERY = 1.0  # [s]


class ResourceSample(NamedTuple):
    """A sample of the processes and the loop."""

    t: float  # [s] since the first sample
    rss: tuple  # [MiB] of each process
    threads: tuple
    files: tuple  # open descriptors
    clock: float  # [s, steady] when the simulator read what follows
    simulated: float  # [s]
    missed: float  # periods skipped since the start
    round_trip: float  # [ms] p50 since the sample before


def check_samples(
    samples: list[ResourceSample], names: tuple[str, ...], period: float
) -> list[Check]:
    """Return the checks of a soak: `names` of the processes, `period` [s] of a tick."""
    late = [sample for sample in samples if sample.t >= SETTLED * samples[-1].t]
    grown = {
        "threads": np.subtract(late[-1].threads, late[0].threads),
        "open files": np.subtract(late[-1].files, late[0].files),
    }
    checks = []
    for i, name in enumerate(names):
        rss = [sample.rss[i] for sample in late]
        checks += [
            Check(
                f"memory of the {name}, growth over the last {100 * (1 - SETTLED):.0f} %",
                growth(late, rss),
                1.0,
                "MiB",
            ),
            *(
                Check(f"{what} of the {name}, more at the end", float(more[i]), 0.0, "")
                for what, more in grown.items()
            ),
        ]
    return [*checks, *_loop(late, period)]


def _loop(late: list, period: float) -> list:
    """Return the checks of the loop: skipped periods are counted by the simulator, so what is left
    over is drift. It is that of medians: a sample may find a tick that is late and not yet over.
    """
    third = max(1, len(late) // 3)

    def rise(values: list[float]) -> float:
        return float(np.nanmedian(values[-third:]) - np.nanmedian(values[:third]))

    due = rise([sample.clock for sample in late])
    ticked = [sample.simulated + sample.missed * period - sample.clock for sample in late]
    return [
        Check(
            "drift of the loop, skipped periods apart",
            1e6 * abs(rise(ticked) / due) if due else math.nan,
            100.0 + 2e6 * period / max(due, period),
            "ppm",
        ),
        Check(
            "round trip, longer in the last third",
            rise([sample.round_trip for sample in late]),
            1.0,
            "ms",
        ),
    ]


def growth(samples: list[ResourceSample], values: list[float]) -> float:
    """Return the rise of a least squares line through `values` from the first sample to the last;
    nan for fewer than three.
    """
    t = np.array([sample.t for sample in samples])
    return float(np.polyfit(t - t[0], values, 1)[0] * (t[-1] - t[0])) if len(t) > 2 else math.nan


def long_run(
    nodes: NodeProcesses, watch: Watch, minutes: float, names: tuple[str, ...]
) -> tuple[list[ResourceSample], list[Check]]:
    """Let the nodes `names` run; return (samples, checks). Raise SoakEnded if one ends."""
    for name in names:
        nodes.start(name)
    watch.until(lambda: watch.is_running or nodes.failure(), COMING_UP, "the loop did not start")
    if "viewer" in names:
        watch.until(
            lambda: (
                "the live view is at" in nodes.log("viewer").read_text("utf-8") or nodes.failure()
            ),
            COMING_UP,
            "the viewer did not start",
        )
    watch.require(nodes)
    processes = [psutil.Process(nodes.processes[name].pid) for name in names]
    watch.rest(2.0)
    watch.latency.turn_window()
    begin, samples = time.monotonic(), []
    while time.monotonic() - begin < 60.0 * minutes:
        watch.rest(begin + (len(samples) + 1) * LOOKED_EVERY - time.monotonic())
        watch.require(nodes)
        samples.append(look(watch, processes, begin))
    return samples, check_samples(samples, names, watch.latency.tick)


def look(watch: Watch, processes: list[psutil.Process], begin: float) -> ResourceSample:
    """Return a sample, and begin a new window of latency."""
    trip = 1e3 * watch.latency.round_trip.window.percentile(50)
    watch.latency.turn_window()
    return ResourceSample(
        t=time.monotonic() - begin,
        rss=tuple(process.memory_info().rss / 2**20 for process in processes),
        threads=tuple(process.num_threads() for process in processes),
        files=tuple(process.num_fds() for process in processes),
        clock=watch.counted,
        simulated=float(watch.counts.get("time", "nan")),
        missed=float(watch.counts.get("missed", "nan")),
        round_trip=trip,
    )


def draw_figure(samples: list[ResourceSample], names: tuple[str, ...], path: Path) -> None:
    """Draw the samples into the PNG `path`; `names` of the processes. Raise OSError if it cannot
    be written.
    """
    from matplotlib.ticker import LogLocator

    figure = canvas(10.0, 7.0)
    memory, trip, missed = figure.subplots(3, 1, sharex=True)
    t = np.array([sample.t for sample in samples]) / 60.0
    for rss, name, color in zip(
        np.array([sample.rss for sample in samples]).T, names, (BLUE, ORANGE, GREEN)
    ):
        memory.plot(t, rss - rss[0], color=color, label=f"{name}: {rss[-1]:.0f} MiB at the end")
    memory.axvspan(
        0.0, SETTLED * t[-1], color=GREY, alpha=0.12, linewidth=0, label="left out: caches fill"
    )
    draw_legend(memory, loc="upper right")
    memory.set_ylim(-0.5, max(3.0, 1.2 * memory.get_ylim()[1]))
    trip.semilogy(t, [sample.round_trip for sample in samples], color=BLUE)
    trip.yaxis.set(major_locator=LogLocator(subs=(1.0, 2.0, 5.0)), major_formatter="{x:g}")
    trip.yaxis.set(minor_formatter="")  # else there are labels between these, too
    missed.plot(t, [sample.missed for sample in samples], color=BLUE)
    missed.set_ylim(bottom=0.0)
    label_axes(memory, "", "memory, more than\nat the start [MiB]")
    label_axes(trip, "", "round trip,\np50 of 1 s [ms]")
    label_axes(missed, "time [min]", "skipped periods [–]")
    save(figure, path, "Memory, round trip and skipped periods of a soak", dpi=110)
