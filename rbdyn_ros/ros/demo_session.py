"""The course of a demo: the nodes come up, time begins, the rod is pushed, the counts are read.

Its plan sets how the rod leans at the start, and when it is pushed how hard; a seed chooses the
directions.

The demo's own process has a node, the recorder and the topic observer, which one loop spins.
"""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.evaluation.trial import Trial
from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.parameters.start_options import Release
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.status import RUNNING
from rbdyn_ros.progress import LiveLine
from rbdyn_ros.ros import qos
from rbdyn_ros.ros.messages.messages import frames, set_stamp, set_xyz
from rbdyn_ros.ros.node_processes import COMING_UP, NodeProcesses
from rbdyn_ros.ros.process import POLITE, leave, watcher
from rbdyn_ros.ros.recording.recorder import CannotRecord, Recorder
from rbdyn_ros.ros.topic_observer import SECOND_CLOCK, SIMULATOR, TopicObserver

PUSHED_AT = (0.3, 0.6)  # of the duration
# [N] smallest and largest, on the tip, for as long as the simulator lets a disturbance act
PUSH = (2.0, 4.0)
TIME_FOR_BOTH = 10.0  # [s] a shorter demo, which leaves less time to recover, has weaker pushes


class TipPush(NamedTuple):
    """A force on the tip."""

    time: float  # [s] since the release, at which it begins
    force: float  # [N]
    azimuth: float  # [rad] of its direction in the rod's cross-section, from the rod's x axis
    felt: float = math.nan  # [s] since the release, when it was observed to act; nan: it was not


class DemoPlan(NamedTuple):
    """The plan of one demo."""

    duration: float  # [s] simulated
    orientation: tuple | None  # (4,) wxyz at the start; None leaves it to the parameter files
    pushes: tuple


def demo_plan(duration: float, release: Release | None, seed: int) -> DemoPlan:
    """Return the demo of `duration` [s] that begins with the release; equal seeds give equal
    demos.
    """
    draw = Random(seed)
    azimuth, strength = draw.uniform(-math.pi, math.pi), min(1.0, duration / TIME_FOR_BOTH)
    pushes = tuple(
        TipPush(part * duration, strength * draw.uniform(*PUSH), draw.uniform(-math.pi, math.pi))
        for part in PUSHED_AT
    )
    if release and release.azimuth is None:
        release = release._replace(azimuth=azimuth)
    return DemoPlan(duration, release.orientation if release else None, pushes)


STILL = 10.0  # [s] real time without a new state, or an answer, after which the trial is given up
# [s] real time to wait for the counts at the end: /diagnostics comes once per second
COUNTING = 3.0


class TrialEnded(Exception):
    """The trial has ended early; the message says why."""


class DemoInterrupted(Exception):
    """A signal asks the demo to end."""


