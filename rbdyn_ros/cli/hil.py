"""The command `hil`: a test of a controller board against the simulator in real time."""

import argparse
import math
import shutil
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rbdyn_ros.console import SIGNAL
from rbdyn_ros.files import json_text, try_file, write_or_rescue
from rbdyn_ros.interrupts import Interruption, at_end
from rbdyn_ros.optional import library, no_ros, stay_local
from rbdyn_ros.parameters import shipped
from rbdyn_ros.parameters.command_line import (
    SCENARIO,
    add_options,
    cannot_write,
    given_files,
    message_printer,
    number,
)
from rbdyn_ros.parameters.nodes import TABLES
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.parameters.yaml_file import read_files, read_values
from rbdyn_ros.progress import LiveLine
from rbdyn_ros.ros.node_processes import ros_words
from rbdyn_ros.schema import by_name, defaults, setting
from rbdyn_ros.wire.emulated_board import CannotEmulate, EmulatedBoard, build
from rbdyn_ros.wire.session import read_key

LOCKSTEP = {
    "lockstep.enabled": "true",
    "lockstep.timeout": 20.0,
    "lockstep.reaction": "hold",
    "link_timeout": 5.0,
}
KEYED_TIMEOUT = 1.0  # [s] a board that was starved of processor time begins a session after it
COMMAND = "python -m rbdyn_ros hil"
HELP = "Test a controller board against the simulated pendulum."
EXAMPLES = f"""\
{COMMAND}            # a board on UDP port 47001 of this machine
{COMMAND} --serial /dev/ttyACM0 --duration 60
{COMMAND} --scenario spinning --json board.json
{COMMAND} --emulate  # no board: QEMU runs examples/firmware
{COMMAND} --emulate m7 --lockstep --duration 5

With --emulate the firmware is built, started and reached over a
pseudo-terminal, as over a serial port. It needs QEMU and Arm's compiler;
where they are missing one sentence says what to install. An emulated UART is
slow (some 100 to 250 states/s): in real time the other states are held back.
With --lockstep none is: simulated time waits for each answer, so the verdict
is that of the firmware and not of a busy machine.
"""
_say = message_printer(COMMAND)
UPRIGHT, FELL, BAD_INPUT, MISSING, CANNOT_WRITE = 0, 1, 2, 3, 4
CORES = ("m4f", "m7")
DURATION = setting("--duration", 20.0, "s", above=0.0)
COUNTS = 3  # rows that say something where no frame was echoed
ROWS = (
    (
        "frames from the board",
        "{accepted:d} accepted, {lost:d} lost ({loss_percent:.3g} %), {reordered:d} reordered, "
        "{duplicates:d} duplicated",
    ),
    (
        "answers",
        "{forces:d} forces to {states:d} states; {held_back:d} states held back, {saturated:d} "
        "forces cut at the limit",
    ),
    ("outages", "{outages:d}"),
    ("age of a frame", "p50 {age_p50_ms:.3f} ms, p99 {age_p99_ms:.3f}, max {age_max_ms:.3f}"),
    (
        "jitter",
        "p50 {jitter_p50_ms:.3f} ms, p99 {jitter_p99_ms:.3f}, max {jitter_max_ms:.3f}",
    ),
    (
        "round trip",
        "p50 {delay_p50_ms:.3f} ms, p99 {delay_p99_ms:.3f}, max {delay_max_ms:.3f}",
    ),
    (
        "the board's clock",
        "drifts by {clock_drift_ppm:.3g} ppm, known to {clock_uncertainty_ms:.3g} ms",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    wire = parser.add_mutually_exclusive_group()
    wire.add_argument(
        "--udp",
        metavar="PORT",
        default="47001",
        help="Receive from the board on this UDP port of 127.0.0.1 (default: 47001).",
    )
    wire.add_argument(
        "--serial", metavar="DEVICE", help="Use this serial port instead, such as /dev/ttyACM0."
    )
    wire.add_argument(
        "--emulate",
        metavar="CORE",
        nargs="?",
        const=CORES[0],
        choices=CORES,
        help="Test the firmware of examples/firmware on a board that QEMU emulates: m4f (a "
        "Cortex-M4F, the default) or m7.",
    )
    parser.add_argument(
        "--lockstep",
        action="store_true",
        help="Let simulated time wait for each answer of the board, up to 20 s.",
    )
    add_options(
        parser,
        ("--baud", "N", "Set the baud rate of the serial port (default: 921600).", "921600"),
        (DURATION, "T", "Simulate T seconds from the board's first command on"),
        ("--key", "FILE", "Take only frames of a board that shares the key in this file."),
        SCENARIO,
        ("--params-file", "F ...", "Override parameters by this ROS YAML file; may be repeated."),
        ("--json", "FILE", "Write the numbers to this JSON file."),
    )


def run(arguments: argparse.Namespace) -> int:
    """Test the board and return the exit code: 0 the rod was upright at the end, 1 it was not, 2
    bad input, 3 there is no ROS 2 or no emulator, 4 a file cannot be written, 128 + n interrupted
    by signal n.
    """
    if missing := no_ros("start it in `./testbed exec bash`"):
        return _say(missing, MISSING)
    # two trials in one network must not hear each other
    stay_local()
    try:
        library("cobs", "hil", "hil")
        duration, files = number(DURATION, arguments.duration), _files(arguments)
        words, nodes = _words(arguments, files), ("pendulum_simulator", "pendulum_monitor")
        # what the files say of the plant, and of how its changes are detected
        declared = defaults(chain(*(NODES[node] for node in nodes))) | read_values(files, nodes)
        declared["lockstep.enabled"] |= arguments.lockstep
        if arguments.json:
            try_file(arguments.json, "--json")
    except ValueError as error:
        return _say(str(error), BAD_INPUT)
    try:
        return _hold(arguments, duration, words, declared)
    except CannotEmulate as error:
        return _say(str(error), MISSING)
    except OSError as error:
        return _say(cannot_write(error, arguments.json, ""), CANNOT_WRITE)


def _files(arguments: argparse.Namespace) -> list[Path]:
    """Return the parameter files of both nodes, checked. Raise ValueError for what does not
    fit.
    """
    config = shipped.config()
    files = [config / "pendulum.yaml", config / "simulation.yaml", *given_files(arguments)]
    read_files(files)
    return files


def _words(arguments: argparse.Namespace, files: list[Path]) -> list[str]:
    """Return the ROS command line of both nodes. Raise ValueError, with the option, for what does
    not fit.
    """
    table = by_name(TABLES["hil"])
    chosen = {"udp.port": number(table["udp.port"], arguments.udp)}
    if arguments.serial:
        chosen = {
            "transport": "serial",
            "serial.port": arguments.serial,
            "serial.baud": number(table["serial.baud"], arguments.baud),
        }
    chosen |= LOCKSTEP if arguments.lockstep else {}
    if arguments.key:
        read_key(arguments.key)
        chosen["key_file"] = str(Path(arguments.key).resolve())
        if arguments.lockstep:
            chosen["link_timeout"] = KEYED_TIMEOUT
    return ros_words(files, [f"{name}:={value}" for name, value in chosen.items()])


def _hold(
    arguments: argparse.Namespace, duration: float, words: list[str], declared: dict[str, Any]
) -> int:
    """Run the trial, on an emulated board where one is asked for, and return the exit code. Raise
    CannotEmulate where that is not possible.
    """
    from rbdyn_ros.evaluation.trial_report import verdict
    from rbdyn_ros.ros.hil.hil_trial import HilTrial

    live, folder = LiveLine(sys.stdout), Path(tempfile.mkdtemp(prefix="hil_"))
    keep: list[Path] = []
    with at_end(lambda: keep or shutil.rmtree(folder)), ExitStack() as ends:
        if arguments.emulate:
            place = Path(tempfile.mkdtemp(prefix="board_"))
            ends.enter_context(at_end(partial(shutil.rmtree, place)))
            key = Path(arguments.key).resolve() if arguments.key else ""
            image = build(place, arguments.emulate, KEY=key)
            board = ends.enter_context(EmulatedBoard(image, place, arguments.emulate))
            words = [*words, "-p", "transport:=serial", "-p", f"serial.port:={board.port}"]
        log = folder / "nodes.log"
        with Interruption() as stop, HilTrial(words, log, declared) as trial:
            tested = trial.run(duration, lambda: stop.signal, live.show)
            live.close()
            if trial.failure:  # before the nodes are ended
                print(f"ends early: {trial.failure}", flush=True)
        if str(folder) in trial.failure:  # the sentence names the file
            keep.append(folder)
    result = verdict(tested)
    if trial.figures:
        is_timed = math.isfinite(trial.figures.get("delay_p50_ms", math.nan))
        rows = ROWS if is_timed else ROWS[:COUNTS]
        print("\n".join(f"{title:22} {_fill(row, trial.figures)}" for title, row in rows))
    if refused := trial.describe_refused():
        print(f"{'refused frames':22} {refused}")
    print(f"{'the plant':22} {trial.plant.summary()}")
    print(result)
    if arguments.json:
        found = {
            "stood": result.is_upright,
            "verdict": result.sentence,
            "plant": trial.plant.report(),
        }
        text = json_text(found | trial.figures, 2)
        _, elsewhere = write_or_rescue(arguments.json, text)
        if elsewhere:
            return _say(elsewhere, CANNOT_WRITE)
    if result.is_upright is None:
        return SIGNAL + stop.signal
    return UPRIGHT if result.is_upright else FELL


def _fill(row: str, figures: dict) -> str:
    try:
        return row.format_map(figures)
    except KeyError as missing:
        return f"no {missing.args[0]} was measured"
