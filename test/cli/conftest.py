"""What tests of several commands share."""

import pytest

from rbdyn_ros.__main__ import main


@pytest.fixture
def simulate(tmp_path, capsys, monkeypatch):
    """Run the command in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*options, out="run.csv"):
        code = main(["simulate", *options, "--out", out])
        return (code, *capsys.readouterr())

    return run
