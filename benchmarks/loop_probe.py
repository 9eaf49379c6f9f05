"""The process that `loop.py` measures: the simulator, and the controller in it or beside it. It
prints figures as JSON.

python benchmarks/loop_probe.py PROCESSES WARM_UP SECONDS [name:=value ...]

With `lockstep.enabled:=true` it measures ticks that wait for their commands, and with
`real_time_factor:=0.0` besides, how many of them pass in a second.
"""

import gc
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
from loop_figures import figures

from rbdyn_ros.parameters import shipped
from rbdyn_ros.plant.statistics import Statistics
from rbdyn_ros.plant.status import PLAYING
from rbdyn_ros.ros.controller.controller_node import ControllerNode
from rbdyn_ros.ros.process import events_executor, run
from rbdyn_ros.ros.simulator.simulator_node import Simulator

# A tick of 1 ms; the history is full when the warm-up ends, for a ring that fills touches new
# memory.
SETTINGS = (
    "rates.state:=1000.0",
    "integrator.step:=0.001",
    "controller:=lqr",
    "history.duration:=1.0",
)
SAMPLED_EVERY = 0.5  # [s] memory


class Trips:
    """Round trips [s] in an array that is allocated before. /diagnostics, which would sort a list
    that grows, gets none.
    """

    def __init__(self, room: int):
        # written, so that the memory is theirs
        self._array, self._count = np.full(room, np.nan), 0

    def append(self, trip: float) -> None:
        self._array[self._count] = trip
        self._count += 1

    def __iter__(self):
        return iter(())

    def all(self):
        """Return all round trips."""
        return self._array[: self._count]


class Kept(Statistics):
    """Statistics that keep the instant of every publication, and every round trip."""

    def __init__(self, room: int):
        super().__init__()
        self.round_trips = Trips(room)
        # written, so that the memory is theirs
        self._instants, self._published = np.full(room, np.nan), 0

    def record_publication(self, stamp: int) -> None:
        super().record_publication(stamp)
        self._instants[self._published] = time.monotonic()
        self._published += 1

    @property
    def instants(self):
        """The instants of all publications [s, steady]."""
        return self._instants[: self._published]


class Probe:
    """A measurement of the simulator once it plays; `over` is called between two callbacks."""

    def __init__(self, warm_up: float, seconds: float):
        self._warm_up, self._seconds = warm_up, seconds
        self._process = psutil.Process()
        self._start, self._memory = 0.0, []  # rows: time [s], RSS [B], allocated blocks
        self.simulator, self.began = None, 0.0

    def make(self) -> Simulator:
        """Return the simulator to be measured."""
        self.simulator = Simulator()
        return self.simulator

    def over(self) -> bool:
        """Return whether the measurement is complete."""
        runner, now = self.simulator.runner, time.monotonic()
        if runner.status != PLAYING:
            return False
        self.began = self.began or now
        if not self._start and now - self.began > self._warm_up:
            self._begin()
        if self._start and now - self._start > len(self._memory) * SAMPLED_EVERY:
            self._memory.append((now, self._process.memory_info().rss, sys.getallocatedblocks()))
        return bool(self._start) and now - self._start > self._seconds

    def _begin(self) -> None:
        runner = self.simulator.runner
        self._clock = time.pthread_getcpuclockid(
            next(t.ident for t in threading.enumerate() if t.name == "simulation")
        )
        gc.collect()
        runner.reset_statistics()
        runner.statistics = self._kept = Kept(round(2e4 * self._seconds))
        self._step, self._all = time.clock_gettime(self._clock), time.process_time()
        self._start = time.monotonic()

    def figures(self) -> dict:
        """Return the figures from the beginning until now; the thread still runs."""
        elapsed, runner, kept = time.monotonic() - self._start, self.simulator.runner, self._kept
        step, whole = time.clock_gettime(self._clock) - self._step, time.process_time() - self._all
        t, rss, blocks = np.array(
            self._memory[len(self._memory) // 2 :], float
        ).T  # rings and caches have filled by then
        return {
            "ticks": kept.ticks,
            "ticks_per_second": kept.ticks / elapsed,
            "step_thread_us_per_tick": 1e6 * step / kept.ticks,
            "simulator_us_per_tick": 1e6 * whole / kept.ticks,
            **figures(
                kept.instants,
                kept.round_trips.all(),
                step,
                whole,
                elapsed,
            ),
            "missed_percent": 100.0 * runner.pacer.missed / (kept.ticks + runner.pacer.missed),
            "blocks_per_second": slope(t, blocks),
            "rss_kib_per_second": slope(t, rss) / 1024.0,
        }


def slope(t, y) -> float:
    """Return dy/dt by least squares."""
    return float(np.polyfit(t - t[0], y, 1)[0])


def main(processes: int, warm_up: float, seconds: float, *settings: str) -> int:
    """Measure and print; `settings` are parameters besides SETTINGS, such as faults."""
    files = [str(shipped.config() / f"{name}.yaml") for name in ("pendulum", "simulation", "lqr")]
    words = ["--ros-args", "--log-level", "warn"]
    words += [word for file in files for word in ("--params-file", file)] + [
        word for setting in (*SETTINGS, *settings) for word in ("-p", setting)
    ]
    probe, found = Probe(warm_up, seconds), []

    def until(node) -> bool:
        if probe.over() and not found:
            found.append(probe.figures())
        return bool(found)

    kinds = (probe.make, ControllerNode) if processes == 1 else (probe.make,)
    other = (
        None
        if processes == 1
        else subprocess.Popen(
            [
                sys.executable,
                "-m",
                "rbdyn_ros.ros.start",
                str(os.getpid()),
                "controller",
                *words,
            ],
            stdout=subprocess.DEVNULL,
        )
    )
    code = run(kinds, words, until=until, executor=events_executor)
    if other:
        other.terminate()
        other.wait()
    if found:
        print(json.dumps(found[0]))
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(float, sys.argv[2:4]), *sys.argv[4:]))
