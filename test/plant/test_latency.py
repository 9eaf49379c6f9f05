"""What a monitor makes of arrivals: made up ones, so that every figure is known."""

import json
import math
import re

import numpy as np
import pytest

from rbdyn_ros import origin
from rbdyn_ros.evaluation import latency_report
from rbdyn_ros.evaluation.latency import (
    KEPT,
    SLOTS,
    Latency,
    Trend,
    find_alarms,
    loss,
    unanswered_share,
)
from rbdyn_ros.parameters.nodes import TABLES

MS = 1_000_000
LIMITS = {parameter.name: parameter.default for parameter in TABLES["monitor"]}


def played(
    states: int = 2000,
    trip: int = MS // 2,
    lost=(),
    unanswered=(),
    warm_up: float = 0.0,
    gap: tuple = (0, 0),
) -> Latency:
    """States every 2 ms by stamp and by arrival; `gap` = (index, ns) delays what comes from there
    on.
    """
    latency = Latency(warm_up)
    for k in range(states):
        stamp, arrived = (
            10**9 + 2 * MS * k,
            5 * 10**9 + 2 * MS * k + (gap[1] if k >= gap[0] else 0),
        )
        if k not in lost:
            latency.add_state(stamp, arrived)
        if k not in unanswered:
            latency.add_command(stamp, arrived + trip)
    return latency


def test_a_regular_loop():
    latency = played()
    assert latency.tick == 0.002
    for percent in (1, 50, 99, 100):
        assert latency.period.run.percentile(percent) == pytest.approx(0.002)
        assert latency.round_trip.run.percentile(percent) == pytest.approx(0.0005)
        assert latency.age.run.percentile(percent) == 0.0
    assert latency.counts["lost"] == 0 and unanswered_share(latency.counts) == 0.0


def test_states_that_do_not_arrive_are_known_by_the_gaps_of_the_stamps():
    latency = played(lost={100, 200, 201, 202})
    assert latency.counts["lost"] == 4 and latency.counts["states"] == 1996
    assert loss(latency.counts) == pytest.approx(4 / 2000)
    assert latency.period.run.most == pytest.approx(0.008)


def test_states_without_a_command_are_no_loss():
    latency = played(unanswered=set(range(0, 2000, 2)))
    assert latency.counts["lost"] == 0 and unanswered_share(latency.counts) == pytest.approx(0.5)


def test_the_age_is_what_the_newest_state_is_ahead_of_the_answered_one():
    latency = Latency(0.0)
    for k in range(10):
        latency.add_state(10**9 + 2 * MS * k, 2 * MS * k)
    latency.add_command(10**9 + 2 * MS * 6, 19 * MS)
    assert latency.age.run.most == pytest.approx(
        0.006
    ) and latency.round_trip.run.most == pytest.approx(0.007)


def test_the_warm_up_is_left_out():
    latency = played(warm_up=1.0, gap=(100, 3 * MS))  # the gap falls into the first second
    assert latency.period.run.most == pytest.approx(0.002)
    assert (
        latency.counts["states"] + latency.counts["commands"] + latency.counts["warm_up"] == 4000
    )


def test_time_that_stands_still_is_no_period():
    latency = Latency(0.0)
    for stamp, arrived in ((1, 0), (2, 2), (2, 22), (2, 42), (3, 55), (4, 57)):
        latency.add_state(10**9 + stamp * 2 * MS, arrived * MS)
    assert latency.period.run.total == 2 and latency.period.run.most == pytest.approx(0.002)


def test_a_simulation_that_starts_anew_is_counted_and_followed():
    latency = played(states=1000)
    for k in range(100):
        latency.add_state(10**9 + 2 * MS * k, 20 * 10**9 + 2 * MS * k)
    assert latency.counts["restarts"] == 1 and latency.counts["lost"] == 0
    assert latency.period.run.most == pytest.approx(0.002)


def test_a_clock_that_is_set_back_gives_no_negative_period():
    latency = played(states=100, gap=(50, -(10**9)))
    assert latency.counts["clock_jumps"] == 1 and latency.period.run.total == 98


def test_memory_is_bounded():
    latency = played(states=KEPT * 4, unanswered=set(range(KEPT * 4)))
    assert len(latency._open) == KEPT


def test_a_trend_keeps_the_maximum_and_the_mean_of_a_run_of_any_length():
    trend, values = Trend(), np.random.default_rng(2).exponential(size=5 * SLOTS)
    for t, value in enumerate(values.tolist()):
        trend.add(float(t), value)
    assert len(trend.slots) <= SLOTS and max(slot.most for slot in trend.slots) == values.max()
    assert sum(slot.count for slot in trend.slots) == len(values)
    assert sum(slot.count * slot.mean for slot in trend.slots) == pytest.approx(values.sum())


@pytest.mark.parametrize(
    "options, level, words",
    [
        ({}, 0, ""),
        ({"lost": set(range(500, 560))}, 1, "3 % of the states did not arrive; the limit is 1 %"),
        (
            {"lost": set(range(500, 1000))},
            2,
            "25 % of the states did not arrive; the limit is 10 %",
        ),
        ({"trip": 30 * MS}, 1, "the round trip has a p99 of 30 ms; the limit is 10 ms"),
        ({"trip": 300 * MS}, 2, "the round trip has a p99 of 300 ms; the limit is 100 ms"),
        (
            {"unanswered": set(range(0, 2000, 2))},
            1,
            "50 % of the states had no command; the limit is 10 %",
        ),
    ],
)
def test_levels(options, level, words):
    latency = played(**options)
    found = find_alarms(latency, latency.counts, LIMITS)
    assert max((rank for rank, _ in found), default=0) == level
    assert not words or any(words == sentence for _, sentence in found), found


def test_the_report_is_one_json_and_one_page_without_links(tmp_path):
    latency = played(lost=set(range(500, 560)))
    made = latency_report.report(
        latency, {"states": "/a/odometry", "commands": "/a/<cart>"}, LIMITS, "today"
    )
    numbers, page = latency_report.write(tmp_path / "new", made, latency)
    read = json.loads(numbers.read_text())
    assert (
        read["verdict"] == "warning"
        and read["period"]["p50"] == pytest.approx(0.002, rel=0.012)
        and read["topics"]["states"] == "/a/odometry"
    )
    html = page.read_text()
    assert "/a/odometry" in html and "/a/&lt;cart&gt;" in html and html.count("<svg") == 1
    assert not re.search(r'(src|href)="(?!#)', html)  # inside the page only
    assert html.count(origin.origin().program) == 3  # head, end, picture


def test_the_report_of_nothing_says_so(tmp_path):
    latency = Latency(0.0)
    made = latency_report.report(
        latency, {"states": "/odometry", "commands": "/cart/command"}, LIMITS, "today"
    )
    latency_report.write(tmp_path, made, latency)
    assert made["verdict"] == "error" and made["findings"] == [
        "no state came on /odometry after the warm-up"
    ]
    assert made["period"]["p99"] is None and math.isnan(latency.period.run.mean)
