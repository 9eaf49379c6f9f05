"""The pose, the forces and the shapes of the pendulum and what it may touch, from messages."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from geometry_msgs.msg import TransformStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

from rbdyn_ros.geometry import conversion, unit_quaternion, vec
from rbdyn_ros.plant.status import Rejected
from rbdyn_ros.ros.messages import commands
from rbdyn_ros.ros.messages.cdr import RodMotion
from rbdyn_ros.ros.messages.messages import Frames, nanoseconds, wxyz, xyz
from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.ros.simulator.markers import NUMBERS
from rbdyn_ros.types import Vector
from rbdyn_ros.view.source import GRAVITY, UPRIGHT, ZERO, Planar, Quaternion, Shape, Solid

NOTHING = (math.nan, math.nan)


class Pose(NamedTuple):
    """The pose and the velocities of the pendulum."""

    stamp: int  # [ns]
    cart: Planar  # [m]
    attitude: Quaternion  # wxyz
    cart_velocity: Planar = NOTHING  # [m/s, world]
    angular_velocity: Vector = (math.nan, math.nan, math.nan)  # [rad/s, body]


def pose_of_odometry(motion: RodMotion) -> Pose:
    """Return the pose of the rod; the twist is in the child frame."""
    stamp, (x, y, _), attitude, linear, angular = motion
    velocity = unit_quaternion.rotate(attitude, linear)
    return Pose(stamp, (x, y), attitude, (velocity[0], velocity[1]), angular)


def pose_of_joints(message: JointState) -> Pose | None:
    """Return the pose from the five joints of the URDF; None if one is missing."""
    places = dict(zip(message.name, message.position))
    if not all(joint in places for joint in JOINTS):
        return None
    x, y, *angles = (places[joint] for joint in JOINTS)
    speeds = dict(zip(message.name, message.velocity))
    attitude = tuple(conversion.xyz_to_quaternion(angles).tolist())
    velocity = (speeds.get(JOINTS[0], math.nan), speeds.get(JOINTS[1], math.nan))
    return Pose(nanoseconds(message.header.stamp), (x, y), attitude, velocity)


Transforms = Mapping[str, TransformStamped]  # by child frame


def pose_of_transforms(transforms: Transforms, frames: Frames) -> Pose | None:
    """Return the pose from /tf, without velocities; None if no chain leads to the rod."""
    cart, rod = (_in_world(transforms, frame, frames.world) for frame in (frames.cart, frames.rod))
    if cart is None or rod is None:
        return None
    (x, y, _), attitude = cart[0], rod[1]
    return Pose(nanoseconds(transforms[frames.rod].header.stamp), (x, y), attitude)


def _in_world(transforms: Transforms, frame: str, world: str) -> tuple[Vector, Quaternion] | None:
    """Return (position [m], wxyz) of a frame in the world; None if no chain leads to it."""
    chain = []
    while frame != world:
        edge = transforms.get(frame)
        if edge is None or len(chain) > len(transforms):
            return None
        chain.append(edge.transform)
        frame = edge.header.frame_id
    position, attitude = ZERO, UPRIGHT
    for edge in reversed(chain):
        place = unit_quaternion.rotate(attitude, xyz(edge.translation))
        position = vec.add(position, place)
        turned = unit_quaternion.product(attitude, wxyz(edge.rotation))
        attitude = unit_quaternion.normalize(turned)
    return position, attitude


def read_force(topic: str, message: Any) -> Planar:
    """Return the force [N] of a command; NaN if the plant rejects it."""
    try:
        return commands.read(topic, message)[0]
    except Rejected:
        return NOTHING


def place_on_axis(
    force: Vector, torque: Vector, height: float, length: float
) -> tuple[float, Vector]:
    """Return (height [m], torque (3,) [N m]) of a wrench in the rod's axes, given at a `height`,
    moved to where on the rod of a `length` [m] the force alone has its torque about x and y.
    """
    across = force[0] ** 2 + force[1] ** 2
    if across == 0.0:
        return height, torque
    # (d e3 x f) . (e3 x f) = d |e3 x f|^2
    lever = (torque[1] * force[0] - torque[0] * force[1]) / across
    lever = max(-height, min(length - height, lever))
    left = (torque[0] + lever * force[1], torque[1] - lever * force[0], torque[2])
    return height + lever, left


ROD, COM, TIP = "pendulum_link", "pendulum_com", "pendulum_tip"
DRIVEN = "cart_x_joint"
_SHAPES = {Marker.CUBE: "box", Marker.CYLINDER: "cylinder", Marker.SPHERE: "sphere"}
# (namespace, number) of the simulator's markers -> name of the parameters
_FIXED = {(name.partition(".")[0], number): name for name, number in NUMBERS.items()}
_OTHERS = ("rod", "cart", "ground", "trail", "force", "disturbance", "contact_points")
_THIN = 0.01  # thickness, relative to the edges, below which a box is drawn as a plane
_ENDLESS = 1e5  # [m] travel beyond which the rails have no end


def shape(urdf: str, solids: tuple[Solid, ...] = ()) -> Shape:
    """Return the shape of the pendulum that a URDF describes, with defaults for what it omits.

    Raise ValueError if it is no XML.
    """
    try:
        robot = ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise ValueError(f"robot_description is no URDF: {error}") from None
    default = Shape(solids=solids)
    cylinder = robot.find(f"link[@name='{ROD}']/visual/geometry/cylinder")
    limit = robot.find(f"joint[@name='{DRIVEN}']/limit")
    travel = _number(limit, "upper", default.travel)
    mass = _number(robot.find(f"link[@name='{ROD}']/inertial/mass"), "value", 1.0)
    length = _height(robot, TIP, _number(cylinder, "length", default.rod_length))
    return Shape(
        rod_length=length,
        rod_radius=_number(cylinder, "radius", default.rod_radius),
        rod_center=_height(robot, COM, 0.5 * length),
        travel=travel if travel < _ENDLESS else math.inf,
        weight=GRAVITY * (mass if 0.0 < mass < math.inf else 1.0),
        force_limit=_number(limit, "effort", default.force_limit),
        solids=solids,
    )


def solids(markers: Iterable[Marker]) -> tuple[Solid, ...]:
    """Return the bodies among the markers, without those of the pendulum itself."""
    found = []
    for marker in markers:
        name = _FIXED.get((marker.ns, marker.id), f"{marker.ns}.{marker.id}")
        if (
            marker.action == Marker.ADD
            and marker.type in _SHAPES
            and marker.ns not in _OTHERS
            and marker.color.a > 0.0
        ):
            found.append(_solid(name, marker))
    return tuple(found)


def _solid(name: str, marker: Marker) -> Solid:
    x, y, z = xyz(marker.scale)
    place, attitude = xyz(marker.pose.position), wxyz(marker.pose.orientation)
    if marker.type == Marker.CUBE and z < _THIN * min(x, y):  # the upper face of a drawn plane
        normal = unit_quaternion.rotate(attitude, (0.0, 0.0, 0.5 * z))
        return Solid(name, "plane", vec.add(place, normal), attitude)
    sizes: dict[int, Vector] = {
        Marker.CYLINDER: (0.5 * x, z, 0.0),
        Marker.SPHERE: (0.5 * x, 0.0, 0.0),
    }
    return Solid(name, _SHAPES[marker.type], place, attitude, sizes.get(marker.type, (x, y, z)))


def _height(robot: Element, link: str, otherwise: float) -> float:
    """Return the position [m] along the rod of the fixed joint of a link."""
    for joint in robot.iterfind("joint[@type='fixed']"):
        child, origin = joint.find("child"), joint.find("origin")
        if child is not None and child.get("link") == link and origin is not None:
            words = origin.get("xyz", "").split()
            return float(words[2]) if len(words) == 3 else otherwise
    return otherwise


def _number(element: Element | None, attribute: str, otherwise: float) -> float:
    text = None if element is None else element.get(attribute)
    return otherwise if text is None else float(text)
