"""Loops that are broken at one measurement: against the linear theory, against the loop at the
force that is measured the other way, and against loops whose sensor is wrong by the margin.
"""

import functools
import math

import numpy as np
import pytest
from simulated_loop import LINEAR, loop_of, settings_of

from rbdyn_ros.control.margins import margins
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.frequency import frequency_response, measurement, response_report
from rbdyn_ros.pendulum import spherical_pendulum

CART, TILT = 0, 2  # of `OUTPUTS`, along x
PERIOD = 0.005  # [s] fewer instants than by default; the theory is that of any period


@functools.cache
def measured(name: str, *settings: str, low: float = 0.1, period: float = PERIOD):
    """The loop, and what is measured with errors of 0.2 mm and 0.2 mrad from `low` to 20 Hz."""
    loop = loop_of(name, f"period={period}", *settings)
    sine = excitation.build(low, 20.0, loop.period, 0.0002)
    return loop, measurement.measure(loop, sine, at="measurement")


def assert_near(found, theory):
    """Within 2 % and 1 degree is what is promised; a twentieth of it is what is kept."""
    assert np.abs(np.abs(found / theory) - 1.0).max() < 0.001
    assert np.degrees(np.abs(np.angle(found / theory))).max() < 0.05


@pytest.mark.parametrize("name", LINEAR)
def test_the_loops_of_single_measurements_are_those_of_the_theory(name, tmp_path):
    """From 0.1 to 20 Hz, for all laws that are linear; and C P is the loop at the force."""
    loop, found = measured(name, *settings_of(name, tmp_path))
    outputs, theory = found.outputs, measurement.predict_outputs(loop, found.response.frequency)
    for output in range(4):
        assert_near(outputs.loops[:, output], theory[:, output // 2])
    other = measurement.measure(loop, excitation.build(0.1, 20.0, loop.period, 0.2)).response
    for axis in (0, 1):
        assert_near(found.response.loop[:, axis, axis], other.loop[:, axis, axis])
    assert np.abs(found.response.loop[:, 0, 1]).max() < 1e-6
    assert outputs.plant == pytest.approx(other.plant, rel=1e-3, abs=1e-7)
    assert outputs.misfit.max() < 1e-3 and outputs.coherence == pytest.approx(1.0)
    assert found.limited == 0.0 and found.largest_tilt < math.radians(0.1)


def test_noise_and_delays_are_in_the_loop_and_only_delays_in_its_response():
    """30 ms on the way of the force, 5 on that of the state, noise of 1 mm and 1 mrad."""
    delays = "faults.command.delay=0.03", "faults.state.delay=0.005"
    noise = "faults.noise.cart=0.001", "faults.noise.angle=0.001"
    loop, found = measured("lqr", *delays, *noise, low=0.5)
    f = found.response.frequency
    theory = measurement.predict_outputs(loop, f)
    for output in range(4):
        assert np.abs(found.outputs.loops[:, output] / theory[:, output // 2] - 1).max() < 0.01
    L = [each.response.loop[:, 0, 0] for each in (measured("lqr", low=0.5)[1], found)]
    assert margins(f, L[0]).delay - margins(f, L[1]).delay == pytest.approx(0.035, rel=0.01)


class Miscalibrated:
    """A law one of whose outputs, with its rate, is `gain` times what it is, and late."""

    def __init__(self, law, output: int, gain: float = 1.0, late: int = 0):
        self._law, self._output, self._gain, self._late = law, output, gain, late
        self.reset()

    def reset(self):
        self._law.reset()
        self._seen = []

    def command(self, t, state, reference):
        self._seen.append(self.measure(state))
        seen = self._seen[max(0, len(self._seen) - 1 - self._late)]
        error = (self._gain * each - now for each, now in zip(seen, self.measure(state)))
        changed = measurement.add_error(state, self._output, *error)
        return self._law.command(t, changed, reference)

    def measure(self, state):
        if self._output < 2:
            return state.q[self._output], state.v[self._output]
        th = measurement.tilt(state.q, state.v)
        return th[self._output - 2], th[self._output]


def growth(output: int, period: float = PERIOD, **wrong) -> float:
    """The rate [1/s] at which a swing of `lqr` with a sensor that is wrong grows."""
    loop = loop_of("lqr", f"period={period}")
    loop = loop._replace(
        state=spherical_pendulum.upright(1e-7), law=Miscalibrated(loop.law, output, **wrong)
    )
    run = closed_loop_table.run(loop, 12.0, lambda t, q, v: "")
    swing = np.abs(run.q[1:, 0]).reshape(4, -1).max(axis=1)  # of four times 3 s
    return math.log(swing[3] / swing[1]) / 6.0


@pytest.mark.parametrize("output, quantity", [(CART, "gain_up"), (TILT, "gain_down")])
def test_a_sensor_may_be_wrong_by_its_gain_margin(output, quantity):
    """The loops with a factor 3 % nearer to 1 and 3 % beyond decay and grow; between their rates,
    zero is within 1 % of the margin.
    """
    found = measured("lqr")[1].outputs
    margin = getattr(margins(found.frequency, found.loops[:, output]), quantity)
    gains = margin * (1.0 + math.copysign(0.03, margin - 1.0) * np.array((-1.0, 1.0)))
    rates = [growth(output, gain=gain) for gain in gains]
    assert rates[0] < 0.0 < rates[1]
    assert np.interp(0.0, rates, gains) == pytest.approx(margin, rel=0.01)


@pytest.mark.parametrize("output", [CART, TILT])
def test_a_sensor_may_be_late_by_its_delay_margin(output):
    """The loops with whole periods of delay of one sensor around it decay and grow."""
    loop, found = measured("lqr", period=0.002)
    outputs = found.outputs
    margin = margins(outputs.frequency, outputs.loops[:, output]).delay / loop.period
    step = max(1.0, 0.03 * margin)
    late = [math.floor(margin - step + 1.0), math.ceil(margin + step - 1.0)]
    rates = [growth(output, loop.period, late=n) for n in late]
    assert rates[0] < 0.0 < rates[1]
    assert np.interp(0.0, rates, late) == pytest.approx(margin, rel=0.01)


def test_a_law_that_is_not_linear_has_the_same_loop_near_upright():
    loop, found = measured("swing_up", low=0.5)
    reference = measured("lqr", low=0.5)[1].outputs
    assert found.outputs.loops == pytest.approx(reference.loops, rel=1e-3)
    assert measurement.predict_outputs(loop, reference.frequency) is None


def test_coarse_encoders_are_remarked_on():
    encoders = "faults.encoder.cart=0.001", "faults.encoder.gimbal=1024"
    loop, found = measured("lqr", *encoders, low=0.5)
    seen = response_report.Measured("lqr", loop.period, 20.0, found, None)
    assert found.outputs.misfit.max() > response_report.LINEAR
    assert any("fit one linear plant" in sentence for sentence in response_report.remarks(seen))


def test_a_wrong_sign_is_seen():
    loop = loop_of("lqr", f"period={PERIOD}")
    loop.law.gains[:] *= -1.0
    sine = excitation.build(0.1, 20.0, loop.period, 0.001)
    with pytest.raises(ValueError, match="fell at t = .* excited at the measured x: the loop is"):
        measurement.measure(loop, sine, at="measurement")


def test_a_law_that_drives_one_axis_only_is_named():
    sine = excitation.build(0.5, 20.0, 0.002, 0.001)
    force = np.zeros((5, 1, 1000, 2))
    force[:4, ..., 0] = sine.sample(0.002)
    with pytest.raises(ValueError, match="force along y answers no error of a measurement"):
        frequency_response.estimate_outputs(sine, 0.002, force, np.zeros((5, 1, 1000, 4)))


def test_an_error_of_the_tilt_is_what_it_says():
    """Far from upright, too, with a spin; the rate of the error is that of `tilt`."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        state = spherical_pendulum.upright(rng.uniform(0.0, 1.2), rng.uniform(-3.0, 3.0))
        state.v[:] = rng.normal(size=5)
        for axis in (0, 1):
            shifted = measurement.add_error(state, TILT + axis, 0.2, -0.7)
            before, after = (np.array(measurement.tilt(s.q, s.v)) for s in (state, shifted))
            change = after - before
            assert change[[axis, 2 + axis]] == pytest.approx((0.2, -0.7), abs=1e-9)
            assert change[[1 - axis, 3 - axis]] == pytest.approx(0.0, abs=1e-9)
            assert np.linalg.norm(shifted.q[2:]) == pytest.approx(1.0, abs=1e-12)
            assert shifted.v[4] == state.v[4] and np.array_equal(shifted.q[:2], state.q[:2])


def test_the_rate_of_an_error_is_that_of_a_held_acceleration():
    """n'_k + n'_{k+1} = (2 / h) (n_{k+1} - n_k), (F.9)."""
    sine = excitation.build(0.5, 200.0, 0.002, 0.001)
    n, rate = frequency_response.errors(sine, 0.002)
    assert rate + np.roll(rate, -1) == pytest.approx(1000.0 * (np.roll(n, -1) - n), abs=1e-9)


def test_every_curve_of_the_picture_can_be_told():
    """Both axes have the same curves, so those of y leave gaps in which x is seen."""
    loop, found = measured("lqr")
    for seen in (found, found._replace(outputs=None)):
        drawn = response_report.draw(
            response_report.Measured("lqr", loop.period, 20.0, seen, None)
        )
        for axes in drawn.axes:
            curves = [line for line in axes.lines if not line.get_label().startswith("_")]
            assert len({line.get_color() for line in curves}) == len(curves)
            of_y = [line for line in curves if line.get_label().endswith("y")]
            assert all(line.is_dashed() or line.get_marker() == "." for line in of_y)
