"""The publishers of the simulator, each topic at its rate of simulation time.

In lockstep, time runs no further ahead of its readers than the publishers keep messages. A
lockstep run that is not paced sends ten thousand messages a second. If a reader gets no processor
for some milliseconds, the queues of the middleware overflow (Fast DDS's shared memory holds 512
messages for a process), and lost messages can be sent again only while the publisher keeps them.
So a publisher waits, after every `qos.KEPT` messages, until all its reliable subscriptions have
acknowledged them. Fast DDS requests acknowledgments when a publisher's memory is full, which is
after as many messages, and otherwise every 3 s.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints
from rbdyn_ros.plant.faults.pipeline import COUNTED
from rbdyn_ros.plant.plant import Setup
from rbdyn_ros.plant.runner import Runner
from rbdyn_ros.plant.status import PLAYING
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.description import DescriptionPublisher
from rbdyn_ros.ros.messages import state_topics
from rbdyn_ros.ros.messages.messages import Frames, set_stamp
from rbdyn_ros.ros.messages.sample import PlantSample, Sample, SensorSample
from rbdyn_ros.ros.messages.state_topics import Labeled, StepDiagnosticsTopic
from rbdyn_ros.ros.node import ManagedNode
from rbdyn_ros.ros.simulator.markers import Markers

POLL_PERIOD = 0.001  # [s]
LIMIT = 4.0  # [s] longest wait: more than the middleware's own period
_AT_ONCE = Duration()

Publishers = tuple[Publisher, ...]
Batch = list[tuple[Publishers, Any]]  # the messages of a tick


class FlowControl:
    """Publishes, and counts the messages of each publisher since all of them were acknowledged."""

    def __init__(self, warn: Callable[[str], object]):
        self._warn, self._supported = warn, True
        self._counts: Counter[Publisher] = Counter()

    def publish(self, batch: Batch) -> None:
        """Publish each message of the batch; return when the next one may follow."""
        full, counts = [], self._counts
        for publishers, message in batch:
            for publisher in publishers:
                # the middleware may have requested acknowledgments by itself meanwhile; who asks
                # only when it is full often waits for its next request
                if not self._behind([publisher]):
                    counts[publisher] = 0
                publisher.publish(message)
                counts[publisher] += 1
                if counts[publisher] >= qos.KEPT:
                    full.append(publisher)
        if full:
            self._wait(full)

    def _wait(self, full: list[Publisher]) -> None:
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

    def _behind(self, publishers: list[Publisher]) -> list[Publisher]:
        """Return the publishers with messages that a reliable subscription has not acknowledged.

        It polls, because rclpy keeps the interpreter's lock while it waits.
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


LABELS = ("time", *COUNTED)  # [s] simulated, then the counts of the pipeline


class FaultCounts(Labeled):
    """The message of ~/faults: how often each fault has occurred."""

    def __init__(self):
        super().__init__(LABELS)

    def _numbers(self, sample: Sample) -> tuple[tuple[float, ...], ...]:
        counts = sample.faults.counts() if sample.faults else dict.fromkeys(COUNTED, 0)
        return ((sample.stamp * 1e-9, *map(float, counts.values())),)


CHECK_PERIOD = 0.05  # [s] between two checks of who subscribes to a topic, while time runs


# function that fills a message, publishers of the measurement, publishers of the true state
Source = tuple[Callable[[Sample], Any], Publishers, Publishers]
Group = tuple[float, list[Source]]  # rate [Hz]


