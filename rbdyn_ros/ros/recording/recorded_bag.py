"""A bag as a replay reads it: the topics that the plant publishes, their quality of service, and
when the plant's states begin.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile

from rbdyn_ros.files import expand_input
from rbdyn_ros.optional import asking_for
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.ros.messages.messages import message_class
from rbdyn_ros.view.recording import describe_missing_bag

with asking_for("rosbags", "bag", "the replay"):
    from rosbags.interfaces import Qos, QosDurability
    from rosbags.rosbag2 import Reader

CLOCK, DIAGNOSTICS = "/clock", "/diagnostics"
MANY = 10  # messages in a bag from which on a topic is a state, not an event
# ends of the names of topics that are not the plant's
OF_NO_PLANT = tuple(
    """
    cart/command effort_controller/commands joint_commands joint_commands/stamped goal_pose
    clicked_point pendulum_simulator/disturbance rosout parameter_events events/write_split
    """.split()
)
# nodes whose private topics are not the plant's
OF_OTHERS = NODES.keys() - {"pendulum_simulator"}


class CannotReplay(RuntimeError):
    """There is nothing to replay; the message says why."""


class Track(NamedTuple):
    """One topic of the bag."""

    topic: str
    kind: type
    profile: QoSProfile


class RecordedBag:
    """An open bag."""

    def __init__(self, path: str, what: str, topics: tuple[str, ...]):
        """Open a bag; `what` is "plant" or "all"; `topics` are the only ones besides /clock, or
        empty for all of those.

        Raise CannotReplay if it is no bag, or has none of the topics.
        """
        self.path = Path(path)
        if not path:
            raise CannotReplay(
                "replay.path is empty; it must be the folder of a bag, such as "
                "rosbag2_2026_01_31-12_00_00"
            )
        self._reader = _open(self.path)
        there = {connection.topic for connection in self._reader.connections}
        self.refusals = [
            f"{topic} is not in {self.path}; it has {', '.join(sorted(there))}"
            for topic in topics
            if topic not in there
        ]
        chosen = [
            c
            for c in self._reader.connections
            if (not topics or c.topic in (*topics, CLOCK))  # the time of their stamps
            and (what == "all" or is_of_the_plant(c.topic))
        ]
        # of ROS 2, so `ext` has profiles
        self._connections: list[Any] = [c for c in chosen if self._is_known(c)]
        if not any(not topics or c.topic in topics for c in self._connections):
            has = ", ".join(sorted(there)) or "no topics"
            raise CannotReplay(
                f"{self.path} has nothing to replay: it has {has}; see replay.what and "
                "replay.topics"
            )

    @property
    def tracks(self) -> list[Track]:
        """The topics of the bag that are replayed."""
        offers: dict[tuple[str, str], list[Qos]] = {}
        for connection in self._connections:  # one for each recorded publisher
            offers.setdefault((connection.topic, connection.msgtype), []).extend(
                connection.ext.offered_qos_profiles
            )
        return [
            Track(topic, found, replay_profile(profiles))
            for (topic, kind), profiles in offers.items()
            if (found := message_class(kind))
        ]

    def messages(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield (topic, recorded at [ns], bytes), in the order of their times."""
        for connection, stamp, data in self._reader.messages(self._connections):
            yield connection.topic, stamp, data

    def beginning(self, duration: float) -> tuple[int, dict[str, bytes]]:
        """Return when the plant's states begin [ns], or the bag if it has none, and topic -> the
        bytes of its first message.

        It has the plant's topics with many messages that begin within the first `duration` [s] of
        its states: to publish one again while time is paused changes nothing.
        """
        counts: Counter[str] = Counter()
        for connection in self._connections:
            counts[connection.topic] += connection.msgcount
        states = {
            track.topic
            for track in self.tracks
            if track.profile.durability != DurabilityPolicy.TRANSIENT_LOCAL
            and counts[track.topic] >= MANY
            and is_of_the_plant(track.topic)
        }
        own = states - {DIAGNOSTICS}  # which other nodes publish, too
        first: dict[str, bytes] = {}
        begin = 0
        for topic, stamp, data in self.messages():
            if not own:
                return stamp, first
            if begin and stamp > begin + 1e9 * duration:
                break
            if topic in own:
                begin = begin or stamp
            if topic in states:
                first.setdefault(topic, data)
        return begin, first

    @property
    def start(self) -> int:
        """When the first message of the bag was recorded [ns]."""
        return self._reader.start_time

    def summary(self) -> str:
        """Return a sentence about what is replayed."""
        count = sum(c.msgcount for c in self._connections)
        topics, duration = len({c.topic for c in self._connections}), 1e-9 * self._reader.duration
        return f"{self.path}: {count} messages of {topics} topics, {duration:.1f} s"

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


def replay_profile(profiles: list[Qos]) -> QoSProfile:
    """Return the profile that a replay offers for the profiles of a topic's publishers.

    It is latched if one was, else reliable, with a depth of at least 10.
    """
    latched = any(profile.durability == QosDurability.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=max([10, *(profile.depth for profile in profiles)]),
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def is_of_the_plant(topic: str) -> bool:
    """Return whether a plant publishes a topic: it is neither a command nor of another node."""
    return not topic.endswith(OF_NO_PLANT) and not any(f"/{node}/" in topic for node in OF_OTHERS)


def _open(path: Path) -> Reader:
    found = expand_input(path)
    try:
        reader = Reader(found)
        reader.open()
    except FileNotFoundError:
        why = describe_missing_bag(found, str(path))
        raise CannotReplay(f"replay.path is {path}: {why}") from None
    except Exception as error:  # a damaged bag may make its reader raise anything
        raise CannotReplay(
            f"replay.path is {path}, which is not a bag that can be read: "
            f"{' '.join(str(error).split())}"  # a YAML error has several lines
        ) from None
    return reader
