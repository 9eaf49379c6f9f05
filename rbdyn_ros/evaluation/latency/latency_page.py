"""The page of a monitor: one HTML file without a link to anything else."""

from typing import Any

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
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
{{ picture | safe }}
<p><small>Instants are those at which a message was {{ instants }}
{{- " by the monitor" if instants == "received" else "" }}. The period is between states whose
stamps advance. A command's age is the newest state's stamp less the stamp that the command
repeats, in simulated time. The round trip is from a state to its command. Percentiles come from
a histogram of fixed size, within 1.2 %; minimum, mean and maximum are exact. The same numbers are
in monitor.json.</small></p>
</body>
</html>
"""
_NAMES = {"period": "period", "age": "age of a command", "round_trip": "round trip"}


def page(made: dict[str, Any], picture: str) -> str:
    """The HTML of a report with its picture (SVG)."""
    from jinja2 import Environment

    template = Environment(autoescape=True, trim_blocks=True).from_string(_TEMPLATE)
    rows = [(name, made[key]) for key, name in _NAMES.items()]
    return template.render(**made, rows=rows, picture=picture, milliseconds=_milliseconds)


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.3f}"
