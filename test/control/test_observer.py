"""The filter: its readings against differences, its consistency, and the laws that see through it
alone.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.control.laws import lqr, swing_up
from rbdyn_ros.control.observer import measurements
from rbdyn_ros.control.observer.estimator import Observer
from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.parameters.controller import FilterNoise
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.pendulum.tilt import tilt
from rbdyn_ros.types import State

PLANT = spherical_pendulum.Params(cart_damping=0.5, joint_damping=0.005)
SYSTEM = spherical_pendulum.build(PLANT)
PERIOD = 0.002
QUANTUM, CART = 2.0 * math.pi / 4096, 1e-4  # of the encoders [rad], [m]
GYRO, ACCELERATION, HEIGHT, BIAS = (
    0.005,
    0.05,
    0.3,
    np.array((0.01, -0.008, 0.012)),
)  # the study's IMU


class Sensors:
    """Quantized encoders, and an IMU with noise and bias."""

    def __init__(self, seed=5):
        self.rng, self.joints = np.random.default_rng(seed), GimbalJoints()

    def cart(self, q):
        return CART * np.round((q[:2] + self.rng.normal(0.0, CART, 2)) / CART)

    def angles(self, q):
        return QUANTUM * np.round(
            np.array(self.joints.follow(unit_quaternion.matrix(tuple(q[2:].tolist())))) / QUANTUM
        )

    def gyro(self, v):
        return v[2:] + BIAS + self.rng.normal(0.0, GYRO, 3)

    def acceleration(self, q, v, u):
        felt = measurements.specific_force(SYSTEM, q, v, tuple(u.tolist()), HEIGHT)
        return np.array(felt) + self.rng.normal(0.0, ACCELERATION, 3)


def retract(state: State, xi) -> State:
    """The state [+] xi."""
    q, v = np.array(state.q, float), np.array(state.v, float)
    measurements.move(q, v, np.array(xi, float))
    return State(state.t, q, v)


def away(q, p):
    """The angle between the rod's directions [rad]."""
    k, seen = (np.array(unit_quaternion.matrix(tuple(a[2:].tolist())))[:, 2] for a in (q, p))
    return np.linalg.norm(np.cross(k, seen))


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def run(law, start, duration, correct, guess=None, noise=FilterNoise()):
    """Rows of (t, tilt, cart, force, tilt error, nis) of the true plant under a law that sees the
    estimate only.
    """
    method = select("quaternion_midpoint")
    options, input = method.options(SYSTEM), spherical_pendulum.no_input()
    q, v, reaction, sensors = start.q.copy(), start.v.copy(), np.zeros(3), Sensors()
    observer, rows = Observer(SYSTEM, guess or start, PERIOD, noise), []
    for i in range(round(duration / PERIOD)):
        t = i * PERIOD
        if i:
            assert observer.predict(input.force)
        nis = correct(observer, sensors, q, v, input.force)
        input.force[:] = law.command(t, State(t, observer.state.q, observer.state.v), np.zeros(2))
        lean = math.hypot(*tilt(q, v)[:2])
        rows.append(
            (t, lean, math.hypot(*q[:2]), math.hypot(*input.force), away(q, observer.state.q), nis)
        )
        done, *_ = method.advance(SYSTEM, options, input, 0.001, 2, State(t, q, v), reaction)
        assert done == 2
    return np.array(rows).T, observer


def by_encoders(observer, sensors, q, v, u):
    nis = observer.correct(measurements.cart(observer.state, sensors.cart(q), CART**2 * 13 / 12))
    return nis + observer.correct(
        measurements.gimbal(observer.state, sensors.angles(q), QUANTUM**2 / 12)
    )


def by_imu(observer, sensors, q, v, u):
    nis = observer.correct(measurements.cart(observer.state, sensors.cart(q), CART**2 * 13 / 12))
    nis += observer.correct(
        measurements.gyroscope(observer.state, observer.bias, sensors.gyro(v), GYRO**2)
    )
    felt = sensors.acceleration(q, v, u)
    return nis + observer.correct(
        measurements.accelerometer(SYSTEM, observer.state, u, felt, HEIGHT, ACCELERATION**2)
    )


def regulator():
    return lqr.design(spherical_pendulum, PLANT, lqr.Options())


def swinger():
    return swing_up.design(spherical_pendulum, PLANT, swing_up.Options())


