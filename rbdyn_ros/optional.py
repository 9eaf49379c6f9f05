"""Libraries that only some commands need, and that an installation from ROS 2 packages alone
lacks.
"""

import os
import socket
from importlib import import_module
from importlib.util import find_spec


class MissingLibrary(ValueError):
    """An error that says which library is not installed, and how to get it."""


def library(name: str, extra: str, job: str):
    """Import the module `name` for a `job` (what needs it, as the user calls it).

    Raise MissingLibrary, with the command that installs it, where it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise
        raise MissingLibrary(
            f"{job} needs {error.name}, which is not installed: run ./testbed setup, "
            f"or without it pip install 'rbdyn_ros[{extra}]'"
        ) from None


def stay_local(own_domain: bool = False) -> None:
    """Keep the nodes of this machine apart from those of others, and, in a domain where no node
    is, from all others; what the user has set stays.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if own_domain:
        domains = [1 + (os.getpid() + i) % 100 for i in range(100)]
        free = next(filter(is_silent, domains), domains[0])
        os.environ.setdefault("ROS_DOMAIN_ID", str(free))


def is_silent(domain: int) -> bool:
    """Return whether the port of a domain's first participant is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first:
        try:
            first.bind(("", 7410 + 250 * domain))
        except OSError:
            return False
    return True


def no_ros(way_out: str) -> str:
    """Return why there is no ROS 2, and the way out; "" where there is one."""
    return (
        ""
        if find_spec("rclpy")
        else f"there is no ROS 2 here: rclpy cannot be imported; {way_out}, or source a ROS 2"
    )
