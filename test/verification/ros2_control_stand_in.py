"""A controller manager with JointStateTopicSystem 1.1.0, as far as its topics go.

A controller keeps the newest command of /cart_effort_controller/commands in the command
interfaces, which are NaN until the first one. The hardware is that of the <ros2_control> tag in
robot_description.
"""

import math
from contextlib import suppress
from xml.etree import ElementTree

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

RATE = 100.0  # [Hz] of the manager's loop
COMMANDS = "cart_effort_controller/commands"


class StandIn(Node):
    """`write` is called once per period."""

    def __init__(self, threshold: str = "", compared: tuple = ("position", "velocity", "effort")):
        """`threshold` replaces the tag's.

        `compared`: the interfaces whose change is looked for; only position before 1.1.0.
        """
        super().__init__("controller_manager")
        self._override, self._compared = threshold, compared
        self.commands, self.publisher, self._state = [math.nan, math.nan], None, JointState()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(String, "robot_description", self._describe, latched)
        self.create_subscription(Float64MultiArray, COMMANDS, self._command, 1)

    def _command(self, message: Float64MultiArray) -> None:
        self.commands = list(message.data)

    def _describe(self, message: String) -> None:
        tag = ElementTree.fromstring(message.data).find("ros2_control")
        if tag is None or self.publisher:
            return
        assert tag.findtext("hardware/plugin") == (
            "joint_state_topic_hardware_interface/JointStateTopicSystem"
        )
        params = {param.get("name"): param.text for param in tag.iterfind("hardware/param")}
        # the plugin's own defaults where the tag says nothing
        commands = params.get("joint_commands_topic", "/robot_joint_commands")
        states = params.get("joint_states_topic", "/robot_joint_states")
        default = params.get("trigger_joint_command_threshold", "1e-5")
        self.threshold = float(self._override or default)
        self.joints = [
            (
                joint.get("name"),
                [i.get("name") for i in joint.iterfind("command_interface")],
                {i.get("name"): math.nan for i in joint.iterfind("state_interface")},
            )
            for joint in tag.iterfind("joint")
        ]
        self.publisher = self.create_publisher(JointState, commands, 1)
        self.create_subscription(JointState, states, self._take, qos_profile_sensor_data)

    def _take(self, message: JointState) -> None:
        self._state = message

    def read(self) -> None:
        """Set each state that the newest message carries; KeyError for one without interface."""
        known = {name: states for name, _, states in self.joints}
        for place, name in enumerate(self._state.name):
            for quantity in ("position", "velocity", "effort"):
                numbers = getattr(self._state, quantity)
                if name in known and len(numbers) and math.isfinite(numbers[place]):
                    known[name][quantity]  # noqa: B018 - the interface must be there
                    known[name][quantity] = numbers[place]

    def write(self) -> bool:
        """Publish the commands; whether they differ from the states by more than the threshold."""
        wanted = iter(self.commands)
        message = JointState()
        message.header.stamp = self.get_clock().now().to_msg()
        difference = 0.0
        for name, interfaces, states in self.joints:
            message.name.append(name)
            for interface in interfaces:
                command = next(wanted)
                getattr(message, interface).append(command)
                if interface in self._compared:
                    difference += abs(states[interface] - command)
        if difference <= self.threshold:  # false for NaN
            return False
        self.publisher.publish(message)
        return True

    def cycle(self) -> None:
        """One period of the manager."""
        if self.publisher:
            self.read()
            self.write()


def main(force: tuple = (math.nan, math.nan)) -> None:
    """Run until it is killed or interrupted, with this force before the first command."""
    rclpy.init()
    node = StandIn()
    node.commands = list(force)
    node.create_timer(1.0 / RATE, node.cycle)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)


if __name__ == "__main__":
    main()