class DemoSession:
    """The demo's view of a simulator that runs in a process of `processes`.

    At the end of the context these end before the recorder, which receives their last messages.
    """

    def __init__(self, processes: NodeProcesses, bag: Path, live: LiveLine, stop: Interruption):
        self.processes, self.live, self.stop = processes, live, stop
        self.node, self.executor = watcher("pendulum_demo")
        self.topic_observer = TopicObserver(self.node)
        self.recorder = Recorder(parameter_overrides=[Parameter("bag.path", value=str(bag))])
        self.disturbance = self.node.create_publisher(
            WrenchStamped, f"{SIMULATOR}/disturbance", qos.OFFERED
        )
        self.pause = self.node.create_client(SetBool, f"{SIMULATOR}/pause")
        self.reset_statistics = self.node.create_client(Trigger, f"{SIMULATOR}/reset_statistics")
        self.executor.add_node(self.recorder)
        self._start = 0  # [ns] simulated, of the release
        self._released, self._ended = 0.0, 0.0  # [s] steady

    def __enter__(self) -> "DemoSession":
        os.nice(POLITE)
        return self

    def __exit__(self, *_) -> None:
        self.live.close()
        self.processes.end()
        self.recorder.close()
        leave(self.recorder, self.node)

    @property
    def is_complete(self) -> bool:
        """Whether all nodes are connected; two simulators raise TrialEnded."""
        if self.node.count_publishers("/clock") > 1:
            raise TrialEnded(SECOND_CLOCK)
        received = all(self.recorder.counts[topic] for topic in ("/odometry", "/cart/command"))
        services = self.pause.service_is_ready() and self.reset_statistics.service_is_ready()
        return received and services and self.disturbance.get_subscription_count() > 0

    def until(
        self,
        condition: Callable[[], object],
        line: Callable[[], str],
        timeout: float,
        in_vain: str,
    ) -> None:
        """Spin until the condition holds.

        Raise DemoInterrupted after a signal, TrialEnded if a node has ended or given up, or if no
        time was simulated for `timeout` [s].
        """
        stall = StallDetector()
        while not condition():
            if self.stop.signal:
                raise DemoInterrupted
            if reason := self.processes.failure() or self.topic_observer.failure():
                raise TrialEnded(reason)
            if stall.look(self.topic_observer.stamp) > timeout:
                raise TrialEnded(in_vain)
            self._turn()
            self.live.show(line)

    def _turn(self) -> None:
        self.executor.spin_once(timeout_sec=0.02)
        self.topic_observer.look()

    def call(self, client, request, timeout: float) -> None:
        """Call a service of the simulator.

        Raise TrialEnded if it refuses, or does not answer for `timeout` [s].
        """
        future = client.call_async(request)
        self.until(
            future.done,
            lambda: f"calling {client.srv_name}",
            timeout,
            f"{client.srv_name} does not answer",
        )
        if not future.result().success:
            raise TrialEnded(f"{client.srv_name}: {future.result().message}")

    def run(self, plan: DemoPlan) -> Trial:
        """Run the demo to its end, or to where it breaks off."""
        failure, interrupted = "", False
        try:
            self.recorder.autostart()
            self._come_up()
            self._release(plan.pushes)
            self._wait_for(plan.duration)
            self._ended = time.monotonic()
            self._count()
        except (TrialEnded, CannotRecord) as over:
            failure = str(over)
        except DemoInterrupted:
            interrupted = True
        wall_time = (self._ended or time.monotonic()) - self._released if self._released else 0.0
        end = self._stamp(plan.duration) if self._released else -1
        sent = plan.pushes if self._released else ()
        pushes = tuple(push._replace(felt=self._action_time(push)) for push in sent)
        return self.topic_observer.trial(self._start, end, pushes, wall_time, failure, interrupted)

    def _stamp(self, seconds: float) -> int:
        """Return the stamp [ns] of so many seconds after the release."""
        return self._start + round(seconds * 1e9)

    def _action_time(self, push: TipPush) -> float:
        """Return when a push was first seen to act [s] since the release; nan if it was not."""
        begin = self._stamp(push.time)
        seen = (stamp for stamp in self.topic_observer.disturbed if stamp >= begin)
        return (next(seen, math.nan) - self._start) * 1e-9

    def _come_up(self) -> None:
        began = time.monotonic()
        self.until(
            lambda: self.is_complete and self.topic_observer.controller == RUNNING,
            lambda: (
                f"the nodes come up: {self.live.waited(time.monotonic() - began)} s (the first "
                "start on a machine compiles)"
            ),
            COMING_UP,
            f"the nodes did not start within {COMING_UP:g} s",
        )

    def _release(self, pushes: tuple) -> None:
        """Begin. The simulator is told before at which instants to push, which a busy machine
        cannot delay.
        """
        self.call(self.reset_statistics, Trigger.Request(), STILL)
        self.topic_observer.forget()
        self._start, self._released = self.topic_observer.stamp, time.monotonic()
        for push in pushes:
            self._push(push)
        self.call(self.pause, SetBool.Request(data=False), STILL)

    def _wait_for(self, seconds: float) -> None:
        end = self._stamp(seconds)
        self.until(
            lambda: self.topic_observer.stamp >= end,
            lambda: self.topic_observer.line(self._start),
            STILL,
            f"no new state for {STILL:g} s",
        )

    def _push(self, push: TipPush) -> None:
        message = WrenchStamped()
        message.header.frame_id = frames().tip
        set_stamp(message.header.stamp, self._stamp(push.time))
        x, y = push.force * math.cos(push.azimuth), push.force * math.sin(push.azimuth)
        set_xyz(message.wrench.force, (x, y, 0.0))
        self.disturbance.publish(message)

    def _count(self) -> None:
        self.call(self.pause, SetBool.Request(data=True), STILL)
        seen = self.topic_observer.diagnosed
        self.until(
            lambda: self.topic_observer.diagnosed > seen,
            lambda: "counting",
            COUNTING,
            "no /diagnostics came",
        )
