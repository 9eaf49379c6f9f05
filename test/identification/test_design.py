"""The excitation that is designed: within the limits, and with the intervals that come true."""

import math

import numpy as np
import pytest

from rbdyn_ros.control import law_options
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import design, plant_fit, records
from rbdyn_ros.identification.frequency.measurement import Excited
from rbdyn_ros.parameters.yaml_file import offline_values
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.plant import closed_loop

BAND, DURATION = (0.5, 5.0), 20.0
NAMES = ("cart.mass", "cart.damping", "rod.center_of_mass", "rod.inertia")


def loop_of(**changes):
    """The loop of `lqr` with other values, and how far the cart may go."""
    more = closed_loop_table.parameters_of("lqr", lqr)
    values = offline_values([], (), more, law_options.from_files("lqr", lqr, []))
    values |= {"cart.damping": 0.2, "period": 0.005, "integrator.step": 0.005} | changes
    return closed_loop_table.make_loop("lqr", lqr, values), values["cart.travel"]


@pytest.fixture(scope="module")
def designed():
    return design.design(*loop_of(), NAMES, BAND, DURATION)


def test_it_uses_what_the_limits_allow_and_no_more(designed):
    shares = (
        designed.force / (design.SHARE * 20.0),
        designed.travel / (design.SHARE * 2.0),
        designed.tilt / design.LEAN,
    )
    assert 0.8 < max(shares) < 1.12


def test_along_y_it_is_the_mirror_image(designed):
    found = design.design(*loop_of(), NAMES, BAND, DURATION, axis="y")
    assert found[2:5] == pytest.approx(designed[2:5], rel=1e-3)
    assert found.white == pytest.approx(designed.white, rel=0.01)


def test_limits_that_leave_no_excitation_are_named():
    loop, travel = loop_of(**{"cart.force_limit": 1e-9})
    with pytest.raises(ValueError, match=r"cart.force_limit is 1e-09 N, the cart's room 2 m"):
        design.design(loop, travel, NAMES, BAND, DURATION)


def test_a_law_that_fails_is_named():
    class Broken:
        def reset(self):
            pass

        def command(self, t, state, reference):
            raise ArithmeticError("no force")

    loop, travel = loop_of()
    with pytest.raises(ValueError, match=r"upright \(the law lqr raised Arith.*: no force"):
        design.design(loop._replace(law=Broken()), travel, NAMES, BAND, DURATION)


def test_a_short_rail_makes_it_weaker(designed):
    found = design.design(*loop_of(**{"cart.travel": 0.1}), NAMES, BAND, DURATION)
    assert found.travel < 0.08
    assert found.sine.amplitude < designed.sine.amplitude
    assert np.all(found.white > designed.white)


def test_a_record_under_it_has_the_intervals_that_were_predicted():
    loop, travel = loop_of(**{"period": 0.002, "integrator.step": 0.002})
    designed = design.design(loop, travel, NAMES, BAND, DURATION)
    law = Excited(loop, designed.sine.sample(loop.period), 0)
    start = spherical_pendulum.upright(0.0)
    run = closed_loop.run(
        loop.params, loop.integrator, law, start, DURATION, loop.period, loop.conditions
    )
    draw, intervals = np.random.default_rng(2), []
    for _ in range(3):
        place = run.q[:, :2] + draw.normal(0.0, design.ERRORS[0], (len(run.q), 2))
        turn = draw.normal(0.0, design.ERRORS[1], (len(run.q), 3))
        attitude = quaternion.product(run.q[:, 2:], quaternion.exp(turn))
        record = records.MotionRecord(loop.period, place, attitude, run.v, np.array(law.sums))
        plant = spherical_pendulum.build(loop.params)
        intervals.append(plant_fit.fit([record], plant, NAMES).intervals)
    assert np.median(intervals, axis=0) == pytest.approx(designed.white, rel=0.5)


def test_the_excitation_does_not_repeat_within_the_record(designed):
    assert designed.sine.period == DURATION
    assert designed.white == pytest.approx(designed.repeated)


def test_of_errors_that_repeat_a_longer_record_tells_no_more():
    found = design.design(*loop_of(), NAMES, BAND, 3.0 * design.LONGEST)
    assert found.sine.period == design.LONGEST
    assert math.sqrt(3.0) * found.white == pytest.approx(found.repeated)


def test_what_the_motion_cannot_tell_is_predicted():
    names = ("cart.mass", "rod.mass", "rod.inertia", "gain")
    found = design.design(*loop_of(**{"cart.damping": 0.0}), names, BAND, DURATION)
    assert np.isinf(found.white).all()


def test_a_set_point_beyond_the_rail_leaves_no_room():
    loop, _ = loop_of(reference=(1.5, 0.0))
    with pytest.raises(ValueError, match="there is no room for an excitation"):
        design.design(loop, 1.0, NAMES, BAND)


def test_a_record_below_the_period_has_the_information_of_its_own_length():
    """A band from 0.02 Hz repeats after 50 s, the record has 10 s."""
    short, long = (
        design.design(*loop_of(), NAMES, (0.02, 5.0), duration) for duration in (10.0, 50.0)
    )
    assert short.sine.period == long.sine.period == 50.0
    ratio = short.white / long.white  # the square root of 5, and shorter segments
    assert (ratio > 2.0).all() and (ratio < 7.0).all()


def test_it_goes_on_after_an_amplitude_under_which_the_rod_falls(monkeypatch):
    """As with a period of 1000 s, whose crest makes the law itself reach its limit."""
    run, tried = design._run, []

    def falls(loop, sine, axis):
        tried.append(sine.amplitude)
        far = "the rod fell", (0.0, 0.0, 0.0)
        return far if sine.amplitude > 4.0 else run(loop, sine, axis)

    monkeypatch.setattr(design, "_run", falls)
    found = design.design(*loop_of(), NAMES, BAND, DURATION)
    assert 2.8 < found.sine.amplitude <= 4.0 < max(tried) and len(tried) <= design.TRIALS
