"""The picture of a soak: memory, round trip and skipped periods over time."""

from pathlib import Path

import numpy as np

from rbdyn_ros.tools.endurance_limits import SETTLED, Sample

BLUE, ORANGE, GREEN, GREY = "#1f6fb4", "#d9732b", "#288c50", "#8a8a8a"


def write(samples: list[Sample], names: tuple[str, ...], path: Path) -> None:
    """Draw it into the PNG `path`; `names` of the processes. OSError if it cannot be written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    memory, trip, missed = figure.subplots(3, 1, sharex=True)
    t = np.array([sample.t for sample in samples]) / 60.0
    for rss, name, color in zip(
        np.array([sample.rss for sample in samples]).T, names, (BLUE, ORANGE, GREEN)
    ):
        memory.plot(t, rss - rss[0], color=color, label=f"{name}: {rss[-1]:.0f} MiB at the end")
    memory.axvspan(
        0.0, SETTLED * t[-1], color=GREY, alpha=0.12, linewidth=0, label="left out: caches fill"
    )
    memory.legend(loc="upper right", fontsize=8, frameon=False)
    memory.set_ylabel("memory, more than\nat the start [MiB]")
    memory.set_ylim(-0.5, max(3.0, 1.2 * memory.get_ylim()[1]))
    trip.plot(t, [sample.round_trip for sample in samples], color=BLUE)
    trip.set_yscale("log")
    trip.set_ylabel("round trip,\np50 of 1 s [ms]")
    missed.plot(t, [sample.missed for sample in samples], color=BLUE)
    missed.set_ylabel("periods skipped")
    missed.set_ylim(bottom=0.0)
    missed.set_xlabel("minutes")
    for axes in (memory, trip, missed):
        axes.grid(color=GREY, alpha=0.2)
    figure.savefig(path, dpi=110)
