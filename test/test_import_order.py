"""Imports follow one order of the folders, and only ros/ and tools/ know ROS."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = (  # who stands later may import who stands before, and who stands beside
    {
        "types",
        "kernel",
        "kernel_parts",
        "kernel_calls",
        "kernel_cache",
        "kernel_progress",
        "kernel_sources",
        "interrupts",
        "optional",
        "plugins",
        "tracebacks",
        "figures",
        "files",
        "console",
        "progress",
        "schema",
    },
    {"geometry", "numerics"},
    {"mechanics.solvers"},
    {"mechanics"},
    {"parameters", "faults", "wire"},
    {"control", "simulation"},
    {"campaigns", "evaluation"},
    {"view", "environments", "identification"},
    {"ros"},
    {"tools", "experiments", "cli", "__main__"},
)
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}
ROS_ROOMS = {"ros", "tools"}
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


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_follow_the_order(file):
    mine = room(own_name(file))
    names = {n.removeprefix("rbdyn_ros.") for n in imports(file) if n.startswith("rbdyn_ros.")}
    later = {n for n in names - {"__version__"} if PLACE[room(n)] > PLACE[mine]}
    assert not later, f"{file.name} is in {mine} and imports {later}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_only_some_rooms_know_ros(file):
    ros = {
        n
        for n in imports(file)
        if n.split(".")[0] in ROS or n.split(".")[0].endswith(("_msgs", "_interfaces"))
    }
    assert not ros or room(own_name(file)) in ROS_ROOMS, f"{file.name} imports {ros}"


def test_no_modules_import_each_other_in_a_circle():
    """At any depth: an import within a function counts."""
    modules = {own_name(file): file for file in FILES if file.name != "__init__.py"}
    needs = {
        name: {
            module
            for found in imports(file)
            for module in (found.removeprefix("rbdyn_ros."), found[10:].rpartition(".")[0])
            if found.startswith("rbdyn_ros.") and module in modules and module != name
        }
        for name, file in modules.items()
    }
    list(TopologicalSorter(needs).static_order())
