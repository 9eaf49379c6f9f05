"""A process of the tests that ends without a word is said to have ended, and how."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed (./testbed test brings it)")

TESTS = """
import faulthandler, os, signal, sys

def test_a(): os._exit(3)

def test_b(): os.kill(os.getpid(), signal.SIGALRM)

def test_c(): faulthandler.enable(sys.stderr)  # as a node does

def test_d(): os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_how_a_process_ended_is_said(tmp_path):
    here = Path(__file__).parents[1]
    shutil.copy(here / "conftest.py", tmp_path)
    (tmp_path / "test_deadly.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-n1", "-p", "no:cacheprovider", "-c", "/dev/null"]
    places = f"pythonpath={here / 'verification'}"
    done = subprocess.run(
        [*words, "-o", places, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300.0,
    )
    said = [line.split(" ")[-3:] for line in done.stderr.splitlines() if "ended early" in line]
    assert sorted(words[-2:] for words in said) == [
        ["by", "SIGALRM"],
        ["by", "SIGSEGV"],
        ["code", "3"],
    ], done.stdout
    assert "Fatal Python error: Segmentation fault" in done.stderr and "in test_d" in done.stderr
