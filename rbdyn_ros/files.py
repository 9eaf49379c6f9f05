"""Files that appear whole or not at all, places that are checked before the work, and results that
are kept although their place fails.
"""

import csv
import errno
import io
import json
import math
import os
import shlex
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from rbdyn_ros.interrupts import at_end

LARGEST_INPUT = 64_000_000  # bytes of a file of parameters, of a model, of a law
LARGEST_TABLE = 1_000_000_000  # bytes of a recording as text: two hours of states at 500 Hz
_LONGEST = 200  # characters of a draft's name that are taken from the file's own


def expand(path: str | Path) -> Path:
    """Return the path with the home folder in the place of `~` or `~user`. Raise OSError for an
    unknown user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        why = "there is no such user, or no home folder"
        raise FileNotFoundError(errno.ENOENT, why, str(path)) from None


def expand_input(path: str | Path) -> Path:
    """Return the path of what is read as `expand` does; for an unknown user as it is, where
    nothing will be found.
    """
    try:
        return expand(path)
    except OSError:
        return Path(path)


def read_input(path: str | Path, limit: int = LARGEST_INPUT) -> bytes:
    """Return the content of a file that a user names. Raise OSError as the system does, and for
    more than `limit` bytes: a device such as /dev/zero has no end.
    """
    with open(path, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit} bytes", str(path))
    return content


@contextmanager
def replace_file(path: str | Path) -> Iterator[Path]:
    """Yield a draft beside `path`, with its suffix, that takes its place when the block ends
    without an exception.

    No interruption of the block loses an earlier file. A device or a pipe is written directly.
    Raise OSError if it cannot be written.
    """
    named, path = str(path), Path(path).resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), named)
    if path.exists() and not path.is_file():
        yield Path(named)  # whose suffix a link may have, and a device has not
        return
    draft = path.with_name(f".{os.getpid()}.{path.name[-_LONGEST:]}")
    with at_end(partial(draft.unlink, missing_ok=True)):
        try:
            yield draft
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError as error:
            if error.filename not in (None, str(draft)):
                raise
            raise OSError(error.errno, error.strerror, named) from None  # users know no draft


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, in one step. Raise OSError if it cannot be written."""
    with replace_file(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def json_text(content: object, indent: int = 1) -> str:
    """Return the text of a JSON file, with null for numbers that are not finite: JSON has none."""
    return json.dumps(_finite(content), indent=indent) + "\n"


def _finite(content: object) -> object:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [*map(_finite, content)]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_or_rescue(path: str | Path, write: str | Callable[[Path], object]) -> tuple[Path, str]:
    """Let `write(draft)` make the file `path`, or write a text as UTF-8; return (where it is, ""
    or a sentence that says why it is elsewhere).

    Elsewhere is a new folder below the system's folder for temporary files. Raise OSError, that of
    `path`, if that fails too.
    """
    path = expand(path)
    make = (
        partial(Path.write_text, data=write, encoding="utf-8") if isinstance(write, str) else write
    )
    try:
        with replace_file(path) as draft:
            make(draft)
        return path, ""
    except OSError as error:
        first = error
    try:
        folder = Path(tempfile.mkdtemp(prefix="rbdyn_ros_"))
        rescued = folder / (path.name or "result")
        with at_end(lambda: rescued.exists() or folder.rmdir()), replace_file(rescued) as draft:
            make(draft)
    except OSError:
        raise first from None
    return rescued, f"cannot write {path}: {first.strerror}; it is in {rescued}"


def write_table(table: dict[str, Any], path: str | Path) -> None:
    """Write columns (n,) by name to a .csv (shortest digits that give every float back) or .npz
    (one array per column).

    The file is written under another name and then renamed, so that an interruption loses no
    earlier file. Raise OSError as the system does, and KeyError for any other suffix.
    """
    writer = {".csv": write_csv, ".npz": _write_npz}[Path(path).suffix.lower()]
    with replace_file(path) as draft, open(draft, "wb") as file:
        writer(table, file)


def write_csv(columns: dict[str, Any], file: BinaryIO) -> None:
    """Write columns (n,) by name as text, a line for each row."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values())))
    text.flush()
    text.detach()


def _write_npz(columns: dict[str, Any], file: BinaryIO) -> None:
    import numpy as np

    np.savez(file, **columns)


def read_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an .npz file by name. Raise ValueError, in one sentence, for any other
    file.
    """
    import numpy as np

    is_archive = False
    try:
        with open(path, "rb") as file:
            is_archive = file.read(2) == b"PK"
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        why = f": {error}" if is_archive else ""  # else NumPy takes it for a pickle
        raise ValueError(f"{path}: it is no .npz file of numbers{why}") from None


def try_file(path: str | Path, option: str) -> Path:
    """Return the path of an output file, after a file was made there and taken away again.

    Raise ValueError, starting with the option, for a folder, a missing folder, a full disk, an
    unknown user, or a place where nobody may write.
    """
    try:
        path = expand(path)
    except OSError as error:
        raise ValueError(f"{option} is {path}: {error.strerror}") from None
    place = path.resolve()
    if path.is_dir():
        raise ValueError(f"{option} is {path}, which is a folder; name a file in it")
    if not place.parent.is_dir():
        raise ValueError(
            f"{option} is {path}, but there is no folder {place.parent}; make it first: mkdir -p "
            f"{shlex.quote(str(place.parent))}"
        )
    try:
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if not place.exists() or place.is_file():
            _try(place.parent)
    except OSError as error:
        raise ValueError(
            f"{option} is {path}, which cannot be written: {error.strerror}; choose another"
        ) from None
    return path


def make_folder(path: str | Path) -> Path:
    """Make the output folder `path` where it is missing, try to make a file in it, and return the
    path. Raise OSError, with its name, where that fails.
    """
    path = Path(path)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        _try(path)
    except OSError as error:
        for folder in made:
            if folder.is_dir():
                folder.rmdir()
        raise OSError(error.errno, error.strerror, str(path)) from None
    return path


def _try(folder: Path) -> None:
    """Make a file of one page in the folder, wait until it is on the disk, and remove it. Raise
    OSError where that fails.
    """
    probe = folder.resolve() / f".{os.getpid()}.probe"
    with at_end(partial(probe.unlink, missing_ok=True)), open(probe, "xb") as file:
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())
