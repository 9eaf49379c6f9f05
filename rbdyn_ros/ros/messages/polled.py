"""Subscriptions that are emptied when their owner has time, not by one callback per message.

An executor wakes up for every message and looks at every entity of the process to find it. Who
only listens to thousands of messages a second, and need not answer, takes them in batches instead.
"""

from collections.abc import Callable
from typing import NamedTuple

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


class Unspun(CallbackGroup):
    """Keeps its members from every executor."""

    def can_execute(self, entity) -> bool:
        """Never."""
        return False

    def begin_execution(self, entity) -> bool:
        """Never."""
        return False


class Taken(NamedTuple):
    """A message, or its bytes, when it arrived, when it left, and how its publisher numbered
    it.
    """

    received: int  # [ns] system time here
    sent: int  # [ns] system time there
    number: int | None
    message: object


class Polled:
    """The polled subscriptions of a node."""

    def __init__(self, node: Node):
        self._node, self._group, self._listened = node, Unspun(), []

    def listen(
        self,
        kind: type,
        topic: str,
        take: Callable[[Taken], object],
        profile: QoSProfile,
        raw: bool = False,
    ) -> None:
        """Hand every message of the topic to `take(Taken)` when it is emptied; as bytes if
        `raw`.
        """
        subscription = self._node.create_subscription(
            kind, topic, take, profile, callback_group=self._group, raw=raw
        )
        self._listened.append((subscription, take))

    def empty(self) -> None:
        """Take everything that has arrived, subscription by subscription."""
        for subscription, take in self._listened:
            for taken in _waiting(subscription):
                take(taken)


def _waiting(subscription: Subscription):
    """What waits in a subscription, as rclpy's executors take it."""
    with subscription.handle:
        while (
            found := subscription.handle.take_message(subscription.msg_type, subscription.raw)
        ) is not None:
            message, info = found
            yield Taken(
                info["received_timestamp"],
                info["source_timestamp"],
                info["publication_sequence_number"],
                message,
            )
