"""The regulator: its gains, the true plant under it, what it refuses."""

import math

import numpy as np
import pytest

from rbdyn_ros.control import feedback, linearization
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.types import State

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
STUDY = (
    -19.769,
    -30.843,
    -233.580,
    -90.935,
)  # Q = diag(40, 10, 100, 10), R = 0.1, 2 ms, for this plant
ORIGIN = np.zeros(2)


def designed(params=PLANT, **options):
    return lqr.design(spherical_pendulum, params, lqr.Options(**options))


def tilted(degrees: float, azimuth: float = 0.0) -> State:
    return spherical_pendulum.upright(math.radians(degrees), math.radians(azimuth))


def test_the_gains_of_the_control_study():
    np.testing.assert_allclose(designed().gains, STUDY, atol=5e-4)


def test_the_gentle_gains_of_the_control_study():
    gentle = designed(position_weight=10.0, velocity_weight=1.0)
    np.testing.assert_allclose(gentle.gains, (-9.908, -16.883, -157.32, -59.95), atol=5e-3)


@pytest.mark.parametrize("period", (0.001, 0.002, 0.01, 0.04, 0.1, 0.3))
def test_the_loop_is_stable_at_any_period(period):
    A, B = linearization.discretize(
        *linearization.upright(spherical_pendulum.build(PLANT)), period
    )
    poles = np.linalg.eigvals(A - B * designed(period=period).gains)
    assert max(abs(poles)) < math.exp(
        -1.6 * period
    )  # the slowest pole of the study is at -1.69 +- 0.69j


@pytest.mark.parametrize("integrator", ("rk4", "quaternion_midpoint"))
def test_it_settles_from_ten_degrees_as_in_the_study(closed_loop, integrator):
    run = closed_loop(designed(), PLANT, tilted(10.0), integrator=integrator)
    assert run.settling_time() == pytest.approx(3.27, abs=0.02)
    assert np.hypot(run.x, run.y).max() == pytest.approx(0.63, abs=0.01)
    assert run.force.max() == pytest.approx(20.0, rel=1e-12)


@pytest.mark.parametrize("period", (0.001, 0.01, 0.02, 0.04))
def test_a_slower_design_settles_as_fast(closed_loop, period):
    run = closed_loop(designed(period=period), PLANT, tilted(10.0), steps=round(1000 * period))
    assert run.settling_time() == pytest.approx(3.27, abs=0.05)


@pytest.mark.parametrize(
    "limit, recovers, falls", [(10.0, 12.0, 13.0), (20.0, 22.0, 23.2), (50.0, 38.3, 39.5)]
)
def test_the_largest_tilt_that_it_recovers(closed_loop, limit, recovers, falls):
    """At least the study's 11.5, 21.2 and 38.3 degrees; the cut of the first term adds up to a
    degree.
    """
    law = designed(force_limit=limit)
    assert closed_loop(law, PLANT, tilted(recovers), 15.0).settling_time() < 15.0
    assert closed_loop(law, PLANT, tilted(falls), 15.0).fell


@pytest.mark.parametrize("azimuth", (15.0, 45.0, 90.0, 137.0, -120.0))
def test_every_azimuth_is_alike(closed_loop, azimuth):
    """A cut of the force per axis recovers 21.2 degrees along x and 27.6 along the diagonal."""
    law = designed()
    along_x, turned = (closed_loop(law, PLANT, tilted(20.0, a), 6.0) for a in (0.0, azimuth))
    np.testing.assert_allclose(turned.tilt, along_x.tilt, atol=1e-9)
    np.testing.assert_allclose(turned.force, along_x.force, atol=1e-8)


@pytest.mark.parametrize("spin", (5.0, 200.0))
def test_the_spin_of_the_rod_does_not_matter(closed_loop, spin):
    undamped = PLANT._replace(joint_damping=0.0)
    state = tilted(10.0)
    state.v[4] = spin
    assert closed_loop(designed(undamped), undamped, state).settling_time() == pytest.approx(
        3.27, abs=0.05
    )


@pytest.mark.parametrize("reference", [(1.0, 0.0), (-1.0, 1.5), (20.0, -30.0)])
def test_a_far_set_point_does_not_topple_the_rod(closed_loop, reference):
    run = closed_loop(designed(), PLANT, tilted(0.0), 60.0, reference)
    assert run.settling_time(reference) < 60.0
    assert run.tilt.max() < math.radians(5.0)