class Telemetry:
    """The publishers of the simulator and their messages, which are refilled."""

    def __init__(self, node: ManagedNode, frames: Frames, values: dict[str, Any]):
        self._node, self._frames = node, frames
        self.flow = FlowControl(node.get_logger().warning) if values["lockstep.enabled"] else None
        self.gimbal, self.measured_gimbal = GimbalJoints(), GimbalJoints()
        self._resets = 0  # of the plant, whose angles these follow
        self._clock = self._publisher(Clock, "/clock", qos.CLOCK)
        self._time = Clock()
        self._has_clock_subscriber, self._next_check = False, 0.0  # [s, steady]
        self.subscribed: list[Group] = []  # those of the topics that have subscribers
        self._description = DescriptionPublisher(node)
        self._states = tuple(
            make(frames)
            for make in (
                state_topics.Joints,
                state_topics.RodOdometry,
                state_topics.BallJoint,
                state_topics.Inertial,
            )
        )
        self._topics = self._make_topics()
        self._groups: list[Group] = []  # of the topics, from `describe` on

    def __call__(self, runner: Runner) -> Callable:
        """Return a function that publishes a tick to the topics that have subscribers.

        While time runs it publishes the topics that are due, while time is paused all. The
        measurement differs from the true state if there is a `runner.signals.measurement`, and is
        not published if none has arrived.
        """
        still = runner.status != PLAYING
        self._check_subscribers(still)
        ready: Batch = []
        if self._has_clock_subscriber:
            set_stamp(self._time.clock, runner.plant.stamp)
            ready.append(((self._clock,), self._time))
        self._fill(ready, runner, self.subscribed if still else self._due(runner), still)

        def publish() -> None:
            runner.mark_published()
            self._send(ready)

        return publish

    def _due(self, runner: Runner) -> list[Group]:
        """Return the groups with subscribers that are due at the present tick."""
        tick, seconds = runner.signals.tick, runner.plant.tick_ns * 1e-9
        return [group for group in self.subscribed if due(tick, group[0] * seconds)]

    def _fill(self, ready: Batch, runner: Runner, groups: list[Group], still: bool) -> None:
        """Add the messages of groups. After a reset the angles of the gimbal begin again, without
        the turns before.
        """
        if self._resets != runner.plant.resets:
            self._resets = runner.plant.resets
            self.gimbal.angles = self.measured_gimbal.angles = (0.0, 0.0, 0.0)
        signals, truth = runner.signals, PlantSample(runner, self.gimbal)
        if signals.measurement is None:
            for _, topics in groups:
                for fill, measured, true in topics:
                    ready.append((measured + true, fill(truth)))
            return
        reading = None
        if signals.is_new or still:
            reading = SensorSample(truth.setup, signals.measurement, self.measured_gimbal)
        for _, topics in groups:
            for fill, measured, true in topics:
                if measured and reading:
                    ready.append((measured, fill(reading)))
                if true:
                    ready.append((true, fill(truth)))

    def _send(self, ready: Batch) -> None:
        if self.flow:
            self.flow.publish(ready)
            return
        for publishers, message in ready:
            for publisher in publishers:
                publisher.publish(message)

    @property
    def clock_topic(self) -> str:
        """The resolved name of /clock."""
        return self._clock.topic_name

    @property
    def topics(self) -> set[str]:
        """The resolved names of the topics that are published while time is paused."""
        groups = [topics for rate, topics in self._groups if rate > 0.0]
        publishers = [p for topics in groups for _, *both in topics for part in both for p in part]
        return {publisher.topic_name for publisher in (self._clock, *publishers)}

    def _check_subscribers(self, now: bool) -> None:
        """Check which topics have subscribers, `now` or once per period: it takes as long as
        publishing.
        """
        time = monotonic()
        if now or time > self._next_check:
            self._next_check = time + CHECK_PERIOD
            self._has_clock_subscriber = bool(self._clock.get_subscription_count())
            groups = [(rate, _with_subscribers(topics)) for rate, topics in self._groups if rate]
            self.subscribed = [(rate, topics) for rate, topics in groups if topics]

    def warm_up(self, runner: Runner) -> None:
        """Fill every message without sending it, so that a later subscriber compiles nothing."""
        truth = PlantSample(runner, GimbalJoints())
        for _, topics in self._groups:
            for fill, _, _ in topics:
                fill(truth)

    def describe(self, setup: Setup, values: dict[str, Any]) -> None:
        """Publish the latched topics anew, the URDF and the static frames, and take the rates."""
        self._description.publish(setup, values, values["rates.tf"])
        self._groups = [(values[f"rates.{name}"], topics) for name, topics in self._topics.items()]
        self._next_check = 0.0

    def _publisher(self, kind: type, topic: str, profile: QoSProfile = qos.OFFERED) -> Publisher:
        kept = qos.keeping(qos.KEPT, profile) if self.flow else profile
        return self._node.create_lifecycle_publisher(kind, topic, kept, **qos.PUBLISHING)

    def _make_topics(self) -> dict[str, list[Source]]:
        """Create the publishers of all topics, by the names of their rates.

        A source with both kinds of publishers returns bytes: a refilled message would be sent
        twice with the second content.
        """
        frames = self._frames

        def make(*topic) -> tuple[Publisher, ...]:
            return (self._publisher(*topic),)

        joints, pose, ball_joint, inertial = (source.pack for source in self._states)
        return {
            "state": [
                (
                    joints,
                    make(JointState, "joint_states"),
                    make(JointState, "ground_truth/joint_states"),
                ),
                (pose, make(Odometry, "odometry"), make(Odometry, "ground_truth/odometry")),
                (ball_joint, make(MultiDOFJointState, "multi_dof_joint_states"), ()),
                (inertial, make(Imu, "imu/data"), ()),
            ],
            "wrench": [
                (topic.pack, (), make(WrenchStamped, f"wrench/{name}"))
                for name, topic in state_topics.wrench_topics(frames).items()
            ],
            "integrator": [
                (StepDiagnosticsTopic().pack, (), make(Float64MultiArray, "~/integrator")),
                (FaultCounts().pack, (), make(Float64MultiArray, "~/faults")),
            ],
            "tf": [(state_topics.Moving(frames).fill, (), make(TFMessage, "/tf", qos.TRANSFORMS))],
            "markers": [(Markers(frames).fill, (), make(MarkerArray, "~/markers"))],
        }


def _with_subscribers(topics: list[Source]) -> list[Source]:
    """Return the topics with only those publishers that have subscribers, and no topic without
    any.
    """
    found = [(fill, _subscribed(measured), _subscribed(true)) for fill, measured, true in topics]
    return [topic for topic in found if topic[1] or topic[2]]


def _subscribed(publishers: tuple[Publisher, ...]) -> tuple[Publisher, ...]:
    return tuple(
        [publisher for publisher in publishers if publisher.get_subscription_count()]
    )  # a tuple made of a generator would keep more memory than it needs


def due(tick: int, per_tick: float) -> bool:
    """Return whether an event that happens `per_tick` times per tick, on average, happens at this
    tick.
    """
    ratio = per_tick + 1e-9
    return ratio >= 1.0 or math.floor(tick * ratio) != math.floor((tick - 1) * ratio)
