"""What RViz draws beside the robot model: rod, cart, force arrows, the tip's trail, a line of
text.
"""

import math
from collections import deque

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from rbdyn_ros.ros.messages.frames import Frames
from rbdyn_ros.ros.messages.messages import set_quaternion, set_stamp, set_xyz
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.ros.simulator.contact_markers import ContactMarkers
from rbdyn_ros.ros.simulator.drawing import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    WHITE,
    arrow,
    marker,
    point_along,
)
from rbdyn_ros.view.scene import CART

TRAIL = 150  # points: five seconds at the default rate


class Markers:
    """visualization_msgs/MarkerArray, all in the world frame."""

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
        """The message, refilled from a sample."""
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
