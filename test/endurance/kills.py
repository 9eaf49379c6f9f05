"""Simulator, controller and recorder are killed at any moment and started anew."""

import math
import random
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from checks import Check, count_check
from loop_watch import Watch

from rbdyn_ros.parameters.tables import lookup
from rbdyn_ros.ros.node_processes import COMING_UP, NodeProcesses
from rbdyn_ros.ros.recording.bag_repair import SAVED_EVERY, repair

VICTIMS = ("controller", "recorder", "simulator")  # in turn
# [s] the longest time from the loop's, or a process's, start to the kill
RUNNING_FOR, STARTING_FOR = 1.0, 2.0
EARLY = 0.25  # part of the kills, after the first of each, that fall into a start
RESUMED = 60.0  # [s] a machine under load starts Python slowly
ON_THE_WAY = 0.1  # [s] from the simulator's decision to its message here
ZERO_FOR = 0.3  # [s] the force is watched after it should be zero
GAP = 1.0  # [s] that a recorder may lose besides what it has not saved
NAN = math.nan


def kill(process: subprocess.Popen) -> None:
    """End a process as a crash does."""
    process.kill()
    process.wait()


class Kill(NamedTuple):
    """One kill and its effect; nan where that was not observed."""

    victim: str
    early: bool  # while it started
    until_zero: float = NAN  # [s] from a controller's kill to the simulator's zero force
    # [s] simulated, from the state that its last command answers to the last force
    pushed: float = NAN
    until_resumed: float = NAN  # [s] from the new start to a force
    saved: float = NAN  # messages in the repaired bag of a killed recorder
    lost: float = NAN  # [s] between the last message in it and the kill


class Kills:
    """A test that kills and restarts nodes."""

    def __init__(self, nodes: NodeProcesses, watch: Watch, folder: Path, seed: int):
        self._processes, self._watch, self._folder = nodes, watch, folder
        self._random, self._bags = random.Random(seed), []

    def run(self, number: int) -> tuple[list[Kill], list[Check]]:
        """Return (kills, checks). Raise SoakEnded if the loop does not come back."""
        for name in ("simulator", "controller"):
            self._processes.start(name)
        self._record(COMING_UP)
        self._wait_for_loop(after=time.time_ns(), timeout=COMING_UP)
        kills = [
            self._kill(VICTIMS[k % len(VICTIMS)], may_be_early=k >= len(VICTIMS))
            for k in range(number)
        ]
        return kills, check_kills(kills)

    def _kill(self, victim: str, may_be_early: bool) -> Kill:
        early = may_be_early and victim != "recorder" and self._random.random() < EARLY
        if early:  # it runs since the kill before; this start is not to succeed
            kill(self._processes.processes[victim])
            self._processes.start(victim)
            self._watch.rest(self._random.uniform(0.0, STARTING_FOR))
        else:
            self._watch.rest(self._random.uniform(0.1, RUNNING_FOR))
        kill(self._processes.processes[victim])
        at = time.time_ns()
        if victim == "recorder":
            saved, lost = self._repair(at)
            self._record()
            return Kill(victim, early, saved=saved, lost=lost)
        zero = self._zero(at) if victim == "controller" and not early else (NAN, NAN)
        self._processes.start(victim)
        return Kill(victim, early, *zero, self._wait_for_loop(after=time.time_ns()))

    def _zero(self, at: int) -> tuple[float, float]:
        """Return (real, simulated) time [s] until the last force that was not zero: since the
        kill, since the state last answered.
        """
        self._watch.rest(ON_THE_WAY + ZERO_FOR)
        self._watch.until(
            lambda: self._watch.force == (0.0, 0.0), 5.0, "the force did not become zero"
        )
        said, stamped = self._watch.pushed
        return max(0.0, (said - at) * 1e-9), (stamped - self._watch.answered) * 1e-9

    def _wait_for_loop(self, after: int, timeout: float = RESUMED) -> float:
        watch = self._watch

        def acts() -> bool:
            watch.require(self._processes)
            return watch.pushed[0] > after and watch.is_running

        return watch.until(acts, timeout, "the loop did not recover")

    def _record(self, timeout: float = RESUMED) -> None:
        self._bags.append(self._folder / f"bag_{len(self._bags)}")
        topics = "[/odometry, /joint_states, /cart/command]"
        self._processes.start(
            "recorder",
            arguments=["-p", f"bag.path:={self._bags[-1]}", "-p", f"bag.topics:={topics}"],
        )
        file = self._bags[-1] / f"{self._bags[-1].name}.mcap"
        self._watch.until(
            lambda: file.exists() and file.stat().st_size > 10_000,
            timeout,
            "the recorder wrote nothing",
        )

    def _repair(self, at: int) -> tuple:
        """Return (messages, [s] lost before the kill) of the newest bag, which is without an
        end.
        """
        from rosbags.rosbag2 import Reader

        made = self._bags[-1].with_name(f"{self._bags[-1].name}_repaired")
        saved = repair(self._bags[-1], made)
        with Reader(made) as reader:
            return float(saved.messages), max(0.0, (at - reader.end_time) * 1e-9)


def check_kills(kills: list[Kill]) -> list[Check]:
    """Return the checks; the watchdog's timeout is that of the shipped parameters.

    A command may answer a state as old as the timeout, and then counts for as long: however busy
    the machine is, no force acts on the plant for more simulated time than twice that.
    """
    timeout = lookup("watchdog.timeout", "").default
    known = {
        name: [getattr(kill, name) for kill in kills if not math.isnan(getattr(kill, name))]
        for name in Kill._fields[2:]
    }
    readable = [kill.saved > 0.0 for kill in kills if kill.victim == "recorder"]
    checks = [
        count_check("kills after which the loop recovered", len(kills), len(kills)),
        Check(
            "from the last answered state to zero force, simulated, longest",
            max(known["pushed"], default=NAN),
            2.0 * timeout,
            "s",
        ),
        Check(
            "from a controller's kill to zero force, median",
            median(known["until_zero"] or [NAN]),
            timeout + ON_THE_WAY,
            "s",
        ),
        Check(
            "from a start to a force, longest",
            max(known["until_resumed"], default=NAN),
            RESUMED,
            "s",
        ),
    ]
    if readable:
        lost = max(known["lost"])
        checks += [
            count_check("bags of killed recorders that are read", sum(readable), len(readable)),
            Check("missing end of such a bag, longest", lost, SAVED_EVERY + GAP, "s"),
        ]
    return checks
