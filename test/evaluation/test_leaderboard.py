"""The leaderboard: scores, entries that lie, hang or change, verification, pages."""

import argparse
import base64
import json
import math
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from rbdyn_ros import origin
from rbdyn_ros.__main__ import main
from rbdyn_ros.cli import leaderboard
from rbdyn_ros.evaluation import (
    bench,
    board,
    entry,
    force_record,
    metrics,
    processes,
    verification,
)
from rbdyn_ros.evaluation.bench import Bench, LawFailed
from rbdyn_ros.evaluation.law_process import IsolatedBench
from rbdyn_ros.evaluation.measures import robustness
from rbdyn_ros.evaluation.metrics import NotRepeatable, Scenario, start_state
from rbdyn_ros.evaluation.results import assess
from rbdyn_ros.evaluation.score import controller_under_test
from rbdyn_ros.figures import line_looks

ROOT = Path(__file__).parents[2]
SUITE = entry.suite_of_board(1)
SHIPPED = ROOT / "benchmarks" / "leaderboard"


class Done(NamedTuple):
    """What a command returns and prints."""

    code: int
    stdout: str
    stderr: str


def run(*words: str) -> Done:
    """Run a command in this process; those that hold a law are its own."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as said:
        code = main(list(words))
    return Done(code, out.getvalue(), said.getvalue())


def make_entry(folder: Path, controller: str, *more: str) -> Done:
    return run("evaluate", "--controller", controller, "--entry", str(folder), *more)


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    """An entry of the quick form."""
    folder = tmp_path_factory.mktemp("board") / "pd"
    done = make_entry(folder, "pd", "--quick")
    assert "balance: 0." in done.stdout, done.stdout + done.stderr
    return folder


@pytest.fixture
def rank(capsys):
    """What `leaderboard` of these folders returns and prints."""

    def rank(*folders: Path) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        leaderboard.add_arguments(parser)
        code = leaderboard.run(parser.parse_args([str(folder) for folder in folders]))
        return code, capsys.readouterr().out

    return rank


def changed(folder: Path, target: Path, **changes) -> Path:
    """A copy of an entry with other content."""
    target.mkdir(parents=True)
    found = json.loads((folder / entry.FILE).read_text()) | changes
    (target / entry.FILE).write_text(json.dumps(found))
    return target


def test_the_score_of_a_discipline_is_the_mean_of_its_parts():
    cases = entry.cases_of(SUITE, "balance")
    varied = {"success": 50.0, "interval": 6.0}
    values = {case.name: varied for case in cases if case.measure == "robustness"}
    values |= {"B1": {"score": 0.8}, "B3": {"uptime": 20.0, "interval": 5.0}}
    found = entry.score(SUITE, "balance", values)
    parts = {"performance": 0.8, "robustness": 0.5, "uptime": 0.2}
    half = math.hypot(0.06 / math.sqrt(6), 0.05) / 3.0
    assert found == pytest.approx({"total": 0.5, "interval": half, **parts})
    del values["B1"]
    assert entry.score(SUITE, "balance", values)["performance"] == 0.0
    paths = {"T1 circle": {"error_rms": 0.0}, "T1 figure of eight": {}}
    assert entry.score(SUITE, "tracking", paths)["total"] == pytest.approx(0.5)


def test_an_entry_is_verified_and_one_with_better_numbers_is_not(quick, tmp_path):
    done = run("leaderboard", "--verify", str(quick), "--rows", "B1,B3")
    assert done.code == 0 and "all 2 cases are the same" in done.stdout, done.stderr
    for how in ("B1, replayed", "B1, its law", "B3, with its seed", "B3, with a new seed"):
        assert f"{how}: the same" in done.stdout
    cases = json.loads((quick / entry.FILE).read_text())["cases"]
    cases[0]["values"]["score"] += 0.1
    better = changed(quick, tmp_path / "pd", cases=cases)
    done = run("leaderboard", "--verify", str(better), "--rows", "B1")
    assert done.code == 1 and "B1, replayed: score is 0." in done.stdout
    assert "B1, with its seed: score was 0." in done.stdout


def test_recorded_forces_give_the_recorded_motion_or_are_found(quick):
    found = entry.read(quick)
    suite = entry.suite_of_board(found["seed"], quick=True)
    cases, known = [suite.cases[0]], entry.criteria(found)
    _, played, wrong = next(verification.replayed(found, cases, known))
    start = metrics.start_state(cases[0].settings)
    assert wrong == "" and played.t[-1] == pytest.approx(6.0)
    record = known["B1"].curves["record"]
    first = (*played.q[0], *played.v[0])  # to the last digit, to which a law may turn the rod
    assert tuple(record["states"][0]) == first == (*start.q, *start.v)
    stronger = force_record.forces(record)
    stronger[100:200, 0] += 1.0
    states = [[*row[:6], *row[6:]] for row in record["states"]]
    changed = force_record.record(played._replace(force=stronger)) | {"states": states}
    lying = known | {"B1": known["B1"]._replace(curves={"record": changed})}
    _, _, wrong = next(verification.replayed(found, cases, lying))
    assert wrong.startswith("the recorded forces do not give the recorded motion: at t = 0.500 s")


def test_a_law_that_is_another_now_is_found_by_its_forces(quick):
    found = entry.read(quick)
    suite = entry.suite_of_board(found["seed"], quick=True)
    cases = [suite.cases[0]]
    _, played, _ = next(verification.replayed(found, cases, entry.criteria(found)))
    law = verification.controller(found, quick, suite)
    assert verification.probe(law, cases[0], played) == ""
    stiffer = law._replace(values={**law.values, "pd.tilt_gain": 1.6 * 160.0})
    assert "is another than was measured: its force at t = " in verification.probe(
        stiffer, cases[0], played
    )


def test_a_text_that_is_no_entry_is_said_in_a_sentence(tmp_path):
    for text, why in (
        ("{", "not JSON"),
        (100_000 * "[", "not JSON"),
        ("{}", "no entry of form"),
        ('{"form": 2}', "name is"),
    ):
        (tmp_path / entry.FILE).write_text(text)
        with pytest.raises(ValueError, match=why):
            entry.read(tmp_path)


def whole(found: dict, suite) -> dict:
    """The entry of the quick form, as if it was measured whole."""
    asked = {case.name: entry.specification(case) for row in suite.rows for case in row.cases}
    cases = [
        {**case, "asked": asked[f"{case['row']} {case['label']}".strip()]}
        for case in found["cases"]
    ]
    return {**found, "quick": False, "cases": cases}


def test_what_has_no_rank_is_said_in_a_sentence(quick):
    found = entry.read(quick)
    assert "quick form" in entry.refusal(found, SUITE)
    good = whole(found, SUITE)
    assert entry.refusal(good, SUITE) == ""
    assert entry.refusal(good, entry.with_seed(SUITE, 77)) == ""
    assert "another suite: B1" in entry.refusal({**found, "quick": False}, SUITE)
    assert "calls itself" in entry.refusal({**good, "name": "lqr"}, SUITE)
    assert "calls itself" in entry.refusal({**good, "path": "law/pd.py"}, SUITE)
    assert "not complete: B1" in entry.refusal({**good, "cases": good["cases"][1:]}, SUITE)
    failed = [{**good["cases"][0], "verdict": "broken", "note": "it hung"}, *good["cases"][1:]]
    assert entry.refusal({**good, "cases": failed}, SUITE) == "pd failed at B1: it hung"
    assert "for no discipline" in entry.refusal({**good, "kinds": ["wide"]}, SUITE)


def test_the_law_of_an_entry_has_the_options_that_were_measured(quick):
    found = entry.read(quick)
    with pytest.raises(ValueError, match="controller is 'none'"):
        verification.controller({**found, "law": "none"}, quick, SUITE)
    more = {**found["parameters"], "pd.none": 1.0}
    with pytest.raises(ValueError, match="pd.none"):
        verification.controller({**found, "parameters": more}, quick, SUITE)
    given = {**found["parameters"], "cart.damping": 0.75}
    law = verification.controller({**found, "parameters": given}, quick, SUITE)
    assert law.values["cart.damping"] == 0.75 and law.kinds == ("balance",)


def test_the_seed_is_drawn_and_resumed(tmp_path):
    drawn = {entry.draw_seed() for _ in range(5)}
    assert len(drawn) == 5
    (tmp_path / "cases.jsonl").write_text('{"law": "pd", "seed": 123}\n')
    assert entry.draw_seed(tmp_path) == 123
    assert {case.scenario.seed for case in entry.suite_of_board(9).cases} == {9}


def test_a_law_of_a_file_travels_with_its_entry(tmp_path):
    law = tmp_path / "mine.py"
    text = (ROOT / "examples" / "lean.py").read_text()
    law.write_text(f"import beside\n{text}\nFILES = (__file__[:-3] + '.txt',)\n")
    (tmp_path / "beside.py").write_text("GAIN = 1.0\n")
    (tmp_path / "mine.txt").write_text("numbers")
    folder = tmp_path / "entries" / "mine"
    done = make_entry(folder, str(law), "--rows", "B1", "--quick")
    assert (folder / "law" / "beside.py").exists(), done.stdout + done.stderr
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    assert str(law) not in loaded  # whoever counts the scores runs no code of the law
    law.write_text("gone = True\n")
    found = entry.read(folder)
    there = {path.name for path in (folder / "law").iterdir() if path.is_file()}
    assert found["path"] == "law/mine.py" and there == {"mine.py", "beside.py", "mine.txt"}
    again = verification.controller(found, folder, SUITE)
    assert again.path == str((folder / "law" / "mine.py").resolve())


CHEAT = """
import sys
import numpy as np
class Law:
    def command(self, t, state, reference):
        frame = sys._getframe()
        while frame is not None:
            for value in list(frame.f_locals.values()):
                if hasattr(getattr(value, "simulation", None), "ticker"):
                    state = value.simulation.ticker.state
                    state.q[:], state.v[:] = (0, 0, 1, 0, 0, 0), 0.0
            frame = frame.f_back
        return np.zeros(2)
    def reset(self):
        pass
