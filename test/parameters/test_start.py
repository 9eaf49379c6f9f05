"""The start of the commands: a tilt, a direction, a scenario, and which of them counts."""

import math
from argparse import Namespace

import pytest

from rbdyn_ros.parameters import start_options
from rbdyn_ros.parameters.command_line import scenario
from rbdyn_ros.parameters.yaml_file import assignment

TEN = math.radians(10.0)


@pytest.mark.parametrize(
    ("tilt", "azimuth", "names", "found"),
    [
        (None, None, (), (TEN, None)),
        (None, "90", (), (TEN, math.pi / 2.0)),
        ("0", None, (), (0.0, None)),
        (None, None, ("lossy",), (TEN, None)),  # it has faults, and no start
        (None, None, ("hanging",), None),
        ("180", "-90", ("hanging",), (math.pi, -math.pi / 2.0)),
    ],
)
def test_the_release(tilt, azimuth, names, found):
    arguments = Namespace(tilt=tilt, azimuth=azimuth)
    assert start_options.release(arguments, map(scenario, names), ()) == found


def test_a_start_by_set_leaves_none_and_without_a_default_there_is_none():
    nothing = Namespace(tilt=None, azimuth=None)
    given = [assignment("initial.cart_velocity=[1, 0]")]
    assert start_options.release(nothing, (), given) is None
    assert start_options.release(nothing, (), (), has_default=False) is None
    leaning = Namespace(tilt="10", azimuth=None)
    assert start_options.release(leaning, (), given) == (TEN, None)
