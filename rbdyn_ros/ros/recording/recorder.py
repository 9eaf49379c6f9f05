"""The recorder node, which writes the bytes of every topic to an MCAP bag that `ros2 bag` and
Foxglove read.

Private interface: `chunk`, `close_chunk` and `bio` of rosbags' storage, which write the messages
recorded so far.
Tested with rosbags 0.11.9.
Fallback: the bag is written when it is closed or a chunk is full, and a recorder that is killed
loses more than the last second.
"""

import errno
from collections import Counter
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from rclpy.topic_or_service_is_hidden import topic_or_service_is_hidden

from rbdyn_ros.files import expand
from rbdyn_ros.optional import asking_for
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.messages import message_class
from rbdyn_ros.ros.messages.polled import Polled
from rbdyn_ros.ros.node import Watcher
from rbdyn_ros.ros.process import POLITE, run
from rbdyn_ros.ros.readiness import IGNORED, RECEIVED, WAITING, ReceptionReport
from rbdyn_ros.ros.recording.bag_repair import SAVED_EVERY

with asking_for("rosbags", "bag", "the recorder"):
    from rosbags.interfaces import (
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )
    from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
    from rosbags.typesys import Stores, get_typestore


class Losses:
    """Counts the gaps per topic.

    A topic with several publishers, each with its own numbers, is not counted.
    """

    def __init__(self):
        self.counts: Counter[str] = Counter()
        self._last: dict[
            str, int | None
        ] = {}  # topic -> number of its newest message; None if the numbers have no meaning

    def add(self, topic: str, number: int | None) -> None:
        """Count the gap before a message; `number` is counted by its publisher from 1, None or 0
        if the middleware does not provide it.
        """
        last = self._last.get(topic, 0)
        if not number or last is None or number <= last:
            self._last[topic] = None
            del self.counts[topic]
            return
        self.counts[topic] += number - last - 1 if last else 0
        self._last[topic] = number


NAME = "pendulum_recorder"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
EMPTIED_EVERY = 0.02  # [s]
LOOKED_EVERY = 0.1  # [s] after which a new topic is found


class CannotRecord(RuntimeError):
    """The bag cannot be created or written; the message says why."""


