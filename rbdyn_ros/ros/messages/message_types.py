"""Message classes by the names that a ROS graph and a bag give them."""

from importlib import import_module


def message_class(kind: str) -> type | None:
    """The class of "package/msg/Name"; None if its package is not installed, or does not have
    it.
    """
    package, _, name = kind.split("/")
    try:
        return getattr(import_module(f"{package}.msg"), name, None)
    except ImportError:
        return None
