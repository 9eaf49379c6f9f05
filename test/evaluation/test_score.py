"""The course of an evaluation: laws that break, processes that die, results that survive."""

import argparse
import json
import re
import signal
import subprocess
import sys
from collections import deque

import numpy as np
import pytest

from rbdyn_ros.evaluation import suite
from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.metrics import Metric
from rbdyn_ros.evaluation.processes import Workers
from rbdyn_ros.evaluation.results import (
    BROKEN,
    FILE,
    HOLDS,
    MISSES,
    NOT_APPLICABLE,
    OPEN,
    Criterion,
    ResultsFolder,
    from_json,
    mark,
    row_verdict,
    to_json,
)
from rbdyn_ros.evaluation.score import (
    CasePart,
    Count,
    Ended,
    Score,
    controller_under_test,
    serve,
    server,
)

ROWS = """\
rows:
  near: {measure: release, settings: {tilt: 1, duration: 4}, require: [settling_time <= 9]}
  far: {measure: release, settings: {tilt: 60, duration: 4}, require: [settling_time <= 9]}
  option: {measure: release, law: {%s: {no_such: 1}}, require: [settling_time <= 9]}
"""
LAW = """\
class Law:
    def command(self, t, state, reference):
{body}

    def reset(self):
        pass


def design(model, params, options):
    return Law()
"""


@pytest.fixture
def cases(tmp_path):
    """The cases of three rows about a law."""

    def cases(law="lqr"):
        path = tmp_path / "rows.yaml"
        path.write_text(ROWS % law)
        return [case for row in suite.read(path).rows for case in row.cases]

    return cases


@pytest.fixture
def law_of(tmp_path, monkeypatch):
    """A law with the given body of `command`, as a package would offer it."""

    def law_of(body: str) -> str:
        (tmp_path / "strange.py").write_text(
            LAW.format(body="\n".join(f"        {line}" for line in body.splitlines()))
        )
        info = tmp_path / "strange-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[rbdyn_ros.control]\nstrange = strange\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "strange", raising=False)
        return "strange"

    return law_of


@pytest.fixture
def scored(under_test):
    """scored(cases, law): row -> Criterion, measured in this process."""

    def scored(cases, law) -> dict:
        kept = []
        score = Score(cases, kept.append, lambda done: None)
        answer = server(Bench(under_test(law)))
        while score.tasks:
            task = score.tasks.popleft()
            score.take(task, answer(task))
        assert score.is_complete
        return {case.row: case for case in kept}

    return scored


def test_verdicts(scored, cases):
    found = scored(cases(), "lqr")
    assert [found[row].verdict for row in ("near", "far", "option")] == [
        HOLDS,
        MISSES,
        NOT_APPLICABLE,
    ]
    assert found["far"].note == "fallen" and found["option"].note == "lqr has no option no_such"
    assert row_verdict(list(found.values())) == MISSES


@pytest.mark.parametrize(
    "body, sentence",
    [
        (
            "raise RuntimeError('no idea')",
            "the law strange raised RuntimeError at t = 0.000 s: no idea",
        ),
        (
            "return [float('nan'), 0.0]",
            "the law strange returned [nan, 0.0] at t = 0.000 s; it must return two finite forces",
        ),
        ("return (1.0, 2.0, 3.0)", "the law strange returned (1.0, 2.0, 3.0) at t = 0.000 s"),
        (
            "if t > 0.1: raise KeyError('late')\nreturn (0.0, 0.0)",
            "the law strange raised KeyError at t = 0.102 s",
        ),
        (  # it ends no case by itself, as in the controller node
            "if t > 0.1: raise ValueError('late')\nreturn (0.0, 0.0)",
            "state refused: the law strange raised ValueError at t = 0.1",
        ),
    ],
)
def test_a_law_that_breaks_breaks_its_cases_with_its_name(scored, cases, law_of, body, sentence):
    found = scored(cases("lqr"), law_of(body))
    assert [found[row].verdict for row in ("near", "far", "option")] == [BROKEN] * 3
    assert sentence in found["near"].note


