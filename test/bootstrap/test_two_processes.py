"""What the bootstrap is for: two processes talk over DDS, also in the message that it builds
itself.
"""

import subprocess
import sys
import time

import pytest
from domain import alone

rclpy = pytest.importorskip("rclpy", reason="this Python has no ROS 2")

TALKER = """
import rclpy
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage
rclpy.init()
node = rclpy.create_node('talker')
publisher = node.create_publisher(TFMessage, 'frames', 10)
message = TFMessage(transforms=[TransformStamped(child_frame_id='pendulum_link')])
node.create_timer(0.02, lambda: publisher.publish(message))
rclpy.spin(node)
"""


def test_tf_message_crosses_processes(monkeypatch):
    from tf2_msgs.msg import TFMessage

    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    talker = subprocess.Popen([sys.executable, "-c", TALKER])
    context, received = rclpy.Context(), []
    rclpy.init(context=context)
    node = rclpy.create_node("listener", context=context)
    node.create_subscription(TFMessage, "frames", received.append, 10)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        deadline = time.monotonic() + 20
        while not received and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
    finally:
        talker.kill()
        talker.wait()
        executor.shutdown()
        node.destroy_node()
        context.shutdown()
    assert received[0].transforms[0].child_frame_id == "pendulum_link"
