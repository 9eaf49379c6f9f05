"""A law's options as parameters: one table and one check, whether they come from ROS, from a file or from Python."""

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import NamedTuple

from rbdyn_ros.control.interface import SHARED
from rbdyn_ros.control.select import short
from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.schema import Parameter, check

_REACHES = (
    "",
    "*",
    "**",
    "pendulum_controller",
)  # sections of a file that the controller node reads
_KINDS = {bool: "bool", int: "int", float: "float", str: "string", tuple: "float_array"}


class NoOptions(NamedTuple):
    """For a law that exports no `Options`."""


def type_of(law: ModuleType) -> type:
    """The NamedTuple of a law's options."""
    return getattr(law, "Options", NoOptions)


def table(name: str, law: ModuleType) -> tuple:
    """The parameters of the law's own options: its PARAMETERS, or one `name.option` for each, without a range.

    The `name` of a law that is a path is the file's, without .py. ValueError if the law's PARAMETERS are not its options,
    or an option has no default.
    """
    name, options = short(name), type_of(law)
    own = [option for option in options._fields if option not in SHARED]
    declared = getattr(law, "PARAMETERS", None)
    if declared is None:
        return tuple(_derived(name, option, options) for option in own)
    if [parameter.name for parameter in declared] != [f"{name}.{option}" for option in own]:
        listed, expected = (
            ", ".join(p.name for p in declared),
            ", ".join(f"{name}.{option}" for option in own),
        )
        raise ValueError(
            f"controller {name}: PARAMETERS lists {listed}; after its Options it must list {expected}"
        )
    return tuple(declared)


def from_values(name: str, law: ModuleType, values: Mapping) -> NamedTuple:
    """The law's Options: its defaults, then what `values` (parameter name -> value) says; checked."""
    options = type_of(law)
    parameters = _by_option(options, table(name, law))
    given = {option: values[p.name] for option, p in parameters.items() if p.name in values}
    return checked(options(**given), tuple(parameters.values()))


def from_files(name: str, law: ModuleType, files: Iterable) -> dict:
    """The options of the law that parameter files set for the controller node, by the names of their parameters; checked.

    ValueError, with file and line, for an option that the law has not, or a value out of range.
    """
    parameters, values, group = (
        {parameter.name: parameter for parameter in table(name, law)},
        {},
        short(name),
    )
    for path in files:
        for entry in yaml_file.read(path):
            if entry.section.rpartition("/")[2] not in _REACHES or not entry.name.startswith(
                f"{group}."
            ):
                continue
            source = f"{path}:{entry.line}"
            if entry.name not in parameters:
                known = ", ".join(parameters) or "none"
                advice = f"{tables.nearest(entry.name, parameters)}known are {known}"
                raise ValueError(f"{source}: {entry.name} is not an option of {group}; {advice}")
            values[entry.name] = check(parameters[entry.name], entry.value, source)
    return values


def checked(options: NamedTuple, parameters: tuple, source: str = "controller") -> NamedTuple:
    """The options, each in its own type; ValueError for the first that is out of the range of its parameter."""
    by_option = _by_option(type(options), parameters)
    return type(options)(
        *(check(by_option[option], value, source) for option, value in options._asdict().items())
    )


def _by_option(options: type, parameters: tuple) -> dict:
    """option -> its parameter: the law's own by the last part of the name, the shared ones from the nodes' tables."""
    named = {parameter.name.rpartition(".")[2]: parameter for parameter in parameters}
    return {
        option: tables.lookup(SHARED[option], "") if option in SHARED else named[option]
        for option in options._fields
    }


def _derived(name: str, option: str, options: type) -> Parameter:
    default = options._field_defaults.get(option)
    kind = _KINDS.get(type(default))
    if kind is None:
        raise ValueError(
            f"controller {name}: its option {option} has the default {default!r}; "
            "it must be a bool, an int, a float, a str or a tuple of floats"
        )
    return Parameter(
        f"{name}.{option}", default, "", f"Sets the option {option} of the law {name}.", kind
    )
