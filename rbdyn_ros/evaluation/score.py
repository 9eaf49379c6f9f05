"""The course of an evaluation: the law under test, read from the command line and the parameter
files; the open cases, the processes that measure them, and their results. Each process holds the
law, so that one that crashes or hangs takes nothing else with it.
"""

import multiprocessing
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.control import options, select
from rbdyn_ros.control.provenance import identity
from rbdyn_ros.evaluation import bench, measures
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest, LawFailed, limit_memory, load
from rbdyn_ros.evaluation.metrics import SCENARIO, CannotGoOn, Metric, NotForThisLaw
from rbdyn_ros.evaluation.results import BROKEN, NOT_APPLICABLE, Criterion, assess, mark
from rbdyn_ros.evaluation.suite import ANY, KINDS, PLANT, Case, Suite
from rbdyn_ros.interrupts import CallTimeout, block
from rbdyn_ros.kernel import show_compilations
from rbdyn_ros.optional import demand_libraries
from rbdyn_ros.parameters.command_line import split_words
from rbdyn_ros.parameters.plant import PLANT as PLANT_PARAMETERS
from rbdyn_ros.parameters.tables import alternatives, nearest
from rbdyn_ros.parameters.yaml_file import Override, check_override, read_loop, refuse_contacts
from rbdyn_ros.schema import Parameter, by_name, check, defaults

PART, PARTS = 4, 16  # minimum number of starts in a part; maximum number of parts of a case


LAST_RESORT = 30.0  # [s] that compiled code may take beyond the time of a call


class Ended(NamedTuple):
    """The answer in place of that of a process that has ended."""

    sentence: str


class Workers:
    """Worker processes of `with Workers(n, under_test, serve) as workers:`, where
    `serve(under_test)` returns, in each process, the function from a task to its answer.
    """

    def __init__(self, n: int, under_test: Any, serve: Callable, does: str = "measured it"):
        self._context = multiprocessing.get_context("spawn")
        self._prepared, self._does = (under_test, serve), does
        self._idle, self._busy = [], {}  # workers; connection -> (process, task)
        self._limit = n

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_) -> None:
        for process in [*(p for p, _ in self._idle), *(p for p, _ in self._busy.values())]:
            process.kill()
            process.join()

    def answers(self, tasks: deque[Any], interval: float = 0.2) -> Iterator[tuple[Any, Any]]:
        """Yield (task, answer) as they come, or (None, None) every `interval` [s] without one;
        `tasks` may grow meanwhile.
        """
        while tasks or self._busy:
            while tasks and len(self._busy) < self._limit:
                process, connection = self._idle.pop() if self._idle else self._start()
                self._busy[connection] = process, tasks.popleft()
                connection.send(self._busy[connection][1])
            ready = wait(list(self._busy), interval)
            for connection in ready:
                yield self._receive(connection)
            if not ready:
                yield None, None

    def _start(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_work, args=(theirs, LAST_RESORT, *self._prepared), daemon=False
        )
        with block():  # Ctrl-C is for the parent, which ends its workers
            process.start()
        theirs.close()
        return process, ours

    def _receive(self, connection: Any) -> tuple[Any, Any]:
        process, task = self._busy.pop(connection)
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            process.join()
            return task, Ended(
                f"the process that {self._does} ended {_describe_exit(process.exitcode)}"
            )
        self._idle.append((process, connection))
        return task, answer


def _work(connection: Connection, last_resort: float, under_test: Any, serve: Callable) -> None:
    """Answer tasks until the connection is closed; a law that hangs in compiled code ends the
    process.
    """
    CallTimeout.last_resort = last_resort
    show_compilations(sys.stderr)
    with limit_memory():
        answer = serve(under_test)
        while True:
            try:
                task = connection.recv()
            except (EOFError, ConnectionError):
                return
            answered = answer(task)
            try:
                connection.send(answered)
            except ConnectionError:  # whoever asked has been killed meanwhile
                return


