"""Some joints of a JointState, from the message or from its bytes."""

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from rbdyn_ros.ros.messages.cdr import Layout, Walk
from rbdyn_ros.ros.messages.messages import nanoseconds

_FIELDS = ("position", "velocity", "effort")  # in the message's order


def columns(
    message: JointState, joints: tuple[str, ...], fields: tuple[str, ...]
) -> tuple[float, ...]:
    """The numbers of the joints, field after field.

    ValueError if the message does not have them.
    """
    try:
        places = [message.name.index(joint) for joint in joints]
        return tuple(getattr(message, field)[i] for field in fields for i in places)
    except (ValueError, IndexError):
        raise _without(joints, fields, message.name) from None


def _without(joints: tuple[str, ...], fields: tuple[str, ...], names: list[str]) -> ValueError:
    wanted = f"{' and '.join(fields)} of {' and '.join(joints)}"
    return ValueError(f"joint_states has {list(names)}; it must have {wanted}")


class JointBytes:
    """`columns` of serialised messages."""

    def __init__(self, joints: tuple[str, ...], fields: tuple[str, ...]):
        self._joints, self._fields, self._layout = joints, fields, Layout(self._look)

    def columns(self, data: bytes) -> tuple[int, tuple[float, ...]]:
        """(stamp [ns], (numbers, field after field)).

        ValueError if the message does not have them, or is cut off.
        """
        found = self._layout.read(data)
        if found is None:
            message = deserialize_message(data, JointState)
            return nanoseconds(message.header.stamp), columns(message, self._joints, self._fields)
        return found

    def _look(self, walk: Walk) -> tuple:
        same, blocks, start = [], {}, walk.at
        walk.skip(walk.length())
        names = [walk.text() for _ in range(walk.length())]
        for field in _FIELDS:
            count = walk.length()
            same.append(slice(start, walk.at))
            blocks[field], start = (walk.doubles(count), count), walk.at
        try:
            wanted = [names.index(joint) for joint in self._joints]
        except ValueError:
            raise _without(self._joints, self._fields, names) from None
        if any(blocks[field][1] <= i for field in self._fields for i in wanted):
            raise _without(self._joints, self._fields, names)
        return same, [(blocks[field][0] + 8 * i, 1) for field in self._fields for i in wanted]
