"""One code for the contacts of different models: kernels bound to the modules that read them."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from rbdyn_ros.kernel import part, specialize


def bind(
    templates: tuple[Callable[..., Any], ...], contacts: ModuleType, label: str = "", **scope
) -> dict[str, Callable[..., Any]]:
    """Make parts of the code of plain functions, by name, whose global `contacts` is that module.

    Each finds those before it, and what else is in `scope`, under their names. A template that is
    bound to the same module more than once has another `label` each time.
    """
    name = contacts.__name__.rpartition(".")[2] + label
    for template in templates:
        function = specialize(template, name, contacts=contacts, **scope)
        scope[template.__name__] = part(getattr(function, "py_func", function))
    return scope