def _describe_exit(code: int) -> str:
    if code < 0:
        return f"by signal {signal.Signals(-code).name}"
    hang = f", as after a call that lasts {LAST_RESORT:g} s too long in compiled code"
    return f"with exit code {code}{hang if code == 1 else ''}"


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
        except LawFailed as failure:
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
    """Return the function from a task to its answer in a worker process."""
    return server(Bench(under_test))


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
    """The collector of answers, which turns cases into `Criterion` and joins the parts of a
    case.
    """

    def __init__(
        self, cases: list, keep: Callable[[Criterion], None], show: Callable[[float], object]
    ):
        self.tasks = deque(CasePart(case) for case in cases)
        self._keep, self._show, self._total, self._done = keep, show, len(cases), 0.0
        # case's name -> {start of the part: rows}, and how many starts are expected
        self._gathered: dict = {}

    @property
    def is_complete(self) -> bool:
        """Whether every case has its verdict."""
        return round(self._done, 6) >= self._total

    def take(self, task: CasePart, answer) -> None:
        """Accept the answer to a task. Ignore it if the case has its verdict already."""
        case = task.case
        if isinstance(answer, Count):
            self._divide(case, answer.starts)
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

    def _divide(self, case: Case, starts: int) -> None:
        size = max(PART, -(-starts // PARTS))
        parts = [
            CasePart(case, range(begin, min(begin + size, starts)))
            for begin in range(0, starts, size)
        ]
        self._gathered[case.name] = {}, starts
        self.tasks.extendleft(reversed(parts))

    def _gather(self, case: Case, part: range, rows: np.ndarray) -> None:
        if case.name not in self._gathered:
            return
        parts, starts = self._gathered[case.name]
        parts[part.start] = rows
        self._advance(len(rows) / starts)
        if sum(map(len, parts.values())) == starts:
            together = np.vstack([parts[begin] for begin in sorted(parts)])
            self._finish(case, measures.load(case.measure).summary(case.settings, together))

    def _finish(self, case: Case, answer) -> None:
        parts, starts = self._gathered.pop(case.name, ({}, 1))
        for task in [task for task in self.tasks if task.case is case]:
            self.tasks.remove(task)
        self._advance(1.0 - sum(map(len, parts.values())) / starts)
        if isinstance(answer, Metric):
            self._keep(assess(case, answer))
        else:
            self._keep(
                mark(case, BROKEN, answer.sentence) if isinstance(answer, Ended) else answer
            )

    def _advance(self, part: float) -> None:
        self._done += part
        self._show(min(self._done, self._total))


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

    `kinds` as "balance,wide".

    Raise ValueError for an unknown law, kind or parameter, a value out of range, and a law that
    does not load.
    """
    module, path, files, overrides = None, "", tuple(files), tuple(overrides)
    if not external:
        if not select.is_own(name):
            try_to_load(name)
        module = load(name)
        demand_libraries(module, f"controller {select.short(name)}")
        name, path = select.short(name), select.absolute(name) if select.is_path(name) else ""
    kinds_given = kinds is not None or hasattr(module, "KINDS")
    if kinds is not None:
        chosen = _kinds(split_words(kinds), "--kind")
    else:
        chosen = _kinds(getattr(module, "KINDS", DEFAULT_KINDS), f"controller {name}: its KINDS")
    values = _plant(files, plant)
    if module:
        values |= options.from_files(name, module, files)
    own = options.table(name, module) if module else ()
    options.require_own(overrides, *(() if external else (name,)))
    values |= _overridden(overrides, by_name((*PLANT_PARAMETERS, *own)))
    return ControllerUnderTest(
        name, values, chosen, kinds_given, call_timeout, identity(name, module, values), path
    )


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
        if override.name not in known or override.name in options.SHARED.values():
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


def try_to_load(name: str) -> None:
    """Load the law `name` in a separate process first, so that a law that crashes, or hangs in
    compiled code, ends that process only. Raise ValueError, with one sentence, if it fails.
    """
    with Workers(1, (name, bench.LONGEST), _loader, "loaded it") as workers:
        answer = next(answer for task, answer in workers.answers(deque(["load"])) if task)
    if isinstance(answer, Ended):
        raise ValueError(f"controller '{name}' does not load: {answer.sentence}")
    if answer:
        raise ValueError(answer)


def _loader(asked: tuple[str, float]) -> Callable[[str], str]:
    """Return the function that returns why the law does not load, or "" if it does."""

    def answer(_task: str) -> str:
        try:
            load(*asked)
        except ValueError as error:
            return str(error)
        return ""

    return answer
