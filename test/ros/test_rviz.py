"""What RViz is given: window, frames, prefix, text, ground; the URDF's masses and shapes."""

import math
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from visualization_msgs.msg import Marker  # noqa: E402

from rbdyn_ros.parameters import tables  # noqa: E402
from rbdyn_ros.pendulum.gimbal_joints import GimbalJoints  # noqa: E402
from rbdyn_ros.plant import setup  # noqa: E402
from rbdyn_ros.plant.runner import Runner  # noqa: E402
from rbdyn_ros.ros import description, rviz_view
from rbdyn_ros.ros.messages import sample, state_topics  # noqa: E402
from rbdyn_ros.ros.messages.messages import frames  # noqa: E402
from rbdyn_ros.ros.simulator.markers import Markers  # noqa: E402

TEMPLATE = Path(__file__).parents[2] / "config" / "pendulum.rviz"
LEFT, BOTTOM = 0, 3  # of Qt's docks
FONT = range(33, 167)  # the code points that OGRE makes of a font whose definition names none


class Window:
    """The bytes of QMainWindow::saveState of Qt 5 and 6: docks and the middle, sizes in px."""

    def __init__(self, state: bytes):
        self._bytes, self._at = state, 0
        assert self._read("ii") == (0xFF, 0)  # the marker of a version, and RViz's
        assert self._read("B") == (0xFD,)  # docks
        self.docks = {}
        for _ in range(*self._read("i")):
            side, width, height = self._read("iii")
            self.docks[side] = (width, height), self._group()
        self.middle = self._read("ii")
        self.corners = self._read("iiii")
        assert self._read("B") == (0xFC,)  # tool bars
        self.toolbars = []
        for _ in range(*self._read("i")):
            for _ in range(*self._read("ii")[1:]):
                self.toolbars.append(self._text())
                self._read("Biiii")
        self.left_over = len(state) - self._at

    def _read(self, kinds: str) -> tuple:
        values = struct.unpack_from(f">{kinds}", self._bytes, self._at)
        self._at += struct.calcsize(f">{kinds}")
        return values

    def _text(self) -> str:
        (size,) = self._read("I")
        (raw,) = self._read(f"{size}s")
        return raw.decode("utf-16-be")

    def _group(self) -> list:
        """Names of docks side by side, and in a tuple those that are tabs of one place."""
        (marker,) = self._read("B")
        tabs = marker == 0xFA
        if tabs:
            self._read("i")  # the tab in front
        else:
            assert marker == 0xFC
        _, count = self._read("Bi")
        found = []
        for _ in range(count):
            (kind,) = self._read("B")
            if kind == 0xFB:
                found.append(self._text())
                (flags,) = self._read("B")
                assert flags == 1  # visible, not floating
                self._read("iiii")
            else:
                assert kind == 0xFC
                self._read("iiii")
                found.append(self._group())
        return tuple(found) if tabs else found


@pytest.fixture
def view():
    return yaml.safe_load(TEMPLATE.read_text())


def test_the_window_gives_the_picture_most_of_its_area(view):
    geometry = view["Window Geometry"]
    window = Window(bytes.fromhex(geometry["QMainWindow State"]))
    width, height = geometry["Width"], geometry["Height"]
    assert window.middle[0] * window.middle[1] > 0.65 * width * height
    assert window.docks[LEFT][0][0] < 0.2 * width and window.docks[BOTTOM][0][1] < 0.1 * height
    assert window.middle[0] + window.docks[LEFT][0][0] <= width


def test_every_panel_has_a_place_in_it_and_all_but_the_time_are_tabs(view):
    window = Window(bytes.fromhex(view["Window Geometry"]["QMainWindow State"]))
    assert window.docks[LEFT][1] == [("Displays", "Tool Properties", "Views")]
    assert window.docks[BOTTOM][1] == ["Time"] and set(window.docks) == {LEFT, BOTTOM}
    panels = {panel["Name"] for panel in view["Panels"]}  # the docks' names for Qt
    assert panels == {"Displays", "Tool Properties", "Views", "Time"}
    assert window.toolbars == ["Tools"] and window.left_over < 16
    assert all(view["Window Geometry"][panel] == {"collapsed": False} for panel in panels)


