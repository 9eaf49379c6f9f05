"""Sensors: what is wrong shows, as large as asked for, where it was asked for and nowhere else."""

import math

import numpy as np
import pytest
from transforms3d.euler import euler2quat

from rbdyn_ros.geometry import unit_quaternion
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints, attitude
from rbdyn_ros.plant.faults.fault_options import Bias, Encoder, Faults, SensorNoise
from rbdyn_ros.plant.faults.sensors import Sensors
from rbdyn_ros.types import State

ANGLES = (0.2, -0.3, 1.1)
STATE = State(
    0.5, np.array((0.3, -0.2, *euler2quat(*ANGLES, "rxyz"))), np.array((0.1, 0.2, 0.3, 0.4, 0.5))
)
REST, UP = (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)


def read(n=4000, seed=3, **wrong):
    """(states q (n, 6), v (n, 5), angles (n, 3), the sensors) of n instants of one state."""
    sensors = Sensors(Faults(**wrong), seed)
    states = [sensors.measure(STATE) for _ in range(n)]
    q, v = np.array([s.q for s in states]), np.array([s.v for s in states])
    angles = [GimbalJoints().follow(unit_quaternion.matrix(tuple(row[2:].tolist()))) for row in q]
    return q, v, np.array(angles), sensors


def test_perfect_sensors_tell_the_truth_bit_by_bit():
    q, v, _, sensors = read(10)
    assert (
        np.array_equal(q[-1], STATE.q)
        and np.array_equal(v[-1], STATE.v)
        and not any(sensors.counts.values())
    )
    assert sensors.measure_inertial(REST, UP) == (REST, UP) and sensors.perfect


def test_the_quaternion_of_the_gimbal():
    assert np.allclose(attitude(*ANGLES), euler2quat(*ANGLES, "rxyz"), atol=1e-15)


@pytest.mark.parametrize(
    "sensor, read_of",
    [
        ("cart", lambda q, v, angles: q[:, :2] - STATE.q[:2]),
        ("angle", lambda q, v, angles: angles - ANGLES),
        ("cart_velocity", lambda q, v, angles: v[:, :2] - STATE.v[:2]),
        ("rate", lambda q, v, angles: v[:, 2:] - STATE.v[2:]),
    ],
)
def test_noise_has_its_deviation_and_leaves_the_rest_alone(sensor, read_of):
    q, v, angles, sensors = read(noise=SensorNoise(**{sensor: 1e-3}))
    error = read_of(q, v, angles)
    assert (
        np.allclose(error.std(axis=0), 1e-3, rtol=0.05) and np.abs(error.mean(axis=0)).max() < 7e-5
    )
    true = np.concatenate((STATE.q, STATE.v))
    changed = np.ptp(np.hstack((q, v)), axis=0) > 0
    expected = {
        "cart": [0, 1],
        "angle": [2, 3, 4, 5],
        "cart_velocity": [6, 7],
        "rate": [8, 9, 10],
    }[sensor]
    assert np.flatnonzero(changed).tolist() == expected
    assert np.array_equal(np.hstack((q, v))[0][~changed], true[~changed])
    assert (
        np.allclose(np.linalg.norm(q[:, 2:], axis=1), 1.0, atol=1e-14)
        and sensors.counts["disturbed"] == 4000
    )


def test_the_imu_has_noise_and_bias_of_its_own():
    bias = Bias(gyroscope=(0.1, 0.0, 0.0), accelerometer=(0.0, 0.5, -0.2))
    sensors = Sensors(Faults(noise=SensorNoise(gyroscope=0.01, accelerometer=0.1), bias=bias), 0)
    readings = []
    for _ in range(2000):
        assert np.array_equal(sensors.measure(STATE).v, STATE.v)  # odometry is another sensor
        readings.append(np.concatenate(sensors.measure_inertial(REST, UP)))
    assert np.allclose(np.mean(readings, axis=0), (0.1, 0.0, 0.0, 0.0, 0.5, 9.61), atol=0.01)
    assert np.allclose(np.std(readings, axis=0), (0.01,) * 3 + (0.1,) * 3, rtol=0.06)
    assert sensors.counts["imu_disturbed"] == 2000 and sensors.counts["disturbed"] == 0


def test_bias_is_added():
    q, v, angles, sensors = read(1, bias=Bias(cart=(0.01, -0.02), angle=(0.03, 0.0, -0.01)))
    assert q[0, :2] == pytest.approx((0.31, -0.22)) and angles[0] == pytest.approx(
        (0.23, -0.3, 1.09)
    )
    assert np.array_equal(v[0], STATE.v) and sensors.counts["disturbed"] == 1


def test_encoders_read_whole_counts():
    q, _, angles, sensors = read(1, encoder=Encoder(cart=0.004, gimbal=4096))
    count = 2.0 * math.pi / 4096
    assert q[0, :2] == pytest.approx((0.3, -0.2), abs=0.002) and q[0, :2] / 0.004 == pytest.approx(
        (75, -50)
    )
    assert np.abs(angles[0] - ANGLES).max() <= count / 2 and angles[0] / count == pytest.approx(
        np.round(angles[0] / count), abs=1e-9
    )
    assert sensors.counts["disturbed"] == 1


def test_a_measured_attitude_stays_on_the_side_of_the_true_one():
    """q and -q are one attitude; what flips between them would look like noise."""
    sensors = Sensors(Faults(noise=SensorNoise(angle=1e-3)), 0)
    for sign in (1.0, -1.0):
        state = STATE._replace(q=np.concatenate((STATE.q[:2], sign * STATE.q[2:])))
        assert np.allclose(sensors.measure(state).q, state.q, atol=0.01)


def test_frozen_instants_repeat_the_last_reading():
    sensors = Sensors(Faults(state_freeze=1.0, noise=SensorNoise(cart=1e-3, gyroscope=1e-3)), 0)
    first, felt = sensors.measure(STATE), sensors.measure_inertial(REST, UP)
    moved = State(0.6, STATE.q + (1.0, 1.0, 0.0, 0.0, 0.0, 0.0), STATE.v + 1.0)
    again = sensors.measure(moved)
    assert np.array_equal(again.q, first.q) and np.array_equal(again.v, first.v) and again.t == 0.6
    assert sensors.measure_inertial((1.0, 1.0, 1.0), UP) == felt and sensors.counts["frozen"] == 1


def test_freezes_come_as_often_as_asked_for():
    _, _, _, sensors = read(5000, state_freeze=0.2)
    assert abs(sensors.counts["frozen"] - 1000) < 120


def test_one_fault_does_not_shift_the_noise_of_another():
    alone, together = (
        read(200, noise=SensorNoise(cart=1e-3))[0],
        read(200, noise=SensorNoise(cart=1e-3, angle=1e-3, rate=1.0))[0],
    )
    assert np.array_equal(alone[:, :2], together[:, :2])
    assert not np.array_equal(
        alone[:, :2], read(200, seed=4, noise=SensorNoise(cart=1e-3))[0][:, :2]
    )
