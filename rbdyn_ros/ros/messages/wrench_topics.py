"""Forces as messages, each in a frame whose origin is the point where it acts."""

from geometry_msgs.msg import WrenchStamped

from rbdyn_ros.ros.messages.frames import Frames
from rbdyn_ros.ros.messages.messages import set_stamp, set_xyz
from rbdyn_ros.ros.messages.sample import Sample
from rbdyn_ros.ros.messages.state_topics import friction


class CartForce:
    """The force that acts on the cart, after the limit and the watchdog."""

    def __init__(self, frames: Frames):
        self.message = _in(frames.cart)

    def fill(self, sample: Sample) -> WrenchStamped:
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        set_xyz(self.message.wrench.force, (*sample.force, 0.0))
        return self.message


class JointWrench:
    """What the ball joint does to the rod: constraint force and friction, in body axes."""

    def __init__(self, frames: Frames):
        self.message = _in(frames.rod)

    def fill(self, sample: Sample) -> WrenchStamped:
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        set_xyz(self.message.wrench.force, sample.body(sample.reaction))
        set_xyz(self.message.wrench.torque, friction(sample))
        return self.message


class Push:
    """The disturbance that acts on the rod, in body axes, at its own point of the rod."""

    def __init__(self, frames: Frames):
        self.message = _in(frames.disturbance)

    def fill(self, sample: Sample) -> WrenchStamped:
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        set_xyz(self.message.wrench.force, sample.body(sample.disturbance[:3]))
        set_xyz(self.message.wrench.torque, sample.body(sample.disturbance[3:6]))
        return self.message


class ContactWrench:
    """What floor, rail ends and obstacle do to the pendulum, mean over the last step, in world
    axes; zero while all are open.
    """

    def __init__(self, frames: Frames):
        self.message = _in(frames.contact)

    def fill(self, sample: Sample) -> WrenchStamped:
        """The message, refilled from a sample."""
        set_stamp(self.message.header.stamp, sample.stamp)
        _, force, torque = sample.pressure()
        set_xyz(self.message.wrench.force, force)
        set_xyz(self.message.wrench.torque, torque)
        return self.message


def _in(frame: str) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    return message