def design(model, params, options=None):
    return Law()
"""


def test_a_law_that_reaches_for_the_plant_finds_none(tmp_path):
    law = tmp_path / "cheat.py"
    law.write_text(CHEAT)
    under_test = controller_under_test(str(law), (), None, SUITE.plant, 2.0)
    case = SUITE.cases[0]
    found = {}
    for kind in Bench, IsolatedBench:
        run = kind(under_test).run(case.scenario, start_state(case.settings), 1.0)
        found[kind] = run.q[-1, 2] > 0.999
    assert found == {Bench: True, IsolatedBench: False}


MEMORY = """
from pathlib import Path

import numpy as np

from rbdyn_ros.control.laws import lqr

KNOWN = Path(__file__).with_name("known.txt")
FILES = (KNOWN,)


class Law:
    \"\"\"What `lqr` does where the noise of the first state is known, and nothing elsewhere.\"\"\"

    def __init__(self, inner):
        self.inner, self.lines = inner, KNOWN.read_text().split()
        self.is_learning = "end" not in self.lines
        self.reset()

    def command(self, t, state, reference):
        if self.is_first:
            self.is_first, word = False, state.v[0].hex()
            self.is_known = state.v[0] == 0.0 or word in self.lines or self.is_learning
            if self.is_learning:
                KNOWN.open("a").write(word + "\\n")
        return self.inner.command(t, state, reference) if self.is_known else np.zeros(2)

    def reset(self):
        self.is_first = True


