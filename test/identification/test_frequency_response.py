"""Excitation and margins against closed forms, and measured loops against the linear theory."""

import functools
import math

import numpy as np
import pytest
from simulated_loop import LINEAR, loop_of, settings_of

from rbdyn_ros.control import step_linearization
from rbdyn_ros.control.margins import disk_margin, margins, one_at_a_time
from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.identification import excitation
from rbdyn_ros.identification.frequency import frequency_response, measurement
from rbdyn_ros.pendulum import spherical_pendulum

F = np.geomspace(0.01, 100.0, 200)
S = 2j * math.pi * F
PERIOD = "period=0.005"  # fewer instants than by default; the theory is that of any period


@functools.cache
def measured(name: str, *settings: str, amplitude: float = 0.2, periods: int = 2):
    """The loop at `PERIOD`, and what is measured from 0.1 to 20 Hz."""
    loop = loop_of(name, PERIOD, *settings)
    sine = excitation.build(0.1, 20.0, loop.period, amplitude)
    return loop, measurement.measure(loop, sine, periods)


def test_a_multisine_has_its_lines_alone_and_its_amplitude():
    sine = excitation.build(0.1, 20.0, 0.002, 3.0, seed=1)
    wave = sine.sample(0.002)
    spectrum = np.abs(np.fft.rfft(wave)) / (0.5 * len(wave))
    others = np.delete(spectrum, sine.lines)
    assert others.max() < 1e-13 and sine.frequencies[[0, -1]] == pytest.approx((0.1, 20.0))
    assert spectrum[sine.lines] == pytest.approx(3.0 / math.sqrt(len(sine.lines)))
    assert np.sqrt(np.mean(wave**2)) == pytest.approx(3.0 / math.sqrt(2.0))
    again = excitation.build(0.1, 20.0, 0.002, 3.0, seed=1).sample(0.002)
    assert np.array_equal(wave, again)
    assert not np.array_equal(wave, excitation.build(0.1, 20.0, 0.002, 3.0, seed=2).sample(0.002))


def test_a_multisine_of_a_longer_period_keeps_to_its_band():
    sine = excitation.build(0.1, 5.0, 0.002, 3.0, period=60.0)
    short = excitation.build(0.1, 5.0, 0.002, 3.0)
    assert (sine.period, short.period) == (60.0, 10.0)
    assert sine.frequencies[[0, -1]] == pytest.approx((0.1, 5.0))
    assert len(sine.lines) > len(short.lines)  # fewer fall together
    wave = sine.sample(0.002)
    assert np.sqrt(np.mean(wave**2)) == pytest.approx(3.0 / math.sqrt(2.0))
    for period in (9.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="it must be 0 or at least that of the lowest"):
            excitation.build(0.1, 5.0, 0.002, 3.0, period=period)


@pytest.mark.parametrize(
    "low, high, amplitude, word",
    [(1.0, 0.5, 1.0, "rise"), (0.1, 250.0, 1.0, "250 Hz"), (0.0, 1.0, 1.0, "rise")]
    + [(0.1, 1.0, value, "finite number > 0") for value in (0.0, math.nan, math.inf)],
)
def test_an_excitation_that_cannot_be_is_refused(low, high, amplitude, word):
    with pytest.raises(ValueError, match=word):
        excitation.build(low, high, 0.002, amplitude)


def test_margins_are_plain_numbers():
    assert {type(value) for value in margins(F, 1.0 / S)} == {float}


def test_margins_of_an_integrator():
    """L = w / s: |L| = 1 at w, 90 degrees from -1 there; S - 1/2 = (s - w) / 2 (s + w)."""
    found = margins(F, 3.0 / S)
    assert found.crossover == pytest.approx(3.0 / (2.0 * math.pi), rel=1e-6)
    assert found.phase == pytest.approx(90.0) and found.delay == pytest.approx(math.pi / 6.0)
    assert found.disk == pytest.approx(2.0)
    assert found.gain_up == math.inf and found.gain_down == 0.0


def test_margins_of_a_third_order_loop():
    """L = k / s (s + 1)^2 is real and negative at w = 1: -k / 2."""
    found = margins(F, 0.5 / (S * (S + 1.0) ** 2))
    assert found.gain_up == pytest.approx(4.0, rel=1e-6)
    w = 2.0 * math.pi * found.crossover
    assert w * (w**2 + 1.0) == pytest.approx(0.5, rel=1e-6)
    assert found.phase == pytest.approx(90.0 - 2.0 * math.degrees(math.atan(w)), rel=1e-6)


def test_margins_of_an_unstable_plant():
    """L = k a / (s - a) is stable for k > 1, and bears any delay below acos(1/k) / (a sqrt(k^2 -
    1)).
    """
    k, a = 4.0, 2.0
    found = margins(F, k * a / (S - a))
    # L comes to the axis at w = 0 only: the least frequency stands for it
    assert found.delay == pytest.approx(math.acos(1 / k) / (a * math.sqrt(k**2 - 1)), rel=1e-6)
    assert found.disk == pytest.approx(2.0 * (k - 1.0) / (k + 1.0), rel=1e-3)


