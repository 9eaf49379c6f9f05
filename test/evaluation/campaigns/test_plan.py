"""A campaign's file: what it means, and the sentence for what it cannot mean."""

import math

import pytest

from rbdyn_ros.evaluation.campaigns import plan, quantities
from rbdyn_ros.evaluation.metrics import SWING_UP
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.yaml_file import assignment
from rbdyn_ros.schema import defaults

OF_NODES = "/**:\n  ros__parameters:\n    {}\n"


@pytest.fixture
def read(tmp_path):
    """read(text, *settings) -> Plan of a file with that text."""

    def of(text: str, *settings: str) -> plan.CampaignPlan:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return plan.read(path, map(assignment, settings))

    return of


def test_axes_draws_and_what_is_fixed(read):
    text = """
        controller: {values: [lqr, pd]}
        start: {tilt: {grid: [-10, 10, 5]}, spin: 3}
        rod.mass: {uniform: [0.8, 1.2]}
        draws: 7
    """
    found = read(text)
    assert found.axes == (
        plan.Axis("controller", ("lqr", "pd")),
        plan.Axis("start.tilt", (-10.0, -5.0, 0.0, 5.0, 10.0)),
    )
    assert found.drawn == (plan.Draw("rod.mass", "uniform", (0.8, 1.2)),)
    assert (found.points, found.size, found.laws) == (10, 70, ("lqr", "pd"))
    assert dict(found.fixed)["start.spin"] == 3.0
    assert not {"start.tilt", "rod.mass", "controller"} & set(dict(found.fixed))


def test_the_plant_comes_from_the_files_of_the_nodes(read):
    fixed = dict(
        read("params_files: [pendulum.yaml]\nstart.tilt: {grid: [0, 1, 2]}\nrod.mass: 1.5").fixed
    )
    assert (fixed["cart.damping"], fixed["rod.mass"]) == (0.5, 1.5)


def test_the_options_of_the_laws_come_from_the_files_of_the_nodes(read, tmp_path):
    of_law = OF_NODES.format("lqr: {force_weight: 0.3}").replace("/**", "/**/pendulum_controller")
    (tmp_path / "laws.yaml").write_text(of_law)
    text = "params_files: [laws.yaml]\nstart.tilt: {grid: [0, 1, 2]}\n"
    assert dict(read(text).fixed)["lqr.force_weight"] == 0.3
    assert dict(read(text, "lqr.force_weight=0.4").fixed)["lqr.force_weight"] == 0.4


def test_both_sections_of_the_files_count_as_for_the_nodes(read, tmp_path):
    (tmp_path / "both.yaml").write_text(
        "/**/pendulum_controller: {ros__parameters: {controller: pd, period: 0.01}}\n"
        "/pendulum_simulator: {ros__parameters: {cart.travel: 1.5}}\n"
    )
    text = "params_files: [both.yaml]\nstart.tilt: {grid: [0, 1, 2]}\n"
    found = read(text)
    fixed = dict(found.fixed)
    assert (found.laws, fixed["period"], fixed["cart.travel"]) == (("pd",), 0.01, 1.5)
    assert read(text + "controller: lqr").laws == ("lqr",)


def test_a_plant_that_meets_something_is_refused(read, tmp_path):
    (tmp_path / "floor.yaml").write_text(OF_NODES.format("contact: {floor: {enabled: true}}"))
    with pytest.raises(ValueError, match="floor.yaml: the pendulum meets a floor, .* a campaign"):
        read("params_files: [floor.yaml]\nstart.tilt: {grid: [0, 1, 2]}\n")


def test_the_command_line_is_over_the_file(read):
    found = read(
        "start.tilt: {grid: [0, 1, 2]}",
        "start.tilt={values: [3, 4]}",
        "cart.travel=1",
        "controller=pd",
    )
    assert found.axes == (plan.Axis("start.tilt", (3.0, 4.0)),)
    assert (dict(found.fixed)["cart.travel"], found.laws) == (1.0, ("pd",))


def test_options_of_the_law_vary_too(read):
    assert read("lqr.force_weight: {values: [0.1, 1]}").varied_names == ("lqr.force_weight",)


@pytest.mark.parametrize("name", ("region_of_attraction", "mismatch", "force_limit"))
def test_the_presets_are_campaigns(name):
    assert plan.read(config("campaigns", f"{name}.yaml")).size > 1000


TILT = "start.tilt: {grid: [0, 1, 2]}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    (
        (
            "rod.mas: {grid: [1, 2, 2]}",
            "mine.yaml:1: rod.mas is nothing that a campaign knows; did you mean rod.mass?",
        ),
        ("start: {grid: [1, 2, 2]}", "start is a group"),
        (
            "start.tilt: {grid: [0, 1, 0]}",
            "the grid of start.tilt has 0 points; it must be a whole number >= 1",
        ),
        ("start.tilt: {grid: [0, 1, 2.5]}", "2.5 points"),
        ("start.tilt: {grid: [0, 1]}", "must be a list of 3: from, to and how many points"),
        ("start.tilt: {grid: [1, 1, 3]}", "has a value twice"),
        ("start.tilt: {values: []}", "one value or more"),
        ("rod.mass: {grid: [-1, 1, 3]}", "rod.mass is -1 kg; it must be a finite number > 0"),
        ("rod.mass: {uniform: [2, 1]}", "the smaller number comes first"),
        ("rod.mass: {normal: [1, -1]}", "standard deviation of rod.mass is -1 kg"),
        ("controller: {grid: [1, 2, 3]}", "controller is 1"),
        ("controller: {values: [lqr, nobody]}", "nobody"),
        ("rod.inertia: {values: [[1, 1, 1]]}", "is a list itself"),
        ("controller: lqr", "nothing varies"),
        (
            TILT + "period: 0.0025",
            "the control period is 0.0025 s; it must be a multiple of the step, 0.001 s",
        ),
        (TILT + "draws: 3", "draws is 3, but nothing is drawn"),
        (TILT + "draws: 0", "draws is 0"),
        (TILT + "lqr.nothing: 3", "lqr.nothing is nothing that a campaign knows"),
        (TILT + "params_files: [nowhere.yaml]", "nowhere.yaml"),
        (
            "start.tilt: {grid: [0, 1, 100000]}\nstart.rate: {grid: [0, 1, 100000]}",
            "1e\\+10 samples",
        ),
        ("start.tilt: {grid: [0, 1,", "mine.yaml:1: broken YAML"),
    ),
)
def test_what_makes_no_sense_is_named(read, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(text)


def test_an_override_that_is_no_way_to_vary(read):
    with pytest.raises(ValueError, match="--set start.tilt={often: 3}"):
        read(TILT, "start.tilt={often: 3}")


def test_a_sample_settles_by_default_as_a_swing_up_does():
    usual = defaults(quantities.RUN)
    settled = math.radians(usual["settled.tilt"]), usual["settled.distance"], usual["settled.hold"]
    assert settled == pytest.approx(SWING_UP[:3])


def test_a_set_of_another_laws_option_names_that_law(read):
    text = "controller: {values: [lqr, pd]}\nstart.tilt: {grid: [-10, 10, 5]}\n"
    sentence = "mpc.horizon is an option of the law mpc, and the law is lqr or pd; leave it out"
    with pytest.raises(ValueError, match=f"^--set mpc.horizon=3: {sentence}"):
        read(text, "mpc.horizon=3")
