"""The URDF, from the declared parameters of the plant (its readers do not get faults.mismatch).

world -(cart_x_joint)- cart_x_link -(cart_y_joint)- cart_link -(roll, pitch, spin)- pendulum_link,
as in `pendulum.gimbal_joints`. A URDF has no ball joint; the two links between the
hinges have neither mass nor shape.

Optionally it has a <ros2_control> tag: the plugin that passes joint_states to the controllers and
their efforts to joint_commands.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from rbdyn_ros.bodies import shapes
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages import state_topics
from rbdyn_ros.ros.messages.commands import DRIVEN, TOPIC
from rbdyn_ros.ros.messages.sample import PlantDescription
from rbdyn_ros.ros.node import ManagedNode
from rbdyn_ros.types import System
from rbdyn_ros.view.source import CART

_ROBOT = """<?xml version="1.0"?>
<robot name="spherical_pendulum">
  <link name="world"/>
  <link name="cart_x_link"/>
  <link name="pendulum_roll_link"/>
  <link name="pendulum_pitch_link"/>
  <link name="cart_link">
    <visual>
      <origin xyz="{cart_middle}"/>
      <material name="cart"><color rgba="0.55 0.6 0.65 1"/></material>
      <geometry><box size="{cart_edges}"/></geometry>
    </visual>
    <collision>
      <origin xyz="{cart_middle}"/>
      <geometry><box size="{cart_edges}"/></geometry>
    </collision>{cart_inertial}
  </link>
  <link name="pendulum_link">
    <visual>
      <origin xyz="{rod_middle}"/>
      <material name="rod"><color rgba="0.85 0.45 0.15 1"/></material>
      <geometry><cylinder radius="{radius}" length="{length}"/></geometry>
    </visual>
    <collision>
      <origin xyz="{rod_middle}"/>
      <geometry><cylinder radius="{radius}" length="{length}"/></geometry>
    </collision>{rod_inertial}
  </link>
  <link name="pendulum_com"/>
  <link name="pendulum_tip"/>
  <link name="imu_link"/>{joints}{hardware}
