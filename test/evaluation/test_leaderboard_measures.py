"""The measures of the leaderboard: costs and scores by hand, variations, noise, pushes."""

import math

import numpy as np
import pytest

from rbdyn_ros.evaluation import entry, measures, metrics
from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.measures import performance, robustness, uptime
from rbdyn_ros.evaluation.metrics import Scenario
from rbdyn_ros.evaluation.score import Score, controller_under_test
from rbdyn_ros.evaluation.suite import Case
from rbdyn_ros.plant.rollout import Rollout

SUITE = entry.suite_of_board(1)


def bench(name: str) -> Bench:
    return Bench(controller_under_test(name, (), None, SUITE.plant, 2.0))


def defaults(measure, **settings) -> dict:
    described = measures.MEASURES[measure.__name__.rpartition(".")[2]]
    return {p.name: p.default for p in described.settings} | settings


def leaning(tilt_deg, h: float = 0.01) -> Rollout:
    """Rows of a rod that leans by these tilts about y, the cart at rest under 2 N along x."""
    half = 0.5 * np.radians(np.asarray(tilt_deg, float))
    q = np.zeros((len(half), 6))
    q[:, 2], q[:, 4] = np.cos(half), np.sin(half)
    force = np.tile((2.0, 0.0), (len(half) - 1, 1))
    return Rollout(h * np.arange(len(half)), q, np.zeros((len(half), 5)), force)


def test_the_tip_above_nine_tenths_is_upright():
    run = leaning([180.0, 26.0, 25.0, 30.0, 25.8, 10.0, 0.0])
    assert metrics.is_upright(run).tolist() == [False, False, True, False, True, True, True]
    assert metrics.upright_since(run) == pytest.approx(0.04)
    assert metrics.upright_since(leaning([0.0, 0.0, 90.0])) == math.inf
    assert metrics.upright_since(leaning([0.0, 0.0])._replace(ended="off the rail")) == math.inf


def test_the_costs_of_a_run_are_those_of_their_formulas():
    t = np.arange(201) * 0.01
    run = leaning(np.zeros(201))
    q, v = run.q.copy(), run.v.copy()
    q[:, 0], v[:, 2], v[:, 4] = np.sin(3.0 * t), 0.5, 7.0  # the spin counts for nothing
    force = np.stack((4.0 * np.cos(3.0 * t[:-1]), -1.0 + 0.0 * t[:-1]), axis=1)
    found = performance.costs(run._replace(q=q, v=v, force=force))
    size = np.hypot(4.0 * np.cos(3.0 * t[:-1]), 1.0)
    dense = np.linspace(0.0, 2.0, 200001)
    power = np.abs(4.0 * np.cos(3.0 * dense) * 3.0 * np.cos(3.0 * dense))
    assert found["energy"] == pytest.approx(np.trapezoid(power, dense), rel=0.02)
    assert found["max_force"] == pytest.approx(size.max())
    assert found["integrated_force"] == pytest.approx(size.sum() * 0.01)
    assert found["force_cost"] == pytest.approx((size**2).sum() * 0.01)
    assert found["velocity_cost"] == pytest.approx(0.25 * 2.0)
    assert found["smoothness"] == pytest.approx(np.std(np.diff(force[:, 0])), rel=1e-9)


@pytest.mark.parametrize("azimuth", [0.0, 23.0, 45.0])
def test_no_cost_depends_on_the_direction_of_the_motion(azimuth):
    rng, a = np.random.default_rng(2), math.radians(azimuth)
    turn = np.array(((math.cos(a), -math.sin(a)), (math.sin(a), math.cos(a))))
    run = leaning(np.linspace(10.0, 0.0, 101))
    run = run._replace(force=run.force + rng.normal(0.0, 1.0, run.force.shape))
    turned = run._replace(force=run.force @ turn.T)
    before, now = performance.costs(run), performance.costs(turned)
    assert now["smoothness"] == pytest.approx(before["smoothness"], rel=1e-12)


def test_intervals_hold_the_true_mean_in_95_of_100_samples():
    rng = np.random.default_rng(6)
    for n in (8, 40):
        inside = 0
        for _ in range(1000):
            shares = np.where(rng.uniform(size=n) < 0.3, rng.uniform(0.1, 0.6, n), 1.0)
            inside += abs(shares.mean() - (0.7 + 0.3 * 0.35)) <= metrics.mean_interval(shares)
        assert inside >= 900
        inside = 0
        for _ in range(1000):
            part = (np.arange(n) + rng.uniform(size=n)) / n
            stands = (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(12.0 * (part - 0.55)))).astype(
                float
            )
            inside += abs(stands.mean() - 0.5497) <= metrics.stratified_interval(stands)
        assert inside >= 900
    for strata, draws in ((5, 3), (5, 7), (25, 5)):  # a law that stands up to some size
        inside = 0
        for _ in range(1000):
            size = (np.arange(strata)[:, None] + rng.uniform(size=(strata, draws))) / strata
            largest = rng.uniform()
            stands = (np.sort(size.ravel()) < largest).astype(float)
            inside += abs(stands.mean() - largest) <= metrics.stratified_interval(stands, draws)
        assert inside >= 930
    assert metrics.mean_interval(np.ones(50)) == pytest.approx(0.0356, abs=1e-3)
    assert metrics.mean_interval(np.ones(1)) == 1.0


