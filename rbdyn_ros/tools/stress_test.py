"""Tests of a loop that is disturbed. Stress: pauses, resets, changes of rate, losses, while the
machine is kept busy. Kills: simulator, controller and recorder are killed at any moment and
started anew.
"""

import math
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.parameters.tables import lookup
from rbdyn_ros.ros.recording.bag_repair import SAVED_EVERY, repair
from rbdyn_ros.ros.topic_observer import SIMULATOR
from rbdyn_ros.simulation.status import PAUSED
from rbdyn_ros.tools.node_processes import COMING_UP, NodeProcesses
from rbdyn_ros.tools.soak_watch import Check, SoakEnded, Watch, count_check

TIMES = 20
FAULTY = 10.0  # [s] with losses and jitter
DROP, JITTER = 0.3, 0.02  # of the command; [s]
TIMEOUT = 30.0  # [s]
STANDING = math.cos(math.radians(30.0))


@contextmanager
def load_processors():
    """Run as many processes as there are processors, each of which computes without end."""
    burners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


class StressTest:
    """Disturbances of the loop, and the checks whether it goes on."""

    def __init__(self, nodes: NodeProcesses, watch: Watch, seed: int):
        self._processes, self._watch, self._random = nodes, watch, random.Random(seed)

    def run(self) -> list[Check]:
        """Return the checks. Raise SoakEnded if the loop does not go on."""
        for name in ("simulator", "controller"):
            self._processes.start(name)
        self._watch.until(self._is_running, COMING_UP, "the loop did not start")
        with load_processors():
            checks = [self._pause(), self._reset(), self._change_rate(), *self._lose_commands()]
        return checks

    def _pause(self) -> Check:
        """Check that time stands still while paused, and goes on."""
        stood = 0
        for _ in range(TIMES):
            self._rest()
            self._call(SetBool, "pause", data=True)
            self._watch.until(
                lambda: self._watch.status[SIMULATOR] == PAUSED,
                TIMEOUT,
                "the simulator did not pause",
            )
            self._watch.rest(0.05)
            before = self._watch.simulated
            self._watch.rest(0.1)
            stood += self._watch.simulated == before
            self._call(SetBool, "pause", data=False)
            self._check_going_on("after a pause")
        what = f"pauses, of {TIMES}, in which time stood still and after which it went on"
        return count_check(what, stood, TIMES)

    def _reset(self) -> Check:
        """Check that time stays monotonic and the rod is caught again."""
        monotonic = 0
        for _ in range(TIMES):
            self._rest()
            before = self._watch.simulated
            self._call(Trigger, "reset")
            self._check_going_on("after a reset")
            monotonic += self._watch.simulated > before
        self._check_standing("after the resets")
        return count_check(f"resets, of {TIMES}, after which the loop went on", monotonic, TIMES)

    def _change_rate(self) -> Check:
        """Check that the loop goes on at other rates, changed while it runs."""
        factors = 0.5, 2.0, 0.25, 1.0
        for factor in factors:
            self._set("real_time_factor", factor)
            self._check_going_on(f"at {factor} times real time")
        changed = len(factors)
        return count_check("changes of pace after which the loop went on", changed, changed)

    def _lose_commands(self) -> list:
        """Check that the rod stands in spite of losses, and that they are counted."""
        self._check_standing("before the losses")
        before = self._watch.counts.copy()
        self._set("faults.command.drop", DROP)
        self._set("faults.command.jitter", JITTER)
        lowest = [1.0]
        for _ in range(round(10 * FAULTY)):
            self._watch.rest(0.1)
            lowest.append(self._watch.state[1])
        after = self._watch.counts
        self._set("faults.command.drop", 0.0)
        self._set("faults.command.jitter", 0.0)
        dropped = sum(
            float(after[key]) - float(before.get(key, 0.0))
            for key in after
            if "command" in key and "drop" in key
        )
        return [
            Check(
                f"tilt with {100 * DROP:.0f} % of the commands lost and {1e3 * JITTER:.0f} ms of "
                "jitter, largest",
                math.degrees(math.acos(max(-1.0, min(lowest)))),
                30.0,
                "degrees",
            ),
            count_check("commands that were dropped, and counted", dropped, 100),
        ]

    def _is_running(self) -> bool:
        self._watch.require(self._processes)
        return self._watch.is_running

    def _check_going_on(self, when: str) -> None:
        before = self._watch.simulated
        self._watch.until(
            lambda: self._is_running() and self._watch.simulated > before + 0.05,
            TIMEOUT,
            f"the loop did not go on {when}",
        )

    def _check_standing(self, when: str) -> None:
        self._watch.until(
            lambda: self._is_running() and self._watch.state[1] > STANDING,
            TIMEOUT,
            f"the rod did not stand {when}",
        )

    def _rest(self) -> None:
        self._watch.rest(self._random.uniform(0.0, 0.3))

    def _call(self, kind, service: str, **fields) -> None:
        response = self._watch.call(kind, f"{SIMULATOR}/{service}", TIMEOUT, **fields)
        if not response.success:
            raise SoakEnded(f"~/{service}: {response.message}")

    def _set(self, name: str, value: float) -> None:
        asked = [Parameter(name, value=value).to_parameter_msg()]
        (result,) = self._watch.call(
            SetParameters, f"{SIMULATOR}/set_parameters", TIMEOUT, parameters=asked
        ).results
        if not result.successful:
            raise SoakEnded(f"{name} was not set: {result.reason}")


VICTIMS = ("controller", "recorder", "simulator")  # in turn
# [s] the longest time from the loop's, or a process's, start to the kill
RUNNING_FOR, STARTING_FOR = 1.0, 2.0
EARLY = 0.25  # part of the kills, after the first of each, that fall into a start
RESUMED = 60.0  # [s] a machine under load starts Python slowly
ON_THE_WAY = 0.1  # [s] from the simulator's decision to its message here
ZERO_FOR = 0.3  # [s] the force is watched after it should be zero
GAP = 1.0  # [s] that a recorder may lose besides what it has not saved
NAN = math.nan


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
        self._record()
        self._wait_for_loop(after=time.time_ns(), timeout=COMING_UP)
        kills = [
            self._kill(VICTIMS[k % len(VICTIMS)], may_be_early=k >= len(VICTIMS))
            for k in range(number)
        ]
        return kills, check_kills(kills)

    def _kill(self, victim: str, may_be_early: bool) -> Kill:
        early = may_be_early and victim != "recorder" and self._random.random() < EARLY
        if early:  # it runs since the kill before; this start is not to succeed
            self._processes.kill(victim)
            self._processes.start(victim)
            self._watch.rest(self._random.uniform(0.0, STARTING_FOR))
        else:
            self._watch.rest(self._random.uniform(0.1, RUNNING_FOR))
        self._processes.kill(victim)
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

    def _record(self) -> None:
        self._bags.append(self._folder / f"bag_{len(self._bags)}")
        topics = "[/odometry, /joint_states, /cart/command]"
        self._processes.start(
            "recorder",
            arguments=["-p", f"bag.path:={self._bags[-1]}", "-p", f"bag.topics:={topics}"],
        )
        file = self._bags[-1] / f"{self._bags[-1].name}.mcap"
        self._watch.until(
            lambda: file.exists() and file.stat().st_size > 10_000,
            RESUMED,
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
