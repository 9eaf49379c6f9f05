"""Suites as files: what is read from them, and what is said of those that are wrong."""

import json
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from descriptions import is_sentence

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.evaluation import measures, suite
from rbdyn_ros.evaluation.metrics import SCENARIO, Metric
from rbdyn_ros.evaluation.report import summary
from rbdyn_ros.evaluation.results import NOT_APPLICABLE, assess, mark, to_json
from rbdyn_ros.evaluation.score import select_cases
from rbdyn_ros.evaluation.suite import Requirement
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.plant.faults.fault_options import Mismatch
from rbdyn_ros.schema import by_name

STANDARD = config("suites", "standard.yaml")
GOOD = """\
title: Mine
plant: {cart: {damping: 0.3}}
rows:
  A:
    measure: release
    for: [balance, wide]
    settings: {tilt: 10, faults: {command: {delay: 0.004}}}
    law: {lqr: {force_weight: 0.2}}
    require: [settling_time <= 3.5]
    quick: {tilt: 2}
    cases:
      weak: {settings: {force_limit: 10}}
      strong:
        settings: {force_limit: 50, tilt: 20}
        require: [travel <= 1.5, peak_force >= 1e1]
        quick: false
    picture: {x: force_limit, y: travel}
  B: {measure: step_response, require: overshoot <= 5}
"""


@pytest.fixture
def read(tmp_path):
    """The suite of a text."""

    def read(text: str, *arguments):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return suite.read(path, *arguments)

    return read


def test_a_case_has_its_own_words_over_those_of_its_row(read):
    mine = read(GOOD)
    weak, strong = mine.rows[0].cases
    assert (mine.title, mine.plant, [row.name for row in mine.rows]) == (
        "Mine",
        {"cart.damping": 0.3},
        ["A", "B"],
    )
    assert (weak.name, weak.settings["tilt"], weak.scenario.force_limit) == (
        "A weak",
        10.0,
        10.0,
    )
    assert (strong.settings["tilt"], strong.scenario.faults.command_delay) == (20.0, 0.004)
    assert strong.requirements == (
        Requirement("travel", True, 1.5),
        Requirement("peak_force", False, 10.0),
    )
    assert strong.scenario.law == (("lqr.force_weight", 0.2),) and weak.kinds == (
        "balance",
        "wide",
    )
    assert (
        suite.setting(weak, "force_limit") == 10.0
        and suite.setting(weak, "faults.command.delay") == 0.004
    )


def test_the_quick_form_has_the_cases_that_have_one(read):
    (row,) = read(GOOD, (), True).rows
    assert [(case.label, case.settings["tilt"]) for case in row.cases] == [("weak", 2.0)]


def test_chosen_rows(read):
    assert [row.name for row in read(GOOD, ("B",)).rows] == ["B"]


