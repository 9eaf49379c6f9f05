"""Signals that end a command, whatever runs meanwhile, and the limit on the time of calls."""

import contextlib
import signal
import subprocess
import sys
import time

import pytest

from rbdyn_ros.interrupts import CallTimedOut, CallTimeout, Interruption, at_end

PROGRAM = """
import os, signal, sys, time
from rbdyn_ros import console
console.begin("program")
from pathlib import Path
from numba.core.codegen import CPUCodeLibrary
from rbdyn_ros import interrupts
from rbdyn_ros.kernel import kernel

def interrupt():
    os.kill(os.getpid(), signal.SIGTERM)
    sum(range(1000))

def interrupt_in(name):
    hook = getattr(CPUCodeLibrary, name).__func__
    def called_back(cls, *arguments):
        if arguments[0].name == "f":
            interrupt()
        return hook(cls, *arguments)
    setattr(CPUCodeLibrary, name, classmethod(called_back))

class Dying:
    def __del__(self):
        interrupt()

def stubborn():
    while True:
        try:
            interrupt()
            time.sleep(20.0)
        except BaseException:
            pass

if {call!r}:
    interrupt_in({call!r})  # Numba's engine asks for its hooks once, when it makes a kernel

@kernel
def f(x):
    return x + 1.0

def main():
    draft = Path("draft")
    with interrupts.at_end(draft.unlink):
        draft.touch()
        sys.stderr.write("half a line")
        {what}
        time.sleep(20.0)

sys.exit(console.run("program", main))
"""


@pytest.mark.parametrize(
    "what, call",
    [
        ("interrupt()", ""),
        ("stubborn()", ""),
        ("dying = Dying(); del dying", ""),
        ("f(1)", "_object_compiled_hook"),
        ("f(1.0)", "_object_getbuffer_hook"),
    ],
)
def test_a_signal_ends_a_command_wherever_it_falls(tmp_path, what, call):
    """In a destructor, in a call of LLVM's, in code that catches everything: an exception would
    be lost there.
    """
    path = tmp_path / "program.py"
    if call == "_object_getbuffer_hook":  # it is called with what is in the cache
        path.write_text(PROGRAM.format(what="f(1.0); interrupt()", call=""))
        subprocess.run([sys.executable, str(path)], cwd=tmp_path, timeout=60.0)
    path.write_text(PROGRAM.format(what=what, call=call))
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=60.0
    )
    sentence = "half a line\nprogram: interrupted before there was a result\n"
    assert (done.stderr, done.returncode) == (sentence, 128 + signal.SIGTERM)
    assert not (tmp_path / "draft").exists()


def test_what_ends_a_block_is_called_once_also_after_an_exception():
    calls = []
    with contextlib.suppress(KeyError), at_end(lambda: calls.append(1)):
        raise KeyError
    assert calls == [1]


def test_processes_that_work_for_this_one_do_not_receive_ctrl_c():
    """Those of `multiprocessing` above all, whose first start unblocks signals."""
    code = (
        "import multiprocessing, os, signal, time\n"
        "from rbdyn_ros.interrupts import block\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    worker = context.Process(target=time.sleep, args=(1.0,))\n"
        "    with block():\n        worker.start()\n"
        "    os.kill(worker.pid, signal.SIGINT)\n"
        "    worker.join()\n"
        "    try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5.0)\n"
        "    except KeyboardInterrupt: print(worker.exitcode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_signal_during_the_block_is_received_after_it():
    """In a process of its own: a thread that a library keeps would take the signal."""
    code = (
        "import os, signal\n"
        "from rbdyn_ros.interrupts import block\n"
        "try:\n"
        "    with block():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        print('within')\n"
        "except KeyboardInterrupt: print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("within\nafter\n", "")


def test_a_signal_during_the_block_is_not_lost_to_a_thread():
    code = (
        "import os, signal, threading, time\n"
        "from rbdyn_ros.interrupts import block\n"
        "threading.Thread(target=time.sleep, args=(5.0,), daemon=True).start()\n"
        "try:\n"
        "    with block():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.5)\n"
        "    time.sleep(0.5)\n"
        "except KeyboardInterrupt: print('received')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("received\n", "")


def test_a_call_that_takes_too_long_is_ended_although_it_catches_everything():

    def stubborn() -> None:
        with contextlib.suppress(Exception):
            time.sleep(20.0)

    with pytest.raises(CallTimedOut), CallTimeout(0.05) as calls:
        calls(stubborn)


SLOW_COMPILER = """
import time
from numba import njit
from numba.core.codegen import CPUCodeLibrary
from rbdyn_ros.interrupts import CallTimedOut, CallTimeout

hook = CPUCodeLibrary._object_compiled_hook.__func__

def called_back(cls, *arguments):
    time.sleep(1.0)
    return hook(cls, *arguments)

CPUCodeLibrary._object_compiled_hook = classmethod(called_back)
fresh, began = njit(lambda x: 0.75 * x), time.monotonic()
with CallTimeout(0.3) as calls:
    print(calls(fresh, 2.0), time.monotonic() - began > 0.6)
    try:
        calls(time.sleep, 5.0)
    except CallTimedOut:
        print("timed out")
"""


def test_the_time_in_which_a_kernel_compiles_does_not_count():
    """A law whose first command compiles for longer than a command may take is not ended, least
    of all in a call of LLVM's, from which nothing that is raised arrives. In a process of its own:
    Numba asks for the hook once.
    """
    words = [sys.executable, "-c", SLOW_COMPILER]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1.5 True\ntimed out\n", "")


def test_the_handler_before_patience_comes_back():
    before = signal.getsignal(signal.SIGALRM)
    with CallTimeout(1.0):
        pass
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.fixture
def timer():
    """A timer of somebody else, such as that of the time that a test may take."""
    handler = signal.signal(signal.SIGALRM, lambda *_: None)
    before = signal.setitimer(signal.ITIMER_REAL, 500.0, 30.0)
    yield
    signal.setitimer(signal.ITIMER_REAL, *before)
    signal.signal(signal.SIGALRM, handler)


def test_the_timer_before_goes_on_afterwards(timer):
    with contextlib.suppress(CallTimedOut), CallTimeout(0.05) as calls:
        calls(time.sleep, 20.0)
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 400.0 < left <= 500.0 and interval == 30.0


def test_a_limit_within_another_one_leaves_it_in_force():
    with pytest.raises(CallTimedOut), CallTimeout(0.05) as outer:
        with CallTimeout(30.0) as inner:
            inner(int)
        outer(time.sleep, 20.0)


def test_nothing_is_left_that_could_end_the_process():
    """A timer that still runs when SIGALRM has its default action again ends a process without a
    word.
    """
    code = (
        "import signal, time\n"
        "from rbdyn_ros.interrupts import CallTimedOut, CallTimeout\n"
        "CallTimeout.last_resort = 0.1\n"
        "try:\n"
        "    with CallTimeout(0.05) as calls: calls(time.sleep, 20.0)\n"
        "except CallTimedOut: pass\n"
        "assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL\n"
        "time.sleep(1.0)\n"
        "print('alive')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("alive\n", "", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_the_signal(number):
    """A terminal that is closed sends SIGHUP, which ended a command without its end."""
    before = signal.signal(number, signal.SIG_DFL)  # what starts the tests may ignore it
    try:
        with Interruption() as stop:
            assert stop.signal == 0
            signal.raise_signal(number)
            assert stop.signal == number
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_nohup_is_heeded():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as stop:
            signal.raise_signal(signal.SIGHUP)
        assert stop.signal == 0
    finally:
        signal.signal(signal.SIGHUP, before)
