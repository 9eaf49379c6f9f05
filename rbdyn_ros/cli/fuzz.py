"""The command `fuzz`: malformed frames at the wire, and at a bridge that runs."""

import argparse
import tempfile
from functools import partial
from pathlib import Path

from rbdyn_ros.files import json_text, try_file, write_or_rescue
from rbdyn_ros.optional import no_ros, stay_local
from rbdyn_ros.parameters.command_line import SEED, add_options, message_printer, number
from rbdyn_ros.progress import count
from rbdyn_ros.schema import setting

COMMAND = "python -m rbdyn_ros fuzz"
HELP = "Send malformed frames to the wire code and to a bridge."
EXAMPLES = f"""\
{COMMAND}
{COMMAND} --frames 1000000 --bridge 0  # without ROS 2
{COMMAND} --seed 3 --json fuzz.json
"""
_say = message_printer(COMMAND)
PASSED, FAILED, BAD_INPUT, NO_ROS, CANNOT_WRITE = 0, 1, 2, 3, 4
FRAMES = setting("--frames", 100_000, low=0)
BRIDGE = setting("--bridge", 20_000, low=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_options(
        parser,
        (FRAMES, "N", "Send N frames to the wire code"),
        (BRIDGE, "N", "Send N frames to a bridge process over UDP"),
        (SEED, "N", "Choose the frames by this seed"),
        ("--json", "FILE", "Write the numbers to this JSON file."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Fuzz and return the exit code: 0 passed, 1 failed, 2 bad input, 3 there is no ROS 2, 4 the
    figures cannot be written where they should be.
    """
    try:
        sizes = (
            number(FRAMES, arguments.frames),
            number(BRIDGE, arguments.bridge),
            number(SEED, arguments.seed),
        )
        if arguments.json:
            try_file(arguments.json, "--json")
        if sizes[1] and (missing := no_ros("take --bridge 0")):
            return _say(missing, NO_ROS)
        return _fuzz(*sizes, arguments.json)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)


def _fuzz(frames: int, bridge: int, seed: int, file: str | None) -> int:
    found = {"wire": _at_the_wire(frames, seed)}
    if bridge:
        found["bridge"] = _at_a_bridge(bridge, seed)
    passed = all(part["passed"] for part in found.values())
    print("passed" if passed else "FAILED", flush=True)
    if file:
        text = json_text({"passed": passed, "seed": seed, **found})
        _, elsewhere = write_or_rescue(file, text)
        if elsewhere:
            return _say(elsewhere, CANNOT_WRITE)
    return PASSED if passed else FAILED


def _at_the_wire(number: int, seed: int) -> dict:
    from rbdyn_ros.tools.wire_fuzz import through_a_link

    counted = through_a_link(number, seed, partial(count, unit="frames"))
    total = sum(counted.counts.values())
    print(
        f"wire: {number} frames sent, {total} counted: {_list(counted.counts)}",
        *counted.mistaken,
        sep="\n  ",
    )
    return {"passed": total == number and not counted.mistaken, **counted._asdict()}


def _at_a_bridge(number: int, seed: int) -> dict:
    from rbdyn_ros.tools.fuzz import FuzzedBridge
    from rbdyn_ros.tools.soak_watch import SoakEnded

    stay_local(own_domain=True)
    with tempfile.TemporaryDirectory() as folder:
        bridge = FuzzedBridge(Path(folder))
        try:
            survived = bridge.run(number, seed, partial(count, unit="frames"))
        except SoakEnded as over:
            print(f"bridge: {over}")
            return {"passed": False, "failure": str(over)}
        finally:
            bridge.close()
    lost = f", {survived.dropped} dropped by the system before" if survived.dropped else ""
    print(
        f"bridge: {number} frames sent, {survived.counted} counted{lost}: {_list(survived.counts)}"
    )
    print(
        f"  alive: {survived.alive}; commands meanwhile: {survived.commands}; takes the next "
        f"right frame: {survived.answered}"
    )
    return {"passed": survived.passed, **survived._asdict()}


def _list(counts: dict) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items()))
