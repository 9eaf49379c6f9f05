"""Faults over topics: what is measured is worse than the truth, by as much as was asked for, and
all of it is counted.
"""

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from rbdyn_ros.ros.messages.messages import nanoseconds, xyz  # noqa: E402

NODE = "/pendulum_simulator"
LOCKSTEP = dict(lockstep__enabled=True, lockstep__timeout=30.0, real_time_factor=0.0)
LEANING = [0.9990482215818578, 0.0, 0.043619387365336, 0.0]  # five degrees


def labeled(message) -> dict:
    """The values of a labeled array by name."""
    return dict(zip((dim.label for dim in message.layout.dim), message.data))


def by_stamp(messages) -> dict:
    return {nanoseconds(message.header.stamp): message for message in messages}


def change(graph, **values):
    """Set parameters of the simulator as `ros2 param set` does, all or none."""
    parameters = [
        Parameter(name.replace("__", "."), value=value).to_parameter_msg()
        for name, value in values.items()
    ]
    return graph.call(
        SetParametersAtomically, f"{NODE}/set_parameters_atomically", parameters=parameters
    ).result


def test_what_is_measured_differs_from_the_truth(graph):
    """Noise, bias and losses, set while it runs; the truth stays true."""
    simulator = graph.simulator(start="immediately", joint__damping=5.0)
    measured, truth = (
        graph.listen(JointState, "/joint_states"),
        graph.listen(JointState, "/ground_truth/joint_states"),
    )
    imu = graph.listen(Imu, "/imu/data")
    counted, diagnosed = (
        graph.listen(Float64MultiArray, f"{NODE}/faults"),
        graph.listen(DiagnosticArray, "/diagnostics"),
    )
    graph.until(lambda: len(measured) > 20 and truth and imu)
    assert all(
        by_stamp(truth)[s] == m for s, m in by_stamp(measured).items() if s in by_stamp(truth)
    )

    assert change(
        graph,
        faults__bias__cart=[0.5, 0.0],
        faults__noise__cart=0.01,
        faults__state__drop=0.5,
        seed=2,
    ).successful
    assert change(graph, faults__bias__gyroscope=[0.0, 0.0, 1.0]).successful
    since = (
        simulator.runner.plant.stamp + simulator.runner.plant.tick_ns
    )  # a tick may be on its way to its topics
    graph.until(
        lambda: (
            nanoseconds(measured[-1].header.stamp) > since
            and nanoseconds(imu[-1].header.stamp) > since
        )
    )
    received = len(measured)
    graph.until(lambda: len(measured) > received + 200)
    both = sorted(
        stamp for stamp in set(by_stamp(measured)) & set(by_stamp(truth)) if stamp > since
    )
    assert len(both) > 100
    errors = np.array(
        [np.subtract(by_stamp(measured)[s].position, by_stamp(truth)[s].position) for s in both]
    )
    assert np.allclose(errors[:, :2].mean(axis=0), (0.5, 0.0), atol=0.005) and np.allclose(
        errors[:, :2].std(axis=0), 0.01, rtol=0.3
    )
    assert np.allclose(errors[:, 2:], 0.0, atol=1e-12)
    assert xyz(imu[-1].angular_velocity)[2] == pytest.approx(1.0, abs=0.01)
    stamps = [stamp for stamp in by_stamp(truth) if both[0] < stamp < both[-1]]
    assert 0.3 < 1.0 - len(both) / len(stamps) < 0.7

    def told() -> dict:
        return {
            pair.key: pair.value
            for message in diagnosed
            for status in message.status
            if status.name.endswith("faults")
            for pair in status.values
        }

    graph.until(lambda: int(told().get("state_dropped", 0)) > 100)
    names = [
        status.message
        for message in diagnosed
        for status in message.status
        if status.name.endswith("faults")
    ]
    assert names[-1] == "on: state.drop, noise.cart, bias.cart, bias.gyroscope"
    assert labeled(counted[-1])["sensors_disturbed"] > 100 and set(labeled(counted[-1])) == {
        "time",
        *simulator.runner.signals.faults.counts(),
    }
    assert change(
        graph, faults__bias__cart=[0.0, 0.0], faults__noise__cart=0.0, faults__state__drop=0.0
    ).successful
    assert change(graph, faults__bias__gyroscope=[0.0, 0.0, 0.0]).successful
    assert graph.call(Trigger, f"{NODE}/reset_statistics").success
    assert not any(simulator.runner.signals.faults.counts().values())


def test_a_bad_fault_is_refused_and_leaves_the_others_as_they_were(graph):
    simulator = graph.simulator(start="paused", faults__command__drop=0.1)
    before = simulator.runner.signals.faults.options
    result = change(graph, faults__noise__cart=0.1, faults__command__drop=1.5)
    assert (
        not result.successful
        and "faults.command.drop out of range Min: 0.0, Max: 1.0, value: 1.5" in result.reason
    )
    assert (
        simulator.runner.signals.faults.options is before
        and simulator.get_parameter("faults.noise.cart").value == 0.0
    )
    assert before.command_drop == 0.1


