"""The pens of RViz: markers and arrows in the world frame."""

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from rbdyn_ros.ros.messages.messages import Frames, set_xyz

METRES_PER_NEWTON = 0.05
ORANGE, GREY, WHITE = (0.85, 0.45, 0.15), (0.55, 0.6, 0.65), (1.0, 1.0, 1.0)
RED, BLUE, GREEN = (0.9, 0.1, 0.1), (0.2, 0.55, 1.0), (0.15, 0.6, 0.3)


def marker(
    frames: Frames, number: int, name: str, kind: int, rgb: tuple[float, float, float]
) -> Marker:
    """A shape in the world frame that is refilled; its number is unique among all."""
    shape = Marker(ns=name, id=number, type=kind, action=Marker.ADD)
    shape.header.frame_id = frames.world
    shape.color = ColorRGBA(r=rgb[0], g=rgb[1], b=rgb[2], a=1.0)
    shape.pose.orientation.w = 1.0
    return shape


def arrow(frames: Frames, number: int, name: str, rgb: tuple[float, float, float]) -> Marker:
    """An arrow for a force."""
    shape = marker(frames, number, name, Marker.ARROW, rgb)
    set_xyz(shape.scale, (0.02, 0.05, 0.08))  # shaft, head, length of the head
    shape.points = [Point(), Point()]
    return shape


def point_along(arrow: Marker, start: tuple[float, ...], force) -> None:
    """From `start` along the force; an arrow without length is not shown."""
    set_xyz(arrow.points[0], start)
    set_xyz(arrow.points[1], [a + METRES_PER_NEWTON * float(f) for a, f in zip(start, force)])
    arrow.color.a = 1.0 if any(force) else 0.0


def show(shape: Marker, shown: bool) -> None:
    """Draw it, or take it away."""
    shape.action = Marker.ADD if shown else Marker.DELETE
