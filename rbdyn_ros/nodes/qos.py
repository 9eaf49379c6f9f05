"""Quality of service, by what a topic is."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

OFFERED = QoSProfile(depth=10)  # what publishers offer: reliable, volatile
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # what readers of a state ask for
COMMAND = QoSProfile(depth=1)  # reliable; an older command is worth nothing
CLOCK = QoSProfile(depth=1)
TRANSFORMS = QoSProfile(depth=100)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def overridable() -> QoSOverridingOptions:
    """Lets a user change history, depth and reliability by `qos_overrides.*` parameters."""
    return QoSOverridingOptions.with_default_policies()
