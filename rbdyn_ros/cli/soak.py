"""The loop under test for a long time, under kills, and under troubles: a verdict, figures, a
picture.
"""

import argparse
import json
import os
from pathlib import Path

from rbdyn_ros.console import SIGNAL, received_signal
from rbdyn_ros.files import make_folder, write_or_rescue
from rbdyn_ros.optional import no_ros
from rbdyn_ros.parameters.command_line import add_options, fresh_folder, number, voice
from rbdyn_ros.schema import Parameter

COMMAND = "python -m rbdyn_ros soak"
HELP = "Run the nodes for long, kill and disturb them; give a verdict."
EXAMPLES = f"""\
{COMMAND} --minutes 10        # memory flat, no drift of the loop, no growing queue
{COMMAND} --kills 50    # kill simulator, controller and recorder at any moment and start them anew
{COMMAND} --trouble   # pauses, resets, changes of rate, 30 % loss, 20 ms jitter, on a busy machine
"""
_say = voice(COMMAND)
PASSED, FAILED, BAD_INPUT, NO_ROS, CANNOT_WRITE = 0, 1, 2, 3, 4
MINUTES = Parameter("--minutes", 10.0, "min", "", low=0.0, low_open=True)
KILLS = Parameter("--kills", 50, "", "", kind="int", low=1)
SEED = Parameter("--seed", 0, "", "", kind="int", low=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_options(
        parser,
        ("--minutes", "N", "Run for N minutes (default: 10 if nothing else is requested)."),
        ("--kills", "N", "Kill and restart nodes N times."),
        (
            "--trouble",
            None,
            "Pause, reset and lose commands while other processes use the machine.",
        ),
        ("--view", None, "Run the viewer beside the soak, too, and watch it as the other nodes."),
        ("--seed", "N", "Choose the random times by this seed (default: 0).", "0"),
        (
            "--out",
            "DIR",
            "Write the results to this folder, which must be new or empty (default: soak_<time>).",
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Test; 0 passed, 1 failed, 2 bad input, 3 there is no ROS 2, 4 a file cannot be written, 128
    + n signal n.
    """
    if missing := no_ros("start it as ./testbed soak"):
        return _say(missing, NO_ROS)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))  # not where others are
    try:
        seed, tests = number(SEED, arguments.seed), _tests(arguments)
        out = fresh_folder(arguments.out, "soak")
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        make_folder(out)
        return _report(tests, seed, out, bool(arguments.view))
    except KeyboardInterrupt as stop:  # with the signal's number, where a test has heard it
        return _say(
            f"interrupted; what was written is in {out}",
            SIGNAL + (stop.args[0] if stop.args else received_signal()),
        )
    except OSError as error:
        return _say(
            f"cannot write {error.filename or out}: {error.strerror}; make room, or choose "
            "another --out",
            CANNOT_WRITE,
        )


def _tests(arguments: argparse.Namespace) -> dict:
    """Test -> its size. ValueError for a size that does not fit."""
    tests = {}
    if arguments.minutes or not (arguments.kills or arguments.trouble):
        tests["soak"] = number(MINUTES, arguments.minutes or str(MINUTES.default))
    if arguments.kills:
        tests["kills"] = number(KILLS, arguments.kills)
    if arguments.trouble:
        tests["trouble"] = True
    return tests


def _report(tests: dict, seed: int, out: Path, with_view: bool) -> int:
    from rbdyn_ros.tools.endurance import NAMES, Endurance

    results, names = {}, (*NAMES, "viewer") if with_view else NAMES
    for name, size in tests.items():
        (out / name).mkdir()
        results[name] = Endurance(out / name, seed, names).run(name, size)
        print(
            f"{name}:", *(check.sentence for check in results[name].checks), sep="\n  ", flush=True
        )
        if results[name].failure:
            print(f"  FAIL {results[name].failure}")
    passed = all(result.passed for result in results.values())
    print("passed" if passed else "FAILED", flush=True)
    text = (
        json.dumps(
            {
                "passed": passed,
                "seed": seed,
                **{name: result.written() for name, result in results.items()},
            },
            indent=1,
        )
        + "\n"
    )
    _, elsewhere = write_or_rescue(out / "soak.json", lambda draft: draft.write_text(text))
    print(f"wrote {out}")
    if elsewhere:
        return _say(elsewhere, CANNOT_WRITE)
    return PASSED if passed else FAILED
