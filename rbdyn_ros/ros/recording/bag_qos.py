"""Quality of service of publishers, of the recorder and in the bag."""

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)

DEPTH = 2000  # messages that can wait for the recorder: four seconds of a topic at 500 Hz


def matching(offers: list[QoSProfile]) -> QoSProfile:
    """Return the profile that is compatible with all publishers and loses no offered message."""
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=DEPTH,
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
