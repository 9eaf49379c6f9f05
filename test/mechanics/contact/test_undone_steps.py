"""Steps of heaps that fail leave the contacts as they were: what follows is what would follow
without the failure.
"""

import numpy as np
import pytest

from rbdyn_ros.mechanics import colliding, shapes, smooth
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics.contact import slots
from rbdyn_ros.mechanics.description import geoms, pairs

WHOLE, BOX, PLATE = models.Options(whole_steps=True), (0.1, 0.09, 0.08), (1.0, 1.0, 0.05)


def pressed(restitution):
    """Boxes that tumble on a floor while a plate comes down on them, until they jam."""
    random = np.random.default_rng(6)
    plate = shapes.box(PLATE, mass=1.0, position=(0.0, 0.0, 0.6), velocity=(0.0, 0.0, -1.0))
    parts = [plate._replace(held=(1.0,) * 6)]
    for i in range(8):
        turned = random.normal(size=4)
        place = 0.25 * (i % 3 - 1), 0.25 * (i // 3 - 1), 0.15 + 0.02 * i
        spin = tuple(5.0 * random.normal(size=3))
        turned = tuple(turned / np.linalg.norm(turned))
        parts.append(
            shapes.box(BOX, mass=1.0, position=place, orientation=turned, angular_velocity=spin)
        )
    shaped = [geoms.plane(), geoms.box(PLATE, 0)] + [geoms.box(BOX, i) for i in range(1, 9)]
    bodies, q, v = shapes.assemble(parts)
    colliders = geoms.colliders(shaped, 0.3, restitution)
    return models.build(bodies, q, v, options=WHOLE, colliders=colliders)


def kept(model):
    """What steps go on from: bodies, and for each contact its pair, flag, impulses and sums."""
    rows, integers = models.part(model, "pairs"), models.part(model, "pair_integers")
    used = models.part(model, "used")[: models.part(model, "counters")[c.USED, 0], 0]
    free = np.setdiff1d(np.arange(len(rows)), used)
    assert (integers[free, c.CLOSED] == 0).all() and (integers[free, c.A] == c.WORLD).all()
    return [
        models.part(model, "bodies")[:, : c.STATE],
        used,
        models.part(model, "pair_shapes")[used],
        models.part(model, "slots")[used, c.OTHER : c.SEEN],
        integers[used],
        rows[used, : c.DESCRIBED],
        models.part(model, "touched"),
        models.part(model, "collider_integers"),
        models.part(model, "clock")[[c.TIME]],
    ]


def assert_equal(model, twin):
    for x, y in zip(kept(model), kept(twin)):
        assert x.shape == y.shape and (x == y).all()


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_a_run_that_fails_goes_on_as_one_that_stopped_before(restitution):
    """Pieces of the last step were taken, and contacts took and gave back slots, before it failed:
    the sums were wrong by 2000 N s, and closed contacts of nothing made velocities of round-off.
    """
    model, twin, h = pressed(restitution), pressed(restitution), 4e-3
    taken = models.advance(model, h, 1000)
    assert 100 < taken < 130
    assert models.advance(twin, h, taken) == taken
    assert_equal(model, twin)
    for x, y in zip(models.state(model), models.state(twin)):
        assert (x == y).all()
    for x, y in zip(colliding.impulses(model), colliding.impulses(twin)):
        assert (x == y).all()
    shorter = [models.advance(each, h / 32.0, 50) for each in (model, twin)]
    assert shorter[0] == shorter[1] and shorter[0] > 0
    assert models.places(model) == pytest.approx(models.places(twin), abs=1e-12)
    for x, y in zip(colliding.impulses(model), colliding.impulses(twin)):
        assert x == pytest.approx(y, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("is_listed", [True, False])
def test_the_halves_of_a_step_begin_without_the_contacts_that_it_closed(is_listed):
    """The impact turns a rod by more than Newton's method finds in a step; in the halves it has
    its restitution, as if the step had been short from the start.
    """
    half = 0.15
    turned = (np.cos(half), 0.0, np.sin(half), 0.0)
    start = {"position": (0.0, 0.0, 0.3), "orientation": turned, "velocity": (0.0, 0.0, -20.0)}
    bodies, q, v = shapes.assemble([shapes.rod(0.05, mass=1.0, **start)], (0.0, 0.0, 0.0))
    if is_listed:
        ends = (pairs.corner(0, (0.0, 0.0, z), e=0.5) for z in (0.025, -0.025))
        model = models.build(bodies, q, v, pairs=pairs.build(1, *ends), options=WHOLE)
    else:
        shaped = [geoms.plane(), geoms.capsule(0.01, 0.03, 0)]
        colliders = geoms.colliders(shaped, 0.0, 0.5)
        model = models.build(bodies, q, v, options=WHOLE, colliders=colliders)
    assert models.advance(model, 0.01, 3) == 3
    assert models.part(model, "counters")[c.FAILURE, 0] == smooth.BODY_FAILED
    impact = models.impacts(model)[0]
    assert impact[5:] == pytest.approx((-20.0, 10.0), rel=1e-12)


def test_a_shorter_step_needs_less_room_for_contacts():
    """A run that had no room for contacts goes on with steps in which fewer bodies come near."""
    places, speeds = ((0.0, 0.0, 0.1), (0.5, 0.0, 0.6)), (0.0, -10.0)
    parts = [
        shapes.sphere(0.1, mass=1.0, position=x, velocity=(0.0, 0.0, w))
        for x, w in zip(places, speeds)
    ]
    bodies, q, v = shapes.assemble(parts)
    shaped = [geoms.plane(), geoms.sphere(0.1, 0), geoms.sphere(0.1, 1)]
    colliders = geoms.colliders(shaped, contacts=1)
    model = models.build(bodies, q, v, options=WHOLE, colliders=colliders)
    assert models.advance(model, 0.1, 1) == 0
    assert models.part(model, "counters")[c.FAILURE, 0] == slots.NO_ROOM
    assert models.advance(model, 1e-3, 10) == 10
