"""Every command where its outputs cannot be written, its inputs are no inputs, somebody interrupts
it, and nobody reads what it says.

One table, COMMANDS, has all commands and all of their options that name files: a new one that is
not in it fails the first tests. Whatever happens: one sentence, an exit code, no traceback, and
what was there before is still there.
"""

import functools
import json
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from domain import alone

from rbdyn_ros import __main__ as program

ROOT = Path(__file__).parents[2]
FILE, FOLDER, FRESH = (
    "file",
    "folder",
    "fresh folder",
)  # kinds of outputs: a fresh folder must be new or empty
YAML, LAW, BAG, RUN = "parameters.yaml", "law.py", "bag", "run.csv"  # kinds of inputs
MOMENTS = 10
BEFORE = "what was there before\n"
LIMIT = 400.0  # [s] for a process on a loaded machine


class Command(NamedTuple):
    """How to try a command."""

    work: tuple  # options of work that lasts about `lasts`, or until it is interrupted
    outputs: dict  # option -> (name of the output, its kind)
    inputs: dict  # option, or name of a positional argument -> its kind
    short: tuple = ()  # options of work that ends soon; () if there is none
    ros: bool = False
    lasts: float = 2.0  # [s] from the first import on, within which a signal comes
    codes: tuple = (0,)  # of work that was done, or that ends in order when it is interrupted


SLOW_SWEEP = (
    "params_files: [pendulum.yaml]\nduration: 1\n"
    "controller: lqr\nfaults.noise.angle: 0.0005\n"
    "start.tilt: {grid: [-20, 20, 200]}\n"
)
QUICK_SWEEP = "params_files: [pendulum.yaml]\nduration: 0.1\nstart.tilt: {grid: [-20, 20, 3]}\n"
SUITE = "rows: {A: {measure: release, settings: {tilt: 2}, require: [settling_time <= 5]}}\n"
COMMANDS = {
    "demo": Command(
        ("--duration", "100"),
        {"--out": ("demo", FRESH)},
        {"--params-file": YAML, "--controller": LAW},
        ros=True,
        lasts=6.0,
        codes=(0, 1),
    ),
    "evaluate": Command(
        ("--controller", "lqr", "--rows", "S3,S4", "--jobs", "1"),
        {"--out": ("scored", FRESH)},
        {"--params-file": YAML, "--suite": YAML, "--controller": LAW},
        short=("--controller", "lqr", "--suite", "suite.yaml", "--jobs", "1"),
        lasts=4.0,
    ),
    "experiment": Command(
        ("bouncing_ball", "--short"),
        {"--out": ("pictures", FOLDER)},
        {},
        short=("bouncing_ball", "--short"),
        lasts=4.0,
    ),
    "fuzz": Command(
        ("--frames", "1000000", "--bridge", "0"),
        {"--json": ("fuzz.json", FILE)},
        {},
        short=("--frames", "50", "--bridge", "0"),
    ),
    "gains": Command(
        (),
        {"--out": ("gains.h", FILE)},
        {"--params-file": YAML},
        short=("--controller", "pd"),
        lasts=1.0,
    ),
    "hil": Command(
        ("--udp", "47999"),
        {"--json": ("hil.json", FILE)},
        {"--params-file": YAML},
        ros=True,
        lasts=4.0,
        codes=(0, 1),
    ),
    "parameters": Command((), {}, {}, short=("rod",), lasts=1.0),
    "repair": Command(("bag",), {"--out": ("saved", FRESH)}, {"bag": BAG}, short=("bag",)),
    "simulate": Command(
        ("--controller", "lqr", "--duration", "1e4", "--every", "0.1", "--out", "run.csv"),
        {
            "--out": ("run.csv", FILE),
            "--events": ("impacts.csv", FILE),
            "--picture": ("motion.png", FILE),
        },
        {"--params-file": YAML, "--controller": LAW, "--model": YAML},
        short=("--duration", "0.1", "--out", "run.csv"),
    ),
    "soak": Command(
        ("--minutes", "1"), {"--out": ("soak", FRESH)}, {}, ros=True, lasts=4.0, codes=(0, 1)
    ),
    "sweep": Command(
        ("slow.yaml", "--jobs", "1", "--out", "swept"),
        {"--out": ("swept", FRESH)},
        {"file": YAML, "--controller": LAW},
        short=("quick.yaml", "--jobs", "1", "--out", "swept"),
        lasts=4.0,
    ),
    "view": Command(
        ("--no-browser",),
        {},
        {"--params-file": YAML, "--controller": LAW, "runs": RUN},
        lasts=6.0,
    ),
}
IMPACTS = (
    "--duration",
    "1e4",
    "--every",
    "0.1",
    "--set",
    "contact.floor.enabled=true",
    "--out",
    "run.csv",
)  # work with --events
OF_MODEL = (
    "--duration",
    "1e4",
    "--every",
    "1",
    "--model",
    "newtons_cradle",
    "--out",
    "run.csv",
)  # work with --model
OF_FILES = (
    "--out",
    "--json",
    "--events",
    "--picture",
    "--model",
    "--params-file",
    "--suite",
    "--controller",
    "file",
    "bag",
    "runs",
)


