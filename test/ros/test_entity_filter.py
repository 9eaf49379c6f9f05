"""get_entities filters by name, or refuses; the messages are imitated here."""

from types import SimpleNamespace as Message

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rbdyn_ros.ros.simulator.entity_filter import Unsupported, entities, matching  # noqa: E402

NAMES = ("cart", "pendulum")


def filters(expression="", tags=(), categories=(), bounds=0, points=()):
    """An EntityFilters message."""
    return Message(
        filter=expression,
        tags=Message(tags=list(tags), filter_mode=0),
        categories=list(categories),
        bounds=Message(type=bounds, points=list(points)),
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
    assert entities(filters(expression), NAMES) == found


@pytest.mark.parametrize("wrong", ["(", "[", "a{2,1}", "[[:nothing:]]", "(()", "a\0b"])
def test_an_expression_that_is_none_is_refused_in_a_sentence(wrong):
    with pytest.raises(ValueError, match="filters.filter.*POSIX extended regular expression"):
        matching(wrong, NAMES)


@pytest.mark.parametrize(
    "what, given",
    [
        ("tags", dict(tags=["heavy"])),
        ("categories", dict(categories=[Message(category=1)])),
        ("bounds", dict(bounds=3, points=[Message(x=0.0), Message(x=1.0)])),
        ("bounds", dict(bounds=1)),
    ],
)
def test_what_entities_do_not_have_is_refused_by_name(what, given):
    with pytest.raises(Unsupported, match=f"entities have no {what} here"):
        entities(filters("cart", **given), NAMES)
