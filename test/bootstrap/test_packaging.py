"""package.xml, setup.py and the sources say the same."""

import ast
import configparser
import importlib.metadata
import importlib.util
import itertools
import os
import re
import shutil
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import rbdyn_ros
from bootstrap import package, recipe
from bootstrap.place import Place
from rbdyn_ros.ros.start import NODES

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
NO_CATKIN = "catkin_pkg is not installed (./testbed test brings it)"

# import name -> (rosdep key, name on PyPI)
LIBRARIES = {
    "jinja2": ("python3-jinja2", "jinja2"),
    "matplotlib": ("python3-matplotlib", "matplotlib"),
    "numba": ("python3-numba", "numba"),
    "numpy": ("python3-numpy", "numpy"),
    "psutil": ("python3-psutil", "psutil"),
    "scipy": ("python3-scipy", "scipy"),
    "serial": ("python3-serial", "pyserial"),
    "setuptools": ("python3-setuptools", "setuptools"),
    "tqdm": ("python3-tqdm", "tqdm"),
    "transforms3d": ("python3-transforms3d", "transforms3d"),
    "yaml": ("python3-yaml", "pyyaml"),
}
BROUGHT = {
    "llvmlite": "numba",
    "PIL": "matplotlib",
    "websockets": "viser",
}  # what others depend on themselves
# What may be imported although no package.xml names it: guarded where it is used, absent without
# harm.
OPTIONAL = {
    *("cobs", "dask", "distributed", "mujoco", "osqp", "pyarrow", "simulation_interfaces"),
    *("gymnasium", "rosbags", "viser"),
}


def call_of_setup():
    """Return the keyword arguments of the call of setup(), as syntax."""
    call = next(
        node
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setup"
    )
    return {keyword.arg: keyword.value for keyword in call.keywords}


def imported(folder):
    """Return the names of the foreign packages that the sources under a folder import."""
    names = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    names = {BROUGHT.get(name, name) for name in names}
    return names - set(sys.stdlib_module_names) - {"rbdyn_ros"} - OPTIONAL


def depends(*kinds):
    """Return the keys that package.xml depends on."""
    return {element.text for kind in ("depend", *kinds) for element in MANIFEST.iter(kind)}


def test_versions_are_equal():
    """Package.xml has it; setup.py repeats it, and the command says that of the installation."""
    version = MANIFEST.findtext("version")
    assert version == ast.literal_eval(call_of_setup()["version"]) == rbdyn_ros.__version__


def test_a_release_raises_every_version(tmp_path):
    """By catkin_prepare_release, which writes into both files."""
    catkin_pkg = pytest.importorskip("catkin_pkg.package", reason=NO_CATKIN)
    from catkin_pkg.package_version import update_versions

    for name in ("package.xml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    package = catkin_pkg.parse_package(str(tmp_path / "package.xml"))
    update_versions({str(tmp_path): package}, "7.8.9")
    for name in ("package.xml", "setup.py"):
        assert "7.8.9" in (tmp_path / name).read_text()


def test_the_changelog_has_this_version():
    """As bloom reads it for the packages of a distribution."""
    pytest.importorskip("catkin_pkg.package", reason=NO_CATKIN)
    from catkin_pkg.changelog import get_changelog_from_path

    changelog = get_changelog_from_path(str(ROOT), "rbdyn_ros")
    version, date, content = next(changelog.foreach_version())
    assert version == MANIFEST.findtext("version") and date and content


def test_manifest_is_format_3_for_ament_python():
    assert MANIFEST.get("format") == "3"
    assert MANIFEST.findtext("name") == "rbdyn_ros"
    assert MANIFEST.findtext("export/build_type") == "ament_python"
    assert MANIFEST.findtext("license") == "Apache-2.0"
    assert "Apache License" in (ROOT / MANIFEST.find("license").get("file")).read_text()


def test_manifest_passes_the_parser_of_colcon_and_rosdep():
    catkin_pkg = pytest.importorskip("catkin_pkg.package", reason=NO_CATKIN)
    package, warnings = catkin_pkg.parse_package(str(ROOT / "package.xml")), []
    package.validate(warnings=warnings)
    assert warnings == []


def test_a_release_depends_on_no_package_that_pip_installs():
    """bloom refuses the keys of such packages."""
    assert not [key for key in depends("exec_depend") if key.endswith("-pip")]


@pytest.mark.parametrize("folder", ["rbdyn_ros", "launch"])
def test_manifest_names_every_import(folder):
    keys = {LIBRARIES.get(name, (name,))[0] for name in imported(folder)}
    assert keys <= depends("exec_depend")


def bounds(argument):
    """Return, of an argument of setup(), {name on PyPI: its oldest version, or ""}."""
    found = ast.literal_eval(call_of_setup()[argument])
    listed = sum(found.values(), []) if isinstance(found, dict) else found
    return {line.partition(">=")[0]: line.partition(">=")[2] for line in listed}


def test_setup_names_every_library():
    required = set(bounds("install_requires"))
    libraries = imported("rbdyn_ros") & set(LIBRARIES)
    assert {LIBRARIES[name][1] for name in libraries} <= required
    assert required == {LIBRARIES[name][1] for name in LIBRARIES}


DEMO_EXTRAS = {"bag", "hil", "mpc", "urdf", "view"}  # small enough for the demo's environment


def pinned(distro, kind=""):
    """Return the names that a file of pins holds."""
    return set(
        re.findall(
            r"^([a-z0-9-]+)==",
            (ROOT / "bootstrap" / "pins" / f"{distro}{kind}.txt").read_text(),
            re.M,
        )
    )


@pytest.mark.parametrize("distro", ["jazzy", "kilted"])
def test_pins_hold_what_setup_requires(distro):
    extras = {
        extra: [line.partition(">=")[0] for line in listed]
        for extra, listed in ast.literal_eval(call_of_setup()["extras_require"]).items()
    }
    required = {
        *bounds("install_requires"),
        *sum((extras[name] for name in DEMO_EXTRAS), []),
    }
    assert required | {f"ros-{distro}-rclpy", "ninja", "cmake", "uv"} <= pinned(distro)
    others = pinned(distro, "-tests") | pinned(distro, "-docs")
    assert set(sum(extras.values(), [])) - required <= others


def test_oldest_versions_are_the_same_everywhere():
    """In setup.py, in what comes beside a sourced ROS 2, and where the kernels ask."""
    oldest = {**bounds("extras_require"), **bounds("install_requires")}
    listed = (ROOT / "bootstrap/pins/libraries.in").read_text().splitlines()
    for line in (line for line in listed if line and not line.startswith("#")):
        name, _, version = re.split(r"(>=|<)", line + ">=")[:3]
        assert "<" in line or version.removesuffix(">=") == oldest[name], line
    asked = re.findall(
        r'demand_version\((\w+), "(.+)"\)', (ROOT / "rbdyn_ros/kernel.py").read_text()
    )
    assert dict(asked) == {"numba": oldest["numba"], "np": oldest["numpy"]}


@pytest.mark.parametrize("distro", ["jazzy", "kilted"])
def test_what_the_demo_does_not_need_is_not_among_its_pins(distro):
    extras = ast.literal_eval(call_of_setup()["extras_require"])
    others = sum((libraries for name, libraries in extras.items() if name not in DEMO_EXTRAS), [])
    assert not set(others) & pinned(distro)


def test_every_pin_is_exact_and_stands_once():
    """What the tests and the pages share stands in the files of both."""
    for distro, more in itertools.product(("jazzy", "kilted"), ("-tests", "-docs")):
        lines = [
            line
            for kind in ("", more)
            for line in (ROOT / "bootstrap" / "pins" / f"{distro}{kind}.txt")
            .read_text()
            .splitlines()
        ]
        assert len(set(lines)) == len(lines)
        for line in lines:
            assert re.fullmatch(
                r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; python_full_version .+)?", line
            ), line


