"""The place, file and line, where the code of somebody else, a control law above all, went wrong.

A traceback begins in this package, goes into the other code, and may end in a library that it
calls. The place that its author looks for is the innermost line of the file that this package
called.
"""

import re
import traceback
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)
_FRAME = re.compile(r'  File "(.+)", line (\d+)')


def describe(error: BaseException, file: str = "") -> str:
    """Return the error as "ZeroDivisionError: division by zero (/home/me/law.py:12)"; `file` as in
    `place`.
    """
    return " ".join(f"{type(error).__name__}: {error}{place(error, file)}".split())


def sentence(error: BaseException) -> str:
    """Return the error's own words, if it is one of those that carry a sentence: ValueError,
    RuntimeError, those of this package; else `describe`.
    """
    is_ours = type(error).__module__.startswith("rbdyn_ros.")
    return (
        str(error) if is_ours or isinstance(error, ValueError | RuntimeError) else describe(error)
    )


def shorten(value: object) -> str:
    """Return a value as Python writes it, in one line of 80 characters at the most."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def place(error: BaseException, file: str = "") -> str:
    """Return where the error was raised: " (file:line)", or "" if that is within this package.

    The line is that of `file`, where a traceback has it; else of the first file that does not
    belong to this package or to Python's import system.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    foreign = [name for name, _ in frames if not _is_ours(name)]
    called = file if file in dict(frames) else next(iter(foreign), None)
    lines = [line for name, line in frames if name == called]
    return f" ({called}:{lines[-1]})" if lines else ""


def place_of_crash(log: str) -> str:
    """Return where a process crashed, from what `faulthandler` wrote into its log: " (file:line)",
    or "" if it wrote nothing.
    """
    threads = re.split(r"^(?=Current thread|Thread)", log, flags=re.MULTILINE)
    crashed = next((t for t in threads if t.startswith("Current")), threads[-1])
    frames = _FRAME.findall(crashed)
    ours = next((i for i, (file, _) in enumerate(frames) if _is_ours(file)), len(frames))
    # what this package had called, or itself
    return " ({}:{})".format(*frames[max(0, ours - 1)]) if frames else ""


def is_own(error: BaseException) -> bool:
    """Return whether this package raised the error: its sentence then says all."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(_PACKAGE)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<frozen importlib")) or "/importlib/" in file
