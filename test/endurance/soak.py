"""Run the nodes for long, kill and disturb them; give a verdict.

    ./testbed soak --minutes 10   # memory flat, no drift of the loop, no growing queue
    ./testbed soak --kills 50     # simulator, controller and recorder killed at any moment
    ./testbed soak --trouble      # pauses, resets, 30 % loss, 20 ms jitter, a busy machine

The exit code is 0 if all checks hold, 1 if one fails, 2 for bad input. The folder of --out gets
the numbers (soak.json), the logs of the nodes and the picture of the long run.
"""

import argparse
import signal
import sys
from pathlib import Path
from typing import NamedTuple

from rbdyn_ros.console import CannotBegin
from rbdyn_ros.files import json_text, make_folder
from rbdyn_ros.optional import library, no_ros, stay_local
from rbdyn_ros.parameters import shipped
from rbdyn_ros.parameters.command_line import SEED, fresh_folder, number
from rbdyn_ros.ros.node_processes import NodeProcesses, ros_words
from rbdyn_ros.schema import setting

MINUTES = setting("--minutes", 10.0, "min", above=0.0)
KILLS = setting("--kills", 50, low=1)
# Between a kill and a new start the rod falls: only a law that swings it up comes back from that.
LAWS = {"soak": "lqr", "kills": "swing_up", "trouble": "lqr"}


class Result(NamedTuple):
    """The result of a test."""

    rows: list  # NamedTuples: samples, or kills
    checks: list
    failure: str  # why it broke off, else ""

    @property
    def passed(self) -> bool:
        """Whether all checks hold."""
        return not self.failure and all(check.ok for check in self.checks)

    def as_json(self) -> dict:
        """Return the result for JSON."""
        return {
            "passed": self.passed,
            "failure": self.failure,
            "checks": [{**check._asdict(), "ok": check.ok} for check in self.checks],
            "rows": [row._asdict() for row in self.rows],
        }


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", help="run so long (default: 10 if nothing else is requested)")
    add("--kills", help="kill and restart nodes so many times")
    add("--trouble", action="store_true", help="disturb the loop on a busy machine")
    add("--view", action="store_true", help="run and watch the viewer, too, in --minutes")
    add("--seed", default="0", help="choose the random times by this seed (default: 0)")
    add("--out", help="a folder, which must be new or empty (default: soak_<time>)")
    return parser


def main(words: list[str] | None = None) -> int:
    """Run the tests that the command line asks for, one after the other."""
    arguments = make_parser().parse_args(words)
    try:
        if missing := no_ros("start it as ./testbed soak"):
            raise ValueError(missing)
        tests, seed = chosen_tests(arguments), number(SEED, arguments.seed)
        out = make_folder(fresh_folder(arguments.out, "soak"))
    except (ValueError, OSError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    stay_local(own_domain=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the nodes
    try:
        results = {}
        for name, size in tests.items():
            (out / name).mkdir()
            results[name] = result = run(name, size, out / name, seed, arguments.view)
            print(f"{name}:", *(check.sentence for check in result.checks), sep="\n  ", flush=True)
            if result.failure:
                print(f"  FAIL {result.failure}")
    except KeyboardInterrupt:
        print(f"soak: interrupted; what was written is in {out}", file=sys.stderr)
        return 128 + signal.SIGINT
    except CannotBegin as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    passed = all(result.passed for result in results.values())
    found = {name: result.as_json() for name, result in results.items()}
    text = json_text({"passed": passed, "seed": seed, **found})
    (out / "soak.json").write_text(text, "utf-8")
    print("passed" if passed else "FAILED", f"wrote {out}", sep="\n")
    return 0 if passed else 1


def chosen_tests(arguments: argparse.Namespace) -> dict:
    """Return test -> its size. Raise ValueError for a size that does not fit, and for a library
    that is missing.
    """
    tests = {}
    if arguments.view:
        library("viser", "view", "--view")
    if arguments.minutes or not (arguments.kills or arguments.trouble):
        tests["soak"] = number(MINUTES, arguments.minutes or str(MINUTES.default))
    if arguments.kills:
        library("rosbags", "bag", "--kills")
        tests["kills"] = number(KILLS, arguments.kills)
    if arguments.trouble:
        tests["trouble"] = True
    return tests


def run(name: str, size, folder: Path, seed: int, with_view: bool) -> Result:
    """Run a test of that size, with its results in `folder`."""
    from kills import Kills
    from long_run import draw_figure, long_run
    from loop_watch import SoakEnded, Watch
    from stress import StressTest

    files = [shipped.config() / f"{file}.yaml" for file in ("pendulum", "simulation", LAWS[name])]
    nodes = NodeProcesses(ros_words(files, [f"controller:={LAWS[name]}"]), folder)
    watch = Watch()
    rows, checks, failure = [], [], ""
    try:
        if name == "soak":
            names = ("simulator", "controller", *(["viewer"] if with_view else []))
            rows, checks = long_run(nodes, watch, size, names)
            draw_figure(rows, names, folder / "soak.png")
        elif name == "kills":
            rows, checks = Kills(nodes, watch, folder, seed).run(size)
        else:
            checks = StressTest(nodes, watch, seed).run()
    except SoakEnded as over:
        failure = str(over)
    finally:
        nodes.end()
        watch.close()
    return Result(rows, checks, failure)


if __name__ == "__main__":
    sys.exit(main())
