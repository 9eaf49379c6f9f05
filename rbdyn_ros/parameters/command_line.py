"""The helpers that the commands share: checked options, which raise a ValueError in one sentence,
and messages.
"""

import math
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from rbdyn_ros.files import expand, expand_input, try_file, write_or_rescue
from rbdyn_ros.parameters import shipped
from rbdyn_ros.parameters.yaml_file import Override, assignment, read, value_of
from rbdyn_ros.schema import Parameter, check, setting

_SOURCE = "command line"
JOBS = setting("--jobs", 0, low=0, high=1024)
SEED = setting("--seed", 0, low=0)
TILT = setting("--tilt", 10.0, "degrees", low=0.0, high=180.0)
WAITING = setting("--waiting", 20.0, "s", above=0.0)
TIME_LIMIT = setting("--time-limit", math.inf, "s", low=0.0)
_HERTZ = setting("--band", 1.0, "Hz")
# suffixes of output files
TABLES, IMPACTS, PICTURES = (".csv", ".npz"), (".csv",), (".png", ".svg", ".pdf")
# rows of `add_options`
SET = ("--set", "NAME=VALUE ...", "Set one parameter, over the files; may be repeated.")
SCENARIO = (
    "--scenario",
    "NAME",
    "Start as in this file of config/scenarios, named without .yaml.",
)
FORMAT = (
    "--format",
    tuple(suffix[1:] for suffix in PICTURES),
    "Draw the picture in this format (default: png).",
    "png",
)
FILES = (
    "--params-file",
    "F ...",
    "Read parameters from this ROS YAML file, or from a shipped one by its name, such as "
    "pendulum; may be repeated, later files take effect.",
)


def add_options(parser: ArgumentParser, *rows: tuple[Any, ...]) -> None:
    """Add options, each (name, name of its value, help) or (..., default).

    Without a name of its value an option is a flag; one whose value is "NAME ..." may be repeated;
    a tuple of values is a choice. A setting in the place of the name has a default, which the help
    says.
    """
    for name, value, text, *default in rows:
        if isinstance(name, Parameter):
            text, default = f"{text} (default: {name.default:g}).", [str(name.default)]
            name = name.name
        if value is None:
            parser.add_argument(name, action="store_true", help=text)
        elif isinstance(value, tuple):
            kind, chosen = type(value[0]), (*default, None)[0]
            parser.add_argument(name, type=kind, choices=value, default=chosen, help=text)
        elif value.endswith(" ..."):
            metavar = value.removesuffix(" ...")
            kind = partial(_parameter_file, parser) if name == FILES[0] else str
            parser.add_argument(
                name, metavar=metavar, action="append", default=[], type=kind, help=text
            )
        else:
            parser.add_argument(name, metavar=value, default=(*default, None)[0], help=text)


def _parameter_file(parser: ArgumentParser, word: str) -> str:
    try:
        return named_file(FILES[0], word)
    except ValueError as error:
        parser.error(str(error))


def named_file(option: str, word: str, folder: str = "") -> str:
    """Return the path of a file, or that of a shipped one in a folder of config/ by its name
    without suffix. Raise ValueError for a word that is neither.
    """
    path = expand_input(word)
    if path.suffix or len(path.parts) != 1 or path.exists():
        return word
    return str(shipped.find(option, word, folder, more=", or give the path of a file"))


def number(parameter: Parameter, given: Any):
    """Return the value of an option, a number or a text as it was typed, which its `parameter`
    describes. Raise ValueError for a wrong one.
    """
    value = value_of(given, _SOURCE) if isinstance(given, str) else given
    return check(parameter, value, _SOURCE)


def number_or(parameter: Parameter, given: Any, default: float) -> float:
    """Return the value of an option, or the default where it is not given."""
    return default if given is None else number(parameter, given)


def count_jobs(text: str) -> int:
    """Return the number of processes of --jobs; 0 is one for each processor."""
    return number(JOBS, text) or os.cpu_count() or 1


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def chosen_rows(text: str | None) -> tuple[str, ...]:
    """Return the rows of the option --rows, none where it is not given. Raise ValueError where it
    names none.
    """
    rows = split_words(text or "")
    if text is not None and not rows:
        raise ValueError(f"--rows is '{text}'; name rows, such as S3,S4, or leave it out for all")
    return rows


