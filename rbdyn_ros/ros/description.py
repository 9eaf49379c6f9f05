"""The URDF, from the same numbers as the physics: the declared ones, which is what its readers may
know (faults.mismatch).

world -(cart_x_joint)- cart_x_link -(cart_y_joint)- cart_link -(roll, pitch, spin)- pendulum_link,
as in `mechanics.pendulum.gimbal_joints`. A URDF knows no ball joint; the two links between the
hinges have neither mass nor shape.

On request it has a <ros2_control> tag: the plugin that brings joint_states to the controllers and
their efforts to joint_commands.
"""

from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rclpy.node import Node

from rbdyn_ros.mechanics.pendulum import spherical_pendulum
from rbdyn_ros.ros.messages.commands import DRIVEN, EFFORT, TOPIC
from rbdyn_ros.ros.messages.sample import PlantDescription
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.view.scene import CART

_TURNING = (  # joint, parent, child, axis
    ("pendulum_roll_joint", "cart_link", "pendulum_roll_link", "1 0 0"),
    ("pendulum_pitch_joint", "pendulum_roll_link", "pendulum_pitch_link", "0 1 0"),
    ("pendulum_spin_joint", "pendulum_pitch_link", "pendulum_link", "0 0 1"),
)
HARDWARE = "joint_state_topic_hardware_interface/JointStateTopicSystem"


class HardwareTopics(NamedTuple):
    """Full names of what the hardware plugin of ros2_control publishes and subscribes to."""

    commands: str
    states: str


def hardware_of(node: Node) -> HardwareTopics:
    """Return the topics of the node that is the plant."""
    return HardwareTopics(*map(node.resolve_topic_name, (TOPIC, "joint_states")))


def urdf(
    setup: PlantDescription,
    force_limit: float,
    imu_position: float,
    hardware: HardwareTopics | None = None,
) -> str:
    """The robot's description, an XML document; with `hardware` for ros2_control too.

    Frame prefixes are left to its readers, as ROS has it.
    """
    params, system = setup.declared, spherical_pendulum.build(setup.declared)
    robot = Element("robot", name="spherical_pendulum")
    for name in ("world", "cart_x_link", "pendulum_roll_link", "pendulum_pitch_link"):
        SubElement(robot, "link", name=name)
    cart = SubElement(robot, "link", name="cart_link")
    middle = (0.0, 0.0, -CART[2] / 2)
    for shape in _shapes(cart, middle, "cart", "0.55 0.6 0.65 1"):
        SubElement(shape, "box", size=_text(CART))
    if system.cart_mass > 0.0:  # readers refuse a mass of zero
        _inertial(cart, system.cart_mass, middle, box_inertia(system.cart_mass, CART))
    rod = SubElement(robot, "link", name="pendulum_link")
    for shape in _shapes(rod, (0.0, 0.0, params.rod_length / 2), "rod", "0.85 0.45 0.15 1"):
        size = dict(radius=_text((params.rod_radius,)), length=_text((params.rod_length,)))
        SubElement(shape, "cylinder", size)
    _inertial(rod, system.rod_mass, (0.0, 0.0, system.center), system.inertia)
    _sliding(robot, "cart_x_joint", "world", "cart_x_link", "1 0 0", setup, force_limit)
    _sliding(robot, "cart_y_joint", "cart_x_link", "cart_link", "0 1 0", setup, force_limit)
    for name, parent, child, axis in _TURNING:
        joint = _joint(robot, name, "continuous", parent, child, axis)
        SubElement(joint, "dynamics", damping=_text((system.joint_damping,)))
    for name, height in (
        ("pendulum_com", system.center),
        ("pendulum_tip", params.rod_length),
        ("imu_link", imu_position),
    ):
        SubElement(robot, "link", name=name)
        joint = _joint(robot, f"{name}_joint", "fixed", "pendulum_link", name)
        SubElement(joint, "origin", xyz=_text((0.0, 0.0, height)))
    if hardware:
        _hardware(robot, hardware)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode", xml_declaration=True)


def _hardware(robot, topics: HardwareTopics) -> None:
    """Add the <ros2_control> tag.

    A threshold of -1 has the plugin publish in every period. With its default it is silent while
    the measured effort equals the commanded one, and the watchdog expires.
    """
    system = SubElement(robot, "ros2_control", name=robot.get("name"), type="system")
    plugin = SubElement(system, "hardware")
    SubElement(plugin, "plugin").text = HARDWARE
    for name, value in (
        ("joint_commands_topic", topics.commands),
        ("joint_states_topic", topics.states),
        ("trigger_joint_command_threshold", "-1"),
    ):
        SubElement(plugin, "param", name=name).text = value
    for name in JOINTS:
        joint = SubElement(system, "joint", name=name)
        if name in DRIVEN:
            SubElement(joint, "command_interface", name=EFFORT)
        # all three, also where nothing drives: the plugin sets each that joint_states carries
        for quantity in ("position", "velocity", EFFORT):
            SubElement(joint, "state_interface", name=quantity)


def _joint(robot, name: str, kind: str, parent: str, child: str, axis: str = "") -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    if axis:
        SubElement(joint, "axis", xyz=axis)
    return joint


def _sliding(
    robot,
    name: str,
    parent: str,
    child: str,
    axis: str,
    setup: PlantDescription,
    force_limit: float,
) -> None:
    joint = _joint(robot, name, "prismatic", parent, child, axis)
    reach = 0.0 if setup.params.cart_fixed else setup.travel
    SubElement(
        joint,
        "limit",
        lower=_text((-reach,)),
        upper=_text((reach,)),
        effort=_text((force_limit,)),
        velocity="1000",
    )
    SubElement(joint, "dynamics", damping=_text((setup.system.cart_damping,)))


def _inertial(link, mass: float, center: tuple, inertia: tuple) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_text(center))
    SubElement(inertial, "mass", value=_text((mass,)))
    ixx, iyy, izz = (_text((i,)) for i in inertia)
    SubElement(inertial, "inertia", ixx=ixx, ixy="0", ixz="0", iyy=iyy, iyz="0", izz=izz)


def _shapes(link, center: tuple, material: str, rgba: str) -> list:
    """The geometries, to be filled, of what is drawn and of what collides."""
    shapes = []
    for name in ("visual", "collision"):
        part = SubElement(link, name)
        SubElement(part, "origin", xyz=_text(center))
        if name == "visual":
            SubElement(SubElement(part, "material", name=material), "color", rgba=rgba)
        shapes.append(SubElement(part, "geometry"))
    return shapes


def box_inertia(mass: float, size: tuple[float, float, float]) -> tuple[float, float, float]:
    """Principal inertia of a solid box about its center [kg m^2].

    The cart never turns, so no motion depends on it; but readers refuse a link that has none.
    """
    a, b, c = (mass / 12.0 * edge**2 for edge in size)
    return (b + c, a + c, a + b)


def _text(numbers: tuple) -> str:
    return " ".join(repr(float(number)) for number in numbers)
