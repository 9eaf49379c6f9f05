"""StressTest under load: pauses, resets, changes of pace, losses; the machine is kept busy
meanwhile.
"""

import math
import os
import random
import subprocess
import sys
from contextlib import contextmanager

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from rbdyn_ros.ros.topic_observer import SIMULATOR
from rbdyn_ros.simulation.status import PAUSED
from rbdyn_ros.tools.endurance_limits import Check, count_check
from rbdyn_ros.tools.node_processes import NodeProcesses
from rbdyn_ros.tools.soak_watch import Over, Watch

TIMES = 20
FAULTY = 10.0  # [s] with losses and jitter
DROP, JITTER = 0.3, 0.02  # of the command; [s]
TIMEOUT = 30.0  # [s]
STANDING = math.cos(math.radians(30.0))


@contextmanager
def busy():
    """As many processes as there are processors, each of which computes without end."""
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
    """What is done to the loop, and whether it goes on."""

    def __init__(self, nodes: NodeProcesses, watch: Watch, seed: int):
        self._processes, self._watch, self._random = nodes, watch, random.Random(seed)

    def run(self) -> list[Check]:
        """The checks. Over if the loop does not go on."""
        for name in ("simulator", "controller"):
            self._processes.start(name)
        self._watch.until(self._runs, 180.0, "the loop did not start")
        with busy():
            checks = [self._pause(), self._reset(), self._change_pace(), *self._lossy()]
        return checks

    def _pause(self) -> Check:
        """Time stands still while paused, and goes on."""
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
            self._goes_on("after a pause")
        what = f"pauses, of {TIMES}, in which time stood still and after which it went on"
        return count_check(what, stood, TIMES)

    def _reset(self) -> Check:
        """Time stays monotonic, the rod is caught again."""
        monotonic = 0
        for _ in range(TIMES):
            self._rest()
            before = self._watch.simulated
            self._call(Trigger, "reset")
            self._goes_on("after a reset")
            monotonic += self._watch.simulated > before
        self._check_standing("after the resets")
        return count_check(f"resets, of {TIMES}, after which the loop went on", monotonic, TIMES)

    def _change_pace(self) -> Check:
        """Other paces, while it runs."""
        factors = 0.5, 2.0, 0.25, 1.0
        for factor in factors:
            self._set("real_time_factor", factor)
            self._goes_on(f"at {factor} times real time")
        changed = len(factors)
        return count_check("changes of pace after which the loop went on", changed, changed)

    def _lossy(self) -> list:
        """The rod stands in spite of losses, and they are counted."""
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

    def _runs(self) -> bool:
        self._watch.require(self._processes)
        return self._watch.runs

    def _goes_on(self, when: str) -> None:
        before = self._watch.simulated
        self._watch.until(
            lambda: self._runs() and self._watch.simulated > before + 0.05,
            TIMEOUT,
            f"the loop did not go on {when}",
        )

    def _check_standing(self, when: str) -> None:
        self._watch.until(
            lambda: self._runs() and self._watch.state[1] > STANDING,
            TIMEOUT,
            f"the rod did not stand {when}",
        )

    def _rest(self) -> None:
        self._watch.rest(self._random.uniform(0.0, 0.3))

    def _call(self, kind, service: str, **fields) -> None:
        response = self._watch.call(kind, f"{SIMULATOR}/{service}", TIMEOUT, **fields)
        if not response.success:
            raise Over(f"~/{service}: {response.message}")

    def _set(self, name: str, value: float) -> None:
        asked = [Parameter(name, value=value).to_parameter_msg()]
        (result,) = self._watch.call(
            SetParameters, f"{SIMULATOR}/set_parameters", TIMEOUT, parameters=asked
        ).results
        if not result.successful:
            raise Over(f"{name} was not set: {result.reason}")
