"""A spherical-pendulum testbed: variational rigid-body mechanics, and its controllers, over ROS
2.

The names of `__all__` are the interface for Python (doc/python.md); each is imported when it is
used.
"""

from typing import TYPE_CHECKING, Any

from rbdyn_ros import moved

if TYPE_CHECKING:
    from rbdyn_ros.api import (
        Impulse,
        Params,
        Run,
        compare,
        design,
        evaluate,
        laws,
        linearize,
        read_run,
        simulate,
    )

__all__ = [
    "Impulse",
    "Params",
    "Run",
    "compare",
    "design",
    "evaluate",
    "laws",
    "linearize",
    "read_run",
    "simulate",
]
moved.install()


def __getattr__(name: str) -> Any:
    """Return a name of the interface, or `__version__`, that of the installed package; no start
    waits for them.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name in __all__:
        from rbdyn_ros import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
