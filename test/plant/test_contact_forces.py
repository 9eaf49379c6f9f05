"""The plant meets the floor: forces, impulses, reset, other numbers, faults that say what was
tried.
"""

import math

import numpy as np
import pytest

from rbdyn_ros.parameters import contacts as parameters
from rbdyn_ros.pendulum import obstacles, world
from rbdyn_ros.pendulum.contact_forces import ContactForce, resultant
from rbdyn_ros.plant import setup
from rbdyn_ros.plant.plant import Plant
from rbdyn_ros.types import State

NO_WRENCH = np.zeros(9)
FLAT = math.acos(-0.1 / 2.4)  # the tip on the floor
LYING = dict(
    contact__floor__enabled=True,
    contact__floor__friction=0.5,
    initial__orientation=(math.cos(FLAT / 2), 0.0, math.sin(FLAT / 2), 0.0),
)


@pytest.fixture
def plant(values):
    """`plant(...)`: a plant with contacts, rod on the floor, with changes."""
    return lambda **changes: Plant(
        setup.plant_setup(values(integrator__name="quaternion_midpoint", **{**LYING, **changes}))
    )


def test_a_rod_at_rest_presses_with_half_its_weight_at_the_tip(plant):
    p = plant()
    for _ in range(100):
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    (touch,) = p.touches
    assert world.NAMES[touch.contact] == "floor" and touch.normal == (0.0, 0.0, 1.0)
    np.testing.assert_allclose(touch.force, (0.0, 0.0, 0.5 * 9.81), atol=1e-6)
    np.testing.assert_allclose(touch.point, p.point((0.0, 0.0, 2.4)), atol=1e-15)
    assert p.diagnostics.impulses[world.FLOOR] == pytest.approx(0.5 * 9.81 * p.time, rel=0.1)
    assert p.diagnostics.impulses[1:] == (0.0, 0.0, 0.0)


def test_a_wrench_of_several_contacts_has_their_force_and_torque():
    a = ContactForce(0, (2.0, 0.0, -0.1), (0.0, 0.0, 1.0), (0.0, 0.0, 5.0))
    b = ContactForce(1, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (10.0, 1.0, 0.0))
    point, force, torque = resultant((a, b))
    np.testing.assert_allclose(force, (10.0, 1.0, 5.0))
    about_origin = np.cross(a.point, a.force) + np.cross(b.point, b.force)
    np.testing.assert_allclose(np.cross(point, force) + torque, about_origin, atol=1e-14)
    assert resultant((a,)) == (a.point, a.force, (0.0, 0.0, 0.0)) and not np.any(resultant(()))


def test_reset_makes_contacts_forget(plant):
    p = plant(contact__stops__x_min=-3.0)
    before = p.specific_force()
    for _ in range(20):
        p.tick((0.0, 0.0), NO_WRENCH)
    assert p.touches and p.diagnostics.impulses[0] > 0.0
    p.reset()
    assert p.touches == () and p.specific_force() == pytest.approx(before, abs=1e-9)
    assert p.diagnostics.impulses[0] == 0.0 and p.diagnostics.impacts == 0


def test_two_runs_from_a_reset_are_identical(plant):
    p, ends = (
        plant(initial__orientation=(0.96, 0.0, 0.28, 0.0), contact__floor__restitution=0.5),
        [],
    )
    for _ in range(2):
        p.reset()
        for _ in range(700):
            assert p.tick((1.0, 0.0), NO_WRENCH) == ""
        ends.append(
            (
                p.q.tobytes(),
                p.v.tobytes(),
                p.contact.events[:, 1:].tobytes(),
                p.diagnostics.impacts,
            )
        )
    assert ends[0] == ends[1] and p.diagnostics.impacts >= 1


def test_other_friction_is_adopted_where_the_rod_lies(plant, values):
    p = plant()
    for _ in range(50):
        p.tick((0.0, 0.0), NO_WRENCH)
    other = setup.plant_setup(
        values(integrator__name="quaternion_midpoint", **{**LYING, "rod__mass": 2.0})
    )
    before = p.diagnostics.impulses[world.FLOOR]
    p.check(other)
    p.reconfigure(other)
    for _ in range(50):
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    (touch,) = p.touches  # half of twice the weight
    np.testing.assert_allclose(touch.force, (0.0, 0.0, 9.81), atol=1e-6)
    assert p.diagnostics.impulses[world.FLOOR] > before
    slippery = setup.plant_setup(
        values(
            integrator__name="quaternion_midpoint", **{**LYING, "contact__floor__friction": 0.1}
        )
    )
    p.check(slippery)
    p.reconfigure(slippery)
    assert p.tick((0.0, 0.0), NO_WRENCH) == ""


