"""The same runs end in the same rows with the libraries of other distributions.

Each set of libraries gets an environment of its own within that of the tests, which is kept. One
is tested in every run, all of them by

    LIBRARIES=all PATH=$PATH:folder/of/python3.10 ./testbed test test/test_versions.py
"""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bootstrap import console, old_python, pip
from bootstrap.place import ROOT, Place, environment
from bootstrap.steps import STATE, Step, carry_out

pytestmark = pytest.mark.timeout(3600)  # a first compile, where other jobs have the processors

SHORT_LIST = [ROOT / "test/verification/short_list.py", ROOT / "config/models/stack_of_boxes.yaml"]

# All other rows are identical. LAPACK solves for the gains of lqr to other last digits; LLVM makes
# one rounding of a * b + c where it inlines, which is elsewhere in each version, and only a motion
# out of a plane, that of the tick, shows it.
WITHIN = {"lqr": 1e-9, "tick": 1e-13}


class Libraries(NamedTuple):
    """Libraries of a distribution, and the Pythons that they have wheels for."""

    pythons: tuple[str, ...]
    pins: str


SETS = {
    # and the oldest of the small libraries, of Ubuntu 22.04, that have wheels
    "Ubuntu 24.04": Libraries(
        ("3.11", "3.10"),
        "numba==0.58.1 numpy==1.26.4 scipy==1.11.4 tqdm==4.57.0 psutil==5.9.4 PyYAML==6.0 "
        "rosbags==0.11.0",
    ),
    # Debian's own NumPy is 1.24.2, which Numba takes after a patch of Debian
    "Debian 12": Libraries(
        ("3.10",),
        "numba==0.56.4 numpy==1.23.5 scipy==1.10.1 tqdm==4.64.1 psutil==5.9.4 PyYAML==6.0 "
        "rosbags==0.11.0 setuptools<80",
    ),
    "Debian 13": Libraries(
        ("3.13", "3.12", "3.11", "3.10"),
        "numba==0.61.2 numpy==2.2.4 scipy==1.15.3 tqdm==4.67.1 psutil==7.0.0 PyYAML==6.0.2 "
        "rosbags==0.11.0",
    ),
    "newest": Libraries(
        ("3.13", "3.12", "3.11", "3.10"), "numba numpy scipy tqdm psutil PyYAML rosbags"
    ),
}
EVERY = ("Ubuntu 24.04", "Debian 13")  # the first one that there is a Python for


def interpreter(pythons: tuple[str, ...]) -> str | None:
    """Return the first Python that is on PATH and starts; version managers put names on PATH that
    do not.
    """
    folders = os.environ["PATH"].split(os.pathsep)
    names = (f"{folder}/python{version}" for version in pythons for folder in folders)
    found = (name for name in names if os.access(name, os.X_OK))
    return next((name for name in found if old_python.can_start(name)), None)


def chosen() -> list[str]:
    """List the sets to test."""
    if os.environ.get("LIBRARIES") == "all":
        return [*SETS]
    return [next((name for name in EVERY if interpreter(SETS[name].pythons)), EVERY[0])]


def make(place: Place, python: str, pins: str, keep_open) -> None:
    """Make an environment with the libraries, and without this package."""
    shutil.rmtree(place.prefix, ignore_errors=True)
    (place.prefix / STATE).mkdir(parents=True)
    log = place.prefix / STATE / "environment.log"
    console.run([python, "-m", "venv", "--without-pip", place.prefix], log, keep_open=keep_open)
    # by the pip of the tests; byte code of what is imported alone is made, when it is
    command = [sys.executable, "-m", "pip", "--python", place.prefix, "install", *pip.QUIET]
    command += ["--no-compile", "--only-binary", ":all:", *pins.split()]
    console.run(command, place.prefix / STATE / "libraries.log", environment(place), keep_open)


def last_rows(python: Path | str, **variables: str) -> dict[str, list[float]]:
    """Return the last rows of the short list, run by an interpreter."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    env.pop("VIRTUAL_ENV", None)
    done = subprocess.run([python, *SHORT_LIST], env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    return {run: [*map(float, row.split(","))] for run, row in rows.items()}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[float]]:
    """The last rows with the libraries of the tests."""
    return last_rows(sys.executable)


@pytest.mark.parametrize("name", chosen())
def test_last_rows_are_identical(name, expected):
    python = interpreter(SETS[name].pythons)
    if not python:
        pytest.skip(f"{name}: none of Python {', '.join(SETS[name].pythons)} is on PATH")
    folder = Path(sys.prefix) / "other_libraries" / name.replace(" ", "_").lower()
    place = Place("", folder, sourced=False)
    inputs = f"{python} {SETS[name].pins}"
    if name == "newest":
        shutil.rmtree(folder, ignore_errors=True)
    carry_out(folder, [Step("libraries", inputs, partial(make, place, python, SETS[name].pins))])
    kernels = folder.with_name(f"{folder.name}_kernels")
    found = last_rows(place.python, NUMBA_CACHE_DIR=str(kernels))
    assert found.keys() == expected.keys()
    for run, row in expected.items():
        within = WITHIN.get(run, 0.0)
        np.testing.assert_allclose(found[run], row, rtol=within, atol=1e-7 * within, err_msg=run)