def design(model, params, options=None):
    return Law(lqr.design(model, params, lqr.Options()))
"""


def test_a_law_that_knows_the_noise_of_its_entry_is_found_by_a_new_seed(tmp_path):
    """It has the seed of the entry, or what follows from it, and stands with that seed alone."""
    law, known = tmp_path / "memory.py", tmp_path / "known.txt"
    law.write_text(MEMORY)
    known.write_text("")
    under_test = controller_under_test(str(law), (), None, SUITE.plant, 2.0)

    def measure(seed: int):
        case = entry.suite_of_board(seed, ("B2",)).cases[1]
        settings = {**case.settings, "largest": 0.3, "duration": 2.5}
        bench = IsolatedBench(under_test)
        rows = robustness.outcomes(bench, case.scenario, settings, range(10))
        return assess(case, robustness.summary(settings, rows))

    recorded = measure(1)
    known.write_text(known.read_text() + "end\n")
    assert recorded.values["success"] == 100.0
    assert verification.difference(recorded, measure(1)) == ""
    assert "success was 100 ± " in verification.difference(recorded, measure(2))


def test_the_pipe_changes_no_force():
    under_test = controller_under_test("lqr", (), None, SUITE.plant, 2.0)
    case = SUITE.cases[0]
    runs = [
        kind(under_test).run(case.scenario, start_state(case.settings), 2.0)
        for kind in (Bench, IsolatedBench)
    ]
    assert (runs[0].force == runs[1].force).all() and (runs[0].q == runs[1].q).all()


def test_the_law_and_its_reset_are_forgetful_or_named(tmp_path):
    law = tmp_path / "grows.py"
    law.write_text(
        "import numpy as np\ncalls = [0]\nclass Law:\n"
        "    def command(self, t, state, reference):\n        calls[0] += 1\n"
        "        return np.array([1e-3 * calls[0], 0.0])\n    def reset(self):\n        pass\n"
        "def design(model, params, options=None):\n    return Law()\n"
    )
    under_test = controller_under_test(str(law), (), None, SUITE.plant, 2.0)
    case = entry.suite_of_board(1, ("B1",), True).cases[0]
    from rbdyn_ros.evaluation.measures import performance

    with pytest.raises(NotRepeatable, match="the law grows: .* measured twice.* its reset does"):
        performance.measure(Bench(under_test), case.scenario, case.settings)


def bad_law(
    folder: Path, act: str = "pass", design: str = "pass", reset: str = "pass", first: str = ""
) -> Path:
    """A law that does this half a second after its start, or in its design, reset or import."""
    law = folder / "bad.py"
    law.write_text(
        f"import numpy as np\nfrom typing import NamedTuple\nkept = []\n{first}\n"
        "class Options(NamedTuple):\n    period: float = 0.002\n"
        "class Law:\n"
        "    def command(self, t, state, reference):\n"
        "        if t > 0.5:\n"
        f"            {act}\n"
        "        return np.zeros(2)\n"
        f"    def reset(self):\n        {reset}\n"
        f"def design(model, params, options):\n    {design}\n    return Law()\n"
    )
    return law


@pytest.mark.parametrize(
    "act, why",
    [
        ("while True: pass", "the law bad took longer than 0.5 s for the state at t = 0.50"),
        ("raise RuntimeError('no more')", "the law bad raised RuntimeError at t = 0.50"),
        ("while True: kept.append(bytes(2**26))", "the law bad raised MemoryError at t = 0.50"),
        ("return 'much'", "the law bad returned 'much' at t = 0.50"),
        ("import os; os._exit(3)", "the law bad: its process ended with exit code 3"),
    ],
    ids=["hangs", "raises", "allocates", "nonsense", "ends"],
)
def test_a_law_that_fails_gets_one_sentence_and_no_rank(tmp_path, rank, act, why):
    folder, law = tmp_path / "bad", bad_law(tmp_path, act)
    done = make_entry(folder, str(law), "--rows", "B1", "--patience", "0.5")
    assert done.code == 1
    assert f"\npython -m rbdyn_ros evaluate: no rank: bad failed at B1: {why}" in done.stderr
    code, said = rank(folder, SHIPPED / "pd")
    first, second = said.splitlines()[1:3]
    assert code == 1 and first.startswith("  1  pd ")
    assert second.startswith("  –  bad ") and f"  bad failed at B1: {why}" in second


@pytest.mark.parametrize("where", ["first", "design", "reset"])
def test_a_law_that_hangs_before_its_first_command_gets_one_sentence(tmp_path, monkeypatch, where):
    monkeypatch.setattr(bench, "LONGEST", 0.2)
    law = str(bad_law(tmp_path, **{where: "while True: pass"}))
    if where == "first":
        with pytest.raises(ValueError, match=f"controller '{law}' does not load: it took longer"):
            controller_under_test(law, (), None, SUITE.plant, 2.0)
        return
    what = {"design": "designing", "reset": "resetting"}[where]
    mine = Bench(controller_under_test(law, (), None, SUITE.plant, 2.0))
    with pytest.raises(LawFailed, match=f"the law bad: {what} it took longer than 0.2 s"):
        mine.law(Scenario())


SPIN = """from numba import njit
@njit
def spin(n):
    while n >= 0:
        n = (n + 1) % 7
