"""cart/command: a force on the cart, in answer to a state."""

from geometry_msgs.msg import WrenchStamped

from rbdyn_ros.nodes.messages import set_stamp
from rbdyn_ros.nodes.template import Template


class ForceCommand:
    """The message, made once."""

    def __init__(self, frame: str):
        self._message = WrenchStamped()
        self._message.header.frame_id = frame
        self._template = Template(self._message, self._put, (2,))

    def packed(self, stamp: int, force: tuple) -> bytes | WrenchStamped:
        """With the stamp [ns] of the state and the force (2,) [N, world]; as bytes where their layout is known."""
        if self._template.known:
            return self._template.packed(stamp, force)
        set_stamp(self._message.header.stamp, stamp)
        self._put(self._message, force)
        return self._message

    @staticmethod
    def _put(message: WrenchStamped, force: tuple) -> None:
        message.wrench.force.x, message.wrench.force.y = map(float, force)
