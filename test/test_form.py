"""The form of the sources: what ruff.toml and pyrefly.toml cover is clean."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def clean(tool: str, *arguments: str) -> None:
    """Run a tool of this environment in the repository; fail with what it says."""
    pytest.importorskip(tool, reason=f"{tool} is not installed (./testbed test brings it)")
    command = [sys.executable, "-m", tool, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing():
    clean("ruff", "check", "--no-cache", "--output-format=concise")


def test_the_sources_are_formatted():
    clean("ruff", "format", "--check", "--no-cache")


def test_types_agree():
    clean("pyrefly", "check", "--python-interpreter-path", sys.executable)
