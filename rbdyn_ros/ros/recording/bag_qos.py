"""Quality of service between publishers, the recorder and the bag."""

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

DEPTH = 2000  # messages that may wait for the recorder: four seconds of a topic at 500 Hz


def matching(offers: list[QoSProfile]) -> QoSProfile:
    """Return the profile that matches all publishers' and loses nothing that they offer."""
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
    """Return what a replay offers for the profiles of a topic's publishers.

    It is latched if one was, else reliable; 10 deep at least.
    """
    latched = any(profile.durability == QosDurability.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=max([10, *(profile.depth for profile in profiles)]),
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))
