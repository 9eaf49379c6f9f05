"""What a monitor says of a loop: fine, a warning, an error, each with the number and the limit."""

from collections import Counter
from typing import Any

from rbdyn_ros.evaluation.latency.latency import Latency

FINE, WARNING, WRONG = 0, 1, 2
_LEVELS = (("error", WRONG), ("warn", WARNING))


def alarming(
    latency: Latency, counts: Counter, values: dict[str, Any], window: bool = True
) -> list[tuple[int, str]]:
    """[(level, sentence)] of what is beyond `values` ("monitor.warn.age", ...), in the newest
    window or over the run.

    `counts` are those of the same time. Where one figure is beyond both limits, the error alone is
    said.
    """
    found = []
    for name, value, said in _measured(latency, counts, window):
        for level, rank in _LEVELS:
            limit = values[f"monitor.{level}.{name}"]
            if value > limit:
                found.append((rank, f"{said}; the limit is {_format_limit(name, limit)}"))
                break
    return found


def loss(counts: Counter) -> float:
    """The share of the states that did not arrive."""
    sent = counts["states"] + counts["lost"]
    return counts["lost"] / sent if sent else 0.0


def unanswered(counts: Counter) -> float:
    """The share of the states that arrived here whose command did not."""
    return (
        max(0, counts["states"] - counts["answered"]) / counts["states"]
        if counts["states"]
        else 0.0
    )


def _measured(latency: Latency, counts: Counter, window: bool) -> list:
    """(name of the limit, value, sentence); what was not measured yet is nan, which is beyond
    nothing.
    """
    period, age, trip = (
        figure.window if window else figure.run for figure in latency.figures.values()
    )
    ratio = period.percentile(99) / period.percentile(50) if period.total else 0.0
    return [
        (
            "period_ratio",
            ratio,
            f"the period's p99 is {ratio:.1f} times its median of "
            f"{1e3 * period.percentile(50):.3g} ms",
        ),
        (
            "age",
            age.percentile(99),
            f"the commands' age has a p99 of {1e3 * age.percentile(99):.3g} ms",
        ),
        (
            "round_trip",
            trip.percentile(99),
            f"the round trip has a p99 of {1e3 * trip.percentile(99):.3g} ms",
        ),
        ("loss", loss(counts), f"{100.0 * loss(counts):.3g} % of the states did not arrive"),
        (
            "unanswered",
            unanswered(counts),
            f"{100.0 * unanswered(counts):.3g} % of the states had no command",
        ),
    ]


def _format_limit(name: str, limit: float) -> str:
    if name in ("age", "round_trip"):
        return f"{1e3 * limit:g} ms"
    return f"{100.0 * limit:g} %" if name in ("loss", "unanswered") else f"{limit:g}"
