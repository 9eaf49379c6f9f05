"""Quality of service of the kinds of topics, and a check for incompatible peers."""

from collections.abc import Iterator
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.qos_overriding_options import QoSOverridingOptions

OFFERED = QoSProfile(depth=10)  # what publishers offer: reliable, volatile
NEWEST = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)  # what readers of a state request
COMMAND = QoSProfile(depth=1)  # reliable; an older command is obsolete
CLOCK = QoSProfile(depth=1)
TRANSFORMS = QoSProfile(depth=100)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
KEPT = 20  # messages of a topic in lockstep, after which all must have been acknowledged
KEPT_COMMANDS = 100  # commands that a controller keeps for a recorder


# Options of a publisher: a user may change history, depth and reliability by `qos_overrides.*`
# parameters. rclpy's event handlers are off: each is one more entity to wait for, before every
# callback (a third of the executor's time). `incompatible` reports the same.
PUBLISHING: dict[str, Any] = dict(
    qos_overriding_options=QoSOverridingOptions.with_default_policies(),
    event_callbacks=PublisherEventCallbacks(use_default_callbacks=False),
)
# the same for a subscription
SUBSCRIBING: dict[str, Any] = dict(
    qos_overriding_options=QoSOverridingOptions.with_default_policies(),
    event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
)


def keeping(depth: int, profile: QoSProfile) -> QoSProfile:
    """Return the profile of a publisher that keeps `depth` messages until they are acknowledged;
    it is compatible with the same subscriptions as before.
    """
    return QoSProfile(depth=depth, reliability=profile.reliability, durability=profile.durability)


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


LOSSLESS = matching([OFFERED])  # for readers that lose no message


def incompatible(node: Node) -> Iterator[str]:
    """Yield one sentence for each peer that gets nothing from this node, or gives it nothing,
    because of its QoS.
    """
    topics = {endpoint.topic_name for endpoint in (*node.publishers, *node.subscriptions)}
    for topic in sorted(topics):
        for giver in node.get_publishers_info_by_topic(topic):
            for reader in node.get_subscriptions_info_by_topic(topic):
                verdict, why = qos_check_compatible(giver.qos_profile, reader.qos_profile)
                if verdict == QoSCompatibility.ERROR and node.get_name() in (
                    giver.node_name,
                    reader.node_name,
                ):
                    yield (
                        f"{reader.node_name} receives nothing on {topic} from {giver.node_name}: "
                        f"their QoS is incompatible: {why}"
                    )
