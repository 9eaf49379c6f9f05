"""Steps are done once, redone when their inputs change, and never believed before they have
ended.
"""

import os
import subprocess
import sys

import pytest

from bootstrap.place import ROOT
from bootstrap.steps import STATE, Step, carry_out, digests, pending_steps


@pytest.fixture
def prefix(tmp_path):
    """An environment with an interpreter in it."""
    (tmp_path / STATE).mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    return tmp_path


def recording(done, **inputs):
    """Steps that note their names when they are carried out."""
    return [
        Step(name, text, lambda keep_open, name=name: done.append(name))
        for name, text in inputs.items()
    ]


def test_each_step_is_done_once(prefix):
    done = []
    for _ in range(2):
        carry_out(prefix, recording(done, a="1", b="2"))
    assert done == ["a", "b"]


def test_a_changed_input_redoes_its_step_and_those_after_it(prefix):
    done = []
    carry_out(prefix, recording(done, a="1", b="2", c="3"))
    carry_out(prefix, recording(done, a="1", b="changed", c="3"))
    assert done == ["a", "b", "c", "b", "c"]


def test_two_chains_share_their_beginning(prefix):
    """The tests' wheels follow upon the environment, as the demo's do: neither redoes the
    other.
    """
    done = []
    for demo, tests in (("1", "1"), ("1", "changed"), ("changed", "changed")):
        carry_out(prefix, recording(done, environment="1", package=demo))
        carry_out(prefix, recording(done, environment="1", tests=tests))
    assert done == ["environment", "package", "tests", "tests", "package"]


def test_how_many_were_done_is_told(prefix):
    assert [carry_out(prefix, recording([], a="1", b="2")) for _ in range(2)] == [2, 0]


def test_digests_tell_a_name_from_an_input():
    assert digests([Step("ab", "c", print)]) != digests([Step("a", "bc", print)])


def test_an_interrupted_step_is_done_again_and_those_before_it_are_not(prefix):
    done = []

    def interrupted(keep_open):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(prefix, [*recording(done, a="1"), Step("b", "2", interrupted)])
    steps = recording(done, a="1", b="2")
    assert pending_steps(prefix, steps) == [1]
    carry_out(prefix, steps)
    assert done == ["a", "b"]


def test_a_half_written_stamp_is_not_believed(prefix):
    steps = recording([], a="1")
    carry_out(prefix, steps)
    stamp = prefix / STATE / "a.stamp"
    stamp.write_text(stamp.read_text()[:10])
    assert pending_steps(prefix, steps) == [0]


def test_nothing_is_believed_when_the_interpreter_is_gone(prefix):
    steps = recording([], a="1", b="2")
    carry_out(prefix, steps)
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to(prefix / "removed-by-an-upgrade")
    assert pending_steps(prefix, steps) == [0, 1]


HOLD = """
import subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from bootstrap.steps import hold_lock
with hold_lock() as lock:
    holder = 'import time; print("holding", flush=True); time.sleep(60)'
    child = subprocess.Popen([sys.executable, '-c', holder], pass_fds=(lock,))
    print(child.pid, flush=True)
    time.sleep(60)
"""

TRY = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
"""


def is_locked(folder):
    """Whether another process holds the lock of the folder."""
    return (
        subprocess.run([sys.executable, "-c", TRY, str(folder)], capture_output=True).returncode
        != 0
    )


def test_what_a_killed_setup_left_running_keeps_others_out(tmp_path):
    (tmp_path / "bootstrap").symlink_to(ROOT / "bootstrap")
    hold = HOLD.replace(
        "with hold_lock()",
        f"import bootstrap.steps; bootstrap.steps.ROOT = {str(tmp_path)!r}\nwith hold_lock()",
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(ROOT)], stdout=subprocess.PIPE, text=True
    )
    lines = {holder.stdout.readline().strip(), holder.stdout.readline().strip()}
    child = int(next(line for line in lines if line.isdigit()))
    try:
        assert is_locked(tmp_path)
        holder.kill()
        holder.wait()
        assert is_locked(tmp_path)
    finally:
        os.kill(child, 9)
    holder.stdout.read()  # ends when the child is gone
    assert not is_locked(tmp_path)
