"""The schema of parameters: what a user may write, declared once, at the field of the record that
holds it.

    class Params(NamedTuple):
        mass: Annotated[float, spec("Sets the rod's mass.", "kg", "rod.mass", above=0.0)] = 1.0

`table(Params)` derives the parameters, `record(Params, values)` reads checked values by name into
it, and `check` is the one check that a value passes, wherever it comes from.
"""

import math
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeGuard, TypeVar

Record = TypeVar("Record")
Made = TypeVar("Made", bound=NamedTuple)


class Parameter(NamedTuple):
    """One line of a table. A list has the range of its elements."""

    name: str  # dotted: "rod.mass"
    default: Any
    unit: str  # "" for a pure number
    description: str  # full sentences that begin with a verb, without the unit and the range
    kind: str = "float"  # bool int float string float_array string_array
    low: float | None = None
    high: float | None = None
    low_open: bool = False  # the value `low` itself is excluded
    length: tuple | range = ()  # the lengths that a list may have; () is any
    choices: (
        tuple | Callable[[], tuple]
    ) = ()  # the strings that are allowed, or what finds them; () is any
    suffix: str = ""  # of files whose path is allowed besides the choices
    read_only: bool = False  # structural: fixed once the node is configured
    refine: Callable | None = (
        None  # a further condition: value -> value, or ValueError with the rest of the sentence
    )


def spec(
    description: str, unit: str = "", name: str = "", /, *, above: float | None = None, **more: Any
) -> Parameter:
    """Return the parameter that annotates a field; `name` is dotted and whole, or follows from the
    field's.

    `above` is a lower bound that is excluded itself; `more` are other fields of `Parameter`.
    """
    bound: dict[str, Any] = {} if above is None else {"low": above, "low_open": True}
    return Parameter(name, None, unit, description, **bound, **more)


def setting(
    name: str, default: Any, unit: str = "", description: str = "", **more: Any
) -> Parameter:
    """Return a parameter that is no field of a record: a setting of a metric, an option of a
    command. Its kind follows from the default; `more` is as of `spec`.
    """
    return _declare(type(default), spec(description, unit, name, **more), default)


def table(record: type, prefix: str = "") -> tuple[Parameter, ...]:
    """Return the parameters of a record's annotated fields; a field's name follows `prefix` where
    it has no other.

    The type gives the kind and the length, `tuple[float, float]` a list of 2. A field that may be
    None is a list that may be empty; a float with choices is the place of one of them, a float of
    kind "bool" is 0 or 1. A record in the record is annotated with the prefix of its own names.
    """
    found: list[Parameter] = []
    for field in _fields(record, prefix):
        found += table(field.hint, field.declared) if field.is_record else [field.declared]
    return tuple(found)


def by_name(table: Iterable[Parameter]) -> dict[str, Parameter]:
    """Return the parameters of a table by their names."""
    return {parameter.name: parameter for parameter in table}


def defaults(table: Iterable[Parameter]) -> dict[str, Any]:
    """Return the defaults of a table by the names of its parameters."""
    return {parameter.name: parameter.default for parameter in table}


def record(
    kind: type[Record], values: Mapping[str, Any], prefix: str = "", **given: Any
) -> Record:
    """Return the record of checked values by the names of `table(kind, prefix)`; `given` are other
    fields.
    """
    for field in _fields(kind, prefix):
        if field.is_record:
            given[field.name] = record(field.hint, values, field.declared)
        else:
            given[field.name] = _convert(field.hint, field.declared, values[field.declared.name])
    return kind(**given)


def flat(made: NamedTuple, prefix: str = "") -> dict[str, Any]:
    """Return name -> value of the annotated fields of a record, as it holds them."""
    found: dict[str, Any] = {}
    for field in _fields(type(made), prefix):
        value = getattr(made, field.name)
        found |= flat(value, field.declared) if field.is_record else {field.declared.name: value}
    return found


def check_record(made: Made, source: str, prefix: str = "") -> Made:
    """Return a record that was made in Python, each annotated field in its own type, None where
    it is empty. Raise ValueError for the first that is out of range.
    """
    checked = {}
    for field in _fields(type(made), prefix):
        value = getattr(made, field.name)
        if value is not made._field_defaults[field.name]:  # which is in range
            value = check(field.declared, _written(field.hint, field.declared, value), source)
            checked[field.name] = _convert(field.hint, field.declared, value)
    return made._replace(**checked)


