"""Every command that somebody interrupts, or whose words nobody reads."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from .command_table import (
    BEFORE,
    COMMANDS,
    FILE,
    LIMIT,
    MOMENTS,
    Command,
    environment,
    given,
    make_bag,
    skip_without,
    started,
    with_inputs,
)


def listens(process: subprocess.Popen) -> bool:
    """Whether the process has a handler for SIGTERM: from then on it answers for itself."""
    status = Path(f"/proc/{process.pid}/status")
    caught = (
        [line for line in status.read_text().splitlines() if line.startswith("SigCgt:")]
        if status.exists()
        else []
    )
    return bool(caught) and bool(int(caught[0].split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def closed_pipe() -> int:
    """The end of a pipe that nobody reads."""
    theirs, ours = os.pipe()
    os.close(theirs)
    return ours


def unread_outputs() -> dict:
    """Where standard output goes to nobody: name -> (what Popen is given, what runs in the child
    before).
    """
    return {
        "nothing": (subprocess.DEVNULL, None),
        "closed": (None, lambda: os.close(1)),
        "a pipe without a reader": (closed_pipe(), None),
        "a full disk": (os.open("/dev/full", os.O_WRONLY), None),
    }


def left_behind(process: subprocess.Popen) -> list:
    """Processes of its session, and nodes that it has started, that are still there."""
    mark, left = f"rbdyn_ros.ros.start\0{process.pid}\0".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line, stat = (
                (entry / "cmdline").read_bytes(),
                (entry / "stat").read_text().rpartition(")")[2].split(),
            )
        except OSError:
            continue
        if stat[0] != "Z" and (mark in line or int(stat[3]) == process.pid):
            left.append(line)
    return left


def words_of_work(name: str, command: Command) -> tuple:
    """The command's work, with its output in the working folder; and that output."""
    if not command.outputs:
        return [name, *command.work], None
    option, (place, _) = next(iter(command.outputs.items()))
    return given(name, option, place, command.work), Path(place)


def intact(place: Path | None, kind: str | None) -> bool:
    """What was there before is still there, or there is a whole result."""
    if kind != FILE:
        return True
    text = place.read_text()
    if (
        text == BEFORE
        or place.suffix == ".h"
        and text.endswith("#endif\n")
        or place.suffix == ".csv"
        and text.endswith("\n")
    ):
        return True
    return bool({".json": json.loads, ".yaml": yaml.safe_load}[place.suffix](text))


class Trial(NamedTuple):
    """A run of a command that a signal ends."""

    folder: Path
    place: Path | None  # of its output
    kind: str | None  # of its output
    signal: int
    delay: float  # [s] from when it listens on
    process: subprocess.Popen


def begin(folder: Path, name: str, moment: int) -> Trial:
    """Start a command in a folder of its own; even moments are for SIGINT, odd ones for
    SIGTERM.
    """
    command = COMMANDS[name]
    with_inputs(folder)
    if name == "repair":
        many = folder.parent / "bag_of_many"  # for all of its trials
        if not many.exists():
            make_bag(many, 40000)
        command = command._replace(work=(f"../{many.name}",))
    words, place = words_of_work(name, command)
    kind = command.outputs[next(iter(command.outputs))][1] if command.outputs else None
    if kind == FILE:
        (folder / place).write_text(BEFORE)
    if name == "gains":
        words += ["--format", "c"]
    if name == "hil":
        words[words.index("--udp") + 1] = str(free_port())
    output, before = list(unread_outputs().values())[moment % 4]
    process = started(words, folder, stdout=output, preexec_fn=before)
    share = (moment - 2 + random.Random(f"{name} {moment}").random()) / (MOMENTS - 2)
    delay = max(share, 0.0) * command.lasts  # the first two come at once
    number = (signal.SIGINT, signal.SIGTERM)[moment % 2]
    return Trial(folder, place and folder / place, kind, number, delay, process)


