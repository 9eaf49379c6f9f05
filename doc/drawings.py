"""Draw the pictures of the pages: writes the files of DRAWINGS to doc/images/.

    python doc/drawings.py

What a drawing names is in the code; a name that is not there ends the script.
"""

import ast
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "doc" / "images"
BLUE, GREEN, RED, GRAY = "#2f5d8a", "#1b7f5c", "#b3401f", "#55616d"
STYLE = f"""\
  text {{ font-family: Helvetica, Arial, sans-serif; fill: #1a1a1a; }}
  .frame {{ fill: #f4f6f8; stroke: #8a97a5; stroke-dasharray: 5 4; }}
  .box {{ fill: #ffffff; stroke: {BLUE}; stroke-width: 1.5; }}
  .node {{ font-size: 13px; fill: {GRAY}; }}
  .title {{ font-size: 15px; font-weight: bold; }}
  .name {{ font-size: 11px; }}
  .file {{ font-size: 9px; }}
  .topic {{ font-size: 13px; font-style: italic; }}
  .letter {{ font-size: 17px; font-style: italic; }}
  .word {{ font-size: 13px; fill: {GRAY}; }}
  .arrow {{ fill: none; stroke: {BLUE}; stroke-width: 2; }}"""


class Text(NamedTuple):
    """A line of text about a point [px]."""

    x: float
    y: float
    text: str
    kind: str = "word"
    anchor: str = "middle"
    color: str = ""

    def __str__(self) -> str:
        """Return it as SVG."""
        fill = f' style="fill:{self.color}"' if self.color else ""
        place = f'x="{self.x:.6g}" y="{self.y:.6g}" text-anchor="{self.anchor}"'
        return f'<text class="{self.kind}" {place}{fill}>{escape(self.text)}</text>'


class Arrow(NamedTuple):
    """A line along a path, with a head at its end."""

    path: str
    color: str = BLUE

    def __str__(self) -> str:
        """Return it as SVG."""
        stroke = "" if self.color == BLUE else f' style="stroke:{self.color}"'
        head = f'marker-end="url(#head{self.color[1:]})"'
        return f'<path class="arrow" d="{self.path}"{stroke} {head}/>'


class Box(NamedTuple):
    """A box with up to three lines; where it has a file, the name is what that file defines."""

    title: str
    x: int
    y: int
    name: str = ""
    file: str = ""  # in rbdyn_ros/
    width: int = 190
    height: int = 62

    def __str__(self) -> str:
        """Return it as SVG."""
        middle = self.x + self.width // 2
        given = [line for line in (self.title, self.name, self.file) if line]
        first = {3: 21, 2: 27, 1: 36}[len(given)] - 31 + self.height // 2
        kinds = ("title", "name", "file")
        lines = [
            Text(middle, self.y + first + 17 * at - (at == 2), text, kinds[at])
            for at, text in enumerate(given)
        ]
        size = f'width="{self.width}" height="{self.height}" rx="5"'
        outline = f'<rect class="box" x="{self.x}" y="{self.y}" {size}/>'
        return "\n".join([outline, *map(str, lines)])


class Frame(NamedTuple):
    """A frame around boxes, with its name on top."""

    name: str
    x: int
    y: int
    width: int
    height: int

    def __str__(self) -> str:
        """Return it as SVG."""
        size = f'width="{self.width}" height="{self.height}" rx="8"'
        outline = f'<rect class="frame" x="{self.x}" y="{self.y}" {size}/>'
        return f"{outline}\n{Text(self.x + self.width // 2, self.y + 20, self.name, 'node')}"


class Drawing(NamedTuple):
    """A drawing of some parts, each as it writes itself."""

    title: str
    width: int
    height: int
    parts: tuple

    def __str__(self) -> str:
        """Return it as SVG. ValueError for a name that is not in its file."""
        heads = sorted({part.color for part in self.parts if isinstance(part, Arrow)})
        for part in self.parts:
            if isinstance(part, Box):
                check(part)
        marker = (
            '<marker id="head{0}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="5"'
            ' markerHeight="5" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#{0}"/></marker>'
        )
        size = f"0 0 {self.width} {self.height}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">',
                f"<title>{escape(self.title)}</title>",
                f"<style>\n{STYLE}\n</style>",
                f"<defs>{''.join(marker.format(color[1:]) for color in heads)}</defs>",
                f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>',
                *map(str, self.parts),
                "</svg>\n",
            ]
        )