def test_names_of_frames_can_be_read(view):
    """RViz writes them in white, 0.2 m x scale high; in one place there may be one name only."""
    manager = view["Visualization Manager"]
    background = [int(c) for c in manager["Global Options"]["Background Color"].split(";")]
    assert max(background) < 80
    shown = next(d for d in manager["Displays"] if d["Class"] == "rviz_default_plugins/TF")
    for prefix in ("", "left/", "a_"):
        names = [name for name in frames(prefix) if re.search(shown["Filter (whitelist)"], name)]
        assert names == [prefix + name for name in ("pendulum_link", "pendulum_tip", "imu_link")]
    assert 0.1 < 0.2 * shown["Marker Scale"] < 0.3  # [m]; the IMU is 0.3 m from the joint


def drawn(view: dict, prefix: str) -> str:
    """What draws the rod: the model where RViz finds its links among the frames, or markers."""
    displays = view["Visualization Manager"]["Displays"]
    model = next(d for d in displays if d["Class"] == rviz_view.MODEL)
    markers = next(d for d in displays if d["Class"] == rviz_view.MARKERS)["Namespaces"]
    looked_for = (model["TF Prefix"] + "/" if model["TF Prefix"] else "") + "pendulum_link"
    assert (looked_for == frames(prefix).rod) == model["Enabled"] == model["Value"]
    assert markers["rod"] == markers["cart"] == (not model["Enabled"])
    return "model" if model["Enabled"] else "markers"


@pytest.mark.parametrize(
    "prefix, by",
    [
        ("", "model"),
        ("left/", "model"),
        ("lab/left/", "model"),
        ("left", "markers"),
        ("a_", "markers"),
    ],
)
def test_the_rod_is_drawn_with_every_frame_prefix(prefix, by, tmp_path):
    written = rviz_view.view_for(str(TEMPLATE), prefix, str(tmp_path / "view.rviz"))
    assert (written == str(TEMPLATE)) == (prefix == "")
    view = yaml.safe_load(Path(written).read_text())
    assert drawn(view, prefix) == by
    assert view["Visualization Manager"]["Global Options"]["Fixed Frame"] == frames(prefix).world
    state = view["Window Geometry"]["QMainWindow State"]
    assert state == yaml.safe_load(TEMPLATE.read_text())["Window Geometry"]["QMainWindow State"]


@pytest.mark.parametrize(
    "content", ["", "a: 1", "[1, 2]", "Visualization Manager: {Displays: [1]}", "a: [", "\x00"]
)
def test_a_file_that_is_no_view_is_refused_by_name(content, tmp_path):
    (tmp_path / "mine.rviz").write_text(content)
    with pytest.raises(ValueError, match="mine.rviz cannot be given the frame_prefix 'left/'"):
        rviz_view.view_for(str(tmp_path / "mine.rviz"), "left/", str(tmp_path / "copy.rviz"))


@pytest.fixture
def made():
    """`made(rod__mass=3.0)`: setup and values of the simulator's defaults with changes."""

    def make(**changes):
        values = {p.name: p.default for p in tables.NODES["pendulum_simulator"]}
        values.update({name.replace("__", "."): value for name, value in changes.items()})
        return setup.plant_setup(values), values

    return make


def shown(made, **changes) -> dict:
    """(namespace, number) -> marker that is drawn."""
    plant, values = made(**changes)
    runner = Runner(plant, setup.run_config(values), lambda runner: None, lambda status: None)
    message = Markers(frames()).fill(sample.PlantSample(runner, GimbalJoints()))
    return {(m.ns, m.id): m for m in message.markers if m.action == Marker.ADD}


