"""The measures against what is known: of the theory, of the control study, of other parts of this
package.
"""

import math
import re
import time

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.control.linear_controller import constant
from rbdyn_ros.evaluation import loop_margins, metrics
from rbdyn_ros.evaluation.bench import Bench, KalmanObserver
from rbdyn_ros.evaluation.measures import model_agreement, swing_up
from rbdyn_ros.evaluation.metrics import SCENARIO, NotForThisLaw, make_scenario
from rbdyn_ros.parameters.controller import ObserverOptions
from rbdyn_ros.pendulum import sphere_state, spherical_pendulum
from rbdyn_ros.plant.faults.fault_options import Faults, Mismatch, actual

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)


def test_a_release_of_the_regulator(measured):
    """3.27 s, 0.63 m, 20 N in the control study."""
    values = measured("lqr", "release").values
    assert values["settling_time"] == pytest.approx(3.27, abs=0.02)
    assert values["travel"] == pytest.approx(0.63, abs=0.01)
    assert values["peak_force"] == pytest.approx(20.0)


def test_who_falls_never_settles(measured):
    fallen = measured("rest", "release", duration=5.0)
    assert fallen.values["settling_time"] == math.inf and fallen.note == metrics.FALLEN


def test_the_largest_tilt_is_between_one_that_is_recovered_and_one_that_is_not(measured):
    found = measured("lqr", "recoverable_tilt", tolerance=0.5)
    outcomes = dict(zip(found.curves["tried"], found.curves["recovered"]))
    assert outcomes[found.values["tilt"]] == 1
    assert found.values["tilt"] == pytest.approx(22.5, abs=0.5)
    assert min(tilt for tilt, held in outcomes.items() if not held) - found.values["tilt"] <= 0.5


def test_the_smallest_of_the_azimuths_counts(measured, monkeypatch):
    """A law that sees along one axis only recovers nothing across it."""
    whole = lqr.Lqr.command
    monkeypatch.setattr(
        lqr.Lqr, "command", lambda law, t, state, aim: whole(law, t, state, aim) * (1.0, 0.0)
    )
    along = measured("lqr", "recoverable_tilt", tolerance=0.5).values
    around = measured("lqr", "recoverable_tilt", tolerance=0.5, azimuths=8).values
    assert along["tilt"] > 20.0 and around["tilt"] < 1.0
    assert around["spread"] == pytest.approx(along["tilt"] - around["tilt"], abs=1.0)


def test_the_largest_push_is_that_of_the_study(measured):
    """0.79 N s as an impulse."""
    assert measured("lqr", "recoverable_push", tolerance=0.02).values["push"] == pytest.approx(
        0.80, abs=0.03
    )


def test_the_margins_of_the_regulator_are_those_of_the_study():
    """102.7 ms, 0.307 and 86.5."""
    law = lqr.design(spherical_pendulum, PLANT, lqr.Options())
    K = loop_margins.gains(law)
    np.testing.assert_allclose(K, law.gains, rtol=1e-6)
    found = loop_margins.margins(spherical_pendulum.build(PLANT), constant(K), 0.002)
    assert found.delay == pytest.approx(0.1027, abs=2e-4)
    assert (found.gain_low, found.gain_high) == pytest.approx((0.307, 86.5), rel=2e-3)


def test_an_unstable_loop_has_no_margins():
    system = spherical_pendulum.build(PLANT)
    assert all(
        map(
            math.isnan,
            loop_margins.margins(system, constant(np.array((0.0, 0.0, -1.0, 0.0))), 0.002),
        )
    )


def test_the_loop_stands_the_delay_of_the_theory_and_no_more(measured):
    values = measured("lqr", "delay_margin", period=0.01, step=0.002, duration=20.0).values
    assert values["delay_margin"] <= values["theory"] <= values["delay_margin"] + 10.0
    assert values["off_theory"] == 0.0


def test_the_gain_margins_are_those_of_the_theory(measured):
    values = measured(
        "lqr", "gain_margin", period=0.01, step=0.002, duration=15.0, tolerance=10.0
    ).values
    assert values["gain_low"] == pytest.approx(values["theory_low"], rel=0.15)
    assert values["gain_high"] == pytest.approx(values["theory_high"], rel=0.15)


COARSE = dict(period=0.01, step=0.002, duration=20.0)


