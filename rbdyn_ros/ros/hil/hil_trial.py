"""A test of a board: the simulator and the bridge in a process of their own, and their observation
from this one.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import String
from std_srvs.srv import Trigger

from rbdyn_ros.evaluation.trial import Trial
from rbdyn_ros.plant.pacing import StallDetector
from rbdyn_ros.plant.plant import EPOCH_NS
from rbdyn_ros.plant.status import PLAYING
from rbdyn_ros.ros import diagnostics, qos
from rbdyn_ros.ros.messages.polled import Polled
from rbdyn_ros.ros.node_processes import NodeProcesses
from rbdyn_ros.ros.process import POLITE, leave, watcher
from rbdyn_ros.ros.readiness import COMMANDS, ReceptionReport
from rbdyn_ros.ros.recording.monitor import PlantWatch
from rbdyn_ros.ros.topic_observer import BRIDGE, SECOND_CLOCK, TopicObserver

NODE = "pendulum_hil_trial"
# [s] real or simulated time without a force of the board, while time should run, after which it
# gives up
GONE = 4.0
# [s] the same in lockstep, where the simulator may wait repeatedly for acknowledgments meanwhile
GONE_IN_LOCKSTEP = 12.0
NOT_FINITE = "malformed, not finite"  # a count of the bridge
# [s] without a new state, while time should run, after which it gives up; in lockstep time waits
# for a board that is silent, which is named before: the bridge still sends zero for it
STILL, STILL_IN_LOCKSTEP = 10.0, 30.0


class HilTrial:
    """A trial of a board, as a context, at whose end the nodes are interrupted."""

    def __init__(self, parameters: list, log: Path, declared: Mapping[str, Any]):
        """Start the nodes and observe them; `parameters` are words of the ROS command line for
        both nodes, whose output goes into the file `log`, `declared` are values of the plant and
        of monitor.plant.*, for `PlantWatch`.
        """
        self.plant = PlantWatch(declared)
        # in lockstep time waits for the board, but not for this process
        lockstep = declared["lockstep.enabled"]
        self._nice, self._gone, self._longest = POLITE, GONE, STILL
        if lockstep:
            self._nice, self._gone, self._longest = 0, GONE_IN_LOCKSTEP, STILL_IN_LOCKSTEP
        self.plant.origin = EPOCH_NS
        self.figures: dict[str, float] = {}  # of the newest /diagnostics of the bridge
        self.bridge, self.failure = "", ""  # ~/status of the bridge
        # time begins when the trial receives everything
        names = ", ".join((*declared["start_after"], NODE))
        self._processes = NodeProcesses([*parameters, "-p", f"start_after:=[{names}]"], log)
        self._processes.start("simulator", "hil_bridge")
        self._node, self._executor = watcher(NODE)
        self._topic_observer, self._answering = TopicObserver(self._node), StallDetector()
        self._node.create_subscription(
            DiagnosticArray, "/diagnostics", self._diagnostics, qos.OFFERED
        )
        self._node.create_subscription(String, f"{BRIDGE}/status", self._status, qos.LATCHED)
        # how many came from the board, and the stamp [ns] when the newest was seen
        self._commands, self._commanded = 0, 0
        self._polled = Polled(self._node)
        for kind, topic, take in (
            (Odometry, "odometry", self.plant.odometry),
            (WrenchStamped, "cart/command", self.plant.command),
        ):
            self._polled.collect(kind, topic, take, qos.LOSSLESS)
        self._reception = ReceptionReport(self._node)
        self._reset = self._node.create_client(Trigger, f"{BRIDGE}/reset_statistics")

    def __enter__(self) -> "HilTrial":
        os.nice(self._nice)
        return self

    def __exit__(self, *_) -> None:
        self._processes.end()
        leave(self._node)

    def run(
        self,
        duration: float,
        interrupted: Callable[[], object],
        show: Callable[[Callable[[], str]], object],
    ) -> Trial:
        """Observe `duration` [s] from the first command of the board on, and return the trial;
        call `show(function that returns the line)` all the while.
        """
        end, stall, began = EPOCH_NS + round(1e9 * duration), StallDetector(), math.nan
        while self._topic_observer.stamp < end and not interrupted() and not self.failure:
            self._executor.spin_once(timeout_sec=0.02)
            self._topic_observer.look()
            for taken, take in self._polled.pop_collected():  # in the order of its arrival
                take(taken.message)
            seen = self._topic_observer
            self._reception.publish_received(
                {"odometry": seen.states, "joint_states": seen.forces, COMMANDS: seen.commands}
            )
            playing = self._topic_observer.simulator == PLAYING
            if playing and math.isnan(began):
                began = time.monotonic()
                self._reset.call_async(Trigger.Request())  # the figures begin with the trial
            if not playing:
                stall.restart()
                self._answering.restart()
            self.failure = self._failure(stall.look(self._topic_observer.stamp))
            show(
                lambda playing=playing: (
                    self._topic_observer.line(EPOCH_NS) if playing else self.bridge or "starting"
                )
            )
        self.figures, last = {}, time.monotonic() + 3.0  # the newest come once per second
        while not self.figures and not self.failure and time.monotonic() < last:
            self._executor.spin_once(timeout_sec=0.02)
        self.plant.close()
        return self._topic_observer.trial(
            EPOCH_NS,
            end,
            wall_time=time.monotonic() - began,
            failure=self.failure,
            interrupted=self._topic_observer.stamp < end and bool(interrupted()),
        )

    def _failure(self, still: float) -> str:
        if reason := self._processes.failure() or self._topic_observer.failure():
            return reason
        if self._node.count_publishers("/clock") > 1:
            return SECOND_CLOCK
        still_for = self._answering.look(self._topic_observer.commands)
        gone = max(still_for, self._silence()) > self._gone
        if (gone or not self._topic_observer.commands) and (
            frames := self.figures.get(NOT_FINITE)
        ):
            return (
                f"the board sends forces that are not finite ({frames:g} frames); they are never "
                "applied"
            )
        if gone:
            refused = f" ({found})" if (found := self.describe_refused()) else ""
            said = f"{self.bridge}{refused}"
            return f"the board gave no force for {self._gone:g} s; the bridge reports: {said}"
        return f"no new state for {self._longest:g} s" if still > self._longest else ""

    def _silence(self) -> float:
        """Return the simulated time [s] since the newest force of the board: it passes also while
        a busy machine keeps this process from observing.
        """
        seen = self._topic_observer
        if self._commands != seen.commands:
            self._commands, self._commanded = seen.commands, seen.stamp
        return (seen.stamp - self._commanded) * 1e-9 if self._commands else 0.0

    def describe_refused(self) -> str:
        """Return the counts of frames of the board that the bridge could not use, "" if there are
        none.
        """
        found = [
            f"{figure:g} {name}"
            for name, figure in self.figures.items()
            if name.startswith(("malformed", "rejected")) and figure
        ]
        return ", ".join(found)

    def _diagnostics(self, message: DiagnosticArray) -> None:
        found = diagnostics.values_of(message, BRIDGE)
        self.figures |= {name: _number(value) for name, value in found.items()}

    def _status(self, message: String) -> None:
        self.bridge = message.data


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number
