"""The provenance of a result: the files, options and versions of its law, the machine, the commit,
the date.

A law's files are those of its package (or its one file), and those that they import, as long as
they belong to no other installed distribution: of those the versions count. Files of this package
are taken together by folder.
"""

import ast
import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from rbdyn_ros.control import law_options
from rbdyn_ros.origin import commit
from rbdyn_ros.schema import check

OURS = "rbdyn_ros"
_ALWAYS = (OURS, "numpy", "numba", "scipy", "osqp")  # that results depend on
# folders of this package on which no result depends
_APART = {"cli", "experiments", "wire"}
SHOWN = 3  # changes that are listed


def identity(name: str, law: ModuleType | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the files, options and versions of the law `name` for JSON: results with another
    identity are of another law.

    The law is None where it is not known here, such as one in somebody else's node.
    """
    files, versions = sources(law)
    said = {}
    for own in law_options.table(name, law) if law else ():  # not those of the whole controller
        value = check(own, values.get(own.name, own.default), "controller")
        said[own.name] = {
            "value": _plain(value),
            "default": _plain(own.default),
            "unit": own.unit,
        }
    return {"files": files, "options": said, "versions": versions}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what has changed from one identity to another, a few words each; nothing if they are
    equal.
    """
    said = []
    for part in ("files", "options", "versions"):
        old, new = (mapping.get(part) or {} for mapping in (before, now))
        said += [
            _change(part, key, old.get(key), new.get(key))
            for key in {**old, **new}
            if old.get(key) != new.get(key)
        ]
    return said


def shorten(changes: list[str]) -> str:
    """Return the first of the changes, and how many more there are."""
    more = f" and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
    return "; ".join(changes[:SHOWN]) + more


def sitting(*laws: ModuleType) -> dict[str, Any]:
    """Return when and where something is measured: the date, the commits of what is a checkout of
    git, the machine and its load.
    """
    modules = [sys.modules[OURS], *(law for law in laws if getattr(law, "__file__", None))]
    folders = {_top(module): _folder(module) for module in reversed(modules)}
    commits = {
        name: found for name, folder in sorted(folders.items()) if (found := commit(folder))
    }
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commits": commits,
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    """Return the machine: its system, processor, how many processors, their load."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "processors": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 2),
    }


def sources(law: ModuleType | None) -> tuple[dict[str, str], dict[str, str | None]]:
    """Return (path -> fingerprint of the files, distribution -> version) of what computes the law;
    without a law, of this package alone.
    """
    files = dict(_ours())
    versions = {name: version for name in _ALWAYS if (version := _version(name))} | {
        "python": platform.python_version()
    }
    if law and not _is_ours(law) and getattr(law, "__file__", None):
        own, others = _own(law)
        files |= {name: _print(file.read_bytes()) for file, name in own.items()}
        versions |= {name: _version(name) for name in others}
    return files, dict(sorted(versions.items()))


def _is_ours(law: ModuleType) -> bool:
    return law.__name__.partition(".")[0] == OURS


def _own(law: ModuleType) -> tuple[dict[Path, str], set[str]]:
    """Return (file -> its name from its package on, other distributions) of the package of a law,
    or of its file, and of what it imports.
    """
    top, path = law.__name__.partition(".")[0], _file(law)
    brought = metadata.packages_distributions()
    own, others, files, waiting, seen = set(brought.get(top, ())), set(), {}, [(top, path)], set()
    while waiting:
        name, module = waiting.pop()
        for file in () if module in seen else sorted(_of_package(name, module)):
            seen.add(file)
            files[file] = _display_path(name, module, file)
            for other in _imported_names(file) if file.suffix == ".py" else ():
                distributions = set(brought.get(other, ()))
                if found := _find_module(
                    other, file.parent, not distributions or bool(distributions & own)
                ):
                    waiting.append((other, found))
                else:
                    others |= distributions - own
    return files, others


def law_files(law: ModuleType) -> list[Path]:
    """Return the law's own file, and those beside it that it imports."""
    path = _file(law)
    if _is_ours(law) or _is_installed(path):
        return [path]
    beside = (file for file in _own(law)[0] if file.parent == path.parent and file != path)
    return [path, *(file for file in beside if file.suffix == ".py")]


@cache
def _ours() -> dict:
    """Return the files of this package: a fingerprint for each of its folders."""
    root, folders = _folder(sys.modules[OURS]), {}
    for file in sorted(_all_files(root)):
        part = file.relative_to(root).parts[0] if file.parent != root else ""
        if part in _APART:
            continue
        folders.setdefault(f"{OURS}/{part}".rstrip("/"), hashlib.sha256()).update(
            file.relative_to(root).as_posix().encode() + file.read_bytes()
        )
    return {name: found.hexdigest()[:16] for name, found in folders.items()}


def _of_package(top: str, path: Path) -> list:
    """Return all files of the package `top` that has the module `path`, or the module alone."""
    root = next(
        (
            folder
            for folder in path.parents
            if folder.name == top and (folder / "__init__.py").exists()
        ),
        None,
    )
    return list(_all_files(root)) if root else [path]


def _all_files(root: Path) -> Iterator[Path]:
    return (
        file
        for file in root.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and not file.name.startswith(".")
    )


def _imported_names(file: Path) -> set:
    """Return the first words of everything that a Python file imports from elsewhere; nothing of
    one that cannot be read.
    """
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
    }
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {OURS}


def _find_module(name: str, beside: Path, own: bool) -> Path | None:
    """Return the file of a module that belongs to the law: beside the one that imports it, or
    wherever Python finds it if it is its `own`.
    """
    for near in (beside / f"{name}.py", beside / name / "__init__.py"):
        if near.is_file() and not _is_installed(near):
            return near
    try:
        spec = find_spec(name) if own else None
    except (ImportError, ValueError):
        spec = None
    return Path(spec.origin) if spec and spec.origin and Path(spec.origin).is_file() else None


def _is_installed(path: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(path.parts))


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _display_path(top: str, path: Path, file: Path) -> str:
    """Return the file's path from the package on that has the module `path`; its name where there
    is none.
    """
    root = next((folder for folder in path.parents if folder.name == top), None)
    return f"{top}/{file.relative_to(root).as_posix()}" if root else file.name


def _top(module: ModuleType) -> str:
    """Return the name of the module's package; that of its file where it has none."""
    top, file = module.__name__.partition(".")[0], _file(module)
    return top if any(folder.name == top for folder in file.parents) else file.stem


def _folder(module: ModuleType) -> Path:
    return _file(module).resolve().parent


def _file(module: ModuleType) -> Path:
    if module.__file__ is None:
        raise ValueError(f"the module {module.__name__} is in no file")
    return Path(module.__file__)


def _print(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _processor() -> str:
    """Return the processor's name as the system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _change(part: str, key: str, before: object, now: object) -> str:
    """Return one difference in words."""
    if part == "files":
        return f"{key} " + (
            "is new" if before is None else "is gone" if now is None else "was changed"
        )
    old, new = (
        value.get("value") if isinstance(value, dict) else value for value in (before, now)
    )
    if old == new:
        old, new = (
            value.get("default") if isinstance(value, dict) else value for value in (before, now)
        )
        key = f"the default of {key}"
    words = ("absent" if value is None else str(value) for value in (old, new))
    return "{} was {}, now {}".format(key, *words)