def options(kind: str) -> list:
    """(command, option) of all inputs or outputs."""
    return [
        (name, option) for name, command in COMMANDS.items() for option in getattr(command, kind)
    ]


def skip_without(command: Command) -> None:
    if command.ros and not find_spec("rclpy"):
        pytest.skip("rclpy is not importable: no ROS 2 here (./testbed test brings it)")
    if command is COMMANDS["sweep"]:
        pytest.importorskip(
            "pyarrow", reason="pyarrow is not installed: pip install 'rbdyn_ros[sweep]'"
        )
    if command is COMMANDS["view"]:
        pytest.importorskip(
            "viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'"
        )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with inputs that are right."""
    monkeypatch.chdir(tmp_path)
    return with_inputs(tmp_path)


def with_inputs(folder: Path) -> Path:
    """The folder, with inputs that are right."""
    folder.mkdir(exist_ok=True)
    (folder / "slow.yaml").write_text(SLOW_SWEEP)
    (folder / "quick.yaml").write_text(QUICK_SWEEP)
    (folder / "suite.yaml").write_text(SUITE)
    make_bag(folder / "bag", 200)
    return folder


def make_bag(path: Path, count: int) -> Path:
    """A bag as a recorder leaves it that is killed: no index, no metadata.yaml."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.open()
    channel = writer.add_connection(
        "/a", "std_msgs/msg/String", typestore=get_typestore(Stores.LATEST)
    )
    for k in range(count):
        text = f"{k}".encode() + b"\0"
        writer.write(channel, 10**9 + k, b"\0\1\0\0" + struct.pack("<I", len(text)) + text)
    writer.storage.close_chunk()
    writer.storage.bio.close()
    return path


