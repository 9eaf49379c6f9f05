"""The place in somebody else's code where an error, or a crash, comes from."""

import subprocess
import sys
from importlib import import_module

import pytest

from rbdyn_ros import tracebacks
from rbdyn_ros.geometry import so3

LAW = """\
import math

def command(force):
    return helper(force)

def helper(force):
    return math.sqrt(force)
"""


@pytest.fixture
def law(tmp_path, monkeypatch):
    """A module of somebody else, and its file."""
    (tmp_path / "law_of_somebody.py").write_text(LAW)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("law_of_somebody"), tmp_path / "law_of_somebody.py"
    del sys.modules["law_of_somebody"]


def raised(function, *arguments) -> BaseException:
    """The error, with its traceback as far as this function."""
    try:
        function(*arguments)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        return error
    raise AssertionError("nothing was raised")


def test_the_innermost_line_of_the_file_that_was_called(law):
    module, file = law
    error = raised(module.command, -1.0)
    assert tracebacks.place(error) == tracebacks.place(error, str(file)) == f" ({file}:7)"
    assert tracebacks.describe(
        error
    ) == f"{type(error).__name__}: {error} ({file}:7)" and not tracebacks.is_own(error)


def test_a_file_with_a_wrong_syntax_has_a_line(tmp_path, monkeypatch):
    (tmp_path / "no_python.py").write_text("def command(:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert (
        tracebacks.place(raised(import_module, "no_python")) == f" ({tmp_path / 'no_python.py'}:1)"
    )


def test_what_this_package_raises_on_purpose_has_none():
    def ours():
        raise ValueError("on purpose")

    code = compile("def ours():\n    raise ValueError('on purpose')\n", so3.__file__, "exec")
    exec(code, names := {})
    error = raised(names["ours"])
    assert tracebacks.is_own(error) and tracebacks.place(error) == ""
    assert (
        tracebacks.place(error, so3.__file__) == f" ({so3.__file__}:2)"
    )  # unless it is a law of ours that is asked for
    assert tracebacks.place(raised(ours)) != ""


def test_where_a_process_crashed(tmp_path):
    """A real one, as `faulthandler` writes it."""
    (tmp_path / "crash.py").write_text(
        "import ctypes, faulthandler\n\nfaulthandler.enable()\n\ndef command():\n    "
        "ctypes.string_at(0)\n\ncommand()\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "crash.py")], capture_output=True, text=True
    )
    assert done.returncode < 0
    seen = tracebacks.place_of_crash(f"[INFO] a line before\n{done.stderr}")
    assert seen.startswith(" (") and seen.endswith(")") and "crash.py:8" in seen
    assert tracebacks.place_of_crash("[INFO] nothing happened\n") == ""


def test_a_crash_in_what_this_package_called(tmp_path):
    text = (
        "Fatal Python error: Segmentation fault\n\nThread 0x0001 (most recent call first):\n  "
        'File "/usr/lib/threading.py", line 3 in wait\n\n'
        'Current thread 0x0002 (most recent call first):\n  File "/usr/lib/ctypes/__init__.py", '
        "line 519 in string_at\n"
        '  File "/home/me/law.py", line 12 in command\n  File '
        f'"{tracebacks._PACKAGE}/ros/controller/controller_supervisor.py", line 90 in _force\n'
    )
    assert tracebacks.place_of_crash(text) == " (/home/me/law.py:12)"
