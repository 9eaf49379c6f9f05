"""ROS parameters from the tables of `parameters`: they are declared once and checked by the same
check, and a set of changes is applied completely or not at all. Requests for which rclpy's
services would raise are refused.

Private interface: `Node._parameter_overrides` of rclpy, the values that the user wrote, before
they are declared. Declaring is the only public way to read them; it refuses an integer for a
double, ignores unknown names, and reads `[]` as not set.
Tested with rclpy 7.1.6 (Jazzy).
Fallback: the files and options of the command line are read here; values that a program passes to
the node's constructor are then ignored.
"""

import array
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.service import Service

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.parameters import contacts, tables, yaml_file
from rbdyn_ros.schema import (
    Parameter,
    by_name,
    check,
    defaults,
    describe_allowed,
    format_value,
    nearest,
)

TYPES = {
    "bool": RosParameter.Type.BOOL,
    "int": RosParameter.Type.INTEGER,
    "float": RosParameter.Type.DOUBLE,
    "string": RosParameter.Type.STRING,
    "float_array": RosParameter.Type.DOUBLE_ARRAY,
    "string_array": RosParameter.Type.STRING_ARRAY,
}

MOST_NAMED = 4  # parameters in a message
LONGEST = 80  # characters of a name in a message


class Parameters:
    """The declared parameters of a node as name -> checked value.

    `validate(values)` raises ValueError when the values do not fit each other, and has no side
    effect; `apply(values)` is called after a change that passed.
    """

    def __init__(self, node: Node, table: Iterable, validate: Callable, apply: Callable):
        self._table, self._node = by_name(table), node
        self._validate, self._apply = validate, apply
        written = _read_overrides(node)
        self.values = defaults(table)
        for name, (value, source) in written.items():
            if name in self._table:
                self.values[name] = check(self._table[name], value, source)
            elif contacts.OBSTACLES.name in self._table and contacts.find(name):
                contacts.require_listed(name, first(node, contacts.OBSTACLES), source)
            else:  # of another node, in a file for all nodes; or of none, which is an error
                _known_elsewhere(name, source, written.get("controller", ("", ""))[0])
        self._require_usable(self.values, written)
        for parameter in self._table.values():
            _declare(node, parameter, self.values[parameter.name])
        node.add_pre_set_parameters_callback(self._coerce)
        node.add_on_set_parameters_callback(self._check_changes)
        node.add_post_set_parameters_callback(self._apply_changes)
        for service in node.services:
            check_requests(node, service)

    def _coerce(self, changes: list) -> list:
        return [self._convert(change) for change in changes]

    def _convert(self, change: RosParameter) -> RosParameter:
        """Return the change in the parameter's own type, or as it is where that fails, so that
        `_check_changes` can give the reason.
        """
        parameter, value = self._table.get(change.name), change.value
        try:
            if (
                isinstance(value, str) and parameter and "string" not in parameter.kind
            ):  # `ros2 param set` gives [1, 0.5] as text
                value = yaml_file.value_of(value, "")
            return _ros(parameter, check(parameter, value, "")) if parameter else change
        except ValueError:
            return change

    def _check_changes(self, changes: list) -> SetParametersResult:
        try:
            # rclpy also calls this for each of its own, such as the 34 that override a QoS
            if ours := self._own_changes(changes):
                self._require_usable({**self.values, **ours}, ours)
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def set(self, changes: dict[str, Any]) -> SetParametersResult:
        """Set checked values of parameters of the table, all or none."""
        return self._node.set_parameters_atomically(
            [_ros(self._table[name], value) for name, value in changes.items()]
        )

    def _require_usable(self, values: dict[str, Any], given: Iterable[str]) -> None:
        """Raise ValueError if the values do not fit each other, or cannot be computed with, as the
        square of 1e200; it names those that are `given`.
        """
        try:
            self._validate(values)
        except (ArithmeticError, MemoryError) as error:
            names = [name for name in given if name in values]
            pairs = [f"{name} is {format_value(values[name])}" for name in names[:MOST_NAMED]]
            more = ", ..." if len(names) > MOST_NAMED else ""
            raise ValueError(
                f"{', '.join(pairs)}{more}: numbers of this size cannot be computed with "
                f"({type(error).__name__}); take others"
            ) from None

    def _apply_changes(self, changes: list) -> None:
        ours = self._own_changes(changes)
        if ours:
            self.values = {**self.values, **ours}
            self._apply(self.values)

    def _own_changes(self, changes: list) -> dict:
        """Return name -> checked value of the parameters of the table whose values differ, since
        `ros2 param load` sets all, and to apply one may take as long as many periods.
        """
        ours = {
            change.name: check(self._table[change.name], change.value, "parameter set")
            for change in changes
            if change.name in self._table
        }
        return {name: value for name, value in ours.items() if value != self.values[name]}