class _Field(NamedTuple):
    name: str
    hint: Any  # its type
    declared: Any  # its parameter, or the prefix of the names of a record
    is_record: bool


@cache
def _fields(record: type, prefix: str) -> tuple[_Field, ...]:
    """Return those fields of a record that are annotated by `spec`, or are records with a
    prefix.
    """
    found = []
    for name, hint in typing.get_type_hints(record, include_extras=True).items():
        for declared in getattr(hint, "__metadata__", ()):
            if isinstance(declared, Parameter):
                default = record._field_defaults[name]
                own = _declare(hint.__origin__, declared, default)
                own = own._replace(name=own.name or prefix + name)
                found.append(_Field(name, hint.__origin__, own, False))
            elif isinstance(declared, str) and hasattr(hint.__origin__, "_fields"):
                found.append(_Field(name, hint.__origin__, declared, True))
    return tuple(found)


def _declare(hint: Any, declared: Parameter, default: Any) -> Parameter:
    """Return the parameter with the kind, the length and the default that follow from the
    field.
    """
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        empty = () if default is None else default
        return declared._replace(kind="float_array", default=empty)
    if typing.get_origin(hint) is tuple:
        length = declared.length or (() if arguments[-1] is Ellipsis else (len(arguments),))
        return declared._replace(kind=_kind(hint), default=default, length=length)
    if hint is float and declared.choices:
        return declared._replace(kind="string", default=choices_of(declared)[int(default)])
    if hint is float and declared.kind == "bool":
        return declared._replace(default=bool(default))
    return declared._replace(kind=_kind(hint), default=default)


def _kind(hint: Any) -> str:
    """Return the kind of a type's parameter. Raise TypeError for a type that no parameter has."""
    arguments = typing.get_args(hint)
    kind = f"{_KINDS.get(arguments[0])}_array" if arguments else _KINDS.get(hint)
    if kind not in _COERCE:
        advice = "take bool, int, float, str, tuple[float, ...] or tuple[str, ...]"
        raise TypeError(f"no parameter is a {hint}; {advice}")
    return kind


def _convert(hint: Any, parameter: Parameter, value: Any) -> object:
    """Return the value of a parameter as its field holds it."""
    if type(None) in typing.get_args(hint):
        one = float in typing.get_args(hint)
        return None if value == () else value[0] if one else value
    if hint is float and parameter.kind == "string":
        return float(choices_of(parameter).index(value))
    return float(value) if hint is float else value


def _written(hint: Any, parameter: Parameter, value: Any) -> object:
    """Return the value of a field as a file has it, the inverse of `_convert`; what no file can
    have stays as it is.
    """
    if value is None:
        return ()
    if hint is float and _is_number(value) and float(value).is_integer():
        if parameter.kind == "bool" and value in (0, 1):
            return bool(value)
        if parameter.kind == "string" and 0 <= value < len(choices_of(parameter)):
            return choices_of(parameter)[int(value)]
    return value


def check(parameter: Parameter, value: object, source: str) -> Any:
    """Return the value in the parameter's own type: bool, int, float, str, or a tuple of floats or
    strings.

    An integer is accepted for a float, and a single value for a list of one; a bool is not a
    number. `source` says where the value was written ("pendulum.yaml:12", "--set"): it starts the
    sentence of the ValueError that a wrong type, a non-finite number, a value out of range or a
    wrong length raises.
    """
    coerced = _COERCE[parameter.kind](value)
    if coerced is None or not _is_allowed(parameter, coerced):
        is_text = parameter.kind == "string" and not choices_of(parameter) and _is_number(value)
        quotes = f": write it in quotes, '{value}'" if is_text else ""
        why = f"it must be {describe_allowed(parameter)}{quotes}"
    else:
        try:
            return parameter.refine(coerced) if parameter.refine else coerced
        except ValueError as error:
            why = str(error)
        except ArithmeticError:  # of 1e308 + 1e308
            why = "numbers of this size cannot be computed with"
    raise ValueError(f"{source}: {parameter.name} is {format_value(value, parameter.unit)}; {why}")


def describe_allowed(parameter: Parameter) -> str:
    """Return the allowed values in words: "a number > 0", "a list of 3 numbers", "rk4 or tqdl"."""
    choices = choices_of(parameter)
    if choices:
        words = ("one of " if len(choices) > 2 else "") + _either(choices)
        return f"{words}, or the path of a {parameter.suffix} file" if parameter.suffix else words
    one, many = _WORDS[parameter.kind]
    if not parameter.kind.endswith("_array"):
        return one + _range(parameter)
    if isinstance(parameter.length, range):
        return (
            f"a list of {many}{_range(parameter)} whose length is a multiple of "
            f"{parameter.length.step}"
        )
    lengths = _either(parameter.length) + " " if parameter.length else ""
    return f"a list of {lengths}{one if parameter.length == (1,) else many}{_range(parameter)}"