def test_states_that_a_law_refuses_are_noted(scored, cases, law_of):
    """Nothing else comes of a few: the rod falls with this law, as it does with zero force."""
    body = "if t == 0.1: raise ValueError('once')\nreturn (0.0, 0.0)"
    found = scored(cases("lqr"), law_of(body))["near"]
    assert found.verdict == MISSES
    assert found.note.endswith("refused in a run, with zero force there: 1")


@pytest.mark.parametrize("kinds", ("'balance'", "('balance', 'flying')", "(['balance'],)", "3"))
def test_kinds_that_are_none_are_refused(tmp_path, kinds):
    file = tmp_path / "strange.py"
    file.write_text(f"KINDS = {kinds}\n\n\n{LAW.format(body='        return (0.0, 0.0)')}")
    with pytest.raises(ValueError, match="controller strange: its KINDS: "):
        controller_under_test(str(file), (), None, {}, 2.0)
    assert controller_under_test(str(file), (), "wide", {}, 2.0).kinds == ("wide",)


def test_a_law_that_cannot_be_designed(scored, cases, law_of, tmp_path):
    name = law_of("return (0.0, 0.0)")
    (tmp_path / "strange.py").write_text(
        "def design(model, params, options):\n    raise ArithmeticError('singular')\n"
    )
    note = scored(cases("lqr"), name)["near"].note
    assert re.fullmatch(
        r"the law strange: designing it raised ArithmeticError: singular \(/.*/strange.py:2\)",
        note,
    )


def test_a_row_that_crashes_is_reported_and_the_others_go_on(scored, cases, monkeypatch):
    from rbdyn_ros.evaluation.measures import release

    monkeypatch.setattr(
        release.metrics,
        "effort",
        lambda run: 1 / (len(run.t) > 2000) if run.ended == "fallen" else 0.0,
    )
    found = scored(cases(), "lqr")
    assert found["near"].verdict == HOLDS
    assert found["far"].verdict == BROKEN and found["far"].note.startswith(
        "ZeroDivisionError: division by zero (test_score.py:"
    )


def test_a_process_that_dies_is_reported_and_the_others_go_on(cases, law_of, under_test):
    """A law that ends its process where the rod leans far at the start."""
    law = law_of("import os\nreturn os._exit(7) if t == 0.0 and state.q[4] > 0.4 else (0.0, 0.0)")
    near, far, _ = cases()
    tasks = deque((CasePart(far), CasePart(near)))
    with Workers(1, under_test(law), serve) as workers:
        answers = {task.case.row: answer for task, answer in workers.answers(tasks) if task}
    assert answers["far"] == Ended("the process that measured it ended with exit code 7")
    assert answers["near"].note == "fallen"


@pytest.fixture
def many(tmp_path):
    """A case of ten starts."""
    path = tmp_path / "many.yaml"
    path.write_text("rows: {many: {measure: swing_up, require: [success >= 50]}}")
    return suite.read(path).rows[0].cases[0]


