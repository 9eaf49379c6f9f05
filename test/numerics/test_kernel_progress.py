"""A command says which kernel compiles, and which share of it is done."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rbdyn_ros.kernel import inlined, kernel, part, reached
from rbdyn_ros.numerics.kernel_progress import CompilationLine

ROOT = Path(__file__).parents[2]
ALONE = """
import sys
from rbdyn_ros import console, progress
progress.DELAY = 0.0

def main():
    from powers import seventh
    assert seventh(2.0) == 128.0
    return 0

sys.exit(console.run("alone", main))
"""
POWERS = """
from rbdyn_ros.kernel import kernel, part

@part
def square(x): return x * x
@part
def sixth(x): return square(x) * square(x) * square(x)
@kernel
def seventh(x): return x * sixth(x)
"""


@pytest.fixture
def alone(tmp_path):
    """The command line and the variables of a command that compiles."""
    (tmp_path / "alone.py").write_text(ALONE)
    (tmp_path / "powers.py").write_text(POWERS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    return dict(args=[sys.executable, tmp_path / "alone.py"], env=environment, check=True)


def test_a_command_says_what_compiles_and_the_share_done(alone):
    first, again = (
        subprocess.run(**alone, capture_output=True, text=True).stderr for _ in range(2)
    )
    lines = first.splitlines()
    assert lines[0] == "compiling powers.seventh, once on this machine: 0 % done"
    assert len(lines) <= 4 and not again


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@inlined
def first(a):
    return a[0]


@part
def double(a):
    return 2.0 * first(a)


@kernel
def whole(a):
    return double(a) + double(a)


def test_what_a_kernel_reaches_is_what_it_calls_at_any_depth():
    assert reached(whole.py_func) == {first.py_func, double.py_func}


def test_on_a_terminal_that_line_is_taken_away(alone):
    ours, theirs = pty.openpty()
    subprocess.run(**alone, stderr=theirs)
    os.close(theirs)
    said = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "seventh, once on this machine: 0 % done" in said and said.endswith("\r\x1b[2K")


def test_the_share_grows_to_that_of_the_functions_that_are_translated():
    called = [lambda: 0, lambda: 1]
    line = CompilationLine(Terminal(), lambda function: {*called}, delay=0.0)
    events = [SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=f)}) for f in called]
    outermost = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=whole.py_func)})
    line.on_start(outermost)
    shares = [line.text().split()[-3]]
    for event in events:
        line.on_start(event)
        line.on_end(event)
        shares.append(line.text().split()[-3])
    assert "test_kernel_progress.whole" in line.text() and shares == ["0", "37", "75"]