@pytest.mark.parametrize(
    "wrong", ({"faults__mismatch__rod_length": 0.3}, {"faults__state__delay": 0.03})
)
def test_the_theory_of_a_margin_is_that_of_the_plant_that_is_measured(measured, wrong):
    values = measured("lqr", "delay_margin", **COARSE, **wrong).values
    assert values["off_theory"] == 0.0 < values["delay_margin"]
    values = measured(
        "lqr", "gain_margin", **COARSE, **wrong, faults__command__delay=0.02, tolerance=10.0
    ).values
    assert values["gain_low"] == pytest.approx(values["theory_low"], rel=0.15)
    assert values["gain_high"] == pytest.approx(values["theory_high"], rel=0.15)


def test_the_theory_of_a_margin_is_that_of_the_axis_that_is_measured(under_test):
    """A rod that falls along x turns about y."""
    law = under_test("lqr")
    law.values["rod.inertia"] = (0.4, 0.9, 1.2)
    bench, asked = Bench(law), make_scenario({p.name: p.default for p in SCENARIO}, {})
    system = spherical_pendulum.build(bench.params)._replace(inertia=(0.9, 0.9, 1.2))
    found = loop_margins.of_scenario(bench, asked)
    assert found == loop_margins.margins(
        system, loop_margins.linear(bench.law(asked)), asked.period
    )


def test_faults_that_the_theory_of_a_margin_does_not_cover_leave_it_out(measured):
    values = measured("lqr", "delay_margin", **COARSE, faults__actuator__lag=0.02).values
    assert math.isnan(values["theory"]) and values["delay_margin"] > 0.0


@pytest.mark.parametrize("way", ("sleeps", "computes"))
def test_a_law_that_takes_longer_than_its_period_is_named(measured, monkeypatch, way):
    """8 ms in a period of 2 ms, whether the processor works or not, and whoever else uses it."""
    quick = measured("lqr", "computing_time", duration=0.2)
    assert (
        0.0 < quick.values["of_period"] < 100.0
        and 0.0 < quick.values["median"] <= quick.values["p99"]
    )
    whole = lqr.Lqr.command

    def slow(law, t, state, aim):
        if way == "sleeps":
            time.sleep(0.008)
        else:
            end = time.thread_time() + 0.008
            while time.thread_time() < end:
                pass
        return whole(law, t, state, aim)

    monkeypatch.setattr(lqr.Lqr, "command", slow)
    found = measured("lqr", "computing_time", duration=0.2)
    assert found.values["of_period"] >= 395.0 and found.values["median"] >= 7.9
    assert re.search(
        r"99 of 100 commands take at most \S+ ms of a control period of 2 ms, at a load average "
        r"of \S+ on \d+ processors",
        found.note,
    )


def test_a_set_point_that_jumps(measured):
    values = measured("lqr", "step_response").values
    assert values["settling_time"] < 4.0 and values["undershoot"] > 5.0 > values["overshoot"]


def test_how_still_it_stands_behind_an_observer(measured):
    exact = measured("lqr", "standing", waiting=5.0, duration=6.0).values
    seen = measured(
        "lqr",
        "standing",
        waiting=5.0,
        duration=6.0,
        observer="encoders",
        faults__encoder__gimbal=4096.0,
    ).values
    assert exact["estimate_rms"] == 0.0 < 0.005 < seen["estimate_rms"] < 0.1
    assert exact["tilt_rms"] < seen["tilt_rms"] < 0.1


def test_a_rod_that_falls_while_it_should_stand_is_remarked_on(measured):
    found = measured("lqr", "standing", tilt=60.0, waiting=0.2, duration=1.0)
    assert found.note == "fallen" and found.values["settling_time"] == math.inf


def test_the_filter_begins_where_the_encoders_say_and_knows_no_velocity(under_test):
    """As that of a node: it began with the true state. After 0.1 s it has found the velocities."""
    bench, start = Bench(under_test("lqr")), spherical_pendulum.upright(0.1, 0.4)
    start.v[:] = 0.5, -0.3, 0.4, 0.3, 1.0
    settings = {p.name: p.default for p in SCENARIO} | {
        "observer": "encoders",
        "faults.encoder.gimbal": 4096.0,
        "faults.encoder.cart": 1e-4,
    }
    run = bench.run(make_scenario(settings, {}), start, 0.2)
    assert not run.seen[0, 6:].any()
    apart = np.linalg.norm(np.cross(metrics.axis(run.seen[:1, :6]), metrics.axis(run.q[:1])))
    assert 1e-5 < apart <= 2.0 * math.pi / 4096.0
    np.testing.assert_allclose(run.seen[50:, 6:10], run.v[50:-1, :4], atol=0.05)


