"""The controller that sees through its observer, and the one whose pendulum is put elsewhere.

Over real topics, in lockstep.
"""

import math

import numpy as np
import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from rbdyn_ros.pendulum.tilt import tilt  # noqa: E402
from rbdyn_ros.ros.messages.messages import set_stamp  # noqa: E402

NODE = "/pendulum_controller"
PLANT = dict(cart__damping=0.5, joint__damping=0.005)
LOCKSTEP = dict(
    lockstep__enabled=True, lockstep__timeout=30.0, real_time_factor=0.0, rates__state=200.0
)
HANGING = [math.cos(math.radians(87.0)), 0.0, math.sin(math.radians(87.0)), 0.0]
NOISY = {
    "encoders": dict(faults__encoder__gimbal=4096.0, faults__encoder__cart=1e-4),
    "imu": dict(
        faults__encoder__cart=1e-4,
        faults__noise__gyroscope=0.005,
        faults__noise__accelerometer=0.05,
    ),
}


def named(message) -> dict:
    return dict(zip([d.label for d in message.layout.dim], message.data))


@pytest.mark.parametrize("sensors", ["encoders", "imu"])
def test_a_swing_up_that_sees_the_estimate_only(graph, sensors):
    """From hanging, through quantized encoders or a noisy IMU: upright after eight seconds, the
    innovations as believed.
    """
    simulator = graph.simulator(
        **LOCKSTEP, **PLANT, **NOISY[sensors], initial__orientation=HANGING
    )
    reports, diagnosed = (
        graph.listen(Float64MultiArray, f"{NODE}/controller_state"),
        graph.listen(DiagnosticArray, "/diagnostics"),
    )
    graph.controller(**PLANT, period=0.005, controller="swing_up", observer__sensors=sensors)
    plant = simulator.runner.plant
    graph.until(lambda: plant.time > 8.0)
    assert (
        math.hypot(*tilt(plant.q, plant.v)[:2]) < math.radians(2.0)
        and np.hypot(*plant.q[:2]) < 0.05
    )
    late = [named(report) for report in reports[len(reports) // 2 :]]
    assert np.mean([row["nis"] for row in late]) < 1.5
    assert late[-1]["leaps"] == 0.0
    graph.until(
        lambda: any(
            status.name.endswith("observer") for message in diagnosed for status in message.status
        )
    )


def test_the_simulators_reset_is_received(graph):
    """Time goes on, the pendulum does not: a law that has caught the rod does not believe that it
    still has.
    """
    simulator = graph.simulator(**LOCKSTEP, **PLANT, initial__orientation=HANGING)
    controller = graph.controller(
        **PLANT, period=0.005, controller="swing_up", observer__sensors="encoders"
    )
    plant, before = simulator.runner.plant, []
    forget = controller.law._law.reset
    controller.law._law.reset = lambda: (before.append(plant.time), forget())
    graph.until(lambda: plant.time > 1.5)
    assert not before
    assert graph.call(Trigger, "/pendulum_simulator/reset").success
    graph.until(lambda: before)
    assert controller.leaps == 1 and controller.synchronizer.restarts == 1
    seen = plant.time
    graph.until(lambda: plant.time > seen + 0.5)
    state = controller.newest[1]
    assert abs(state.q[2:] @ plant.q[2:]) > 0.999 and controller.leaps == 1


def test_encoders_without_an_effort_are_refused(graph):
    controller = graph.controller(observer__sensors="encoders")
    publisher, message = graph.publisher(JointState, "/joint_states"), JointState()
    from rbdyn_ros.ros.messages.state_topics import JOINTS

    message.name, message.position = list(JOINTS), [0.0] * 5
    set_stamp(message.header.stamp, 10**9)
    publisher.publish(message)
    graph.until(lambda: controller.refused["joint_states"] == 1)
    assert controller.active
