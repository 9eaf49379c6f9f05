"""The tables of parameters in doc/ros.md are those of the nodes."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("tables", ROOT / "doc" / "parameter_tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)


def test_the_tables_are_up_to_date():
    """Otherwise: `python doc/parameter_tables.py`."""
    page = tables.PAGE.read_text(encoding="utf-8")
    assert {found[2] for found in tables.MARK.finditer(page)} == set(tables.TABLES)
    assert tables.written(page) == page


def test_every_row_has_six_cells():
    rows = [
        row for name in tables.TABLES for row in tables.table(tables.TABLES[name]).splitlines()
    ]
    assert {row.replace("\\|", "").count("|") for row in rows} == {7}
