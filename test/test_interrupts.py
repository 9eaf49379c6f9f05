"""Interrupts: a second signal does not cut off what the first one ends in order."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numba import njit

from rbdyn_ros.interrupts import CallTimedOut, CallTimeout, Interruption, can_propagate

PROGRAM = """
import os, signal, time
from numba.core.codegen import CPUCodeLibrary

def sent_while(name):
    hook = getattr(CPUCodeLibrary, name).__func__
    def called_back(cls, *arguments):
        if arguments[0].name == "f":
            os.kill(os.getpid(), signal.SIGINT)
        return hook(cls, *arguments)
    setattr(CPUCodeLibrary, name, classmethod(called_back))

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
        self.part = 1

    def __del__(self):
        del self.part

if {call!r}:
    sent_while({call!r})  # Numba's engine asks for its hooks once, when the first kernel is made

from rbdyn_ros import interrupts
from rbdyn_ros.kernel import kernel

@kernel
def f(x):
    return x + 1.0

interrupts.raise_on(KeyboardInterrupt)
try:
    {what}
    time.sleep(20.0)
except KeyboardInterrupt:
    print("arrived")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a line in the program, with a signal in the first call of a hook; (what it printed,
    said, its exit code).
    """
    folder = tmp_path_factory.mktemp("interrupts")

    def run(what: str, call: str = "") -> tuple:
        path = folder / "program.py"
        path.write_text(PROGRAM.format(what=what, call=call))
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, timeout=60.0
        )
        return done.stdout, done.stderr, done.returncode

    return run


def test_a_signal_that_falls_into_a_destructor_is_received(run):
    assert run("dying = Dying(); del dying") == ("arrived\n", "", 0)


ENDED = """
import os, signal, time
from rbdyn_ros import interrupts

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))

received = []
interrupts.raise_on(
    KeyboardInterrupt, interrupts.SIGNALS, lambda number: received.append(number) or True
)
try:
    dying = Dying()
    del dying
    time.sleep(20.0)
except KeyboardInterrupt:
    print(*map(int, received))
"""


def test_the_signal_that_is_sent_again_is_the_same_one():
    """Its number is the exit code's."""
    done = subprocess.run(
        [sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=60.0
    )
    assert (done.stdout, done.stderr) == ("15 15\n", "")


def test_the_destructor_of_what_a_signal_left_half_made_says_nothing(run):
    assert run("HalfMade()") == ("arrived\n", "", 0)


@pytest.mark.parametrize(
    "what, call", [("f(1)", "_object_compiled_hook"), ("f(1.0)", "_object_getbuffer_hook")]
)
def test_a_signal_that_falls_into_a_call_of_llvms_is_received(run, what, call):
    """There an exception is lost, and the code that is kept or read with it: an empty module, a
    write to address 0.
    """
    run("f(1.0); raise KeyboardInterrupt")  # in the cache now
    assert run(what, call) == ("arrived\n", "", 0)


def test_what_is_raised_in_a_call_of_llvms_does_not_arrive():
    called_back = scope_of_llvm("def called_back(look): return look()")
    assert can_propagate(sys._getframe())
    assert not called_back(lambda: can_propagate(sys._getframe()))


def test_patience_waits_until_its_exception_arrives():
    slept = scope_of_llvm("import time\ndef called_back(seconds): time.sleep(seconds)")
    with pytest.raises(CallTimedOut), CallTimeout(0.02) as calls:
        calls.edges += 1
        slept(0.2)
        survived = time.monotonic()
        time.sleep(5.0)
    assert time.monotonic() - survived < 4.0


def test_the_time_in_which_a_kernel_compiles_does_not_count():
    """A law whose first command compiles for longer than a command may take is not ended."""
    fresh = njit(lambda x: np.linalg.solve(np.eye(3) * x, np.ones(3)).sum())
    began = time.monotonic()
    with CallTimeout(0.05) as calls:
        calls.edges += 1
        assert fresh(2.0) == 1.5
        assert time.monotonic() - began > 0.2
        with pytest.raises(CallTimedOut):
            time.sleep(5.0)


def test_the_handler_before_patience_comes_back():
    before = signal.getsignal(signal.SIGALRM)
    with CallTimeout(1.0):
        pass
    assert signal.getsignal(signal.SIGALRM) is before


def scope_of_llvm(source: str):
    """The function `called_back` of a source that says it is llvmlite's."""
    scope = {"__name__": "llvmlite.binding.executionengine"}
    exec(source, scope)
    return scope["called_back"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_the_signal(number):
    """A terminal that is closed sends SIGHUP, which ended a command without its end."""
    before = signal.getsignal(number)
    with Interruption() as stop:
        assert stop.signal == 0
        signal.raise_signal(number)
        assert stop.signal == number
    assert signal.getsignal(number) == before


def test_nohup_is_heeded():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as stop:
            signal.raise_signal(signal.SIGHUP)
        assert stop.signal == 0
    finally:
        signal.signal(signal.SIGHUP, before)
