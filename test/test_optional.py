"""A library that is not there is one sentence with the way out."""

import math
import os
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from rbdyn_ros import optional
from rbdyn_ros.optional import MissingLibrary, asking_for, library

ROOT = Path(__file__).parent.parent


def test_what_is_there_is_imported():
    assert library("math", "none", "a test") is math


def test_what_is_not_there_is_named_with_the_extra_that_brings_it():
    with pytest.raises(
        MissingLibrary, match=r"mpc needs no_such_solver, .* pip install 'rbdyn_ros\[mpc\]'"
    ):
        library("no_such_solver", "mpc", "mpc")


OLD = """
import sys, runpy
import {module}
{change}
sys.argv = ["rbdyn_ros", "simulate", "--duration", "0.01", "--out", "never.csv"]
runpy.run_module("rbdyn_ros", run_name="__main__", alter_sys=True)
"""
FOUND = {
    "an old Numba": (
        "numba",
        "numba.__version__ = '0.55.2'",
        "numba 0.55.2 is installed, and rbdyn_ros needs numba 0.56 or newer: run ./testbed setup",
    ),
    "a NumPy that is new for Numba": (
        "numpy",
        "numpy.__version__ = '99.0.0'",
        "Numba needs NumPy",
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_versions_that_do_not_fit_are_one_sentence(tmp_path, what):
    module, change, sentence = FOUND[what]
    code = OLD.format(module=module, change=change)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    said = done.stderr.splitlines()[-1]  # SciPy may warn of NumPy, too
    assert sentence in said and "pip install '" in said and "defect" not in said
    assert done.returncode in (1, 2) and not [*tmp_path.iterdir()]


@pytest.mark.parametrize("in_an_environment", [True, False])
def test_where_pip_refuses_to_install_the_sentence_says_how(
    tmp_path, monkeypatch, in_an_environment
):
    """As on Ubuntu 24.04 and Debian 12 (PEP 668)."""
    (tmp_path / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", "/usr" if in_an_environment else sys.prefix)
    said = optional.no_library("no_such_solver", "mpc", "mpc")
    assert ("pip install 'rbdyn_ros[mpc]' --user --break-system-packages" in said) == (
        not in_an_environment
    )
    assert ("python3 -m venv --system-site-packages" in said) == (not in_an_environment)


def test_an_import_statement_is_asked_for_in_the_same_way(monkeypatch):
    monkeypatch.setitem(sys.modules, "cobs", None)
    with (
        pytest.raises(MissingLibrary, match=r"the wire needs cobs, .*'rbdyn_ros\[hil\]'"),
        asking_for("cobs", "hil", "the wire"),
    ):
        import cobs  # noqa: F401


def test_a_library_that_is_too_old_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "old_library.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(
            MissingLibrary, match=r"bags needs a newer old_library .*'rbdyn_ros\[bag\]'"
        ),
        asking_for("old_library", "bag", "bags"),
    ):
        from old_library import StoragePlugin  # noqa: F401


def test_a_library_that_is_broken_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import a_part_that_is_gone\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_part_that_is_gone"):
        library("broken_library", "x", "x")


def test_a_missing_ros_is_one_sentence(monkeypatch):
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    assert (
        optional.no_ros("take --bridge 0")
        == "there is no ROS 2 here: rclpy cannot be imported; take --bridge 0, or source a ROS 2"
    )
    monkeypatch.setattr(optional, "find_spec", lambda name: object())
    assert optional.no_ros("take --bridge 0") == ""


def test_a_domain_of_its_own_is_one_in_which_nobody_is(monkeypatch):
    """The number of this process modulo 100 is that of others, too."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", "")
    monkeypatch.delenv("ROS_DOMAIN_ID")
    taken = next(filter(optional.is_silent, range(1, 101)))
    monkeypatch.setattr(os, "getpid", lambda: taken - 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("", 7410 + 250 * taken))
        optional.stay_local(own_domain=True)
    assert int(os.environ["ROS_DOMAIN_ID"]) in {*range(1, 101)} - {taken}
