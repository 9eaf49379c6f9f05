"""The frames of the tree: world -> cart_link -> (ball joint) pendulum_link, and what sits on the
rod.
"""

from typing import NamedTuple


class Frames(NamedTuple):
    """Frame names, the prefix included."""

    world: str
    cart: str  # origin at the joint, axes of the world
    rod: str  # origin at the joint, z along the rod
    com: str
    tip: str
    imu: str
    disturbance: str  # where the last disturbance acted, axes of the rod
    contact: str  # where contacts press, axes of the world
    cart_x: str  # the links between the URDF's hinges
    roll: str
    pitch: str


def frames(prefix: str = "") -> Frames:
    """The frames under a prefix. ValueError for a leading slash, which tf2 forbids."""
    if prefix.startswith("/"):
        raise ValueError(f"frame_prefix is '{prefix}'; it must not start with a slash")
    names = (
        "world",
        "cart_link",
        "pendulum_link",
        "pendulum_com",
        "pendulum_tip",
        "imu_link",
        "disturbance",
        "contact",
        "cart_x_link",
        "pendulum_roll_link",
        "pendulum_pitch_link",
    )
    return Frames(*(prefix + name for name in names))
