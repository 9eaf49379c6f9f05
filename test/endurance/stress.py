"""Pauses, resets, changes of rate and losses of a running loop, while the machine is kept busy."""

import math
import os
import random
import subprocess
import sys
from contextlib import contextmanager

from checks import Check, count_check
from loop_watch import SoakEnded, Watch
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.plant.status import PAUSED
from rbdyn_ros.ros.node_processes import COMING_UP, NodeProcesses
from rbdyn_ros.ros.topic_observer import SIMULATOR

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
