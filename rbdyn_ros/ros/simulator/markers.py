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

from rbdyn_ros.geometry import conversion
from rbdyn_ros.mechanics.pendulum import obstacles, world
from rbdyn_ros.ros.messages.messages import Frames, set_quaternion, set_stamp, set_xyz
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.types import Contacts
from rbdyn_ros.view.scene import CART
from rbdyn_ros.view.shapes import rotation_to

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


SIDE, THICK, WALL = 8.0, 0.01, 0.3  # [m] of a drawn plane; height of a rail end
NORMAL = 0.4  # [m] length of a drawn normal
_SOLIDS = {
    obstacles.SPHERE: Marker.SPHERE,
    obstacles.BOX: Marker.CUBE,
    obstacles.CYLINDER: Marker.CYLINDER,
    obstacles.WALL_TIP: Marker.CUBE,
}


class ContactMarkers:
    """The markers of contacts; those of contacts that are not possible are not shown."""

    def __init__(self, frames: Frames):
        self.floor = marker(frames, 10, "floor", Marker.CUBE, GREY)
        self.ground = marker(frames, 19, "ground", Marker.CUBE, GREY)
        self.ground.color.a = 0.15
        self.stops = [marker(frames, 11 + k, "stops", Marker.CUBE, GREY) for k in range(4)]
        self.sphere = marker(frames, 15, "obstacle", Marker.SPHERE, GREEN)
        self.plane = marker(frames, 16, "obstacle", Marker.CUBE, GREEN)
        self.points = marker(frames, 17, "contact_points", Marker.SPHERE_LIST, RED)
        self.normals = marker(frames, 18, "contact_normals", Marker.LINE_LIST, BLUE)
        self.forces = [arrow(frames, 20 + i, "contact_forces", RED) for i in range(world.FIXED)]
        self._frames = frames
        self.solids = []  # the rows of `Contacts.obstacles`, each with its arrow
        set_xyz(self.points.scale, (0.06, 0.06, 0.06))
        self.normals.scale.x = 0.01
        things = [self.floor, self.ground, *self.stops, self.sphere, self.plane]
        self._fixed = [*things, self.points, self.normals]

    @property
    def markers(self) -> list[Marker]:
        """All markers of contacts."""
        return [*self._fixed, *self.forces, *self.solids]

    def fill(self, sample: Sample) -> None:
        """Refill the markers from a sample."""
        C = sample.setup.system.contacts
        _plane(self.floor, C.floor == 1.0, (*sample.x, C.floor_height), (0.0, 0.0, 1.0))
        _plane(self.ground, C.floor == 0.0, (*sample.x, -CART[2]), (0.0, 0.0, 1.0))
        self._rail_ends(C)
        show(self.sphere, C.obstacle == world.SPHERE)
        set_xyz(self.sphere.pose.position, C.obstacle_point)
        set_xyz(self.sphere.scale, (2.0 * C.obstacle_radius,) * 3)
        _plane(self.plane, C.obstacle == world.HALF_SPACE, C.obstacle_point, C.obstacle_normal)
        self._obstacles(C, sample.elapsed)
        self._presses(sample.touches)

    def _obstacles(self, C: Contacts, elapsed: float) -> None:
        """Show one shape for each row; one obstacle may have two rows, of which the first is
        shown.
        """
        while len(self.solids) < len(C.obstacles):
            k = len(self.solids)
            self.solids.append(marker(self._frames, 100 + 2 * k, "obstacle", Marker.CUBE, GREEN))
            self.forces.append(arrow(self._frames, 101 + 2 * k, "contact_forces", RED))
        for k, solid in enumerate(self.solids):
            row = C.obstacles[k] if k < len(C.obstacles) else None
            shown = row is not None and row["kind"].item() in _SOLIDS
            show(solid, shown)
            if shown:
                _solid(solid, row, obstacles.center(row, elapsed))

    def _rail_ends(self, C: Contacts) -> None:
        ends = [(j, end) for j in range(2) for end in (C.stop_low[j], C.stop_high[j])]
        for wall, (j, end) in zip(self.stops, ends):
            show(wall, math.isfinite(end))
            if math.isfinite(end):
                set_xyz(wall.pose.position, (end, 0.0, 0.0) if j == 0 else (0.0, end, 0.0))
                set_xyz(wall.scale, (THICK, SIDE, WALL) if j == 0 else (SIDE, THICK, WALL))

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


def _solid(shape: Marker, row, place: tuple) -> None:
    """Give a marker the shape of a row of `Contacts.obstacles` that is at `place` [m]."""
    kind = row["kind"].item()
    shape.type = _SOLIDS[kind]
    if kind == obstacles.WALL_TIP:
        _plane(shape, True, tuple(map(float, place)), tuple(row["axes"][0].tolist()))
        return
    set_xyz(shape.pose.position, tuple(map(float, place)))
    set_quaternion(
        shape.pose.orientation, conversion.convert(row["axes"].T, "matrix", "quaternion")
    )
    set_xyz(shape.scale, [2.0 * half for half in row["size"].tolist()])


def _at(point) -> Point:
    return Point(x=point[0], y=point[1], z=point[2])


def _plane(shape: Marker, shown: bool, point: tuple, normal: tuple) -> None:
    """Make a marker a thin square whose upper face goes through `point`."""
    show(shape, shown)
    set_quaternion(shape.pose.orientation, rotation_to(normal))
    set_xyz(shape.pose.position, [p - 0.5 * THICK * n for p, n in zip(point, normal)])
    set_xyz(shape.scale, (SIDE, SIDE, THICK))


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
