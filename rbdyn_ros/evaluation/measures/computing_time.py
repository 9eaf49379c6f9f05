"""The time that the law takes for a command, against its control period.

A command's time is that of the wall clock, for a law that sleeps, waits for a device or computes
in threads of its own is late too. Where the system preempted the law during the command (an
involuntary context switch), it is the processor time of the thread alone, so that a loaded machine
is not counted against the law.
"""

import os
import resource
import time

import numpy as np

from rbdyn_ros.evaluation import metrics
from rbdyn_ros.evaluation.metrics import Metric


def measure(bench, scenario, settings) -> Metric:
    """Run the law once, whether the rod falls or not."""
    watch = Stopwatch(bench.law(scenario))
    start = metrics.start_state(settings)
    bench.run(scenario, start, settings["duration"], wrap=lambda law: watch)
    times = 1e3 * np.array(watch.times)
    preempted = 100.0 * watch.preempted / len(times)
    median, p99 = map(float, np.percentile(times, (50.0, 99.0)))
    period, load, processors = 1e3 * scenario.period, os.getloadavg()[0], os.cpu_count() or 1
    values = {
        "of_period": 100.0 * p99 / period,
        "p99": p99,
        "median": median,
        "largest": float(times.max()),
    }
    note = (
        f"99 of 100 commands take at most {p99:.3g} ms of a control period of {period:g} ms, at a "
        f"load average of {load:.1f} on {processors} processors"
    )
    return Metric({**values, "preempted": preempted, "load": load / processors}, note=note)


class Stopwatch:
    """A wrapper of a law that measures the time [s] of each of its commands."""

    def __init__(self, law):
        self.law, self.times, self.preempted = law, [], 0

    def command(self, t, state, reference):
        """Return the law's own command."""
        switches, worked, began = _involuntary_switches(), time.thread_time(), time.perf_counter()
        force = self.law.command(t, state, reference)
        elapsed, worked = time.perf_counter() - began, time.thread_time() - worked
        taken = _involuntary_switches() > switches
        self.preempted += taken
        self.times.append(worked if taken else elapsed)
        return force


def _involuntary_switches() -> int:
    """Return how often the system took the processor from this thread."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
