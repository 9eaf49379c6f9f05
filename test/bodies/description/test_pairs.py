"""Gap, normal and touching points of pairs of bodies."""

import numpy as np
import pytest

from rbdyn_ros.bodies.description import contact_pairs, geoms, rigid_bodies
from rbdyn_ros.geometry import quaternion

BODIES = rigid_bodies.build([1.0, 1.0], np.full((2, 3), 0.1))
Q = rigid_bodies.configuration(
    BODIES,
    [(0.0, 0.1, 2.0), (0.3, -0.2, 0.4)],
    quaternion.exp([(0.3, 0.2, -0.5), (1.0, 0.4, 0.1)]),
)


def on_world(i, point):
    return Q[i, :3] + quaternion.rotate(Q[i, 3:], np.array(point))


def test_corner_over_the_ground():
    touch = contact_pairs.touch(
        contact_pairs.build(2, contact_pairs.corner(0, (0.1, 0.2, 0.3))), 0, Q
    )
    at = on_world(0, (0.1, 0.2, 0.3))
    assert touch.gap == pytest.approx(at[2], abs=1e-14) and touch.normal == (0.0, 0.0, 1.0)
    assert touch.on_a == pytest.approx((0.1, 0.2, 0.3), abs=1e-14) and touch.on_b == pytest.approx(
        at, abs=1e-14
    )


def test_ball_over_a_face_of_another_body():
    touch = contact_pairs.touch(
        contact_pairs.build(2, contact_pairs.ball(0, 0.25, b=1, n=(0, 1, 0), s=(0, 0.1, 0))), 0, Q
    )
    normal = quaternion.rotate(Q[1, 3:], np.array([0.0, 1.0, 0.0]))
    assert touch.normal == pytest.approx(normal, abs=1e-14)
    assert touch.gap == pytest.approx(
        normal @ (Q[0, :3] - on_world(1, (0, 0.1, 0))) - 0.25, abs=1e-14
    )
    assert on_world(0, touch.on_a) == pytest.approx(on_world(1, touch.on_b), abs=1e-14)


def test_two_balls():
    touch = contact_pairs.touch(contact_pairs.build(2, contact_pairs.balls(0, 0.25, 1, 0.5)), 0, Q)
    d = Q[0, :3] - Q[1, :3]
    assert touch.gap == pytest.approx(np.linalg.norm(d) - 0.75, abs=1e-14)
    assert touch.normal == pytest.approx(d / np.linalg.norm(d), abs=1e-14)


def test_box_has_eight_corners():
    corners = geoms.pairs_between(geoms.box((0.2, 0.4, 0.6), 0), geoms.plane())
    g = contact_pairs.gaps(contact_pairs.build(2, *corners), Q)
    assert len(g) == 8 and g.mean() == pytest.approx(2.0, abs=1e-14)


@pytest.mark.parametrize(
    "candidate, sentence",
    [
        (
            contact_pairs.corner(0, (0, 0, 0), mu=-0.1),
            "the friction of contact 0 is -0.1; it must be finite and >= 0",
        ),
        (
            contact_pairs.corner(0, (0, 0, 0), e=1.2),
            "the restitution of contact 0 is 1.2; it must be from 0 to 1",
        ),
        (
            contact_pairs.corner(0, (0, 0, 0), e=float("nan")),
            "the restitution of contact 0 is nan",
        ),
        (
            contact_pairs.corner(2, (0, 0, 0)),
            "contact 0 is between bodies 2 and -1; take two of 0 to 1",
        ),
        (contact_pairs.balls(1, 0.1, 1, 0.1), "between bodies 1 and 1"),
    ],
)
def test_impossible_candidates_are_named(candidate, sentence):
    with pytest.raises(ValueError, match=sentence):
        contact_pairs.build(2, candidate)


def test_negative_radius_is_named():
    with pytest.raises(ValueError, match="the radius of a ball is -0.1 m"):
        contact_pairs.ball(0, -0.1)
