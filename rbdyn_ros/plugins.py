"""Modules that others can add, such as control laws and integrators, by the names of the YAML: the
files of a folder of this package, the entry points of other packages, and the path of any file.

An entry point is the standard way in which a Python package offers something to another one; a
file needs no installation, and an edit of it makes another module.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from zlib import crc32

from rbdyn_ros import files, tracebacks
from rbdyn_ros.schema import alternatives


class Kind(NamedTuple):
    """A kind of module that others can add."""

    parameter: str  # that names one, for the sentences: "controller"
    noun: str  # "law"
    package: str  # whose files are those of this package
    group: str  # of the entry points of other packages
    signature: str  # of the function that each module exports: "design(model, params, options)"
    # the name of a file without .py -> why a module cannot have it, or ""
    reserved: Callable[[str], str]

    @property
    def function(self) -> str:
        """The name of the function that each module exports."""
        return self.signature.partition("(")[0]


def names(kind: Kind) -> tuple[str, ...]:
    """Return the known names, alphabetically: those of this package and those of the entry points,
    whether they can be loaded or not.
    """
    return tuple(sorted({*own_names(kind), *(point.name for point in _foreign(kind))}))


def own_names(kind: Kind) -> tuple[str, ...]:
    """Return the names of this package's own modules, alphabetically; none is loaded."""
    return _own_names(kind.package, kind.function)


@cache  # it is asked at each choice, and reads twenty files
def _own_names(package: str, function: str) -> tuple[str, ...]:
    folder = Path(str(import_module(package).__file__)).parent
    own = [f for f in sorted(folder.glob("*.py")) if f"\ndef {function}(" in f.read_text("utf-8")]
    return tuple(f.stem for f in own)


def load(kind: Kind, name: str) -> ModuleType:
    """Return the module `name`; a name that ends in .py is the path of its file.

    Raise ValueError, in one sentence, for a name that is unknown (with the known ones) or taken
    twice, and for an entry point or a file that does not load (with the reason) or lacks the
    function of its kind.
    """
    if is_path(name):
        return _of_file(kind, files.expand_input(name))
    foreign = [point for point in _foreign(kind) if point.name == name]
    own = [name] if name in own_names(kind) else []
    if not own and not foreign:
        raise ValueError(
            f"{kind.parameter} is '{name}'; {alternatives(name, names(kind))}, and the path of "
            f"{_article(kind.noun)} of your own, such as ./{kind.noun}.py"
        )
    if len(own) + len(foreign) > 1:
        packages = " and by ".join(
            [kind.package for _ in own] + [_distribution(point) for point in foreign]
        )
        raise ValueError(
            f"{kind.parameter} '{name}' is offered by {packages}; rename one, or uninstall its "
            "package"
        )
    return import_module(f"{kind.package}.{name}") if own else _of_entry_point(kind, foreign[0])


def is_path(name: str) -> bool:
    """Return whether a name is the path of a file: it ends in .py, or has a separator of
    folders.
    """
    return name.endswith(".py") or "/" in name


def short(name: str) -> str:
    """Return the name in sentences, in files and before options: `lean` of the path
    examples/lean.py.
    """
    return Path(name).stem if is_path(name) else name


def absolute(name: str, *folders: Path) -> str:
    """Return the name for processes that work in other folders: a path is made absolute, from the
    working folder or else from one of `folders`.
    """
    if not is_path(name):
        return name
    places = [folder / files.expand_input(name) for folder in (Path.cwd(), *folders)]
    return str(next((place for place in places if place.is_file()), places[0]).resolve())


def _foreign(kind: Kind) -> EntryPoints:
    return _entry_points(kind.group, tuple(sys.path))


@cache  # to look through all packages takes 20 ms
def _entry_points(group: str, _path: tuple[str, ...]) -> EntryPoints:
    """Return the group's entry points of all packages on the path that Python searches now."""
    return entry_points(group=group)


def _of_entry_point(kind: Kind, point: EntryPoint) -> ModuleType:
    which = f"{kind.parameter} '{point.name}' of {_distribution(point)} ({point.value})"
    try:
        module = point.load()
    except (Exception, SystemExit) as error:  # of a module of somebody else
        raise ValueError(f"{which} does not load: {tracebacks.describe(error)}") from error
    return _require_function(kind, module, which)


def _of_file(kind: Kind, path: Path) -> ModuleType:
    """Return the module of a file, as it is now: an edit makes another module. Raise ValueError if
    it does not load.
    """
    which = f"{kind.parameter} '{path}'"
    a_module = _article(kind.noun)
    if path.is_dir():
        example = path / f"{kind.noun}.py"
        raise ValueError(
            f"{which} is a folder; name the file of {a_module} in it, such as {example}"
        )
    if path.suffix != ".py":
        raise ValueError(f"{which} is not the path of {a_module}; it must end in .py")
    if why := kind.reserved(path.stem):
        raise ValueError(
            f"{which}: {path.stem} {why}; rename the file, for instance to my_{kind.noun}.py"
        )
    try:
        source = files.read_input(path)
    except OSError as error:
        raise ValueError(
            f"{which} cannot be read: {error.strerror}; check its path, or take one of "
            f"{', '.join(names(kind))}"
        ) from None
    path = path.resolve()
    name = f"{kind.noun}_{path.stem}_{crc32(bytes(path) + source):08x}"
    if name in sys.modules:
        return sys.modules[name]
    return _require_function(kind, _execute(name, path, source, which), which)


def _execute(name: str, path: Path, source: bytes, which: str) -> ModuleType:
    """Return the module `name` from its source.

    The module finds other modules in its own folder, after all installed ones. Raise ValueError if
    it does not load.
    """
    module = ModuleType(name)
    module.__file__ = str(path)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:  # of a module of somebody else
        del sys.modules[name]
        raise ValueError(
            f"{which} does not load: {tracebacks.describe(error, str(path))}"
        ) from error
    return module


def _require_function(kind: Kind, module: ModuleType, which: str) -> ModuleType:
    if not callable(getattr(module, kind.function, None)):
        raise ValueError(
            f"{which} has no function `{kind.signature}`; {_article(kind.noun)} exports one"
        )
    return module


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _distribution(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist else "an unknown package"
