"""The picture of the data flow is made from names that are in the code."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rbdyn_ros.parameters import tables

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("data_flow", ROOT / "doc" / "data_flow.py")
data_flow = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(data_flow)


def test_the_picture_is_up_to_date():
    """Otherwise: `python doc/data_flow.py`."""
    assert data_flow.PICTURE.read_text(encoding="utf-8") == data_flow.picture()


def test_the_picture_is_svg_with_every_box():
    texts = {element.text for element in ElementTree.fromstring(data_flow.picture()).iter()}
    assert {name for box in data_flow.BOXES for name in (box.title, box.name, box.file)} <= texts


def test_its_nodes_and_topics_are_those_of_the_documents():
    assert {name for name, *_ in data_flow.FRAMES} <= set(tables.NODES)
    page = (ROOT / "doc" / "ros.md").read_text(encoding="utf-8")
    for topic in ("joint_states", "odometry", "imu/data", "cart/command"):
        assert f"`{topic}`" in page and any(topic in label for _, label, _ in data_flow.ARROWS)


def test_a_name_that_is_gone_is_told():
    box = data_flow.BOXES[0]._replace(name="Elsewhere")
    with pytest.raises(ValueError, match="defines no Elsewhere"):
        data_flow.check(box)
