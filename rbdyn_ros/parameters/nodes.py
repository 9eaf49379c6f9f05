"""The parameters of the nodes, beside those of the plant and its faults: the groups of
nodes.yaml.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from rbdyn_ros.schema import Parameter, by_name, setting, spec

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses of this machine alone


def _processors(text: str) -> str:
    """Return the text, if it is empty or a list such as 0,2-3. Raise ValueError for another
    text.
    """
    if text and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ValueError("a list of processors, such as 1 or 0,2-3; or empty for all of them")
    if any(len(number) > 4 for number in re.findall(r"\d+", text)):  # what no machine has
        raise ValueError("its numbers must be at most 9999")
    return text


def load(file: Path) -> dict[str, Any]:
    """Return the content of a YAML file of the package."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # 7 ms instead of 40
    return yaml.load(file.read_text(encoding="utf-8"), Loader=loader)


def table_of(rows: dict[str, dict[str, Any]]) -> tuple[Parameter, ...]:
    """Return the parameters of the rows of a table, by name."""
    return tuple(_parameter(name, **row) for name, row in rows.items())


def read_tables(file: Path) -> dict[str, tuple[Parameter, ...]]:
    """Return the parameters of each group of a file of tables."""
    return {group: table_of(rows) for group, rows in load(file).items()}


def _parameter(
    name: str, description: str, unit: str = "", default: Any = None, **more: Any
) -> Parameter:
    """Return the parameter of a row, whose kind follows from its default where the row has
    none.
    """
    more = {word: tuple(v) if isinstance(v, list) else v for word, v in more.items()}
    if default is None or isinstance(default, list):
        declared = spec(description, unit, name, **more)
        return declared if default is None else declared._replace(default=tuple(default))
    return setting(name, default, unit, description, refine=_REFINED.get(name), **more)


_REFINED = {"process.processors": _processors}
TABLES = read_tables(Path(__file__).with_name("nodes.yaml"))
IMU = by_name(TABLES["simulator"])["imu.position"]
