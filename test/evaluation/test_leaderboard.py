"""The leaderboard: scores, entries that lie, hang or change, verification, pages."""

import argparse
import base64
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from rbdyn_ros.__main__ import main
from rbdyn_ros.cli import leaderboard
from rbdyn_ros.control import select
from rbdyn_ros.evaluation import bench, board, entry, score
from rbdyn_ros.evaluation.bench import Bench, LawFailed
from rbdyn_ros.evaluation.metrics import Scenario
from rbdyn_ros.evaluation.score import Score, controller_under_test
from rbdyn_ros.figures import line_looks

ROOT = Path(__file__).parents[2]
SUITE = board.suite_of_board()
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
    assert "balance: total 0." in done.stdout, done.stdout + done.stderr
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


def sealed(found: dict) -> dict:
    """An entry with the fingerprint of its content."""
    content = {key: value for key, value in found.items() if key != "fingerprint"}
    return {**content, "fingerprint": entry.fingerprint(content)}


def changed(folder: Path, target: Path, seal: bool = True, **changes) -> Path:
    """A copy of an entry with other content."""
    target.mkdir(parents=True)
    found = json.loads((folder / entry.FILE).read_text()) | changes
    (target / entry.FILE).write_text(json.dumps(sealed(found) if seal else found))
    return target


def test_the_score_of_a_discipline_is_the_mean_of_its_parts():
    cases = entry.cases_of(SUITE, "balance")
    values = {case.name: {"success": 50.0} for case in cases if case.measure == "robustness"}
    values |= {"B1": {"score": 0.8}, "B3": {"uptime": 20.0}}
    found = entry.score(SUITE, "balance", values)
    parts = {"performance": 0.8, "robustness": 0.5, "uptime": 0.2}
    assert found == pytest.approx({"total": 0.5, **parts})
    del values["B1"]
    assert entry.score(SUITE, "balance", values)["performance"] == 0.0
    paths = {"T1 circle": {"error_rms": 0.0}, "T1 figure of eight": {}}
    assert entry.score(SUITE, "tracking", paths)["total"] == pytest.approx(0.5)


def test_an_entry_is_verified_equal_and_one_with_better_numbers_is_not(quick, tmp_path):
    done = run("leaderboard", "--verify", str(quick))
    assert done.code == 0 and "all 8 cases are equal" in done.stdout, done.stderr
    cases = json.loads((quick / entry.FILE).read_text())["cases"]
    cases[0]["values"]["time"] -= 1.0
    done = run("leaderboard", "--verify", str(changed(quick, tmp_path / "pd", cases=cases)))
    assert done.code == 1 and "B1: time was " in done.stdout
    assert "1 of 8 cases differ" in done.stderr


