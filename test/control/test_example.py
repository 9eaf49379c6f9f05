"""The newcomer's law of examples/, as doc/extending.md says it is used."""

import re
from pathlib import Path

import pytest

from rbdyn_ros.control import law_selection
from rbdyn_ros.parameters import yaml_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The example as pip would install it: its module, and its entry point as metadata."""
    group, entry = re.search(
        r'entry-points\."([\w.]+)"\]\n(\w+ = "\w+")',
        (ROOT / "examples/pyproject.toml").read_text(),
    ).groups()
    assert group == law_selection.GROUP
    (tmp_path / "lean.py").write_text((ROOT / "examples/lean.py").read_text())
    info = tmp_path / "lean_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lean-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n" + entry.replace('"', "") + "\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_the_script_of_the_page_ends_upright(installed, capsys):
    """Section 4, as it is printed there."""
    script = re.search(
        r"## 4\..*?```python\n(.*?)```", (ROOT / "doc/extending.md").read_text(), re.DOTALL
    )[1]
    names = {}
    exec(script, names)
    assert abs(names["state"].q[3:]).max() < 0.01
    assert abs(names["state"].v).max() < 0.05


def test_the_law_of_the_page_is_that_of_the_example():
    page, source = (ROOT / "doc/extending.md").read_text(), (ROOT / "examples/lean.py").read_text()
    for line in re.search(r"def command\(.*?speed_gain.*?\n.*?\n", source, re.DOTALL)[
        0
    ].splitlines():
        assert line.strip() in page


def test_its_file_of_gains_names_its_options(installed):
    options = law_selection.load("lean").Options._fields
    named = [
        entry.name
        for entry in yaml_file.read(ROOT / "examples/lean.yaml")
        if entry.name.startswith("lean.")
    ]
    assert named and {name.removeprefix("lean.") for name in named} <= set(options)
