"""A bridge under malformed frames, and the words of the script."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from domain import alone
from fuzz import main
from without import hide

SCRIPT = Path(__file__).with_name("fuzz.py")


def test_a_bridge_survives_malformed_frames():
    for name, package in (("rclpy", "ROS 2"), ("cobs", "rbdyn_ros[hil]")):
        pytest.importorskip(name, reason=f"{name} is not importable: {package} is missing")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--frames", "0", "--bridge", "1000"],
        env=os.environ | alone(),
        capture_output=True,
        text=True,
        timeout=240.0,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"bridge: 1000 frames sent, (\d+) counted, (\d+) dropped", done.stdout)
    counted, dropped = map(int, found.groups())
    assert 500 < counted <= 1000 <= counted + dropped
    assert "alive: True; commands meanwhile: 0; takes the next right frame: True" in done.stdout


def test_the_verdict_is_the_exit_code(monkeypatch, capsys):
    pytest.importorskip("cobs", reason="cobs is not installed: pip install 'rbdyn_ros[hil]'")
    words = ["--frames", "200", "--bridge", "0"]
    assert main(words) == 0 and capsys.readouterr().out.endswith("\npassed\n")
    monkeypatch.setattr("wire_fuzz.Link.incoming", lambda self, data, now: [])
    assert main(words) == 1 and capsys.readouterr().out.endswith("\nFAILED\n")


@pytest.mark.parametrize("option", ["--frames", "--bridge", "--seed"])
def test_bad_input_is_one_sentence(option, capsys):
    pytest.importorskip("cobs", reason="cobs is not installed: pip install 'rbdyn_ros[hil]'")
    assert main([option, "-3"]) == 2
    said = capsys.readouterr().err
    assert f"{option} is -3; it must be" in said and said.count("\n") == 1


def test_a_missing_library_is_one_sentence(monkeypatch, capsys):
    hide("cobs", monkeypatch)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "needs cobs, which is not installed" in said and said.count("\n") == 1
