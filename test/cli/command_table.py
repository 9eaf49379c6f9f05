"""One table, COMMANDS, of all commands and all of their options that name files.

A new one that is not in it fails test_robustness.py.
"""

import functools
import os
import shutil
import struct
import subprocess
import sys
import tempfile
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
# kinds of inputs
YAML, LAW, BAG, RUN, KEY = "parameters.yaml", "law.py", "bag", "run.csv", "board.key"
ENTRY = "entry"
MOMENTS = 6
BEFORE = "what was there before\n"
LIMIT = 400.0  # [s] for a process on a loaded machine, which may compile first


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
    "bode": Command(
        ("--periods", "1000"),
        {
            "--out": ("response.csv", FILE),
            "--json": ("margins.json", FILE),
            "--picture": ("bode.png", FILE),
        },
        {"--params-file": YAML, "--controller": LAW, "recordings": RUN},
        short=("--band", "1,20", "--periods", "1"),
    ),
    "demo": Command(
        ("--duration", "100"),
        {"--out": ("demo", FRESH)},
        {"--params-file": YAML, "--controller": LAW},
        ros=True,
        lasts=4.0,
        codes=(0, 1),
    ),
    "evaluate": Command(
        ("--controller", "lqr", "--rows", "S3,S4", "--jobs", "1"),
        {"--out": ("scored", FRESH), "--entry": ("entered", FRESH)},
        {"--params-file": YAML, "--suite": YAML, "--controller": LAW},
        short=("--controller", "lqr", "--suite", "suite.yaml", "--jobs", "1"),
    ),
    "experiment": Command(
        ("forced_rod",),
        {"--out": ("pictures", FOLDER)},
        {},
        short=("forced_rod", "--short"),
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
        {"--params-file": YAML, "--key": KEY},
        ros=True,
        lasts=3.0,
        codes=(0, 1),
    ),
    "identify": Command(
        ("moved.csv", "--segment", "0.5"),
        {
            "--out": ("plant.yaml", FILE),
            "--json": ("fit.json", FILE),
            "--report": ("fit.html", FILE),
            "--design": ("excitation.yaml", FILE),
            "--live": ("run.npz", FILE),
        },
        {"--params-file": YAML, "--controller": LAW, "recordings": RUN},
        short=("moved.csv", "--fit", "cart.mass", "--band", "1,5"),
    ),
    "leaderboard": Command(
        ("entry",),
        {"--out": ("board", FRESH)},
        {"entries": ENTRY, "--verify": ENTRY},
        short=("entry",),
        lasts=1.0,
    ),
    "parameters": Command((), {}, {}, short=("rod",), lasts=1.0),
    "plot": Command(
        ("moved.csv", "--out", "compare.svg"),
        {"--out": ("compare.svg", FILE)},
        {"runs": RUN},
        short=("moved.csv", "--out", "compare.svg"),
        lasts=1.0,
    ),
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
    "sweep": Command(
        ("slow.yaml", "--jobs", "1", "--out", "swept"),
        {"--out": ("swept", FRESH)},
        {"file": YAML, "--controller": LAW},
        short=("quick.yaml", "--jobs", "1", "--out", "swept"),
        lasts=3.0,
    ),
    "view": Command(
        ("--no-browser",),
        {},
        {"--params-file": YAML, "--controller": LAW, "runs": RUN},
        lasts=3.0,
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
ENTERED = ("--controller", "lqr", "--rows", "B1", "--jobs", "1")  # work with --entry
OF_FILES = (
    "--out",
    "--entry",
    "--verify",
    "entries",
    "--json",
    "--events",
    "--picture",
    "--report",
    "--design",
    "--live",
    "--model",
    "--params-file",
    "--suite",
    "--controller",
    "--key",
    "file",
    "bag",
    "runs",
    "recordings",
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


def with_inputs(folder: Path) -> Path:
    """The folder, with inputs that are right."""
    folder.mkdir(exist_ok=True)
    (folder / "slow.yaml").write_text(SLOW_SWEEP)
    (folder / "quick.yaml").write_text(QUICK_SWEEP)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "moved.csv").write_bytes(moved())
    make_bag(folder / "bag", 200)
    shutil.copytree(ROOT / "benchmarks" / "leaderboard" / "pd", folder / ENTRY)
    return folder


@functools.cache
def moved() -> bytes:
    """A table of a motion that says something of the plant."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "moved.csv"
        words = ["--controller", "tracking", "--duration", "8", "--out", str(out)]
        assert program.main(["simulate", *words]) == 0
        return out.read_bytes()


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
    of_simulate = {"--events": IMPACTS, "--picture": OF_MODEL, "--model": OF_MODEL}
    special = of_simulate.get(option) if name == "simulate" else None
    words = list(special or (command.work if work is None else work))
    if option in ("--entry", "--verify"):
        words = list(ENTERED) if option == "--entry" else []
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


@functools.cache
def graph(place: str) -> dict:
    """The environment of a ROS graph: one for all that run one after the other, for domains are
    few.
    """
    return alone()


def _text(said: tuple) -> tuple:
    return said[0], said[1].decode(errors="replace")


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