def test_the_force_that_acts_is_shown(graph):
    simulator = graph.simulator(
        start="immediately",
        faults__actuator__loss=0.5,
        faults__actuator__saturation=4.0,
        faults__mismatch__rod_mass=0.2,
    )
    received, described = (
        graph.listen(WrenchStamped, "/wrench/cart"),
        graph.listen(String, "/robot_description", latched=True),
    )
    graph.publisher(Float64MultiArray, "/effort_controller/commands").publish(
        Float64MultiArray(data=[6.0, 0.0])
    )
    graph.until(lambda: received and received[-1].wrench.force.x == 2.0)
    assert simulator.runner.signals.faults.counts()["actuator_saturated"] > 0
    graph.until(lambda: described)
    assert (
        'mass value="1.0"' in described[-1].data
        and simulator.runner.plant.setup.system.rod_mass == 1.2
    )  # a reader knows the declared


def test_a_third_of_the_commands_lost_and_20_ms_of_jitter(graph):
    """The rod stands all the same, through a pause, resets and a push; everything is counted and
    nothing raises.
    """
    rough = dict(
        faults__command__drop=0.3,
        faults__command__jitter=0.02,
        rates__state=100.0,
        cart__damping=0.5,
        seed=1,
    )
    simulator = graph.simulator(**LOCKSTEP, **rough, initial__orientation=LEANING)
    graph.controller(cart__damping=0.5, period=0.01)
    runner, counts = simulator.runner, simulator.runner.signals.faults.counts
    for _ in range(3):
        end = runner.plant.time + 0.5
        graph.until(lambda: runner.plant.time > end)
        assert graph.call(SetBool, f"{NODE}/pause", data=True).success
        assert graph.call(Trigger, f"{NODE}/reset").success
        assert graph.call(SetBool, f"{NODE}/pause", data=False).success
    end = runner.plant.time + 5.0
    graph.until(lambda: runner.plant.time > end)
    assert (
        runner.status == "playing"
        and abs(runner.plant.q[3:5]).max() < 0.01
        and np.abs(runner.plant.q[:2]).max() < 0.1
    )
    assert (
        0.2 < counts()["command_dropped"] / runner.signals.faults.commands.counts["sent"] < 0.4
        and counts()["command_reordered"] > 10
    )
    assert runner.statistics.lockstep_timeouts == 0


def test_time_that_jumps_back_finds_a_controller_that_goes_on(graph):
    """The simulator is cleaned up and configured again: its time begins anew, and the rod is
    caught as before.
    """
    rough = dict(
        faults__command__drop=0.2,
        faults__state__delay=0.010,
        faults__noise__angle=1e-3,
        rates__state=100.0,
        cart__damping=0.5,
    )
    simulator = graph.simulator(**LOCKSTEP, **rough, initial__orientation=LEANING)
    controller = graph.controller(cart__damping=0.5, period=0.01)
    graph.until(lambda: simulator.runner.plant.time > 2.0)
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        getattr(simulator, f"trigger_{transition}")()
    assert simulator.runner.plant.time < 2.0
    graph.until(lambda: simulator.runner.plant.time > 6.0)
    assert simulator.runner.status == "playing" and controller.status == "running"
    assert (
        abs(simulator.runner.plant.q[3:5]).max() < 0.01
        and simulator.runner.signals.faults.counts()["state_delayed"] > 100
    )


def test_covariances_of_odometry_and_imu_are_those_of_the_noise(graph):
    """Of what is measured, as set while it runs; zeros for the truth and without noise."""
    noise = {
        "faults__noise__cart": 0.01,
        "faults__noise__cart_velocity": 0.02,
        "faults__noise__angle": 0.002,
        "faults__noise__rate": 0.03,
        "faults__noise__gyroscope": 0.005,
        "faults__noise__accelerometer": 0.08,
    }
    graph.simulator(start="immediately", joint__damping=5.0, **noise)
    measured, imu = graph.listen(Odometry, "/odometry"), graph.listen(Imu, "/imu/data")
    truth = graph.listen(Odometry, "/ground_truth/odometry")
    graph.until(lambda: len(measured) > 20 and truth and imu)
    newest, felt = measured[-1], imu[-1]
    pose, twist = (np.reshape(part.covariance, (6, 6)) for part in (newest.pose, newest.twist))
    upright = (1e-4, 1e-4, 0.0, 4e-6, 4e-6, 4e-6)  # nearly
    assert np.allclose(np.diag(pose), upright, rtol=0.05)
    assert np.allclose(np.diag(twist)[:2], 4e-4, rtol=0.05)
    assert np.allclose(np.diag(twist)[3:], 9e-4)
    assert felt.orientation_covariance[8] == pytest.approx(4e-6, rel=0.05)
    assert felt.angular_velocity_covariance[0] == pytest.approx(2.5e-5)
    assert felt.linear_acceleration_covariance[8] == pytest.approx(6.4e-3)
    assert not truth[-1].pose.covariance.any() and not truth[-1].twist.covariance.any()

    none = dict.fromkeys(noise, 0.0)
    assert change(graph, **none, faults__state__delay=0.004).successful  # late, without noise
    graph.until(lambda: not any(map(np.any, claims(measured[-1], imu[-1]))))


def claims(odometry: Odometry, imu: Imu) -> tuple:
    """All covariances of two messages."""
    return (
        odometry.pose.covariance,
        odometry.twist.covariance,
        imu.orientation_covariance,
        imu.angular_velocity_covariance,
        imu.linear_acceleration_covariance,
    )
