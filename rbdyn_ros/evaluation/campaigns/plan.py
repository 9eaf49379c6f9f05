"""The plan of a campaign: values that are fixed, axes of a grid, and numbers that each sample
draws.

    controller: lqr
    start.tilt: {grid: [-180, 180, 200]}      # from, to, how many; both ends are in it
    start.spin: 5                             # fixed
    rod.mass: {values: [0.8, 1.0, 1.2]}       # an axis too
    cart.damping: {uniform: [0.2, 0.8]}       # drawn: from, to
    faults.mismatch.rod_length: {normal: [0, 0.05]}     # mean, standard deviation
    start.azimuth: {choice: [0, 45, 90]}
    draws: 100                                # samples for each point of the grid

The points of the grid are numbered with the last axis fastest, in the order of the file, and each
has `draws` samples.

The numbers of sample i depend on i, on the seed and on the name alone: not on the batch that it
is in.

Each name has a stream of its own, Philox with a counter: U_i in (0, 1) is the i-th number of it.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.evaluation.campaigns import quantities
from rbdyn_ros.optional import demand_libraries
from rbdyn_ros.parameters import yaml_file
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.yaml_file import Override, read_loop
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.schema import Parameter, check, format_value
from rbdyn_ros.types import Array

GRID, VALUES, UNIFORM, NORMAL, CHOICE = "grid", "values", "uniform", "normal", "choice"
WAYS = (GRID, VALUES, UNIFORM, NORMAL, CHOICE)
MOST = 10**8  # samples


class Axis(NamedTuple):
    """One direction of the grid."""

    name: str
    values: tuple  # of floats, or of words


class Draw(NamedTuple):
    """A number that each sample draws."""

    name: str
    way: str  # UNIFORM, NORMAL or CHOICE
    numbers: tuple  # from and to; mean and standard deviation; the choices


class CampaignPlan(NamedTuple):
    """A campaign in words and numbers only, so that it can be sent to other machines and compared
    with others.
    """

    fixed: tuple  # of (name, value), each name once
    axes: tuple  # of `Axis`, the last one fastest
    drawn: tuple  # of `Draw`
    draws: int  # samples for each point of the grid
    seed: int

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of samples."""
        return self.points * self.draws

    @property
    def varied(self) -> dict[str, tuple[Any, ...]]:
        """The values of each axis and the numbers of each draw, by their names."""
        of_axes = {axis.name: axis.values for axis in self.axes}
        return of_axes | {draw.name: draw.numbers for draw in self.drawn}

    @property
    def varied_names(self) -> tuple[str, ...]:
        """The names of the values that differ from sample to sample."""
        return tuple(self.varied)

    @property
    def laws(self) -> tuple[str, ...]:
        """The names of the laws."""
        return self.varied.get("controller") or (dict(self.fixed)["controller"],)


class _Line(NamedTuple):
    name: str
    way: str  # "" is a fixed value
    value: object
    source: str