def environment(folder: Path | None = None) -> dict:
    """Of a process whose drafts go to a folder, or to the working folder."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "TMPDIR": str(folder or os.getcwd()),
    }


def given(name: str, option: str, value: str, work: tuple | None = None) -> list:
    """The words of a command with one option, or its positional argument, set to `value`."""
    command = COMMANDS[name]
    special = {"--events": IMPACTS, "--picture": OF_MODEL, "--model": OF_MODEL}.get(option)
    words = list(special or (command.work if work is None else work))
    if special and work:
        words[1] = "0.1" if option == "--events" else "1"  # [s]
    if not option.startswith("--"):
        return [name, value, *words[1:]]
    if option in words:
        words[words.index(option) + 1] = value
        return [name, *words]
    return [name, *words, option, value]


def refused(words: list, capsys) -> str:
    """The sentence with which a command refuses to begin."""
    try:
        code = program.main(words)
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr()
    assert code not in (0, None), said
    assert said.err.count("\n") == 1 and said.err.startswith(
        f"python -m rbdyn_ros {words[0]}: "
    ), said.err
    return said.err


# the table is complete
# -------------------------------------------------------------------------------------------------


def test_every_command_is_in_the_table():
    assert set(COMMANDS) == set(program.command_names())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_names_a_file_is_in_the_table(name):
    known = {*COMMANDS[name].outputs, *COMMANDS[name].inputs}
    words = {
        word
        for action in program.parser(name)._actions
        for word in (action.option_strings or [action.dest])
    }
    if name == "gains":
        words -= {"--controller"}  # one of two words
    assert words & set(OF_FILES) == known
    paths = [
        a
        for a in program.parser(name)._actions
        if a.type is Path or (a.metavar or "").startswith(("FILE", "DIR"))
    ]
    assert {(action.option_strings or [action.dest])[-1] for action in paths} <= known


# outputs
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_place_of_the_wrong_kind_is_refused_before_the_work(folder, capsys, name, option):
    """A folder in the place of a file, a file in the place of a folder."""
    skip_without(COMMANDS[name])
    place = folder / COMMANDS[name].outputs[option][0]
    if COMMANDS[name].outputs[option][1] == FILE:
        place.mkdir()
        (place / "precious").write_text(BEFORE)
        assert "is a folder" in refused(given(name, option, str(place)), capsys)
        assert [file.name for file in place.iterdir()] == ["precious"]
    else:
        place.write_text(BEFORE)
        assert str(place) in refused(given(name, option, str(place)), capsys)
        assert place.read_text() == BEFORE


@pytest.mark.parametrize(
    "name, option", [(n, o) for n, o in options("outputs") if COMMANDS[n].outputs[o][1] == FRESH]
)
def test_a_folder_that_holds_something_is_refused(folder, capsys, name, option):
    skip_without(COMMANDS[name])
    (folder / "full").mkdir()
    (folder / "full" / "precious").write_text(BEFORE)
    assert str(folder / "full") in refused(given(name, option, str(folder / "full")), capsys)
    assert [file.name for file in (folder / "full").iterdir()] == ["precious"]


@pytest.mark.parametrize(
    "name, option", [(n, o) for n, o in options("outputs") if COMMANDS[n].outputs[o][1] == FILE]
)
def test_a_file_in_a_missing_folder_is_refused(folder, capsys, name, option):
    skip_without(COMMANDS[name])
    place = folder / "nowhere" / COMMANDS[name].outputs[option][0]
    assert "there is no folder" in refused(given(name, option, str(place)), capsys)
    assert not place.parent.exists()


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_place_where_nobody_may_write_is_refused_before_the_work(folder, capsys, name, option):
    """In /sys not even root may make a file."""
    skip_without(COMMANDS[name])
    if not Path("/sys/kernel").is_dir():
        pytest.skip("there is no /sys here, whose folders nobody can write to")
    place = f"/sys/kernel/{COMMANDS[name].outputs[option][0]}"
    assert place in refused(given(name, option, place), capsys)


@pytest.mark.parametrize("name, option", options("outputs"))
def test_a_full_disk_is_found_before_the_work(folder, name, option):
    """A limit on the size of files makes every file fail, whoever writes it; the machine code is
    in its cache.
    """
    skip_without(COMMANDS[name])
    place = folder / COMMANDS[name].outputs[option][0]
    if COMMANDS[name].outputs[option][1] == FILE:
        place.write_text(BEFORE)
    before = sorted(file.name for file in folder.iterdir())
    done = started(
        given(name, option, str(place)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    _, said = done.communicate(timeout=LIMIT)
    assert done.returncode in (1, 2, 4) and said.count("\n") == 1 and "File too large" in said, (
        said
    )
    assert str(place) in said or option in ("--events", "--picture") and "run.csv" in said
    assert sorted(file.name for file in folder.iterdir()) == before
    assert not place.is_file() or place.read_text() == BEFORE


@pytest.mark.parametrize(
    "name, option",
    [
        (n, o)
        for n, o in options("outputs")
        if COMMANDS[n].outputs[o][1] == FILE and COMMANDS[n].short
    ],
)
def test_a_disk_that_is_full_at_the_end_costs_no_result(folder, name, option):
    """Where the file is a link to a device that is always full, the result is elsewhere, which is
    said.
    """
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    place = folder / COMMANDS[name].outputs[option][0]
    place.symlink_to("/dev/full")
    done = started(given(name, option, str(place), COMMANDS[name].short))
    _, said = done.communicate(timeout=LIMIT)
    assert (
        done.returncode in (1, 4)
        and f"cannot write {place}: No space left on device; it is in " in said
    ), said
    rescued = Path(said.split("it is in ")[1].split("\n")[0])
    assert (
        rescued.name == place.name
        and rescued.stat().st_size > 0
        and Path("/dev/full").is_char_device()
    )


def test_a_picture_that_cannot_be_written_costs_neither_verdict_nor_tables(folder):
    (folder / "pictures").mkdir()
    (folder / "pictures" / "bouncing_ball.png").symlink_to("/dev/full")
    done = started(
        ["experiment", "bouncing_ball", "--short", "--out", "pictures"], stdout=subprocess.PIPE
    )
    out, said = done.communicate(timeout=LIMIT)
    assert (
        done.returncode == 4 and "bouncing_ball.png: No space left on device; it is in " in said
    ), said
    assert list((folder / "pictures").glob("*.csv")) and "wrote" in out.decode()


# inputs
# -------------------------------------------------------------------------------------------------

YAML_FAULTS = {
    "missing": None,
    "a folder": None,
    "empty": b"",
    "binary": b"\x7fELF\x02\x01\x01\x00\xff\xfe",
    "cut off": b"/**:\n  ros__parameters:\n    rod: {mass: [1.0, 2",
}
LAW_FAULTS = {**YAML_FAULTS, "cut off": b"def design(model, params"}


@pytest.mark.parametrize("fault", YAML_FAULTS)
@pytest.mark.parametrize(
    "name, option", [(n, o) for n, o in options("inputs") if COMMANDS[n].inputs[o] != BAG]
)
def test_a_file_that_is_no_input_is_one_sentence(folder, capsys, name, option, fault):
    command = COMMANDS[name]
    skip_without(command)
    place = folder / f"wrong_{command.inputs[option]}"
    content = (LAW_FAULTS if command.inputs[option] == LAW else YAML_FAULTS)[fault]
    if fault == "a folder":
        place.mkdir()
    elif content is not None:
        place.write_bytes(content)
    if command.ros and option == "--controller":
        pytest.skip("the node says it: test_the_node_names_a_file_that_is_no_law")
    words = given(name, option, str(place))
    if name == "evaluate" and option == "--suite":
        words = [word for word in words if word not in ("--rows", "S3,S4")]
    said = refused(words, capsys)
    assert place.name in said and "Traceback" not in said


def test_the_node_names_a_file_that_is_no_law(folder):
    skip_without(COMMANDS["demo"])
    (folder / "law.py").write_text("def design(model, params")
    done = started(["demo", "--controller", "law.py", "--duration", "1"], stdout=subprocess.PIPE)
    out, said = done.communicate(timeout=LIMIT)
    assert (
        done.returncode == 1
        and "law.py' does not load: SyntaxError" in out.decode()
        and "Traceback" not in out.decode() + said
    ), out


def bag_faults() -> list:
    return [
        ("missing", None),
        ("a folder", None),
        ("empty", 0),
        *((f"cut at {part}", part) for part in (0.02, 0.1, 0.3, 0.5, 0.8, 0.999)),
    ]


@pytest.mark.parametrize("fault, part", bag_faults())
def test_a_bag_that_is_no_bag_is_one_sentence_or_is_saved(folder, capsys, fault, part):
    """A folder without a bag in it; a bag that is cut off anywhere."""
    file = folder / "bag" / "bag.mcap"
    whole = file.read_bytes()
    file.unlink()
    if fault == "missing":
        (folder / "bag").rmdir()
    elif part is not None:
        file.write_bytes(whole[: int(part * len(whole))])
    code = program.main(["repair", "bag", "--out", "saved"])
    said = capsys.readouterr()
    assert code == 2 and said.err.count("\n") == 1 or code == 0 and "wrote saved" in said.out, said
    assert (folder / "saved").exists() == (code == 0)


def test_a_bag_of_random_bytes_is_one_sentence_or_is_saved(folder, capsys):
    """Bytes of a right bag are changed at random; what remains is its own affair, but no
    traceback.
    """
    file, draw = folder / "bag" / "bag.mcap", random.Random(11)
    whole = file.read_bytes()
    for k in range(60):
        broken = bytearray(whole)
        for _ in range(draw.choice((1, 4, 40))):
            broken[draw.randrange(8, len(broken))] = draw.randrange(256)
        file.write_bytes(broken)
        code = program.main(["repair", "bag", "--out", f"saved{k}"])
        said = capsys.readouterr()
        assert code == 2 and said.err.count("\n") == 1 or code == 0, (k, said)


# signals, and nobody who reads
# -----------------------------------------------------------------------------------


@functools.cache
def graph(place: str) -> dict:
    """The environment of a ROS graph: one for all that run one after the other, for domains are
    few.
    """
    return alone()


def started(words: list, folder: Path | None = None, **pipes) -> subprocess.Popen:
    """The command in a process, and a session, of its own; what it complains of comes as text."""
    extra = graph(folder.name if folder else "") if COMMANDS[words[0]].ros else {}
    pipes = {"stdout": subprocess.DEVNULL, **pipes}
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdyn_ros", *words],
        env=environment(folder) | extra,
        cwd=folder,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **pipes,
    )
    process.communicate = lambda timeout, ask=process.communicate: _text(ask(timeout=timeout))
    return process


def _text(said: tuple) -> tuple:
    return said[0], said[1].decode(errors="replace")


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


def deaf_outputs() -> dict:
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
    return place.suffix == ".json" and bool(json.loads(text))


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
        make_bag(folder / "long", 40000).rename(folder / "bag_of_many")
        command = command._replace(work=("bag_of_many",))
    words, place = words_of_work(name, command)
    kind = command.outputs[next(iter(command.outputs))][1] if command.outputs else None
    if kind == FILE:
        (folder / place).write_text(BEFORE)
    if name == "gains":
        words += ["--format", "c"]
    if name == "hil":
        words[words.index("--udp") + 1] = str(free_port())
    output, before = list(deaf_outputs().values())[moment % 4]
    process = started(words, folder, stdout=output, preexec_fn=before)
    share = (moment + random.Random(f"{name} {moment}").random()) / MOMENTS
    delay = share * command.lasts if moment > 1 else 0.0
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
    end, heard, waiting = time.monotonic() + LIMIT, {}, dict(enumerate(trials))
    while waiting:
        assert time.monotonic() < end
        for k, one in list(waiting.items()):
            if k not in heard and (listens(one.process) or one.process.poll() is not None):
                heard[k] = time.monotonic()
            if k in heard and time.monotonic() >= heard[k] + one.delay:
                try:
                    kill = os.killpg if one.signal == signal.SIGINT else os.kill
                    kill(one.process.pid, one.signal)
                except ProcessLookupError:  # it was faster
                    pass
                del waiting[k]
        time.sleep(0.002)


@pytest.mark.parametrize("moments", list(zip(range(0, MOMENTS, 2), range(1, MOMENTS, 2))))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_is_one_sentence(tmp_path, name, moments):
    """From the first import on; the trials of two moments run side by side, as they mostly
    wait.
    """
    skip_without(COMMANDS[name])
    trials = [begin(tmp_path / str(k), name, moment) for k, moment in enumerate(moments)]
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
        assert len(sentences) == 1 and "interrupted" in sentences[0], said
    assert intact(trial.place, trial.kind)
    drafts = (".", "rbdyn_ros_", "hil_")
    assert not [file for file in trial.folder.iterdir() if file.name.startswith(drafts)], (
        "a draft was left"
    )
    end = time.monotonic() + LIMIT
    while left_behind(process):
        assert time.monotonic() < end, left_behind(process)
        time.sleep(0.1)


@pytest.mark.parametrize("output", ["closed", "a pipe without a reader", "a full disk"])
@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.short])
def test_the_work_is_done_where_nobody_reads(folder, name, output):
    """The result is in its file, and a full disk is said."""
    command = COMMANDS[name]
    skip_without(command)
    where, before = deaf_outputs()[output]
    option = next(iter(command.outputs), None)
    words = (
        given(name, option, command.outputs[option][0], command.short)
        if option
        else [name, *command.short]
    )
    process = started(words, stdout=where, preexec_fn=before)
    _, said = process.communicate(timeout=LIMIT)
    says_nothing = name == "gains"  # where it writes a file
    full = output == "a full disk" and not says_nothing
    assert process.returncode == (4 if full else 0), said
    assert ("cannot write to standard output: No space left on device" in said) == full
    assert "Traceback" not in said and "Exception" not in said
    assert option is None or Path(command.outputs[option][0]).exists()


@pytest.mark.parametrize(
    "words",
    [["--help"], ["parameters"], ["simulate", "--help"], ["experiment"], ["gains"]],
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