def check(box: Box) -> None:
    """Raise ValueError where the file of a box does not define its name, or is not there."""
    if not box.file:
        return
    path = ROOT / "rbdyn_ros" / box.file
    if not path.exists():
        raise ValueError(f"doc/drawings.py: there is no rbdyn_ros/{box.file}")
    if path.is_file():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if box.name not in {getattr(node, "name", None) for node in tree.body}:
            raise ValueError(f"doc/drawings.py: rbdyn_ros/{box.file} defines no {box.name}")


DATA_FLOW = Drawing(
    "Data flow of simulator and controller",
    960,
    470,
    (
        Frame("pendulum_simulator", 20, 20, 920, 220),
        Frame("pendulum_controller", 20, 330, 920, 120),
        Box("parameters", 40, 60, "Parameters", "ros/declared_parameters.py"),
        Box("plant", 270, 60, "Plant", "plant/plant.py"),
        Box("tick", 500, 60, "Runner", "plant/runner.py"),
        Box("publishers", 730, 60, "Telemetry", "ros/simulator/telemetry.py"),
        Box("faults of commands", 270, 160, "FaultPipeline", "plant/faults/pipeline.py"),
        Box("command queue", 40, 160, "CommandQueue", "plant/command.py"),
        Box(
            "state of one stamp", 730, 370, "StateSynchronizer", "ros/controller/synchronizers.py"
        ),
        Box("observer", 500, 370, "Observer", "control/observer/estimator.py"),
        Box(
            "control law",
            270,
            370,
            "ControllerSupervisor",
            "ros/controller/controller_supervisor.py",
        ),
        Box("publisher", 40, 370, "ControllerNode", "ros/controller/controller_node.py"),
        Arrow("M230 91 H264"),
        Arrow("M460 91 H494"),
        Arrow("M690 91 H724"),
        Arrow("M825 122 V364"),
        Text(813, 289, "joint_states, odometry, imu/data", "topic", "end"),
        Arrow("M730 401 H696"),
        Arrow("M500 401 H466"),
        Arrow("M270 401 H236"),
        Arrow("M180 370 V228"),
        Text(192, 289, "cart/command", "topic", "start"),
        Arrow("M70 270 V228"),
        Text(40, 289, "joint_commands", "topic", "start"),
        Arrow("M230 191 H264"),
        Arrow("M460 191 H595 V128"),
        Text(607, 195, "limited force", "topic", "start"),
    ),
)

LOOP = Drawing(
    "The loop of a control law: command, delay, limit, drive, plant, sensors, observer",
    960,
    385,
    (
        Box("control law", 70, 90, "a file a law", "control/laws", width=130),
        Box("delay, loss", 240, 90, "DelayChannel", "plant/faults/channel.py", width=150),
        Box("watchdog", 430, 90, "Watchdog", "plant/command.py", width=130),
        Box("limit, drive", 600, 90, "Actuator", "plant/faults/drive.py", width=130),
        Box("rod on cart", 800, 90, "a file a method", "integrators", width=130),
        Box("sensors", 600, 250, "Sensors", "plant/faults/sensors.py", width=130),
        Box("delay, loss", 430, 250, "DelayChannel", "plant/faults/channel.py", width=130),
        Box("observer", 200, 250, "Observer", "control/observer/estimator.py", width=170),
        Arrow("M20 121 H64"),
        Text(6, 108, "set point", anchor="start"),
        Arrow("M200 121 H234"),
        Text(215, 112, "u"),
        Arrow("M390 121 H424"),
        Arrow("M560 121 H594"),
        Arrow("M730 121 H794"),
        Text(760, 112, "force"),
        Arrow("M865 40 V84", RED),
        Text(865, 30, "pushes, contacts", color=RED),
        Arrow("M865 152 V281 H736"),
        Text(857, 225, "true state", anchor="end"),
        Arrow("M600 281 H566"),
        Arrow("M430 281 H376"),
        Text(403, 272, "y"),
        Arrow("M200 281 H150 V158"),
        Text(160, 200, "estimate", anchor="start"),
        Arrow("M760 121 V200 H285 V244", GREEN),
        Text(297, 222, "the force that acted, else the commanded one", "word", "start", GREEN),
        Arrow("M495 312 V345 H110 V158", GRAY),
        Text(300, 366, "without an observer: the measured state, as published"),
    ),
)