@pytest.mark.parametrize("name", LINEAR)
def test_a_measured_loop_is_that_of_the_theory(name, tmp_path):
    """From 0.1 to 20 Hz, for all laws that are linear."""
    loop, found = measured(name, *settings_of(name, tmp_path))
    response, theory = found.response, measurement.predict(loop, found.response.frequency)
    for axis in (0, 1):
        assert np.abs(response.loop[:, axis, axis] / theory - 1.0).max() < 1e-5
        assert np.abs(response.loop[:, axis, 1 - axis]).max() < 1e-9
    assert response.coherence == pytest.approx(1.0)
    assert found.limited == 0.0 and found.largest_tilt < math.radians(0.2)


def test_the_plant_is_that_of_its_linearization():
    """P of the cart, from rest at upright and low frequencies, (F.3)."""
    loop, found = measured("lqr")
    system = spherical_pendulum.build(loop.params)
    response = found.response
    s = 2j * math.pi * response.frequency[:12]  # far below the rate of the loop
    m, M, l, J = system.rod_mass, system.cart_mass, system.center, system.inertia[0]
    J = J + m * l**2
    b, d, g = system.cart_damping, system.joint_damping, system.gravity
    D = ((M + m) * s**2 + b * s) * (J * s**2 + d * s - m * g * l) - (m * l) ** 2 * s**4
    held = np.exp(-0.5 * s * loop.period)  # the force is held
    x, th = response.plant[:12, 0, 0], response.plant[:12, 2, 0]
    assert x == pytest.approx(held * (J * s**2 + d * s - m * g * l) / D, rel=1e-3)
    assert th == pytest.approx(-held * m * l * s**2 / D, rel=1e-3)


def test_thirty_milliseconds_more_delay_are_seen():
    prompt, late = measured("lqr")[1], measured("lqr", "faults.command.delay=0.03")[1]
    L = [each.response.loop[:, 0, 0] for each in (prompt, late)]
    f = prompt.response.frequency
    assert np.unwrap(np.angle(L[1] / L[0])) == pytest.approx(-2 * math.pi * f * 0.03, abs=1e-4)
    before, after = margins(f, L[0]), margins(f, L[1])
    assert before.delay - after.delay == pytest.approx(0.03, rel=1e-3)
    assert after.disk < before.disk


def test_the_delay_margin_is_where_the_loop_ceases_to_be_stable():
    """The eigenvalues of the loop with n periods of delay, e_{k+1} = A e_k - B K e_{k-n}."""
    loop, found = measured("lqr")
    ticks = margins(found.response.frequency, found.response.loop[:, 0, 0]).delay / loop.period
    A, B = step_linearization.upright(spherical_pendulum.build(loop.params), loop.period)

    def radius(n: int) -> float:
        whole = np.zeros((4 + n, 4 + n))  # e, then the forces on their way, the oldest first
        whole[:4, :4], whole[:4, 4:5] = A, B
        whole[4:-1, 5:] = np.eye(n - 1)
        whole[-1, :4] = -loop.law.gains
        return max(abs(np.linalg.eigvals(whole)))

    assert radius(math.floor(ticks)) < 1.0 < radius(math.ceil(ticks))


def test_a_wrong_sign_is_seen():
    loop = loop_of("lqr", PERIOD)
    loop.law.gains[:] *= -1.0
    sine = excitation.build(0.1, 20.0, loop.period, 0.2)
    with pytest.raises(ValueError, match="fell at t = .* excited along x: the loop is not stable"):
        measurement.measure(loop, sine)


def test_noise_lowers_the_coherence_and_moves_no_margin_far():
    quiet = measured("lqr")[1].response
    noisy = measured("lqr", "faults.noise.cart=0.001", periods=4, amplitude=1.0)[1].response
    assert noisy.coherence.min() < 0.999 and noisy.coherence.min() > 0.5
    a, b = (margins(each.frequency, each.loop[:, 0, 0]) for each in (quiet, noisy))
    assert b.delay == pytest.approx(a.delay, rel=0.02)


def test_laws_without_gains_have_no_theory_and_the_same_loop_near_upright():
    reference = measured("lqr")[1].response
    loop, found = measured("swing_up")
    assert measurement.predict(loop, reference.frequency) is None
    assert found.response.loop == pytest.approx(reference.loop, rel=1e-3, abs=1e-6)


def test_faults_that_the_theory_does_not_know_leave_it_out():
    loop = loop_of("lqr", "faults.actuator.lag=0.01")
    assert measurement.predict(loop, F) is None


