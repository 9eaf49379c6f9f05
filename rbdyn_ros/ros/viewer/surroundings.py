"""What the pendulum and the things around it look like, from a URDF and from markers."""

import math
from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from visualization_msgs.msg import Marker

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.ros.messages.messages import wxyz, xyz
from rbdyn_ros.types import Vector
from rbdyn_ros.view.scene import UPRIGHT, Shape, Solid

ROD, COM, TIP = "pendulum_link", "pendulum_com", "pendulum_tip"
DRIVEN = "cart_x_joint"
_SHAPES = {Marker.CUBE: "box", Marker.CYLINDER: "cylinder", Marker.SPHERE: "sphere"}
_FIXED = {  # (namespace, number) of the simulator's markers -> name of the parameters
    ("floor", 10): "floor",
    ("stops", 11): "stops.x_min",
    ("stops", 12): "stops.x_max",
    ("stops", 13): "stops.y_min",
    ("stops", 14): "stops.y_max",
    ("obstacle", 15): "obstacle",
    ("obstacle", 16): "obstacle",
}
_OTHERS = ("rod", "cart", "ground", "trail", "force", "disturbance", "contact_points")
_THIN = 0.01  # of the edges, the thickness below which a box stands for a plane
_ENDLESS = 1e5  # [m] travel beyond which the rails are without end


def shape(urdf: str, solids: tuple[Solid, ...] = ()) -> Shape:
    """The shape of the pendulum that a URDF describes; what it leaves out is as by default.

    ValueError if it is no XML.
    """
    try:
        robot = ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise ValueError(f"robot_description is no URDF: {error}") from None
    default = Shape(solids=solids)
    cylinder = robot.find(f"link[@name='{ROD}']/visual/geometry/cylinder")
    limit = robot.find(f"joint[@name='{DRIVEN}']/limit")
    travel = _number(limit, "upper", default.travel)
    length = _height(robot, TIP, _number(cylinder, "length", default.rod_length))
    return Shape(
        rod_length=length,
        rod_radius=_number(cylinder, "radius", default.rod_radius),
        rod_center=_height(robot, COM, 0.5 * length),
        travel=travel if travel < _ENDLESS else math.inf,
        force_limit=_number(limit, "effort", default.force_limit),
        solids=solids,
    )


def solids(markers: Iterable[Marker]) -> tuple[Solid, ...]:
    """The bodies among the markers, without those of the pendulum itself."""
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
        normal = quaternion.rotate(attitude, (0.0, 0.0, 0.5 * z))
        px, py, pz = (quaternion.rotate(UPRIGHT, place) + normal).tolist()
        return Solid(name, "plane", (px, py, pz), attitude)
    sizes: dict[int, Vector] = {
        Marker.CYLINDER: (0.5 * x, z, 0.0),
        Marker.SPHERE: (0.5 * x, 0.0, 0.0),
    }
    return Solid(name, _SHAPES[marker.type], place, attitude, sizes.get(marker.type, (x, y, z)))


def _height(robot: Element, link: str, otherwise: float) -> float:
    """How far along the rod [m] the fixed joint of a link is."""
    for joint in robot.iterfind("joint[@type='fixed']"):
        child, origin = joint.find("child"), joint.find("origin")
        if child is not None and child.get("link") == link and origin is not None:
            words = origin.get("xyz", "").split()
            return float(words[2]) if len(words) == 3 else otherwise
    return otherwise


def _number(element: Element | None, attribute: str, otherwise: float) -> float:
    text = None if element is None else element.get(attribute)
    return otherwise if text is None else float(text)
