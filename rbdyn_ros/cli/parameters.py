"""The command `parameters`: the table of parameters, as text."""

import argparse

from rbdyn_ros.parameters import tables
from rbdyn_ros.parameters.command_line import message_printer
from rbdyn_ros.schema import Parameter, describe_allowed, format_value, nearest

COMMAND = "python -m rbdyn_ros parameters"
HELP = "List the parameters with default, unit, range and meaning."
EXAMPLES = f"""\
{COMMAND}
{COMMAND} rod initial  # of the rod and of the start
"""
_say = message_printer(COMMAND)
DONE, BAD_INPUT = 0, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the names of groups or parameters to list."""
    parser.add_argument(
        "name", nargs="*", help="List only this parameter, or this group, such as rod."
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the table, group by group, and return the exit code: 0 done, 2 if a name is not
    known.
    """
    titled = _tables_by_title(arguments.name)
    known = [parameter.name for table in titled.values() for parameter in table]
    for name in arguments.name:
        if not any(_is_in(other, name) for other in known):
            groups = {other.rpartition(".")[0] for other in known} - {""}
            advice = nearest(name, [*known, *groups]) + "run without names to see all"
            return _say(f"{name} is neither a parameter nor a group; {advice}", BAD_INPUT)
    print("\n\n".join(_sections(titled, arguments.name)))
    return DONE


def _tables_by_title(names: list) -> dict:
    """Return the tables by title; those of the laws, which are slow to import, only if one of the
    names is not found before them.
    """
    if names and all(
        any(_is_in(other, name) for other in tables.all_parameters()) for name in names
    ):
        return tables.TITLED
    from rbdyn_ros.control import law_options, law_selection

    laws = {}
    for law in law_selection.names():
        try:
            laws[f"Control law {law}"] = law_options.table(law, law_selection.load(law))
        except ValueError as error:  # a law of another package, which does not load
            _say(str(error), DONE)
    return tables.TITLED | laws


def _sections(titled: dict, names: list) -> list:
    chosen = {
        title: [p for p in table if not names or any(_is_in(p.name, name) for name in names)]
        for title, table in titled.items()
    }
    return ["\n".join([title, *map(_describe, table)]) for title, table in chosen.items() if table]


def _is_in(parameter: str, name: str) -> bool:
    return parameter == name or parameter.startswith(f"{name}.")


def _describe(parameter: Parameter) -> str:
    default = format_value(parameter.default, parameter.unit)
    return (
        f"  {parameter.name} = {default}\n      {parameter.description} Allowed: "
        f"{describe_allowed(parameter)}."
    )
