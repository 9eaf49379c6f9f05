"""Subscriptions that their owner polls, in place of one callback per message.

An executor wakes up for every message and looks at every entity of the process to find it. A node
that only receives thousands of messages a second takes them in batches instead.

Private interface: `Subscription.handle.take_message` of rclpy, which its executors call.
Tested with rclpy 7.1.6 (Jazzy).
Fallback: the executor takes each message, and a callback passes it on.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

WARN_PERIOD = 1.0  # [s] one warning of a kind, or of a topic, per period


class Unspun(CallbackGroup):
    """A callback group that keeps its members from every executor."""

    def can_execute(self, entity) -> bool:
        """Return False, so that no executor takes a member."""
        return False

    def begin_execution(self, entity) -> bool:
        """Return False, so that no executor takes a member."""
        return False


class Taken(NamedTuple):
    """A message or its bytes, its times of arrival and sending, and its publisher's number."""

    received: int  # [ns] system time here
    sent: int  # [ns] system time there
    number: int | None
    message: Any


class Polled:
    """The polled subscriptions of a node."""

    def __init__(self, node: Node):
        self._node, self._group = node, Unspun()
        self._listened: list[tuple[Subscription, Callable[[Taken], object]]] = []
        self._collected: list[tuple[Taken, Any]] = []

    def listen(
        self,
        kind: type,
        topic: str,
        take: Callable[[Taken], object],
        profile: QoSProfile,
        raw: bool = False,
    ) -> None:
        """Pass every message of the topic to `take(Taken)` in `empty`; as bytes if `raw`."""

        def take_valid(taken: Taken) -> None:
            try:
                take(taken)
            except ValueError as error:
                warn = self._node.get_logger().warning
                warn(f"rejected: {topic}: {error}", throttle_duration_sec=WARN_PERIOD)

        def receive(message, info) -> None:
            take_valid(_taken(message, info))

        # rclpy's annotation lacks the callback that takes the message's info, too
        callback: Any = receive

        def subscribe(group: CallbackGroup | None) -> Subscription:
            return self._node.create_subscription(
                kind, topic, callback, profile, callback_group=group, raw=raw
            )

        subscription = subscribe(self._group)
        if can_take(subscription):
            self._listened.append((subscription, take_valid))
        else:
            self._node.destroy_subscription(subscription)
            subscribe(None)

    def collect(self, kind: type, topic: str, mark: Any, profile: QoSProfile) -> None:
        """Keep the bytes of every message of the topic, with a mark, for `pop_collected`."""
        self.listen(
            kind, topic, lambda taken: self._collected.append((taken, mark)), profile, raw=True
        )

    def pop_collected(self) -> list[tuple[Taken, Any]]:
        """Return (message, mark) of every collected message, in the order of arrival, and forget
        them.
        """
        self.empty()
        found = sorted(self._collected, key=lambda entry: entry[0].received)
        self._collected.clear()
        return found

    def destroy(self) -> None:
        """Remove the subscriptions from the graph."""
        for subscription, _ in self._listened:
            self._node.destroy_subscription(subscription)
        self._listened.clear()

    def empty(self) -> None:
        """Take everything that has arrived before this call, subscription by subscription."""
        for subscription, take in self._listened:
            for taken in _waiting(subscription):
                take(taken)


def can_take(subscription: Subscription) -> bool:
    """Return whether this rclpy lets a subscription be read without an executor."""
    return hasattr(subscription.handle, "take_message")


def _taken(message, info) -> Taken:
    return Taken(
        info["received_timestamp"],
        info["source_timestamp"],
        info["publication_sequence_number"],
        message,
    )


def _waiting(subscription: Subscription):
    """Yield the messages that wait in a subscription, at most one if its depth is 1.

    It ends with the first message that has arrived meanwhile: if messages arrive faster than they
    are taken, it would not end at all.
    """
    begun = time.time_ns()
    with subscription.handle:
        while (
            found := subscription.handle.take_message(subscription.msg_type, subscription.raw)
        ) is not None:
            taken = _taken(*found)
            yield taken
            if subscription.qos_profile.depth == 1 or taken.received >= begun:
                return
