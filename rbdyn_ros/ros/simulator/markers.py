"""The markers of RViz besides the robot model: rod, cart, force arrows, trail of the tip, a text.

For contacts these are floor, rail ends and obstacles, and their points and forces. Without a floor
a faint ground is shown below the cart: RViz's Publish Point needs something to click.
"""

import math
from collections import deque
from typing import Any

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from rbdyn_ros.pendulum import world
from rbdyn_ros.ros.messages.messages import Frames, set_quaternion, set_stamp, set_xyz
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.view.meshes import solids
from rbdyn_ros.view.source import CART, PLANE, Solid

METERS_PER_NEWTON = 0.05
ORANGE, GREY, WHITE = (0.85, 0.45, 0.15), (0.55, 0.6, 0.65), (1.0, 1.0, 1.0)
RED, BLUE, GREEN = (0.9, 0.1, 0.1), (0.2, 0.55, 1.0), (0.15, 0.6, 0.3)


def marker(
    frames: Frames, number: int, name: str, kind: int, rgb: tuple[float, float, float]
) -> Marker:
    """Return a shape in the world frame that is refilled; its number is unique among all."""
    shape = Marker(ns=name, id=number, type=kind, action=Marker.ADD)
    shape.header.frame_id = frames.world
    shape.color = ColorRGBA(r=rgb[0], g=rgb[1], b=rgb[2], a=1.0)
    shape.pose.orientation.w = 1.0
    return shape


def arrow(frames: Frames, number: int, name: str, rgb: tuple[float, float, float]) -> Marker:
    """Return an arrow for a force."""
    shape = marker(frames, number, name, Marker.ARROW, rgb)
    set_xyz(shape.scale, (0.02, 0.05, 0.08))  # shaft, head, length of the head
    shape.points = [Point(), Point()]
    return shape


def point_along(arrow: Any, start: tuple[float, ...], force) -> None:
    """Let an arrow begin at `start` and follow the force; a zero force is not shown."""
    set_xyz(arrow.points[0], start)
    set_xyz(arrow.points[1], [a + METERS_PER_NEWTON * float(f) for a, f in zip(start, force)])
    arrow.color.a = 1.0 if any(force) else 0.0


def show(shape: Marker, shown: bool) -> None:
    """Show a marker, or delete it."""
    shape.action = Marker.ADD if shown else Marker.DELETE


NORMAL = 0.4  # [m] length of a drawn normal
NUMBERS = {  # of those solids whose names are parameters
    "floor": 10,
    "stops.x_min": 11,
    "stops.x_max": 12,
    "stops.y_min": 13,
    "stops.y_max": 14,
    "obstacle": 15,
}
_SHAPES = {
    "plane": Marker.CUBE,
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
}


class ContactMarkers:
    """The markers of contacts; those of contacts that are not possible are not shown."""

    def __init__(self, frames: Frames):
        self.ground = marker(frames, 19, "ground", Marker.CUBE, GREY)
        self.ground.color.a = 0.15
        self.points = marker(frames, 17, "contact_points", Marker.SPHERE_LIST, RED)
        self.normals = marker(frames, 18, "contact_normals", Marker.LINE_LIST, BLUE)
        self.forces = [arrow(frames, 20 + i, "contact_forces", RED) for i in range(world.FIXED)]
        self._frames = frames
        self.solids: dict[str, Marker] = {}  # by the names of `view.meshes.solids`
        set_xyz(self.points.scale, (0.06, 0.06, 0.06))
        self.normals.scale.x = 0.01

    @property
    def markers(self) -> list[Marker]:
        """All markers of contacts."""
        return [self.ground, self.points, self.normals, *self.forces, *self.solids.values()]

    def fill(self, sample: Sample) -> None:
        """Refill the markers from a sample."""
        C = sample.setup.system.contacts
        show(self.ground, C.floor == 0.0)
        _draw(self.ground, Solid("ground", "plane", (*sample.x, -CART[2])))
        shown = {solid.name: solid for solid in solids(C, sample.elapsed())}
        if "floor" in shown:  # it follows the cart
            shown["floor"] = Solid("floor", "plane", (*sample.x, C.floor_height))
        for name in shown:
            if name not in self.solids:
                self._add(name)
        while len(self.forces) < world.FIXED + len(C.obstacles):
            number = 101 + 2 * (len(self.forces) - world.FIXED)
            self.forces.append(arrow(self._frames, number, "contact_forces", RED))
        for name, shape in self.solids.items():
            show(shape, name in shown)
            if name in shown:
                _draw(shape, shown[name])
        self._presses(sample.touches())

    def _add(self, name: str) -> None:
        space, number = name.partition(".")[0], NUMBERS.get(name, 100 + 2 * len(self.solids))
        color = GREEN if space == "obstacle" else GREY
        self.solids[name] = marker(self._frames, number, space, Marker.CUBE, color)

    def _presses(self, touches: tuple) -> None:
        for force in self.forces:
            show(force, False)
        for touch in touches:
            show(self.forces[touch.contact], True)
            point_along(self.forces[touch.contact], touch.point, touch.force)
        self.points.points = [_at(touch.point) for touch in touches]
        ends = (
            (touch.point, [p + NORMAL * n for p, n in zip(touch.point, touch.normal)])
            for touch in touches
        )
        self.normals.points = [_at(end) for pair in ends for end in pair]
        show(self.points, bool(touches))
        show(self.normals, bool(touches))