</robot>
"""
_JOINT = """
  <joint name="{name}_joint" type="{kind}">
    <parent link="{parent}"/>
    <child link="{child}"/>
    {more}
  </joint>"""
_LIMIT = '<limit lower="-{travel}" upper="{travel}" effort="{effort}" velocity="1000"/>'
_DYNAMICS = '<dynamics damping="{}" friction="{}"/>'
_INERTIAL = """
    <inertial>
      <origin xyz="{center}"/>
      <mass value="{mass}"/>
      <inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/>
    </inertial>"""
# With a threshold of -1 the plugin publishes in every period. With the default it does not publish
# while the measured effort equals the commanded one, and the watchdog expires.
_HARDWARE = """
  <ros2_control name="spherical_pendulum" type="system">
    <hardware>
      <plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>
      <param name="joint_commands_topic">{commands}</param>
      <param name="joint_states_topic">{states}</param>
      <param name="trigger_joint_command_threshold">-1</param>
    </hardware>{joints}
  </ros2_control>"""
# all three states, also of joints without drive: the plugin sets each that joint_states has
_INTERFACES = """
    <joint name="{name}">{command}
      <state_interface name="position"/>
      <state_interface name="velocity"/>
      <state_interface name="effort"/>
    </joint>"""
_COMMAND = """
      <command_interface name="effort"/>"""


class HardwareTopics(NamedTuple):
    """Full names of the topics that the hardware plugin of ros2_control publishes and subscribes
    to.
    """

    commands: str
    states: str


class DescriptionPublisher:
    """Publishes, latched, the URDF and the frames on the rod."""

    def __init__(self, node: ManagedNode):
        self._node, self._has_frames = node, False
        self._robot, self._static = (
            node.create_publisher(kind, topic, qos.LATCHED, **qos.PUBLISHING)
            for kind, topic in ((String, "robot_description"), (TFMessage, "/tf_static"))
        )

    def publish(
        self, setup: PlantDescription, values: Mapping[str, Any], with_frames: object = True
    ) -> None:
        """Publish the plant as these values of the parameters describe it. Without frames those
        that were published are taken back, as they could contradict those of others.
        """
        topics = HardwareTopics(*map(self._node.resolve_topic_name, (TOPIC, "joint_states")))
        hardware, imu = topics if values["ros2_control"] else None, values["imu.position"]
        text = urdf(setup, values["cart.force_limit"], imu, hardware)
        self._robot.publish(String(data=text))
        if with_frames:
            self._static.publish(state_topics.static(self._node.frames, setup, imu))
        elif self._has_frames:
            self._static.publish(TFMessage())
        self._has_frames = bool(with_frames)


def urdf(
    setup: PlantDescription,
    force_limit: float,
    imu_position: float,
    hardware: HardwareTopics | None = None,
) -> str:
    """Return the robot's description, an XML document; with `hardware` also for ros2_control.

    Frame prefixes are added by its readers, as usual in ROS.
    """
    params, system = setup.declared, spherical_pendulum.build(setup.declared)
    middle, mass = (0.0, 0.0, -CART[2] / 2), system.cart_mass
    # the cart never turns, so no motion depends on its inertia; but readers reject a link without
    # one, and one with a mass of zero
    of_cart = _inertial(mass, middle, shapes.box(CART, mass).inertia) if mass > 0.0 else ""
    return _ROBOT.format(
        cart_middle=_text(*middle),
        cart_edges=_text(*CART),
        cart_inertial=of_cart,
        rod_middle=_text(0.0, 0.0, params.rod_length / 2),
        radius=_text(params.rod_radius),
        length=_text(params.rod_length),
        rod_inertial=_inertial(system.rod_mass, (0.0, 0.0, system.center), system.inertia),
        joints="".join(_joints(setup, system, force_limit, imu_position)),
        hardware=_hardware(hardware) if hardware else "",
    )


def _joints(
    setup: PlantDescription, system: System, force_limit: float, imu_position: float
) -> Iterator[str]:
    """Yield the slides of the cart, the hinges of the rod, and the frames on it."""
    travel = _text(0.0 if setup.params.cart_fixed else setup.travel)
    limit, dynamics = _text(force_limit), (system.cart_damping, system.cart_friction)
    slide = _LIMIT.format(travel=travel, effort=limit) + _DYNAMICS.format(*map(_text, dynamics))
    hinge = _DYNAMICS.format(_text(system.joint_damping), _text(system.joint_friction))
    for name, kind, parent, child, axis, more in (
        ("cart_x", "prismatic", "world", "cart_x_link", "1 0 0", slide),
        ("cart_y", "prismatic", "cart_x_link", "cart_link", "0 1 0", slide),
        ("pendulum_roll", "continuous", "cart_link", "pendulum_roll_link", "1 0 0", hinge),
        (
            "pendulum_pitch",
            "continuous",
            "pendulum_roll_link",
            "pendulum_pitch_link",
            "0 1 0",
            hinge,
        ),
        ("pendulum_spin", "continuous", "pendulum_pitch_link", "pendulum_link", "0 0 1", hinge),
    ):
        more = f'<axis xyz="{axis}"/>{more}'
        yield _JOINT.format(name=name, kind=kind, parent=parent, child=child, more=more)
    for name, height in (
        ("pendulum_com", system.center),
        ("pendulum_tip", setup.declared.rod_length),
        ("imu_link", imu_position),
    ):
        more = f'<origin xyz="{_text(0.0, 0.0, height)}"/>'
        yield _JOINT.format(name=name, kind="fixed", parent="pendulum_link", child=name, more=more)


def _hardware(topics: HardwareTopics) -> str:
    """Return the <ros2_control> tag."""
    joints = (
        _INTERFACES.format(name=name, command=_COMMAND if name in DRIVEN else "")
        for name in state_topics.JOINTS
    )
    return _HARDWARE.format(**topics._asdict(), joints="".join(joints))


def _inertial(mass: float, center: tuple[float, ...], inertia: tuple[float, ...]) -> str:
    return _INERTIAL.format(*map(_text, inertia), mass=_text(mass), center=_text(*center))


def _text(*numbers: float) -> str:
    return " ".join(repr(float(number)) for number in numbers)
