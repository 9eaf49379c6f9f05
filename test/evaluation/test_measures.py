"""The measures against what is known: of the theory, of the control study, of other parts of this package."""

import math

import numpy as np
import pytest

from rbdyn_ros.controllers import lqr
from rbdyn_ros.evaluation import course, margins, starts
from rbdyn_ros.evaluation.bisection import edge
from rbdyn_ros.evaluation.many import Held
from rbdyn_ros.models import sphere_state, spherical_pendulum
from rbdyn_ros.simulation.closed_loop import ClosedLoop

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)


def test_a_release_of_the_regulator(measured):
    """3.27 s, 0.63 m, 20 N in the control study."""
    values = measured("lqr", "release").values
    assert values["settling_time"] == pytest.approx(3.27, abs=0.02)
    assert values["travel"] == pytest.approx(0.63, abs=0.01)
    assert values["peak_force"] == pytest.approx(20.0)


def test_who_falls_never_settles(measured):
    fallen = measured("rest", "release", duration=5.0)
    assert fallen.values["settling_time"] == math.inf and fallen.note == course.FALLEN


def test_the_largest_tilt_is_between_one_that_is_recovered_and_one_that_is_not(measured):
    found = measured("lqr", "recoverable_tilt", tolerance=0.5)
    outcomes = dict(zip(found.curves["tried"], found.curves["recovered"]))
    assert outcomes[found.values["tilt"]] == 1
    assert found.values["tilt"] == pytest.approx(22.5, abs=0.5)
    assert min(tilt for tilt, held in outcomes.items() if not held) - found.values["tilt"] <= 0.5


def test_the_largest_push_is_that_of_the_study(measured):
    """0.79 N s as an impulse."""
    assert measured("lqr", "recoverable_push", tolerance=0.02).values["push"] == pytest.approx(0.80, abs=0.03)


def test_the_margins_of_the_regulator_are_those_of_the_study():
    """102.7 ms, 0.307 and 86.5."""
    law = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    K = margins.gains(law)
    np.testing.assert_allclose(K, law.gains, rtol=1e-6)
    found = margins.margins(spherical_pendulum.build(PLANT), K, 0.002)
    assert found.delay == pytest.approx(0.1027, abs=2e-4)
    assert (found.gain_low, found.gain_high) == pytest.approx((0.307, 86.5), rel=2e-3)


def test_an_unstable_loop_has_no_margins():
    system = spherical_pendulum.build(PLANT)
    assert all(map(math.isnan, margins.margins(system, np.array((0.0, 0.0, -1.0, 0.0)), 0.002)))


def test_the_loop_stands_the_delay_of_the_theory_and_no_more(measured):
    values = measured("lqr", "delay_margin", period=0.01, step=0.002, duration=20.0).values
    assert values["delay_margin"] <= values["theory"] <= values["delay_margin"] + 10.0
    assert values["off_theory"] == 0.0


def test_the_gain_margins_are_those_of_the_theory(measured):
    values = measured("lqr", "gain_margin", period=0.01, step=0.002, duration=15.0, tolerance=10.0).values
    assert values["gain_low"] == pytest.approx(values["theory_low"], rel=0.15)
    assert values["gain_high"] == pytest.approx(values["theory_high"], rel=0.15)


def test_a_set_point_that_jumps(measured):
    values = measured("lqr", "step_response").values
    assert values["settling_time"] < 4.0 and values["undershoot"] > 5.0 > values["overshoot"]


def test_how_still_it_stands_behind_an_observer(measured):
    exact = measured("lqr", "standing", waiting=5.0, duration=6.0).values
    seen = measured("lqr", "standing", waiting=5.0, duration=6.0, observer="encoders", faults__encoder__gimbal=4096.0).values
    assert exact["estimate_rms"] == 0.0 < 0.005 < seen["estimate_rms"] < 0.1
    assert exact["tilt_rms"] < seen["tilt_rms"] < 0.1


def test_the_circle_of_the_nonlinear_plant(measured):
    assert measured("tracking", "tracking", waiting=6.0, duration=8.0).values["error_rms"] < 0.1


def test_the_plant_is_that_of_the_equations(measured):
    good = measured("rest", "model_agreement", duration=0.5, runs=1).values["difference"]
    assert 0.0 < good < 1e-9
    coarse = measured("rest", "model_agreement", duration=0.5, runs=1, step=0.01).values["difference"]
    assert coarse == pytest.approx(good * 1e4, rel=0.9)  # fourth order


def test_the_energy_of_a_coarse_step_drifts(measured):
    assert measured("rest", "energy_drift", duration=5.0).values["drift"] < 1e-10 < measured("rest", "energy_drift", duration=5.0, step=0.01).values["drift"]


