"""In a process of its own: simulator and controller run, others begin to listen, push, click,
reset, set parameters; after each, which
kernels were loaded or compiled since the one before. Prints what was found as JSON: {what
happened: [kernels]}.
"""

import gc
import json
import sys
import time

import rclpy
from geometry_msgs.msg import PointStamped, PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from numba.core.dispatcher import Dispatcher
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from rbdyn_ros.ros.controller.controller_node import ControllerNode
from rbdyn_ros.ros.simulator.simulator_node import Simulator

TOPICS = {
    "joint_states": JointState, "odometry": Odometry, "imu/data": Imu,
    "multi_dof_joint_states": MultiDOFJointState, "/tf": TFMessage,
    "ground_truth/odometry": Odometry, "wrench/cart": WrenchStamped,
    "wrench/contact": WrenchStamped, "wrench/joint": WrenchStamped,
    "wrench/disturbance": WrenchStamped, "pendulum_simulator/markers": MarkerArray,
    "pendulum_simulator/integrator": Float64MultiArray,
    "pendulum_simulator/faults": Float64MultiArray,
    "pendulum_controller/controller_state": Float64MultiArray,
}  # fmt: skip


class Probe:
    """Runs everything in one executor and counts kernels."""

    def __init__(self, directory: str):
        rclpy.init()
        self.node, self.executor = rclpy.create_node("probe"), SingleThreadedExecutor()
        tilted = {
            "history.directory": directory,
            "initial.orientation": [0.9961947, 0.0, 0.0871557, 0.0],
        }
        self.simulator = Simulator(
            parameter_overrides=[Parameter(name, value=value) for name, value in tilted.items()]
        )
        self.nodes = [self.simulator, ControllerNode()]
        for node in (self.node, *self.nodes):
            self.executor.add_node(node)
        for node in self.nodes:
            node.autostart()
        self.found, self._before = {}, loaded()

    def until(self, condition) -> None:
        """Spin until it holds."""
        end = time.monotonic() + 60.0
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            self.executor.spin_once(timeout_sec=0.02)

    def after(self, what: str) -> None:
        """Let fifty ticks pass, and see."""
        plant = self.simulator.runner.plant
        end = plant.steps + 50 * plant.setup.tick_steps
        self.until(lambda: plant.steps > end)
        now = loaded()
        self.found[what] = sorted(
            name for name, count in now.items() if count != self._before.get(name, 0)
        )
        self._before = now

    def send(self, message, topic: str) -> None:
        """One message, once its reader is there."""
        publisher = self.node.create_publisher(type(message), topic, 1)
        self.until(publisher.get_subscription_count)
        publisher.publish(message)

    def call(self, service: str) -> None:
        """A trigger."""
        client = self.node.create_client(Trigger, service)
        self.until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        self.until(future.done)

    def close(self) -> None:
        """End in good order."""
        for node in reversed(self.nodes):
            node.close()
            node.destroy_node()
        rclpy.shutdown()


def loaded() -> dict:
    """Kernel -> how many argument types it has code for."""
    kernels = [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}": len(kernel.overloads)
        for kernel in kernels
    }


def main(directory: str) -> None:
    """Everything, one after the other."""
    probe = Probe(directory)
    probe.after("running")
    for topic, kind in TOPICS.items():
        probe.node.create_subscription(kind, topic, lambda message: None, 5)
    probe.after("received")
    for frame in ("", "world", "pendulum_link"):
        push = WrenchStamped()
        push.header.frame_id, push.wrench.force.x = frame, 0.5
        probe.send(push, "pendulum_simulator/disturbance")
        probe.after(f"push in '{frame}'")
    click, goal = PointStamped(), PoseStamped()
    click.point.x, click.point.z, goal.pose.position.x = 3.0, 2.0, 0.1
    probe.send(click, "/clicked_point")
    probe.after("click")
    probe.send(goal, "goal_pose")
    probe.after("goal")
    for service in ("reset", "dump"):
        probe.call(f"pendulum_simulator/{service}")
        probe.after(service)
    for name, value in (
        ("faults.noise.angle", 1e-4),
        ("faults.command.delay", 0.002),
        ("faults.actuator.lag", 0.001),
        ("cart.damping", 1.0),
    ):
        assert probe.simulator.set_parameters([Parameter(name, value=value)])[0].successful
        probe.after(name)
    probe.close()
    print(json.dumps(probe.found))


if __name__ == "__main__":
    main(sys.argv[1])
