"""The process around a command: signals, standard streams, and one sentence where Python would
write a traceback.

    begin(program)      before the other imports: a signal ends the process at once; garbage is
                        collected seldom
    run(program, main)  the command: a signal raises KeyboardInterrupt, for which main() returns
                        its exit code

Standard output and standard error never fail: a reader that leaves, a full disk or a closed
descriptor must not cost a result that is on its way to a file. What could not be written is
reported at the end.
"""

import errno
import gc
import io
import os
import runpy
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TextIO

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CANNOT_WRITE, DEFECT, SIGNAL = 4, 70, 128  # exit codes; 70 is EX_SOFTWARE of sysexits.h
USUAL = gc.get_threshold()
_received: list[int] = []


class CannotBegin(RuntimeError):
    """What a command needs of the system does not begin; the message is complete."""


class Output(io.RawIOBase):
    """A raw stream to a descriptor that accepts everything; the first error stays in `error`, and
    what comes after it is dropped.
    """

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data) -> int:
        """Write all of the bytes; return their number, also where an error drops them."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left and self.error is None:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                os.set_blocking(self._descriptor, True)
            except OSError as error:
                self.error = error
        return size


def command() -> None:
    """Run the console command `rbdyn_ros`, which is `python -m rbdyn_ros` by a shorter name."""
    runpy.run_module("rbdyn_ros", run_name="__main__", alter_sys=True)


def begin(program: str) -> None:
    """Let SIGINT and SIGTERM end the process with a sentence, give every missing standard stream a
    place, and let linear algebra use one thread.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        os.write(2, f"{program}: interrupted before there was a result\n".encode())
        os._exit(SIGNAL + number)

    for descriptor in (0, 1, 2):  # a data file must never become descriptor 1
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
    for number in SIGNALS:
        signal.signal(number, leave)
    # the matrices have ten rows: threads of BLAS only wait for each other, all the more in a sweep
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    collect_seldom()


def collect_seldom() -> None:
    """Let many objects pass between two garbage collections.

    Imports make a hundred thousand that stay: to search them again and again, as Python does by
    itself, takes a tenth of the start.
    """
    gc.set_threshold(100_000, *USUAL[1:])


def collect_as_usual() -> None:
    """Collect garbage as often as Python does by itself: each collection is short."""
    gc.set_threshold(*USUAL)


def received_signal() -> int:
    """Return the newest signal that raised KeyboardInterrupt; SIGINT if none did."""
    return _received[-1] if _received else signal.SIGINT


def is_interrupted() -> bool:
    """Return whether a signal ended the command. A library may have made another exception of its
    own.
    """
    return bool(_received)


def run(program: str, main: Callable[[], int]) -> int:
    """Return the exit code of `main`, or of what kept it from returning one."""
    # not before `begin`: its own imports take longer than those of this file
    from rbdyn_ros import interrupts, progress

    output = _guard_streams()
    progress.compilations_to.append(sys.stderr)
    interrupts.raise_on(KeyboardInterrupt, SIGNALS, _note)
    try:
        code = main()
    except SystemExit as done:  # argparse
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    except BaseException as error:
        code = _report(program, error)
    # What is left is the end of the interpreter, which frees everything: to search it for cycles
    # before takes a quarter of the processor time of a short command.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()
    return _flush(program, code, output)


def _note(number: int) -> bool:
    _received.append(number)
    return True


def _report(program: str, error: BaseException) -> int:
    """Say what ended the command; return the exit code.

    After a signal any exception is its effect: an import may turn it into another.
    """
    if _received or isinstance(error, KeyboardInterrupt):
        print(f"{program}: interrupted before there was a result", file=sys.stderr)
        return SIGNAL + received_signal()
    if sys.flags.dev_mode:
        raise error
    where = _place(error.__traceback__)
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    print(
        f"{program}: this is a defect of the program: {reason} ({where}); `python -X dev -m "
        "rbdyn_ros ...` shows all of it",
        file=sys.stderr,
    )
    return DEFECT


def _place(trace: TracebackType | None) -> str:
    """Return "file:line" of the innermost frame."""
    if trace is None:
        return "it was never raised"
    while trace.tb_next:
        trace = trace.tb_next
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"


def _guard_streams() -> Output:
    """Replace standard output and standard error by streams that do not fail; return the
    first.
    """
    output, is_direct = Output(1), getattr(sys.stdout, "write_through", False)  # python -u
    sys.stdout = _stream(output, sys.stdout, is_direct)
    sys.stderr = _stream(Output(2), sys.stderr, direct=True)
    return output


def _stream(output: Output, before: TextIO | None, direct: bool) -> io.TextIOWrapper:
    encoding = before.encoding if before else "utf-8"
    buffer = io.BufferedWriter(output)
    return io.TextIOWrapper(
        buffer, encoding, "backslashreplace", line_buffering=output.isatty(), write_through=direct
    )


def _flush(program: str, code: int, output: Output) -> int:
    """Write what is left in the buffers; return the exit code.

    A reader that has seen enough, such as `head`, is no error; a command that a signal has ended
    has its sentence already.
    """
    sys.stdout.flush()
    if output.error is not None and output.error.errno != errno.EPIPE and code < SIGNAL:
        print(
            f"{program}: cannot write to standard output: {output.error.strerror}", file=sys.stderr
        )
        code = code or CANNOT_WRITE
    sys.stderr.flush()
    return code
