"""A controller as a node of its own, without rbdyn_ros.

`python balancer_node.py`, beside a simulator.

It receives where the cart and the rod are, and answers with a force that repeats the stamp of what
it received.
"""

import math

import rclpy
from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

K = (20.0, 31.0, 234.0, 91.0)  # [N/m, N s/m, N/rad, N s/rad] on x, x', tilt, tilt'
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def lean(q, w):
    """Return the tilt towards x and y [rad] and their rates [rad/s] of the quaternion q and the
    angular velocity w [rad/s, body].
    """
    k = (
        2.0 * (q.x * q.z + q.w * q.y),
        2.0 * (q.y * q.z - q.w * q.x),
        1.0 - 2.0 * (q.x**2 + q.y**2),
    )
    size = math.hypot(k[0], k[1])
    angle = math.atan2(size, k[2]) / size if size else 1.0
    Wx = (1.0 - 2.0 * (q.y**2 + q.z**2)) * w.x + 2.0 * (q.x * q.y - q.w * q.z) * w.y
    Wy = 2.0 * (q.x * q.y + q.w * q.z) * w.x + (1.0 - 2.0 * (q.x**2 + q.z**2)) * w.y
    return (angle * k[0], angle * k[1]), (Wy, -Wx)


class Balancer(Node):
    def __init__(self):
        super().__init__("balancer")
        self.cart, self.goal = None, (0.0, 0.0)
        self.commands = self.create_publisher(WrenchStamped, "cart/command", QoSProfile(depth=1))
        self.create_subscription(JointState, "joint_states", self.on_cart, NEWEST)
        self.create_subscription(Odometry, "odometry", self.on_rod, NEWEST)
        self.create_subscription(PoseStamped, "goal_pose", self.on_goal, 10)
        self.rod = None

    def on_goal(self, message):
        self.goal = (message.pose.position.x, message.pose.position.y)

    def on_cart(self, message):
        self.cart = message
        self.answer()

    def on_rod(self, message):
        self.rod = message
        self.answer()

    def answer(self):
        """Publish the force, once both messages are of one instant."""
        if not (self.cart and self.rod) or self.cart.header.stamp != self.rod.header.stamp:
            return
        tilt, rate = lean(self.rod.pose.pose.orientation, self.rod.twist.twist.angular)
        command = WrenchStamped()
        command.header.stamp, command.header.frame_id = self.cart.header.stamp, "world"
        for i, axis in enumerate("xy"):
            x, v = self.cart.position[i] - self.goal[i], self.cart.velocity[i]
            setattr(
                command.wrench.force, axis, K[0] * x + K[1] * v + K[2] * tilt[i] + K[3] * rate[i]
            )
        self.commands.publish(command)


def main():
    rclpy.init()
    try:
        rclpy.spin(Balancer())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == "__main__":
    main()
