"""What tests of several commands share."""

import pytest

from rbdyn_ros.__main__ import main

from .command_table import with_inputs


@pytest.fixture
def simulate(tmp_path, capsys, monkeypatch):
    """Run the command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*options, out="run.csv"):
        code = main(["simulate", *options, "--out", out])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with inputs that are right."""
    monkeypatch.chdir(tmp_path)
    return with_inputs(tmp_path)
