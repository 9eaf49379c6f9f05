"""The wheel, built from the source distribution, works in an environment of its own, in a folder
that holds nothing else.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

import rbdyn_ros
from rbdyn_ros.ros.start import NODES

ROOT = Path(__file__).resolve().parents[2]
NO_SOURCES = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "install", "log", "demo_*", "rosbag2_*"
)
SDIST = "from setuptools import build_meta; build_meta.build_sdist('dist')"
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-cache-dir")
ALONE = ("--no-index", "--no-deps")


def run(*command: object, folder: Path, code: int = 0) -> str:
    """Run a command in a folder, without the paths of this environment; return what it printed."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "AMENT_PREFIX_PATH")
    environment = {name: text for name, text in os.environ.items() if name not in hidden}
    if (folder / "venv").is_dir():
        environment["PATH"] = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    pipe = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    done = subprocess.run([*map(str, command)], cwd=folder, env=environment, **pipe)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution of a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources") / "rbdyn_ros"
    shutil.copytree(ROOT, copy, ignore=NO_SOURCES)
    run(sys.executable, "-c", SDIST, folder=copy)
    (archive,) = (copy / "dist").iterdir()
    return archive


@pytest.fixture(scope="module")
def place(sdist, tmp_path_factory):
    """A folder with an environment, venv, that holds the wheel alone; `venv/before` lists the
    commands that it had without.
    """
    folder = tmp_path_factory.mktemp("place")
    wheel = (*PIP, "wheel", *ALONE, "--no-build-isolation", "--wheel-dir", ".", sdist)
    run(sys.executable, *wheel, folder=folder)
    run(sys.executable, "-m", "venv", "--without-pip", "venv", folder=folder)
    commands = sorted(path.name for path in (folder / "venv" / "bin").iterdir())
    (folder / "venv" / "before").write_text("\n".join(commands))
    install = ("--python", "venv", "install", "--no-compile", *ALONE, *folder.glob("*.whl"))
    run(sys.executable, *PIP, *install, folder=folder)
    return folder


def test_the_sources_come_with_changelog_documents_and_license(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = "README.md CHANGELOG.rst CONTRIBUTING.md CITATION.cff LICENSE package.xml"
    assert {*wanted.split(), "doc/ros.md", "doc/images/demo.png", "scripts/simulator"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


def test_only_the_command_comes_onto_path(place):
    commands = {path.name for path in (place / "venv" / "bin").iterdir()}
    assert commands - {*(place / "venv" / "before").read_text().split()} == {"rbdyn_ros"}


def test_ros2_run_finds_every_node_and_nothing_else(place):
    found = [*(place / "venv" / "lib" / "rbdyn_ros").iterdir()]
    assert {path.name for path in found} == {*NODES}
    assert all(os.access(path, os.X_OK) for path in found)


@pytest.mark.parametrize("node", NODES)
def test_a_node_without_ros_says_so_in_a_sentence(place, node):
    said = run(f"venv/lib/rbdyn_ros/{node}", folder=place, code=1)
    assert said.startswith(f"{node}: there is no ROS 2 here: rclpy cannot be imported; ")
    assert said.count("\n") == 1


def test_the_wheel_says_what_it_is(place):
    (folder,) = place.glob("venv/lib/python*/site-packages/rbdyn_ros-*.dist-info")
    about = PathDistribution(folder)
    assert about.version == rbdyn_ros.__version__
    said = about.metadata
    assert (said["License"], said["Description-Content-Type"]) == ("Apache-2.0", "text/markdown")
    assert "pendulum" in said["Description"] and "![" not in said["Description"]
    assert "License :: OSI Approved :: Apache Software License" in said.get_all("Classifier")
    assert [path for path in about.files if path.name == "LICENSE"]


def test_it_simulates_by_the_names_of_shipped_files(place, monkeypatch):
    """With the libraries of this environment, but not its rbdyn_ros; the kernels, which other
    tests compile, run in Python.
    """
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    packages = next(place.glob("venv/lib/python*/site-packages"))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    empty = place / "empty"
    empty.mkdir()
    (empty / "venv").symlink_to(place / "venv")
    command = ("venv/bin/rbdyn_ros", "simulate", "--duration", "0.01", "--out", "run.csv")
    assert "11 rows" in run(*command, "--params-file", "pendulum", folder=empty)
    assert "door" in run("venv/bin/rbdyn_ros", "simulate", "--list", folder=empty)
    said = run(*command, "--params-file", "pendlum", folder=empty, code=2)
    assert f"{place / 'venv' / 'share' / 'rbdyn_ros' / 'config'}; did you mean pendulum?" in said
    said = run("venv/bin/rbdyn_ros", "demo", "--scenario", "losy", folder=empty, code=2)
    assert "share/rbdyn_ros/config/scenarios; did you mean lossy?" in said
    said = run("venv/bin/rbdyn_ros", "--version", folder=empty)
    assert said == f"rbdyn_ros {rbdyn_ros.__version__}\n"
