"""The report of a monitor: its figures as JSON, and a page that shows them, one HTML file without
a link to anything else, with pictures of the times and of their trend over the run.
"""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros import figures
from rbdyn_ros.evaluation.latency import (
    WARNING,
    WRONG,
    Figure,
    Latency,
    find_alarms,
    loss,
    unanswered_share,
)
from rbdyn_ros.figures import BLUE, GREY, ORANGE, RED, draw_legend, label_axes
from rbdyn_ros.files import json_text
from rbdyn_ros.origin import origin

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="{{ origin.program }}">
<title>Loop monitor: {{ verdict }}</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em;
       padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; } h1 span { padding: .1em .5em; border-radius: .25em; color: white; }
.fine { background: #2a9d6f; } .warning { background: #d9732b; } .error { background: #c1272d; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { padding: .3em .9em; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; } small { color: #666; }
svg { width: 100%; height: auto; }
</style>
</head>
<body>
<h1>Loop monitor <span class="{{ verdict }}">{{ verdict }}</span></h1>
<p>States on <code>{{ topics.states }}</code>, commands on <code>{{ topics.commands }}</code>,
from {{ start }}.
The first {{ "%g" | format(warm_up.seconds) }} s ({{ warm_up.messages }} messages)
are left out.</p>
{% if findings %}<ul>
{%- for sentence in findings %}<li>{{ sentence }}</li>{% endfor -%}
</ul>{% endif %}
<table>
<tr><th>[ms]</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th>
<th>max</th><th>mean</th><th>count</th></tr>
{% for name, row in rows %}<tr><td>{{ name }}</td>
{% for key in ("p50", "p90", "p99", "p99_9", "max", "mean") -%}
<td>{{ milliseconds(row[key]) }}</td>
{%- endfor %}<td>{{ row.count }}</td></tr>
{% endfor %}</table>
<table>
<tr><td>states that arrived</td><td>{{ loss.states }}</td></tr>
<tr><td>states that did not arrive, by their stamps</td>
<td>{{ loss.lost }} ({{ "%.3g" | format(100 * loss.share) }} %)</td></tr>
<tr><td>commands</td>
<td>{{ answers.commands }}, of them {{ answers.unstamped }} without a stamp</td></tr>
<tr><td>states without a command</td>
<td>{{ "%.3g" | format(100 * answers.unanswered_share) }} %</td></tr>
<tr><td>restarts of the simulation, messages out of order, jumps of the system's clock</td>
<td>{{ events.restarts }}, {{ events.out_of_order }}, {{ events.clock_jumps }}</td></tr>
</table>
{% if plant %}<p>The plant: {{ plant.summary }}.</p>{% endif %}
{{ picture | safe }}
<p><small>Instants are those at which a message was {{ instants }}
{{- " by the monitor" if instants == "received" else "" }}. The period is between states whose
stamps advance. A command's age is the newest state's stamp less the stamp that the command
repeats, in simulated time. The round trip is from a state to its command. Percentiles come from
a histogram of fixed size, within 1.2 %; minimum, mean and maximum are exact. The same numbers are
in monitor.json.</small></p>
<p><small>Written by {{ origin.program }}{{ ", commit " ~ origin.commit if origin.commit }}:
<code>{{ origin.command }}</code></small></p>
</body>
</html>
"""
_NAMES = {"period": "period", "age": "age of a command", "round_trip": "round trip"}


def page(made: dict[str, Any], picture: str) -> str:
    """Return the HTML of a report with its picture (SVG)."""
    from jinja2 import Environment

    template = Environment(autoescape=True, trim_blocks=True).from_string(_TEMPLATE)
    rows = [(name, made[key]) for key, name in _NAMES.items()]
    return template.render(
        **made, rows=rows, picture=picture, milliseconds=_milliseconds, origin=origin()
    )


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.3f}"


LEVELS = {"warn": ORANGE, "error": RED}
TITLES = {
    "period": "period of the states",
    "age": "age of the commands",
    "round_trip": "round trip",
}
_TAIL = 1e-5  # the smallest share that is drawn


def svg(latency: Latency, limits: dict[str, float]) -> str:
    """Return an SVG with two plots for each time: the share that takes longer, and mean and
    maximum over the run.
    """
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(11.0, 8.5))
    # a constrained layout would take as long as the drawing
    canvas.subplots_adjust(left=0.08, right=0.99, bottom=0.06, top=0.99, hspace=0.28, wspace=0.16)
    for row, (name, figure) in zip(
        canvas.subplots(3, 2, width_ratios=(1.0, 1.4)), latency.figures.items()
    ):
        _draw_tail(row[0], figure)
        _draw_trend(row[1], figure)
        _draw_limits(row[0], {level: limits.get(f"monitor.{level}.{name}") for level in LEVELS})
        label_axes(row[0], "time [ms]", f"{TITLES[name]}\nshare that takes longer [–]")
        label_axes(row[1], "time after the warm-up [s]", "time [ms]")
    drawn = figures.svg(canvas, "Times of the loop").decode()
    return drawn[drawn.index("<svg") :]  # without the header of a file


def _draw_tail(axes, figure: Figure) -> None:
    times, shares = figure.run.curve()
    if not len(times):
        axes.text(
            0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color=GREY
        )
        return
    axes.step(1e3 * times, np.maximum(_TAIL, 1.0 - shares), where="post", color=BLUE)
    for share, name in ((0.5, "p50"), (0.01, "p99"), (0.001, "p99.9")):
        axes.axhline(share, color=GREY, linewidth=0.6, linestyle=":")
        axes.annotate(
            name,
            (0.01, share),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            color=GREY,
            va="bottom",
        )
    axes.set_xscale("symlog", linthresh=1e-2)
    axes.set_xlim(left=0.0)
    axes.set(yscale="log", ylim=(_TAIL, 1.0))


def _draw_trend(axes, figure: Figure) -> None:
    begin, _, mean, most = np.reshape(figure.trend.slots, (-1, 4)).T
    largest = f"maximum of {figure.trend.width:g} s"
    axes.plot(begin, 1e3 * most, color=ORANGE, linewidth=1.0, label=largest)
    axes.plot(begin, 1e3 * mean, color=BLUE, linewidth=1.2, label="mean")
    room = 1.25 * axes.get_ylim()[1]  # for the legend
    axes.set_ylim(0.0, room)
    draw_legend(axes, loc="upper right", fontsize=7)


def _draw_limits(axes, limits: dict) -> None:
    """Draw the limits as dashed lines and extend the axis beyond them."""
    for level, limit in limits.items():
        if limit is not None and axes.lines:
            axes.axvline(1e3 * limit, color=LEVELS[level], linewidth=1.0, linestyle="--")
            place = (1e3 * limit, 0.97)
            axes.annotate(
                level,
                place,
                (-2, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                fontsize=7,
                color=LEVELS[level],
                ha="right",
                va="top",
                rotation=90,
            )
            axes.set_xlim(right=max(axes.get_xlim()[1], 2e3 * limit))


PERCENTS = (50.0, 90.0, 99.0, 99.9)
VERDICTS = ("fine", "warning", "error")


def report(
    latency: Latency,
    topics: dict[str, str],
    values: dict[str, Any],
    start: str,
    plant: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the figures of the monitor, times in seconds; `topics` {"states": name, "commands":
    name}, `values` of the monitor's parameters, `plant` what is known of the plant (a "summary",
    its "changes"), if anything.
    """
    found = find_alarms(latency, latency.counts, values, window=False)
    if not latency.counts["states"]:
        found = [(WRONG, f"no state came on {topics['states']} after the warm-up")]
    if plant and plant["changes"]:
        found.append((WARNING, plant["summary"]))
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
        "loss": {"states": counts["states"], "lost": counts["lost"], "share": loss(counts)},
        "answers": {
            "commands": counts["commands"],
            "unstamped": counts["unstamped"],
            "unanswered_share": unanswered_share(counts),
        },
        "events": {name: counts[name] for name in ("restarts", "out_of_order", "clock_jumps")},
        "plant": plant,
        "limits": {
            name: value
            for name, value in values.items()
            if name.startswith(("monitor.warn", "monitor.error"))
        },
    }


def times(histogram) -> dict[str, float | None]:
    """Return a histogram in a few numbers [s], which are None before the first value."""
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
    """Import the libraries that draw the page: that takes longer than the page itself, and at the
    end time is short.
    """
    for name in ("matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2"):
        import_module(name)
    origin()  # which keeps the commit


def write(folder: Path, made: dict[str, Any], latency: Latency) -> list[Path]:
    """Write monitor.json, then monitor.html, into the folder, and return their paths.

    Raise OSError if that cannot be done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    numbers, shown = folder / "monitor.json", folder / "monitor.html"
    numbers.write_text(json_text(made), encoding="utf-8")
    shown.write_text(page(made, svg(latency, made["limits"])), encoding="utf-8")
    return [numbers, shown]
