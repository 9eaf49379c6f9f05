"""Covariances that messages claim are those of ten thousand measurements."""

import math

import numpy as np
import pytest

from rbdyn_ros.geometry import so3, unit_quaternion
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.plant.faults.covariance import Covariances, SensorErrors
from rbdyn_ros.plant.faults.fault_options import Bias, Encoder, Faults, SensorNoise
from rbdyn_ros.plant.faults.sensors import Sensors
from rbdyn_ros.types import State

DRAWS = 10_000
NOISE = SensorNoise(
    cart=2e-3, cart_velocity=1e-2, angle=1e-3, rate=2e-2, gyroscope=5e-3, accelerometer=0.08
)
POSES = {
    "upright": ((1.0, 0.0, 0.0, 0.0), (0.4, -0.3)),
    "tilted": ((0.8, 0.36, -0.48, 0.0), (1.5, 0.7)),
    "lying near the gimbal's pole": (
        (math.cos(0.75), 0.0, math.sin(0.75), 0.0),
        (-2.0, 1.0),
    ),
}


def attitude(q) -> np.ndarray:
    return np.array(unit_quaternion.matrix(tuple(q)))


def rows(R: np.ndarray) -> tuple:
    return tuple(map(tuple, R.tolist()))


def at_rest(faults: Faults) -> Covariances:
    return SensorErrors(faults).covariances((0.0,) * 3, rows(np.eye(3)), (0.0,) * 3)


def drawn(faults: Faults, Q: tuple, u: tuple) -> tuple:
    """(covariance of pose errors, of twist errors, the claimed one of the true state)."""
    w = (0.3, -0.2, 0.5)
    state = State(0.0, np.array((0.1, -0.2, *Q)), np.array((*u, *w)))
    sensors, R = Sensors(faults, 7), attitude(Q)
    V = R.T @ (*u, 0.0)
    pose, twist = [], []
    for _ in range(DRAWS):
        m = sensors.measure(state)
        measured = attitude(m.q[2:])
        pose.append(np.r_[m.q[:2] - state.q[:2], 0.0, so3.log(measured @ R.T)])
        twist.append(np.r_[measured.T @ (*m.v[:2], 0.0) - V, m.v[2:] - w])
    angles = GimbalJoints().follow(unit_quaternion.matrix(Q))
    claimed = SensorErrors(faults).covariances(angles, rows(R), tuple(V.tolist()))
    return np.cov(np.transpose(pose)), np.cov(np.transpose(twist)), claimed


def close(found: np.ndarray, claimed: tuple) -> None:
    """Within five deviations of an estimate from so many draws, entry by entry."""
    expected = np.reshape(claimed, (6, 6))
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found - expected) <= 5.0 * math.sqrt(2.0 / DRAWS) * size + 1e-30).all()


@pytest.mark.parametrize("pose", POSES)
def test_white_noise(pose):
    of_pose, of_twist, claimed = drawn(Faults(noise=NOISE), *POSES[pose])
    close(of_pose, claimed.pose)
    close(of_twist, claimed.twist)
    assert claimed.orientation == tuple(np.reshape(claimed.pose, (6, 6))[3:, 3:].reshape(-1))


def test_counts_of_encoders_that_noise_spreads():
    """Noise of a count and more makes the rounding error uniform."""
    encoder = Encoder(cart=1e-3, gimbal=4096.0)
    noise = SensorNoise(cart=1e-3, angle=2.0 * math.pi / 4096.0, cart_velocity=0.01, rate=0.01)
    of_pose, of_twist, claimed = drawn(Faults(noise=noise, encoder=encoder), *POSES["tilted"])
    close(of_pose, claimed.pose)
    close(of_twist, claimed.twist)
    alone = at_rest(Faults(encoder=encoder))
    assert alone.pose[0] == pytest.approx(1e-6 / 12.0)
    assert alone.pose[21] == pytest.approx((2.0 * math.pi / 4096.0) ** 2 / 12.0)


def test_the_imu():
    """Angular velocity and specific force have the noise of their own sensors."""
    sensors = Sensors(Faults(noise=NOISE), 3)
    pairs = [sensors.measure_inertial((0.0,) * 3, (0.0,) * 3) for _ in range(DRAWS)]
    claimed = at_rest(Faults(noise=NOISE))
    for found, part in zip(zip(*pairs), (claimed.angular_velocity, claimed.acceleration)):
        np.testing.assert_allclose(np.cov(np.transpose(found)).diagonal(), part[::4], rtol=0.07)
        assert np.count_nonzero(part) == 3


def test_nothing_wrong_or_only_a_bias_is_zero():
    """A constant error is no noise; and no covariance begins with -1, for all fields are given."""
    for faults in (Faults(), Faults(bias=Bias(cart=(0.1, 0.0))), Faults(state_delay=0.1)):
        found = SensorErrors(faults).covariances((0.1, 0.2, 0.3), rows(np.eye(3)), (1.0, 0.0, 0.0))
        assert found == Covariances() and not any(map(any, found))
