"""cart/command: a force on the cart, in answer to a state."""

from geometry_msgs.msg import WrenchStamped

from rbdyn_ros.ros.messages.template import Template


class ForceCommand:
    """The message, made once."""

    def __init__(self, frame: str):
        message = WrenchStamped()
        message.header.frame_id = frame
        self._template = Template(message, self._put, (2,))

    def packed(self, stamp: int, force: tuple[float, float]) -> bytes:
        """Its bytes with the stamp [ns] of the state and the force (2,) [N, world]."""
        return self._template.packed(stamp, force)

    @staticmethod
    def _put(message: WrenchStamped, force: tuple) -> None:
        message.wrench.force.x, message.wrench.force.y = map(float, force)