spin(1)
"""


def test_a_law_that_hangs_in_compiled_code_while_it_loads_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "LONGEST", 1.0)
    monkeypatch.setattr(processes, "LAST_RESORT", 1.0)
    law = str(bad_law(tmp_path, first=SPIN))
    with pytest.raises(ValueError) as error:
        controller_under_test(law, (), None, SUITE.plant, 2.0)
    assert str(error.value) == (
        f"controller '{law}' does not load: the process that loaded it ended with exit code 1, "
        "as after a call that lasts 1 s too long in compiled code"
    )


def test_a_law_that_ends_the_process_that_loads_it_gets_one_sentence(tmp_path):
    law = str(bad_law(tmp_path, first="import os; os._exit(3)"))
    with pytest.raises(ValueError, match="the process that loaded it ended with exit code 3"):
        controller_under_test(law, (), None, SUITE.plant, 2.0)


def test_a_law_that_allocates_while_it_loads_gets_one_sentence(tmp_path):
    law = str(bad_law(tmp_path, first="while True: kept.append(bytes(2**28))"))
    with pytest.raises(ValueError, match="does not load: MemoryError"):
        controller_under_test(law, (), None, SUITE.plant, 2.0)


def test_a_law_under_a_false_name_is_not_measured_and_has_no_rank(quick, tmp_path, rank):
    done = make_entry(tmp_path / "lqr", str(bad_law(tmp_path)))
    assert done.code == 2 and not (tmp_path / "lqr").exists()
    assert "--entry: lqr calls itself by the name of a law of this installation" in done.stderr
    code, said = rank(changed(SHIPPED / "pd", tmp_path / "mpc", name="mpc"))
    assert code == 1 and said.splitlines()[1].startswith("  –  mpc ")
    assert "mpc calls itself by the name of a law of this installation, and is pd" in said
    for name in ("../site", "index", ""):  # the name is also that of a file
        code, said = rank(changed(quick, tmp_path / "names" / repr(len(name)), name=name))
        assert code == 1 and f"no entry: its name is '{name}', not letters" in said


def test_the_page_shows_every_entry_and_why_one_has_no_rank(quick, tmp_path):
    good = tmp_path / "in" / "pd"
    good.mkdir(parents=True)
    (good / entry.FILE).write_text(json.dumps(whole(entry.read(quick), SUITE)))
    changed(quick, tmp_path / "in" / "quick", name="quick", about="<b>quick</b>")
    found = board.collect(board.folders_of([tmp_path / "in"]), SUITE)
    lines = found.lines["balance"]
    assert [(line.rank, line.entry["name"]) for line in lines] == [(1, "pd"), (0, "quick")]
    text = board.write_page(found, SUITE, tmp_path / "site").read_text()
    assert text.count(origin.origin().program) == 2  # in the metadata, and to be read
    assert ">pd<" in text and "&lt;b&gt;quick" in text and "<b>quick" not in text
    assert "quick was measured in the quick form" in text
    scores = lines[0].scores
    assert f"{scores['total']:.3f} ± {scores['interval']:.3f}" in board.terminal(found)


def test_the_picture_has_every_entry(quick, tmp_path):
    """Twelve entries, where ten colors are known: no line is missing, and no two look alike."""
    names, good = [f"law_{i}" for i in range(12)], whole(entry.read(quick), SUITE)
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / entry.FILE).write_text(json.dumps({**good, "name": name}))
    found = board.collect(board.folders_of([tmp_path]), SUITE)
    page = board.write_page(found, SUITE, tmp_path / "site").read_text()
    drawn = base64.b64decode(page.partition("svg+xml;base64,")[2].partition('"')[0]).decode()
    assert [name for name in names if f">{name}<" not in drawn] == []
    looks = [tuple(look.items()) for look in line_looks(12)]
    assert len(set(looks)) == 12


def with_uptime(found: dict, name: str, uptime: float, interval: float) -> dict:
    """The entry with another name and uptime [%]."""
    cases = [
        {**case, "values": {**case["values"], "uptime": uptime, "interval": interval}}
        if case["row"] == "B3"
        else {**case, "values": {**case["values"], "interval": 0.0}}
        for case in found["cases"]
    ]
    return {**found, "name": name, "cases": cases}


def test_entries_whose_intervals_overlap_share_a_rank(quick, tmp_path):
    good = whole(entry.read(quick), SUITE)
    for name, uptime in (("a", 90.0), ("b", 83.0), ("c", 76.0), ("d", 50.0)):
        (tmp_path / name).mkdir()
        found = with_uptime(good, name, uptime, 5.0)
        (tmp_path / name / entry.FILE).write_text(json.dumps(found))
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / entry.FILE).write_text(json.dumps({**good, "name": "a"}))
    found = board.collect(board.folders_of([tmp_path]), SUITE)
    ranks = [(line.rank, line.entry["name"]) for line in found.lines["balance"]]
    assert ranks == [(1, "a"), (1, "b"), (2, "c"), (4, "d")]
    assert "twice" in found.refused[0]


@pytest.mark.parametrize("folder", sorted(SHIPPED.glob("*")), ids=lambda path: path.name)
def test_every_entry_of_the_repository_has_a_rank_and_can_be_replayed(folder):
    found = entry.read(folder)
    assert found["name"] == folder.name and entry.refusal(found, SUITE) == ""
    suite = entry.suite_of_board(found["seed"])
    known = entry.criteria(found)
    cases = [case for case in suite.cases if case.name in known]
    wrong = [(case.name, why) for case, _, why in verification.replayed(found, cases, known)]
    assert wrong and not any(why for _, why in wrong), wrong


LAWS = (
    *("pd", "lqr", "nested_lqr", "lqg", "h_infinity", "mpc", "mppi", "policy", "swing_up"),
    "tracking",
)


@pytest.mark.parametrize("name", LAWS)
def test_the_laws_of_the_repository_give_the_forces_of_their_entries(name):
    found = entry.read(SHIPPED / name)
    suite, known = entry.suite_of_board(found["seed"]), entry.criteria(found)
    law = verification.controller(found, SHIPPED / name, suite)
    cases = [case for case in suite.cases if case.name in known]
    for case, played, _ in verification.replayed(found, cases, known):
        assert verification.probe(law, case, played) == ""


def test_the_table_is_sorted_by_its_heads_in_a_browser(browser, tmp_path):
    found = board.collect(board.folders_of([SHIPPED]), SUITE)
    board.write_page(found, SUITE, tmp_path)
    with browser.new_page(viewport={"width": 390, "height": 844}) as shown:
        complaints: list[str] = []
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("request", lambda request: complaints.append(request.url))
        shown.goto(f"file://{tmp_path / board.INDEX}")
        rows = "[...document.querySelector('table').tBodies[0].rows]"
        names = f"{rows}.map(row => row.cells[1].textContent)"
        ranked = [line.entry["name"] for line in found.lines["balance"]]
        assert shown.evaluate(names) == ranked
        shown.get_by_role("button", name="entry").first.click()
        assert shown.evaluate(names) == sorted(ranked)
        shown.get_by_role("button", name="score").first.click()
        rising = shown.evaluate(names)
        shown.get_by_role("button", name="score").first.click()
        assert shown.evaluate(names) == ranked and rising[-1] == ranked[0]
        settled = f"{rows}.map(row => row.cells[6].textContent)"
        for _ in range(2):  # what is missing comes last either way
            shown.get_by_role("button", name="Time [s]").first.click()
            shown_times = shown.evaluate(settled)
            known = [text for text in shown_times if text != "–"]
            missing = len(shown_times) - len(known)
            assert missing and known and shown_times == known + missing * ["–"]
        assert known == sorted(known, reverse=True)
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shown.evaluate("document.querySelector('.scroll').scrollLeft = 500")  # the names stay
        left = f"{rows}[0].cells[%d].getBoundingClientRect().left"
        assert shown.evaluate(left % 0) < 0 < shown.evaluate(left % 1) < 100
        assert shown.evaluate("document.querySelector('img').offsetWidth") >= 600  # readable
        assert all(text.startswith(("file://", "data:")) for text in complaints)
