"""The course of an evaluation: which cases are left, who measures them, what becomes of their
answers.
"""

import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rbdyn_ros.evaluation import measures
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest, LawFailed
from rbdyn_ros.evaluation.metric import SCENARIO, CannotGoOn, Metric, NotForThisLaw
from rbdyn_ros.evaluation.results import Criterion, judge, mark_broken, mark_not_applicable
from rbdyn_ros.evaluation.suite import ANY, PLANT, Case, Suite
from rbdyn_ros.evaluation.workers import Ended
from rbdyn_ros.schema import defaults

PART, PARTS = 4, 16  # starts that are measured at once, at least; parts that a case has, at most


class Task(NamedTuple):
    """A piece of work for one process: a case, or a part of one with many starts."""

    case: Case
    part: range | None = None


class Count(NamedTuple):
    """How many starts a case has."""

    starts: int


def server(bench: Bench) -> Callable[[Task], Any]:
    """The function from a task to its answer: Metric, Count, rows, or a Criterion that needs no
    more judging.
    """

    def answer(task: Task):
        measure, (case, part) = measures.load(task.case.measure), task
        arguments = (bench, case.scenario, case.settings)
        try:
            if hasattr(measure, "measure"):
                return measure.measure(*arguments)
            return (
                Count(measure.starts(*arguments))
                if part is None
                else measure.outcomes(*arguments, part)
            )
        except NotForThisLaw as reason:
            return mark_not_applicable(case, str(reason))
        except LawFailed as failure:
            return mark_broken(case, str(failure))
        except CannotGoOn:
            raise
        except Exception as error:  # a row that crashes is reported, the others go on
            where = traceback.extract_tb(error.__traceback__)[-1]
            return mark_broken(
                case,
                f"{type(error).__name__}: {error} "
                f"({where.filename.rpartition('/')[2]}:{where.lineno})",
            )

    return answer


def serve(under_test: ControllerUnderTest) -> Callable[[Task], Any]:
    """What a worker process does with a task."""
    return server(Bench(under_test))


def applying(suite: Suite, kinds: tuple[str, ...]) -> tuple[list[Case], list[tuple[Case, str]]]:
    """(cases to measure, (case, why not) of those that are not for a law of these kinds)."""
    cases = [case for row in suite.rows for case in row.cases]
    meant = [case for case in cases if set(case.kinds) & {ANY, PLANT, *kinds}]
    return meant, [(case, f"for {' or '.join(case.kinds)}") for case in cases if case not in meant]


def over_ros(case: Case) -> str:
    """Why the case cannot be measured over topics; "" if it can."""
    if not measures.load(case.measure).OVER_ROS:
        return f"{case.measure} needs the law itself"
    usual = defaults(SCENARIO)
    for name in ("period", "observer"):
        if getattr(case.scenario, name) != usual[name]:
            return f"the {name} of a node is its own"
    return "the options of a node are its own" if case.scenario.law else ""


class Score:
    """Cases in, `Criterion` out; the parts of a case are gathered."""

    def __init__(
        self, cases: list, keep: Callable[[Criterion], None], show: Callable[[float], object]
    ):
        self.tasks = deque(Task(case) for case in cases)
        self._keep, self._show, self._total, self._done = keep, show, len(cases), 0.0
        # case's name -> {start of the part: rows}, and how many starts are expected
        self._gathered: dict = {}

    @property
    def complete(self) -> bool:
        """Whether every case has its verdict."""
        return round(self._done, 6) >= self._total

    def take(self, task: Task, answer) -> None:
        """The answer to a task. What of a case that has its verdict still comes is left aside."""
        case = task.case
        if isinstance(answer, Count):
            self._divide(case, answer.starts)
        elif isinstance(answer, np.ndarray):
            self._gather(case, task.part or range(0), answer)
        elif task.part is None or case.name in self._gathered:
            self._finish(case, answer)

    def alone(self, bench, stop) -> None:
        """Measure everything here, one after the other, until `stop.signal`. CannotGoOn."""
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
            Task(case, range(begin, min(begin + size, starts))) for begin in range(0, starts, size)
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
            self._keep(judge(case, answer))
        else:
            self._keep(mark_broken(case, answer.sentence) if isinstance(answer, Ended) else answer)

    def _advance(self, part: float) -> None:
        self._done += part
        self._show(min(self._done, self._total))
