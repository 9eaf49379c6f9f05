"""Write the tables of parameters in doc/ros.md from the declarations of the nodes.

    python doc/parameter_tables.py

A table stands between `<!-- parameters: NAME -->` and `<!-- parameters end -->`.
"""

import re
import sys
from pathlib import Path

from rbdyn_ros.parameters.controller import CONTROLLER, OBSERVER
from rbdyn_ros.parameters.nodes import TABLES as GROUPS
from rbdyn_ros.parameters.tables import NODES
from rbdyn_ros.schema import Parameter, describe_allowed, format_value

PAGE = Path(__file__).resolve().parent / "ros.md"
MARK = re.compile(r"(<!-- parameters: (\w+) -->\n).*?(<!-- parameters end -->)", re.DOTALL)
TABLES = {
    "nodes": GROUPS["node"],
    "simulator": GROUPS["simulator"],
    "start": GROUPS["waiting"],
    "controller": CONTROLLER,
    "observer": OBSERVER,
    "viewer": NODES["pendulum_viewer"],
}
HEAD = "| name | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n"


def main() -> int:
    """Write the tables."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def written(page: str) -> str:
    """Return the page with its tables made anew."""
    return MARK.sub(lambda found: found[1] + table(TABLES[found[2]]) + found[3], page)


def table(parameters: tuple[Parameter, ...]) -> str:
    """Return a table with one row for each parameter."""
    return HEAD + "".join(row(parameter) for parameter in parameters)


def row(parameter: Parameter) -> str:
    """Return the row of a parameter."""
    cells = (
        f"`{parameter.name}`",
        parameter.kind,
        parameter.unit,
        f"`{format_value(parameter.default, '')}`",
        describe_allowed(parameter),
        parameter.description,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    sys.exit(main())