def test_an_obstacle_that_is_placed_anew_leaves_the_others_where_they_are(plant, values):
    """A ball got another size, and the other one, which had moved by 2 cm, went back as well."""
    balls: dict = {row.name: row.default for row in parameters.table(("a", "b"))}
    far = dict(shape="sphere", size=(0.1,), velocity=(1.0, 0.0, 0.0))
    for name, y in (("a", 3.0), ("b", -3.0)):
        for field, value in dict(far, position=(0.0, y, 1.0)).items():
            balls[f"obstacle.{name}.{field}"] = value

    def gap(p):
        here = State(p.time, p.q, p.v)
        return world.gaps(p.setup.system.contacts, here, p.elapsed)["obstacle.a"]

    balls["obstacles"] = ("a", "b")
    p = plant(**balls)
    for _ in range(20):
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    moved, before = p.time, gap(p)
    other = setup.plant_setup(
        values(
            integrator__name="quaternion_midpoint",
            **{**LYING, **balls, "obstacle.b.size": (0.2,)},
        )
    )
    p.check(other)
    p.reconfigure(other)
    assert moved > 0.01 and gap(p) == pytest.approx(before, abs=1e-12)
    for _ in range(20):
        assert p.tick((0.0, 0.0), NO_WRENCH) == ""
    centers = [obstacles.center(row, p.elapsed) for row in p.setup.system.contacts.obstacles]
    assert centers[0] == pytest.approx((p.time, 3.0, 1.0), abs=1e-12)
    assert centers[1] == pytest.approx((p.time - moved, -3.0, 1.0), abs=1e-12)
    p.reset()
    centers = [obstacles.center(row, p.elapsed) for row in p.setup.system.contacts.obstacles]
    assert np.array(centers)[:, 0] == pytest.approx([0.0, 0.0])


def test_an_obstacle_cannot_be_put_where_the_rod_is(plant, values):
    p = plant(initial__orientation=(1.0, 0.0, 0.0, 0.0))
    p.q[:] = (0.0, 0.0, math.cos(FLAT / 2), 0.0, math.sin(FLAT / 2), 0.0)
    upright = dict(
        LYING,
        initial__orientation=(1.0, 0.0, 0.0, 0.0),
        contact__obstacle__kind="sphere",
        contact__obstacle__center=(1.2, 0.0, 0.0),
    )
    with pytest.raises(
        ValueError,
        match=r"contact.obstacle would overlap the pendulum, where it is now, by 0\.\d+ m",
    ):
        p.check(setup.plant_setup(values(integrator__name="quaternion_midpoint", **upright)))


def test_a_reset_into_the_floor_is_refused_and_changes_nothing(plant):
    p = plant()
    q = p.q.copy()
    with pytest.raises(ValueError, match="contact.floor overlaps the pendulum by 2.3 m"):
        p.reset(p.setup.initial._replace(q=np.array((0.0, 0.0, 0.0, 1.0, 0.0, 0.0))))
    np.testing.assert_array_equal(p.q, q)


def test_a_jammed_pendulum_is_a_fault_that_says_why(plant):
    """The upright rod against a plane above its tip: at first order the tip cannot move down, W_NN
    = 0.
    """
    p = plant(
        initial__orientation=(1.0, 0.0, 0.0, 0.0),
        contact__obstacle__kind="half_space",
        contact__obstacle__center=(0.0, 0.0, 2.4 - 5e-7),
        contact__obstacle__normal=(0.0, 0.0, -1.0),
    )
    faults = [p.tick((0.0, 0.0), NO_WRENCH) for _ in range(5)]
    reason = next(filter(None, faults), "")
    assert (
        "failed at t = 0" in reason
        and "no impulses were found at contact.obstacle (the rod on the world)" in reason
    )
    assert np.isfinite(p.q).all() and np.isfinite(p.v).all()
    p.reset(p.setup.initial._replace(q=np.array((0.0, 0.0, 0.96, 0.28, 0.0, 0.0))))
    assert p.tick((0.0, 0.0), NO_WRENCH) == ""
