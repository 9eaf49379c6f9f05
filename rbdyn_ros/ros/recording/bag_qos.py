"""Quality of service of publishers, of the recorder and in the bag."""

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)


def matching(offers: list[QoSProfile]) -> QoSProfile:
    """Return the profile that is compatible with all publishers and loses no offered message.

    It keeps all messages. A reader with a depth acknowledges a message and drops an older one; one
    without acknowledges no more than the middleware has room for (Fast DDS: 5000 of a topic), so
    that in lockstep the plant waits for it.
    """
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        history=HistoryPolicy.KEEP_ALL,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def bag_profile(offer: QoSProfile) -> Qos:
    """Convert a publisher's profile for the bag, so that a replay offers the same."""
    return Qos(
        QosHistory[offer.history.name],
        offer.depth,
        QosReliability[offer.reliability.name],
        QosDurability[offer.durability.name],
        _time(offer.deadline),
        _time(offer.lifespan),
        QosLiveliness[offer.liveliness.name],
        _time(offer.liveliness_lease_duration),
        offer.avoid_ros_namespace_conventions,
    )


def replay_profile(profiles: list[Qos]) -> QoSProfile:
    """Return the profile that a replay offers for the profiles of a topic's publishers.

    It is latched if one was, else reliable, with a depth of at least 10.
    """
    latched = any(profile.durability == QosDurability.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=max([10, *(profile.depth for profile in profiles)]),
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))
