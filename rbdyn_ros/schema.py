"""A parameter: name, default, unit, range; and the one check that its values pass, wherever they come from."""

import math
import re
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import NamedTuple

_EXPONENT = re.compile(
    r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+"
)  # "1e-3": a number to people, a string to YAML 1.1


class Parameter(NamedTuple):
    """One line of a table. A list has the range of its elements."""

    name: str  # dotted: "rod.mass"
    default: object
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
    read_only: bool = False  # structural: fixed once the node is configured
    refine: Callable | None = (
        None  # a further condition: value -> value, or ValueError with the rest of the sentence
    )


def check(parameter: Parameter, value: object, source: str) -> object:
    """The value in the parameter's own type: bool, int, float, str, or a tuple of floats or strings.

    An integer is accepted for a float, and a single value for a list of one; a bool is not a number.
    `source` says where the value was written ("pendulum.yaml:12", "--set"): it starts the sentence of the
    ValueError that a wrong type, a non-finite number, a value out of range or a wrong length raises.
    """
    is_wrong = f"{source}: {parameter.name} is {shown(value, parameter.unit)};"
    coerced = _COERCE[parameter.kind](value)
    if coerced is None or not _allowed(parameter, coerced):
        raise ValueError(f"{is_wrong} it must be {expected(parameter)}")
    try:
        return parameter.refine(coerced) if parameter.refine else coerced
    except ValueError as error:
        raise ValueError(f"{is_wrong} {error}") from None


def expected(parameter: Parameter) -> str:
    """The values that are allowed, in words: "a number > 0", "a list of 3 numbers", "rk4 or tqdl"."""
    choices = _choices(parameter)
    if choices:
        return ("one of " if len(choices) > 2 else "") + _either(choices)
    one, many = _WORDS[parameter.kind]
    if not parameter.kind.endswith("_array"):
        return one + _range(parameter)
    if isinstance(parameter.length, range):
        return f"a list of {many}{_range(parameter)} whose length is a multiple of {parameter.length.step}"
    lengths = _either(parameter.length) + " " if parameter.length else ""
    return f"a list of {lengths}{one if parameter.length == (1,) else many}{_range(parameter)}"


def shown(value: object, unit: str = "") -> str:
    """A value as people write it, with its unit, cut where it gets long."""
    if _is_list(value):
        value = list(value)
    text = _YAML_WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"{text} {unit}" if unit and (_is_list(value) or _is_number(value)) else text


def _choices(parameter: Parameter) -> tuple:
    return parameter.choices() if callable(parameter.choices) else parameter.choices


def _allowed(parameter: Parameter, value: object) -> bool:
    elements = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) and parameter.length and len(value) not in parameter.length:
        return False
    return all(_in_range(parameter, element) for element in elements)


def _in_range(parameter: Parameter, value: object) -> bool:
    if isinstance(value, str):
        choices = _choices(parameter)
        return not choices or value in choices
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    return low <= value <= high and not (parameter.low_open and value == low)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _int(value: object) -> int | None:
    if not _is_number(value):
        return None
    return int(value) if isinstance(value, Integral) or float(value).is_integer() else None


def _float(value: object) -> float | None:
    if not _is_number(value) and not (isinstance(value, str) and _EXPONENT.fullmatch(value)):
        return None
    try:
        coerced = float(value)
    except OverflowError:  # an integer beyond the largest float
        return None
    return coerced if math.isfinite(coerced) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list_of(coerce):
    def coerce_list(value: object) -> tuple | None:
        coerced = tuple(coerce(element) for element in (value if _is_list(value) else (value,)))
        return None if None in coerced else coerced

    return coerce_list


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
    low = (
        [f"{'>' if parameter.low_open else '>='} {parameter.low:g}"]
        if parameter.low is not None
        else []
    )
    high = [f"<= {parameter.high:g}"] if parameter.high is not None else []
    return "".join(f" {bounds}" for bounds in [" and ".join(low + high)] if bounds)


def _either(options: tuple) -> str:
    *first, last = map(str, options)
    return f"{', '.join(first)} or {last}" if first else last