def board() -> Drawing:
    """Return the drawing of a board, the bridge, and the instants of their clocks."""
    ours, theirs = 270, 340  # heights of the two time lines [px]
    parts = [
        Frame("this computer", 20, 20, 560, 150),
        Frame("the board: hil_client, or firmware", 690, 20, 250, 150),
        Box("simulator", 40, 70, "Runner", "plant/runner.py", width=140),
        Box("bridge", 370, 70, "HilBridge", "ros/hil/hil_bridge.py", width=190),
        Box("control law", 710, 70, "on the board", width=210),
        Arrow("M180 88 H364"),
        Text(272, 78, "joint_states, odometry", "topic"),
        Arrow("M370 116 H186"),
        Text(272, 136, "cart/command", "topic"),
        Arrow("M560 88 H704"),
        Text(635, 78, "states"),
        Arrow("M710 116 H566"),
        Text(635, 136, "forces"),
        Text(
            480,
            200,
            "board:=plant exchanges the ends: the board measures the state, and a controller node "
            "commands the force",
        ),
        Arrow(f"M150 {ours} H900", GRAY),
        Text(140, ours + 4, "clock of the bridge", anchor="end"),
        Arrow(f"M150 {theirs} H900", GRAY),
        Text(140, theirs + 4, "clock of the board", anchor="end"),
        Arrow(f"M260 {ours} L410 {theirs - 5}"),
        Arrow(f"M560 {theirs} L730 {ours + 5}"),
        Text(260, ours - 12, "t₁", "letter"),
        Text(410, theirs + 24, "t₂", "letter"),
        Text(560, theirs + 24, "t₃", "letter"),
        Text(730, ours - 12, "t₄", "letter"),
        Text(345, ours + 26, "frame", anchor="start"),
        Text(485, theirs + 22, "held"),
        Text(620, ours + 26, "frame that echoes t₁", anchor="end"),
        Text(
            480,
            400,
            "a frame never arrives before it was sent: t₃ − t₄ ≤ offset of the clocks ≤ t₂ − t₁",
        ),
    ]
    return Drawing("Board, bridge and their clocks", 960, 420, tuple(parts))


RECORD_TO_LAW = Drawing(
    "From a record over the fitted plant to a law",
    960,
    222,
    (
        Box("change detection", 40, 20, "ChangeDetector", "identification/change_detection.py"),
        Box("record", 270, 20, "MotionRecord", "identification/records.py"),
        Box("segments", 500, 20, "Segment", "identification/segment.py"),
        Box("fit", 730, 20, "fit", "identification/plant_fit.py"),
        Box("excitation", 40, 140, "Multisine", "identification/excitation.py"),
        Box("loop", 270, 140, "simulator, board or robot"),
        Box("law", 500, 140, "design", "control/laws/lqr.py"),
        Box("plant.yaml", 730, 140, "the numbers, with intervals"),
        Arrow("M270 51 H236"),
        Arrow("M460 51 H494"),
        Arrow("M690 51 H724"),
        Arrow("M825 82 V134"),
        Arrow("M730 171 H696"),
        Arrow("M500 171 H466"),
        Arrow("M365 140 V88"),
        Text(377, 115, "states, forces", "topic", "start"),
        Arrow("M230 171 H264"),
        Arrow("M135 82 V134", RED),
        Text(147, 115, "a number has changed", "word", "start", RED),
    ),
)