def test_an_entry_that_was_changed_has_no_rank(quick, tmp_path):
    found = json.loads((quick / entry.FILE).read_text())
    with pytest.raises(ValueError, match="was changed after it was made"):
        entry.read(changed(quick, tmp_path / "a", seal=False, kinds=["swing_up"]))
    assert entry.read(quick) == found
    deep = 100_000 * "["
    for text, why in (
        ("{", "not JSON"),
        (deep, "not JSON"),
        ("{}", "no entry of form"),
        ('{"form": 1}', "name is"),
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
    return sealed({**found, "quick": False, "cases": cases})


def test_what_has_no_rank_is_said_in_a_sentence(quick):
    found = entry.read(quick)
    assert "quick form" in entry.refusal(found, SUITE)
    good = whole(found, SUITE)
    assert entry.refusal(good, SUITE) == ""
    assert "another suite: B1" in entry.refusal({**found, "quick": False}, SUITE)
    assert "calls itself" in entry.refusal({**good, "name": "lqr"}, SUITE)
    assert "calls itself" in entry.refusal({**good, "path": "law/pd.py"}, SUITE)
    assert "not complete: B1" in entry.refusal({**good, "cases": good["cases"][1:]}, SUITE)
    better = {"balance": {**good["scores"]["balance"], "total": 0.99}}
    assert "do not follow" in entry.refusal({**good, "scores": better}, SUITE)
    failed = [{**good["cases"][0], "verdict": "broken", "note": "it hung"}, *good["cases"][1:]]
    assert entry.refusal({**good, "cases": failed}, SUITE) == "pd failed at B1: it hung"
    assert "for no discipline" in entry.refusal({**good, "kinds": ["wide"]}, SUITE)


def test_a_law_that_is_another_now_is_not_measured(quick, tmp_path):
    found = entry.read(quick)
    for files, why in (({"pd.py": "0" * 64}, "another one"), ({"other.py": "0"}, "not there")):
        with pytest.raises(ValueError, match=why):
            board.controller({**found, "files": files}, quick, SUITE)
    with pytest.raises(ValueError, match="controller is 'none'"):
        board.controller({**found, "law": "none"}, quick, SUITE)
    more = {**found["parameters"], "pd.none": 1.0}
    with pytest.raises(ValueError, match="pd.none is no parameter"):
        board.controller({**found, "parameters": more}, quick, SUITE)
    assert board.controller(found, quick, SUITE).values["cart.damping"] == 0.5


def test_a_law_of_a_file_travels_with_its_entry(tmp_path):
    law = tmp_path / "mine.py"
    text = (ROOT / "examples" / "lean.py").read_text()
    law.write_text(f"import beside\n{text}\nFILES = (__file__[:-3] + '.txt',)\n")
    (tmp_path / "beside.py").write_text("GAIN = 1.0\n")
    (tmp_path / "mine.txt").write_text("numbers")
    folder = tmp_path / "entries" / "mine"
    done = make_entry(folder, str(law), "--rows", "B1", "--quick")
    assert (folder / "law" / "beside.py").exists(), done.stdout + done.stderr
    law.write_text("gone = True\n")
    found = entry.read(folder)
    assert found["path"] == "law/mine.py" and set(found["files"]) == {
        *("mine.py", "beside.py", "mine.txt")
    }
    again = board.controller(found, folder, SUITE)
    assert again.path == str((folder / "law" / "mine.py").resolve())
    (folder / "law" / "beside.py").write_text("GAIN = 2.0\n")
    with pytest.raises(ValueError, match="beside.py of the law is another one"):
        board.controller(found, folder, SUITE)


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
        ("import os; os._exit(3)", "the process that measured it ended with exit code 3"),
    ],
    ids=["hangs", "raises", "allocates", "nonsense", "ends"],
)
def test_a_law_that_fails_gets_one_sentence_and_no_rank(tmp_path, rank, act, why):
    folder, law = tmp_path / "bad", bad_law(tmp_path, act)
    done = make_entry(folder, str(law), "--rows", "B1", "--patience", "0.5")
    assert done.code == 1
    assert f"\npython -m rbdyn_ros evaluate: no rank: bad failed at B1: {why}" in done.stderr
    code, said = rank(folder, SHIPPED / "pd")
    board, _, others = said.partition("Without a rank\n")
    assert code == 1 and "  1  pd  0.742" in board and "bad" not in board
    assert f"bad failed at B1: {why}" in others and len(others.splitlines()) == 1


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
    monkeypatch.setattr(score, "LAST_RESORT", 1.0)
    law = str(bad_law(tmp_path, first=SPIN))
    with pytest.raises(ValueError) as error:
        controller_under_test(law, (), None, SUITE.plant, 2.0)
    assert str(error.value) == (
        f"controller '{law}' does not load: the process that loaded it ended with exit code 1, "
        "as after a call that lasts 1 s too long in compiled code"
    )
    found = {"name": "mine", "law": "bad", "path": "bad.py", "kinds": [], "parameters": {}}
    with pytest.raises(ValueError, match="does not load: the process that loaded it ended"):
        board.controller(found, tmp_path, SUITE)


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
    assert (code, said) == (
        1,
        "Without a rank\n     mpc calls itself by the name of a law of this installation, and is "
        "pd; rename it\n",
    )
    for name in ("../site", "index", ""):  # the name is also that of a file
        code, said = rank(changed(quick, tmp_path / "names" / repr(len(name)), name=name))
        assert code == 1 and f"no entry: its name is '{name}', not letters" in said


def test_an_entry_whose_law_or_numbers_were_changed_has_no_rank(tmp_path, rank):
    source, law = SHIPPED / "python_control", tmp_path / "law"
    shutil.copytree(source, law)
    assert rank(law)[0] == 0
    better = {"balance": {**entry.read(source)["scores"]["balance"], "total": 0.99}}
    numbers = changed(source, tmp_path / "numbers", seal=False, scores=better)
    with (law / "law" / "state_space.py").open("a") as file:
        file.write("# another one\n")
    code, said = rank(law, numbers, SHIPPED / "pd")
    assert code == 1 and said.splitlines()[-2:] == [
        "     python_control has no rank: state_space.py of the law is another one than was "
        "measured",
        f"     {numbers / entry.FILE} was changed after it was made: its fingerprint does not fit",
    ]
    (law / "law" / "state_space.py").unlink()
    assert "state_space.py of the law is not there" in rank(law)[1]


