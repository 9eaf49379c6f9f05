"""Control laws by the names of the YAML: the files of this room, and what other packages offer."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

GROUP = "rbdyn_ros.controllers"  # of entry points


def names() -> tuple:
    """The known laws, alphabetically: this room's, and those of the entry-point group, loadable or not."""
    return tuple(sorted({*_own(), *(point.name for point in entry_points(group=GROUP))}))


def load(name: str) -> ModuleType:
    """The law `name`, as `controllers.interface` describes it.

    ValueError, in one sentence, for a name that is unknown (lists the known ones) or taken twice, and for an entry
    point that does not load (with the reason) or has no `design`.
    """
    foreign = [point for point in entry_points(group=GROUP) if point.name == name]
    own = [name] if name in _own() else []
    if not own and not foreign:
        raise ValueError(f"controller is '{name}'; known are {', '.join(names())}")
    if len(own) + len(foreign) > 1:
        packages = " and by ".join([__package__ for _ in own] + [_package(point) for point in foreign])
        raise ValueError(f"controller '{name}' is offered by {packages}; rename one, or uninstall its package")
    return import_module(f"{__package__}.{name}") if own else _foreign(foreign[0])


def _own() -> tuple:
    files = Path(__file__).parent.glob("*.py")
    return tuple(f.stem for f in files if "\ndef design(" in f.read_text())


def _foreign(point: EntryPoint) -> ModuleType:
    which = f"controller '{point.name}' of {_package(point)} ({point.value})"
    try:
        law = point.load()
    except Exception as error:  # whatever a stranger's module raises while it is imported
        raise ValueError(f"{which} does not load: {type(error).__name__}: {error}") from error
    if not callable(getattr(law, "design", None)):
        raise ValueError(f"{which} has no function `design(model, params, options)`; a law exports one")
    return law


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist else "an unknown package"
