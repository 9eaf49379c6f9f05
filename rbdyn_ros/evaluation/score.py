"""The course of an evaluation: the law under test, read from the command line and the parameter
files; the open cases, what a process answers that measures them, and their results.
"""

import json
import math
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.control.provenance import identity, law_files
from rbdyn_ros.evaluation import bench, measures, processes
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest, LawFailed, load
from rbdyn_ros.evaluation.law_process import LARGEST, IsolatedBench
from rbdyn_ros.evaluation.metrics import (
    SCENARIO,
    CannotGoOn,
    Metric,
    NotForThisLaw,
    NotRepeatable,
)
from rbdyn_ros.evaluation.processes import Ended
from rbdyn_ros.evaluation.results import BROKEN, NOT_APPLICABLE, Criterion, assess, mark
from rbdyn_ros.evaluation.suite import ANY, KINDS, PLANT, Case, Suite
from rbdyn_ros.interrupts import CallTimeout
from rbdyn_ros.optional import demand_libraries
from rbdyn_ros.parameters.command_line import split_words
from rbdyn_ros.parameters.simulation import PLANT as PLANT_PARAMETERS
from rbdyn_ros.parameters.yaml_file import Override, check_override, read_loop, refuse_contacts
from rbdyn_ros.schema import Parameter, alternatives, by_name, check, defaults, nearest

PART, PARTS = 4, 16  # minimum number of starts in a part; maximum number of parts of a case


class CasePart(NamedTuple):
    """A task for one process: a case, or a part of one with many starts."""

    case: Case
    part: range | None = None


class Count(NamedTuple):
    """The number of starts of a case."""

    starts: int


def server(bench: Bench) -> Callable[[CasePart], Any]:
    """Return the function from a task to its answer: a Metric, a Count, rows, or a Criterion that
    is final.
    """

    def answer(task: CasePart):
        measure, (case, part) = measures.load(task.case.measure), task
        bench.remark = ""
        arguments = (bench, case.scenario, case.settings)
        try:
            if hasattr(measure, "measure"):
                found = measure.measure(*arguments)
                note = "; ".join(filter(None, (found.note, bench.remark)))
                return found._replace(note=note)
            return (
                Count(measure.starts(*arguments))
                if part is None
                else measure.outcomes(*arguments, part)
            )
        except NotForThisLaw as reason:
            return mark(case, NOT_APPLICABLE, str(reason))
        except (LawFailed, NotRepeatable) as failure:
            return mark(case, BROKEN, str(failure))
        except CannotGoOn:
            raise
        except Exception as error:  # a row that crashes is reported, the others go on
            where = traceback.extract_tb(error.__traceback__)[-1]
            return mark(
                case,
                BROKEN,
                f"{type(error).__name__}: {error} "
                f"({where.filename.rpartition('/')[2]}:{where.lineno})",
            )

    return answer


def serve(under_test: ControllerUnderTest) -> Callable[[CasePart], Any]:
    """Return the function from a task to its answer in a worker process, which has the law."""
    return server(Bench(under_test))


def serve_isolated(under_test: ControllerUnderTest) -> Callable[[CasePart], Any]:
    """Return the same in a worker process whose law is in another one."""
    return server(IsolatedBench(under_test))


def select_cases(
    suite: Suite, kinds: tuple[str, ...]
) -> tuple[list[Case], list[tuple[Case, str]]]:
    """Return (cases to measure, (case, why not) of those that are not for a law of these
    kinds).
    """
    meant = [case for case in suite.cases if set(case.kinds) & {ANY, PLANT, *kinds}]
    others = [case for case in suite.cases if case not in meant]
    return meant, [(case, f"for {' or '.join(case.kinds)}") for case in others]


def refusal_over_ros(case: Case) -> str:
    """Return why the case cannot be measured over topics; "" if it can."""
    if not measures.MEASURES[case.measure].over_ros:
        return f"{case.measure} needs the law itself"
    usual = defaults(SCENARIO)
    for name in ("period", "observer"):
        if getattr(case.scenario, name) != usual[name]:
            return f"the {name} of a node is its own"
    return "the options of a node are its own" if case.scenario.law else ""


