"""A suite: rows of questions about a law, each with cases, settings and requirements, read from a
file.

title: My suite
plant: {joint: {damping: 0.005}}    # parameters of the plant; files of parameters win
rows:
  S3:
    title: release from {tilt} degrees   # {tilt}: the setting, as the form of the row has it
    measure: release                # a file of evaluation/measures
    for: balance                    # a kind of law, a list of kinds, any, or plant: no law
    settings: {tilt: 10}            # of `scenario` and of the measure
    law: {lqr: {force_weight: 0.1}} # options of laws, for this row
    require: [settling_time <= 3.5, travel <= 0.7]
    quick: {duration: 5}            # settings of the quick form; true: as it is; absent: not in it
    cases:                          # each with its own settings, law, require, measure, ...
      10 N: {settings: {force_limit: 10}, require: [settling_time <= 4]}
    picture: {x: force_limit, y: settling_time, title: ...}   # the cases as a curve
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import yaml

from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.measures import MEASURES, Measure
from rbdyn_ros.evaluation.metrics import SCENARIO, Scenario, make_scenario
from rbdyn_ros.parameters import yaml_file
from rbdyn_ros.parameters.yaml_file import flatten_names
from rbdyn_ros.parameters.yaml_loader import Loader
from rbdyn_ros.plant import closed_loop
from rbdyn_ros.schema import Parameter, alternatives, by_name, check, flat, format_value, nearest

T = TypeVar("T")
ANY = "any"  # kind of law
BISECTIONS = 10  # runs to find a boundary, about
PLANT = "plant"  # kind of a case that tests the plant and is not scored
KINDS = {
    "balance": "keeps an upright rod upright, at a set point",
    "wide": "recovers the largest tilts, where there is room to roll",
    "limited": "knows how far the cart may go",
    "swing_up": "brings the rod up from anywhere",
    "tracking": "leads the cart along a periodic path",
}
_OF_A_CASE = ("title", "measure", "for", "settings", "law", "require", "quick")
_OF_A_ROW = (*_OF_A_CASE, "cases", "picture")


class Case(NamedTuple):
    """One case to measure."""

    row: str  # "S4"
    label: str  # "10 N"; "" if the row has one case
    measure: str
    kinds: tuple
    scenario: Scenario
    settings: dict  # the measure's own
    requirements: tuple

    @property
    def name(self) -> str:
        """The row and the label."""
        return f"{self.row} {self.label}".strip()

    @property
    def of_plant(self) -> bool:
        """Whether the case tests the plant, and is not scored."""
        return PLANT in self.kinds

    @property
    def key(self) -> str:
        """The name, and a fingerprint of everything that the case sets."""
        return f"{self.name} {crc32(repr(self).encode()):08x}"


class Row(NamedTuple):
    """A question with its cases."""

    name: str
    title: str
    cases: tuple
    picture: dict  # x, y: names of a setting and of a value; title. Empty: none

    def select(self, found: Mapping[str, T]) -> list[T]:
        """Return those of `found`, by the names of cases, that belong to this row."""
        return [found[case.name] for case in self.cases if case.name in found]

    @property
    def of_plant(self) -> bool:
        """Whether every case tests the plant, so that the row is not scored."""
        return all(case.of_plant for case in self.cases)


class Suite(NamedTuple):
    """The rows that are measured."""

    title: str
    plant: dict  # parameters of the plant, by name
    rows: tuple

    @property
    def cases(self) -> list[Case]:
        """The cases of all rows."""
        return [case for row in self.rows for case in row.cases]


def read(path: Path, chosen: tuple[str, ...] = (), quick: bool = False) -> Suite:
    """Return the suite of a file: all rows or the `chosen` ones, in their quick form or whole.

    Raise ValueError, with file and key, for what is missing, unknown or out of range.
    """
    content = _read_yaml(path)
    _check_keys(content, ("title", "plant", "rows"), str(path))
    rows = content.get("rows")
    if not isinstance(rows, dict) or not rows:
        raise ValueError(
            f"{path}: rows is missing or empty; write at least one row, such as `S3: {{measure: "
            f"release, ...}}`"
        )
    names = tuple(map(str, rows))
    for name in chosen:
        if name not in names:
            raise ValueError(f"--rows: {path} has no row {name}; {alternatives(name, names)}")
    read_rows = [_row(str(name), row, f"{path}: rows.{name}", quick) for name, row in rows.items()]
    kept = [row for row in read_rows if row.cases and (not chosen or row.name in chosen)]
    if not kept:
        raise ValueError(
            f"{path}: no row is left; "
            + ("none of those chosen has a quick form" if quick else "choose others")
        )
    return Suite(
        str(content.get("title", path.stem)),
        _flat(content, "plant", f"{path}: the suite's"),
        tuple(kept),
    )


def _row(name: str, row: object, where: str, quick: bool) -> Row:
    row = _check_keys(row, _OF_A_ROW, where)
    given = row.get("cases", {"": {}})
    if not isinstance(given, dict) or not given:
        raise ValueError(
            f"{where}.cases is empty; leave it out, or name cases, such as `10 N: {{settings: "
            f"...}}`"
        )
    cases = [
        _case(name, str(label), row, case, f"{where}.cases.{label}" if label else where, quick)
        for label, case in given.items()
    ]
    picture = _check_keys(row.get("picture", {}), ("x", "y", "title"), f"{where}.picture")
    kept = tuple(case for case in cases if case)
    title = _title(str(row.get("title", name)), kept, where)
    return Row(name, title, kept, _check_picture(picture, cases, where))


def _title(text: str, cases: tuple[Case, ...], where: str) -> str:
    """Return the title with the settings of the cases in the places of their names in braces, so
    that it says what is measured, in the quick form too. Raise ValueError for a name that is no
    setting, or on which the cases differ.
    """

    def value(found: re.Match) -> str:
        name = found[1]
        known = [{**flat(case.scenario), **case.settings} for case in cases]
        if any(name not in settings for settings in known):
            advice = alternatives(name, known[0])
            raise ValueError(f"{where}.title: {name} is not a setting of each case; {advice}")
        values = dict.fromkeys(format_value(settings[name]) for settings in known)
        if len(values) > 1:
            differing = ", ".join(values)
            raise ValueError(
                f"{where}.title: {name} is {differing} in its cases; a title can name a setting "
                "that all of them share"
            )
        return next(iter(values)).removesuffix(".0")

    return re.sub(r"\{(\w[\w.]*)\}", value, text) if cases else text


def _case(
    row_name: str, label: str, row: dict, own: object, where: str, quick: bool
) -> Case | None:
    """Return the case, whose own keys override those of the row; None if the quick form is asked
    for and it has none.
    """
    own = _check_keys({} if own is None else own, _OF_A_CASE, where)
    short = own.get("quick", row.get("quick", False))
    whole = {**row, **own}
    measure = _measure(whole, where)
    settings = {**_flat(row, "settings", where), **_flat(own, "settings", where)}
    if quick and isinstance(short, dict):
        settings |= flatten_names(short)
    law = {**_flat(row, "law", where), **_flat(own, "law", where)}
    name = whole["measure"]
    required = _parse_requirements(whole.get("require"), tuple(measure.values), where)
    values, mine = _check_settings(settings, measure, name, where)
    kinds = _kinds(whole, where)
    _check_times(values, mine, PLANT not in kinds, where)
    case = Case(
        row_name,
        label,
        name,
        kinds,
        make_scenario(values, law),
        mine,
        required,
    )
    return case if short or not quick else None


def _measure(case: dict, where: str) -> Measure:
    if "measure" not in case:
        raise ValueError(f"{where}: measure is missing; known are {', '.join(measures.names())}")
    name = case["measure"]
    if name not in measures.names():
        known = alternatives(str(name), measures.names())
        raise ValueError(f"{where}: measure is '{name}'; {known}")
    return MEASURES[name]


def _check_settings(settings: dict, measure: Measure, name: str, where: str) -> tuple:
    """Return (values of the scenario, values of the measure), checked."""
    common, own = map(by_name, (SCENARIO, measure.settings))
    for setting in settings:
        if setting not in common and setting not in own:
            advice = f"{nearest(setting, [*own, *common])}its own are {', '.join(own) or 'none'}"
            raise ValueError(
                f"{where}.settings: {setting} is not a setting of the measure {name}; {advice}"
            )
    values = (
        {n: check(p, settings[n], where) if n in settings else p.default for n, p in table.items()}
        for table in (common, own)
    )
    return tuple(values)


def _check_times(common: dict, own: dict, has_law: bool, where: str) -> None:
    """Raise ValueError for a period that is no multiple of the step, and for a run that is shorter
    than one of them or than the wait in it.
    """
    least, what = common["step"], "step"
    if has_law:
        try:
            closed_loop.steps(common["period"], common["step"])
        except ValueError as error:
            raise ValueError(f"{where}.settings: {error}") from None
        least, what = common["period"], "period"
    if "waiting" in own:
        least, what = max((least, what), (own["waiting"] + least, f"waiting and the {what}"))
    if own.get("duration", math.inf) < least * (1.0 - 1e-9):
        given = f"{where}.settings: duration is {own['duration']:g} s"
        raise ValueError(f"{given}; it must be >= {least:g} s, the {what}")


def check_options(suite: Suite, name: str, known: Mapping[str, Parameter], path: Path) -> None:
    """Raise ValueError for an option of the law `name` that a case of the suite at `path` sets if
    it is not one of the `known`, or out of range.
    """
    for case in suite.cases:
        source = f"{path}: rows.{case.row}{f'.cases.{case.label}' if case.label else ''}.law"
        for option, value in case.scenario.law:
            if option in known:
                check(known[option], value, source)
            elif option.startswith(f"{name}."):
                advice = alternatives(option, known)
                raise ValueError(f"{source}: {option} is not an option of {name}; {advice}")


def _parse_requirements(texts: object, known: tuple, where: str) -> tuple:
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts:
        raise ValueError(
            f"{where}: require is missing; name what must hold, such as [{known[0]} <= 3.5]"
        )
    return tuple(parse_requirement(text, known, f"{where}.require") for text in texts)


def _kinds(case: dict, where: str) -> tuple:
    kinds = case.get("for", ANY)
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, list) else ()
    for kind in kinds or ("",):
        if kind not in (ANY, PLANT, *KINDS):
            raise ValueError(
                f"{where}: for is '{kind}'; known are {ANY}, {PLANT}, {', '.join(KINDS)}"
            )
    if PLANT in kinds and len(kinds) > 1:
        raise ValueError(
            f"{where}: for is {list(kinds)}; {PLANT} excludes the others, as it is not scored"
        )
    return kinds


def _check_picture(picture: dict, cases: list, where: str) -> dict:
    if not picture:
        return {}
    if not {"x", "y"} <= set(picture):
        raise ValueError(
            f"{where}.picture: it needs x, a setting that differs from case to case, and y, a "
            "value"
        )
    known = {value for case in cases if case for value in measures.MEASURES[case.measure].values}
    if known and picture["y"] not in known:
        raise ValueError(
            f"{where}.picture: y is {picture['y']}, which is not measured; known are "
            f"{', '.join(sorted(known))}"
        )
    return picture


def _flat(case: dict, key: str, where: str) -> dict:
    value = case.get(key) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{where}.{key} is {value!r}; it must be `name: value` lines")
    return flatten_names(value)


def _check_keys(given: object, known: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{where} is {given!r}; it must be a mapping of {', '.join(known)}")
    for key in given:
        if key not in known:
            raise ValueError(f"{where}: {key} is not known here; {alternatives(str(key), known)}")
    return given


def simulated_time(case: Case) -> float:
    """Return about how long the runs of a case last together [s], where their number is known or
    the case is a bisection; 0 of a case without a law.
    """
    known = case.settings
    runs = known.get("grid_one_by_one", 0) ** 2 or known.get("starts_one_by_one", 0)
    runs = runs or known.get("runs", 0) or known.get("variations", 0)
    if known.get("vary") == "model":
        runs *= 5
    if "tolerance" in known:
        runs = BISECTIONS * known.get("azimuths", 1)
    return 0.0 if case.of_plant else known.get("duration", 0.0) * max(1, runs)


def setting(case: Case, name: str) -> float:
    """Return the setting of a case by its name, such as force_limit or faults.command.delay.

    Raise KeyError if it has none.
    """
    if name in case.settings:
        return case.settings[name]
    return flat(case.scenario)[name]


def unit_of(case: Case, name: str) -> str:
    """Return the unit of a setting."""
    return next(
        (p.unit for p in (*measures.MEASURES[case.measure].settings, *SCENARIO) if p.name == name),
        "",
    )


class _Loader(Loader):
    """The loader for which a key that is given twice is an error."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            problem = "a name is expected before the colon"
            if isinstance(key, yaml.ScalarNode):
                problem = f"{key.value} is given twice" if key.value in seen else ""
            if problem:
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file. Raise ValueError, with file and line, if it cannot be
    read, is broken, or is no mapping.
    """
    text = yaml_file.text(path, "suite")
    try:
        content = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        raise ValueError(
            f"{where}: broken YAML: "
            f"{getattr(error, 'problem', None) or ' '.join(str(error).split())}"
        ) from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # such as an integer of thousands of digits, or nesting without end
        raise ValueError(f"{path}: broken YAML: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: is not a mapping; it must have `title:` and `rows:`")
    return content


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORM = re.compile(rf"\s*([a-z]\w*)\s*(<=|>=)\s*({_NUMBER})\s*")


class Requirement(NamedTuple):
    """A bound on one value of a measure."""

    value: str  # its name
    upper: bool  # at most, else at least
    bound: float  # in the unit of the value

    def is_met(self, values: dict[str, float]) -> bool:
        """Return whether the value keeps the bound; one that is missing or not a number does
        not.
        """
        measured = float(values.get(self.value, math.nan))  # a number of NumPy has its own bool
        return measured <= self.bound if self.upper else measured >= self.bound

    def __str__(self) -> str:
        return f"{self.value} {'<=' if self.upper else '>='} {self.bound:g}"


def parse_requirement(text: object, known: tuple[str, ...], where: str) -> Requirement:
    """Return the requirement of a text. Raise ValueError, starting with `where`, for another form
    or a value not among `known`.
    """
    form = _FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None:
        raise ValueError(
            f"{where}: {text!r} is not a requirement; write a value, <= or >=, and a number, "
            f"such as '{known[0]} <= 3.5'"
        )
    if form[1] not in known:
        raise ValueError(f"{where}: {form[1]} is not measured here; known are {', '.join(known)}")
    return Requirement(form[1], form[2] == "<=", float(form[3]))
