"""Batches of samples: compiled and one by one give the same outcomes; what fails is marked and the
others go on.
"""

import sys
from types import ModuleType

import numpy as np
import pytest

from rbdyn_ros.control import law_selection
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation.campaigns import campaign_trial, plan
from rbdyn_ros.parameters.yaml_file import assignment

TILTS = "params_files: [pendulum.yaml]\nduration: 4\nstart.tilt: {values: [0, 5, 12, 40]}\n"


@pytest.fixture
def outcomes(tmp_path):
    """outcomes(text, *settings) -> the columns of the whole campaign."""

    def of(text: str, *settings: str) -> dict:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        planned = plan.read(path, map(assignment, settings))
        return campaign_trial.outcomes(planned, 0, planned.size)

    return of


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A law of somebody else: the regulator, that cannot bear a rod beyond 30 degrees."""

    class Timid(lqr.Lqr):
        def command(self, t, state, reference):
            if abs(state.q[4]) > np.sin(np.radians(15.0)):
                raise ArithmeticError("too steep")
            return super().command(t, state, reference)

    module = ModuleType("timid")
    module.design = lambda model, params, options: Timid(
        lqr.design(model, params, lqr.Options()).gains, 20.0
    )
    monkeypatch.setitem(sys.modules, "timid", module)
    info = tmp_path / "timid-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: timid\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{law_selection.GROUP}]\ntimid = timid\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "timid"


def test_how_samples_end(outcomes):
    columns = outcomes(TILTS)
    assert columns["ended"].tolist() == ["settled", "settled", "settled", "left"]
    assert columns["settled"][0] == 0.0
    assert np.isnan(columns["settled"][3])


def test_a_law_that_raises_fails_in_its_sample_alone(outcomes, stranger):
    columns = outcomes(TILTS, f"controller={stranger}")
    assert columns["ended"].tolist() == ["settled", "settled", "settled", "failed"]
    assert columns["reason"][3].startswith("the law timid raised ArithmeticError at t = 0.000 s")
    assert "too steep" in columns["reason"][3]


@pytest.mark.parametrize("duration", ("4", "1.0003", "0.0005"))
def test_one_by_one_is_scored_as_lanes_are(outcomes, stranger, duration):
    """Also where the duration is no whole number of periods: the last one counts as a whole."""
    given = f"duration={duration}"
    lanes, alone = outcomes(TILTS, given), outcomes(TILTS, given, f"controller={stranger}")
    for name in ("settled", "travel", "effort", "lasted"):
        np.testing.assert_allclose(alone[name][:3], lanes[name][:3], rtol=1e-5, atol=1e-9)


SHORT = """\
controller: swing_up
params_files: [pendulum.yaml]
duration: 15
faults.mismatch.rod_length: -0.2
start: {tilt: {uniform: [175, 185]}, azimuth: {uniform: [0, 180]}}
draws: 200
"""


def test_a_swing_up_on_a_shorter_rod_is_that_of_the_law_itself(outcomes):
    """The compiled law had no memory of the rod: 177 of 500, where `evaluate`, in the closed loop,
    had 100 of 100.
    """
    columns = outcomes(SHORT)
    assert (columns["ended"] == "settled").mean() >= 0.97
    alone = outcomes(SHORT, "draws=3", "faults.bias.cart=[1e-12, 0.0]")  # one by one
    np.testing.assert_allclose(alone["settled"], columns["settled"][:3], atol=0.01)


def test_faults_that_lanes_do_not_know_agrees_with_the_rollout(outcomes):
    noisy = outcomes(TILTS, "faults.noise.angle=0.001", "start.tilt={values: [5]}")
    assert noisy["ended"][0] == "settled"
    assert noisy["effort"][0] != outcomes(TILTS, "start.tilt={values: [5]}")["effort"][0]


def test_what_a_normal_distribution_draws_out_of_range_is_marked(outcomes):
    columns = outcomes("rod.mass: {normal: [0.1, 0.2]}\ndraws: 20\nduration: 0.1")
    bad = columns["rod.mass"] <= 0.0
    assert 0 < bad.sum() < 20
    assert set(columns["ended"][bad]) == {"failed"} and set(columns["ended"][~bad]) == {"late"}
    assert "rod.mass is -" in columns["reason"][bad][0]


def test_a_plant_that_no_law_balances_is_marked(outcomes):
    columns = outcomes(TILTS + "gravity: {values: [9.81, 0]}")
    assert (columns["ended"] == "failed").tolist() == [False, True] * 4
    assert "controller lqr" in columns["reason"][1]


def test_each_law_and_each_limit_is_designed_for_itself(outcomes):
    columns = outcomes(
        "start.tilt: 15\ncart.force_limit: {values: [5, 30]}\ncontroller: {values: [lqr, pd]}\n"
        "duration: 6"
    )
    assert columns["ended"].tolist() == ["left", "left", "settled", "settled"]


def test_a_rod_whose_moments_differ_runs_one_by_one(outcomes, tmp_path):
    columns = outcomes(TILTS + "rod.inertia: [0.4, 0.9, 1.2]\n")
    assert columns["ended"].tolist() == ["settled", "settled", "late", "left"]
    assert not campaign_trial.is_compiled(plan.read(tmp_path / "mine.yaml"))
    assert campaign_trial.is_compiled(
        plan.read(tmp_path / "mine.yaml", [assignment("rod.inertia=[]")])
    )
