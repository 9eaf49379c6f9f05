"""The replay node: it publishes a recorded bag on its original topics, in its own time, which
begins with the plant's first message: a recorder may have been there long before the plant. What
was recorded before that is published at once.

Messages are published as the recorded bytes, stamps included, with the quality of service that was
offered then. /clock is that of the bag; for a bag without it, such as a ~/dump, it follows from
the messages' own times.
"""

import threading
from collections import Counter

from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from rbdyn_ros.plant.pacing import Timeline
from rbdyn_ros.plant.status import PAUSED, PLAYING, STOPPED
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.diagnostics import OK, WARN, Line
from rbdyn_ros.ros.messages.messages import set_stamp
from rbdyn_ros.ros.node import NOT_ACTIVE, ManagedNode, require
from rbdyn_ros.ros.process import run
from rbdyn_ros.ros.readiness import COMMANDS, StartCondition, answers
from rbdyn_ros.ros.recording.recorded_bag import CLOCK, RecordedBag

NAME = "pendulum_replay"
OVER = "over"
BEGINNING = 1.0  # [s] of the recording, whose states are repeated until time begins
REPEATED_EVERY = 0.02  # [s]
SILENCE = 1.0  # [s] before the plant's first message from which on it is reported


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
        self._begin = 0  # [ns] of the plant's first message; 0: not looked for yet
        self._paused, self._may_begin = values["replay.start_paused"], threading.Event()
        self._condition: StartCondition | None = None
        if values["start_after"]:
            self._begin, self._first = require(self.recording).beginning(BEGINNING)
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
                self._publish_time(self._own_clock, self._begin)
            self._may_begin.wait(REPEATED_EVERY)

    def _run(self) -> None:
        try:
            self._hold()
            recording = require(self.recording)
            self._begin = self._begin or recording.beginning(BEGINNING)[0]
            lead = 1e-9 * (self._begin - recording.start)
            if lead > SILENCE:
                self.get_logger().info(f"begins {lead:.1f} s after the bag, with the plant")
            if self._paused:
                pause = self.resolve_service_name("~/pause")
                self.get_logger().info(f"time waits: a call of {pause} with false begins")
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
        """Publish the messages from the first to the last; time begins with the plant's."""
        self._timeline.begin(self._begin)
        for topic, stamp, data in require(self.recording).messages():
            self._timeline.wait(max(stamp, self._begin), self._pace, lambda: self._ending)
            if self._ending:
                return
            if self._own_clock and stamp >= self._begin:
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