class Score:
    """The collector of answers, which turns cases into `Criterion`, joins the parts of a case, and
    adds runs to one whose measure needs more, until its `time_limit` or `longest` [s] is over.
    """

    def __init__(
        self,
        cases: list,
        keep: Callable[[Criterion], None],
        show: Callable[[float], object],
        longest: float = math.inf,
    ):
        self._longest = longest
        self.tasks = deque(CasePart(case) for case in cases)
        self._keep, self._show, self._total, self._done = keep, show, len(cases), 0
        # case's name -> {start of the part: rows}, how many starts are expected, since when [s]
        self._gathered: dict[str, tuple[dict[int, np.ndarray], int, float]] = {}

    @property
    def is_complete(self) -> bool:
        """Whether every case has its verdict."""
        return self._done >= self._total

    def take(self, task: CasePart, answer) -> None:
        """Accept the answer to a task. Ignore it if the case has its verdict already."""
        case = task.case
        if isinstance(answer, Count):
            self._gathered[case.name] = {}, answer.starts, time.monotonic()
            self._divide(case, range(answer.starts))
        elif isinstance(answer, np.ndarray):
            self._gather(case, task.part or range(0), answer)
        elif task.part is None or case.name in self._gathered:
            self._finish(case, answer)

    def measure_all(self, bench, stop) -> None:
        """Measure all cases in this process, one after the other, until `stop.signal`. Raise
        CannotGoOn if no further case can be measured.
        """
        answer = server(bench)
        while self.tasks and not stop.signal:
            task = self.tasks.popleft()
            try:
                self.take(task, answer(task))
            except CannotGoOn:
                if not stop.signal:
                    raise

    def _divide(self, case: Case, starts: range) -> None:
        size = max(PART, -(-len(starts) // PARTS))
        parts = [CasePart(case, starts[i : i + size]) for i in range(0, len(starts), size)]
        self.tasks.extendleft(reversed(parts))

    def _gather(self, case: Case, part: range, rows: np.ndarray) -> None:
        if case.name not in self._gathered:
            return
        parts, starts, began = self._gathered[case.name]
        parts[part.start] = rows
        if sum(map(len, parts.values())) < starts:
            self._advance()
            return
        together, measure = (
            np.vstack([parts[i] for i in sorted(parts)]),
            measures.load(case.measure),
        )
        limit = min(self._longest, case.settings.get("time_limit", 0.0))
        has_time = time.monotonic() - began < limit
        if has_time and (extra := measure.more(case.settings, together)):
            self._gathered[case.name] = parts, starts + extra, began
            self._divide(case, range(starts, starts + extra))
            return
        self._finish(case, measure.summary(case.settings, together))

    def _finish(self, case: Case, answer) -> None:
        self._gathered.pop(case.name, None)
        for task in [task for task in self.tasks if task.case is case]:
            self.tasks.remove(task)
        self._done += 1
        self._advance()
        if isinstance(answer, Metric):
            self._keep(assess(case, answer))
        else:
            self._keep(
                mark(case, BROKEN, answer.sentence) if isinstance(answer, Ended) else answer
            )

    def _advance(self) -> None:
        open_cases = self._gathered.values()
        begun = sum(sum(map(len, parts.values())) / starts for parts, starts, _ in open_cases)
        self._show(min(self._done + begun, self._total))


DEFAULT_KINDS = ("balance",)  # kinds of a law without `KINDS`


def controller_under_test(
    name: str,
    files: Iterable[str],
    kinds: str | None,
    plant: Mapping[str, Any],
    call_timeout: float,
    external: bool = False,
    overrides: Iterable[Override] = (),
) -> ControllerUnderTest:
    """Return the law `name`, or that of the file of that path, with the parameters of the
    `overrides` over those of the files, over those of the suite's `plant`. One that is `external`
    runs in a node of the user, and only the plant is known here.

    `kinds` as "balance,wide". A law that is not of this package is loaded in a process of its own,
    which may crash or hang, and never here.

    Raise ValueError as `describe_law` does.
    """
    asked = name, tuple(files), kinds, dict(plant), call_timeout, external, tuple(overrides)
    if external or law_selection.is_own(name):
        return describe_law(*asked)
    limits = bench.LONGEST, processes.LAST_RESORT
    process, connection = processes.start(_send_description, limits, *asked)
    with connection:
        kind, _, text = connection.recv(LARGEST).decode(errors="replace").partition(" ")
    if not text:
        how = processes.describe_exit(process)
        raise ValueError(f"controller '{name}' does not load: the process that loaded it {how}")
    processes.end([process])
    if kind == "error":
        raise ValueError(text)
    said = json.loads(text, object_hook=_with_tuples)
    return ControllerUnderTest(**{**said, "identity": json.loads(text)["identity"]})


def _with_tuples(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object of JSON with tuples, which values of parameters have, for its lists."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in found.items()}


def _send_description(connection: Any, limits: tuple[float, float], *asked: Any) -> None:
    """Load a law and send its description, or why it does not load."""
    bench.LONGEST, CallTimeout.last_resort = limits
    try:
        answer = "law " + json.dumps(describe_law(*asked)._asdict())
    except ValueError as error:
        answer = f"error {error}"
    connection.send(answer.encode()[:LARGEST])


def describe_law(
    name: str,
    files: tuple[str, ...],
    kinds: str | None,
    plant: Mapping[str, Any],
    call_timeout: float,
    external: bool,
    overrides: tuple[Override, ...],
) -> ControllerUnderTest:
    """Return what `controller_under_test` returns, from a law that is loaded in this process.

    Raise ValueError for an unknown law, kind or parameter, a value out of range, and a law that
    does not load.
    """
    module, path, about, own_files = None, "", "", ()
    if not external:
        module = load(name)
        demand_libraries(module, f"controller {law_selection.short(name)}")
        about = " ".join((module.__doc__ or "").split()).partition(". ")[0].rstrip(".")
        name, path = (
            law_selection.short(name),
            law_selection.absolute(name) if law_selection.is_path(name) else "",
        )
    kinds_given = kinds is not None or hasattr(module, "KINDS")
    if kinds is not None:
        chosen = _kinds(split_words(kinds), "--kind")
    else:
        chosen = _kinds(getattr(module, "KINDS", DEFAULT_KINDS), f"controller {name}: its KINDS")
    values = _plant(files, plant)
    if module:
        values |= law_options.from_files(name, module, files)
    own = law_options.table(name, module) if module else ()
    law_options.require_own(overrides, *(() if external else (name,)))
    values |= _overridden(overrides, by_name((*PLANT_PARAMETERS, *own)))
    if module:
        given = values.get(f"{name}.file") or getattr(
            law_options.type_of(module), "_field_defaults", {}
        ).get("file")
        found = (getattr(module, "find", Path)(given),) if given else ()
        read = (*law_files(module), *getattr(module, "FILES", ()), *found)
        own_files = tuple(str(Path(file).resolve()) for file in read)
    return ControllerUnderTest(
        name, values, chosen, kinds_given, call_timeout, identity(name, module, values), path,
        about, own_files,
    )  # fmt: skip


def _plant(files: tuple[str, ...], plant: Mapping[str, Any]) -> dict[str, Any]:
    known, source = by_name(PLANT_PARAMETERS), "the suite's plant"
    for name in plant:
        if name not in known:
            raise ValueError(
                f"{source}: {name} is not a parameter of the plant; {nearest(name, known)}see "
                "`python -m rbdyn_ros parameters`"
            )
    values = defaults(PLANT_PARAMETERS) | {
        n: check(known[n], value, source) for n, value in plant.items()
    }
    refuse_contacts(files, "an evaluation")
    found = read_loop(files).items()
    return values | {name: value for name, (value, _) in found if name in values}


def _overridden(overrides: Iterable[Override], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the checked values of the overrides. Raise ValueError for one that is not `known`, or
    is a matter of the suite.
    """
    values = {}
    for override in overrides:
        value = check_override(override, known)
        if override.name not in known or override.name in law_options.SHARED.values():
            raise ValueError(
                f"{override.source}: {override.name} cannot be set: an evaluation takes "
                "parameters of the plant and options of the law, and its suite sets the rest"
            )
        values[override.name] = value
    return values


def _kinds(given: Any, source: str) -> tuple[str, ...]:
    """Return the kinds of law that `source` gives. Raise ValueError for others."""
    if not isinstance(given, (tuple, list)):
        raise ValueError(f"{source}: {given!r} is not a tuple of names, such as {DEFAULT_KINDS}")
    for kind in given:
        if kind not in tuple(KINDS):
            advice = alternatives(str(kind), KINDS)
            raise ValueError(f"{source}: {kind} is not a kind of law; {advice}")
    return tuple(given)