def test_the_page_shows_every_entry_and_what_has_no_rank(quick, tmp_path):
    good = tmp_path / "in" / "pd"
    good.mkdir(parents=True)
    (good / entry.FILE).write_text(json.dumps(whole(entry.read(quick), SUITE)))
    changed(quick, tmp_path / "in" / "quick", name="<b>quick</b>")
    found = board.collect(board.folders_of([tmp_path / "in"]), SUITE)
    assert [line.entry["name"] for line in found.lines["balance"]] == ["pd"]
    board.write_pages(found, SUITE, tmp_path / "site")
    text = (tmp_path / "site" / board.INDEX).read_text()
    assert 'href="pd.html"' in text and "&lt;b&gt;quick" in text and "<b>quick" not in text
    assert "data:image/svg+xml" in (tmp_path / "site" / "pd.html").read_text()
    total = found.lines["balance"][0].scores["total"]
    assert f"{total:.3f}" in board.terminal(found)


def test_the_picture_has_every_entry(quick, tmp_path):
    """Twelve entries, where ten colors are known: no line is missing, and no two look alike."""
    names, good = [f"law_{i}" for i in range(12)], whole(entry.read(quick), SUITE)
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / entry.FILE).write_text(json.dumps(sealed({**good, "name": name})))
    found = board.collect(board.folders_of([tmp_path]), SUITE)
    board.write_pages(found, SUITE, tmp_path / "site")
    page = (tmp_path / "site" / board.INDEX).read_text()
    drawn = base64.b64decode(page.partition("svg+xml;base64,")[2].partition('"')[0]).decode()
    assert [name for name in names if f">{name}<" not in drawn] == []
    looks = [tuple(look.items()) for look in line_looks(12)]
    assert len(set(looks)) == 12


def test_equal_scores_share_a_rank(quick, tmp_path):
    good = whole(entry.read(quick), SUITE)
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / entry.FILE).write_text(json.dumps(sealed({**good, "name": name})))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / entry.FILE).write_text(json.dumps(sealed({**good, "name": "a"})))
    found = board.collect(board.folders_of([tmp_path]), SUITE)
    assert [(line.rank, line.entry["name"]) for line in found.lines["balance"]] == [
        (1, "a"),
        (1, "b"),
    ]
    assert "twice" in found.refused[0]


@pytest.mark.parametrize("folder", sorted(SHIPPED.glob("*")), ids=lambda path: path.name)
def test_every_entry_of_the_repository_has_a_rank(folder):
    found = entry.read(folder)
    assert found["name"] == folder.name and entry.refusal(found, SUITE) == ""
    if not found["path"]:
        law = select.load(found["law"])
        own = Path(law.__file__)
        assert found["files"][own.name] == entry.hash_of(own.read_bytes()), (
            f"{own.name} was changed since it was measured: measure the entry anew"
        )


@pytest.mark.parametrize("name, row", [("lqr", "B1"), ("swing_up", "U1"), ("tracking", "T1")])
def test_an_entry_of_the_repository_is_what_is_measured_here(name, row):
    found = entry.read(SHIPPED / name)
    suite = board.suite_of_board((row,))
    law = board.controller(found, SHIPPED / name, suite)
    before, now = entry.criteria(found), {}
    cases = [case for one in suite.rows for case in one.cases]

    class Stop:
        signal = 0

    Score(cases, lambda case: now.update({case.name: case}), lambda _: None).measure_all(
        Bench(law), Stop
    )
    assert {case: board.differences(before[case], now[case]) for case in now} == {
        case.name: [] for case in cases
    }


def test_the_table_is_sorted_by_its_heads_in_a_browser(browser, tmp_path):
    found = board.collect(board.folders_of([SHIPPED]), SUITE)
    board.write_pages(found, SUITE, tmp_path)
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
            shown.get_by_role("button", name="Settled [s]").first.click()
            *some, last, nothing = shown.evaluate(settled)
            assert last == nothing == "–" and "–" not in some
        assert some == sorted(some, reverse=True)
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shown.evaluate("document.querySelector('.scroll').scrollLeft = 500")  # the names stay
        left = f"{rows}[0].cells[%d].getBoundingClientRect().left"
        assert shown.evaluate(left % 0) < 0 < shown.evaluate(left % 1) < 100
        assert shown.evaluate("document.querySelector('img').offsetWidth") >= 600  # readable
        shown.get_by_role("link", name=ranked[0]).first.click()
        assert shown.get_by_role("heading", name=ranked[0]).first.is_visible()
        assert all(text.startswith(("file://", "data:")) for text in complaints)
