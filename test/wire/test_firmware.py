"""The firmware of examples/firmware: it builds for four cores, and stays small.

Everything that is measured is printed (pytest -rP).
"""

import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.types import State  # noqa: E402
from rbdyn_ros.wire.emulated_board import (  # noqa: E402
    EMULATOR,
    MACHINES,
    CannotEmulate,
    build,
    missing_tools,
)
from rbdyn_ros.wire.frame import (  # noqa: E402
    COMPACT,
    STATE,
    Frame,
    Framing,
)
from rbdyn_ros.wire.session import Session  # noqa: E402

from .clients import regulator  # noqa: E402
from .frames import stuffed  # noqa: E402
from .lines import wait_for  # noqa: E402

CORES, ROLES = ("m4f", "m7", "m3", "m0plus"), ("controller", "plant", "patient")
HERE = Path(__file__).parent / "firmware"
IMAGE_LIMIT = 5000  # bytes of the controller, code and constants and the first values of variables
LIMITS = {
    "law_balanced": 400,
    "law_any": 400,
    "send": 1450,
    "receive": 8100,
    "receive_compact": 8100,
}  # instructions
KEYED_IMAGE_LIMIT = 6600  # bytes
KEYED_LIMITS = {"send": 5400, "receive": 15000, "receive_compact": 8200}  # instructions
KEY = bytes(range(32))
SHIFT = 6  # of -icount: an instruction takes 2^6 ns
STATES, COUNT = 0x21000000, 10_000  # where forces.c reads its states, and how many
DEADLINE = 120.0  # [s] of a loaded machine
# What a controller must not pull in: a heap, printing, arithmetic in double precision.
UNWANTED = re.compile(
    r"_?((m|c|re)alloc|free)(_r)?|_sbrk(_r)?|.*printf.*|.*dtoa.*"
    r"|__aeabi_(d[a-z0-9]\w*|[a-z0-9]+2d)|__\w+df[23]"
)


@pytest.fixture(scope="module", autouse=True)
def tools():
    """Skip where the compiler or the emulator is missing."""
    if sentence := missing_tools():
        pytest.skip(sentence)


def key_file(folder: Path, text: str = KEY.hex()) -> Path:
    """A file with a key."""
    path = folder / "board.key"
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path


