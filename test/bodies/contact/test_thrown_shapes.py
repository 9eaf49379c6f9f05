"""Boxes, capsules and spheres thrown into a bin, with restitution, and cylinders on a plane: no
impact and no contact that stays gives energy.
"""

import numpy as np
import pytest
from touching import random_start, run

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import geoms, scene
from rbdyn_ros.geometry import quaternion

WALLS = {
    "floor": scene.plane(),
    "left": scene.plane((1, 0, 0), (-0.35, 0, 0)),
    "right": scene.plane((-1, 0, 0), (0.35, 0, 0)),
    "front": scene.plane((0, 1, 0), (0, -0.35, 0)),
    "back": scene.plane((0, -1, 0), (0, 0.35, 0)),
}


def throw(seed):
    """Five bodies of random shapes, turns and velocities over each other, with one law for all."""
    random = np.random.default_rng(seed)
    friction = float(random.choice([0, 0.2, 0.5, 1.0]))
    restitution = float(random.choice([0, 0.3, 0.7]))
    bodies, carried, contacts = {}, dict(WALLS), {}
    for k in range(5):
        turn = random.normal(size=4)
        start = {
            "orientation": tuple(turn / np.linalg.norm(turn)),
            "position": (*random.uniform(-0.15, 0.15, 2).tolist(), 0.3 + 0.35 * k),
            "velocity": tuple(random.normal(size=3)),
            "angular_velocity": tuple(3.0 * random.normal(size=3)),
            "density": 500.0,
        }
        kind, name = str(random.choice(["box", "sphere", "capsule"])), f"body_{k}"
        if kind == "box":
            size = tuple(random.uniform(0.05, 0.25, 3).tolist())
            bodies[name] = shapes.box(size, **start)
        elif kind == "sphere":
            size = (float(random.uniform(0.04, 0.12)),)
            bodies[name] = shapes.sphere(*size, **start)
        else:
            size = (float(random.uniform(0.03, 0.06)), float(random.uniform(0.05, 0.15)))
            bodies[name] = shapes.capsule(*size, **start)
        for other in carried:
            pair = scene.Contact((name, other), friction, restitution)
            contacts[f"{name}_{other}"] = pair
        carried[name] = scene.Geom(kind, name, size)
    return scene.build(scene.Scene(bodies, geoms=carried, contacts=contacts))


@pytest.mark.parametrize("seed", [17, 41])
def test_pile_gains_no_energy(seed):
    """Steps that once gained up to 3e4 J: an edge that had been left, parts of a step of
    1e-14 s.
    """
    model = throw(seed)
    energy = models.energy(model)
    for _ in range(130):
        assert models.advance(model, 1e-3, 10) == 10, models.failure(model)
        before, energy = energy, models.energy(model)
        assert energy < before + 2e-6


def height(q, radius, length):
    """Of the lowest point of a cylinder."""
    z = quaternion.rotate(q[3:], np.array((0.0, 0.0, 1.0)))
    return q[2] - 0.5 * length * abs(z[2]) - radius * np.hypot(z[0], z[1])


@pytest.mark.parametrize("seed", [6, 7, 19, 22, 25, 27])
def test_cylinder_that_slaps_flat(seed):
    """Its point of contact goes to the other side of the rim in no time: one of these once gained
    800 J, others sank in by 1e-3 m while both ends hit in turn. Energy rises by less than the
    error of the step, and falls as a whole.
    """
    random = np.random.default_rng(seed)
    radius, length = random.uniform(0.05, 0.15), random.uniform(0.05, 0.3)
    law = {"e": float(random.choice([0, 0.5])), "mu": float(random.choice([0, 0.3, 1.0]))}
    start = random_start(random, 0.05, 0.3)
    part = shapes.cylinder(radius, length, mass=1.0, **start)
    touches = geoms.pairs_between(geoms.cylinder(radius, length, 0), geoms.plane(), **law)
    model = run([part], touches, 2e-3, 1)[0]
    energy = [models.energy(model)]
    for _ in range(500):
        assert models.advance(model, 2e-3, 2) == 2, models.failure(model)
        energy.append(models.energy(model))
        assert height(models.places(model)[0], radius, length) > -1e-8
    assert np.max(np.diff(energy)) < 5e-4
    assert np.max(energy - np.minimum.accumulate(energy)) < 1e-3