class Recorder(Watcher):
    """The recorder node: it records from `autostart` to `close`.

    Messages are stamped with the system time of their arrival.
    """

    def __init__(self, **options):
        super().__init__(NAME, **options)
        self.counts: Counter[str] = Counter()  # messages per topic, for every subscribed topic
        self.losses = Losses()
        self._refused: set[str] = set()
        self._polled = Polled(self)
        self._writer: Writer | None = None
        self._failure = ""
        self._reception = ReceptionReport(
            self, IGNORED if self.parameters.values["bag.topics"] else WAITING
        )

    def autostart(self) -> None:
        """Open the bag and begin. Raise CannotRecord if it cannot be created."""
        values = self.parameters.values
        self.path = Path(values["bag.path"] or f"rosbag2_{datetime.now():%Y_%m_%d-%H_%M_%S}")
        self._types = get_typestore(Stores.LATEST)
        try:
            self.path = expand(self.path)
            writer = Writer(self.path, version=9, storage_plugin=StoragePlugin.MCAP)
            writer.open()
        except WriterError:
            raise CannotRecord(
                f"bag.path is {self.path}, which is there already; choose another"
            ) from None
        except OSError as error:
            raise CannotRecord(
                f"bag.path is {self.path}, which cannot be made: {error.strerror}"
            ) from None
        self._writer = writer
        self.every(LOOKED_EVERY, self._look)
        self.every(EMPTIED_EVERY, self._write)
        self.every(SAVED_EVERY, self._save)
        self.every(SAVED_EVERY, self.warn_of_peers)
        self.get_logger().info(f"recording to {self.path}")

    def close(self) -> None:
        """Write the messages that have arrived, then the index and metadata.yaml."""
        try:
            self._write()
            with self._guard():
                if self._writer:
                    self._writer.close()
                    self.get_logger().info(f"wrote {self.path}: {self.tally()}")
                    self._warn_of_missing()
        except CannotRecord as error:
            self.get_logger().error(str(error))
        self._writer = None

    def _warn_of_missing(self) -> None:
        """Name the topics of bag.topics that nobody published."""
        missing = [t for t in self.parameters.values["bag.topics"] if t not in self.counts]
        if missing:
            self.get_logger().warning(
                f"bag.topics has {', '.join(missing)}, which nobody has published under this "
                "name; a topic is named with its namespace, such as /joint_states"
            )

    @property
    def is_incomplete(self) -> bool:
        """Whether the bag could not be written to its end."""
        return bool(self._failure)

    def tally(self) -> str:
        """Return how much was recorded, and how much was lost; or why the bag is incomplete."""
        of = ", ".join(
            f"{count} of {topic}" for topic, count in sorted(self.losses.counts.items()) if count
        )
        lost = f"{self.losses.counts.total()} lost on the way{f' ({of})' if of else ''}"
        return (
            self._failure or f"{self.counts.total()} messages of {len(self.counts)} topics, {lost}"
        )

    def _look(self) -> None:
        chosen = self.parameters.values["bag.topics"]
        known, writer = self.counts.keys() | self._refused, self._writer
        for topic, kinds in self.get_topic_names_and_types():
            if not writer or chosen and topic not in chosen:
                continue
            if topic in self.counts and len(kinds) > 1:
                self.warn_once(
                    f"{topic} has several types, {', '.join(kinds)}; messages of one are recorded"
                )
            if topic in known:
                continue
            if not chosen and topic_or_service_is_hidden(topic):
                self._refused.add(topic)  # as `ros2 bag record --all` omits them
            else:
                self._listen(writer, topic, kinds[0])
        states = {topic: RECEIVED if count else WAITING for topic, count in self.counts.items()}
        self._reception.publish(
            {**dict.fromkeys(chosen, WAITING), **dict.fromkeys(self._refused, IGNORED), **states}
        )

    def _listen(self, writer: Writer, topic: str, kind: str) -> None:
        offers = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        if not offers:
            return  # it has a subscriber, but no publisher yet
        message = message_class(kind)
        if message is None or kind not in self._types.types:
            self._refused.add(topic)
            self.get_logger().warning(
                f"{topic} is not recorded: its type {kind} is not known here"
            )
            return
        channel = writer.add_connection(
            topic,
            kind,
            typestore=self._types,
            offered_qos_profiles=[bag_profile(offer) for offer in offers],
        )
        self._polled.collect(message, topic, channel, qos.matching(offers))
        self.counts[topic] = 0

    def _write(self) -> None:
        writer = self._writer
        if not writer:
            return
        with self._guard():
            for taken, channel in self._polled.pop_collected():
                writer.write(channel, taken.received, taken.message)
                self.counts[channel.topic] += 1
                self.losses.add(channel.topic, taken.number)

    def _save(self) -> None:
        """Write the recorded messages to the file, so that it survives the end of this process."""
        with self._guard():
            storage: Any = self._writer and self._writer.storage  # private
            if hasattr(storage, "close_chunk"):
                if storage.chunk.msgs:
                    storage.close_chunk()
                storage.bio.flush()

    @contextmanager
    def _guard(self):
        """Raise CannotRecord for an OSError, and write nothing more to the bag."""
        try:
            yield
        except OSError as error:
            self._writer = None
            advice = "; make room" if error.errno in FULL else ""
            self._failure = f"the bag {self.path} is not complete: {error.strerror}{advice}"
            raise CannotRecord(self._failure) from None


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


def _time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, 1_000_000_000))


def main(args=None) -> int:
    """Run the recorder node, as `ros2 run rbdyn_ros recorder` does. Return 1 if the bag is
    incomplete.
    """
    return run((Recorder,), args, failed=lambda recorder: recorder.is_incomplete, nice=POLITE)


if __name__ == "__main__":
    raise SystemExit(main())