def run(tool: str, *words: object) -> str:
    """What a tool of Arm's prints."""
    command = [f"arm-none-eabi-{tool}", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(image) -> dict[str, int]:
    """The address of each symbol."""
    rows = (line.split() for line in run("nm", image).splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


@pytest.mark.parametrize("core", CORES)
def test_it_builds_for_four_cores(core, tmp_path):
    """Every warning is an error."""
    for role in ROLES:
        image = build(tmp_path, core, role)
        text, data, bss = map(int, run("size", image).splitlines()[1].split()[:3])
        print(f"{core} {role}: image {text + data} B, variables {data + bss} B")
        assert 0x20000000 <= symbols(image)["bss_end"] < 0x20002000 - 1024


@pytest.mark.parametrize("core", ("m4f", "m7"))
def test_the_controller_is_small_and_has_no_heap_no_printf_no_double(core, tmp_path):
    image = build(tmp_path, core)
    text, data, _ = map(int, run("size", image).splitlines()[1].split()[:3])
    print(f"{core}: image {text + data} B of {IMAGE_LIMIT}")
    assert text + data <= IMAGE_LIMIT
    assert not [name for name in symbols(image) if UNWANTED.fullmatch(name)]
    double = re.findall(r"\tv\w+\.f64\b.*", run("objdump", "-d", image))
    assert not double, double[:3]


def test_unwanted_symbols_are_recognized():
    """Those of the plant in double precision, and of others that ever were in an image."""
    names = ("malloc", "free", "_sbrk", "_printf_i", "snprintf", "__aeabi_dmul", "__aeabi_f2d")
    assert all(UNWANTED.fullmatch(name) for name in (*names, "__muldf3", "__aeabi_d2f"))
    wanted = ("__aeabi_fmul", "__aeabi_uldivmod", "lqr_force", "__aeabi_f2uiz", "feed")
    assert not any(UNWANTED.fullmatch(name) for name in wanted)


def written(image: Path, *options: str, ended: Callable[[bytes], bool]) -> bytes:
    """What a board with this image has sent over its UART when `ended` says that it is all."""
    file = image.with_suffix(".out")
    command = [EMULATOR, "-M", MACHINES["m4f"], "-kernel", str(image), "-display", "none"]
    words = ["-monitor", "none", "-serial", f"file:{file}", *options]
    process, end = subprocess.Popen([*command, *words]), time.monotonic() + DEADLINE
    try:
        while not (file.exists() and ended(file.read_bytes())):
            assert time.monotonic() < end and process.poll() is None, "waited in vain"
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    return file.read_bytes()


def instructions(folder: Path, words: str, **variables) -> dict[str, tuple[float, float]]:
    """Mean and most of what measure.c measures, by name."""
    image = build(
        folder, MAIN=HERE / "measure.c", NAME="measure", DEFINES=f"-I{HERE} {words}", **variables
    )
    options = ("-icount", f"shift={SHIFT},sleep=off")
    lines = (
        written(image, *options, ended=lambda data: data.endswith(b"end\n")).decode().split("\n")
    )
    rows = {
        words[0]: [int(word) for word in words[1:]] for words in map(str.split, lines) if words
    }
    assert rows["heard"] == [2000]
    return {name: (rows[name][0] / 2**SHIFT, rows[name][1] / 2**SHIFT) for name in LIMITS}


def bytes_of(data: bytes) -> str:
    return ",".join(map(str, data))


COMPACT_FRAME = Frame(COMPACT, 0, 0, 10**9, 0, 0, 10**15 + 1, (0.1, 0.2, 1.0, *[1e-3] * 8))


def test_the_law_the_sender_and_the_receiver_take_few_instructions(tmp_path):
    words = f"'-DCOMPACT_BYTES={bytes_of(stuffed(COMPACT_FRAME))}'"
    for name, (mean, most) in instructions(tmp_path, words).items():
        print(f"{name}: {mean:.0f} instructions, at most {most:.0f} of {LIMITS[name]}")
        assert 0 < mean <= most <= LIMITS[name]


def test_what_a_key_costs(tmp_path):
    """In size, instructions and, as written, in nothing else of the controller."""
    file = key_file(tmp_path)
    session, framing = Session(KEY, draw=lambda: 7), Framing()
    session.other = 1
    whole = Frame(STATE, 0, 0, 10**9, 1, 0, 10**15 + 1, (0.1, 0.2, 1.0, *[0.0] * 8))
    sealed = [bytes_of(framing.stuff(session.seal(sent))) for sent in (whole, COMPACT_FRAME)]
    words = f"'-DKEYED_BYTES={sealed[0]}' '-DCOMPACT_BYTES={sealed[1]}'"
    for name, (mean, most) in instructions(tmp_path, words, KEY=file).items():
        print(f"{name} with a key: {mean:.0f} instructions, at most {most:.0f}")
        assert 0 < mean <= most <= KEYED_LIMITS.get(name, LIMITS[name])
    image = build(tmp_path, KEY=file)
    text, data, _ = map(int, run("size", image).splitlines()[1].split()[:3])
    print(f"with a key: image {text + data} B of {KEYED_IMAGE_LIMIT}")
    assert text + data <= KEYED_IMAGE_LIMIT
    assert not [name for name in symbols(image) if UNWANTED.fullmatch(name)]


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "zz" * 32])
def test_a_bad_key_file_is_one_sentence(tmp_path, text):
    file = key_file(tmp_path, text)
    with pytest.raises(CannotEmulate, match="board.key must have 64 hexadecimal digits"):
        build(tmp_path, KEY=file)