def test_a_set_point_moves_the_rest_and_nothing_else():
    law, state = designed(), tilted(5.0, 30.0)
    moved = State(0.0, state.q + np.array((0.7, -0.2, 0, 0, 0, 0)), state.v)
    np.testing.assert_allclose(
        law.command(3.0, moved, np.array((0.7, -0.2))), law.command(0.0, state, ORIGIN), rtol=1e-12
    )


def test_the_norm_is_cut_and_the_direction_kept():
    strong, weak = designed(force_limit=1e6), designed(force_limit=0.5)
    u, cut = (law.command(0.0, tilted(3.0, 25.0), ORIGIN) for law in (strong, weak))
    np.testing.assert_allclose(cut, 0.5 * u / np.hypot(*u), rtol=1e-12)


def test_a_limit_of_zero_is_no_force():
    np.testing.assert_array_equal(
        designed(force_limit=0.0).command(0.0, tilted(10.0), ORIGIN), (0.0, 0.0)
    )


def test_q_and_minus_q_are_one_attitude():
    law, state = designed(), tilted(10.0, 40.0)
    other = State(0.0, state.q * (1, 1, -1, -1, -1, -1), state.v)
    np.testing.assert_array_equal(law.command(0.0, state, ORIGIN), law.command(0.0, other, ORIGIN))


@pytest.mark.parametrize("bad", (math.nan, math.inf, -math.inf))
@pytest.mark.parametrize(
    ("index", "name"),
    [
        (0, "the cart's position"),
        (2, "the orientation"),
        (6, "the cart's velocity"),
        (10, "the angular velocity"),
        (11, "the reference"),
    ],
)
def test_no_force_follows_from_a_number_that_is_not_finite(index, name, bad):
    numbers = np.concatenate((tilted(5.0).q, np.zeros(5), ORIGIN))
    numbers[index] = bad
    state = State(0.0, numbers[:6], numbers[6:11])
    with pytest.raises(ValueError, match=f"{name} is .*{bad}.*must be finite"):
        designed().command(0.0, state, numbers[11:])


@pytest.mark.parametrize("scale", (0.0, 0.99, 2.0))
def test_no_force_follows_from_a_quaternion_that_is_not_unit(scale):
    state = tilted(5.0)
    state.q[2:] *= scale
    with pytest.raises(ValueError, match=f"orientation has norm {scale:g}; it must be 1"):
        designed().command(0.0, state, ORIGIN)


@pytest.mark.parametrize("q, v, reference", [(7, 5, 2), (6, 6, 2), (6, 5, 3), (6, 5, 1)])
def test_no_force_follows_from_a_wrong_shape(q, v, reference):
    with pytest.raises(ValueError, match="has shape"):
        designed().command(0.0, State(0.0, np.ones(q), np.zeros(v)), np.zeros(reference))


def test_other_arrays_of_the_same_numbers_do_not_compile_anew():
    law, state = designed(), tilted(5.0)
    u = law.command(0.0, state, ORIGIN)
    compiled = len(getattr(feedback.feedback, "signatures", ()))
    strided, frozen = np.repeat(state.q, 2)[::2], state.v.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(law.command(0.0, State(0.0, strided, frozen), (0, 0)), u)
    assert len(getattr(feedback.feedback, "signatures", ())) == compiled


@pytest.mark.parametrize(
    "params",
    [
        PLANT._replace(cart_fixed=True),
        PLANT._replace(gravity=0.0),
        PLANT._replace(rod_center_of_mass=0.0),
    ],
    ids=("fixed cart", "no gravity", "no lever"),
)
def test_a_plant_that_no_gain_stabilizes(params):
    with pytest.raises(
        ValueError,
        match="lqr: the Riccati equation has no stabilizing solution: the input does not reach "
        ".*cart.fixed false",
    ):
        designed(params)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("force_weight", 0.0, "lqr.force_weight is 0.0 1/N.2; it must be a finite number > 0"),
        ("tilt_weight", -1.0, "lqr.tilt_weight is -1.0 1/rad.2; it must be a finite number >= 0"),
        (
            "position_weight",
            0.0,
            "lqr.position_weight is 0.0 1/m.2; it must be a finite number > 0",
        ),
        ("velocity_weight", math.nan, "lqr.velocity_weight is nan"),
        ("period", 0.0, "period is 0.0 s; it must be a finite number > 0"),
        ("force_limit", -20.0, "cart.force_limit is -20.0 N; it must be a finite number >= 0"),
    ],
)
def test_an_option_out_of_range_is_named(option, value, sentence):
    with pytest.raises(ValueError, match=f"controller: {sentence}"):
        designed(**{option: value})
