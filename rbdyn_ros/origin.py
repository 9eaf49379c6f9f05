"""The origin of a file: the version of this package, its commit in a checkout of git, and the
command that wrote the file.

Figures keep it in their metadata (`rbdyn_ros.figures.save`). A table gets a file beside it, whose
name ends in -metadata.json, as the recommendation of the W3C for metadata of CSV files has it:
https://www.w3.org/TR/tabular-metadata. Nothing in it depends on the time, so that the same command
writes the same bytes again.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

PACKAGE = "rbdyn_ros"
_command: ContextVar[str] = ContextVar("command", default="")


class Origin(NamedTuple):
    """What wrote a file."""

    program: str  # "rbdyn_ros 1.0.0"
    commit: str  # "" where the package is in no checkout
    command: str  # as a shell would run it


@contextmanager
def command(words: Iterable[str]) -> Iterator[None]:
    """Let files that are written in the block name this command, given without the program."""
    before = _command.set(shlex.join((PACKAGE, *words)))
    try:
        yield
    finally:
        _command.reset(before)


def origin() -> Origin:
    """Return the origin of what is written now; without a command it is the script that runs."""
    from importlib import metadata  # no start of a command waits for it

    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:  # the sources are on PYTHONPATH
        version = "(not installed)"
    return Origin(f"{PACKAGE} {version}", _own_commit(), _command.get() or _script())


def _script() -> str:
    """Return the script that runs, without its folder; an interpreter or a notebook has none, and
    its arguments are files of the session.
    """
    if hasattr(sys, "ps1"):
        return "python, interactively"
    program, *arguments = sys.argv or [""]
    name = f"python {program}".strip() if program in ("", "-c") else Path(program).name
    return " ".join(filter(None, (name, shlex.join(arguments))))


def describe(
    table: str | Path,
    units: Mapping[str, str],
    title: str = "",
    more: Mapping[str, float] = MappingProxyType({}),
) -> Path:
    """Write the metadata of a table that was written, whose columns have these units ("" where
    there is none), with `more` numbers by name, to the file beside it; return its path. Raise
    OSError if it cannot be written.
    """
    from rbdyn_ros.files import json_text, write_whole

    path, made = Path(table), origin()
    columns = [
        {"name": name, "titles": f"{name} [{unit}]" if unit else name}
        for name, unit in units.items()
    ]
    content = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name,
        "dc:title": title or path.stem,
        "dc:creator": made.program,
        "dc:source": made.commit,
        "dc:description": made.command,
        "tableSchema": {"columns": columns},
        **({"parameters": dict(more)} if more else {}),
    }
    about = metadata_file(path)
    write_whole(about, json_text(content))
    return about


def metadata_file(table: str | Path) -> Path:
    """Return the path of the file with the metadata of a table."""
    return Path(table).with_name(f"{Path(table).name}-metadata.json")


def read_description(table: str | Path) -> tuple[str, dict[str, float]]:
    """Return (the title of a table, the numbers by name) from the file beside it; ("", {}) where
    there is none. Raise ValueError, with its name, for a file that has something else.
    """
    import json

    from rbdyn_ros.files import read_input

    about = metadata_file(table)
    try:
        found = json.loads(read_input(about))
        numbers = {name: float(x) for name, x in found.get("parameters", {}).items()}
        return str(found.get("dc:title", "")), numbers
    except FileNotFoundError:
        return "", {}
    except OSError as error:
        raise ValueError(f"{about}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{about}: it is no description of a table: {error}") from None


@cache
def _own_commit() -> str:
    return commit(Path(__file__).resolve().parent)


def commit(folder: Path) -> str:
    """Return the commit of the git checkout that has the folder's files, with a word where they
    were changed since; "" without one.
    """

    def git(*words: str) -> str:
        done = subprocess.run(
            ("git", "-C", str(folder), *words), capture_output=True, encoding="utf-8", timeout=10.0
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        if not git("ls-files", "--", "."):  # installed into a folder that git ignores
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return git("rev-parse", "HEAD") + (" (changed since)" if changed else "")
    except (OSError, subprocess.TimeoutExpired):
        return ""