def test_the_margins_behind_the_observer(measured, under_test):
    """Given the force that acted, the filter costs no delay margin (102.7 ms): its error does not
    depend on the force. Given the commanded one it does.
    """
    encoders = dict(
        observer="encoders",
        faults__encoder__gimbal=4096.0,
        faults__encoder__cart=1e-4,
        faults__noise__cart=1e-4,
    )
    common = dict(encoders, tilt=2.0, duration=12.0, largest=0.12)
    acting = measured("lqr", "delay_margin", **common).values
    commanded = measured("lqr", "delay_margin", **common, observer_force="commanded").values
    assert acting["theory"] == pytest.approx(102.0, abs=1.0) and acting["off_theory"] < 4.0
    assert commanded["theory"] == pytest.approx(84.0, abs=1.0) and commanded["off_theory"] < 4.0
    low, high = 0.412, 3.12
    for gain, stands in (
        (1.1 * low, True),
        (0.9 * low, False),
        (0.9 * high, True),
        (1.1 * high, False),
    ):
        assert stands_behind(under_test, gain) is stands, gain


def stands_behind(under_test, gain: float) -> bool:
    """Whether a lean of 2 degrees decays behind the filter that is given the commanded force,
    `gain` times as strong.
    """
    given = {
        "observer": "encoders",
        "observer_force": "commanded",
        "faults.encoder.gimbal": 4096.0,
        "faults.encoder.cart": 1e-4,
    }
    asked = make_scenario({p.name: p.default for p in SCENARIO} | given, {})
    return loop_margins.is_stable(
        Bench(under_test("lqr")), asked, {"tilt": 2.0, "duration": 20.0}, gain
    )


def test_the_filter_costs_no_margin_where_it_is_exact_and_given_the_acting_force():
    """Separation: the eigenvalues are those of the loop on the state and those of the filter,
    whatever the delay.
    """
    system, K = (
        spherical_pendulum.build(PLANT),
        lqr.design(spherical_pendulum, PLANT, lqr.Options()).gains,
    )
    for period in (0.002, 0.01):
        state, behind = (
            loop_margins.margins(system, constant(K), period),
            loop_margins.behind_encoders(system, K, period, (1e-4, 4e-4), commanded=False),
        )
        assert state.delay - period <= behind.delay <= state.delay
        assert behind[1:] == pytest.approx(state[1:], rel=2e-3)


def test_the_circle_of_the_nonlinear_plant(measured):
    assert measured("tracking", "tracking", waiting=6.0, duration=8.0).values["error_rms"] < 0.1


def test_the_plant_is_that_of_the_equations(measured):
    good = measured("rest", "model_agreement", duration=0.5, runs=1).values["difference"]
    assert 0.0 < good < 1e-9
    coarse = measured("rest", "model_agreement", duration=0.5, runs=1, step=0.01).values[
        "difference"
    ]
    assert coarse == pytest.approx(good * 1e4, rel=0.9)  # fourth order


@pytest.mark.parametrize("own", ({"rod.inertia": (0.4, 0.9, 1.2)}, {"cart.fixed": True}))
def test_a_plant_that_the_equations_do_not_describe_is_not_held_against_them(under_test, own):
    law = under_test("rest")
    law.values.update(own)
    with pytest.raises(NotForThisLaw, match="those of I_1 = I_2 and a free cart"):
        model_agreement.measure(Bench(law), None, {})


def test_the_energy_of_a_coarse_step_drifts(measured):
    assert (
        measured("rest", "energy_drift", duration=5.0).values["drift"]
        < 1e-10
        < measured("rest", "energy_drift", duration=5.0, step=0.01).values["drift"]
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"faults__mismatch__rod_length": -0.2},
        {"faults__mismatch__rod_mass": 0.2, "faults__mismatch__cart_mass": 0.2},
    ],
)
def test_a_swing_up_one_by_one_is_that_of_the_compiled_form(measured, wrong):
    """Behind a bias of nothing: the closed loop with attitude against the equations on the sphere,
    the plant as declared or not.
    """
    common = dict(start="precessing", travel=2.0, starts=3, starts_one_by_one=3, **wrong)
    together = measured("swing_up", "swing_up", **common)
    alone = measured("swing_up", "swing_up", **common, faults__bias__cart=(1e-12, 0.0))
    np.testing.assert_allclose(alone.curves["settled"], together.curves["settled"], atol=0.004)
    assert together.values["success"] == 100.0 and together.values["travel_max"] <= 2.0