@pytest.mark.parametrize("tilt", [0.0, 7.7, 90.0, 180.0])
def test_the_text_has_the_letters_of_the_font(made, tilt):
    half = 0.5 * math.radians(tilt)
    tilted = (math.cos(half), math.sin(half), 0.0, 0.0)
    text = shown(made, initial__orientation=tilted)["text", 5].text
    assert text == f"tilt {tilt:.1f} deg"
    assert all(ord(letter) in FONT for letter in text.replace(" ", ""))


def test_there_is_always_a_ground_to_click(made):
    """The floor, or else a faint ground at the height of the cart's bottom."""
    ground = shown(made)["ground", 19]
    assert ground.pose.position.z + 0.5 * ground.scale.z == pytest.approx(-description.CART[2])
    assert 0.0 < ground.color.a < 0.5 and min(ground.scale.x, ground.scale.y) > 5.0
    names = {ns for ns, _ in shown(made, contact__floor__enabled=True)}
    assert "floor" in names and "ground" not in names


def inertia(link) -> np.ndarray:
    i = {name: float(value) for name, value in link.find("inertial/inertia").attrib.items()}
    return np.array(
        [
            [i["ixx"], i["ixy"], i["ixz"]],
            [i["ixy"], i["iyy"], i["iyz"]],
            [i["ixz"], i["iyz"], i["izz"]],
        ]
    )


def test_bodies_of_the_urdf_have_inertia_and_collide_as_they_look(made):
    plant, values = made(cart__mass=3.0, rod__mass=0.5, rod__length=1.5, rod__radius=0.03)
    robot = ElementTree.fromstring(description.urdf(plant, 20.0, 0.3))
    links = {link.get("name"): link for link in robot.iter("link")}
    for name in ("cart_link", "pendulum_link"):
        moments = np.linalg.eigvalsh(inertia(links[name]))
        assert moments[0] > 0.0 and moments[2] <= moments[0] + moments[1] + 1e-12  # of a real body
        visual, collision = (links[name].find(part) for part in ("visual", "collision"))
        for part in ("origin", "geometry"):
            seen, met = (ElementTree.tostring(s.find(part)).strip() for s in (visual, collision))
            assert seen == met
    assert links["pendulum_link"].find("collision/geometry/cylinder").get("length") == "1.5"
    i = inertia(links["cart_link"])  # a solid box of 0.3 x 0.3 x 0.1 m
    moments = (3.0 * (0.09 + 0.01) / 12.0, 3.0 * (0.09 + 0.01) / 12.0, 3.0 * 0.18 / 12.0)
    assert np.diag(i) == pytest.approx(moments)
    height = float(links["cart_link"].find("inertial/origin").get("xyz").split()[2])
    assert height == pytest.approx(-0.5 * description.CART[2])


def test_a_cart_without_mass_has_no_inertial(made):
    plant, _ = made(cart__mass=0.0)
    robot = ElementTree.fromstring(description.urdf(plant, 20.0, 0.3))
    cart = next(link for link in robot.iter("link") if link.get("name") == "cart_link")
    assert cart.find("inertial") is None and cart.find("collision") is not None


def test_urdf_and_static_frames_are_those_of_the_declared_plant(made):
    """Who reads them to design a law does not know how the plant differs."""
    mismatch = "cart_mass", "cart_damping", "cart_friction", "rod_length", "joint_damping"
    friction = dict(cart__damping=0.2, cart__friction=0.4)
    declared, _ = made(**friction)
    wrong = {f"faults__mismatch__{name}": 0.5 for name in mismatch}
    actual, _ = made(**friction, **wrong)
    assert actual.system.cart_damping == 1.5 * declared.system.cart_damping > 0.0
    text = description.urdf(actual, 20.0, 0.3)
    assert text == description.urdf(declared, 20.0, 0.3)
    for edge in state_topics.static(frames(), actual, 0.3).transforms:
        joint = ElementTree.fromstring(text).find(f"joint/child[@link='{edge.child_frame_id}']/..")
        height = edge.transform.translation.z
        assert joint.find("origin").get("xyz") == f"0.0 0.0 {height}"
