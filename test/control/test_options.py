"""A law's options are parameters: named, checked and documented alike wherever they come from."""

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, NamedTuple

import pytest

from rbdyn_ros.control import law_options, law_selection
from rbdyn_ros.control.law_options import SHARED
from rbdyn_ros.control.laws import lqr, rest
from rbdyn_ros.parameters import tables, yaml_file
from rbdyn_ros.schema import Parameter, spec


class Options(NamedTuple):
    gain: float = 3.0
    steps: int = 5
    gentle: bool = True
    shape: tuple = (1.0, 2.0)
    period: float = 0.002
    travel: float = 2.0


LAWS = (
    "h_infinity",
    "ilqr",
    "lqg",
    "lqr",
    "mpc",
    "mppi",
    "nested_lqr",
    "pd",
    "policy",
    "rest",
    "state_space",
    "swing_up",
    "tracking",
)
MINE = SimpleNamespace(Options=Options)  # without annotations


def test_a_table_follows_from_the_defaults():
    kinds = {
        parameter.name: (parameter.kind, parameter.default)
        for parameter in law_options.table("mine", MINE)
    }
    assert kinds == {
        "mine.gain": ("float", 3.0),
        "mine.steps": ("int", 5),
        "mine.gentle": ("bool", True),
        "mine.shape": ("float_array", (1.0, 2.0)),
    }


@pytest.mark.parametrize("wrong", (type("Options", (), {"gain": 3.0}), Options(), {"gain": 3.0}))
def test_options_of_another_type_are_refused(wrong):
    law = SimpleNamespace(Options=wrong, __file__="/home/me/mine.py")
    with pytest.raises(ValueError, match="controller mine: its Options is .* typing.NamedTuple"):
        law_options.table("mine", law)


def test_values_by_parameter_name_become_options():
    values = {
        "mine.gain": 4,
        "mine.shape": [0.5],
        "period": 0.01,
        "cart.travel": 1.0,
        "rod.mass": 9.0,
    }
    assert law_options.from_values("mine", MINE, values) == Options(
        4.0, 5, True, (0.5,), 0.01, 1.0
    )


def test_the_values_that_the_controller_has_reach_lqr():
    values = {"lqr.tilt_weight": 7.0, "cart.force_limit": 12.0, "period": 0.01}
    assert law_options.from_values("lqr", lqr, values) == lqr.Options(
        tilt_weight=7.0, force_limit=12.0, period=0.01
    )


def test_a_law_needs_no_options():
    assert law_options.from_values("plain", SimpleNamespace(), {"period": 0.01}) == ()
    assert law_options.table("rest", rest) == ()


@pytest.mark.parametrize("name", LAWS)
def test_the_tables_say_what_the_options_do(name):
    law = law_selection.load(name)
    for parameter in law_options.table(name, law):
        assert (
            parameter.default
            == law.Options._field_defaults[parameter.name.removeprefix(f"{name}.")]
        )
        assert parameter.description


@pytest.mark.parametrize("name", LAWS)
def test_a_shared_option_has_the_default_of_its_parameter(name):
    defaults = law_options.type_of(law_selection.load(name))._field_defaults
    for option in SHARED.keys() & defaults:
        assert defaults[option] == tables.all_parameters()[SHARED[option]].default


@pytest.mark.parametrize("name", [name for name in LAWS if name != "rest"])
def test_the_file_of_a_law_names_its_options(name):
    entries = yaml_file.read(Path(__file__).parents[2] / "config" / f"{name}.yaml")
    values = {entry.name: entry.value for entry in entries}
    assert values["controller"] == name
    own = {parameter.name for parameter in law_options.table(name, law_selection.load(name))}
    assert {given for given in values if given.startswith(f"{name}.")} <= own
    law_options.from_values(name, law_selection.load(name), values)


def test_a_value_of_the_wrong_kind_is_named():
    with pytest.raises(ValueError, match="mine.steps is 2.5; it must be a whole number"):
        law_options.from_values("mine", MINE, {"mine.steps": 2.5})


def test_a_table_of_former_times_is_refused_and_not_ignored():
    law = SimpleNamespace(Options=Options, PARAMETERS=())
    with pytest.raises(ValueError, match="mine: a table PARAMETERS is not read; annotate"):
        law_options.table("mine", law)


def test_annotations_give_sentence_unit_and_range():
    class Annotations(NamedTuple):
        gain: Annotated[float, spec("Sets the gain.", "N/rad", above=0.0)] = 3.0
        steps: int = 5

    law = SimpleNamespace(Options=Annotations)
    gain, steps = law_options.table("mine", law)
    assert gain == Parameter("mine.gain", 3.0, "N/rad", "Sets the gain.", low=0.0, low_open=True)
    assert (steps.name, steps.kind, steps.low) == ("mine.steps", "int", None)
    with pytest.raises(ValueError, match="mine.gain is 0 N/rad; it must be a finite number > 0"):
        law_options.from_values("mine", law, {"mine.gain": 0})


def test_annotations_that_cannot_be_read_are_named():
    class Kind(NamedTuple):
        gain: "Nothing" = 3.0  # noqa: F821

    with pytest.raises(ValueError, match="controller mine: .*'Nothing' is not defined"):
        law_options.table("mine", SimpleNamespace(Options=Kind))


def test_a_type_that_no_parameter_has_is_named():
    class Kind(NamedTuple):
        gain: Annotated[tuple, spec("Sets the gains.")] = (3.0,)

    with pytest.raises(ValueError, match="controller mine: .*no parameter is a <class 'tuple'>"):
        law_options.table("mine", SimpleNamespace(Options=Kind))


def test_annotations_for_others_are_left_alone():
    class Remarks(NamedTuple):
        gain: Annotated[float, "of the tilt"] = 3.0

    (gain,) = law_options.table("mine", SimpleNamespace(Options=Remarks))
    assert (gain.name, gain.default, gain.unit) == ("mine.gain", 3.0, "")


def test_an_option_without_a_default():
    law = SimpleNamespace(Options=NamedTuple("Options", [("gain", float)]))
    with pytest.raises(
        ValueError, match="mine: its option gain has no default; write one, such as gain"
    ):
        law_options.table("mine", law)
    annotated = Annotated[float, spec("Sets the gain.")]
    law = SimpleNamespace(Options=NamedTuple("Options", [("gain", annotated)]))
    with pytest.raises(
        ValueError, match="mine: its option gain has no default; write one, such as gain"
    ):
        law_options.table("mine", law)
