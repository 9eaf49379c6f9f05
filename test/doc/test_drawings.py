"""The drawings of the pages are made from names that are in the code."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest
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
