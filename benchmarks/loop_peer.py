"""The peer of `loop.py`, rclpy alone: a thread that sleeps and sends two states, and a node that
answers them; all bytes are ready before.

    python benchmarks/loop_peer.py PROCESSES WARM_UP SECONDS

Its messages, QoS, executor and sleeps are those of the simulator and the controller; there is no
plant and no law. Its times are a lower bound for any loop that sleeps and sends by rclpy. An
answer counts as that to the newest state, for ready bytes repeat no stamp: one that takes longer
than a period counts as a short one, so the largest of its round trips flatter it.
"""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from loop_figures import figures
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from rbdyn_ros.plant.pacing import Pacer, exact_sleeps
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.ros.process import SWITCH_INTERVAL, events_executor, spin

PERIOD = 1e-3  # [s]
ANSWERING = "answering"


class Plant:
    """A node that sends the two states at every instant of `PERIOD`, from a thread of its own."""

    def __init__(self, warm_up: float, seconds: float):
        self.node = rclpy.create_node("plant")
        joints = JointState(
            name=list(JOINTS), position=[0.0] * 5, velocity=[0.0] * 5, effort=[0.0] * 5
        )
        self._states = [
            (
                self.node.create_publisher(type(message), topic, qos.OFFERED, **qos.PUBLISHING),
                serialize_message(message),
            )
            for topic, message in (("joint_states", joints), ("odometry", Odometry()))
        ]
        self.node.create_subscription(
            WrenchStamped,
            "cart/command",
            self._answered,
            qos.COMMAND,
            raw=True,
            **qos.SUBSCRIBING,
        )
        self._warm_up, self._seconds = warm_up, seconds
        # written, so that the memory is theirs
        self._instants, self._trips = np.full(
            (2, round(2.0 * max(warm_up, seconds) / PERIOD)), np.nan
        )
        self._sent, self._answers, self._counts = 0, 0, False
        self.found = None  # the figures
        self.thread = threading.Thread(target=self._run, name="simulation", daemon=True)

    def _run(self) -> None:
        exact_sleeps()
        pacer = Pacer()
        self._turn(pacer, self._warm_up)
        self._sent, self._answers, self._counts = 0, 0, True
        step, whole, begin = time.thread_time(), time.process_time(), time.monotonic()
        self._turn(pacer, self._seconds)
        self._counts = False
        elapsed = time.monotonic() - begin
        times = time.thread_time() - step, time.process_time() - whole
        self.found = figures(
            self._instants[: self._sent], self._trips[: self._answers], *times, elapsed
        )

    def _turn(self, pacer: Pacer, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pacer.wait(PERIOD, lambda: False)
            self._instants[self._sent] = time.monotonic()
            self._sent += 1
            for publisher, ready in self._states:
                publisher.publish(ready)

    def _answered(self, data: bytes) -> None:
        now = time.monotonic()
        if self._counts and self._sent:
            self._trips[self._answers] = now - self._instants[self._sent - 1]
            self._answers += 1


def answering_node() -> rclpy.node.Node:
    """Return a node that takes both states and answers the second."""
    node = rclpy.create_node("law")
    command, ready = (
        node.create_publisher(WrenchStamped, "cart/command", qos.COMMAND, **qos.PUBLISHING),
        serialize_message(WrenchStamped()),
    )
    hears = {
        "joint_states": (JointState, lambda data: None),
        "odometry": (Odometry, lambda data: command.publish(ready)),
    }
    for topic, (kind, take) in hears.items():
        node.create_subscription(kind, topic, take, qos.NEWEST, raw=True, **qos.SUBSCRIBING)
    return node


def main(processes: int, warm_up: float, seconds: float) -> int:
    """Measure and print."""
    plant, executor = Plant(warm_up, seconds), events_executor()
    executor.add_node(plant.node)
    other = subprocess.Popen([sys.executable, __file__, ANSWERING]) if processes == 2 else None
    if not other:
        executor.add_node(answering_node())
    plant.thread.start()
    spin(executor, lambda: plant.found is not None)
    if other:
        other.kill()
        other.wait()
    print(json.dumps(plant.found), flush=True)
    os._exit(0)  # the executor's threads need not be waited for


def answer() -> None:
    """Answer until the parent is gone."""
    executor, parent = events_executor(), os.getppid()
    executor.add_node(answering_node())
    spin(executor, lambda: os.getppid() != parent)


if __name__ == "__main__":
    sys.setswitchinterval(SWITCH_INTERVAL)
    rclpy.init()
    sys.exit(
        answer()
        if sys.argv[1] == ANSWERING
        else main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
    )
