"""A command that fails is explained by one sentence, after the end of its log."""

import _thread
import signal
import sys
import threading
import time

import pytest

from bootstrap.console import run
from bootstrap.trouble import Trouble


def python(code):
    """A command."""
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    "last_words, sentence",
    [
        (
            "NewConnectionError: Temporary failure in name resolution",
            "the package index cannot be reached. Connect this machine",
        ),
        (
            "OSError: [Errno 28] No space left on device",
            "the disk is full, or the folder for temporary files",
        ),
        (
            "ERROR: No matching distribution found for numba==0",
            r"no wheel for Python 3\.\d+ on this kind of machine",
        ),
    ],
)
def test_what_is_known_is_said_in_a_sentence(tmp_path, last_words, sentence):
    with pytest.raises(Trouble, match=sentence):
        run(python(f"print({last_words!r}); raise SystemExit(3)"), tmp_path / "log")


def test_what_is_not_known_is_shown(tmp_path):
    with pytest.raises(
        Trouble,
        match=r"ended with code 3\. All of its output is in "
        r".*/log; its end:\n *Segmentation fault",
    ):
        run(python('print("Segmentation fault"); raise SystemExit(3)'), tmp_path / "log")


def test_an_earlier_failure_is_not_blamed(tmp_path):
    (tmp_path / "log").write_text("No space left on device\n")
    with pytest.raises(Trouble, match="ended with code 3"):
        run(python("raise SystemExit(3)"), tmp_path / "log")


def test_success_leaves_a_log(tmp_path):
    run(python('print("done")'), tmp_path / "log")
    assert (tmp_path / "log").read_text() == "done\n"


ENDS_WHEN_TOLD = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit('told to end'))
print('started', flush=True)
time.sleep(60)
"""


@pytest.fixture
def foreground():
    """Python's own handling of an interrupt, which a process in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_command_too(tmp_path, foreground):
    log = tmp_path / "log"

    def interrupt_when_started():
        while not (log.exists() and log.read_text()):
            time.sleep(0.01)
        _thread.interrupt_main()

    threading.Thread(target=interrupt_when_started).start()
    with pytest.raises(KeyboardInterrupt):
        run(python(ENDS_WHEN_TOLD), log)
    assert log.read_text() == "started\ntold to end\n"
