"""What a record declares, and the one check that every value passes, from a file, the command line
and ROS.
"""

from array import array
from typing import Annotated, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.schema import (
    Parameter,
    check,
    check_record,
    describe_allowed,
    flat,
    format_value,
    record,
    spec,
    table,
)

MASS = Parameter("rod.mass", 1.0, "kg", "mass", low=0.0, low_open=True)
SHARE = Parameter("share", 0.5, "", "a share", low=0.0, high=1.0)
COUNT = Parameter("count", 20, "", "how many", "int", low=1)
FLAG = Parameter("flag", False, "", "yes or no", "bool")
NAME = Parameter("name", "a", "", "which", "string", choices=("a", "b", "c"))
MOMENTS = Parameter(
    "moments", (), "kg m^2", "three or none", "float_array", low=0.0, low_open=True, length=(0, 3)
)
WAVES = Parameter("waves", (), "", "triples", "float_array", length=range(0, 301, 3))
WORDS = Parameter("words", (), "", "some", "string_array")


@pytest.mark.parametrize(
    ("parameter", "value", "coerced"),
    [
        (MASS, 2, 2.0),
        (SHARE, 0, 0.0),
        (SHARE, 1, 1.0),
        (COUNT, 3, 3),
        (COUNT, 3.0, 3),
        (FLAG, True, True),
        (NAME, "c", "c"),
        (MOMENTS, [1, 2.0, 3e0], (1.0, 2.0, 3.0)),
        (MOMENTS, [], ()),
        (MOMENTS, array("d", [1.0, 2.0, 3.0]), (1.0, 2.0, 3.0)),  # what rclpy hands over
        (WAVES, [1, 2, 3, 4, 5, 6], (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)),
        (WORDS, "one", ("one",)),
    ],
)
def test_accepts_what_people_write(parameter, value, coerced):
    result = check(parameter, value, "here")
    assert result == coerced and type(result) is type(coerced)


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        None,
        "heavy",
        "",
        "nan",
        "1",
        float("nan"),
        float("inf"),
        -float("inf"),
        0,
        -1.0,
        [],
        [1.0],
        {},
        10**400,
    ],
)
def test_refuses_what_is_no_mass(value):
    with pytest.raises(
        ValueError, match=r"^a\.yaml:3: rod\.mass is .*; it must be a finite number > 0$"
    ):
        check(MASS, value, "a.yaml:3")


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        (MASS, -1, "here: rod.mass is -1 kg; it must be a finite number > 0"),
        (MASS, None, "here: rod.mass is null; it must be a finite number > 0"),
        (SHARE, 2, "here: share is 2; it must be a finite number >= 0 and <= 1"),
        (COUNT, 2.5, "here: count is 2.5; it must be a whole number >= 1"),
        (COUNT, True, "here: count is true; it must be a whole number >= 1"),
        (FLAG, 1, "here: flag is 1; it must be true or false"),
        (FLAG, "on", "here: flag is 'on'; it must be true or false"),
        (NAME, "d", "here: name is 'd'; it must be one of a, b or c"),
        (NAME, 3, "here: name is 3; it must be one of a, b or c"),
        (
            MOMENTS,
            [1, 2],
            "here: moments is [1, 2] kg m^2; it must be a list of 0 or 3 finite numbers > 0",
        ),
        (
            MOMENTS,
            [1, 2, 0],
            "here: moments is [1, 2, 0] kg m^2; it must be a list of 0 or 3 finite numbers > 0",
        ),
        (
            MOMENTS,
            [1, 2, True],
            "here: moments is [1, 2, True] kg m^2; it must be a list of 0 or 3 finite numbers > 0",
        ),
        (
            WAVES,
            [1, 2],
            (
                "here: waves is [1, 2]; it must be a list of finite numbers whose length is a "
                "multiple of 3"
            ),
        ),
        (WORDS, ["a", 1], "here: words is ['a', 1]; it must be a list of strings"),
    ],
)
def test_the_sentence_names_the_thing_its_value_and_the_range(parameter, value, sentence):
    with pytest.raises(ValueError) as error:
        check(parameter, value, "here")
    assert str(error.value) == sentence


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_float_passes_exactly_when_it_is_in_range(value):
    try:
        assert check(SHARE, value, "") == value and 0.0 <= value <= 1.0
    except ValueError:
        assert not 0.0 <= value <= 1.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        st.lists,
        max_leaves=5,
    )
)
def test_any_value_is_accepted_or_refused_with_one_sentence(value):
    for parameter in (MASS, COUNT, FLAG, NAME, MOMENTS, WAVES, WORDS):
        try:
            check(parameter, value, "here")
        except ValueError as error:
            assert str(error).startswith(f"here: {parameter.name} is ") and "it must be" in str(
                error
            )


