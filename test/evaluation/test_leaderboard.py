"""The leaderboard: scores by hand, entries that lie, hang or change, verification, pages."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.control import select
from rbdyn_ros.evaluation.bench import Bench
from rbdyn_ros.evaluation.controller_under_test import local_controller
from rbdyn_ros.evaluation.leaderboard import board, entry, page, scores, task, verify
from rbdyn_ros.evaluation.measures import performance, robustness, uptime
from rbdyn_ros.evaluation.scenario import Scenario
from rbdyn_ros.evaluation.score import Score
from rbdyn_ros.simulation.rollout import Rollout

ROOT = Path(__file__).parents[2]
SUITE = board.suite_of_board()
SHIPPED = ROOT / "benchmarks" / "leaderboard"


def bench(name: str) -> Bench:
    return Bench(local_controller(name, (), None, SUITE.plant, 2.0))


def defaults(measure, **settings) -> dict:
    return {p.name: p.default for p in measure.SETTINGS} | settings


def leaning(tilt_deg, h: float = 0.01) -> Rollout:
    """Rows of a rod that leans by these tilts about y, the cart at rest under 2 N along x."""
    half = 0.5 * np.radians(np.asarray(tilt_deg, float))
    q = np.zeros((len(half), 6))
    q[:, 2], q[:, 4] = np.cos(half), np.sin(half)
    force = np.tile((2.0, 0.0), (len(half) - 1, 1))
    return Rollout(h * np.arange(len(half)), q, np.zeros((len(half), 5)), force)


def make_entry(folder: Path, controller: str, *more: str) -> subprocess.CompletedProcess:
    command = (sys.executable, "-m", "rbdyn_ros", "evaluate", "--controller", controller)
    return subprocess.run(
        [*command, "--entry", str(folder), "--quick", *more],
        capture_output=True,
        text=True,
        timeout=300.0,
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Path:
    """An entry of the quick form."""
    folder = tmp_path_factory.mktemp("board") / "pd"
    done = make_entry(folder, "pd")
    assert "balance: total 0." in done.stdout, done.stdout + done.stderr
    return folder


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


def test_the_tip_above_nine_tenths_is_upright():
    run = leaning([180.0, 26.0, 25.0, 30.0, 25.8, 10.0, 0.0])
    assert task.is_upright(run).tolist() == [False, False, True, False, True, True, True]
    assert task.upright_since(run) == pytest.approx(0.04)
    assert task.upright_since(leaning([0.0, 0.0, 90.0])) == math.inf
    assert task.upright_since(leaning([0.0, 0.0])._replace(ended="off the rail")) == math.inf


def test_the_costs_of_a_run_are_those_of_their_formulas():
    t = np.arange(201) * 0.01
    run = leaning(np.zeros(201))
    q, v = run.q.copy(), run.v.copy()
    q[:, 0], v[:, 2], v[:, 4] = np.sin(3.0 * t), 0.5, 7.0  # the spin counts for nothing
    force = np.stack((4.0 * np.cos(3.0 * t[:-1]), -1.0 + 0.0 * t[:-1]), axis=1)
    found = performance.costs(run._replace(q=q, v=v, force=force))
    size = np.hypot(4.0 * np.cos(3.0 * t[:-1]), 1.0)
    dense = np.linspace(0.0, 2.0, 200001)
    power = np.abs(4.0 * np.cos(3.0 * dense) * 3.0 * np.cos(3.0 * dense))
    assert found["energy"] == pytest.approx(np.trapezoid(power, dense), rel=0.02)
    assert found["max_force"] == pytest.approx(size.max())
    assert found["integrated_force"] == pytest.approx(size.sum() * 0.01)
    assert found["force_cost"] == pytest.approx((size**2).sum() * 0.01)
    assert found["velocity_cost"] == pytest.approx(0.25 * 2.0)
    assert found["smoothness"] == pytest.approx(np.std(np.diff(force[:, 0])), rel=1e-9)


def test_the_score_of_a_run_is_that_of_its_costs():
    scale = {f"scale.{name}": 1e9 for name in performance.SCALES} | {"scale.time": 2.0}
    found = performance.measure(
        bench("lqr"), Scenario(travel=2.0), defaults(performance, settle=True, **scale)
    ).values
    assert found["success"] == 100.0 and 3.0 < found["time"] < 3.5
    assert found["score"] == pytest.approx(1.0 - math.tanh(math.pi * found["time"] / 2.0) / 5.0)
    down = defaults(performance, tilt=60.0, **scale)
    fallen = performance.measure(bench("lqr"), Scenario(travel=2.0), down).values
    assert fallen["success"] == 0.0 == fallen["score"] and fallen["time"] == math.inf


@pytest.mark.parametrize("kind", robustness.KINDS)
def test_every_variation_grows_to_the_largest(kind):
    scenario, settings = Scenario(seed=4), defaults(robustness, vary=kind, largest=0.2)
    law = bench("lqr")
    n = robustness.starts(law, scenario, settings)
    assert n == (50 if kind == "model" else 10)
    sizes = [robustness.vary(scenario, settings, i, 2.4)[0] for i in range(n)]
    assert max(np.abs(sizes)) == pytest.approx(0.2) and 0.0 not in sizes
    if kind == "model":
        np.testing.assert_allclose(
            sizes[:10], 0.04 * np.array([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])
        )
    _, asked, more = robustness.vary(scenario, settings, n - 1, 2.4)
    changed = asked.faults != scenario.faults or bool(more)
    assert changed and asked.seed != scenario.seed
    again = robustness.vary(scenario, settings, n - 1, 2.4)
    assert again[1] == asked and repr(again[2].get("pushes")) == repr(more.get("pushes"))


def test_noise_of_the_force_reaches_the_cart():
    settings = defaults(robustness, vary="force_noise", largest=5.0, variations=1)
    _, asked, more = robustness.vary(Scenario(), settings, 0, 2.4)
    law = bench("rest")
    run = law.run(asked, task.start_state(defaults(robustness, tilt=0.0)), 4.0, **more)
    assert run.force.std(axis=0) == pytest.approx((5.0, 5.0), rel=0.05)
    assert abs(run.force.mean()) < 0.3


def test_pushes_are_drawn_from_the_seed_within_their_bounds():
    rng = np.random.default_rng(3)
    pushes = task.draw_pushes(rng, 60.0, 6.0, 0.9, 2.4)
    impulses = [math.hypot(*push.wrench[:2]) * push.duration for push in pushes]
    gaps = np.diff([push.time for push in pushes])
    assert 0.27 <= min(impulses) and max(impulses) <= 0.9 + 1e-12
    assert 3.0 <= gaps.min() and gaps.max() <= 9.0 and 6 <= len(pushes) <= 20
    assert task.draw_pushes(np.random.default_rng(3), 60.0, 6.0, 0.9, 2.4) == pushes


def test_swing_ups_are_counted_a_second_apart():
    tilt = np.full(1000, 90.0)
    tilt[100:200] = tilt[210:300] = tilt[600:] = 0.0  # 0.1 s down is none
    assert uptime.swing_ups(leaning(tilt)) == 2.0


def test_the_score_of_a_discipline_is_the_mean_of_its_parts():
    cases = scores.cases_of(SUITE, "balance")
    values = {case.name: {"success": 50.0} for case in cases if case.measure == "robustness"}
    values |= {"B1": {"score": 0.8}, "B3": {"uptime": 20.0}}
    found = scores.score(SUITE, "balance", values)
    assert found.parts == pytest.approx({"performance": 0.8, "robustness": 0.5, "uptime": 0.2})
    assert found.total == pytest.approx(0.5)
    del values["B1"]
    assert scores.score(SUITE, "balance", values).parts["performance"] == 0.0
    paths = {"T1 circle": {"error_rms": 0.0}, "T1 figure of eight": {}}
    assert scores.score(SUITE, "tracking", paths).total == pytest.approx(0.5)


def test_an_entry_is_verified_equal_and_one_with_better_numbers_is_not(quick, tmp_path):
    def answer(folder):
        command = (sys.executable, "-m", "rbdyn_ros", "leaderboard", "--verify", str(folder))
        return subprocess.run(command, capture_output=True, text=True, timeout=300.0)

    done = answer(quick)
    assert done.returncode == 0 and "all 8 cases are equal" in done.stdout, done.stderr
    cases = json.loads((quick / entry.FILE).read_text())["cases"]
    cases[0]["values"]["time"] -= 1.0
    done = answer(changed(quick, tmp_path / "pd", cases=cases))
    assert done.returncode == 1 and "B1: time was " in done.stdout
    assert "1 of 8 cases differ" in done.stderr


def test_an_entry_that_was_changed_has_no_rank(quick, tmp_path):
    found = json.loads((quick / entry.FILE).read_text())
    with pytest.raises(ValueError, match="was changed after it was made"):
        entry.read(changed(quick, tmp_path / "a", seal=False, kinds=["swing_up"]))
    assert entry.read(quick) == found
    for text, why in (("{", "not JSON"), ("{}", "no entry of form"), ('{"form": 1}', "name is")):
        (tmp_path / entry.FILE).write_text(text)
        with pytest.raises(ValueError, match=why):
            entry.read(tmp_path)


def whole(found: dict, suite) -> dict:
    """The entry of the quick form, as if it was measured whole."""
    asked = {case.name: entry.asked(case) for row in suite.rows for case in row.cases}
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
            verify.controller({**found, "files": files}, quick, SUITE)
    with pytest.raises(ValueError, match="controller is 'none'"):
        verify.controller({**found, "law": "none"}, quick, SUITE)
    more = {**found["parameters"], "pd.none": 1.0}
    with pytest.raises(ValueError, match="pd.none is no parameter"):
        verify.controller({**found, "parameters": more}, quick, SUITE)
    assert verify.controller(found, quick, SUITE).values["cart.damping"] == 0.5


def test_a_law_of_a_file_travels_with_its_entry(tmp_path):
    law = tmp_path / "mine.py"
    text = (ROOT / "examples" / "lean.py").read_text()
    law.write_text(f"import beside\n{text}\nFILES = (__file__[:-3] + '.txt',)\n")
    (tmp_path / "beside.py").write_text("GAIN = 1.0\n")
    (tmp_path / "mine.txt").write_text("numbers")
    folder = tmp_path / "entries" / "mine"
    done = make_entry(folder, str(law), "--rows", "B1")
    assert (folder / "law" / "beside.py").exists(), done.stdout + done.stderr
    law.write_text("gone = True\n")
    found = entry.read(folder)
    assert found["path"] == "law/mine.py" and set(found["files"]) == {
        *("mine.py", "beside.py", "mine.txt")
    }
    again = verify.controller(found, folder, SUITE)
    assert again.path == str((folder / "law" / "mine.py").resolve())
    (folder / "law" / "beside.py").write_text("GAIN = 2.0\n")
    with pytest.raises(ValueError, match="beside.py of the law is another one"):
        verify.controller(found, folder, SUITE)


@pytest.mark.parametrize(
    "act, why",
    [
        ("while True: pass", "thought longer than 0.5 s"),
        ("raise RuntimeError('no more')", "raised RuntimeError"),
        ("while True: kept.append(bytes(2**26))", "MemoryError"),
        ("return 'much'", "returned 'much'"),
    ],
    ids=["hangs", "raises", "allocates", "nonsense"],
)
def test_a_law_that_fails_gets_one_sentence_and_no_rank(tmp_path, act, why):
    law = tmp_path / "bad.py"
    law.write_text(
        "import numpy as np\nfrom typing import NamedTuple\nkept = []\n"
        "class Options(NamedTuple):\n    period: float = 0.002\n"
        "class Law:\n"
        "    def command(self, t, state, reference):\n"
        "        if t > 0.5:\n"
        f"            {act}\n"
        "        return np.zeros(2)\n"
        "    def reset(self): pass\n"
        "def design(model, params, options):\n    return Law()\n"
    )
    done = make_entry(tmp_path / "bad", str(law), "--rows", "B1", "--patience", "0.5")
    assert done.returncode == 1 and why in done.stdout + done.stderr
    found = whole(entry.read(tmp_path / "bad"), SUITE)
    assert entry.refusal(found, SUITE).startswith("bad failed at B1: ")
    assert not board.collect([tmp_path / "bad"], SUITE).lines


def test_the_page_shows_every_entry_and_what_has_no_rank(quick, tmp_path):
    good = tmp_path / "in" / "pd"
    good.mkdir(parents=True)
    (good / entry.FILE).write_text(json.dumps(whole(entry.read(quick), SUITE)))
    changed(quick, tmp_path / "in" / "quick", name="<b>quick</b>")
    found = board.collect(board.folders_of([tmp_path / "in"]), SUITE)
    assert [line.entry["name"] for line in found.lines["balance"]] == ["pd"]
    page.write(found, SUITE, tmp_path / "site")
    text = (tmp_path / "site" / page.INDEX).read_text()
    assert 'href="pd.html"' in text and "&lt;b&gt;quick" in text and "<b>quick" not in text
    assert "data:image/svg+xml" in (tmp_path / "site" / "pd.html").read_text()
    total = found.lines["balance"][0].scores["total"]
    assert f"{total:.3f}" in board.markdown(found, "balance", short=True)
    assert f"{total:.3f}" in board.terminal(found)


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
    law = verify.controller(found, SHIPPED / name, suite)
    before, now = entry.criteria(found), {}
    cases = [case for one in suite.rows for case in one.cases]

    class Stop:
        signal = 0

    Score(cases, lambda case: now.update({case.name: case}), lambda _: None).alone(
        Bench(law), Stop
    )
    assert {case: verify.differences(before[case], now[case]) for case in now} == {
        case.name: [] for case in cases
    }


def test_the_table_is_sorted_by_its_heads_in_a_browser(browser, tmp_path):
    found = board.collect(board.folders_of([SHIPPED]), SUITE)
    page.write(found, SUITE, tmp_path)
    with browser.new_page(viewport={"width": 390, "height": 844}) as shown:
        complaints: list[str] = []
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("request", lambda request: complaints.append(request.url))
        shown.goto(f"file://{tmp_path / page.INDEX}")
        rows = "[...document.querySelector('table').tBodies[0].rows]"
        names = f"{rows}.map(row => row.cells[1].textContent)"
        ranked = [line.entry["name"] for line in found.lines["balance"]]
        assert shown.evaluate(names) == ranked
        shown.get_by_role("button", name="entry").first.click()
        assert shown.evaluate(names) == sorted(ranked)
        shown.get_by_role("button", name="score").first.click()
        rising = shown.evaluate(names)
        shown.get_by_role("button", name="score").first.click()
        assert shown.evaluate(names) == rising[::-1] and rising[-1] == ranked[0]
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shown.get_by_role("link", name=ranked[0]).first.click()
        assert shown.get_by_role("heading", name=ranked[0]).first.is_visible()
        assert all(text.startswith(("file://", "data:")) for text in complaints)
