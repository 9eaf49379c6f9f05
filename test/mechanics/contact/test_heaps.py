"""Heaps of spheres, and cubes of one size on each other, in whole steps: they settle, points of
contact lie where both bodies are, and what cannot be is refused.
"""

import numpy as np
import pytest

from rbdyn_ros.geometry import quaternion
from rbdyn_ros.mechanics import columns as c
from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import shapes
from rbdyn_ros.mechanics.description import geoms, pairs

G, RADIUS, WALL, H = 9.81, 0.1, 0.22, 2e-3


def heap(count, mu=0.5):
    """Spheres that fall into a bin, two by two."""
    random, parts, touches = np.random.default_rng(2), [], []
    for i in range(count):
        x, y = 0.21 * np.array([i % 2 - 0.5, i // 2 % 2 - 0.5]) + random.uniform(-0.004, 0.004, 2)
        parts.append(shapes.sphere(RADIUS, mass=1.0, position=(x, y, 0.15 + 0.25 * (i // 4))))
        touches.append(pairs.ball(i, RADIUS, mu=mu))
        for n in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)):
            touches.append(pairs.ball(i, RADIUS, n=n, s=-WALL * np.array(n), mu=mu))
        touches += [pairs.balls(i, RADIUS, j, RADIUS, mu=mu) for j in range(i)]
    bodies, q, v = shapes.assemble(parts, (0.0, 0.0, -G))
    options = models.Options(whole_steps=True)
    return models.build(bodies, q, v, None, pairs.build(count, *touches), options=options)


def test_heap_of_spheres_settles():
    """Nothing overlaps, energy only falls, and in the end the ground carries the weight."""
    count = 20
    model = heap(count)
    energy = [models.energy(model)]
    for _ in range(40):
        assert models.advance(model, H, 25) == 25, models.failure(model)
        assert pairs.gaps(model.pairs, models.places(model)).min() > -5e-6
        energy.append(models.energy(model))
    assert max(np.diff(energy)) < 1e-4
    q = models.places(model)
    models.contact_impulses(model)
    assert models.advance(model, H, 25) == 25
    assert np.abs(models.places(model) - q)[:, :3].max() < 1e-4
    assert np.abs(models.state(model)[1][:, :3]).max() < 1e-2
    on_world = model.pairs.b == -1
    force = models.contact_impulses(model)[on_world, 1:].sum(axis=0) / (25 * H)
    assert force == pytest.approx((0.0, 0.0, count * G), abs=1e-3 * count * G)
    assert q[:, 2].min() == pytest.approx(RADIUS, abs=1e-6)


def test_no_pair_is_missed_that_is_not_looked_at():
    """The list of near pairs holds every pair that touches, at each step of a fall."""
    model = heap(12, mu=0.0)
    for _ in range(60):
        assert models.advance(model, H, 5) == 5, models.failure(model)
        count = models.part(model, "counters")[c.NEAR, 0]
        near = set(models.part(model, "near")[:count, 0])
        touching = np.flatnonzero(pairs.gaps(model.pairs, models.places(model)) < 1e-4)
        assert near.issuperset(touching)
    assert count < len(model.pairs.kind)


def test_points_of_cubes_whose_edges_coincide_lie_on_both():
    """A corner outside of a side by what still counts as inside, next to one farther out by as
    little: the point where their edge meets the side is between them (a point far outside of both
    bodies once overlapped by 1e-2 m, and ended the run).
    """
    random, half = np.random.default_rng(5), 0.1
    for _ in range(60):
        shift = (*random.uniform(-2e-8, 2e-8, 2), 3.0 * half)
        turn = tuple(quaternion.exp((0.0, 0.0, random.uniform(-1e-7, 1e-7))))
        low = shapes.box((2.0 * half,) * 3, mass=1.0, position=(0.0, 0.0, half))
        high = shapes.box((2.0 * half,) * 3, mass=1.0, position=shift, orientation=turn)
        bodies, q, v = shapes.assemble([low, high], (0.0, 0.0, -G))
        shaped = [geoms.plane(), *(geoms.box((2.0 * half,) * 3, i) for i in range(2))]
        options = models.Options(whole_steps=True)
        colliders = geoms.colliders(shaped, 0.0, 0.0)
        model = models.build(bodies, q, v, options=options, colliders=colliders)
        assert models.advance(model, H, 2) == 2, models.failure(model)
        heads, rows = models.part(model, "pair_integers"), models.part(model, "pairs")
        between = rows[(heads[:, c.A] == 0) & (heads[:, c.B] == 1)]
        between = np.vstack([between, rows[(heads[:, c.A] == 1) & (heads[:, c.B] == 0)]])
        points = between[:, c.CA : c.CA + 3]
        assert len(points) >= 4 and np.abs(points).max() < half + 1e-6


def test_a_cube_that_slides_against_a_wall_stays_there():
    """Friction on the floor does not follow a mean with the velocity before the impact, which once
    threw the cube 4e-5 m back.
    """
    apart, size = 0.053, (0.2, 0.2, 0.2)
    part = shapes.box(size, mass=1.0, position=(0.0, 0.0, 0.1), velocity=(2.0, 0.0, 0.0))
    bodies, q, v = shapes.assemble([part], (0.0, 0.0, -G))
    shaped = [geoms.plane(), geoms.plane((-1.0, 0.0, 0.0), -0.1 - apart), geoms.box(size, 0)]
    colliders = geoms.colliders(shaped, [0.5, 0.0, 0.5], [0.0, 0.0, 0.0])
    options = models.Options(whole_steps=True)
    model = models.build(bodies, q, v, options=options, colliders=colliders)
    assert models.advance(model, 5e-3, 6) == 6
    for _ in range(5):
        assert models.advance(model, 5e-3, 1) == 1
        assert models.places(model)[0, 0] == pytest.approx(apart, abs=1e-9)


def test_whole_steps_refuse_faces():
    table, cube = geoms.box((1.0, 1.0, 0.1)), geoms.box((0.1, 0.1, 0.1), 0)
    bodies, q, v = shapes.assemble([shapes.box((0.1,) * 3, mass=1.0, position=(0, 0, 0.2))])
    touches = pairs.build(1, *geoms.pairs_between(cube, table))
    with pytest.raises(ValueError, match="contact 0 is between shapes with faces that end"):
        models.build(bodies, q, v, None, touches, options=models.Options(whole_steps=True))
