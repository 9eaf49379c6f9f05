"""Imports follow one order of the folders, and only ros/ knows ROS."""

import ast
import sys
from collections import Counter
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from rbdyn_ros.moved import MOVED

ROOT = Path(__file__).parent.parent
ORDER = (  # who stands later may import who stands before, and who stands beside
    {
        "types",
        "kernel",
        "numerics.kernel_parts",
        "numerics.kernel_cache",
        "numerics.kernel_progress",
        "moved",
        "interrupts",
        "optional",
        "plugins",
        "tracebacks",
        "figures",
        "files",
        "origin",
        "console",
        "progress",
        "schema",
    },
    {"geometry", "numerics"},
    {"numerics.solvers"},
    {"bodies", "network", "pendulum", "integrators"},
    {"parameters", "plant.faults", "wire"},
    {"control", "plant"},
    {"evaluation"},
    {"view", "environments", "identification", "api"},
    {"ros"},
    {"experiments", "cli", "__main__"},
)
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
ROS_ROOMS = {"ros"}
FILES = [
    f
    for f in sorted((ROOT / "rbdyn_ros").rglob("*.py"))
    if f != ROOT / "rbdyn_ros" / "__init__.py"
]
ROS = {"rclpy", "ament_index_python", "rosgraph_msgs", "tf2_ros"}


def room(name: str) -> str:
    """Return the room of ORDER that holds the module of this dotted name within rbdyn_ros."""
    words = name.split(".")
    return next(r for n in (2, 1) if (r := ".".join(words[:n])) in PLACE or n == 1)


def own_name(file: Path) -> str:
    """Return the dotted name of a file within rbdyn_ros."""
    return ".".join(file.relative_to(ROOT / "rbdyn_ros").with_suffix("").parts)


def imports(file: Path) -> set:
    """Dotted names of everything that the file imports, at any depth; `from a import b` counts as
    a.b.
    """
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


NEEDS = {own_name(file): imports(file) for file in FILES}


def test_imports_follow_the_order_and_only_some_rooms_know_ros():
    wrong = []
    for name, found in NEEDS.items():
        mine = room(name)
        ours = {n.removeprefix("rbdyn_ros.") for n in found if n.startswith("rbdyn_ros.")}
        for other in ours - {"__version__"}:
            if PLACE[room(other)] > PLACE[mine]:
                wrong.append(f"{name} is in {mine} and imports {other}")
        for package in {n.split(".")[0] for n in found}:
            is_ros = package in ROS or package.endswith(("_msgs", "_interfaces"))
            if is_ros and mine not in ROS_ROOMS:
                wrong.append(f"{name} imports {package}")
    assert not wrong


def test_no_modules_import_each_other_in_a_circle():
    """At any depth: an import within a function counts."""
    modules = {name for name in NEEDS if not name.endswith("__init__")}
    needs = {
        name: {
            module
            for found in NEEDS[name]
            for module in (found.removeprefix("rbdyn_ros."), found[10:].rpartition(".")[0])
            if found.startswith("rbdyn_ros.") and module in modules and module != name
        }
        for name in modules
    }
    list(TopologicalSorter(needs).static_order())


def test_a_name_of_a_file_occurs_once():
    """But for laws and measures, whose files have the names that users write."""
    plugins = {ROOT / "rbdyn_ros/control/laws", ROOT / "rbdyn_ros/evaluation/measures"}
    stems = Counter(file.stem for file in FILES if file.parent not in plugins)
    assert [stem for stem, n in stems.items() if n > 1 and stem != "__init__"] == []


@pytest.mark.parametrize("former", MOVED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # that of its folder
def test_a_former_name_is_the_same_module(former):
    for name in [n for n in sys.modules if n == f"rbdyn_ros.{former}"]:
        del sys.modules[name]
    present = f"rbdyn_ros.{MOVED[former]}"
    with pytest.warns(DeprecationWarning, match=f"rbdyn_ros.{former} is {present}"):
        module = import_module(f"rbdyn_ros.{former}")
    assert module is import_module(present)
    assert module.__spec__.name == module.__name__ == present
