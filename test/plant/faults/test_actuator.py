"""The drive: each fault against its formula, and its count."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.plant.faults.drive import Actuator, Drive

H = 0.002
forces = st.tuples(st.floats(-50, 50), st.floats(-50, 50))


def drive(**numbers) -> Actuator:
    return Actuator(Drive(**numbers), H)


@given(forces)
def test_a_good_drive_gives_what_it_is_asked_for(force):
    actuator = drive()
    assert (
        actuator.apply(force) == force
        and actuator.missing == 0.0
        and not any(actuator.counts.values())
    )


def test_a_dead_band_takes_its_width_from_every_force():
    actuator = drive(dead_band=0.5)
    assert actuator.apply((0.3, -0.3)) == (0.0, 0.0)
    assert actuator.apply((3.0, 4.0)) == pytest.approx((2.7, 3.6))
    assert actuator.apply((0.0, 0.0)) == (0.0, 0.0)
    assert actuator.counts["dead_band"] == 1  # no force asked for is none withheld
    assert actuator.missing == pytest.approx(H * (0.3 * math.sqrt(2.0) + 0.5))


def test_saturation_cuts_the_norm_not_the_direction():
    actuator = drive(saturation=5.0)
    assert actuator.apply((30.0, 40.0)) == pytest.approx((3.0, 4.0)) and actuator.apply(
        (3.0, 0.0)
    ) == (3.0, 0.0)
    assert actuator.counts["saturated"] == 1


def test_the_rate_limit_lets_a_step_grow_as_a_ramp():
    actuator = drive(rate_limit=100.0)
    ramp = [actuator.apply((1.0, 0.0))[0] for _ in range(10)]
    assert ramp == pytest.approx([min(1.0, 0.2 * k) for k in range(1, 11)])
    assert actuator.counts["rate_limited"] == 4


def test_a_lag_has_the_impulse_of_the_exact_solution():
    """Step response 1 - exp(-t / T): its integral is t - T (1 - exp(-t / T))."""
    T, actuator, impulse = 0.03, drive(lag=0.03), 0.0
    for k in range(1, 100):
        impulse += H * actuator.apply((1.0, 0.0))[0]
        t = k * H
        assert impulse == pytest.approx(t + T * math.expm1(-t / T), rel=1e-12)
        assert actuator.missing == pytest.approx(t - impulse)


@pytest.mark.parametrize("T", [1e-9, 1e9])
def test_lags_from_none_to_endless(T):
    assert drive(lag=T).apply((2.0, 0.0))[0] == pytest.approx(2.0 if T < 1.0 else 0.0, abs=1e-5)


def test_a_loss_takes_its_part():
    actuator = drive(loss=0.25)
    assert actuator.apply((4.0, -8.0)) == (3.0, -6.0)
    assert actuator.missing == pytest.approx(H * math.hypot(1.0, 2.0))


@given(st.lists(forces, min_size=1, max_size=30))
def test_no_drive_gives_more_than_its_saturation(asked):
    actuator = drive(dead_band=0.1, saturation=10.0, rate_limit=2000.0, lag=0.004, loss=0.05)
    assert max(math.hypot(*actuator.apply(force)) for force in asked) <= 9.5 * (1.0 + 1e-12)


def test_a_drive_that_is_mended_goes_on_from_the_force_it_gives():
    actuator = drive()
    actuator.apply((10.0, 0.0))
    actuator.reconfigure(Drive(rate_limit=100.0))
    assert actuator.apply((0.0, 0.0)) == pytest.approx((9.8, 0.0))
    actuator.restart()
    assert actuator.apply((1.0, 0.0)) == pytest.approx((0.2, 0.0))