# folders of rbdyn_ros/, from above: each imports from what is below it, or stands beside it
ROOMS = (
    (("cli", "the commands"), ("experiments", "studies with a verdict")),
    (("ros", "nodes, topics, parameters; a folder a node"),),
    (
        ("view", "the live view"),
        ("environments", "plants for learning"),
        ("identification", "plants from records"),
    ),
    (("evaluation", "scores, suites, campaigns"),),
    (("plant", "ticks, faults, energy, time"), ("control", "laws, observer, planning")),
    (("parameters", "YAML, URDF, their ranges"), ("wire", "frames to a board")),
    (
        ("pendulum", "rod on cart, what it meets"),
        ("integrators", "a step, a file a method"),
        ("bodies", "any mechanism, contacts"),
        ("network", "nonsmooth systems"),
    ),
    (("geometry", "rotations, motions"), ("numerics", "solvers, compiled parts")),
)


def rooms() -> Drawing:
    """Return the drawing of the folders."""
    parts, width, row = [], 920, 58
    for at, line in enumerate(ROOMS):
        each = (width - 14 * (len(line) - 1)) // len(line)
        for k, (name, what) in enumerate(line):
            x, y = 20 + k * (each + 14), 14 + at * row
            parts.append(Box(name, x, y, what, width=each, height=44))
            check(Box(name, x, y, what, name))
    return Drawing("The folders of rbdyn_ros", 960, 20 + len(ROOMS) * row, tuple(parts))


# the pendulum of the drawing: lengths in m, as in config/pendulum.yaml where it has them
TILT, AZIMUTH, LENGTH, CENTER = math.radians(32.0), math.radians(35.0), 1.0, 0.5
SCALE, ORIGIN = 330.0, (150.0, 352.0)  # [px/m], [px]
BEARING, RISE = math.radians(-68.0), math.radians(22.0)  # of the eye


def seen(point: Iterable[float]) -> tuple[float, float]:
    """Return where a point of the world is in the picture [px], in parallel projection."""
    x, y, z = point
    cb, sb, ce, se = (
        math.cos(BEARING),
        math.sin(BEARING),
        math.cos(RISE),
        math.sin(RISE),
    )
    right, depth = -sb * x + cb * y, -(cb * x + sb * y)
    return ORIGIN[0] + SCALE * right, ORIGIN[1] - SCALE * (ce * z + se * depth)


def path(points: Iterable[Iterable[float]], close: bool = False) -> str:
    """Return the path through points of the world."""
    line = " L".join(f"{x:.1f} {y:.1f}" for x, y in map(seen, points))
    return f"M{line}{' Z' if close else ''}"


def stroke(d: str, color: str = GRAY, width: float = 1.5, more: str = "") -> str:
    """Return a line or a filled outline."""
    fill = "" if "fill:" in more else "fill:none;"
    return f'<path d="{d}" style="{fill}stroke:{color};stroke-width:{width};{more}"/>'


def letter(point: Iterable[float], dx: float, dy: float, text: str, color: str = "") -> Text:
    """Return a letter beside a point of the world."""
    x, y = seen(point)
    return Text(round(x + dx, 1), round(y + dy, 1), text, "letter", color=color)


