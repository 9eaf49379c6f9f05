"""A spherical-pendulum testbed: variational rigid-body mechanics, and its controllers, over ROS
2.
"""

from rbdyn_ros import moved

moved.install()


def __getattr__(name: str) -> str:
    """Return `__version__`, that of the installed package; no start waits for it."""
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
