"""The command `soak`: the loop under test for a long time, under kills, and under disturbances; a
verdict, figures, a picture.
"""

import argparse
from pathlib import Path

from rbdyn_ros.console import SIGNAL, received_signal
from rbdyn_ros.files import json_text, make_folder, write_or_rescue
from rbdyn_ros.optional import library, no_ros, stay_local
from rbdyn_ros.parameters.command_line import (
    SEED,
    add_options,
    cannot_write,
    fresh_folder,
    message_printer,
    number,
)
from rbdyn_ros.schema import setting

COMMAND = "python -m rbdyn_ros soak"
HELP = "Run the nodes for long, kill and disturb them; give a verdict."
EXAMPLES = f"""\
# memory flat, no drift of the loop, no growing queue
{COMMAND} --minutes 10
# kill simulator, controller and recorder at any moment, start them anew
{COMMAND} --kills 50
# pauses, resets, changes of rate, 30 % loss, 20 ms jitter, a busy machine
{COMMAND} --trouble
"""
_say = message_printer(COMMAND)
PASSED, FAILED, BAD_INPUT, NO_ROS, CANNOT_WRITE = 0, 1, 2, 3, 4
MINUTES = setting("--minutes", 10.0, "min", above=0.0)
KILLS = setting("--kills", 50, low=1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
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
        (SEED, "N", "Choose the random times by this seed"),
        (
            "--out",
            "DIR",
            "Write the results to this folder, which must be new or empty (default: soak_<time>).",
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Test the loop and return the exit code: 0 passed, 1 failed, 2 bad input, 3 there is no ROS
    2, 4 a file cannot be written, 128 + n signal n.
    """
    if missing := no_ros("start it as ./testbed soak"):
        return _say(missing, NO_ROS)
    stay_local(own_domain=True)
    try:
        seed, tests = number(SEED, arguments.seed), _tests(arguments)
        out = fresh_folder(arguments.out, "soak")
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        make_folder(out)
        return _report(tests, seed, out, bool(arguments.view))
    except KeyboardInterrupt as stop:  # with the signal's number, where a test has received it
        return _say(
            f"interrupted; what was written is in {out}",
            SIGNAL + (stop.args[0] if stop.args else received_signal()),
        )
    except OSError as error:
        return _say(cannot_write(error, out), CANNOT_WRITE)


def _tests(arguments: argparse.Namespace) -> dict:
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


def _report(tests: dict, seed: int, out: Path, with_view: bool) -> int:
    from rbdyn_ros.tools import endurance

    results, names = {}, (*endurance.NAMES, *(("viewer",) if with_view else ()))
    for name, size in tests.items():
        (out / name).mkdir()
        results[name] = endurance.run(name, size, out / name, seed, names)
        print(
            f"{name}:", *(check.sentence for check in results[name].checks), sep="\n  ", flush=True
        )
        if results[name].failure:
            print(f"  FAIL {results[name].failure}")
    passed = all(result.passed for result in results.values())
    print("passed" if passed else "FAILED", flush=True)
    found = {name: result.as_json() for name, result in results.items()}
    text = json_text({"passed": passed, "seed": seed, **found})
    _, elsewhere = write_or_rescue(out / "soak.json", text)
    print(f"wrote {out}")
    if elsewhere:
        return _say(elsewhere, CANNOT_WRITE)
    return PASSED if passed else FAILED