def with_unit(name: str, unit: str) -> str:
    """Return a name, and its unit in brackets where it has one."""
    return f"{name} [{unit}]" if unit else name


def format_value(value: object, unit: str = "") -> str:
    """Return a value as people write it, with its unit, cut where it gets long."""
    if _is_list(value):
        value = list(value)
    text = _YAML_WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"{text} {unit}" if unit and (_is_list(value) or _is_number(value)) else text


def choices_of(parameter: Parameter) -> tuple[str, ...]:
    """Return the strings that a parameter may have; () if any."""
    return parameter.choices() if callable(parameter.choices) else parameter.choices


def _is_allowed(parameter: Parameter, value: object) -> bool:
    elements = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) and parameter.length and len(value) not in parameter.length:
        return False
    return all(_in_range(parameter, element) for element in elements)


def _in_range(parameter: Parameter, value: Any) -> bool:
    if isinstance(value, str):
        choices = choices_of(parameter)
        is_file = bool(parameter.suffix) and value.endswith(parameter.suffix)
        return not choices or value in choices or is_file
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    return low <= value <= high and not (parameter.low_open and value == low)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_list(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _int(value: object) -> int | None:
    if not _is_number(value):
        return None
    return int(value) if isinstance(value, Integral) or float(value).is_integer() else None


def _float(value: Any) -> float | None:
    if not _is_number(value):
        return None
    try:
        coerced = float(value)
    except OverflowError:  # an integer beyond the largest float
        return None
    return coerced if math.isfinite(coerced) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list_of(coerce):
    def coerce_list(value: object) -> tuple[Any, ...] | None:
        coerced = tuple(coerce(element) for element in (value if _is_list(value) else (value,)))
        return None if None in coerced else coerced

    return coerce_list


def direction(vector: tuple[float, ...]) -> tuple[float, ...]:
    """Return the unit vector along a vector. Raise ValueError for zero."""
    length = math.hypot(*vector)
    if not length > 0.0:
        raise ValueError("it must point somewhere: a vector that is not zero")
    return tuple(component / length for component in vector)


def unit_quaternion(quaternion: tuple[float, ...]) -> tuple[float, ...]:
    """Return q / |q| of a quaternion whose norm is 1 up to the digits that were written. Raise
    ValueError for another norm.
    """
    norm = math.hypot(*quaternion)
    if abs(norm - 1.0) > _TOLERANCE:
        advice = "divide it by its norm" if norm > 0.0 else "upright is [1, 0, 0, 0]"
        raise ValueError(f"its norm is {norm:.9g} and must be 1 within {_TOLERANCE:g}: {advice}")
    return tuple(component / norm for component in quaternion)


_TOLERANCE = 1e-6  # of the norm of a quaternion that was written with seven digits
_KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
_YAML_WORDS = {None: "null", True: "true", False: "false"}
_COERCE = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "string": _string,
    "float_array": _list_of(_float),
    "string_array": _list_of(_string),
}
_WORDS = {
    "bool": ("true or false", ""),
    "int": ("a whole number", ""),
    "float": ("a finite number", ""),
    "string": ("a string", ""),
    "float_array": ("finite number", "finite numbers"),
    "string_array": ("string", "strings"),
}


def _range(parameter: Parameter) -> str:
    bounds = []
    if parameter.low is not None:
        bounds.append(f"{'>' if parameter.low_open else '>='} {parameter.low:g}")
    if parameter.high is not None:
        bounds.append(f"<= {parameter.high:g}")
    return f" {' and '.join(bounds)}" if bounds else ""


def _either(options: tuple) -> str:
    *first, last = map(str, options)
    return f"{', '.join(first)} or {last}" if first else last


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the words "did you mean ...? " for the name that looks most like it, or ""."""
    import difflib  # no start of a command waits for it

    alike = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {alike[0]}? " if alike else ""


def alternatives(name: str, known: Iterable[str]) -> str:
    """Return the words "did you mean ...? known are ..." for a name that is not among the known
    ones.
    """
    names = [*known]
    return f"{nearest(name, names)}known are {', '.join(names) or 'none'}"
