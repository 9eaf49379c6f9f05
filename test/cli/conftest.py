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


@pytest.fixture
def watched(monkeypatch, capfd):
    """Run a command that starts nodes in this process, which does not step back for them: a busy
    machine would leave it nothing. All that it printed, and the exit code.

    Its context of rclpy is its own: other tests of this process have joined another graph. They
    log what this one does not.
    """
    from rclpy import logging, utilities

    from rbdyn_ros.ros import demo_session
    from rbdyn_ros.ros.hil import hil_trial

    def run(words: list, environment: dict) -> tuple:
        monkeypatch.setattr(utilities, "g_default_context", None)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        for tool in (demo_session, hil_trial):
            monkeypatch.setattr(tool, "POLITE", 0)
        code = main(words)
        return "".join(capfd.readouterr()), code

    yield run
    logging.set_logger_level("", logging.LoggingSeverity.INFO)
