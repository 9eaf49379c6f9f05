"""Some joints of a JointState, from the message or from its bytes: there a layout that was seen once is read by place."""

import struct

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from rbdyn_ros.nodes import cdr
from rbdyn_ros.nodes.messages import SECOND, nanoseconds

_FIELDS = ("position", "velocity", "effort")  # in the message's order


def columns(message: JointState, joints: tuple, fields: tuple) -> list:
    """The numbers of the joints, field after field. ValueError if the message does not have them."""
    try:
        places = [message.name.index(joint) for joint in joints]
        return [getattr(message, field)[i] for field in fields for i in places]
    except (ValueError, IndexError):
        raise _without(joints, fields, message.name) from None


def _without(joints: tuple, fields: tuple, names: list) -> ValueError:
    wanted = f"{' and '.join(fields)} of {' and '.join(joints)}"
    return ValueError(f"joint_states has {list(names)}; it must have {wanted}")


class JointBytes:
    """`columns` of serialised messages, which mostly differ in their numbers only."""

    def __init__(self, joints: tuple, fields: tuple):
        self._joints, self._fields = joints, fields
        self._size, self._same = -1, ()  # of the last layout: its bytes, and [(where, what)] it is known by
        self._stamp, self._number, self._places = None, None, ()

    def columns(self, data: bytes) -> tuple:
        """(stamp [ns], [numbers, field after field]). ValueError if the message does not have them, or is cut off."""
        if len(data) != self._size or any(data[part] != content for part, content in self._same):
            walk = cdr.walk(data)
            if walk is None:
                message = deserialize_message(data, JointState)
                return nanoseconds(message.header.stamp), columns(message, self._joints, self._fields)
            self._learn(walk)
        seconds, fraction = self._stamp.unpack_from(data, cdr.HEAD)
        return seconds * SECOND + fraction, [self._number.unpack_from(data, place)[0] for place in self._places]

    def _learn(self, walk: cdr.Walk) -> None:
        """Where everything stands: what is not a time or a number of a joint has to be the same in the messages that follow."""
        walk.stamp()
        fixed, blocks = [slice(0, cdr.HEAD)], {}
        start = walk.at
        walk.skip(walk.length())
        names = [walk.text() for _ in range(walk.length())]
        for field in _FIELDS:
            count = walk.length()
            fixed.append(slice(start, walk.at))
            if count:
                walk.align(8)
            blocks[field] = (walk.skip(8 * count), count)
            start = walk.at
        try:
            wanted = [names.index(joint) for joint in self._joints]
        except ValueError:
            raise _without(self._joints, self._fields, names) from None
        if any(blocks[field][1] <= i for field in self._fields for i in wanted):
            raise _without(self._joints, self._fields, names)
        self._places = [blocks[field][0] + 8 * i for field in self._fields for i in wanted]
        self._stamp, self._number = struct.Struct(f"{walk.order}iI"), struct.Struct(f"{walk.order}d")
        self._size, self._same = len(walk.data), [(part, walk.data[part]) for part in fixed]
