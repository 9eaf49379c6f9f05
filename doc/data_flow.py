"""Draw the data flow of simulator and controller: writes doc/images/data_flow.svg.

    python doc/data_flow.py

Each box names what does the work and its file; a name that is not in its file ends the script.
"""

import ast
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "doc" / "images" / "data_flow.svg"
WIDTH, HEIGHT, BOX = 960, 430, (190, 62)  # [px]


class Box(NamedTuple):
    """A part of a node."""

    title: str
    file: str  # in rbdyn_ros/
    name: str  # of the class or function
    x: int
    y: int


BOXES = (
    Box("parameters", "ros/declared_parameters.py", "Parameters", 40, 70),
    Box("plant", "plant/plant.py", "Plant", 270, 70),
    Box("tick", "plant/runner.py", "Runner", 500, 70),
    Box("publishers", "ros/simulator/telemetry.py", "Telemetry", 730, 70),
    Box("faults of commands", "plant/faults/pipeline.py", "FaultPipeline", 270, 170),
    Box("command queue", "plant/command.py", "CommandQueue", 40, 170),
    Box("state of one stamp", "ros/controller/synchronizers.py", "StateSynchronizer", 730, 340),
    Box("observer", "control/observer/estimator.py", "Observer", 500, 340),
    Box(
        "control law", "ros/controller/controller_supervisor.py", "ControllerSupervisor", 270, 340
    ),
    Box("publisher", "ros/controller/controller_node.py", "ControllerNode", 40, 340),
)
FRAMES = (("pendulum_simulator", 20, 30, 920, 220), ("pendulum_controller", 20, 300, 920, 120))
# from, to (a box by its place in BOXES), through which points, and what passes
ARROWS = (
    ("M230 101 H264", "", (0, 0)),
    ("M460 101 H494", "", (0, 0)),
    ("M690 101 H724", "", (0, 0)),
    ("M825 132 V334", "joint_states, odometry, imu/data", (815, 279)),
    ("M730 371 H696", "", (0, 0)),
    ("M500 371 H466", "", (0, 0)),
    ("M270 371 H236", "", (0, 0)),
    ("M135 340 V238", "cart/command", (145, 279)),
    ("M70 276 V238", "joint_commands", (26, 290)),
    ("M230 201 H264", "", (0, 0)),
    ("M460 201 H595 V138", "limited force", (605, 205)),
)
STYLE = """\
  text { font-family: Helvetica, Arial, sans-serif; fill: #1a1a1a; }
  .frame { fill: #f4f6f8; stroke: #8a97a5; stroke-dasharray: 5 4; }
  .box { fill: #ffffff; stroke: #2f5d8a; stroke-width: 1.5; }
  .node { font-size: 13px; fill: #55616d; }
  .title { font-size: 15px; font-weight: bold; }
  .name { font-size: 11px; }
  .file { font-size: 9px; }
  .topic { font-size: 13px; font-style: italic; }
  .arrow { fill: none; stroke: #2f5d8a; stroke-width: 2; marker-end: url(#head); }"""


def main() -> int:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


def picture() -> str:
    """Return the picture as SVG. ValueError for a name that is not in its file."""
    for box in BOXES:
        check(box)
    parts = [*map(frame, FRAMES), *map(drawn, BOXES), *map(arrow, ARROWS)]
    head = '<path d="M0 0 L8 4 L0 8 z" fill="#2f5d8a"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            "<title>Data flow of simulator and controller</title>",
            f"<style>\n{STYLE}\n</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="5"'
            f' markerHeight="5" orient="auto">{head}</marker></defs>',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def check(box: Box) -> None:
    """Raise ValueError where the file of a box does not define its name."""
    path = ROOT / "rbdyn_ros" / box.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if box.name not in {getattr(node, "name", None) for node in tree.body}:
        raise ValueError(f"doc/data_flow.py: rbdyn_ros/{box.file} defines no {box.name}")


def frame(node: tuple[str, int, int, int, int]) -> str:
    """Return the frame of a node."""
    name, x, y, width, height = node
    outline = f'<rect class="frame" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'
    place = f'x="{x + width // 2}" y="{y + 20}" text-anchor="middle"'
    return f'{outline}\n<text class="node" {place}>{name}</text>'


def drawn(box: Box) -> str:
    """Return a box with its title, its name and its file."""
    (width, height), middle = BOX, box.x + BOX[0] // 2
    lines = (("title", 21, box.title), ("name", 38, box.name), ("file", 54, box.file))
    size = f'width="{width}" height="{height}" rx="5"'
    outline = f'<rect class="box" x="{box.x}" y="{box.y}" {size}/>'
    return "\n".join(
        [
            outline,
            *(
                f'<text class="{kind}" x="{middle}" y="{box.y + down}" text-anchor="middle">'
                f"{escape(text)}</text>"
                for kind, down, text in lines
            ),
        ]
    )


def arrow(drawn: tuple[str, str, tuple[int, int]]) -> str:
    """Return an arrow, and what passes along it."""
    path, label, (x, y) = drawn
    anchor = "end" if x > WIDTH * 3 // 4 else "start"
    text = f'\n<text class="topic" x="{x}" y="{y}" text-anchor="{anchor}">{label}</text>'
    return f'<path class="arrow" d="{path}"/>' + (text if label else "")


if __name__ == "__main__":
    sys.exit(main())
