"""The process around a command: signals, standard streams, and one sentence where Python would
write a traceback.

    begin(program)      before the other imports, which take longer than those of this file
    run(program, main)  the command

A signal that no `interrupts.Interruption` takes ends the process from its handler, with one
sentence: no exception has to find its way through the code of others. What the command must not
leave behind is removed before: `interrupts.at_end`.
"""

import errno
import gc
import io
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import TextIO

from rbdyn_ros import interrupts

CANNOT_WRITE, DEFECT, SIGNAL = 4, 70, 128  # exit codes; 70 is EX_SOFTWARE of sysexits.h


class CannotBegin(RuntimeError):
    """What a command needs of the system does not begin; the message is complete."""


class Output(io.FileIO):
    """A descriptor that accepts everything: a full disk or a reader that leaves must not cost a
    result that is on its way to a file. The first error stays in `error`; what follows is dropped.
    """

    error: OSError | None = None
    is_in_line = False  # whether the last line has no end yet, such as that of a progress bar

    def write(self, data) -> int:
        """Write all of the bytes; return their number, also where an error drops them."""
        left = memoryview(data).cast("B")
        size = len(left)
        self.is_in_line = left[-1:] != b"\n" if left else self.is_in_line
        while left and self.error is None:
            try:
                written = super().write(left)
            except OSError as error:
                self.error = error
            else:
                os.set_blocking(self.fileno(), True)  # None: it was not, and is full
                left = left[written or 0 :]
        return size


def command() -> None:
    """Run the console command `rbdyn_ros`, which is `python -m rbdyn_ros` by a shorter name."""
    runpy.run_module("rbdyn_ros", run_name="__main__", alter_sys=True)


def begin(program: str) -> None:
    """Let SIGINT and SIGTERM end the process with a sentence, give every missing standard stream a
    place, and let linear algebra use one thread.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        interrupts.clean_up()
        end = "\n" if getattr(getattr(sys.stderr, "buffer", None), "is_in_line", False) else ""
        os.write(2, f"{end}{program}: interrupted before there was a result\n".encode())
        os._exit(SIGNAL + number)

    for descriptor in (0, 1, 2):  # a data file must never become descriptor 1
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
    for number in interrupts.SIGNALS:
        signal.signal(number, leave)
    # the matrices have ten rows: threads of BLAS only wait for each other, all the more in a sweep
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def run(program: str, main: Callable[[], int]) -> int:
    """Return the exit code of `main`, or of what kept it from returning one."""
    from rbdyn_ros import progress  # not before `begin`

    output = Output(1, "w", closefd=False)
    sys.stdout = _stream(output, sys.stdout, getattr(sys.stdout, "write_through", False))
    sys.stderr = _stream(Output(2, "w", closefd=False), sys.stderr, direct=True)
    progress.compilations_to.append(sys.stderr)
    try:
        code = main()
    except SystemExit as done:  # argparse
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(
            f"{program}: this is a defect of the program: {reason} "
            f"({os.path.basename(place.filename)}:{place.lineno}); `python -X dev -m rbdyn_ros "
            "...` shows all of it",
            file=sys.stderr,
        )
        code = DEFECT
    # What is left is the end of the interpreter, which frees everything: to search it for cycles
    # before takes a quarter of the processor time of a short command.
    for number in interrupts.SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()
    sys.stdout.flush()
    # a reader that has seen enough, such as `head`, is no error; an interrupted command has its
    # sentence already
    if output.error is not None and output.error.errno != errno.EPIPE and code < SIGNAL:
        why = output.error.strerror
        print(f"{program}: cannot write to standard output: {why}", file=sys.stderr)
        code = code or CANNOT_WRITE
    return code


def _stream(output: Output, before: TextIO | None, direct: bool) -> io.TextIOWrapper:
    encoding = before.encoding if before else "utf-8"
    buffer = output if direct else io.BufferedWriter(output)
    return io.TextIOWrapper(
        buffer, encoding, "backslashreplace", line_buffering=output.isatty(), write_through=direct
    )
