"""Forces on the cart as efforts of its joints: what the hardware plugin of ros2_control publishes,
and what `control_msgs/JointCommand` says, where that message is installed.
"""

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rbdyn_ros.ros.messages.state_topics import JOINTS
from rbdyn_ros.simulation.status import Rejected

TOPIC, STAMPED_TOPIC = "joint_commands", "joint_commands/stamped"
DRIVEN = JOINTS[:2]  # the joints of the cart; the others have no drive
EFFORT = "effort"
UNSET = "no command"  # the reason for which efforts are rejected that no controller has set


def stamped_type() -> type | None:
    """Return `control_msgs/JointCommand`; None where `control_msgs` is not installed, or older
    than that message.
    """
    try:
        return getattr(import_module("control_msgs.msg"), "JointCommand", None)
    except ImportError:
        return None


def force_of_joints(
    names: Sequence[str], efforts: Sequence[float], what: str
) -> tuple[float, float]:
    """Return the force (2,) [N] of efforts by joint name, in any order.

    There is one effort for each name, or one for each joint of the cart, as the plugin sends them.
    A joint of the cart that is not named gets zero. Rejected if anything else does not fit.
    """
    driven = _cart_joints(names, what)
    if len(efforts) not in (len(names), len(driven)):
        raise Rejected(
            "length",
            f"{what} has {len(efforts)} efforts for {len(names)} joints; it must have one for "
            f"each, or one for each of {', '.join(driven)}",
        )
    named = dict(zip(names if len(efforts) == len(names) else driven, map(float, efforts)))
    for name, effort in named.items():
        if name not in DRIVEN and effort and not math.isnan(effort):
            raise Rejected(
                "joint",
                f"{what} has an effort of {effort:g} for {name}, which has no drive; it must be "
                "0 or NaN",
            )
    force = [named[name] for name in driven]
    if all(map(math.isnan, force)):
        raise Rejected(
            UNSET, f"{what} has the effort NaN for {', '.join(driven)}: no controller has set it"
        )
    if not all(map(math.isfinite, force)):
        raise Rejected("not finite", f"{what} is {force} N; it must be finite")
    return named.get(DRIVEN[0], 0.0), named.get(DRIVEN[1], 0.0)


def force_of_stamped(message: Any, what: str) -> tuple[float, float]:
    """Return the force (2,) [N] of a `control_msgs/JointCommand`. Rejected if it does not fit."""
    if message.interface_name != EFFORT:
        raise Rejected(
            "interface",
            f"{what} is for the interface '{message.interface_name}'; it must be for '{EFFORT}'",
        )
    if len(message.values) != len(message.joint_names):
        raise Rejected(
            "length",
            f"{what} has {len(message.values)} values for {len(message.joint_names)} joints; it "
            "must have one for each",
        )
    return force_of_joints(message.joint_names, message.values, what)


def _cart_joints(names: Sequence[str], what: str) -> list[str]:
    """Return the names of the cart's joints, in their order."""
    for name in names:
        if name not in JOINTS:
            raise Rejected(
                "joint", f"{what} names the joint '{name}'; it must be one of {', '.join(JOINTS)}"
            )
        if list(names).count(name) > 1:
            raise Rejected("joint", f"{what} names {name} twice; it must name each joint once")
    driven = [name for name in names if name in DRIVEN]
    if not driven:
        raise Rejected(
            "joint",
            f"{what} names no joint of the cart; it must name {DRIVEN[0]}, {DRIVEN[1]} or both",
        )
    return driven
