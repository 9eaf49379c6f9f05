"""The place, file and line, where the code of somebody else, a control law above all, went wrong.

A traceback begins in this package, goes into the other code, and may end in a library that it
calls. The place that its author looks for is the innermost line of the file that this package
called.
"""

import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parent)
_CRASHED = re.compile(
    r"^(?:Current thread|Thread) .*\(most recent call first\):\n((?:  File .*\n?)+)", re.MULTILINE
)
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
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    in_words = ours or isinstance(error, (ValueError, RuntimeError))
    return str(error) if in_words else describe(error)


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
    frames = [
        (frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)
    ]
    named = [frame for frame in frames if frame[0] == file]
    foreign = [frame for frame in frames if not _is_ours(frame[0])]
    if not (named or foreign):
        return ""
    chosen = named or [frame for frame in foreign if frame[0] == foreign[0][0]]
    return " ({}:{})".format(*chosen[-1])


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function is defined: " (file:line)", or "" if it is compiled."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def place_of_crash(log: str) -> str:
    """Return where a process crashed, from what `faulthandler` wrote into its log: " (file:line)",
    or "" if it wrote nothing.
    """
    threads = {found[0].startswith("Current"): found[1] for found in _CRASHED.finditer(log)}
    if not threads:
        return ""
    frames = _FRAME.findall(threads.get(True) or threads[False])
    ours = next((i for i, (file, _) in enumerate(frames) if _is_ours(file)), len(frames))
    return " ({}:{})".format(*frames[max(0, ours - 1)])  # what this package had called, or itself


def is_signal(error: BaseException) -> bool:
    """Return whether this is the SystemExit by which a signal ends a process of this package, and
    not an exit() of somebody else's code.
    """
    return isinstance(error, SystemExit) and is_own(error)


def is_own(error: BaseException) -> bool:
    """Return whether this package raised the error: its sentence then says all."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(_PACKAGE)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<frozen importlib")) or "/importlib/" in file