def test_standing_by_encoders_of_4096_lines():
    """The suite's S11: tilt 0.06 degrees, cart 3.5 mm, force 4 N rms."""
    start = spherical_pendulum.upright(math.radians(10.0), 0.4)
    (t, lean, cart, force, error, nis), _ = run(regulator(), start, 13.0, by_encoders)
    late = t > 9.0
    assert math.degrees(rms(lean[late])) < 0.06
    assert rms(cart[late]) < 3.5e-3
    assert rms(force[late]) < 4.0
    assert (
        nis.mean() < 5.0
    )  # five measured values, and a plant that is better known than the filter believes


def test_standing_by_an_imu_with_an_unknown_bias():
    """The suite's S13, there with the bias known: tilt 0.04 degrees, cart 4.5 mm, estimate 0.02
    degrees.
    """
    (t, lean, cart, force, error, nis), observer = run(
        regulator(), spherical_pendulum.upright(math.radians(10.0), 0.4), 14.0, by_imu
    )
    late = t > 10.0
    assert math.degrees(rms(lean[late])) < 0.06
    assert rms(cart[late]) < 6e-3
    assert math.degrees(rms(error[late])) < 0.03
    assert np.abs(observer.bias - BIAS).max() < 2e-3
    assert nis.mean() < 8.0


@pytest.mark.parametrize("correct", (by_encoders, by_imu), ids=("encoders", "imu"))
def test_a_swing_up_that_sees_the_estimate_only(correct):
    """Nobody had tried: from hanging, the poles of the gimbal on the way, the first guess 2
    degrees off.
    """
    start = spherical_pendulum.upright(math.radians(175.0), 0.6)
    guess = retract(start, np.array((0.002, 0.0, 0.03, -0.02, 0.01) + (0.0,) * 8))
    (t, lean, cart, force, error, nis), observer = run(swinger(), start, 9.0, correct, guess)
    unsettled = (lean > math.radians(2.0)) | (cart > 0.05)
    assert t[unsettled][-1] < 8.0
    assert cart.max() < 2.0
    assert math.degrees(error[t > 1.0].max()) < 0.5


def test_the_innovations_are_as_large_as_the_filter_says():
    """A plant and sensors that are as noisy as the filter believes: the mean of r.S^-1 r is the
    number of values, eight.
    """
    rng, method, nis = np.random.default_rng(8), select("quaternion_midpoint"), []
    guess = spherical_pendulum.upright(math.radians(100.0), 0.6)
    observer, u = Observer(SYSTEM, guess, PERIOD), np.array((2.0, -1.0))
    xi = rng.normal(size=13) * np.sqrt(np.diag(observer.covariance))
    truth, bias, kicks = (
        retract(guess, xi),
        xi[10:],
        np.sqrt(PERIOD * observer._density),
    )
    for _ in range(1500):
        xi = rng.normal(size=13) * kicks
        truth = retract(
            step(
                method, SYSTEM, truth, spherical_pendulum.no_input()._replace(force=u), PERIOD
            ).state,
            xi,
        )
        bias = bias + xi[10:]
        observer.predict(u)
        felt = np.array(
            measurements.specific_force(SYSTEM, truth.q, truth.v, tuple(u.tolist()), HEIGHT)
        ) + rng.normal(0.0, ACCELERATION, 3)
        total = observer.correct(
            measurements.cart(observer.state, truth.q[:2] + rng.normal(0.0, CART, 2), CART**2)
        )
        rate = truth.v[2:] + bias + rng.normal(0.0, GYRO, 3)
        total += observer.correct(
            measurements.gyroscope(observer.state, observer.bias, rate, GYRO**2)
        )
        total += observer.correct(
            measurements.accelerometer(SYSTEM, observer.state, u, felt, HEIGHT, ACCELERATION**2)
        )
        nis.append(total)
    assert np.mean(nis) == pytest.approx(8.0, rel=0.05)