def test_its_force_is_that_of_the_law_in_python(tmp_path):
    """In 10 000 states: any attitude but hanging, where the direction hangs on the last bit."""
    random = np.random.default_rng(1)
    q = random.normal(size=(4 * COUNT, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    q = q[1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2) > -0.999][:COUNT]
    q[::2, 1:] *= 0.01  # half of them nearly upright
    q /= np.linalg.norm(q, axis=1)[:, None]
    place, rates = random.uniform(-3, 3, (COUNT, 2)), random.uniform(-5, 5, (COUNT, 5))
    place[::2], rates[::2] = 0.1 * place[::2], 0.02 * rates[::2]
    states = np.ascontiguousarray(np.hstack((place, q, rates)), "<f4")
    (tmp_path / "states").write_bytes(states.tobytes())
    words = f"-I{HERE} -DCOUNT={COUNT}"
    image = build(tmp_path, MAIN=HERE / "forces.c", NAME="forces", DEFINES=words)
    loader = f"loader,file={tmp_path / 'states'},addr={STATES:#x},force-raw=on"
    sent = written(image, "-device", loader, ended=lambda data: len(data) >= 8 * COUNT)
    forces, law, zero = np.frombuffer(sent, "<f4").reshape(COUNT, 2), regulator(), np.zeros(2)
    wide = states.astype(float)
    expected = np.array([law.command(0.0, State(0.0, x[:6], x[6:]), zero) for x in wide])
    worst = np.abs(forces - expected).max()
    inside = (np.hypot(*expected.T) < 19.9).mean()
    print(f"{COUNT} states, {inside:.0%} below the limit: forces agree to {worst:.2g} N")
    assert worst < 0.02 and inside > 0.2


@pytest.mark.parametrize(
    "words, sentence",
    [
        ({"core": "m99"}, "CPU is m99; it must be m4f, m7, m3 or m0plus"),
        ({"role": "plnat"}, "ROLE is plnat; it must be controller, plant or patient"),
    ],
)
def test_a_core_or_a_role_that_is_not_known_is_one_sentence(tmp_path, words, sentence):
    with pytest.raises(CannotEmulate, match=sentence):
        build(tmp_path, **words)


def test_other_options_make_another_image_in_the_same_folder(tmp_path):
    image = build(tmp_path)
    plain = image.read_bytes()
    for options in ({"core": "m7"}, {"DEFINES": "-DCOMPACT_STATES"}, {"LAW": "policy"}):
        assert build(tmp_path, **options) == image and image.read_bytes() != plain
        build(tmp_path)
        assert image.read_bytes() == plain


def test_a_key_that_others_may_read_is_refused(tmp_path):
    file = key_file(tmp_path)
    file.chmod(0o640)
    with pytest.raises(CannotEmulate, match="others may use the key file .*board.key; `chmod 600"):
        build(tmp_path, KEY=file)
    assert not [*tmp_path.glob("*.elf")] and not (tmp_path / "key.h").exists()


def test_an_image_with_a_key_is_nobody_elses(tmp_path):
    """Also where an image of the same name was there, for all to read."""
    build(tmp_path).chmod(0o755)
    (tmp_path / "key.h").write_text("")
    image = build(tmp_path, KEY=key_file(tmp_path))
    assert stat.S_IMODE(image.stat().st_mode) == 0o600 and KEY in image.read_bytes()
    assert stat.S_IMODE((tmp_path / "key.h").stat().st_mode) == 0o600


def test_what_is_missing_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None if "arm" in tool else tool)
    assert missing_tools() == (
        "an emulated board needs qemu-system-arm and arm-none-eabi-gcc: sudo apt-get install "
        "--no-install-recommends qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi make"
    )


KILLED = """
import os, signal, sys
from pathlib import Path
from rbdyn_ros.wire.emulated_board import EmulatedBoard
board = EmulatedBoard(Path(sys.argv[1]), Path(sys.argv[2]))
board.switch_on()
print(board._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_emulator_ends_with_a_process_that_is_killed(tmp_path):
    image = build(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(image), str(tmp_path)], capture_output=True, text=True
    )
    folder = Path("/proc") / done.stdout.strip()
    wait_for(lambda: not folder.exists() or ") Z " in (folder / "stat").read_text())
