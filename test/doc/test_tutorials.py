"""What the tutorials show can be typed, ends well, and prints what they say."""

import shlex
import shutil

import pytest
from domain import alone

from doc.tutorial_pages import (
    IMAGES,
    PAGES,
    REASONS,
    Block,
    blocks,
    commands,
    is_equal,
    missing,
    pictures,
    run,
)
from rbdyn_ros import __main__ as program

# of a page, what it needs besides the package: modules and programs
NEEDS = {
    "ros": (("rclpy", "rosbags"), ()),
    "own_node": (("rclpy",), ()),
    "board": (("rclpy", "cobs"), ("make", "cc")),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_does_what_it_says(page, tmp_path):
    modules, programs = NEEDS.get(page.stem, ((), ()))
    for name in modules:
        pytest.importorskip(name, reason=f"{name} is not installed (./testbed test brings it)")
    for name in programs:
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    assert list(run(page, tmp_path, alone() if "rclpy" in modules else {})) == []
    for name in pictures(page):
        assert (tmp_path / name).stat().st_size > 1000
        assert (IMAGES / f"tutorial_{name}").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_run_says_why(page):
    found = blocks(page)
    assert {block.why for block in found} <= {"", *REASONS}
    assert {block.language for block in found} <= {"bash", "python", "yaml", "text"}
    assert "](../images/" in page.read_text(encoding="utf-8")
    assert any(not block.why and block.language in ("bash", "python") for block in found)


def test_a_command_that_is_not_run_can_be_typed():
    lines = [
        line
        for page in PAGES
        for block in blocks(page)
        if block.why
        for line in block.text.splitlines()
    ]
    words = [shlex.split(line)[3:] for line in lines if line.startswith("python -m rbdyn_ros ")]
    assert len(words) >= 3
    for name, *options in words:
        program.parser(name).parse_args(options)


def test_every_picture_of_a_tutorial_is_shown():
    shown = {f"tutorial_{name}" for page in PAGES for name in pictures(page)}
    assert {path.name for path in IMAGES.glob("tutorial_*")} == shown
    assert max((IMAGES / name).stat().st_size for name in shown) < 200_000


@pytest.mark.parametrize(
    "expected, line, equal",
    [
        ("tilt 10.0 of 3", "tilt 10.1 of 3", True),
        ("tilt 10.0 of 3", "tilt 11.0 of 3", False),
        ("tilt 10.0 of 3", "tilt 10.0 of", False),
        ("a in …, b 1e-3", "a in 0.3 s, b 0.00101", True),
        ("a in …, b 1e-3", "a in 0.3 s, b -0.001", False),
    ],
)
def test_numbers_are_compared_as_numbers(expected, line, equal):
    assert is_equal(expected, line) == equal


def test_what_a_page_expects_and_nobody_prints_is_named():
    assert [fault.splitlines()[0] for fault in missing("a\n  b  1\n", "a\nb 2\n")] == [
        "not printed: b 1"
    ]


@pytest.mark.parametrize(
    "command, sentence",
    [
        ("echo one\nfalse", "exit code 1 of"),
        (
            "python -m rbdyn_ros parameters one\npython -m rbdyn_ros parameters rod",
            "exit code 2 of",
        ),
        ("python -m rbdyn_ros gains --one", "exit code 2 of"),
    ],
)
def test_a_page_whose_command_fails_ends_there(tmp_path, command, sentence):
    page = tmp_path / "page.md"
    page.write_text(f"```bash\n{command}\n```\n\n```bash\ntouch two\n```\n")
    (fault,) = run(page, tmp_path, {})
    _, _, printed = fault.partition("\nwhich prints\n")
    assert fault.startswith(sentence) and "one" in printed and "rod.mass" not in printed
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    "text, words",
    [
        ("plot a.csv \\\n    --labels 'a b'\n", [["plot", "a.csv", "--labels", "a b"]]),
        ("plot a.csv\ncp a.svg b.svg\n", []),
        ("gains > gains.txt\n", []),
        ("parameters rod &\n", []),
        ("demo\n", []),
    ],
)
def test_commands_of_this_package_alone_need_no_process(text, words):
    assert commands(Block("bash", f"python -m rbdyn_ros {text}", "")) == words