def check_requests(node: Node, service: Service) -> None:
    """Let a service of rclpy that sets parameters refuse values of types that do not exist, which
    would raise in it and so end the node, and parameters that do not exist.
    """
    answer: Callable[[Any, Any], Any] = service.callback
    highest = len(RosParameter.Type) - 1

    def refuse(parameters: Sequence[ParameterMessage]) -> SetParametersResult | None:
        for parameter in parameters:
            if (kind := parameter.value.type) > highest:
                reason = f"{parameter.name} has a value of type {kind}; it must be 0 to {highest}"
                return SetParametersResult(successful=False, reason=reason)
            if not node.has_parameter(parameter.name):
                shown, declared = (
                    parameter.name[:LONGEST],
                    node.list_parameters([], 0).names,
                )
                alike = nearest(shown, declared)
                reason = f"'{shown}' is undeclared: {node.get_name()} has no such parameter; "
                reason = f"{reason}{alike}list all with `ros2 param list`"
                return SetParametersResult(successful=False, reason=reason)
        return None

    def keep_types(parameters: Sequence[ParameterMessage]) -> None:
        """Describe parameters by the types of their values: rclpy has written those of values that
        were refused into the descriptions, too.
        """
        for name in {parameter.name for parameter in parameters}:
            node.describe_parameter(name).type = node.get_parameter(name).type_.value

    def set_each(request, response):
        for parameter in request.parameters:
            one, done = SetParameters.Request(parameters=[parameter]), SetParameters.Response()
            refused = refuse([parameter])
            response.results += [refused] if refused else answer(one, done).results
            if not refused:
                keep_types([parameter])
        return response

    def set_all(request, response):
        refused = refuse(request.parameters)
        if not refused:
            answered = answer(request, response)
            keep_types(request.parameters)
            return answered
        response.result = refused
        return response

    if service.srv_type is SetParameters:
        service.callback = set_each
    elif service.srv_type is SetParametersAtomically:
        service.callback = set_all


def first(node: Node, parameter: Parameter):
    """Return the value that a parameter will have, before the others are known, as the table may
    depend on it.
    """
    value, source = _read_overrides(node).get(parameter.name, (None, ""))
    return check(parameter, value, source) if source else parameter.default


def _known_elsewhere(name: str, source: str, controller: object) -> None:
    """Raise ValueError if no node and no control law has the parameter; `controller` is the value
    that was given for the controller node.
    """
    if name in tables.all_parameters():
        return
    law = name.partition(".")[0]
    if isinstance(controller, str) and law_selection.short(controller) == law:
        law = controller
    if law not in (*law_selection.names(), controller) or name not in [
        p.name for p in law_options.table(law, law_selection.load(law))
    ]:
        tables.lookup(name, source)


