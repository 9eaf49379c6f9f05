"""Which environment is taken, and under which variables its commands run."""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from bootstrap.place import ROOT, Place, environment, find, join_paths, remove_prefixes

WHEELS = Place("jazzy", ROOT / ".venv", sourced=False)


@pytest.fixture
def opt_ros(tmp_path, monkeypatch):
    """A folder that looks to this interpreter like a sourced ROS 2."""
    packages = tmp_path / "site-packages"
    (packages / "rclpy").mkdir(parents=True)
    (packages / "rclpy" / "__init__.py").touch()
    (packages / "rclpy" / f"_rclpy_pybind11{EXTENSION_SUFFIXES[0]}").touch()
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    monkeypatch.delitem(sys.modules, "rclpy", raising=False)
    return {
        "ROS_DISTRO": "jazzy",
        "AMENT_PREFIX_PATH": str(tmp_path),
        "PYTHONPATH": str(packages),
        "LD_LIBRARY_PATH": f"{tmp_path}/lib",
        "PATH": "/usr/bin",
    }


def test_without_ros_the_wheels_of_jazzy_are_taken():
    assert find(None, {}) == WHEELS
    assert find("kilted", {}) == Place("kilted", ROOT / ".venv-kilted", sourced=False)


def test_a_sourced_ros_is_taken(opt_ros):
    assert find(None, opt_ros) == Place("jazzy", ROOT / ".venv-ros-jazzy", sourced=True)
    assert find(None, opt_ros | {"ROS_DISTRO": "rolling"}).distro == "rolling"


def test_asking_for_another_distribution_takes_its_wheels(opt_ros):
    assert find("kilted", opt_ros) == Place("kilted", ROOT / ".venv-kilted", sourced=False)


def test_a_ros_compiled_for_another_python_is_not_taken(opt_ros):
    extension = next(Path(opt_ros["PYTHONPATH"]).glob("rclpy/_rclpy*"))
    extension.rename(extension.with_name("_rclpy_pybind11.cpython-39-x86_64-linux-gnu.so"))
    assert find(None, opt_ros) == WHEELS


def test_its_own_environment_is_not_a_sourced_ros(opt_ros):
    assert find(None, opt_ros | {"AMENT_PREFIX_PATH": str(ROOT / ".venv")}) == WHEELS


def test_wheels_run_without_the_folders_of_another_ros(opt_ros):
    env = environment(WHEELS, opt_ros | {"PYTHONPATH": f"{opt_ros['PYTHONPATH']}:/home/me/lib"})
    assert env["PYTHONPATH"] == "/home/me/lib"
    assert env["AMENT_PREFIX_PATH"] == str(WHEELS.prefix)
    assert opt_ros["LD_LIBRARY_PATH"] not in env["LD_LIBRARY_PATH"].split(os.pathsep)
    assert env["PATH"] == f"{WHEELS.prefix}/bin:/usr/bin"


def test_a_sourced_ros_keeps_its_variables_with_the_environment_in_front(opt_ros):
    env = environment(find(None, opt_ros), opt_ros)
    assert env["AMENT_PREFIX_PATH"] == f"{ROOT}/.venv-ros-jazzy:{opt_ros['AMENT_PREFIX_PATH']}"
    assert (env["PYTHONPATH"], env["LD_LIBRARY_PATH"]) == (
        opt_ros["PYTHONPATH"],
        opt_ros["LD_LIBRARY_PATH"],
    )


def test_a_command_inside_a_command_sees_the_same_variables():
    once = environment(WHEELS, {"PATH": "/usr/bin", "PYTHONHOME": "/elsewhere"})
    assert environment(WHEELS, once) == once
    assert "PYTHONHOME" not in once


def test_search_paths():
    assert join_paths("/a", None, "/b:/a", "") == "/a:/b"
    assert (
        remove_prefixes([Path("/opt/ros")], "/opt/ros/lib:/opt/rosette:/b::") == "/opt/rosette:/b"
    )


def test_byte_code_that_is_unwanted_beside_sources_lies_in_the_environment():
    env = environment(WHEELS, {"PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"})
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert env["PYTHONPYCACHEPREFIX"] == str(WHEELS.prefix / "bytecode")
    assert environment(WHEELS, env) == env
    assert "PYTHONPYCACHEPREFIX" not in environment(WHEELS, {"PATH": "/usr/bin"})
    own = {"PATH": "/usr/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/tmp/mine"}
    assert environment(WHEELS, own)["PYTHONPYCACHEPREFIX"] == "/tmp/mine"
