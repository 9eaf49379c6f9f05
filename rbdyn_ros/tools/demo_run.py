"""The course of a demo: the nodes come up, time begins, the rod is pushed, the counts are read.

Its plan says how the rod leans at the start, and when it is pushed how hard; a seed chooses the
directions.
"""

import math
import time
from random import Random
from typing import NamedTuple

from geometry_msgs.msg import WrenchStamped
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.evaluation.trial import Trial
from rbdyn_ros.ros.messages.messages import frames, set_xyz
from rbdyn_ros.simulation.status import RUNNING
from rbdyn_ros.tools.demo_session import DemoSession, Interrupted, Over

PUSHED_AT = (0.3, 0.6)  # of the duration
# [N] smallest and largest, on the tip, for as long as the simulator lets a disturbance act
PUSH = (
    2.0,
    4.0,
)
TIME_FOR_BOTH = 10.0  # [s] a shorter demo, which leaves less time to recover, has weaker pushes


class Push(NamedTuple):
    """A force on the tip."""

    time: float  # [s] since the release, at which it is asked for
    force: float  # [N]
    azimuth: float  # [rad] of its direction in the rod's cross-section, from the rod's x axis
    felt: float = math.nan  # [s] since the release, when it was seen to act; nan: it was not


class DemoPlan(NamedTuple):
    """One demo."""

    duration: float  # [s] simulated
    orientation: tuple | None  # (4,) wxyz at the start; None leaves it to the parameter files
    pushes: tuple


def demo_plan(duration: float, tilt: float | None, seed: int) -> DemoPlan:
    """The demo of `duration` [s] that begins at `tilt` [rad]; equal seeds give equal demos."""
    draw = Random(seed)
    azimuth, strength = draw.uniform(-math.pi, math.pi), min(1.0, duration / TIME_FOR_BOTH)
    pushes = tuple(
        Push(part * duration, strength * draw.uniform(*PUSH), draw.uniform(-math.pi, math.pi))
        for part in PUSHED_AT
    )
    return DemoPlan(duration, None if tilt is None else leaning(tilt, azimuth), pushes)


def leaning(tilt: float, azimuth: float) -> tuple[float, float, float, float]:
    """The quaternion (4,) wxyz of a rod that leans by `tilt` [rad] towards `azimuth` [rad],
    without spin.

    q = (cos tilt/2, -sin azimuth sin tilt/2, cos azimuth sin tilt/2, 0)
    """
    s = math.sin(0.5 * tilt)
    return (math.cos(0.5 * tilt), -math.sin(azimuth) * s, math.cos(azimuth) * s, 0.0)


COMING_UP = 180.0  # [s] real time that the nodes may take: the first start on a machine compiles
STILL = 10.0  # [s] real time without a new state, or an answer, after which the trial is given up
COUNTING = (
    3.0  # [s] real time to wait for the counts at the end: /diagnostics comes once per second
)


class DemoRun:
    """One demo of a script on a stage."""

    def __init__(self, script: DemoPlan, stage: DemoSession):
        self._script, self._stage, self._topic_observer = script, stage, stage.topic_observer
        self._start = 0  # [ns] simulated, of the release
        self._released, self._ended = 0.0, 0.0  # [s] steady
        self._pushes = []  # and the stamp that was in view when each was sent

    def play(self) -> Trial:
        """Play it to its end, or to where it breaks off."""
        failure, interrupted = "", False
        try:
            self._stage.record()
            self._come_up()
            self._release()
            for push in self._script.pushes:
                self._wait_for(push.time)
                self._push(push)
            self._wait_for(self._script.duration)
            self._ended = time.monotonic()
            self._count()
        except Over as over:
            failure = str(over)
        except Interrupted:
            interrupted = True
        wall_time = (self._ended or time.monotonic()) - self._released if self._released else 0.0
        end = self._start + round(self._script.duration * 1e9) if self._released else -1
        pushes = tuple(push._replace(felt=self._acted_at(sent)) for push, sent in self._pushes)
        return self._topic_observer.trial(
            self._start, end, pushes, wall_time, failure, interrupted
        )

    def _acted_at(self, sent: int) -> float:
        """When a push acted that was sent in view of the state of the stamp `sent` [ns]: [s] since
        the release; nan: it was not seen to.
        """
        return (
            next((stamp for stamp in self._topic_observer.disturbed if stamp >= sent), math.nan)
            - self._start
        ) * 1e-9

    def _come_up(self) -> None:
        began = time.monotonic()

        def line() -> str:
            return (
                f"the nodes come up: {time.monotonic() - began:.0f} s (the first start on a "
                "machine compiles)"
            )

        def up() -> bool:
            return self._stage.complete and self._topic_observer.controller == RUNNING

        self._stage.until(up, line, COMING_UP, f"the nodes did not start within {COMING_UP:g} s")

    def _release(self) -> None:
        self._stage.call(self._stage.reset_statistics, Trigger.Request(), STILL)
        self._topic_observer.forget()
        self._start, self._released = self._topic_observer.stamp, time.monotonic()
        self._stage.call(self._stage.pause, SetBool.Request(data=False), STILL)

    def _wait_for(self, seconds: float) -> None:
        end = self._start + round(seconds * 1e9)

        def reached() -> bool:
            return self._topic_observer.stamp >= end

        self._stage.until(
            reached,
            lambda: self._topic_observer.line(self._start),
            STILL,
            f"no new state for {STILL:g} s",
        )

    def _push(self, push: Push) -> None:
        message = WrenchStamped()
        message.header.frame_id = frames().tip
        set_xyz(
            message.wrench.force,
            (push.force * math.cos(push.azimuth), push.force * math.sin(push.azimuth), 0.0),
        )
        self._stage.disturbance.publish(message)
        self._pushes.append((push, self._topic_observer.stamp))

    def _count(self) -> None:
        self._stage.call(self._stage.pause, SetBool.Request(data=True), STILL)
        seen = self._topic_observer.diagnosed
        self._stage.until(
            lambda: self._topic_observer.diagnosed > seen,
            lambda: "counting",
            COUNTING,
            "no /diagnostics came",
        )
