"""The commanded force, on whichever topic it comes, or as the plant reports it."""

import math
from typing import Any

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from rbdyn_ros.ros.messages import joint_commands
from rbdyn_ros.ros.messages.state_topics import COMMAND_LABELS
from rbdyn_ros.simulation.command import force_of
from rbdyn_ros.simulation.status import Rejected
from rbdyn_ros.view.scene import Planar

# as a plant may report the newest command it has accepted, in `~/integrator`
*FORCE, AGE, ACCEPTED = COMMAND_LABELS
STAMPED, EFFORTS = "cart/command", "effort_controller/commands"
KINDS: dict[str, type] = {
    STAMPED: WrenchStamped,
    EFFORTS: Float64MultiArray,
    joint_commands.TOPIC: JointState,
}
if _kind := joint_commands.stamped_type():
    KINDS[joint_commands.STAMPED_TOPIC] = _kind


def read_force(topic: str, message: Any) -> Planar:
    """Return the force [N] of a message of the topic, of `STAMPED` a `cdr.Wrench`; NaN where the
    plant rejects it.
    """
    try:
        if topic == STAMPED:
            return message.force[:2]
        if topic == EFFORTS:
            return force_of(message.data, topic)
        if topic == joint_commands.TOPIC:
            return joint_commands.force_of_joints(list(message.name), message.effort, topic)
        return joint_commands.force_of_stamped(message, topic)
    except Rejected:
        return math.nan, math.nan
