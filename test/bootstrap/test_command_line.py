"""The command line teaches, and says what is wrong with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap import command_line, old_python
from bootstrap.command_line import distro_first, main, make_parser
from bootstrap.place import ROOT, Place
from bootstrap.steps import STATE


def testbed(*arguments):
    """Run ./testbed as a user does."""
    return subprocess.run(
        [sys.executable, str(ROOT / "testbed"), *arguments], capture_output=True, text=True
    )


testbed.__test__ = False


def test_help_teaches_every_command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = testbed("--help")
    assert shown.returncode == 0
    assert max(len(line) for line in shown.stdout.splitlines() if str(ROOT) not in line) <= 80
    for part in (
        "./testbed demo",
        "./testbed test",
        "./testbed soak",
        "./testbed docs",
        "./testbed exec",
        "./testbed setup",
        "--distro kilted",
        "sourced",
    ):
        assert part in shown.stdout


def test_no_command_shows_the_help():
    shown = testbed()
    assert (shown.returncode, shown.stdout) == (2, testbed("--help").stdout)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["fly"], "invalid choice: 'fly' (choose from"),
        (["exec"], "exec needs a command, for example: ./testbed exec python"),
        (["setup", "now"], "setup takes no arguments, got: now"),
        (["--distro", "noetic", "test"], "invalid choice: 'noetic' (choose from"),
        (["test", "--distro"], "(choose from"),
    ],
)
def test_a_wrong_command_line(arguments, sentence, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--distro", "kilted", "test", "-k", "log"],
        ["test", "--distro", "kilted", "-k", "log"],
        ["test", "-k", "log", "--distro=kilted"],
    ],
)
def test_the_distribution_may_stand_anywhere(arguments):
    options = make_parser().parse_args(distro_first(arguments))
    assert (options.distro, options.command, options.rest) == ("kilted", "test", ["-k", "log"])


def test_what_follows_exec_is_its_own():
    options = make_parser().parse_args(distro_first(["exec", "other", "--distro", "x"]))
    assert (options.distro, options.rest) == (None, ["other", "--distro", "x"])


def test_a_folder_of_another_user(monkeypatch, capsys):
    monkeypatch.setattr(command_line, "set_up", refused)
    assert main(["setup"]) == 1
    assert "/elsewhere/.venv cannot be written. Clone the project into" in capsys.readouterr().err


def refused(distro, everything):
    """Fail as mkdir does in a folder that belongs to somebody else."""
    raise PermissionError(13, "Permission denied", "/elsewhere/.venv")


def test_an_environment_keeps_the_python_that_it_was_made_by(tmp_path):
    """Whichever is first on PATH: nothing is made anew, and the words are passed on."""
    place = Place("jazzy", tmp_path, sourced=False)
    assert command_line.other_interpreter(place) is None  # there is no environment
    python = tmp_path / "bin" / "python"
    for folder in (python.parent, tmp_path / STATE, tmp_path / "lib/python3.99/site-packages"):
        folder.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    script = (
        "import sys; from pathlib import Path; from bootstrap import command_line, place\n"
        f"found = place.Place('jazzy', Path({str(tmp_path)!r}), sourced=False)\n"
        "command_line.find = lambda distro: found\n"
        "command_line.main(['exec', 'true', '--loud'])"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.split() == [str(ROOT / "testbed"), "exec", "true", "--loud"], ran.stderr
    place.site_packages.mkdir(parents=True)
    assert command_line.other_interpreter(place) is None  # it is of this Python


DEMO = ["environment", "wheels", "tf2_msgs", "rbdyn_ros"]
TESTS = ["environment", "tests", "simulation_interfaces"]
DOCS = ["environment", "docs"]


@pytest.mark.parametrize(
    "command, names",
    [
        (["demo"], DEMO),
        (["exec", "true"], DEMO),
        (["docs"], [*DEMO, *DOCS]),
        (["test"], [*DEMO, *TESTS, *DOCS]),
        (["setup"], [*DEMO, *TESTS, *DOCS, "environment", "kernels"]),
    ],
)
def test_each_command_sets_up_what_it_needs(command, names, tmp_path, monkeypatch):
    """The environment stands more than once: every chain begins with it, and finds it done."""
    asked, beside = [], []
    monkeypatch.setattr(command_line.kernels, "compile_beside", beside.append)
    monkeypatch.setattr(
        command_line, "find", lambda distro: Place("jazzy", tmp_path, sourced=False)
    )
    monkeypatch.setattr(
        command_line,
        "carry_out",
        lambda prefix, steps: asked.extend(step.name for step in steps) or len(steps),
    )
    monkeypatch.setattr(command_line, "become", lambda place, options: 0)
    assert main(command) == 0
    assert asked == names and len(beside) == (command == ["demo"])


@pytest.mark.parametrize("words", [["soak", "--kills", "3"], ["docs", "--out", "site"]])
def test_soak_and_docs_are_scripts_of_the_sources(words, monkeypatch):
    ran = []
    monkeypatch.setattr(command_line, "environment", lambda place: os.environ)
    monkeypatch.setattr(os, "execvpe", lambda file, words, env: ran.extend(words))
    place = Place("jazzy", Path(sys.prefix), sourced=False)
    command_line.become(place, make_parser().parse_args(words))
    assert Path(ran[1]).is_file() and ran[2:] == words[1:]


def test_an_old_python_gets_a_note_of_a_newer_one(tmp_path, monkeypatch):
    for name, code in (("python3.12", 0), ("python3.13", 127), ("python3.9", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 8, 18))
    monkeypatch.setattr(sys, "argv", ["testbed", "demo"])
    assert old_python.complaint() == (
        f"testbed needs Python 3.10 or newer; this is 3.8 ({sys.executable}). "
        "Run it with one of your newer ones: python3.12 ./testbed demo"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert old_python.complaint().endswith(
        "No newer one is on PATH: install one, for example by: apt-get install python3"
    )


INTERRUPTED_AT = """
import builtins, os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
place, script = sys.argv[1:3]
sys.argv = sys.argv[2:]
plain = builtins.__import__

def interrupted(name, *rest):
    if name == place:
        builtins.__import__ = plain
        os.kill(os.getpid(), signal.SIGINT)
    return plain(name, *rest)

def interrupted_call(frame, event, argument):
    if event == "call" and frame.f_code.co_name == place:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

builtins.__import__ = interrupted
sys.setprofile(interrupted_call)
sys.path.insert(0, os.path.dirname(script))
runpy.run_path(script, run_name="__main__")
"""


@pytest.mark.parametrize(
    "place", ["bootstrap.command_line", "argparse", "parse_args", "find", "become", "execvpe"]
)
def test_an_interrupt_of_testbed_itself_shows_no_traceback(place):
    """While it is read, reads its arguments, sets up, and starts the command."""
    command = [sys.executable, "-c", INTERRUPTED_AT, place, str(ROOT / "testbed"), "exec", "true"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "\nInterrupted; the same command goes on from here.\n"
