"""The judge of a long run: a leak, a drift and a growing queue are seen, noise is not."""

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from checks import Check  # noqa: E402
from long_run import ResourceSample, check_samples, draw_figure  # noqa: E402

TICK = 0.002


def run(leak=0.0, drift=0.0, slower=0.0, missed=0.0, threads=0.0, late=0.0, n=600) -> list:
    """A sample per second; the first tenth fills caches, and in the last a tick is `late` [s]."""
    noise = np.random.default_rng(1).normal(size=(3, n))
    return [
        ResourceSample(
            t=float(t),
            rss=(100.0 + min(t, 60) + leak * t + 0.05 * noise[0, t], 80.0),
            threads=(9, 9 + round(threads * t)),
            files=(40, 40),
            clock=1e9 + t,
            simulated=t * (1.0 + drift) - missed * t * TICK - late * (t == n - 1),
            missed=missed * t,
            round_trip=0.3 + slower * t + 0.03 * noise[1, t],
        )
        for t in range(n)
    ]


def failed(**options) -> list:
    """The names of the checks that a run does not pass."""
    return [
        check.name
        for check in check_samples(run(**options), ("simulator", "controller"), TICK)
        if not check.ok
    ]


def test_a_steady_run_passes_even_where_periods_are_skipped():
    assert failed() == [] and failed(missed=3.0) == [] and failed(late=0.2) == []


@pytest.mark.parametrize(
    "options, name",
    [
        ({"leak": 0.004}, "memory of the simulator, growth over the last 70 %"),
        ({"drift": 3e-4}, "drift of the loop, skipped periods apart"),
        ({"drift": -3e-4}, "drift of the loop, skipped periods apart"),
        ({"slower": 0.004}, "round trip, longer in the last third"),
        ({"threads": 0.01}, "threads of the controller, more at the end"),
    ],
)
def test_what_grows_or_drifts_is_found(options, name):
    assert failed(**options) == [name]


def test_what_is_not_known_proves_nothing():
    assert (
        not Check("a", float("nan"), 1.0, "").ok
        and not Check("a", float("nan"), 1.0, "", least=True).ok
    )
    assert "FAIL a: 2 s (at most 1)" == Check("a", 2.0, 1.0, "s").sentence


def test_the_picture_is_drawn(tmp_path):
    draw_figure(run(n=50), ("simulator", "controller"), tmp_path / "soak.png")
    assert (tmp_path / "soak.png").stat().st_size > 10_000