def _draw(shape: Marker, solid: Solid) -> None:
    """Give a marker the shape and the place of a solid."""
    a, b, _ = solid.size
    sizes = {"plane": PLANE, "sphere": (2.0 * a,) * 3, "cylinder": (2.0 * a, 2.0 * a, b)}
    shape.type = _SHAPES[solid.shape]
    set_xyz(shape.scale, sizes.get(solid.shape, solid.size))
    set_xyz(shape.pose.position, solid.middle)
    set_quaternion(shape.pose.orientation, solid.attitude)


def _at(point) -> Point:
    return Point(x=point[0], y=point[1], z=point[2])


TRAIL = 150  # points: five seconds at the default rate


class Markers:
    """visualization_msgs/MarkerArray, with all markers in the world frame."""

    def __init__(self, frames: Frames):
        self.rod = marker(frames, 0, "rod", Marker.CYLINDER, ORANGE)
        self.cart = marker(frames, 1, "cart", Marker.CUBE, GREY)
        self.force = arrow(frames, 2, "force", BLUE)
        self.disturbance = arrow(frames, 3, "disturbance", RED)
        self.trail = marker(frames, 4, "trail", Marker.LINE_STRIP, ORANGE)
        self.text = marker(frames, 5, "text", Marker.TEXT_VIEW_FACING, WHITE)
        self.trail.scale.x, self.text.scale.z = 0.01, 0.15
        set_xyz(self.cart.scale, CART)
        self.contact_markers = ContactMarkers(frames)
        self._own = [self.rod, self.cart, self.force, self.disturbance, self.trail, self.text]
        self.message = MarkerArray(markers=[*self._own, *self.contact_markers.markers])
        self._tips = deque(maxlen=TRAIL)

    def fill(self, sample: Sample) -> MarkerArray:
        """Refill the message from a sample and return it."""
        self.contact_markers.fill(sample)
        if len(self.message.markers) < len(self._own) + len(self.contact_markers.markers):
            self.message.markers = [*self._own, *self.contact_markers.markers]
        for drawn in self.message.markers:
            set_stamp(drawn.header.stamp, sample.stamp)
        params, joint = sample.setup.params, (*sample.x, 0.0)
        tip = sample.world((0.0, 0.0, params.rod_length))
        set_xyz(self.rod.pose.position, sample.world((0.0, 0.0, 0.5 * params.rod_length)))
        set_quaternion(self.rod.pose.orientation, sample.Q)
        set_xyz(
            self.rod.scale, (2.0 * params.rod_radius, 2.0 * params.rod_radius, params.rod_length)
        )
        set_xyz(self.cart.pose.position, (*sample.x, -0.5 * CART[2]))
        point_along(self.force, joint, (*sample.force, 0.0))
        point_along(
            self.disturbance,
            sample.world(tuple(sample.disturbance[6:].tolist())),
            sample.disturbance[:3],
        )
        self._tips.append(Point(x=tip[0], y=tip[1], z=tip[2]))
        self.trail.points = list(self._tips)
        set_xyz(self.text.pose.position, (joint[0], joint[1], params.rod_length + 0.3))
        tilt = math.degrees(math.acos(max(-1.0, min(1.0, sample.R[2][2]))))
        self.text.text = f"tilt {tilt:.1f} deg"  # RViz's font has ASCII only
        return self.message
