"""The place where the testbed runs on this machine: a ROS 2 that is sourced, or an environment of
wheels.
"""

import importlib.util
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DISTROS = ("jazzy", "kilted")


class Place(NamedTuple):
    """The environment of one distribution."""

    distro: str
    prefix: Path  # the virtual environment
    sourced: bool  # ROS 2 comes from the shell, not from wheels

    @property
    def python(self):
        """The interpreter of the environment."""
        return self.prefix / "bin" / "python"

    @property
    def site_packages(self):
        """The folder of the Python packages of the environment."""
        return (
            self.prefix
            / "lib"
            / f"python{sys.version_info[0]}.{sys.version_info[1]}"
            / "site-packages"
        )


def find(distro, environ=os.environ):
    """Return the place for a distribution; None takes the ROS 2 that is sourced, else the wheels
    of the first one.
    """
    here = sourced_distro(environ)
    if here and distro in (None, here):
        return Place(here, ROOT / f".venv-ros-{here}", sourced=True)
    distro = distro or DISTROS[0]
    return Place(
        distro, ROOT / (".venv" if distro == DISTROS[0] else f".venv-{distro}"), sourced=False
    )


def sourced_distro(environ):
    """Return the name of the ROS 2 that the shell has sourced and this interpreter can import,
    else None.
    """
    prefixes = roots(environ)
    if (
        not environ.get("ROS_DISTRO")
        or not prefixes
        or any(prefix.parent == ROOT for prefix in prefixes)
    ):
        return None
    rclpy = importlib.util.find_spec("rclpy")
    if rclpy is None or rclpy.origin is None or not is_compiled_for_us(Path(rclpy.origin).parent):
        return None
    return environ["ROS_DISTRO"]


def is_compiled_for_us(rclpy):
    """Return whether the extension in the folder of rclpy is one that this interpreter loads."""
    return any((rclpy / f"_rclpy_pybind11{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def roots(environ):
    """Return the prefixes of the ROS 2 that the shell has sourced."""
    return [Path(part) for part in environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if part]


def environment(place, environ=os.environ):
    """Return the variables under which every command of this place runs."""
    env = dict(environ, VIRTUAL_ENV=str(place.prefix), PIP_USER="0")
    env["PATH"] = join_paths(place.prefix / "bin", environ.get("PATH"))
    env.pop("PYTHONHOME", None)
    # Where the shell forbids byte code beside the sources, it lies in the environment: without
    # any, each process would compile Numba and SciPy from their sources, which takes a second.
    if env.pop("PYTHONDONTWRITEBYTECODE", ""):
        env.setdefault("PYTHONPYCACHEPREFIX", str(place.prefix / "bytecode"))
    if place.sourced:
        env["AMENT_PREFIX_PATH"] = join_paths(place.prefix, environ.get("AMENT_PREFIX_PATH"))
        return env
    env["PYTHONPATH"] = remove_prefixes(roots(environ), environ.get("PYTHONPATH", ""))
    env["AMENT_PREFIX_PATH"] = env["CMAKE_PREFIX_PATH"] = str(place.prefix)
    env["ROS_DISTRO"] = place.distro
    env["LD_LIBRARY_PATH"] = join_paths(
        *shared_libraries(place),
        remove_prefixes(roots(environ), environ.get("LD_LIBRARY_PATH", "")),
    )
    # The wheels start Python twice to set LD_LIBRARY_PATH, unless this marks it as set.
    env["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    return env


def shared_libraries(place):
    """Return the folders that hold the shared libraries of the wheels."""
    return [place.prefix / "lib", *sorted(place.site_packages.glob("ros_*.libs"))]


def remove_prefixes(prefixes, paths):
    """Return the search path without the folders of another ROS 2."""
    foreign = [
        path
        for path in paths.split(os.pathsep)
        if any(Path(path).is_relative_to(prefix) for prefix in prefixes)
    ]
    return os.pathsep.join(
        path for path in paths.split(os.pathsep) if path and path not in foreign
    )


def join_paths(*parts):
    """Return a search path of the parts that are there, each once, the first one first."""
    folders = [folder for part in parts if part for folder in str(part).split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(folders))