def test_the_environment_has_one_setuptools():
    """With the files of two, `colcon build` dies of a command that only the old one knows."""
    found = [
        d.version
        for d in importlib.metadata.distributions(path=[sysconfig.get_path("purelib")])
        if d.metadata["Name"] == "setuptools"
    ]
    assert len(found) <= 1  # none where it is the system's


def test_an_environment_with_two_setuptools_gets_the_pinned_one(tmp_path, monkeypatch):
    place, done = Place("jazzy", tmp_path, sourced=False), []
    for version in ("65.5.0", "79.0.1"):
        (place.site_packages / f"setuptools-{version}.dist-info").mkdir(parents=True)

    def uninstall(place, log, keep_open, name):
        next(place.site_packages.glob("setuptools-*.dist-info")).rmdir()

    monkeypatch.setattr(recipe.pip, "uninstall", uninstall)
    monkeypatch.setattr(
        recipe.pip, "install", lambda place, log, keep_open, *arguments: done.append(arguments)
    )
    monkeypatch.setattr(recipe.package, "install", lambda place, keep_open: done.append("package"))
    recipe.install_package(place, ())
    assert done == [("--no-deps", *recipe.pinned_setuptools(place)), "package"] and not [
        *place.site_packages.iterdir()
    ]
    recipe.install_package(place, ())
    assert done[2:] == ["package"]


def test_pytest_leaves_the_plugins_of_launch_alone():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    words = settings["tool:pytest"]["addopts"].split()
    assert {("-p", f"no:{name}") for name in ("launch_testing", "launch_ros")} <= set(
        zip(words, words[1:])
    )


def test_executables_of_an_earlier_installation_leave_the_path(tmp_path):
    """All nodes were on PATH once; pip forgets them with the record of that installation."""
    place = Place("jazzy", tmp_path, sourced=False)
    record = place.site_packages / "rbdyn_ros-0.1.0.dist-info"
    for folder in (record, tmp_path / "bin", tmp_path / "lib" / "rbdyn_ros"):
        folder.mkdir(parents=True)
    (record / "entry_points.txt").write_text("[console_scripts]\nsimulator = a:b\n")
    for name in ("simulator", "python"):
        (tmp_path / "bin" / name).touch()
    package.remove(place)
    assert [path.name for path in (tmp_path / "bin").iterdir()] == ["python"]
    assert not record.exists() and not (tmp_path / "lib" / "rbdyn_ros").exists()


def test_nodes_and_share_are_found():
    if importlib.util.find_spec("ament_index_python") is None:
        pytest.skip("ament_index_python is not here: this Python has no ROS 2")
    from ament_index_python import get_package_prefix, get_package_share_path

    nodes = get_package_prefix("rbdyn_ros") + "/lib/rbdyn_ros"
    assert {name for name in os.listdir(nodes) if os.access(f"{nodes}/{name}", os.X_OK)} == {
        *NODES
    }
    share = get_package_share_path("rbdyn_ros")
    assert (share / "package.xml").read_text() == (ROOT / "package.xml").read_text()
    for folder in ("launch", "config"):
        installed = {
            path.relative_to(share)
            for path in (share / folder).rglob("*.*")
            if "__pycache__" not in path.parts
        }
        sources = {
            path.relative_to(ROOT)
            for path in (ROOT / folder).rglob("*.*")
            if "__pycache__" not in path.parts
        }
        assert installed == sources
