"""The endurance tests behind `python -m rbdyn_ros soak`: their nodes, parameters and
output files.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

from rbdyn_ros.interrupts import Interruption
from rbdyn_ros.progress import LiveLine
from rbdyn_ros.ros import share
from rbdyn_ros.tools import endurance_figure
from rbdyn_ros.tools.kills import Kills
from rbdyn_ros.tools.node_processes import NodeProcesses
from rbdyn_ros.tools.soak import soak
from rbdyn_ros.tools.soak_watch import Over, Watch
from rbdyn_ros.tools.stress_test import StressTest

# Between a kill and a new start the rod falls: only a law that swings it up comes back from that.
LAWS = {"soak": "lqr", "kills": "swing_up", "trouble": "lqr"}


class Result(NamedTuple):
    """What a test has found."""

    rows: list  # NamedTuples: samples, or kills
    checks: list
    failure: str  # why it broke off, else ""

    @property
    def passed(self) -> bool:
        """Whether everything was proven."""
        return not self.failure and all(check.ok for check in self.checks)

    def written(self) -> dict[str, Any]:
        """As JSON has it."""
        checks = [{**check._asdict(), "ok": check.ok} for check in self.checks]
        return {
            "passed": self.passed,
            "failure": self.failure,
            "checks": checks,
            "rows": [row._asdict() for row in self.rows],
        }


class Endurance:
    """Runs one test with its results in `folder`."""

    def __init__(self, folder: Path, seed: int):
        self._folder, self._seed = folder, seed

    def run(self, name: str, size) -> Result:
        """The test `name`: "soak" of `size` minutes, `size` "kills", "trouble". KeyboardInterrupt
        when a signal comes.
        """
        live = LiveLine(sys.stderr)
        nodes = NodeProcesses(words(LAWS[name]), self._folder)
        with Interruption() as stop:
            watch = Watch(stop, live.show)
            try:
                rows, checks = self._test(name, size, nodes, watch)
                failure = ""
            except Over as over:
                rows, checks, failure = [], [], str(over)
            finally:
                live.close()
                nodes.end()
                watch.close()
        if name == "soak" and rows:
            endurance_figure.write(rows, self._folder / "soak.png")
        return Result(rows, checks, failure)

    def _test(self, name: str, size, nodes: NodeProcesses, watch: Watch) -> tuple:
        if name == "soak":
            return soak(nodes, watch, size)
        if name == "kills":
            return Kills(nodes, watch, self._folder, self._seed).run(size)
        return [], StressTest(nodes, watch, self._seed).run()


def words(law: str) -> list[str]:
    """The ROS command line of every node: the shipped parameters and the law's."""
    files = [share.config() / f"{name}.yaml" for name in ("pendulum", "simulation", law)]
    return [word for file in files for word in ("--params-file", str(file))] + [
        "-p",
        f"controller:={law}",
    ]