def test_the_parts_of_a_case_come_together_in_their_order(many):
    kept, shown = [], []
    score = Score([many], kept.append, shown.append)
    score.take(score.tasks.popleft(), Count(10))
    parts = list(score.tasks)
    assert [list(task.part) for task in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    for task in reversed(parts):
        score.take(
            task,
            np.array([(float(i), 1.0, 2.0) if i % 3 else (np.nan, 3.0, 2.0) for i in task.part]),
        )
    (case,) = kept
    assert case.verdict == HOLDS and case.values["success"] == pytest.approx(60.0)
    assert case.curves["settled"] == [None, 1.0, 2.0, None, 4.0, 5.0, None, 7.0, 8.0, None]
    assert shown == sorted(shown) and score.is_complete


def test_a_part_that_breaks_ends_its_case_once(many):
    kept = []
    score = Score([many], kept.append, lambda done: None)
    score.take(score.tasks.popleft(), Count(10))
    first, second = score.tasks[0], score.tasks[1]
    score.take(first, Ended("gone"))
    assert not score.tasks and kept[0].verdict == BROKEN and kept[0].note == "gone"
    score.take(second, np.zeros((4, 3)))
    assert len(kept) == 1 and score.is_complete


CASE = Criterion(
    "S3",
    "10 N",
    HOLDS,
    {"tilt": 1.5, "time": float("inf")},
    (("tilt <= 2", True),),
    "a note",
    {"t": [0.0, 1.0]},
    "S3 10 N 00",
)
HEADING = {"law": "lqr", "parameters": {"rod.mass": 1.0}}


def test_a_case_survives_json():
    assert from_json(json.loads(json.dumps(to_json(CASE), allow_nan=False))) == CASE


def test_results_go_on_where_they_were(tmp_path):
    ResultsFolder(tmp_path / "out", HEADING, False).add(CASE)
    assert ResultsFolder(tmp_path / "out", HEADING, True).cases == {CASE.key: CASE}


IDENTITY = {
    "files": {"mine/law.py": "aa", "mine/gains.py": "bb"},
    "options": {"mine.gain": {"value": 2.0, "default": 1.0, "unit": ""}},
    "versions": {"numpy": "2.4.6"},
}


@pytest.mark.parametrize(
    "change, why",
    [
        ({"files": {"mine/law.py": "aa", "mine/gains.py": "cc"}}, "mine/gains.py was changed"),
        ({"files": {"mine/law.py": "aa"}}, "mine/gains.py is gone"),
        (
            {"options": {"mine.gain": {"value": 3.0, "default": 1.0, "unit": ""}}},
            "mine.gain was 2.0, now 3.0",
        ),
        (
            {"options": {"mine.gain": {"value": 2.0, "default": 2.0, "unit": ""}}},
            "the default of mine.gain was 1.0, now 2.0",
        ),
        ({"versions": {"numpy": "2.5"}}, "numpy was 2.4.6, now 2.5"),
    ],
)
def test_another_law_begins_anew_and_says_why(tmp_path, change, why):
    """What was measured before is kept beside."""
    heading = {**HEADING, "identity": IDENTITY}
    ResultsFolder(tmp_path, heading, False, {"date": "yesterday"}).add(CASE)
    same = ResultsFolder(tmp_path, heading, True, {"date": "today"})
    assert (
        same.cases
        and not same.anew
        and same.sittings == [{"date": "yesterday"}, {"date": "today"}]
    )
    anew = ResultsFolder(
        tmp_path, {**heading, "identity": {**IDENTITY, **change}}, True, {"date": "tomorrow"}
    )
    assert (
        anew.anew
        == f"--resume begins anew: {why}; what was measured before is kept in cases.1.jsonl"
    )
    assert (
        anew.cases == {}
        and anew.sittings == [{"date": "tomorrow"}]
        and CASE.name in (tmp_path / "cases.1.jsonl").read_text()
    )
    again = ResultsFolder(tmp_path, heading, True)
    assert again.anew.endswith("is kept in cases.2.jsonl")


def test_another_plant_begins_anew(tmp_path):
    ResultsFolder(tmp_path, HEADING, False).add(CASE)
    assert (
        "rod.mass was 1.0, now 2.0"
        in ResultsFolder(tmp_path, {**HEADING, "parameters": {"rod.mass": 2.0}}, True).anew
    )


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    results = ResultsFolder(tmp_path, HEADING, False)
    results.add(CASE)
    results.add(CASE._replace(key="other"))
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-30])
    again = ResultsFolder(tmp_path, HEADING, True)
    assert list(again.cases) == [CASE.key]
    again.add(CASE._replace(key="third"))
    assert list(ResultsFolder(tmp_path, HEADING, True).cases) == [CASE.key, "third"]


def test_lines_that_are_no_results_are_measured_again(tmp_path):
    (tmp_path / FILE).write_text(json.dumps(HEADING) + "\n{\n" + 100_000 * "[" + "\n")
    assert ResultsFolder(tmp_path, HEADING, resume=True).cases == {}
    (tmp_path / FILE).write_text(100_000 * "[" + "\n")
    with pytest.raises(ValueError, match="was measured with another"):
        ResultsFolder(tmp_path, HEADING, resume=True)


