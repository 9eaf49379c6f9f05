"""The loop under test for a long time, under kills, and under troubles: a verdict, figures, a picture."""

import argparse
import json
import os
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from rbdyn_ros.settings.parameter import Parameter, check
from rbdyn_ros.settings.yaml_file import value_of

COMMAND = "python -m rbdyn_ros soak"
HELP = "run the nodes for long, kill them, disturb them; a verdict, figures as JSON, a picture"
EXAMPLES = f"""\
{COMMAND} --minutes 10        # memory flat, no drift of the loop, no growing queue
{COMMAND} --kills 50          # kill simulator, controller and recorder at any moment and start them anew
{COMMAND} --trouble           # pauses, resets, changes of pace, 30 % loss and 20 ms jitter, on a busy machine
"""
PASSED, FAILED, BAD_INPUT, NO_ROS, CANNOT_WRITE, INTERRUPTED = 0, 1, 2, 3, 4, 130
MINUTES = Parameter("--minutes", 10.0, "min", "", low=0.0, low_open=True)
KILLS = Parameter("--kills", 50, "", "", kind="int", low=1)
SEED = Parameter("--seed", 0, "", "", kind="int", low=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--minutes", metavar="N", help="soak for so long; the default, 10, if nothing else is asked for")
    parser.add_argument("--kills", metavar="N", help="kill and restart so many times")
    parser.add_argument("--trouble", action="store_true", help="pause, reset, lose commands, on a busy machine")
    parser.add_argument("--seed", metavar="N", default="0", help="chooses the moments; default 0")
    parser.add_argument("--out", metavar="DIR", help="folder of the results, new or empty; default: soak_<time>")


def run(arguments: argparse.Namespace) -> int:
    """Test; 0 passed, 1 failed, 2 bad input, 3 there is no ROS 2, 4 a file cannot be written, 130 interrupted."""
    if find_spec("rclpy") is None:
        return _say("there is no ROS 2 here: rclpy cannot be imported; start it as ./testbed soak, or source a ROS 2", NO_ROS)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))  # not where others are
    try:
        seed, tests = _number(SEED, arguments.seed), _tests(arguments)
        out = _folder(arguments.out)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _judged(tests, seed, out)
    except KeyboardInterrupt:
        return _say(f"interrupted; what was written is in {out}", INTERRUPTED)
    except OSError as error:
        return _say(f"cannot write {error.filename or out}: {error.strerror}; make room, or choose another --out", CANNOT_WRITE)


def _tests(arguments: argparse.Namespace) -> dict:
    """Test -> its size. ValueError for a size that does not fit."""
    tests = {}
    if arguments.minutes or not (arguments.kills or arguments.trouble):
        tests["soak"] = _number(MINUTES, arguments.minutes or str(MINUTES.default))
    if arguments.kills:
        tests["kills"] = _number(KILLS, arguments.kills)
    if arguments.trouble:
        tests["trouble"] = True
    return tests


def _folder(out: str | None) -> Path:
    folder = Path(out or f"soak_{datetime.now():%Y-%m-%d_%H-%M-%S}").expanduser()
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"--out is {folder}, which is not empty; choose another, so that nothing is lost")
    return folder


def _number(parameter: Parameter, text: str):
    return check(parameter, value_of(text, "command line"), "command line")


def _judged(tests: dict, seed: int, out: Path) -> int:
    from rbdyn_ros.nodes.endurance import Endurance

    results = {}
    for name, size in tests.items():
        (out / name).mkdir()
        results[name] = Endurance(out / name, seed).run(name, size)
        print(f"{name}:", *(check.sentence for check in results[name].checks), sep="\n  ", flush=True)
        if results[name].failure:
            print(f"  FAIL {results[name].failure}")
    passed = all(result.passed for result in results.values())
    file = out / "soak.json"
    file.write_text(json.dumps({"passed": passed, "seed": seed, **{name: result.written() for name, result in results.items()}}, indent=1) + "\n")
    print("passed" if passed else "FAILED", f"wrote {out}", sep="\n")
    return PASSED if passed else FAILED


def _say(sentence: str, code: int) -> int:
    print(f"{COMMAND}: {sentence}", file=sys.stderr)
    return code