def test_a_swing_up_one_by_one_is_that_of_the_compiled_form(measured):
    """Behind a bias of nothing: the closed loop with attitude against the equations on the sphere."""
    common = dict(start="precessing", travel=2.0, starts=3, starts_one_by_one=3)
    together = measured("swing_up", "swing_up", **common)
    alone = measured("swing_up", "swing_up", **common, faults__bias__cart=(1e-12, 0.0))
    np.testing.assert_allclose(alone.curves["settled"], together.curves["settled"], atol=0.004)
    assert together.values["success"] == 100.0 and together.values["travel_max"] <= 2.0


def test_the_region_of_attraction_of_both_forms(measured):
    common = dict(travel=2.0, grid=9, grid_one_by_one=9, tilt=40.0, rate=2.0, duration=8.0)
    together = measured("lqr", "region_of_attraction", **common)
    alone = measured("lqr", "region_of_attraction", **common, faults__bias__cart=(1e-12, 0.0))
    assert together.curves["settled"] == alone.curves["settled"]
    assert 10.0 < together.values["fraction"] < 60.0


@pytest.mark.parametrize("kind", starts.KINDS)
def test_a_start_does_not_depend_on_how_many_there_are(kind):
    many = starts.drawn(kind, 3, range(20))
    np.testing.assert_array_equal(starts.drawn(kind, 3, (7, 11)), many[[7, 11]])
    np.testing.assert_allclose(np.linalg.norm(many[:, 2:6], axis=1), 1.0)
    assert np.isfinite(many).all() and not many[:, [0, 1, 6, 7]].any()


def test_the_starts_are_drawn_as_they_say():
    drawn = starts.drawn("anywhere", 0, range(2000))
    k, dk = zip(*(sphere_state.of_state(start[:6], start[6:])[:2] for start in drawn))
    rates = np.linalg.norm(dk, axis=1)
    assert rates.max() <= 3.0 and np.mean(rates < 1.5) == pytest.approx(0.25, abs=0.03)
    np.testing.assert_allclose(np.mean(k, axis=0), 0.0, atol=0.05)
    tilt = np.degrees(np.arccos([sphere_state.of_state(s[:6], s[6:])[0][2] for s in starts.drawn("precessing", 0, range(500))]))
    assert 140.0 <= tilt.min() < 145.0 and tilt.max() <= 180.0


def course_of(tilt, x=0.0, ended=""):
    """A run with a tilt [rad] per row."""
    tilt = np.asarray(tilt, float)
    q = np.column_stack((np.full(len(tilt), x), 0.0 * tilt, np.cos(tilt / 2), 0.0 * tilt, np.sin(tilt / 2), 0.0 * tilt))
    n = len(tilt) - 1
    return ClosedLoop(0.1 * np.arange(n + 1), q, np.zeros((n + 1, 5)), np.zeros((n, 2)), np.zeros((n, 11)), np.zeros(n), ended, "")


@pytest.mark.parametrize(
    "tilt, settled", [([0.1, 0.001, 0.1, 0.0, 0.0], 0.3), ([0.0, 0.0], 0.0), ([0.1, 0.0, 0.1], math.inf), ([0.1, 0.0, 0.008], 0.1)]
)
def test_settled_is_from_then_on(tilt, settled):
    assert course.settling_time(course_of(tilt)) == pytest.approx(settled)


def test_a_run_that_broke_off_has_not_settled():
    assert course.settling_time(course_of([0.0, 0.0], ended="the cart left its travel")) == math.inf
    assert course.settling_time(course_of([0.0, 0.0], ended=course.SETTLED)) == 0.0


def test_calm_takes_half_a_second_and_a_fall_none():
    upright, calm = spherical_pendulum.upright(), course.Calm()
    assert [calm(0.1 * i, upright.q, upright.v) for i in range(6)] == [""] * 5 + [course.SETTLED]
    assert calm(0.0, spherical_pendulum.upright(1.6).q, upright.v) == course.FALLEN
    moving = course.Calm()
    assert not any(moving(0.1 * i, upright.q, upright.v + 0.1) for i in range(20))


def test_held_counts_from_the_last_excursion():
    held, upright, away = Held(), spherical_pendulum.upright(), spherical_pendulum.upright(0.1)
    words = [held(0.1 * i, (away if i == 4 else upright).q, upright.v) for i in range(15)]
    assert held.since == pytest.approx(0.4) and words == [""] * 14 + [course.SETTLED]


@pytest.mark.parametrize("true", (0.0, 0.03, 2.0, 7.77, 10.0))
@pytest.mark.parametrize("near", (None, 2.1, 7.5, 9.9))
def test_bisection_finds_the_edge(true, near):
    found = edge(lambda x: x <= true, 10.0, 0.05, near)
    assert found.holds <= true <= found.holds + 0.05 and found.at_limit == (true == 10.0)


def test_a_good_guess_saves_questions():
    assert len(edge(lambda x: x <= 3.33, 90.0, 0.05, 3.2).tried) < len(edge(lambda x: x <= 3.33, 90.0, 0.05).tried)