def test_refine_finishes_the_sentence():
    def even(value):
        if value % 2:
            raise ValueError("it must be even")
        return value // 2

    halved = COUNT._replace(refine=even)
    assert check(halved, 4, "here") == 2
    with pytest.raises(ValueError, match="^here: count is 3; it must be even$"):
        check(halved, 3, "here")


def test_choices_may_be_found_late():
    late = NAME._replace(choices=lambda: ("x", "y"))
    assert check(late, "y", "") == "y" and describe_allowed(late) == "x or y"


def test_long_values_are_cut():
    assert len(format_value(list(range(1000)))) == 80


class Motor(NamedTuple):
    gain: Annotated[float, spec("Sets the gain.", "N/A", above=0.0)] = 2.0
    counts: Annotated[int, spec("Sets the counts.", low=1)] = 5


class Machine(NamedTuple):
    mass: Annotated[float, spec("Sets the mass.", "kg", "machine.mass", above=0.0)] = 1.5
    held: Annotated[float, spec("Holds it.", kind="bool")] = 1.0
    kind: Annotated[float, spec("Chooses the kind.", choices=("a", "b", "c"))] = 1.0
    place: Annotated[tuple[float, float], spec("Sets the place.", "m")] = (0.0, 1.0)
    names: Annotated[tuple[str, ...], spec("Lists names.")] = ()
    center: Annotated[float | None, spec("Sets the center.", "m", length=(0, 1))] = None
    moments: Annotated[tuple[float, ...] | None, spec("Sets the moments.", length=(0, 3))] = None
    motor: Annotated[Motor, "motor."] = Motor()
    of_the_kernel: float = 7.0


def test_a_record_declares_its_parameters():
    found = {p.name: (p.kind, p.default, p.unit, p.length) for p in table(Machine, "m.")}
    assert found == {
        "machine.mass": ("float", 1.5, "kg", ()),
        "m.held": ("bool", True, "", ()),
        "m.kind": ("string", "b", "", ()),
        "m.place": ("float_array", (0.0, 1.0), "m", (2,)),
        "m.names": ("string_array", (), "", ()),
        "m.center": ("float_array", (), "m", (0, 1)),
        "m.moments": ("float_array", (), "", (0, 3)),
        "motor.gain": ("float", 2.0, "N/A", ()),
        "motor.counts": ("int", 5, "", ()),
    }
    mass = table(Machine)[0]
    assert (mass.low, mass.low_open, mass.description) == (0.0, True, "Sets the mass.")


def test_defaults_make_the_record_again():
    values = {p.name: p.default for p in table(Machine, "m.")}
    assert record(Machine, values, "m.") == Machine()


def test_values_reach_their_fields():
    values = {p.name: p.default for p in table(Machine)} | {
        "machine.mass": 3.0,
        "held": False,
        "kind": "c",
        "center": (0.5,),
        "moments": (1.0, 2.0, 3.0),
        "motor.counts": 9,
    }
    made = record(Machine, values, of_the_kernel=8.0)
    assert made == Machine(
        3.0, 0.0, 2.0, center=0.5, moments=(1.0, 2.0, 3.0), motor=Motor(2.0, 9), of_the_kernel=8.0
    )
    assert flat(made)["motor.counts"] == 9 and flat(made)["machine.mass"] == 3.0
    assert set(flat(made)) == set(values)


def test_a_record_made_in_python_passes_the_same_check():
    made = check_record(Motor(3, 4.0), "here", "motor.")
    assert made == (3.0, 4) and list(map(type, made)) == [float, int]
    with pytest.raises(
        ValueError, match="here: motor.gain is 0 N/A; it must be a finite number > 0"
    ):
        check_record(Motor(0), "here", "motor.")