@pytest.mark.parametrize(
    "resume, prepare, sentence",
    [
        (False, "something", "which is not empty; choose another"),
        (False, FILE, "which is not empty; add --resume to go on with it, or choose another"),
        (True, "something", "--resume: there is no .*cases.jsonl; leave --resume out to begin"),
        (True, FILE, "was measured with another law; choose another --out"),
    ],
)
def test_a_folder_of_something_else_is_left_alone(tmp_path, resume, prepare, sentence):
    before = json.dumps({**HEADING, "law": "pd"}) + "\n"
    (tmp_path / prepare).write_text(before)
    with pytest.raises(ValueError, match=sentence):
        ResultsFolder(tmp_path, HEADING, resume)
    assert (tmp_path / prepare).read_text() == before


SLOW = """
import time
from pathlib import Path

def serve(under_test):
    def answer(task):
        Path("begun").touch()
        time.sleep(1.0)
        return task
    return answer
"""
KILLED = """
import os, signal
from collections import deque
from rbdyn_ros.evaluation.processes import Workers
from slow import serve

with Workers(1, None, serve) as workers:
    for _ in workers.answers(deque([1]), interval=0.01):
        if os.path.exists("begun"):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_evaluation_leaves_no_traceback_of_its_worker(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "killed.py").write_text(KILLED)
    program = "import killed"
    command = [sys.executable, "-c", program]
    # until the worker, too, has ended: it has the same streams
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120.0)
    assert done.returncode == -signal.SIGKILL and (tmp_path / "begun").exists()
    assert "Traceback" not in done.stderr, done.stderr


def test_the_computing_time_comes_first_and_tells_how_long_the_others_take(monkeypatch, capsys):
    """A worker that takes no time; its law takes 0.2 ms for a command, each 2 ms. How long the
    processes took to start does not count.
    """
    from rbdyn_ros.cli import evaluate
    from rbdyn_ros.parameters.shipped import config

    measured = []

    class Workers(list):
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def answers(self, tasks):
            while tasks:
                task = tasks.popleft()
                measured.append(task.case)
                slow = task.case.measure == "computing_time"
                yield task, Metric({"median": median, "of_period": 10.0} if slow else {})

    monkeypatch.setattr("rbdyn_ros.evaluation.processes.Workers", Workers)
    rows = suite.read(config("suites", "standard.yaml"), ("S3", "S4", "S30"))
    cases = [case for case in rows.cases if "balance" in case.kinds]
    for median in (0.2, 1e-5):
        measured.clear()
        evaluate.measure_cases(None, 1, cases, lambda case: None, argparse.Namespace(signal=0))
        said = capsys.readouterr().err
        assert (" min for the others" in said) == (median == 0.2)
        if median == 0.2:
            whole = sum(suite.simulated_time(case) for case in measured[1:])
            assert f"at least {0.1 * whole / 60.0:.0f} min for the others" in said
    assert [case.row for case in measured] == ["S30", "S3", *["S4"] * 5]


def test_what_was_not_measured_is_open_and_not_for_another_kind_of_law(cases):
    """A row is open where the one case that is for the law was not measured."""
    near, far, _ = cases()
    others = [mark(near, NOT_APPLICABLE, "for swing_up"), mark(far, OPEN, "not measured")]
    assert row_verdict(others) == OPEN
    assert row_verdict([mark(near, HOLDS, ""), mark(far, OPEN, "")]) == OPEN
    assert row_verdict([mark(near, HOLDS, ""), others[0]]) == HOLDS


def test_a_case_that_is_open_is_shown_with_its_reason(cases):
    from rbdyn_ros.evaluation import report

    near, *_ = cases()
    row = suite.Row("near", "let go", (near,), {})
    shown = report.table(
        suite.Suite("mine", {}, (row,)), {near.name: mark(near, OPEN, "needs the law itself")}
    )
    assert "open" in shown and "needs the law itself" in shown
