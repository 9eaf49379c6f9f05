"""The control laws by the names of the YAML: the files of `control.laws`, the entry points of
other packages, and the path of any law.py (`rbdyn_ros.plugins`).
"""

import warnings
from types import ModuleType
from typing import NamedTuple

from rbdyn_ros import plugins, tracebacks
from rbdyn_ros.parameters.tables import all_parameters
from rbdyn_ros.plugins import absolute as absolute
from rbdyn_ros.plugins import is_path as is_path
from rbdyn_ros.plugins import short as short

GROUP = "rbdyn_ros.control"  # of entry points
METHODS = ("command", "reset")  # that every designed law has


def _reserved(stem: str) -> str:
    taken = {name.partition(".")[0] for name in all_parameters()}
    is_free = stem.isidentifier() and stem not in taken
    return "" if is_free else "cannot begin the names of its options"


LAWS = plugins.Kind(
    parameter="controller",
    noun="law",
    package="rbdyn_ros.control.laws",
    group=GROUP,
    signature="design(model, params, options)",
    reserved=_reserved,
)


def names() -> tuple[str, ...]:
    """Return the names of the known laws, alphabetically: those of `control.laws` and those of the
    entry-point group, whether they can be loaded or not.
    """
    return plugins.names(LAWS)


def load(name: str) -> ModuleType:
    """Return the law `name`, a module as `control.law_options` describes it; a name that ends in
    .py is the path of its file. Raise ValueError as `plugins.load` does.
    """
    return plugins.load(LAWS, name)


def is_own(name: str) -> bool:
    """Return whether a law of this package has the name."""
    return name in plugins.own_names(LAWS)


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
        if isinstance(error, ValueError) and tracebacks.is_own(error):
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