def read(path: Path, overrides: Iterable[Override] = ()) -> CampaignPlan:
    """Return the campaign of a file; the values of the command line override it, "0.8" as well as
    "{uniform: [0.8, 1.2]}".

    Raise ValueError with file and line, or the option, for an unknown name, a value out of range,
    an empty grid, or nothing that varies.
    """
    lines = {
        line.name: line
        for line in (
            _line(entry, f"{path}:{entry.line}") for entry in yaml_file.read(path, "campaign file")
        )
    }
    overrides = tuple(overrides)
    for override in overrides:
        value = yaml_file.value_of(override.text, override.source)
        lines[override.name] = _line_of(override.name, value, override.source)
    whole = {
        p.name: check(p, lines[p.name].value, lines[p.name].source)
        if p.name in lines
        else p.default
        for p in quantities.OF_THE_WHOLE
    }
    files = _parameter_files(whole["params_files"], path.parent)
    found = read_loop(files)
    if "controller" in found:
        lines.setdefault("controller", _Line("controller", "", *found["controller"]))
    laws = (quantities.RUN[0].default,)
    if "controller" in lines:
        lines["controller"], laws = _laws(lines["controller"], path.parent)
    law_options.require_own(overrides, *laws)
    rest = [line for line in lines.values() if line.name not in whole]
    known = quantities.table(laws)
    base = {name: found.get(name, (p.default, ""))[0] for name, p in known.items()}
    for name in laws:
        demand_libraries(law_selection.load(name), f"controller {law_selection.short(name)}")
        base |= law_options.from_files(name, law_selection.load(name), files)
    plan = _plan(rest, known, base, whole["draws"], whole["seed"])
    if not plan.varied_names and plan.draws == 1:
        raise ValueError(
            f"{path}: nothing varies; give a name a grid, such as `start.tilt: {{grid: [-30, "
            f"30, 61]}}`, or something to draw"
        )
    if plan.draws > 1 and not plan.drawn:
        raise ValueError(
            f"{path}: draws is {plan.draws}, but nothing is drawn; leave it out, or draw "
            f"something, such as {{uniform: [0, 1]}}"
        )
    if plan.size > MOST:
        raise ValueError(
            f"{path}: the campaign has {plan.size:.3g} samples; at most {MOST:.0e}: take a "
            "coarser grid or fewer draws"
        )
    if not {"period", "step"} & set(plan.varied_names):
        fixed = dict(plan.fixed)
        try:
            closed_loop.steps(fixed["period"], fixed["step"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return plan


def of_values(
    given: Mapping[str, object], known: dict[str, Parameter], source: str
) -> CampaignPlan:
    """Return the plan of values by name, a mapping such as {"uniform": [0, 1]} for one that
    varies.

    Raise ValueError for an unknown name or a value out of range.
    """
    lines = [_line_of(name, value, source) for name, value in given.items()]
    return _plan(lines, known, {name: p.default for name, p in known.items()}, 1, 0)


def _line(entry: yaml_file.Entry, source: str) -> _Line:
    name, _, way = entry.name.rpartition(".")
    if not name or way not in WAYS:
        name, way = entry.name, ""
    return _Line(name, way, entry.value, source)


def _line_of(name: str, value: object, source: str) -> _Line:
    """Return a name and its value as a line; a mapping says how it varies."""
    if not isinstance(value, dict):
        return _Line(name, "", value, source)
    if len(value) != 1 or next(iter(value)) not in WAYS:
        raise ValueError(
            f"{source}: {format_value(value)} is no way to vary; write one of "
            f"{', '.join(WAYS)}, such as {{grid: [0, 1, 11]}}"
        )
    return _Line(name, *next(iter(value.items())), source)


def _laws(line: _Line, folder: Path) -> tuple[_Line, tuple]:
    """Return (the line of the laws, their checked names): those that are files by their absolute
    paths, from the working folder or from that of the campaign, for workers have another one.
    """
    names = line.value if isinstance(line.value, list) else [line.value]
    found = [
        law_selection.absolute(name, folder) if isinstance(name, str) else name for name in names
    ]
    laws = tuple(check(quantities.RUN[0], name, line.source) for name in found)
    return line._replace(value=found if isinstance(line.value, list) else found[0]), laws


def _parameter_files(names: tuple, folder: Path) -> list[Path]:
    """Return the parameter files, each beside the campaign's or in config/. Raise ValueError where
    the pendulum meets something in them.
    """
    places = [folder / name if (folder / name).is_file() else config(name) for name in names]
    yaml_file.refuse_contacts(places, "a campaign")
    return places


def _plan(lines: list, known: dict, base: dict, draws: int, seed: int) -> CampaignPlan:
    axes, drawn = [], []
    for line in lines:
        parameter = quantities.lookup(line.name, known, line.source)
        if not line.way:
            base[line.name] = check(parameter, line.value, line.source)
        elif line.way in (GRID, VALUES):
            axes.append(Axis(line.name, _axis(line, parameter)))
        else:
            drawn.append(Draw(line.name, line.way, _numbers(line, parameter)))
    varied = {entry.name for entry in (*axes, *drawn)}
    fixed = tuple((n, v) for n, v in sorted(base.items()) if n not in varied)
    return CampaignPlan(fixed, tuple(axes), tuple(drawn), draws, seed)


def _axis(line: _Line, parameter: Parameter) -> tuple:
    if line.way == VALUES:
        return _check_distinct(_list_values(line, parameter), line)
    low, high, count = _read_list(line, "3: from, to and how many points", 3)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
        raise ValueError(
            f"{line.source}: the grid of {line.name} has {format_value(count)} points; it must be "
            f"a whole number >= 1 and <= {MOST:.0e}"
        )
    first, last = (check(_check_numeric(line, parameter), end, line.source) for end in (low, high))
    return _check_distinct(tuple(np.linspace(first, last, count).tolist()), line)


def _check_distinct(values: tuple, line: _Line) -> tuple:
    if len(set(values)) < len(values):
        raise ValueError(
            f"{line.source}: {line.way} of {line.name} has a value twice; an axis has each "
            "value once"
        )
    return values


def _numbers(line: _Line, parameter: Parameter) -> tuple:
    if line.way == CHOICE:
        return _list_values(line, parameter)
    what = "from and to" if line.way == UNIFORM else "mean and standard deviation"
    first, second = _read_list(line, f"2: {what}", 2)
    parameter = _check_numeric(line, parameter)
    if line.way == UNIFORM:
        ends = tuple(check(parameter, end, line.source) for end in (first, second))
        if ends[0] > ends[1]:
            raise ValueError(
                f"{line.source}: {line.name} is drawn from {ends[0]:g} to {ends[1]:g}; the "
                "smaller number comes first"
            )
        return ends
    spread = Parameter(f"the standard deviation of {line.name}", 0.0, parameter.unit, "", low=0.0)
    return check(parameter, first, line.source), check(spread, second, line.source)


def _read_list(line: _Line, what: str, count: int = 0) -> list:
    """Return the list of a line, of `count` values or, for 0, of one or more; `what` it has to
    hold.
    """
    values = line.value
    if not isinstance(values, list) or not values or count not in (0, len(values)):
        raise ValueError(
            f"{line.source}: {line.way} of {line.name} is {format_value(values)}; it must be a "
            f"list of {what}"
        )
    return values


def _list_values(line: _Line, parameter: Parameter) -> tuple:
    values = _read_list(line, "one value or more")
    if parameter.kind.endswith("_array"):
        raise ValueError(f"{line.source}: {line.name} is a list itself and cannot vary; fix it")
    return tuple(check(parameter, value, line.source) for value in values)


def _check_numeric(line: _Line, parameter: Parameter) -> Parameter:
    if parameter.kind not in ("float", "int"):
        raise ValueError(
            f"{line.source}: {line.name} is no number; vary it by {VALUES} or {CHOICE}, each a "
            "list"
        )
    return parameter


_BLOCK = 4  # numbers of Philox for one step of its counter


def numbers(plan: CampaignPlan, begin: int, end: int) -> dict[str, Array]:
    """Return name -> values (end - begin,) of all that varies, for the samples from `begin` up to
    and without `end`.
    """
    point, columns = np.arange(begin, end) // plan.draws, {}
    for axis in reversed(plan.axes):
        columns[axis.name] = np.array(axis.values)[point % len(axis.values)]
        point //= len(axis.values)
    drawn = {
        draw.name: transform(draw, uniform(plan.seed, draw.name, begin, end))
        for draw in plan.drawn
    }
    return {name: columns[name] for name in reversed(columns)} | drawn


def uniform(seed: int, name: str, begin: int, end: int) -> Array:
    """Return U_begin ... U_{end - 1} of the stream of `name`."""
    return ((integers(seed, name, begin, end) >> 10) + 0.5) * 2.0**-53


def integers(seed: int, name: str, begin: int, end: int) -> Array:
    """Return the same numbers as integers of 63 bits."""
    stream = np.random.Philox(key=(seed << 32) + crc32(name.encode()))
    stream.advance(begin // _BLOCK)
    raw = stream.random_raw(end - begin + begin % _BLOCK)[begin % _BLOCK :]
    return (raw >> np.uint64(1)).astype(np.int64)


def transform(draw: Draw, U: Array) -> Array:
    """Return the drawn numbers for U, uniform in (0, 1)."""
    if draw.way == CHOICE:
        return np.array(draw.numbers)[(U * len(draw.numbers)).astype(int)]
    a, b = draw.numbers
    if draw.way == UNIFORM:
        return a + (b - a) * U
    from scipy.special import ndtri  # the inverse of the normal distribution: one U for one number

    return a + b * ndtri(U)
