"""What RViz draws beside the robot model: rod, cart, force arrows, the tip's trail, a line of text."""

import math
from collections import deque

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from rbdyn_ros.nodes.description import CART
from rbdyn_ros.nodes.frames import Frames
from rbdyn_ros.nodes.messages import set_quaternion, set_stamp, set_xyz
from rbdyn_ros.nodes.sample import Sample

TRAIL = 150  # points: five seconds at the default rate
METRES_PER_NEWTON = 0.05
_ORANGE, _GREY, _RED, _BLUE = (0.85, 0.45, 0.15), (0.35, 0.4, 0.45), (0.9, 0.1, 0.1), (0.1, 0.4, 0.9)


class Markers:
    """visualization_msgs/MarkerArray, all in the world frame."""

    def __init__(self, frames: Frames):
        self.rod = _marker(frames, 0, "rod", Marker.CYLINDER, _ORANGE)
        self.cart = _marker(frames, 1, "cart", Marker.CUBE, _GREY)
        self.force = _arrow(frames, 2, "force", _BLUE)
        self.disturbance = _arrow(frames, 3, "disturbance", _RED)
        self.trail = _marker(frames, 4, "trail", Marker.LINE_STRIP, _ORANGE)
        self.text = _marker(frames, 5, "text", Marker.TEXT_VIEW_FACING, _GREY)
        self.trail.scale.x, self.text.scale.z = 0.01, 0.15
        set_xyz(self.cart.scale, CART)
        self.message = MarkerArray(
            markers=[self.rod, self.cart, self.force, self.disturbance, self.trail, self.text]
        )
        self._tips = deque(maxlen=TRAIL)

    def fill(self, sample: Sample) -> MarkerArray:
        """The message, refilled from a sample."""
        for marker in self.message.markers:
            set_stamp(marker.header.stamp, sample.stamp)
        params, joint = sample.setup.params, (*sample.x, 0.0)
        tip = sample.world((0.0, 0.0, params.rod_length))
        set_xyz(self.rod.pose.position, sample.world((0.0, 0.0, 0.5 * params.rod_length)))
        set_quaternion(self.rod.pose.orientation, sample.Q)
        set_xyz(self.rod.scale, (2.0 * params.rod_radius, 2.0 * params.rod_radius, params.rod_length))
        set_xyz(self.cart.pose.position, (*sample.x, -0.5 * CART[2]))
        _point(self.force, joint, (*sample.force, 0.0))
        _point(self.disturbance, sample.world(tuple(sample.disturbance[6:].tolist())), sample.disturbance[:3])
        self._tips.append(Point(x=tip[0], y=tip[1], z=tip[2]))
        self.trail.points = list(self._tips)
        set_xyz(self.text.pose.position, (joint[0], joint[1], params.rod_length + 0.3))
        self.text.text = f"tilt {math.degrees(math.acos(max(-1.0, min(1.0, sample.R[2][2])))):.1f}°"
        return self.message


def _marker(frames: Frames, number: int, name: str, kind: int, rgb: tuple) -> Marker:
    marker = Marker(ns=name, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = frames.world
    marker.color = ColorRGBA(r=rgb[0], g=rgb[1], b=rgb[2], a=1.0)
    marker.pose.orientation.w = 1.0
    return marker


def _arrow(frames: Frames, number: int, name: str, rgb: tuple) -> Marker:
    arrow = _marker(frames, number, name, Marker.ARROW, rgb)
    set_xyz(arrow.scale, (0.02, 0.05, 0.08))  # shaft, head, length of the head
    arrow.points = [Point(), Point()]
    return arrow


def _point(arrow: Marker, start: tuple, force) -> None:
    """From `start` along the force; an arrow without length is not shown."""
    set_xyz(arrow.points[0], start)
    set_xyz(arrow.points[1], [a + METRES_PER_NEWTON * float(f) for a, f in zip(start, force)])
    arrow.color.a = 1.0 if any(force) else 0.0