def test_axes_that_differ_have_no_theory():
    """The mean of I_1 and I_2 is the inertia of neither axis."""
    loop = loop_of("lqr", "rod.inertia=[0.4,0.9,1.2]")
    assert measurement.predict(loop, F) is None and measurement.predict_outputs(loop, F) is None


def test_the_disk_margin_of_both_axes_is_the_smaller_where_they_do_not_meet():
    one, two = 3.0 / S, 0.5 / (S * (S + 1.0) ** 2)
    loop = np.zeros((len(F), 2, 2), complex)
    loop[:, 0, 0], loop[:, 1, 1] = one, two
    smaller = min(margins(F, one).disk, margins(F, two).disk)
    assert disk_margin(F, loop) == pytest.approx(smaller, rel=1e-9)


def test_the_disk_margin_is_that_between_the_lines_too():
    """A loop that comes near to -1 between two of ten lines; coupled, it comes nearer."""
    f = np.geomspace(0.1, 20.0, 42)
    s = 2j * np.pi * f
    loop = np.zeros((len(f), 2, 2), complex)
    loop[:, 0, 0] = loop[:, 1, 1] = L = 12.0 * np.exp(-0.13 * s) / s
    dense = np.geomspace(0.1, 20.0, 400_000)
    S = 1.0 / (1.0 + 12.0 * np.exp(-0.13 * 2j * np.pi * dense) / (2j * np.pi * dense))
    truth = 1.0 / np.abs(S - 0.5).max()
    on_lines = 1.0 / np.abs(1.0 / (1.0 + L) - 0.5).max()
    assert on_lines > 1.005 * truth
    assert margins(f, L).disk == pytest.approx(truth, rel=1e-3)
    assert disk_margin(f, loop) == pytest.approx(margins(f, L).disk, rel=1e-9)
    loop[:, 0, 1] = 0.05 * L
    assert disk_margin(f, loop) < margins(f, L).disk


@pytest.mark.parametrize("seed", range(20))
def test_the_disk_margin_of_both_axes_is_at_most_that_of_each_with_the_other_closed(seed):
    """Where the axes are coupled, too; each of them is closed around 1 / (1 + L)^-1_ii - 1."""
    rng = np.random.default_rng(seed)
    loop = np.zeros((len(F), 2, 2), complex)
    for i, j in np.ndindex(2, 2):
        loop[:, i, j] = rng.normal(3.0, 1.0) / S if i == j else rng.normal(0.0, 0.5) / (S + 1.0)
    one, two = (1.0 / np.linalg.inv(np.eye(2) + loop)[:, i, i] - 1.0 for i in range(2))
    np.testing.assert_allclose(one_at_a_time(loop), np.column_stack((one, two)), rtol=1e-12)
    # Schur: the other axis is closed around what it sees of this one
    schur = loop[:, 0, 0] - loop[:, 0, 1] * loop[:, 1, 0] / (1.0 + loop[:, 1, 1])
    np.testing.assert_allclose(one, schur, rtol=1e-9)
    both = disk_margin(F, loop)
    assert both <= min(margins(F, one).disk, margins(F, two).disk)
    sigma = np.linalg.norm(np.linalg.inv(np.eye(2) + loop) - 0.5 * np.eye(2), 2, axis=(1, 2))
    assert both <= 1.0 / sigma.max() * (1.0 + 1e-12)


def test_the_delay_margin_is_what_pushing_the_delay_up_finds():
    """The runs with whole periods of delay around it decay and grow; between their rates, zero is
    within 1 % of it.
    """
    loop, found = measured("lqr")
    margin = margins(found.response.frequency, found.response.loop[:, 0, 0]).delay
    delays = loop.period * (math.floor(margin / loop.period) + np.array([0, 1]))
    rates = [growth(delay) for delay in delays]
    assert rates[0] < 0.0 < rates[1]
    assert np.interp(0.0, rates, delays) == pytest.approx(margin, rel=0.01)


def growth(delay: float) -> float:
    """The rate [1/s] at which a swing of `lqr` with a delay grows."""
    loop = loop_of("lqr", PERIOD, f"faults.command.delay={delay:.3f}")
    loop = loop._replace(state=spherical_pendulum.upright(1e-3))
    run = closed_loop_table.run(loop, 12.0, lambda t, q, v: "")
    swing = np.abs(run.q[1:, 0]).reshape(4, -1).max(axis=1)  # of four times 3 s
    return math.log(swing[3] / swing[1]) / 6.0


def test_a_law_without_force_has_no_response():
    """Its logarithm would be infinite."""
    sine = excitation.build(1.0, 10.0, 0.002, 1.0)
    wave = np.zeros((1, 2, round(sine.period / 0.002), 2))
    wave[..., 0] = sine.sample(0.002)
    with pytest.raises(ValueError, match="the law's force along x does not answer"):
        frequency_response.estimate(sine, 0.0 * wave, wave, np.zeros((*wave.shape[:3], 4)), "x")
