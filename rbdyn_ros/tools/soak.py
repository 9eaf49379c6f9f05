"""The soak test: simulator and controller run for a long time, and nothing may grow, drift or
queue.
"""

import time

import psutil

from rbdyn_ros.evaluation.latency.latency_limits import unanswered
from rbdyn_ros.tools.endurance_limits import Check, Sample, judged
from rbdyn_ros.tools.node_processes import NodeProcesses
from rbdyn_ros.tools.soak_watch import Over, Watch

LOOKED_EVERY = 1.0  # [s]
COMING_UP = 180.0  # [s] the first start on a machine compiles
NAMES = ("simulator", "controller")


def soak(nodes: NodeProcesses, watch: Watch, minutes: float) -> tuple[list[Sample], list[Check]]:
    """Let them run; (samples, checks). Over if one of them ends."""
    for name in NAMES:
        nodes.start(name)
    watch.until(lambda: watch.runs or nodes.ended(), COMING_UP, "the loop did not start")
    processes = [psutil.Process(nodes.processes[name].pid) for name in NAMES]
    watch.rest(2.0)
    watch.latency.turn_window()
    begin, samples = time.monotonic(), []
    while time.monotonic() - begin < 60.0 * minutes:
        watch.rest(begin + (len(samples) + 1) * LOOKED_EVERY - time.monotonic())
        if nodes.ended():
            raise Over(f"the {nodes.ended()} ended; see {nodes.log(nodes.ended().split(', ')[0])}")
        samples.append(look(watch, processes, begin))
    return samples, judged(samples, NAMES, watch.latency.tick)


def look(watch: Watch, processes: list[psutil.Process], begin: float) -> Sample:
    """A sample; a new window of latency begins."""
    trip = 1e3 * watch.latency.round_trip.window.percentile(50)
    counts = watch.latency.turn_window()
    return Sample(
        t=time.monotonic() - begin,
        rss=tuple(process.memory_info().rss / 2**20 for process in processes),
        threads=tuple(process.num_threads() for process in processes),
        files=tuple(process.num_fds() for process in processes),
        clock=watch.counted,
        simulated=float(watch.counts.get("time", "nan")),
        missed=float(watch.counts.get("missed", "nan")),
        round_trip=trip,
        unanswered=unanswered(counts),
    )
