"""In lockstep, time runs no further ahead of its readers than the publishers remember.

A lockstep run that is not paced sends ten thousand messages a second. A reader that gets no
processor for some milliseconds lets the queues of the middleware overflow (Fast DDS's shared
memory holds 512 messages for a process), and what is lost there can be sent again only while the
publisher keeps it. So a publisher waits, after every `qos.KEPT` messages, until all its reliable
subscriptions have acknowledged them. Fast DDS asks for acknowledgements when a publisher's memory
is full, which is after as many messages, and otherwise every 3 s.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rclpy.duration import Duration
from rclpy.publisher import Publisher

from rbdyn_ros.ros import qos

POLL_PERIOD = 0.001  # [s]
LIMIT = 4.0  # [s] longest wait: more than the middleware's own period
_AT_ONCE = Duration()


class FlowControl:
    """Publishes, and counts the messages of each publisher since all of them were acknowledged."""

    def __init__(self, warn: Callable[[str], None]):
        self._warn, self._counts, self._supported = warn, Counter(), True

    def publish(self, batch: list[tuple[tuple[Publisher, ...], Any]]) -> None:
        """Publish each message of the batch [(publishers, message)].

        Returns when the next one may follow.
        """
        full = []
        for publishers, message in batch:
            for publisher in publishers:
                if not self._behind(
                    [publisher]
                ):  # the middleware may have asked by itself meanwhile: its memory is empty again
                    self._counts[publisher] = 0
                publisher.publish(message)
                self._counts[publisher] += 1
                if self._counts[publisher] >= qos.KEPT:
                    full.append(publisher)
        self._wait(full)

    def _wait(self, full: list) -> None:
        behind, end = self._behind(full), time.monotonic() + LIMIT
        while behind and time.monotonic() < end:
            time.sleep(POLL_PERIOD)
            behind = self._behind(behind)
        if behind:
            topics = ", ".join(sorted(publisher.topic_name for publisher in behind))
            self._warn(
                f"a subscription has not acknowledged {topics} for {LIMIT:g} s and may lose "
                "messages; end it, or give it more processor time"
            )
        for publisher in full:
            self._counts[publisher] = 0

    def _behind(self, publishers: list) -> list:
        """The publishers with messages that a reliable subscription has not acknowledged.

        Polled, because rclpy keeps the interpreter's lock while it waits.
        """
        try:
            return [
                publisher
                for publisher in publishers
                if self._supported and not publisher.wait_for_all_acked(_AT_ONCE)
            ]
        except RuntimeError as error:
            self._supported = False
            self._warn(
                f"this middleware does not report what was acknowledged ({error}): a reader may "
                "lose messages of a fast lockstep run"
            )
            return []
