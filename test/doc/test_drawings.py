"""The drawings of the pages are made from names that are in the code."""

import importlib.util
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.path
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox
from test_import_order import ORDER

from rbdyn_ros.parameters import tables

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("drawings", ROOT / "doc" / "drawings.py")
drawings = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(drawings)


def parts(kind):
    return [part for part in drawings.DATA_FLOW.parts if isinstance(part, kind)]


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_a_drawing_is_svg_and_up_to_date(name):
    """Otherwise: `python doc/drawings.py`."""
    text = str(drawings.DRAWINGS[name])
    assert (drawings.IMAGES / f"{name}.svg").read_text(encoding="utf-8") == text
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_its_nodes_and_topics_are_those_of_the_documents():
    assert {frame.name for frame in parts(drawings.Frame)} <= set(tables.NODES)
    page = (ROOT / "doc" / "ros.md").read_text(encoding="utf-8")
    for topic in ("joint_states", "odometry", "imu/data", "cart/command"):
        assert f"`{topic}`" in page and any(topic in t.text for t in parts(drawings.Text))


def test_a_name_that_is_gone_is_told():
    box = parts(drawings.Box)[0]._replace(name="Elsewhere")
    with pytest.raises(ValueError, match="defines no Elsewhere"):
        drawings.check(box)


def test_the_drawing_of_the_folders_is_the_order_of_imports():
    """From above: each row imports from those below it."""
    drawn = [{name for name, _ in row} for row in reversed(drawings.ROOMS)]
    folders = {path.parent.name for path in (ROOT / "rbdyn_ros").glob("*/__init__.py")}
    assert set().union(*drawn) == folders
    order = [{room for room in rooms if room in folders} for rooms in ORDER]
    assert drawn == [rooms for rooms in order if rooms]


SIZES = {
    kind: float(size)
    for kind, size in re.findall(r"\.(\w+) {.*?font-size: (\d+)px", drawings.STYLE)
}
BOLD = {"title"}
MARGIN = 1.0  # [px] between a label and a line


def boxes_of_labels(root):
    """Return (text, bounding box) of each label, in a font that is wider than most."""
    for label in root.iterfind(".//{*}text"):
        kind, at = label.get("class"), {"start": 0.0, "middle": 0.5, "end": 1.0}
        font = FontProperties(family="DejaVu Sans", weight="bold" if kind in BOLD else "normal")
        shape = TextPath((0.0, 0.0), label.text, size=SIZES[kind], prop=font).get_extents()
        left = float(label.get("x")) - at[label.get("text-anchor")] * shape.width
        base = float(label.get("y"))
        yield label.text, Bbox([[left, base - shape.y1], [left + shape.width, base - shape.y0]])


def lines(root):
    """Return the path of each arrow, line and outline of a drawing, heads left out."""
    for path in root.iterfind(".//{*}path"):
        if path.get("d").startswith("M0 0"):
            continue
        points, x, y = [], 0.0, 0.0
        for letter, numbers in re.findall(r"([MLHVZ])([^MLHVZ]*)", path.get("d")):
            given = [float(number) for number in numbers.split()]
            if letter == "Z":
                x, y = points[0]
            elif letter in "ML":
                x, y = given
            else:
                x, y = (given[0], y) if letter == "H" else (x, given[0])
            points.append((x, y))
        yield matplotlib.path.Path(points)
    for rect in [*root.iterfind(".//{*}rect")][1:]:
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
        yield matplotlib.path.Path(corners)


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_no_label_lies_on_a_line_or_on_another_label(name):
    root = ElementTree.fromstring(str(drawings.DRAWINGS[name]))
    labels, drawn = list(boxes_of_labels(root)), list(lines(root))
    assert labels and drawn
    for text, box in labels:
        assert not any(line.intersects_bbox(box.padded(MARGIN), filled=False) for line in drawn), (
            text
        )
    for (text, box), (other, its) in combinations(labels, 2):
        assert not box.overlaps(its), (text, other)
    width, height = map(float, root.get("viewBox").split()[2:])
    for text, box in labels:
        assert 0.0 <= box.x0 and box.x1 <= width and 0.0 <= box.y0 and box.y1 <= height, text


def test_a_label_on_an_arrow_is_found():
    arrow, label = drawings.Arrow("M0 50 H200"), drawings.Text(100, 54, "force")
    root = ElementTree.fromstring(str(drawings.Drawing("", 200, 100, (arrow, label))))
    (line,), ((_, box),) = lines(root), boxes_of_labels(root)
    assert line.intersects_bbox(box, filled=False)