def band(text: str, example: str) -> tuple[float, float]:
    """Return the frequencies [Hz] of --band. Raise ValueError for anything but two numbers."""
    try:
        low, high = (number(_HERTZ, word) for word in text.split(","))
    except ValueError:
        raise ValueError(
            f"--band is {text}; it must be LOW,HIGH in hertz, such as {example}"
        ) from None
    return low, high


def overrides(arguments: Namespace, short: Mapping[str, str] = {}) -> list[Override]:
    """Return what --set and the `short` options (word -> name of its parameter) set."""
    given = {word: getattr(arguments, word) for word in short}
    said = [Override(short[w], text, f"--{w}") for w, text in given.items() if text is not None]
    return [*map(assignment, arguments.set), *said]


def parameter_files(names: Iterable[str]) -> list[Path]:
    """Return the files of --params-file. Raise ValueError for one that does not exist."""
    paths = [*map(expand_input, names)]
    for path in paths:
        if not path.exists():
            raise ValueError(f"--params-file {path}: there is no such file")
        if not path.is_file():
            raise ValueError(
                f"--params-file {path}: it is no regular file, and the nodes have to read it, too"
            )
    return paths


def scenario(name: str) -> Path:
    """Return the file of --scenario. Raise ValueError for an unknown name."""
    return shipped.find("--scenario", name, "scenarios")


def given_files(arguments: Namespace) -> list[Path]:
    """Return the files of --scenario and --params-file. Raise ValueError for an unknown one."""
    start = [scenario(arguments.scenario)] if arguments.scenario else []
    return start + parameter_files(arguments.params_file)


def named_law(paths: Iterable[str | Path]) -> str:
    """Return the control law that the last of the files names; lqr if none does."""
    named = [entry.value for path in paths for entry in read(path) if entry.name == "controller"]
    return str(["lqr", *named][-1])


def fresh_folder(out: str | None, name: str) -> Path:
    """Return the folder of --out, by default `name` and the time; it is not made. Raise ValueError
    if it is not empty.
    """
    folder = expand(out or f"{name}_{datetime.now():%Y-%m-%d_%H-%M-%S}")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(
            f"--out is {folder}, which is not empty; choose another, so that nothing is lost"
        )
    return folder


def output_file(option: str, name: str | Path, suffixes: tuple[str, ...]) -> Path:
    """Return the path of an output file, which is tried before the work. Raise ValueError where it
    has none of the `suffixes` or cannot be written.
    """
    path = Path(name)
    if path.suffix.lower() not in suffixes:
        *most, last = suffixes
        known = f"{', '.join(most)} or {last}" if most else last
        raise ValueError(f"{option} is {path}; it must end in {known}")
    return try_file(path, option)


def optional_file(
    option: str, name: str | None, suffixes: tuple[str, ...], out: Path | None = None
) -> Path | None:
    """Return the path of an output file as `output_file` does; None where none is asked for. Raise
    ValueError where it is that of --out, too.
    """
    path = None if name is None else output_file(option, name, suffixes)
    if path and out and path.resolve() == out.resolve():
        raise ValueError(f"{option} is {path}, which is the file of --out, too; choose another")
    return path


def explain(error: OSError | ValueError) -> str:
    """Return the sentence on bad input, or on a file that cannot be read."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return str(error)


def cannot_write(
    error: OSError, place: object, advice: str = "make room, or choose another --out"
) -> str:
    """Return the sentence on a file, or the `place`, that cannot be written."""
    sentence = f"cannot write {error.filename or place}: {error.strerror}"
    return f"{sentence}; {advice}" if advice else sentence


def write_files(
    writers: Mapping[str, str | Callable[[Path], object]],
    say: Callable[[str, int], int],
    failed: int,
) -> int:
    """Write each text, or let `write(draft)` make its file, and say where it is; return 0, or
    `failed` where one could not be written where it should be.
    """
    code = 0
    for path, write in writers.items():
        try:
            _, elsewhere = write_or_rescue(path, write)
        except OSError as error:
            return say(f"cannot write {path}: {error.strerror}", failed)
        if elsewhere:
            code = say(elsewhere, failed)
        else:
            print(f"wrote {path}")
    return code


def message_printer(command: str) -> Callable[[str, int], int]:
    """Return say(sentence, code), which prints the sentence on standard error, after the command's
    name, and returns the exit code.
    """

    def say(sentence: str, code: int) -> int:
        print(f"{command}: {sentence}", file=sys.stderr)
        return code

    return say
