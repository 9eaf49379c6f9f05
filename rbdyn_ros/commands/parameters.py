"""The table of parameters, as text."""

import argparse
import sys

from rbdyn_ros.settings import tables
from rbdyn_ros.settings.parameter import Parameter, expected, shown

HELP = "list the parameters: default, unit, range and meaning"
EXAMPLES = """\
python -m rbdyn_ros parameters              # all of them
python -m rbdyn_ros parameters rod initial  # those of the rod and of the start
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Names of groups or parameters to list."""
    parser.add_argument("name", nargs="*", help="a parameter or a group such as rod; all if none is given")


def run(arguments: argparse.Namespace) -> int:
    """Print the table, group by group; 2 if a name is not known."""
    known = tables.known()
    for name in arguments.name:
        if not _chosen(known.values(), [name]):
            groups = {other.rpartition(".")[0] for other in known} - {""}
            advice = tables.nearest(name, [*known, *groups]) + "run without names to see all"
            print(
                f"python -m rbdyn_ros parameters: {name} is neither a parameter nor a group; {advice}", file=sys.stderr
            )
            return 2
    print("\n\n".join(_sections(arguments.name)))
    return 0


def _sections(names: list) -> list:
    chosen = {title: _chosen(table, names) for title, table in tables.TITLED.items()}
    return ["\n".join([title, *map(_described, table)]) for title, table in chosen.items() if table]


def _chosen(table, names: list) -> list:
    return [p for p in table if not names or any(p.name == name or p.name.startswith(f"{name}.") for name in names)]


def _described(parameter: Parameter) -> str:
    default = shown(parameter.default, parameter.unit)
    return f"  {parameter.name} = {default}\n      {parameter.description}; {expected(parameter)}"
