"""The tables about the laws are made from results, and these are of the current suite."""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import score_results as scored  # noqa: E402
import score_tables as tables  # noqa: E402


@pytest.mark.parametrize("page", tables.PAGES)
def test_the_tables_of_a_page_are_made_from_the_results(page):
    """Otherwise: `python benchmarks/score_tables.py`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert tables.MARK.search(text)
    assert tables.update_tables(text) == text


def test_every_table_stands_in_a_page():
    texts = "".join((ROOT / page).read_text(encoding="utf-8") for page in tables.PAGES)
    assert sorted(found[2] for found in tables.MARK.finditer(texts)) == sorted(tables.TABLES)


@pytest.mark.parametrize("law", tables.NAMES)
def test_the_results_are_those_of_the_current_suite(law):
    """Otherwise measure what is named again, and `--take` it."""
    assert list(tables.stale(law)) == []


@pytest.mark.parametrize("law", [path.stem for path in sorted(scored.SCORES.glob("*.json"))])
def test_the_results_say_where_they_come_from(law):
    found = scored.results(law)
    sittings = found["provenance"]["sittings"]
    assert all(
        sitting["date"] and sitting["machine"]["processors"] and not sitting["quick"]
        for sitting in sittings
    )
    cases = [case for row in found["rows"] for case in row["cases"]]
    assert {case["sitting"] for case in cases} <= set(range(len(sittings)))
    assert all(
        "evaluate" not in str(sitting) and "/" not in sitting["machine"]["processor"]
        for sitting in sittings
    )


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """A copy of the results that may be changed."""
    for path in scored.SCORES.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(scored, "SCORES", tmp_path)
    return tmp_path


def changed(scores, change, law="lqr") -> None:
    """The results of a law after `change(row S4)`."""
    found = scored.results(law)
    change(next(row for row in found["rows"] if row["row"] == "S4"))
    (scores / f"{law}.json").write_text(json.dumps(found), encoding="utf-8")


def test_another_number_makes_another_table(scores):
    page = (ROOT / "doc" / "evaluation.md").read_text(encoding="utf-8")

    def better(row):
        next(case for case in row["cases"] if case["label"] == "20 N")["values"]["tilt"] = 66.6

    changed(scores, better)
    assert "| 66.6° |" in tables.update_tables(page)


@pytest.mark.parametrize(
    ("cell", "reference", "signs", "worse"),
    (
        ("3.29 s", "3.28 s", "-", True),
        ("3.28 s", "3.28 s", "-", False),
        ("21.3°; 15.0°", "21.2°; 15.1°", "++", True),
        ("0.30 … 90", "0.31 … 86", "-+", False),
        ("199 of 200; 3.00 s", "2000 of 2000; 6.79 s", "+-", True),
        ("2000 of 2000; never", "100 of 100; 6.79 s", "+-", True),
        ("15 of 17 (1 not measured)", "17 of 17", "+", True),
        (tables.OPEN, "17 of 17", "+", False),
    ),
)
def test_what_is_worse_is_found_number_by_number(cell, reference, signs, worse):
    assert tables.is_worse(cell, reference, signs) is worse


def test_the_table_says_where_a_law_is_worse_than_the_one_beside_it(scores):
    def told(tilt: float) -> str:
        def change(row):
            next(case for case in row["cases"] if case["label"] == "20 N")["values"]["tilt"] = tilt

        changed(scores, change, "lqg")
        return tables.others()

    assert f"| 0.5° {tables.WORSE} |" in told(0.5) and "| 80.0° |" in told(80.0)
    words = [
        text.partition("- `lqg` is worse than `lqr` in: ")[2] for text in map(told, (0.5, 80.0))
    ]
    assert ["S4, S6" in text.partition("- `")[0] for text in words] == [True, False]


def test_results_for_other_kinds_than_the_laws_own_have_their_own_name():
    found = {"law": "policy", "kinds": ["swing_up"]}
    assert scored.name_of(found) == "policy_swing_up"
    assert scored.name_of({**found, "kinds": ["balance"]}) == "policy"
    rows = {case.row for case in scored.applicable_cases("policy_swing_up").values()}
    assert "S14" in rows and "S3" not in rows


def test_the_leaderboard_ranks_the_entries_of_the_repository(tmp_path, monkeypatch):
    page = (ROOT / "doc" / "leaderboard.md").read_text(encoding="utf-8")
    assert "| `mpc` | 0." in tables.update_tables(page)
    for path in tables.ENTRIES.glob("[!m]*"):
        shutil.copytree(path, tmp_path / path.name)
    monkeypatch.setattr(tables, "ENTRIES", tmp_path)
    tables.ranking.cache_clear()
    assert "| `mpc` | 0." not in tables.update_tables(page) != page
    tables.ranking.cache_clear()


@pytest.mark.parametrize(
    ("change", "sentence"),
    (
        (lambda row: row["cases"].pop(), "lqr: S4 100 N is not measured"),
        (
            lambda row: row["cases"][0]["settings"].update(azimuths=1),
            "lqr: S4 10 N was measured with other settings or bounds",
        ),
        (
            lambda row: row["cases"][0]["conditions"].update(period=0.1),
            "lqr: S4 10 N was measured with other settings or bounds",
        ),
        (
            lambda row: row["cases"][0]["requirements"][0].__setitem__(0, "tilt >= 1"),
            "lqr: S4 10 N was measured with other settings or bounds",
        ),
        (lambda row: row["cases"][0].update(label="9 N"), "lqr: S4 9 N is no case of the suite"),
    ),
)
def test_results_of_another_suite_are_named(scores, change, sentence):
    changed(scores, change)
    assert sentence in list(tables.stale("lqr"))


def test_a_row_that_is_measured_in_part_does_not_hold_yet(scores):
    held, of = map(int, tables.Cases("lqr").summary().split(" of "))
    changed(scores, lambda row: row["cases"].pop())
    assert tables.Cases("lqr").summary() == f"{held - 1} of {of - 1} (1 not measured)"


def test_new_results_take_the_place_of_the_old_ones(scores):
    """Those of one row: the others stay, each case with its own sitting."""
    new = scored.results("lqr")
    (row,) = [row for row in new["rows"] if row["row"] == "S3"]
    row["cases"][0]["values"]["settling_time"] = 9.9
    row["verdict"] = row["cases"][0]["verdict"] = "misses"
    row["cases"][0]["requirements"][0][1] = False
    sittings = len(new["provenance"]["sittings"])
    taken = {
        **new,
        "rows": [row],
        "provenance": {**new["provenance"], "sittings": [{"date": "now"}]},
    }
    before = tables.Cases("lqr").summary()
    tables.take(taken)
    after = scored.results("lqr")
    assert (
        len(after["rows"]) == len(new["rows"])
        and len(after["provenance"]["sittings"]) == sittings + 1
    )
    assert tables.Cases("lqr").number("S3", "", "settling_time", 2, " s") == "9.90 s"
    assert (
        tables.Cases("lqr").case("S3")["sitting"] == sittings
        and tables.Cases("lqr").case("S4", "20 N")["sitting"] < sittings
    )
    held, of = before.split(" of ")
    assert tables.Cases("lqr").summary() == f"{int(held) - 1} of {of}"
    assert "| `lqr` | S3 | settling time | 9.9 | ≤ 3.5 | 1 |" in tables.misses()


@pytest.mark.parametrize(
    ("content", "sentence"),
    (
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ("[]", "is not what `evaluate` writes"),
        (
            '{"law": "mine", "rows": [], "provenance": {}}',
            "is about mine; the tables are about lqr",
        ),
    ),
)
def test_what_is_no_evaluation_is_refused_in_a_sentence(
    tmp_path, monkeypatch, capsys, content, sentence
):
    path = tmp_path / "evaluation.json"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr("sys.argv", ["score_tables.py", "--take", str(path)])
    with pytest.raises(SystemExit):
        tables.main()
    assert sentence in capsys.readouterr().err