def test_a_case_that_is_asked_otherwise_has_another_key(read):
    keys = {read(GOOD.replace("3.5", bound)).rows[0].cases[0].key for bound in ("3.5", "3.6")} | {
        read(GOOD).rows[0].cases[0].key
    }
    assert len(keys) == 2


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("rows:", "lines:", "mine.yaml: lines is not known here; known are title, plant, rows"),
        (
            "measure: release",
            "measur: release",
            "rows.A: measur is not known here; did you mean measure?",
        ),
        (
            "measure: release",
            "measure: relase",
            "rows.A.cases.weak: measure is 'relase'; did you mean release? known are ",
        ),
        (
            "    measure: release\n",
            "",
            "rows.A.cases.weak: measure is missing; known are computing_time, delay_margin, ",
        ),
        (
            "    require: [settling_time <= 3.5]\n",
            "",
            "rows.A.cases.weak: require is missing; name what must hold, such as",
        ),
        (
            "settling_time <= 3.5",
            "settling_time < 3.5",
            (
                "require: 'settling_time < 3.5' is not a requirement; write a value, <= or >=, "
                "and a number"
            ),
        ),
        (
            "settling_time <= 3.5",
            "setling <= 3.5",
            "rows.A.cases.weak.require: setling is not measured here; known are settling_time, ",
        ),
        (
            "tilt: 10",
            "tilt: 200",
            "rows.A.cases.weak: tilt is 200 deg; it must be a finite number >= 0 and <= 180",
        ),
        (
            "tilt: 10",
            "titl: 10",
            (
                "rows.A.cases.weak.settings: titl is not a setting of the measure release; did "
                "you mean tilt?"
            ),
        ),
        (
            "tilt: 10",
            "integrator: rk5",
            "rows.A.cases.weak: integrator is 'rk5'; it must be one of euler_lagrange, ",
        ),
        (
            "tilt: 10",
            "step: 0.003",
            "rows.A.cases.weak.settings: the control period is 0.002 s; it must be a multiple of",
        ),
        (
            "tilt: 10",
            "duration: 0.001",
            "rows.A.cases.weak.settings: duration is 0.001 s; it must be >= 0.002 s, the period",
        ),
        (
            "measure: step_response, require: overshoot",
            "measure: standing, settings: {waiting: 20, duration: 9}, require: tilt_rms",
            "rows.B.settings: duration is 9 s; it must be >= 20.002 s, the waiting and the period",
        ),
        (
            "delay: 0.004",
            "delay: -1",
            "faults.command.delay is -1 s; it must be a finite number >= 0",
        ),
        (
            "[balance, wide]",
            "[balance, wild]",
            "rows.A.cases.weak: for is 'wild'; known are any, plant, balance",
        ),
        (
            "[balance, wide]",
            "[balance, plant]",
            (
                "rows.A.cases.weak: for is ['balance', 'plant']; plant excludes the others, as "
                "it is not scored"
            ),
        ),
        ("y: travel", "y: way", "rows.A.picture: y is way, which is not measured; known are "),
        (
            "{force_limit: 10}",
            "10",
            "rows.A.cases.weak.settings is 10; it must be `name: value` lines",
        ),
        ("  B: {", "  A: {", "mine.yaml:18: broken YAML: A is given twice"),
        ("  B: {", "  B: [", "broken YAML"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(read, old, new, sentence):
    with pytest.raises(ValueError) as error:
        read(GOOD.replace(old, new))
    assert (
        "mine.yaml" in str(error.value)
        and sentence in str(error.value)
        and "\n" not in str(error.value)
    )


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "is not a mapping"),
        ("- 1", "is not a mapping"),
        ("rows: {}", "rows is missing or empty"),
        ("a: \x00", "broken YAML"),
    ],
)
def test_files_that_are_no_suite(read, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(text)


@pytest.mark.parametrize(
    "law, sentence",
    [
        (
            "{lqr: {force_weigh: 0.2}}",
            "lqr.force_weigh is not an option of lqr; did you mean lqr.f",
        ),
        (
            "{lqr: {force_weight: -1}}",
            "lqr.force_weight is -1 1/N",
        ),
        ("{other: {force_weigh: 0.2}}", ""),
    ],
)
def test_options_of_the_law_are_checked_before_it_is_measured(read, law, sentence):
    found = read(GOOD.replace("{lqr: {force_weight: 0.2}}", law))
    known = by_name(law_options.table("lqr", law_selection.load("lqr")))
    if not sentence:
        return suite.check_options(found, "lqr", known, Path("mine.yaml"))
    with pytest.raises(ValueError, match="mine.yaml: rows.A.cases.weak.law: " + sentence):
        suite.check_options(found, "lqr", known, Path("mine.yaml"))


def test_a_file_that_is_not_there():
    with pytest.raises(ValueError, match="nowhere.yaml: cannot read the suite: No such file"):
        suite.read(Path("nowhere.yaml"))


def test_a_row_that_is_not_there(read):
    with pytest.raises(ValueError, match="--rows: .* has no row C; known are A, B"):
        read(GOOD, ("C",))


def test_no_row_is_left(read):
    with pytest.raises(ValueError, match="no row is left; none of those chosen has a quick form"):
        read(GOOD, ("B",), True)


def test_a_verdict_of_numpy_numbers_can_be_written():
    """S8 has them: its bool was none of JSON, and the evaluation ended as a defect."""
    case = suite.read(STANDARD, ("S8",)).cases[0]
    found = assess(case, Metric({"delay_margin": np.float64(100.0), "off_theory": np.float64(9)}))
    assert json.loads(json.dumps(to_json(found)))["requirements"][1][1] is False


def test_the_standard_suite_has_every_row_and_a_shipped_law_for_each():
    standard = suite.read(STANDARD)
    assert [row.name for row in standard.rows] == [f"S{i}" for i in range(1, 33)]
    kinds = {
        kind
        for law in law_selection.names()
        for kind in getattr(law_selection.load(law), "KINDS", ())
    }
    assert kinds == set(suite.KINDS)
    assert select_cases(standard, tuple(kinds))[1] == []
    rows = [*standard.rows, *suite.read(config("suites", "leaderboard.yaml")).rows]
    assert {case.measure for row in rows for case in row.cases} == set(measures.names())


def test_the_largest_tilt_is_looked_for_towards_24_azimuths():
    """A law for each axis alone had 30.9 degrees along its axis and 28.4 between."""
    (row,) = suite.read(STANDARD, ("S4",)).rows
    assert [case.settings["azimuths"] for case in row.cases] == [24] * 5
    (quick,) = suite.read(STANDARD, ("S4",), True).rows[0].cases
    assert quick.settings["azimuths"] == 8  # with those between the axes


@pytest.mark.parametrize(
    "file, row, whole, quick",
    [
        ("standard", "S4", "the smallest of 24 azimuths", "the smallest of 8 azimuths"),
        ("leaderboard", "B3", "balance for 60 s", "balance for 10 s"),
        ("leaderboard", "U3", "60 s from hanging on", "15 s from hanging on"),
    ],
)
def test_the_title_of_the_quick_form_says_what_it_does(file, row, whole, quick):
    path = config("suites", f"{file}.yaml")
    assert whole in suite.read(path, (row,)).rows[0].title
    assert quick in suite.read(path, (row,), True).rows[0].title


@pytest.mark.parametrize(
    "title, sentence",
    [
        ("from {tlit}", "rows.A.title: tlit is not a setting of each case; did you mean tilt?"),
        ("from {tilt}", "rows.A.title: tilt is 10.0, 20.0 in its cases; a title can name a sett"),
    ],
)
def test_a_title_names_a_setting_that_its_cases_share(read, title, sentence):
    titled = GOOD.replace("  A:\n", f"  A:\n    title: {title}\n")
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read(titled)
    if "tilt" in title:
        assert read(titled, (), True).rows[0].title == "from 2"


def test_the_swing_up_is_tested_where_everything_is_wrong_at_once():
    (row,) = suite.read(STANDARD, ("S24",)).rows
    heavier, noisy = row.cases[-2:]
    assert heavier.scenario.faults.mismatch == Mismatch(
        rod_mass=0.2, rod_length=0.2, cart_mass=0.2
    )
    assert (heavier.settings["starts_one_by_one"], str(heavier.requirements[0])) == (
        100,
        "success >= 95",
    )
    assert (
        noisy.settings["mismatch_spread"],
        noisy.settings["starts_one_by_one"],
        str(noisy.requirements[0]),
    ) == (0.2, 200, "success >= 95")
    assert (noisy.scenario.observer, noisy.scenario.observer_force) == (
        "encoders",
        "commanded",
    )
    assert noisy.scenario.faults.command_delay == 0.02


def test_the_rows_of_the_plant_count_for_no_law():
    standard = suite.read(STANDARD)
    assert [row.name for row in standard.rows if row.of_plant] == ["S1", "S2"]
    meant, others = select_cases(standard, ())
    assert {case.row for case in meant} == {"S1", "S2"}
    cases = {case.name: assess(case, Metric({"difference": 0.0, "drift": 1.0})) for case in meant}
    cases |= {case.name: mark(case, NOT_APPLICABLE, why) for case, why in others}
    assert (
        summary(standard, cases)
        == "no row is for this kind of law; the plant's own: 1 of 2 rows hold, 1 miss"
    )


def test_a_law_is_measured_at_what_it_is_meant_for():
    meant, others = select_cases(suite.read(STANDARD), ("tracking",))
    assert {case.row for case in meant} == {"S1", "S2", "S20", "S21", "S30"}
    assert dict((case.row, why) for case, why in others)["S3"] == "for balance"


def test_every_measure_is_described_and_has_a_file():
    files = [module.name for module in pkgutil.iter_modules(measures.__path__)]
    assert sorted(files) == list(measures.names())


@pytest.mark.parametrize("name", measures.names())
def test_every_setting_is_described_in_sentences(name):
    """As the parameters of the nodes: "Sets the tilt of the rod at the start."."""
    described = [setting.description for setting in (*measures.MEASURES[name].settings, *SCENARIO)]
    assert [text for text in described if not is_sentence(text)] == []


@pytest.mark.parametrize("name", law_selection.names())
def test_every_option_of_a_law_is_described_in_sentences(name):
    described = [
        option.description for option in law_options.table(name, law_selection.load(name))
    ]
    assert [text for text in described if not is_sentence(text)] == []
