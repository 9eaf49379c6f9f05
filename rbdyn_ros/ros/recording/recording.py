"""A bag as it is replayed: which of its topics, of which class, with which quality of service."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbags.rosbag2 import Reader, ReaderError

from rbdyn_ros.ros.messages.message_types import message_class
from rbdyn_ros.ros.recording import bag_qos

MANY = 10  # messages in a bag, from which on a topic is a state and no event
# how such topics end
OF_NO_PLANT = (
    "cart/command",
    "effort_controller/commands",
    "goal_pose",
    "rosout",
    "parameter_events",
)
# whose ~/ is left out
OF_OTHERS = (
    "pendulum_controller",
    "pendulum_recorder",
    "pendulum_monitor",
    "pendulum_hil",
    "pendulum_replay",
    "pendulum_referee",
)


class CannotReplay(RuntimeError):
    """There is nothing to replay; the message says why."""


class Track(NamedTuple):
    """One topic of the bag."""

    topic: str
    kind: type
    profile: QoSProfile


class Recording:
    """An open bag. CannotReplay if it is none, or has nothing of what is asked for."""

    def __init__(self, path: str, what: str, topics: tuple):
        """`what` is "plant" or "all"; `topics` are the only ones, or none for all of those."""
        self.path = Path(path).expanduser()
        if not path:
            raise CannotReplay(
                "replay.path is empty; it must be the folder of a bag, such as "
                "rosbag2_2026_01_31-12_00_00"
            )
        self._reader = _opened(self.path)
        there = {connection.topic for connection in self._reader.connections}
        self.refusals = [
            f"{topic} is not in {self.path}; it has {', '.join(sorted(there))}"
            for topic in topics
            if topic not in there
        ]
        chosen = [
            c
            for c in self._reader.connections
            if (not topics or c.topic in topics) and (what == "all" or is_of_the_plant(c.topic))
        ]
        self._connections = [connection for connection in chosen if self._is_known(connection)]
        if not self._connections:
            has = ", ".join(sorted(there)) or "no topics"
            raise CannotReplay(
                f"{self.path} has nothing to replay: it has {has}; see replay.what and "
                "replay.topics"
            )

    @property
    def tracks(self) -> list[Track]:
        """The topics, as `Track`."""
        offers = {}
        for connection in self._connections:  # one for each publisher that there was
            offers.setdefault((connection.topic, connection.msgtype), []).extend(
                connection.ext.offered_qos_profiles
            )
        return [
            Track(topic, message_class(kind), bag_qos.offered(profiles))
            for (topic, kind), profiles in offers.items()
        ]

    def messages(self) -> Iterator[tuple[str, int, bytes]]:
        """(topic, recorded at [ns], bytes), in the order of their times."""
        for connection, stamp, data in self._reader.messages(self._connections):
            yield connection.topic, stamp, data

    def beginning(self, duration: float) -> tuple[int, dict[str, bytes]]:
        """When the recording begins [ns], and topic -> the bytes of its first message.

        Of the plant's topics that have one in the first `duration` [s] and many in all: these are
        its states, and to publish one again while time stands still changes nothing.
        """
        counts = Counter()
        for connection in self._connections:
            counts[connection.topic] += connection.msgcount
        latched = {
            track.topic
            for track in self.tracks
            if track.profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        }
        first, begin = {}, None
        for topic, stamp, data in self.messages():
            begin = stamp if begin is None else begin
            if stamp > begin + round(1e9 * duration):
                break
            if counts[topic] >= MANY and topic not in latched and is_of_the_plant(topic):
                first.setdefault(topic, data)
        return begin, first

    def summary(self) -> str:
        """What will be replayed, in a sentence."""
        count, topics = (
            sum(c.msgcount for c in self._connections),
            len({c.topic for c in self._connections}),
        )
        return (
            f"{self.path}: {count} messages of {topics} topics, "
            f"{1e-9 * self._reader.duration:.1f} s"
        )

    def close(self) -> None:
        """Close the bag."""
        self._reader.close()

    def _is_known(self, connection) -> bool:
        if message_class(connection.msgtype) is None:
            self.refusals.append(
                f"{connection.topic} is not replayed: its type {connection.msgtype} is not "
                "installed here"
            )
            return False
        return True


def is_of_the_plant(topic: str) -> bool:
    """Whether a plant publishes it: neither a command nor a topic of another node."""
    return not topic.endswith(OF_NO_PLANT) and not any(f"/{node}/" in topic for node in OF_OTHERS)


def _opened(path: Path) -> Reader:
    try:
        reader = Reader(path)
        reader.open()
    except FileNotFoundError:
        killed = path.is_dir() and any(path.glob("*.mcap"))
        why = (
            f"its recorder was killed; python -m rbdyn_ros repair {path} makes a bag of it"
            if killed
            else "there is no such bag"
        )
        raise CannotReplay(f"replay.path is {path}: {why}") from None
    except (ReaderError, OSError, ValueError, AssertionError) as error:
        raise CannotReplay(
            f"replay.path is {path}, which is not a bag that can be read: {error}"
        ) from None
    return reader
