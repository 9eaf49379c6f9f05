"""The control laws by the names of the YAML: the files of `control.laws`, the entry points of
other packages, and the path of any law.py.
"""

import os
import sys
import warnings
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from zlib import crc32

from rbdyn_ros import files, tracebacks
from rbdyn_ros.control import laws
from rbdyn_ros.parameters.tables import all_parameters

GROUP = "rbdyn_ros.control"  # of entry points
METHODS = ("command", "reset")  # that every designed law has


def names() -> tuple[str, ...]:
    """Return the names of the known laws, alphabetically: those of `control.laws` and those of the
    entry-point group, whether they can be loaded or not.
    """
    return tuple(sorted({*_own(), *(point.name for point in entry_points(group=GROUP))}))


def load(name: str) -> ModuleType:
    """Return the law `name`, a module as `control.options` describes it; a name that ends in .py
    is the path of its file.

    Raise ValueError, in one sentence, for a name that is unknown (with the known ones) or taken
    twice, and for an entry point or a file that does not load (with the reason) or has no
    `design`.
    """
    if is_path(name):
        return _of_file(files.expand_input(name))
    foreign = [point for point in entry_points(group=GROUP) if point.name == name]
    own = [name] if is_own(name) else []
    if not own and not foreign:
        raise ValueError(
            f"controller is '{name}'; known are {', '.join(names())}, and the path of a law of "
            "your own, such as ./law.py"
        )
    if len(own) + len(foreign) > 1:
        packages = " and by ".join(
            [laws.__name__ for _ in own] + [_package(point) for point in foreign]
        )
        raise ValueError(
            f"controller '{name}' is offered by {packages}; rename one, or uninstall its package"
        )
    return import_module(f"{laws.__name__}.{name}") if own else _foreign(foreign[0])


def is_own(name: str) -> bool:
    """Return whether a law of this package has the name."""
    return name in _own()


def is_path(name: str) -> bool:
    """Return whether the name of a law is the path of its file: it ends in .py, or has a separator
    of folders.
    """
    return name.endswith(".py") or "/" in name or os.sep in name


def short(name: str) -> str:
    """Return the law's name in sentences, in files and before its options: `lean` of the path
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


def make_law(
    name: str, module: ModuleType, model: ModuleType, params: NamedTuple, options: NamedTuple
):
    """Return the law of the module, designed.

    Raise ValueError, in one sentence, if its `design` raises or what it returns is no law.
    """
    who = f"the law {short(name)}"
    try:
        law = module.design(model, params, options)
    except (Exception, SystemExit) as error:  # a law of somebody else may raise anything
        if tracebacks.is_signal(error) or (
            isinstance(error, ValueError) and tracebacks.is_own(error)
        ):
            raise
        file = getattr(module, "__file__", None) or ""
        if isinstance(error, ValueError):  # the sentence of its author
            raise ValueError(f"{who}: {error}{tracebacks.place(error, file)}") from error
        raise ValueError(
            f"{who}: designing it raised {tracebacks.describe(error, file)}"
        ) from error
    missing = [method for method in METHODS if not callable(getattr(law, method, None))]
    if missing:
        what = "the None" if law is None else f"the {type(law).__name__}"
        signature = {
            "command": "command(self, t, state, reference)",
            "reset": "reset(self), which forgets the past",
        }
        raise ValueError(
            f"{who}: {what} that design() returned has no method {signature[missing[0]]}; write "
            "it, even if it does nothing"
        )
    if hasattr(law, "evidence") and not hasattr(law, "diagnostics"):
        warnings.warn(
            f"{who}: its method evidence() is not called any more; rename it to diagnostics()",
            FutureWarning,  # shown by default, unlike a DeprecationWarning
            stacklevel=2,
        )
    return law


def _own() -> tuple:
    own = Path(laws.__file__).parent.glob("*.py")
    return tuple(f.stem for f in own if "\ndef design(" in f.read_text("utf-8"))


def _foreign(point: EntryPoint) -> ModuleType:
    which = f"controller '{point.name}' of {_package(point)} ({point.value})"
    try:
        law = point.load()
    except (
        Exception,
        SystemExit,
    ) as error:  # a module of somebody else may raise anything while it is imported
        if tracebacks.is_signal(error):
            raise
        raise ValueError(f"{which} does not load: {tracebacks.describe(error)}") from error
    return _require_design(law, which)


def _of_file(path: Path) -> ModuleType:
    """Return the module of a law's file, as it is now: an edit makes another module. Raise
    ValueError if it does not load.
    """
    which = f"controller '{path}'"
    if path.is_dir():
        raise ValueError(
            f"{which} is a folder; name the file of a law in it, such as {path / 'law.py'}"
        )
    if path.suffix != ".py":
        raise ValueError(f"{which} is not the path of a law; it must end in .py")
    if not path.stem.isidentifier() or path.stem in {
        name.partition(".")[0] for name in all_parameters()
    }:
        raise ValueError(
            f"{which}: {path.stem} cannot begin the names of its options; rename the file, for "
            "instance to my_law.py"
        )
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{which} cannot be read: {error.strerror}; check its path, or take one of "
            f"{', '.join(names())}"
        ) from None
    path = path.resolve()
    name = f"law_{path.stem}_{crc32(bytes(path) + source):08x}"
    return (
        sys.modules[name]
        if name in sys.modules
        else _require_design(_execute(name, path, source, which), which)
    )


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
    except (
        Exception,
        SystemExit,
    ) as error:  # a law of somebody else may raise anything while it is imported
        del sys.modules[name]
        if tracebacks.is_signal(error):
            raise
        raise ValueError(
            f"{which} does not load: {tracebacks.describe(error, str(path))}"
        ) from error
    return module


def _require_design(law: ModuleType, which: str) -> ModuleType:
    if not callable(getattr(law, "design", None)):
        raise ValueError(
            f"{which} has no function `design(model, params, options)`; a law exports one"
        )
    return law


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist else "an unknown package"