def test_runs_are_added_until_the_interval_is_small_enough():
    """Score asks the measure for more runs, and ends within the precision or the time."""
    settings = defaults(uptime, duration=2.0, largest=3.0, interval=1.0, runs=4, precision=12.0)
    case = Case("B3", "", "uptime", ("balance",), Scenario(travel=2.0), settings, ())
    for limit, longest, least, most in (
        (600.0, math.inf, 8, 400),
        (1e-9, math.inf, 4, 4),
        (600.0, 0.0, 4, 4),  # --time-limit
    ):
        found = {}
        asked = case._replace(settings={**settings, "time_limit": limit})
        score = Score([asked], lambda c: found.update({c.name: c}), lambda _: None, longest)

        class Stop:
            signal = 0

        score.measure_all(bench("lqr"), Stop)
        assert score.is_complete
        values = found["B3"].values
        assert least <= values["runs"] <= most
        assert most == 4 or values["interval"] <= 12.0


def test_the_score_of_a_run_is_that_of_its_costs():
    scale = {f"scale.{name}": 1e9 for name in performance.SCALES} | {"scale.time": 2.0}
    found = performance.measure(
        bench("lqr"), Scenario(travel=2.0), defaults(performance, settle=True, **scale)
    ).values
    assert found["success"] == 100.0 and 3.0 < found["time"] < 3.5
    assert found["score"] == pytest.approx(1.0 - math.tanh(math.pi * found["time"] / 2.0) / 5.0)
    down = defaults(performance, tilt=60.0, **scale)
    fallen = performance.measure(bench("lqr"), Scenario(travel=2.0), down)
    assert fallen.values["success"] == 0.0 == fallen.values["score"]
    assert fallen.values["time"] == math.inf and "the cart left its travel" in fallen.note
    still = performance.measure(bench("rest"), Scenario(), defaults(performance, **scale))
    assert "the rod has fallen: at the end it leans by" in still.note
    short = defaults(performance, settle=True, duration=1.5, **scale)
    assert "not settled: at the end" in performance.measure(bench("lqr"), Scenario(), short).note


@pytest.mark.parametrize("kind", robustness.KINDS)
def test_every_variation_grows_to_the_largest(kind):
    scenario, settings = Scenario(seed=4), defaults(robustness, vary=kind, largest=0.2)
    law = bench("lqr")
    n = robustness.starts(law, scenario, settings)
    assert n == (50 if kind == "model" else 10)
    sizes = [robustness.vary(scenario, settings, i, 2.4)[0] for i in range(n)]
    low = -0.2 if kind == "model" else 0.0
    strata = np.floor((np.array(sizes[:10]) - low) / (0.2 - low) * 10.0)
    assert strata.tolist() == list(range(10))  # one draw in each of ten equal parts
    later = robustness.vary(scenario, settings, n, 2.4)[0]
    assert later != sizes[0] and abs(later - sizes[0]) < (0.2 - low) / 10.0
    _, asked, more = robustness.vary(scenario, settings, n - 1, 2.4)
    changed = asked.faults != scenario.faults or bool(more)
    assert changed and asked.seed != scenario.seed
    again = robustness.vary(scenario, settings, n - 1, 2.4)
    assert again[1] == asked and repr(again[2].get("pushes")) == repr(more.get("pushes"))


def test_noise_of_the_force_reaches_the_cart():
    settings = defaults(robustness, vary="force_noise", largest=5.0, variations=1)
    size, asked, more = robustness.vary(Scenario(), settings, 0, 2.4)
    law = bench("rest")
    run = law.run(asked, metrics.start_state(defaults(robustness, tilt=0.0)), 4.0, **more)
    assert run.force.std(axis=0) == pytest.approx((size, size), rel=0.05)
    assert abs(run.force.mean()) < 0.3


def test_pushes_are_drawn_from_the_seed_within_their_bounds():
    rng = np.random.default_rng(3)
    pushes = metrics.draw_pushes(rng, 60.0, 6.0, 0.9, 2.4)
    impulses = [math.hypot(*push.wrench[:2]) * push.duration for push in pushes]
    gaps = np.diff([push.time for push in pushes])
    assert 0.27 <= min(impulses) and max(impulses) <= 0.9 + 1e-12
    assert 3.0 <= gaps.min() and gaps.max() <= 9.0 and 6 <= len(pushes) <= 20
    assert metrics.draw_pushes(np.random.default_rng(3), 60.0, 6.0, 0.9, 2.4) == pushes


def test_swing_ups_are_counted_a_second_apart():
    tilt = np.full(1000, 90.0)
    tilt[100:200] = tilt[210:300] = tilt[600:] = 0.0  # 0.1 s down is none
    assert uptime.swing_ups(leaning(tilt)) == 2.0