def system() -> Drawing:
    """Return the drawing of rod, cart and plane, with frames, angles and forces."""
    joint, up = np.array([0.95, 0.3, 0.0]), np.array([0.0, 0.0, 1.0])
    level = np.array([math.cos(AZIMUTH), math.sin(AZIMUTH), 0.0])
    k = math.sin(TILT) * level + math.cos(TILT) * up
    tip, center = joint + LENGTH * k, joint + CENTER * k
    below = joint + LENGTH * math.sin(TILT) * level

    def arc(a, b, radius, end):
        angles = np.linspace(0.0, end, 25)
        return path(joint + radius * (math.cos(t) * a + math.sin(t) * b) for t in angles)

    def turn(start, axis):
        one, other = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        angles = np.linspace(-1.2, 3.6, 30)
        ring = (0.05 * (math.cos(t) * one + math.sin(t) * other) for t in angles)
        return path(start + 0.2 * np.eye(3)[axis] + point for point in ring)

    half, height = 0.11, -0.07
    corners = [
        joint + np.array([half * sx, half * sy, z])
        for z in (height, 0.0)
        for sx, sy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    faces = [(0, 1, 5, 4), (1, 2, 6, 5), (4, 5, 6, 7)]
    plane = [(x, y, height) for x, y in ((-0.2, -0.3), (1.75, -0.3), (1.75, 0.8), (-0.2, 0.8))]
    origin = np.array([0.0, 0.0, height])
    weight, pull = -0.4 * up, 0.3 * up
    pushed, hand = joint - np.array([half, 0.0, 0.0]), joint - np.array([0.45, 0.0, 0.0])
    axes = [origin + 0.3 * e for e in np.eye(3)]
    rod_axis = tip + 0.17 * k
    parts = [
        stroke(path(plane, True), "#8a97a5", 1, "fill:#f4f6f8"),
        *(Arrow(path([origin, end])) for end in axes),
        *(Arrow(turn(origin, e)) for e in (0, 1)),
        letter(axes[0], 8, 6, "x, roll", BLUE)._replace(anchor="start"),
        letter(axes[1], 8, -4, "y, pitch", BLUE)._replace(anchor="start"),
        letter(axes[2], -12, 4, "z", BLUE),
        letter(origin, -28, 14, "world", BLUE),
        *(stroke(path([corners[i] for i in f], True), GRAY, 1.5, "fill:#dde5ec") for f in faces),
        stroke(path([joint, joint + 1.15 * up]), GRAY, 1, "stroke-dasharray:4 4"),
        stroke(path([joint, joint + 0.5 * np.eye(3)[0]]), GRAY, 1, "stroke-dasharray:4 4"),
        stroke(path([joint, below]), GRAY, 1, "stroke-dasharray:4 4"),
        stroke(path([below, tip]), GRAY, 1, "stroke-dasharray:2 4"),
        stroke(path([joint, tip]), "#1a1a1a", 7, "stroke-linecap:round"),
        Arrow(path([tip, rod_axis]), GREEN),
        letter(rod_axis, 12, 4, "k = R e₃", GREEN)._replace(anchor="start"),
        stroke(arc(up, level, 0.62, TILT), GREEN, 1.5),
        letter(
            joint + 0.68 * (math.cos(TILT / 2) * up + math.sin(TILT / 2) * level),
            0,
            0,
            "tilt θ",
            GREEN,
        ),
        stroke(arc(np.eye(3)[0], np.eye(3)[1], 0.36, AZIMUTH), GREEN, 1.5),
        letter(joint + np.array([0.42, 0.12, 0.0]), 34, 6, "azimuth φ", GREEN),
        Arrow(path([hand, pushed]), RED),
        letter(hand, -8, 4, "force u", RED)._replace(anchor="end"),
        Arrow(path([center, center + weight]), RED),
        letter(center + weight, 10, -36, "m g", RED)._replace(anchor="start"),
        Arrow(path([joint, joint + pull]), RED),
        letter(joint + pull, -12, 4, "joint’s force", RED)._replace(anchor="end"),
    ]
    for point in (joint, center):
        x, y = seen(point)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" '
            'style="fill:#ffffff;stroke:#1a1a1a;stroke-width:2"/>'
        )
    x, y = seen(center)
    aside, under = seen(tip)[0] + 14, seen(joint)[1]
    parts.append(stroke(f"M{x + 8:.1f} {y:.1f} H{aside - 5:.1f}", GRAY, 1))
    words = (
        Text(aside, y + 4, "center of mass, at l", anchor="start"),
        Text(seen(joint)[0] + 54, under + 56, "ball joint on the cart (x, y)", anchor="start"),
        Text(seen(tip)[0] + 14, seen(tip)[1] + 10, "tip", anchor="start"),
        Text(seen(joint)[0] + 60, under + 90, "the plane in which the cart slides"),
        Text(40, 502, "attitude R = Rx(roll) Ry(pitch) Rz(spin); k = R e₃", anchor="start"),
    )
    return Drawing("The rod on its cart: frames, angles and forces", 860, 524, (*parts, *words))


DRAWINGS = {
    "data_flow": DATA_FLOW,
    "loop": LOOP,
    "board": board(),
    "identification": RECORD_TO_LAW,
    "rooms": rooms(),
    "system": system(),
}


def main() -> int:
    """Write the drawings."""
    for name, drawing in DRAWINGS.items():
        (IMAGES / f"{name}.svg").write_text(str(drawing), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
