"""The floors of the house: imports only point down, and only nodes/ knows ROS."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = {
    0: {
        "types",
        "kernel",
        "kernel_parts",
        "interrupts",
        "optional",
        "tracebacks",
        "files",
        "console",
        "geometry",
        "numerics",
    },
    1: {"bodies", "solvers"},
    2: {"contacts", "systems"},
    3: {"systems", "integrators", "mechanics"},
    4: {"models", "settings", "faults", "wire"},
    5: {"controllers", "simulation"},
    6: {"campaigns", "evaluation"},
    7: {"nodes", "experiments", "commands", "__main__"},
}
FLOOR = {room: floor for floor, rooms in FLOORS.items() for room in rooms}
FILES = [
    f
    for f in sorted((ROOT / "rbdyn_ros").rglob("*.py"))
    if f != ROOT / "rbdyn_ros" / "__init__.py"
]
ROS = {"rclpy", "ament_index_python", "rosgraph_msgs", "tf2_ros"}


def room(file: Path) -> str:
    """The word after rbdyn_ros. A new one needs a floor in FLOORS."""
    return file.relative_to(ROOT / "rbdyn_ros").parts[0].removesuffix(".py")


def imports(file: Path) -> set:
    """Dotted names of everything that the file imports, at any depth; `from a import b` counts as a.b."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_down(file):
    rooms = {name.split(".")[1] for name in imports(file) if name.startswith("rbdyn_ros.")}
    above = {r for r in rooms - {"__version__"} if FLOOR[r] > FLOOR[room(file)]}
    assert not above, f"{file.name} is on floor {FLOOR[room(file)]} and imports {above}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_only_nodes_know_ros(file):
    ros = {
        n
        for n in imports(file)
        if n.split(".")[0] in ROS or n.split(".")[0].endswith(("_msgs", "_interfaces"))
    }
    assert not ros or room(file) == "nodes", f"{file.name} imports {ros}"
