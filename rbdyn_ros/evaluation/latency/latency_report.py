"""What a monitor leaves behind: figures as JSON, and a page that shows them, with everything in
it.
"""

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

from rbdyn_ros.evaluation.latency import latency_limits
from rbdyn_ros.evaluation.latency.latency import Latency
from rbdyn_ros.evaluation.latency.latency_figure import svg
from rbdyn_ros.evaluation.latency.latency_page import page

PERCENTS = (50.0, 90.0, 99.0, 99.9)
VERDICTS = ("fine", "warning", "error")


def report(
    latency: Latency, topics: dict[str, str], values: dict[str, Any], start: str
) -> dict[str, Any]:
    """The figures: times in seconds; `topics` {"states": name, "commands": name}, `values` of the
    monitor's parameters.
    """
    found = latency_limits.alarming(latency, latency.counts, values, window=False)
    if not latency.counts["states"]:
        found = [(latency_limits.WRONG, f"no state came on {topics['states']} after the warm-up")]
    counts = latency.counts
    return {
        "verdict": VERDICTS[max((rank for rank, _ in found), default=0)],
        "findings": [sentence for _, sentence in sorted(found, reverse=True)],
        "start": start,
        "topics": topics,
        "warm_up": {"seconds": values["monitor.warm_up"], "messages": counts["warm_up"]},
        "instants": values["monitor.instants"],
        "usual_step": latency.tick,
        **{name: times(figure.run) for name, figure in latency.figures.items()},
        "loss": {
            "states": counts["states"],
            "lost": counts["lost"],
            "share": latency_limits.loss(counts),
        },
        "answers": {
            "commands": counts["commands"],
            "unstamped": counts["unstamped"],
            "unanswered_share": latency_limits.unanswered(counts),
        },
        "events": {name: counts[name] for name in ("restarts", "out_of_order", "clock_jumps")},
        "limits": {
            name: value
            for name, value in values.items()
            if name.startswith(("monitor.warn", "monitor.error"))
        },
    }


def times(histogram) -> dict[str, float | None]:
    """A histogram in a few numbers [s]; null before the first value."""
    named = {"min": histogram.least, "mean": histogram.mean, "max": histogram.most}
    named |= {
        f"p{percent:g}".replace(".", "_"): histogram.percentile(percent) for percent in PERCENTS
    }
    return {
        "count": histogram.total,
        **{
            name: value if histogram.total and math.isfinite(value) else None
            for name, value in named.items()
        },
    }


def prepare() -> None:
    """Import what draws the page: that takes longer than the page, and at the end time is
    short.
    """
    for name in ("matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2"):
        import_module(name)


def write(folder: Path, made: dict[str, Any], latency: Latency) -> list[Path]:
    """Write monitor.json, then monitor.html, into the folder; their paths.

    OSError if that cannot be done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers, shown = folder / "monitor.json", folder / "monitor.html"
    numbers.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    shown.write_text(page(made, svg(latency, made["limits"])), encoding="utf-8")
    return [numbers, shown]
