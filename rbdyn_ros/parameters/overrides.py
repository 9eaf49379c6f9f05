"""The values of a run without nodes: defaults, then files, then what the command line sets."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rbdyn_ros.parameters import obstacles, tables, yaml_file
from rbdyn_ros.parameters.files import read_files
from rbdyn_ros.schema import Parameter, check


class Override(NamedTuple):
    """A value from the command line."""

    name: str  # "integrator.step"
    text: str  # as typed, a YAML value
    source: str  # "--step"


def assignment(text: str, option: str = "--set") -> Override:
    """The override that "name=value" means; ValueError without an equals sign."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(
            f"{option} {text}: a value is missing; write NAME=VALUE, such as {option} rod.mass=1.5"
        )
    return Override(name.strip(), value, f"{option} {text}")


def offline_values(
    paths: Iterable,
    overrides: Iterable = (),
    more: Iterable[Parameter] = (),
    given: Mapping = MappingProxyType({}),
) -> dict:
    """name -> checked value of every parameter of the plant, its start, its input and its integrator, and of `more`.

    A later file wins over an earlier one, an override over every file, a later override over an earlier one; `given` are values
    of `more` that stand in the files, but in the table of a law. ValueError names the file and line, or the option, and what is wrong.
    """
    paths, table = (
        tuple(paths),
        {parameter.name: parameter for parameter in (*tables.OFFLINE, *more)},
    )
    found = (read_files(paths, ("pendulum_controller",)) if more else {}) | read_files(paths)
    overrides = tuple(overrides)
    listed = _obstacles(found, overrides)
    table |= {parameter.name: parameter for parameter in obstacles.table(listed)}
    for name, (_, source) in found.items():
        obstacles.require_listed(name, listed, source)
    values = {parameter.name: parameter.default for parameter in table.values()}
    values |= {
        name: value for name, (value, _) in found.items() if name in values
    }  # the others are the nodes'
    values |= given
    for override in overrides:
        parameter = table.get(override.name) or tables.lookup(override.name, override.source)
        obstacles.require_listed(override.name, listed, override.source)
        if override.name not in values:
            advice = "it is a parameter of the nodes and has no effect without them; leave it out"
            raise ValueError(f"{override.source}: {override.name} cannot be set; {advice}")
        values[override.name] = check(
            parameter, yaml_file.value_of(override.text, override.source), override.source
        )
    return values


def _obstacles(found: Mapping, overrides: tuple) -> tuple:
    """The names of the obstacles, which the last override says, or the files."""
    names, _ = found.get(obstacles.OBSTACLES.name, ((), ""))
    for override in overrides:
        if override.name == obstacles.OBSTACLES.name:
            value = yaml_file.value_of(override.text, override.source)
            names = check(obstacles.OBSTACLES, value, override.source)
    return names
