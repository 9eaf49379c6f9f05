"""get_entities filters by name, or refuses; the messages are imitated here."""

from types import SimpleNamespace as Message

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rbdyn_ros.ros.simulator.entity_filter import (  # noqa: E402
    BOX,
    CONVEX_HULL,
    SPHERE,
    Entity,
    Unsupported,
    choose,
    has_tags,
    matching,
)

NAMES = ("cart", "pendulum")
ENTITIES = (
    Entity("cart", 1, "", ("cart", "actuated"), (-0.2, -0.2, -0.1), (0.2, 0.2, 0.0)),
    Entity("pendulum", 4, "", ("rod",), (-0.02, -0.02, -0.02), (0.02, 0.02, 2.42)),
)


def chosen(given) -> list:
    """The names of what a message chooses."""
    return [entity.name for entity in choose(given, ENTITIES)]


def filters(expression="", tags=(), categories=(), bounds=0, points=(), mode=0):
    """An EntityFilters message."""
    return Message(
        filter=expression,
        tags=Message(tags=list(tags), filter_mode=mode),
        categories=[Message(category=number) for number in categories],
        bounds=Message(type=bounds, points=[Message(x=x, y=y, z=z) for x, y, z in points]),
    )


@pytest.mark.parametrize(
    "expression, found",
    [
        ("", ["cart", "pendulum"]),
        ("cart", ["cart"]),
        ("^p", ["pendulum"]),
        ("a|u", ["cart", "pendulum"]),
        ("^(cart|rod)$", ["cart"]),
        ("[[:digit:]]", []),  # classes of POSIX, which Python's re has not
        ("l{2}", []),
        ("d.l+u", ["pendulum"]),
        ("ä", []),
    ],
)
def test_names_that_match_a_posix_expression(expression, found):
    assert chosen(filters(expression)) == found


@pytest.mark.parametrize("wrong", ["(", "[", "a{2,1}", "[[:nothing:]]", "(()", "a\0b"])
def test_an_expression_that_is_none_is_refused_in_a_sentence(wrong):
    with pytest.raises(ValueError, match="filters.filter.*POSIX extended regular expression"):
        matching(wrong, NAMES)


@pytest.mark.parametrize(
    "expression, sentence",
    [
        ("(" * 20_000 + ")" * 20_000, "has 40000 characters.*must have at most 256"),
        ("(((((a{1,100}){1,100}){1,100}){1,100}){1,100})", "must be at most 1000"),
        ("a{9999999999999999}", "must be at most 1000"),
        (r"(.*)\1" * 30, "back-reference"),
    ],
)
def test_an_expression_that_takes_too_much_is_refused(expression, sentence):
    """The C library ran out of stack or memory, or did not return."""
    with pytest.raises(ValueError, match=sentence):
        matching(expression, NAMES)


def test_a_backslash_before_a_digit_may_be_escaped():
    assert matching(r"a\\1", [r"a\1", "a1"]) == [r"a\1"]


@pytest.mark.parametrize(
    "given, found",
    [
        (dict(categories=[1]), ["cart"]),
        (dict(categories=[4, 1]), ["cart", "pendulum"]),
        (dict(categories=[2]), []),
        (dict(tags=["rod", "heavy"]), ["pendulum"]),
        (dict(tags=["rod", "heavy"], mode=1), []),
        (dict(tags=["actuated", "cart"], mode=1), ["cart"]),
        (dict(bounds=SPHERE, points=[(0, 0, 3), (0.57, 0, 0)]), []),
        (dict(bounds=SPHERE, points=[(0, 0, 3), (0.59, 0, 0)]), ["pendulum"]),
        (dict(bounds=SPHERE, points=[(1, 0, 0), (0.85, 0, 0)]), ["cart"]),
        (dict(bounds=SPHERE, points=[(0.25, 0.25, 0), (0.08, 0, 0)]), ["cart"]),
        (dict(bounds=SPHERE, points=[(0.25, 0.25, 0), (0.07, 0, 0)]), []),
        (dict(bounds=BOX, points=[(1, 1, 9), (0, 0, 1)]), ["pendulum"]),
        (dict(bounds=BOX, points=[(0, 0, 1), (1, 1, 9)]), ["pendulum"]),
        (dict(bounds=BOX, points=[(1, 1, 1), (-1, -1, -1)], expression="^c"), ["cart"]),
        (dict(bounds=BOX, points=[(9, 9, 9), (8, 8, 8)]), []),
    ],
)
def test_categories_tags_and_bounds_choose(given, found):
    assert chosen(filters(**given)) == found


def test_tags_without_a_filter_pass():
    assert has_tags(Message(tags=[], filter_mode=1), ())


@pytest.mark.parametrize(
    "given, kind, sentence",
    [
        (dict(bounds=CONVEX_HULL, points=[(0, 0, 0)] * 3), Unsupported, "has type 2; give a box"),
        (dict(bounds=0, points=[(0, 0, 0)]), Unsupported, "has type 0"),
        (dict(bounds=BOX), ValueError, "has 0 points; a box has two corners"),
        (dict(bounds=SPHERE, points=[(0, 0, 0), (-1, 0, 0)]), ValueError, "radius -1 m"),
        (dict(bounds=SPHERE, points=[(0, 0, float("nan")), (1, 0, 0)]), ValueError, "finite"),
    ],
)
def test_bounds_of_no_use_are_refused_in_a_sentence(given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        choose(filters(**given), ENTITIES)