def test_the_covariance_moves_by_the_linearization_of_the_step():
    """The compiled prediction against differences of the step, the bias apart."""
    rng = np.random.default_rng(6)
    Q, u = rng.normal(size=4), np.array((3.0, -7.0))
    before = State(0.0, np.array((0.1, -0.2, *(Q / np.linalg.norm(Q)))), rng.normal(size=5))
    observer = Observer(SYSTEM, before, PERIOD, FilterNoise(cart=0.0, rod=0.0, spin=0.0, bias=0.0))
    A, P = np.eye(13), observer.covariance.copy()
    assert observer.predict(u)
    method, input = select("quaternion_midpoint"), spherical_pendulum.no_input()

    def flow(xi):
        moved = retract(before, xi)
        end = step(method, SYSTEM, moved, input._replace(force=u), PERIOD).state
        w, x, y, z = observer.state.q[2:]
        turn = unit_quaternion.product((w, -x, -y, -z), tuple(end.q[2:]))
        theta = 2.0 * np.arctan2(turn[1:], turn[0])  # of small turns, to third order
        return np.concatenate((end.q[:2], theta, end.v))

    A[:10, :10] = jacobian(flow, np.zeros(10), step=1e-3).value
    np.testing.assert_allclose(observer.covariance, A @ P @ A.T, atol=1e-9)


def test_a_step_that_fails_changes_nothing():
    start = spherical_pendulum.upright(0.1)
    start.v[2:] = (3000.0, 0.0, 0.0)
    observer = Observer(SYSTEM, start, 0.05)
    assert not observer.predict(np.zeros(2))
    np.testing.assert_array_equal(observer.state.v, start.v)
    np.testing.assert_array_equal(observer.covariance, Observer(SYSTEM, start, 0.05).covariance)


def test_the_accelerometer_is_blind_at_the_center_of_percussion():
    """1.600 m from the joint of a hinge that is free, tilt and acceleration cancel: the derivative
    is zero there.
    """
    upright = spherical_pendulum.upright()
    J = SYSTEM.inertia[0] + SYSTEM.rod_mass * SYSTEM.center**2
    for position, blind in ((J / (SYSTEM.rod_mass * SYSTEM.center), True), (0.3, False)):
        H = measurements.accelerometer(SYSTEM, upright, np.zeros(2), np.zeros(3), position, 1.0).H
        assert bool(np.abs(H[:2, 2:4]).max() < 1e-6) is blind


def test_the_derivative_of_the_accelerometer():
    rng = np.random.default_rng(4)
    Q = rng.normal(size=4)
    state = State(0.0, np.array((0.1, -0.2, *(Q / np.linalg.norm(Q)))), rng.normal(size=5))
    u = np.array((3.0, -7.0))

    def felt(xi):
        moved = retract(state, np.concatenate((xi, np.zeros(3))))
        return np.array(
            measurements.specific_force(SYSTEM, moved.q, moved.v, tuple(u.tolist()), HEIGHT)
        )

    H = measurements.accelerometer(SYSTEM, state, u, np.zeros(3), HEIGHT, 1.0).H
    np.testing.assert_allclose(H[:, :10], jacobian(felt, np.zeros(10)).value, atol=1e-7)


def test_a_reading_of_the_gimbal_is_the_state_itself_at_any_attitude():
    rng = np.random.default_rng(3)
    for _ in range(50):
        Q = rng.normal(size=4)
        state = State(0.0, np.array((0.0, 0.0, *(Q / np.linalg.norm(Q)))), np.zeros(5))
        xi = np.array((0.0, 0.0, *rng.normal(0.0, 0.01, 3)) + (0.0,) * 8)
        angles = GimbalJoints().follow(
            unit_quaternion.matrix(tuple(retract(state, xi).q[2:].tolist()))
        )
        np.testing.assert_allclose(
            measurements.gimbal(state, angles, 1.0).residual, xi[2:5], atol=1e-14
        )


def test_the_noise_of_the_gimbal_is_that_of_its_angles():
    state, angles, h = spherical_pendulum.upright(0.9, 2.0), None, 1e-6
    angles = np.array(GimbalJoints().follow(unit_quaternion.matrix(tuple(state.q[2:].tolist()))))
    columns = [measurements.gimbal(state, angles + h * e, 1.0).residual / h for e in np.eye(3)]
    J, pole = np.array(columns).T, math.sin(angles[1]) ** 2
    np.testing.assert_allclose(
        measurements.gimbal(state, angles, 1.0).noise, J @ J.T + pole * np.eye(3), atol=1e-5
    )


def test_a_reading_that_is_not_finite_changes_nothing():
    observer = Observer(SYSTEM, spherical_pendulum.upright(0.1), PERIOD, FilterNoise())
    before = observer.covariance.copy()
    with pytest.raises(
        ValueError,
        match="a reading differs from the estimate by .*nan.*; every number must be finite",
    ):
        observer.correct(measurements.cart(observer.state, (math.nan, 0.0), 1e-8))
    np.testing.assert_array_equal(observer.covariance, before)
