"""The firmware of examples/firmware: it builds for four cores, and stays small.

Everything that is measured is printed (pytest -rP).
"""

import re
import shutil
import subprocess

import pytest

from rbdyn_ros.wire.emulated_board import CannotEmulate, build, missing_tools

CORES, ROLES = ("m4f", "m7", "m3", "m0plus"), ("controller", "plant", "patient")
IMAGE_LIMIT = 5000  # bytes of the controller, code and constants and the first values of variables
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


def test_a_core_that_is_not_known_is_one_sentence(tmp_path):
    with pytest.raises(CannotEmulate, match="CPU is m99; it must be m4f, m7, m3 or m0plus"):
        build(tmp_path, "m99")


def test_what_is_missing_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None if "arm" in tool else tool)
    assert missing_tools() == (
        "an emulated board needs qemu-system-arm and arm-none-eabi-gcc: sudo apt-get install "
        "--no-install-recommends qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi make"
    )
