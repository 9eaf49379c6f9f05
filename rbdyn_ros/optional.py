"""Libraries that only some commands need, and that an installation from ROS 2 packages alone
lacks.
"""

import os
import re
import socket
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


class MissingLibrary(ValueError):
    """An error that says which library is not installed, and how to get it."""


def library(name: str, extra: str, job: str):
    """Import the module `name` for a `job` (what needs it, as the user calls it).

    Raise MissingLibrary, with the command that installs it, where it is not installed.
    """
    with asking_for(name, extra, job):
        return import_module(name)


@contextmanager
def asking_for(name: str, extra: str, job: str) -> Iterator[None]:
    """Raise MissingLibrary, as `library` does, for an import of the module `name` within."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise MissingLibrary(no_library(name, extra, job)) from None
    except ImportError as error:
        if not (error.name or "").startswith(name.partition(".")[0]):
            raise
        install = _pip_install(f"rbdyn_ros[{extra}]")
        raise MissingLibrary(
            f"{job} needs a newer {name} than is installed ({error.msg}): run ./testbed setup, or "
            f"without it {install}"
        ) from None


def no_library(name: str, extra: str, job: str) -> str:
    """Return why a job cannot be done without the library `name`, and how to get it; "" where it
    is installed.
    """
    top = name.partition(".")[0]
    if find_spec(top):
        return ""
    install = _pip_install(f"rbdyn_ros[{extra}]")
    return (
        f"{job} needs {top}, which is not installed: run ./testbed setup, or without it {install}"
    )


def _pip_install(requirement: str) -> str:
    """Return the command that installs a library, also where the system manages this Python."""
    install = f"python3 -m pip install '{requirement}'"
    if is_externally_managed():
        return (
            f"{install} --user --break-system-packages, as the operating system manages this "
            "Python; or, without these two options, in an environment of python3 -m venv "
            "--system-site-packages"
        )
    return install


def demand_libraries(module: ModuleType, job: str) -> None:
    """Raise MissingLibrary for the first of the LIBRARIES that a module names and that is not
    installed, before the `job` that uses it begins.
    """
    for name, extra in getattr(module, "LIBRARIES", {}).items():
        if sentence := no_library(name, extra, job):
            raise MissingLibrary(sentence)


def demand_version(module: ModuleType, oldest: str) -> None:
    """Raise MissingLibrary where a module is older than what this package works with."""
    name, found = module.__name__, module.__version__
    if _numbers(found) < _numbers(oldest):
        raise MissingLibrary(
            f"{name} {found} is installed, and rbdyn_ros needs {name} {oldest} or newer: run "
            f"./testbed setup, or without it {_pip_install(f'{name}>={oldest}')}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def refusal_of_numba(error: ImportError) -> str:
    """Return, if this is the error by which Numba refuses the NumPy that is installed, the
    sentence that says so; else "".
    """
    if not str(error).startswith("Numba needs NumPy"):
        return ""
    refused = " ".join(str(error).split())
    return f"{refused} Run ./testbed setup, or without it {_pip_install('numba>=0.61')}"


def is_externally_managed() -> bool:
    """Return whether pip refuses to install into this Python, as PEP 668 asks: it belongs to the
    operating system, and is no virtual environment.
    """
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return sys.prefix == sys.base_prefix and marker.is_file()


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
