"""The replay node: it publishes a recorded bag on its original topics, in its own time.

Messages are published as the recorded bytes, stamps included, with the quality of service that was
offered then. /clock is that of the bag; for a bag without it, such as a ~/dump, it follows from
the messages' own times.
"""

import math
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosbags.interfaces import Qos, QosDurability
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from rbdyn_ros.files import expand_input
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.diagnostics import OK, WARN, Line
from rbdyn_ros.ros.messages.messages import message_class, set_stamp
from rbdyn_ros.ros.node import NOT_ACTIVE, ManagedNode, require
from rbdyn_ros.ros.process import run
from rbdyn_ros.ros.readiness import COMMANDS, StartCondition, answers
from rbdyn_ros.simulation.pacing import Timeline
from rbdyn_ros.simulation.status import PAUSED, PLAYING, STOPPED
from rbdyn_ros.view.recording import describe_missing_bag

CLOCK, DIAGNOSTICS = "/clock", "/diagnostics"
MANY = 10  # messages in a bag from which on a topic is a state, not an event
# ends of the names of topics that are not the plant's
OF_NO_PLANT = tuple(
    """
    cart/command effort_controller/commands joint_commands joint_commands/stamped goal_pose
    clicked_point pendulum_simulator/disturbance rosout parameter_events
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
        """Return when the recording begins [ns], and topic -> the bytes of its first message.

        It has the plant's topics with many messages that begin within the first `duration` [s] of
        its states: to publish one again while time is paused changes nothing. A recorder may have
        been there long before the plant.
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
        first: dict[str, bytes] = {}
        begin, end = 0, math.inf
        for topic, stamp, data in self.messages():
            begin = begin or stamp
            if stamp > end or not states:
                break
            if topic in states:
                first.setdefault(topic, data)
                if topic != DIAGNOSTICS:  # which other nodes publish, too
                    end = min(end, stamp + 1e9 * duration)
        return begin, first

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


NAME = "pendulum_replay"
OVER = "over"
BEGINNING = 1.0  # [s] of the recording, whose states are repeated until time begins
REPEATED_EVERY = 0.02  # [s]


class Replay(ManagedNode):
    """The replay node: a `RecordedBag` with topics, parameters and a lifecycle.

    `over` is true at its end, `failure` says why it did not begin.
    """

    def __init__(self, **options):
        self.recording: RecordedBag | None = None  # while configured
        self.over, self.failure = False, ""
        super().__init__(NAME, **options)
        self.keep_system_time("this node replays /clock")
        self.announce(STOPPED)

    def configure(self) -> None:
        """Open the bag and create its topics. Raise CannotReplay."""
        values = self.parameters.values
        self.recording = recording = RecordedBag(
            values["replay.path"], values["replay.what"], values["replay.topics"]
        )
        self.get_logger().info(recording.summary())
        for sentence in recording.refusals:
            self.get_logger().warning(sentence)
        self._outputs = {
            track.topic: self.create_lifecycle_publisher(
                track.kind, track.topic, track.profile, **qos.PUBLISHING
            )
            for track in recording.tracks
        }
        self._own_clock = (
            None
            if CLOCK in self._outputs
            else self.create_lifecycle_publisher(Clock, CLOCK, qos.CLOCK, **qos.PUBLISHING)
        )
        self.create_service(SetBool, "~/pause", self._pause)
        self.counts: Counter[str] = Counter()
        self._timeline, self._rounds = Timeline(), 0

    def activate(self) -> None:
        """Start the thread; time begins when the nodes of `start_after` receive everything."""
        values = self.parameters.values
        self._ending, self.over, self._rounds, self.failure = False, False, 0, ""
        self._paused, self._may_begin = values["replay.start_paused"], threading.Event()
        self._condition: StartCondition | None = None
        if values["start_after"]:
            self._first_stamp, self._first = require(self.recording).beginning(BEGINNING)
            timeout = values["start_timeout"]
            self._condition = StartCondition(
                self,
                values["start_after"],
                timeout,
                self._carrying,
                self._may_begin.set,
                self._fail,
            )
        else:
            self._may_begin.set()
        self._thread = threading.Thread(target=self._run, name="replay", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Stop the thread."""
        self._ending = True
        self._thread.join()
        if self._condition:
            self._condition.destroy()
        self.announce(STOPPED)

    def cleanup(self) -> None:
        """Close the bag."""
        require(self.recording).close()
        self.recording = None

    def _carrying(self) -> set[str]:
        """Return the topics that carry messages before time begins."""
        publishers = [
            *(self._outputs[topic] for topic in self._first),
            *([self._own_clock] if self._own_clock else []),
        ]
        return {publisher.topic_name for publisher in publishers} | answers(
            self, [COMMANDS], self.parameters.values["start_after"]
        )

    def _fail(self, why: str) -> None:
        self.failure = why
        self.get_logger().error(why)
        self._ending = True

    # the thread

    def _hold(self) -> None:
        """Publish the first states repeatedly until time may begin."""
        if not self._may_begin.is_set():
            self.announce(PAUSED)
        while not self._ending and not self._may_begin.is_set():
            for topic, data in self._first.items():
                self._outputs[topic].publish(data)
            if self._own_clock:
                self._publish_time(self._own_clock, self._first_stamp)
            self._may_begin.wait(REPEATED_EVERY)

    def _run(self) -> None:
        try:
            self._hold()
            while not self._ending and (
                self._rounds == 0 or self.parameters.values["replay.loop"]
            ):
                self._rounds += 1
                self.announce(PAUSED if self._paused else PLAYING)
                self._play()
        except Exception as error:  # a damaged bag may make its reader raise anything
            self.failure = f"{require(self.recording).path} cannot be read to its end: {error}"
            self.get_logger().error(self.failure)
        if not self._ending:
            self.over = True
            self.announce(OVER)

    def _play(self) -> None:
        """Publish the messages from the first to the last."""
        for i, (topic, stamp, data) in enumerate(require(self.recording).messages()):
            if i == 0:
                self._timeline.begin(stamp)
            self._timeline.wait(stamp, self._pace, lambda: self._ending)
            if self._ending:
                return
            if self._own_clock:
                self._publish_time(self._own_clock, stamp)
            self._outputs[topic].publish(data)
            self.counts[topic] += 1

    def _pace(self) -> float:
        return 0.0 if self._paused else self.parameters.values["replay.rate"]

    def _publish_time(self, clock: Publisher, stamp: int) -> None:
        time = Clock()
        set_stamp(time.clock, stamp)
        clock.publish(time)

    # services and diagnostics

    def _pause(self, request, response):
        if not self.active:
            response.success, response.message = False, NOT_ACTIVE
            return response
        self._paused = request.data
        if not request.data:
            self._may_begin.set()
        response.success, response.message = not self.over, self._present()
        self.announce(response.message)
        return response

    def _present(self) -> str:
        """Return what the configured node does."""
        if not self.active:
            return STOPPED
        return OVER if self.over else PAUSED if self._paused else PLAYING

    def findings(self) -> list[Line]:
        """Return (part, [(level, sentence)], values) of the line of diagnostics."""
        if not self.recording:
            return [("replay", [(OK, "not configured")], {})]
        findings = [(OK, self._present())]
        if self.count_publishers(CLOCK) > 1:
            findings.append((WARN, "another node publishes /clock; end it, or this replay"))
        values = {
            "messages": self.counts.total(),
            "rounds": self._rounds,
            "slid_s": self._timeline.slid,
        }
        return [("replay", findings, values)]


def main(args=None) -> int:
    """Run the replay node, as `ros2 run rbdyn_ros replay` does. It ends with the bag: return 0, or
    1 if it could not begin, or not read the bag to its end.
    """
    return run(
        (Replay,),
        args,
        until=lambda replay: replay.over or replay.failure,
        failed=lambda replay: replay.failure,
    )


if __name__ == "__main__":
    raise SystemExit(main())