def free_port() -> int:
    """A UDP port that nobody has bound."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def send_signals(trials: list) -> None:
    """Send each trial its signal, `delay` after it has begun to listen.

    SIGINT goes to all of its session, as a terminal sends it, SIGTERM to the process.
    """
    end, received, waiting = time.monotonic() + LIMIT, {}, dict(enumerate(trials))
    while waiting:
        assert time.monotonic() < end
        for k, one in list(waiting.items()):
            if k not in received and (listens(one.process) or one.process.poll() is not None):
                received[k] = time.monotonic()
            if k in received and time.monotonic() >= received[k] + one.delay:
                try:
                    kill = os.killpg if one.signal == signal.SIGINT else os.kill
                    kill(one.process.pid, one.signal)
                except ProcessLookupError:  # it was faster
                    pass
                del waiting[k]
        time.sleep(0.002)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_is_one_sentence(tmp_path, name):
    """From the first import on, for `simulate`; the others share its handler, and each of them
    gets one signal while it works. The trials run side by side, as they mostly wait.
    """
    skip_without(COMMANDS[name])
    moments = range(MOMENTS) if name == "simulate" else (3 + [*COMMANDS].index(name) % 2,)
    trials = [begin(tmp_path / str(moment), name, moment) for moment in moments]
    send_signals(trials)
    for one in trials:
        require_one_sentence(one, COMMANDS[name].codes)


def require_one_sentence(trial: Trial, codes: tuple) -> None:
    """The process ends with one sentence, or with its work done, and leaves nothing behind."""
    process, number = trial.process, trial.signal
    _, said = process.communicate(timeout=LIMIT)
    sentences = [
        line
        for line in said.replace("\r", "\n").splitlines()
        if line.startswith("python -m rbdyn_ros")
    ]
    assert process.returncode in (128 + number, *codes, 4), (process.returncode, said)
    assert not any(
        word in said for word in ("Traceback", "Exception ignored", "Error:", "defect")
    ), said
    if process.returncode == 128 + number:
        # a demo or a trial of a board that has begun says so in its verdict, on standard output
        assert len(sentences) == 1 or codes and not sentences, said
        assert all("interrupted" in sentence for sentence in sentences), said
    assert intact(trial.place, trial.kind)
    drafts = (".", "rbdyn_ros_", "hil_")
    assert not [file for file in trial.folder.iterdir() if file.name.startswith(drafts)], (
        "a draft was left"
    )
    end = time.monotonic() + LIMIT
    while left_behind(process):
        assert time.monotonic() < end, left_behind(process)
        time.sleep(0.1)


def words_of_short_work(name: str) -> list:
    """The command's work that ends soon."""
    option, command = next(iter(COMMANDS[name].outputs), None), COMMANDS[name]
    if option is None:
        return [name, *command.short]
    return given(name, option, command.outputs[option][0], command.short)


@pytest.mark.parametrize("output", ["closed", "a pipe without a reader"])
def test_the_work_is_done_where_nobody_reads(folder, output):
    """The result is in its file."""
    where, before = unread_outputs()[output]
    process = started(words_of_short_work("simulate"), stdout=where, preexec_fn=before)
    _, said = process.communicate(timeout=LIMIT)
    require_done("simulate", process.returncode, said, False)


# one process, for most of what each command takes is to import
ALL = """
import json, sys
from rbdyn_ros import console
from rbdyn_ros.__main__ import main
for words in json.loads(sys.argv[1]):
    code = console.run(f"python -m rbdyn_ros {words[0]}", lambda: main(words))
    sys.stderr.write(f"\\0{words[0]} {code}\\0")
"""


def test_every_command_works_where_nobody_reads(folder):
    """Where the disk is full: their results are in their files, and it is said."""
    names = [name for name, command in COMMANDS.items() if command.short]
    if not find_spec("pyarrow"):
        names.remove("sweep")
    done = subprocess.run(
        [sys.executable, "-c", ALL, json.dumps([*map(words_of_short_work, names)])],
        stdout=unread_outputs()["a full disk"][0],
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        timeout=LIMIT,
    )
    *pieces, rest = done.stderr.split("\0")
    assert done.returncode == 0 and rest == "" and len(pieces) == 2 * len(names), done.stderr
    for name, said, end in zip(names, pieces[::2], pieces[1::2]):
        assert end.split()[0] == name
        require_done(name, int(end.split()[1]), said, True)


def require_done(name: str, code: int, said: str, is_full: bool) -> None:
    """The command ends as if somebody had read, but for a sentence where the disk is full."""
    full = is_full and name != "gains"  # which says nothing where it writes a file
    assert code == (4 if full else 0), said
    assert ("cannot write to standard output: No space left on device" in said) == full
    assert "Traceback" not in said and "Exception" not in said
    assert all(Path(place).exists() for place, _ in [*COMMANDS[name].outputs.values()][:1])


@pytest.mark.parametrize(
    "words",
    [["--help"], ["parameters"], ["simulate", "--help"]],
    ids=" ".join,
)
def test_a_reader_that_has_seen_enough_is_no_error(folder, words):
    """As `| head -1`: the pipe is closed while the program writes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdyn_ros", *words],
        env=environment(),
        stdout=closed_pipe(),
        stderr=subprocess.PIPE,
    )
    _, said = process.communicate(timeout=LIMIT)
    assert (process.returncode, said) == (0, b"")


def test_a_defect_is_one_sentence(folder):
    """With the line where it is; all of it for who develops."""
    broken = (
        "from rbdyn_ros import console\nimport sys\nsys.exit(console.run('program', lambda: "
        "{}['x']))\n"
    )
    for flags, count in (((), 1), (("-X", "dev"), 6)):
        done = subprocess.run(
            [sys.executable, *flags, "-c", broken],
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.stderr.count("\n") >= count and ("Traceback" in done.stderr) == bool(flags)
    assert "KeyError: 'x'" in done.stderr