def test_each_start_has_a_plant_of_its_own(measured, under_test):
    settings = dict(start="precessing", travel=2.0, starts_one_by_one=2, duration=1.0)
    spread = measured("swing_up", "swing_up", **settings, mismatch_spread=0.2)
    assert spread.note.endswith("of 2 starts")
    plain = make_scenario({p.name: p.default for p in SCENARIO}, {})
    plants = [swing_up.draw_scenario(plain, 0.2, number).faults.mismatch for number in range(200)]
    drawn = np.array([[getattr(plant, name) for name in swing_up.DRAWN] for plant in plants])
    assert (
        np.abs(drawn).max() <= 0.2
        and (drawn.max(axis=0) > 0.18).all()
        and (drawn.min(axis=0) < -0.18).all()
    )
    assert np.abs(np.corrcoef(drawn.T) - np.eye(5)).max() < 0.25  # independent of one another
    np.testing.assert_array_equal(plants[7], swing_up.draw_scenario(plain, 0.2, 7).faults.mismatch)
    own = {f"faults__mismatch__{name}": getattr(plants[0], name) for name in swing_up.DRAWN}
    alone = measured(
        "swing_up", "swing_up", **{**settings, "starts_one_by_one": 1, "starts": 1}, **own
    )
    both = measured(
        "swing_up", "swing_up", **{**settings, "starts_one_by_one": 1}, mismatch_spread=0.2
    )
    assert both.values["travel_median"] == pytest.approx(alone.values["travel_median"], rel=1e-6)


def test_an_observer_is_given_the_force_that_acts_or_the_one_commanded(measured):
    """With the command 20 ms late and the estimate from either: two different runs."""
    late = dict(waiting=2.0, duration=3.0, observer="encoders", faults__command__delay=0.02)
    acting, commanded = (
        measured("lqr", "standing", **late, observer_force=force).values
        for force in ("acting", "commanded")
    )
    assert acting["tilt_rms"] != commanded["tilt_rms"]


def test_the_region_of_attraction_of_both_forms(measured):
    common = dict(travel=2.0, grid=9, grid_one_by_one=9, tilt=40.0, rate=2.0, duration=8.0)
    together = measured("lqr", "region_of_attraction", **common)
    alone = measured("lqr", "region_of_attraction", **common, faults__bias__cart=(1e-12, 0.0))
    assert together.curves["settled"] == alone.curves["settled"]
    assert 10.0 < together.values["fraction"] < 60.0


@pytest.mark.parametrize("kind", swing_up.KINDS)
def test_a_start_does_not_depend_on_how_many_there_are(kind):
    many = swing_up.draw(kind, 3, range(20))
    np.testing.assert_array_equal(swing_up.draw(kind, 3, (7, 11)), many[[7, 11]])
    np.testing.assert_allclose(np.linalg.norm(many[:, 2:6], axis=1), 1.0)
    assert np.isfinite(many).all() and not many[:, [0, 1, 6, 7]].any()


def test_the_starts_are_drawn_as_they_say():
    drawn = swing_up.draw("anywhere", 0, range(2000))
    k, dk = zip(*(sphere_state.of_state(start[:6], start[6:])[:2] for start in drawn))
    rates = np.linalg.norm(dk, axis=1)
    assert rates.max() <= 3.0 and np.mean(rates < 1.5) == pytest.approx(0.25, abs=0.03)
    np.testing.assert_allclose(np.mean(k, axis=0), 0.0, atol=0.05)
    tilt = np.degrees(
        np.arccos(
            [
                sphere_state.of_state(s[:6], s[6:])[0][2]
                for s in swing_up.draw("precessing", 0, range(500))
            ]
        )
    )
    assert 140.0 <= tilt.min() < 145.0 and tilt.max() <= 180.0


def test_an_imu_reads_the_true_plant_under_the_force_that_acts():
    """Closed form of a rod that stands, the IMU at the height p: (M + m) x'' + m l th'' = u and
    m l x'' + (I + m l^2) th'' = 0; what it feels is x'' + p th'' and g.
    """
    params, p, u, seen = spherical_pendulum.Params(), 0.3, 4.0, []
    faults = Faults(mismatch=Mismatch(cart_mass=0.5, rod_mass=-0.3))
    observer = KalmanObserver(ObserverOptions(sensors="imu", imu_position=p), params, faults)
    observer.filter.estimate = seen.append
    start = spherical_pendulum.upright()
    observer(start, start, (0.0, 0.0), (u, 0.0), None)
    true = actual(params, faults)
    M, m, center = 1.5 * params.cart_mass, 0.7 * params.rod_mass, true.rod_center_of_mass
    inertia = true.rod_inertia[0] + m * center**2
    ax, turn = np.linalg.solve([[M + m, m * center], [m * center, inertia]], [u, 0.0])
    assert seen[0].felt == pytest.approx((ax + p * turn, 0.0, params.gravity))
    assert seen[0].force == (0.0, 0.0)
