"""A law's options as parameters: one table and one check, whether they come from ROS, from a file
or from Python.

A control law is a module that exports `design`, and `Options` if there is something to choose.

    Options            NamedTuple of numbers, each with its default and, where it is annotated with
                                      `schema.spec`, its unit, its range and what it does
    KINDS      optional: what it is meant for, such as ("balance",), so that it is measured at that
    LIBRARIES  optional: modules that only design() imports, each with the extra of this package
                                      that brings it, such as {"osqp": "mpc"}
    design(model, params, options)    the work that is done once; returns a `Controller`

`model` is the module of the machine (`model.build(params)` gives its `System`) and `params` are
its physics. The option `gain` of the law `mine` is the parameter `mine.gain`. An option named in
`SHARED` is not the law's own: its value is that of the whole controller.

A law is a file of `control.laws`, any file `path/to/mine.py`, or, in another package, what its
entry point in the group `rbdyn_ros.control` names: `mine = my_package.mine`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar

from rbdyn_ros import schema
from rbdyn_ros.control import law_selection
from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.parameters.yaml_file import Override
from rbdyn_ros.schema import Parameter, check
from rbdyn_ros.types import Array, State

# option: parameter
SHARED = {"period": "period", "force_limit": "cart.force_limit", "travel": "cart.travel"}


class Controller(Protocol):
    """A law that is designed for one plant.

    It may have two methods more. `prepare()` does, once, the work of seconds before the first
    command, which the node does while it is configured, and raises RuntimeError, in one sentence,
    if it fails. `diagnostics()` returns numbers and words by name, for /diagnostics.
    """

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the force on the cart (2,) [N, world] in `state` at time t [s]; `reference` (2,)
        [m] is where the cart shall be.

        Raise ValueError for a state or a reference from which no force follows
        (`control.admission` checks them).
        """
        ...

    def reset(self) -> None:
        """Forget the past: the plant was moved elsewhere."""


# sections of a file that the controller node reads
_REACHES = ("", "*", "**", "pendulum_controller")
_KINDS = {bool: "bool", int: "int", float: "float", str: "string", tuple: "float_array"}


Options = TypeVar("Options", bound=NamedTuple)


class NoOptions(NamedTuple):
    """The options of a law that exports no `Options`."""


def type_of(law: ModuleType) -> type:
    """Return the NamedTuple of a law's options. Raise ValueError for another type."""
    options = getattr(law, "Options", NoOptions)
    if not (isinstance(options, type) and hasattr(options, "_field_defaults")):
        file = getattr(law, "__file__", None) or law.__name__
        raise ValueError(
            f"controller {Path(file).stem}: its Options is {options!r}; it must be a class of "
            "typing.NamedTuple"
        )
    return options


def table(name: str, law: ModuleType) -> tuple[Parameter, ...]:
    """Return the parameters of the law's own options: `name.option` for each, from its annotation.

    The `name` of a law that is a path is the file's, without .py. Raise ValueError if an option
    has no default, or an annotation cannot be read.
    """
    name, options = law_selection.short(name), type_of(law)
    if hasattr(law, "PARAMETERS"):
        advice = "annotate the fields of Options with rbdyn_ros.schema.spec, as lqr.py does"
        raise ValueError(f"controller {name}: a table PARAMETERS is not read; {advice}")
    own = [option for option in options._fields if option not in SHARED]
    for option in own:
        if option not in options._field_defaults:
            rule = f"write one, such as {option}: float = 0.0"
            raise ValueError(f"controller {name}: its option {option} has no default; {rule}")
        default = options._field_defaults[option]
        if type(default) not in _KINDS:
            raise ValueError(
                f"controller {name}: its option {option} has the default {default!r}; "
                "it must be a bool, an int, a float, a str or a tuple of floats"
            )
    try:
        declared = schema.by_name(schema.table(options, f"{name}."))
    except (NameError, TypeError) as error:  # an annotation that is a string; another type
        raise ValueError(f"controller {name}: the types of its options: {error}") from None
    return tuple(
        declared.get(f"{name}.{option}") or _derive(name, option, options) for option in own
    )


def from_values(name: str, law: ModuleType, values: Mapping[str, Any]) -> NamedTuple:
    """Return the law's Options: its defaults, then those in `values` (parameter name -> value);
    checked.
    """
    options = type_of(law)
    parameters = _by_option(options, table(name, law))
    given = {option: values[p.name] for option, p in parameters.items() if p.name in values}
    return _check(options(**given), parameters)


def from_files(name: str, law: ModuleType, files: Iterable[str | Path]) -> dict[str, Any]:
    """Return the options of the law that parameter files set for the controller node, by the names
    of their parameters; checked.

    Raise ValueError, with file and line, for an option that the law has not, or a value out of
    range.
    """
    parameters, values, group = schema.by_name(table(name, law)), {}, law_selection.short(name)
    for path in files:
        for entry in yaml_file.read(path):
            if entry.section.rpartition("/")[2] not in _REACHES or not entry.name.startswith(
                f"{group}."
            ):
                continue
            source = f"{path}:{entry.line}"
            if entry.name not in parameters:
                advice = schema.alternatives(entry.name, parameters)
                raise ValueError(f"{source}: {entry.name} is not an option of {group}; {advice}")
            values[entry.name] = check(parameters[entry.name], entry.value, source)
    return values


def require_own(overrides: Iterable[Override], *laws: str) -> None:
    """Raise ValueError for an override of an option of a law that is none of these."""
    own = [law_selection.short(law) for law in laws]
    for override in overrides:
        group, dot, _ = override.name.partition(".")
        if dot and group in law_selection.names() and group not in own:
            chosen = f"the law is {' or '.join(own)}" if own else "there is no law"
            raise ValueError(
                f"{override.source}: {override.name} is an option of the law {group}, and "
                f"{chosen}; leave it out, or choose --controller {group}"
            )


def checked(name: str, options: Options) -> Options:
    """Return the options of the law `name`, each in its own type. Raise ValueError for the first
    that is out of range.
    """
    kind = type(options)
    return _check(options, _by_option(kind, schema.table(kind, f"{name}.")))


def _check(options: Options, parameters: Mapping[str, Parameter]) -> Options:
    given = options._asdict().items()
    return options._replace(
        **{option: check(parameters[option], value, "controller") for option, value in given}
    )


def _by_option(options: type, parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    """Return option -> its parameter: the law's own by the last part of the name, the shared ones
    from the nodes' tables.
    """
    named = {parameter.name.rpartition(".")[2]: parameter for parameter in parameters}
    return {
        option: tables.lookup(SHARED[option], "") if option in SHARED else named[option]
        for option in options._fields
    }


def _derive(name: str, option: str, options: type) -> Parameter:
    """Return the parameter of an option without an annotation: no unit, no range."""
    default = options._field_defaults[option]
    description = f"Sets the option {option} of the law {name}."
    return Parameter(f"{name}.{option}", default, "", description, _KINDS[type(default)])