def _read_overrides(node: Node) -> dict[str, tuple[Any, str]]:
    """Return name -> (value, source) of the values that the user gave, except for ROS's own
    parameters. The source is "file:line" of the last params file that has it, the option, or
    "parameter override".

    Of several values the last one counts, as without nodes. rcl takes another one in two cases: a
    section that is repeated, as `-p` repeats `/**:`, has the rank of the first; and of values of
    different types, such as 1.0 and then `fast`, one of each is kept, of which rclpy takes the
    first type that it looks for. Values that a program passes to the node's constructor stay.
    """
    definitions = _definitions(node.get_fully_qualified_name())
    overrides = getattr(node, "_parameter_overrides", None)
    if overrides is None:
        written = {name: entries[-1][0] for name, entries in definitions.items()}
    else:
        written = {name: () if p.value is None else p.value for name, p in overrides.items()}
    found = {}
    for name, value in written.items():
        entries = definitions.get(name, [(value, "parameter override")])
        last, source = entries[-1]
        is_read = any(_comparable(each) == _comparable(value) for each, _ in entries)
        if not tables.is_of_ros(name):
            found[name] = last if is_read else value, source
    return found


def _definitions(node: str) -> dict:
    """Return name -> [(value, source)] of the command line for a node of this full name, in the
    order in which they apply.

    The source is "file:line", or the option.
    """
    found: dict = {}
    words = sys.argv[1:]
    for flag, word in zip(words, words[1:]):
        if flag == "--params-file":
            for entry in yaml_file.read(word):
                if _reaches(entry.section, node):
                    found.setdefault(entry.name, []).append(
                        (entry.value, _place(word, entry.line))
                    )
        elif flag in ("-p", "--param") and ":=" in word:
            name, _, text = word.partition(":=")
            of_node, _, name = name.rpartition(":")
            if _reaches(of_node or "/**", node):
                found.setdefault(name, []).append(
                    (yaml_file.value_of(text, word), f"{flag} {word}")
                )
    return found


def _comparable(value: Any) -> Any:
    """Return a value so that one that rclpy has read equals that of the file."""
    return tuple(value) if isinstance(value, (list, array.array)) else value


def _reaches(section: str, node: str) -> bool:
    """Return whether a section such as /**, /name or /namespace/name is for the node of this full
    name.
    """
    pattern = (
        re.escape("/" + section.strip("/")).replace(r"/\*\*", "(/.*)?").replace(r"\*", "[^/]+")
    )
    return re.fullmatch(pattern, node) is not None


def _place(path: str, line: int) -> str:
    """Return the place of a parameter. A file that launch has made of its arguments is named
    "launch argument", as the user does not know it.
    """
    return "launch argument" if Path(path).name.startswith("launch_params_") else f"{path}:{line}"


def _declare(node: Node, parameter: Parameter, value) -> None:
    name, descriptor = parameter.name, _descriptor(parameter)
    if value == ():  # rclpy would declare an empty list as one of bytes
        untyped = ParameterDescriptor(dynamic_typing=True)
        node.declare_parameter(name, None, untyped, ignore_override=True)
        node.set_parameters([_ros(parameter, value)])
        node.set_descriptor(name, descriptor)
    else:
        node.declare_parameter(name, _plain(value), descriptor, ignore_override=True)


def _ros(parameter: Parameter, value) -> RosParameter:
    return RosParameter(parameter.name, TYPES[parameter.kind], _plain(value))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return the descriptor of a parameter. Its typing is dynamic, so that an integer for a double
    reaches our own check and is not refused by rclpy.
    """
    unit = f" Unit: {parameter.unit}." if parameter.unit else ""
    descriptor = ParameterDescriptor(
        description=parameter.description + unit,
        additional_constraints=describe_allowed(parameter),
        read_only=parameter.read_only,
        dynamic_typing=True,
    )
    bounds = parameter.low is not None or parameter.high is not None
    if bounds and parameter.kind == "float":
        low, high = (
            _or(parameter.low, -sys.float_info.max),
            _or(parameter.high, sys.float_info.max),
        )
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(low), to_value=float(high))
        ]
    if bounds and parameter.kind == "int":
        low, high = _or(parameter.low, -(2**63)), _or(parameter.high, 2**63 - 1)
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=1)]
    return descriptor


def _or(bound, otherwise):
    return otherwise if bound is None else bound
