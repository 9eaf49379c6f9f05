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


def matching(offers: list[Qos]) -> QoSProfile:
    """What to ask for, so that all of the publishers' profiles match and nothing that they offer
    is lost.
    """
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def bag_profile(offer: QoSProfile) -> Qos:
    """A publisher's profile as the bag keeps it, so that a replay offers the same."""
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
    """What a replay offers for the profiles (Qos) that a topic's publishers had: latched if one
    was, else reliable; 10 deep at least.
    """
    latched = any(profile.durability == QosDurability.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=max([10, *(profile.depth for profile in profiles)]),
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))
