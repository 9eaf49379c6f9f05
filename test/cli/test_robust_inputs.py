"""Every command whose inputs are no inputs: one sentence, an exit code, no traceback."""

import os
import random
import subprocess
import sys

import pytest

from rbdyn_ros import __main__ as program

from .command_table import (
    BAG,
    COMMANDS,
    LAW,
    LIMIT,
    ROOT,
    given,
    options,
    refused,
    skip_without,
)

YAML_FAULTS = {
    "missing": None,
    "a folder": None,
    "empty": b"",
    "binary": b"\x7fELF\x02\x01\x01\x00\xff\xfe",
    "cut off": b"/**:\n  ros__parameters:\n    rod: {mass: [1.0, 2",
    "a list as a name": b"? [1, 2]\n: 3\n",
    "too deep": 500 * b"[",
}
LAW_FAULTS = {**YAML_FAULTS, "cut off": b"def design(model, params"}


def file_faults() -> list:
    """(command, option, fault). `evaluate` loads a law as the others do, in a process that it
    starts: two faults of one are enough.
    """
    found = [(n, o) for n, o in options("inputs") if COMMANDS[n].inputs[o] != BAG]
    few = {("evaluate", "--controller"): ("missing", "cut off")}
    return [(*place, fault) for place in found for fault in few.get(place, YAML_FAULTS)]


@pytest.mark.parametrize("name, option, fault", file_faults())
def test_a_file_that_is_no_input_is_one_sentence(folder, capsys, name, option, fault):
    command = COMMANDS[name]
    skip_without(command)
    place = folder / f"wrong_{command.inputs[option]}"
    content = (LAW_FAULTS if command.inputs[option] == LAW else YAML_FAULTS)[fault]
    if fault == "a folder":
        place.mkdir()
    elif content is not None:
        place.write_bytes(content)
    words = given(name, option, str(place))
    if name == "evaluate" and option == "--suite":
        words = [word for word in words if word not in ("--rows", "S3,S4")]
    said = refused(words, capsys)
    assert place.name in said and "Traceback" not in said


@pytest.mark.parametrize(
    "name, option",
    [("gains", "--params-file"), ("simulate", "--model"), ("identify", "recordings")],
)
def test_files_of_an_editor_on_windows_are_read(folder, capsys, name, option):
    """With a byte order mark, and two characters at the end of a line."""
    words = {"gains": [], "simulate": ["--duration", "0.01", "--out", "run.csv"]}
    text = {
        "gains": (ROOT / "config" / "pendulum.yaml").read_text(),
        "simulate": (ROOT / "config" / "models" / "cart_double_pendulum.yaml").read_text(),
        "identify": (folder / "moved.csv").read_text(),
    }[name]
    place = folder / ("windows.csv" if name == "identify" else "windows.yaml")
    place.write_bytes(b"\xef\xbb\xbf" + text.encode().replace(b"\n", b"\r\n"))
    option = [option] if option.startswith("--") else []
    more = words.get(name, ["--fit", "cart.mass"])
    assert program.main([name, *option, str(place), *more]) == 0, capsys.readouterr().err


def test_the_node_names_a_file_that_is_no_law(folder):
    skip_without(COMMANDS["demo"])
    law = folder / "law.py"
    law.write_text("def design(model, params")
    node = subprocess.run(
        [sys.executable, "-m", "rbdyn_ros.ros.start", str(os.getpid()), "controller"]
        + ["--ros-args", "-p", f"controller:={law}"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    said = node.stdout + node.stderr
    assert node.returncode != 0 and "law.py' does not load: SyntaxError" in said
    assert "Traceback" not in said, said


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


def test_what_cannot_be_read_is_no_matter_of_writing(folder, capsys):
    """Root may read what others may not, but neither a link to itself nor a name too long."""
    (folder / "bag" / "bag.mcap").unlink()
    (folder / "bag" / "bag.mcap").symlink_to("bag.mcap")
    for words in (["repair", "bag"], ["leaderboard", 300 * "x"]):
        assert program.main(words) == 2
        assert "cannot be read: " in capsys.readouterr().err


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
