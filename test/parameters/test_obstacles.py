"""Obstacles by name: what is read, and the sentence for what cannot be."""

import numpy as np
import pytest

from rbdyn_ros.parameters import contacts as obstacles
from rbdyn_ros.parameters import tables
from rbdyn_ros.parameters.contacts import contacts
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.parameters.yaml_file import assignment, offline_values

TABLE = ("obstacles=[table]", "obstacle.table.shape=box", "obstacle.table.size=[1, 2, 0.5]")


def met(*assignments, files=()):
    return contacts(offline_values(files, map(assignment, assignments)), 2.4).obstacles


def test_a_box_has_two_candidates_with_its_numbers():
    rows = met(
        *TABLE,
        "obstacle.table.position=[1, 0, -1]",
        "obstacle.table.friction=0.4",
        "obstacle.table.velocity=[0.1, 0, 0]",
    )
    assert rows["name"].tolist() == ["table", "table"] and rows["friction"].tolist() == [0.4, 0.4]
    np.testing.assert_array_equal(rows["size"][0], (0.5, 1.0, 0.25))
    np.testing.assert_array_equal(rows["center"][1], (1.0, 0.0, -1.0))
    np.testing.assert_array_equal(rows["velocity"][0], (0.1, 0.0, 0.0))


def test_the_shipped_example_is_read(tmp_path):
    rows = met(files=[config("pendulum.yaml"), config("obstacles.yaml")])
    assert list(dict.fromkeys(rows["name"].tolist())) == ["table", "post", "ball", "wall"]


def test_a_file_and_the_command_line_together(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "/**:\n  ros__parameters:\n    obstacles: [ball]\n    obstacle: {ball: {size: [0.2]}}\n"
    )
    assert met("obstacle.ball.position=[1, 0, 0]", files=[path])["size"][0, 0] == 0.2
    with pytest.raises(
        ValueError,
        match=r"two.yaml:4: obstacle.ball.size is given, but obstacles, \['other'\], does not",
    ):
        met("obstacles=[other]", "obstacle.other.size=[1]", files=[path])


@pytest.mark.parametrize(
    "assignments, sentence",
    [
        (
            ("obstacle.table.shape=box",),
            "obstacle.table.shape is given, but obstacles, [], does not name table; add it there",
        ),
        (
            ("obstacles=[table]", "obstacle.table.shape=cone"),
            "it must be one of box, cylinder, sphere or wall",
        ),
        (
            ("obstacles=[table]", "obstacle.table.radius=1"),
            "obstacle.table.radius is not a known parameter; did you mean",
        ),
        (("obstacles=[table, table]",), "obstacles is ['table', 'table']; table is in it twice"),
        (("obstacles=[9a]",), "obstacles is ['9a']; '9a' is no name: it must begin with a letter"),
        (
            (*TABLE, "obstacle.table.size=[1, 1]"),
            "obstacle.table.size is [1.0, 1.0] m; a box has its edges along x, y and z",
        ),
        (
            (*TABLE, "obstacle.table.shape=cylinder"),
            "obstacle.table.size is [1.0, 2.0, 0.5] m; a cylinder has [radius, length]",
        ),
        (
            (*TABLE, "obstacle.table.size=[1, 1, -1]"),
            "obstacle.table.size is [1, 1, -1] m; it must be a list of 0, 1, 2 or 3",
        ),
        (
            (*TABLE, "obstacle.table.restitution=1.1"),
            "obstacle.table.restitution is 1.1; it must be a finite number >= 0 and <= 1",
        ),
        (
            (*TABLE, "obstacle.table.orientation=[1, 1, 0, 0]"),
            "its norm is 1.41421356 and must be 1",
        ),
        ((*TABLE, "obstacle.table.normal=[0, 0, 0]"), "it must point somewhere"),
        (
            (*TABLE, "obstacle.table.velocity=[0, 1]"),
            "obstacle.table.velocity is [0, 1] m/s; it must be a list of 3 finite numbers",
        ),
    ],
)
def test_what_cannot_be_is_said(assignments, sentence):
    with pytest.raises(ValueError) as refusal:
        met(*assignments)
    assert sentence in str(refusal.value)


def test_every_parameter_of_an_obstacle_is_found_by_the_simulator_only():
    for parameter in obstacles.table(("post",)):
        assert tables.lookup(parameter.name, "here", "pendulum_simulator") == parameter
        with pytest.raises(ValueError, match="is not a known parameter"):
            tables.lookup(parameter.name, "here", "pendulum_controller")
