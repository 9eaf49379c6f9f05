"""Rows that repeat others are found, rows that contradict others are named."""

import numpy as np
import pytest

from rbdyn_ros.bodies.description import joint_kinds, redundancy, rigid_bodies
from rbdyn_ros.bodies.description.rows import WORLD

Y = (0.0, 1.0, 0.0)


def four_bar():
    """Three rods of 1 m and the ground as a parallelogram of hinges: planar, so three rows of the
    20 repeat others.
    """
    bodies = rigid_bodies.build(np.ones(3), np.full((3, 3), 0.1))
    lean = np.array([0.5, 0.0, 3**0.5 / 2])
    q = rigid_bodies.configuration(
        bodies, [0.5 * lean, lean + (0.5, 0.0, 0.0), (1.0, 0.0, 0.0) + 0.5 * lean]
    )
    points = [np.zeros(3), lean, lean + (1.0, 0.0, 0.0), np.array([1.0, 0.0, 0.0])]
    pairs = [(0, WORLD), (1, 0), (2, 1), (2, WORLD)]
    hinges = [
        joint_kinds.hinge(a, joint_kinds.local(q, a, at), b, joint_kinds.local(q, b, at), Y)
        for (a, b), at in zip(pairs, points)
    ]
    return joint_kinds.assemble(3, *hinges), q


def test_parallelogram_of_hinges_has_three_redundant_rows():
    constraints, q = four_bar()
    found = redundancy.independent_rows(constraints, q)
    assert len(found.kept) == 17 and len(found.dropped) == 3
    assert all("hinge between body 2 and the world" in name for name in found.dropped)


def test_stretched_start_keeps_all_rows():
    """Two rods of 1 m between walls 2 m apart: stretched, one direction is said twice, but only
    there.
    """
    bodies = rigid_bodies.build([1.0, 1.0], np.full((2, 3), 0.1))
    q = rigid_bodies.configuration(bodies, [(0.5, 0.0, 0.0), (1.5, 0.0, 0.0)])
    x = (0.5, 0.0, 0.0)
    parts = [
        joint_kinds.anchor(0, (-0.5, 0, 0), (0, 0, 0)),
        joint_kinds.ball_joint(0, x, 1, (-0.5, 0, 0)),
        joint_kinds.plane(1, x, WORLD, (0, 0, 1)),
    ]
    constraints = joint_kinds.assemble(2, *parts)
    assert redundancy.independent_rows(constraints, q).dropped == ()


def test_twice_the_same_anchor_is_redundant():
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.1))
    q = rigid_bodies.configuration(bodies, (0.0, 0.0, 0.0))
    anchor = joint_kinds.anchor(0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    found = redundancy.independent_rows(joint_kinds.assemble(1, anchor, anchor), q)
    assert found.kept == (0, 1, 2) and len(found.dropped) == 3


def test_anchors_that_contradict_each_other_are_named():
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.1))
    q = rigid_bodies.configuration(bodies, (0.0, 0.0, 0.0))
    constraints = joint_kinds.assemble(
        1,
        joint_kinds.anchor(0, (0.1, 0, 0), (0.1, 0, 0)),
        joint_kinds.anchor(0, (0.1, 0, 0), (0.3, 0, 0)),
    )
    with pytest.raises(ValueError, match="anchor of body 0, row 1 of 3: C is .* contradict"):
        redundancy.close(constraints, q)


def test_open_joint_is_named():
    bodies = rigid_bodies.build(1.0, (0.1, 0.1, 0.1))
    q = rigid_bodies.configuration(bodies, (0.0, 0.0, 0.5))
    with pytest.raises(
        ValueError, match="anchor of body 0, row 3 of 3: C is 0.5; it must be 0: start where"
    ):
        redundancy.independent_rows(
            joint_kinds.assemble(1, joint_kinds.anchor(0, (0, 0, 0), (0, 0, 0))), q
        )


def test_open_joint_is_closed():
    bodies = rigid_bodies.build([1.0, 1.0], np.full((2, 3), 0.1))
    q = rigid_bodies.configuration(bodies, [(0.0, 0.0, 0.0), (1.1, 0.05, -0.1)])
    constraints = joint_kinds.assemble(2, joint_kinds.hinge(0, (0.5, 0, 0), 1, (-0.5, 0, 0), Y))
    redundancy.require_met(constraints, redundancy.close(constraints, q))


@pytest.mark.parametrize(
    "joint, sentence",
    [
        (
            joint_kinds.anchor(2, (0, 0, 0), (0, 0, 0)),
            "anchor of body 2: there is no body 2; bodies are 0 to 1",
        ),
        (joint_kinds.ball_joint(1, (0, 0, 0), 1, (0, 0, 0)), "needs two different bodies"),
    ],
)
def test_impossible_bodies_are_named(joint, sentence):
    with pytest.raises(ValueError, match=sentence):
        joint_kinds.assemble(2, joint)


def test_zero_axis_is_named():
    with pytest.raises(ValueError, match="axis_a is .* a direction must not be zero"):
        joint_kinds.hinge(0, (0, 0, 0), WORLD, (0, 0, 0), (0, 0, 0))
