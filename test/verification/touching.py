"""What the tests of shapes share: random poses, gaps and their gradients, and short runs."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import contact_pairs, geoms
from rbdyn_ros.geometry import quaternion

TURNED = tuple(quaternion.exp((0.4, -0.8, 0.3)))
AWRY = {"position": (0.1, -0.05, 0.02), "orientation": TURNED}
TABLE = geoms.box((1.0, 1.0, 0.1), position=(0.0, 0.0, -0.05))


def poses(seed, count, apart=0.4):
    random = np.random.default_rng(seed)
    for _ in range(count):
        q = np.zeros((2, 7))
        q[0, :3] = apart * random.normal(size=3)
        q[:, 3:] = quaternion.normalize(random.normal(size=(2, 4)))
        yield q


def placed(geom, q):
    """(center, attitude) of a shape in the world."""
    x, turn = q[geom.body, :3], q[geom.body, 3:]
    R = quaternion.to_matrix(quaternion.product(turn, np.array(geom.orientation)))
    return x + quaternion.rotate(turn, np.array(geom.position)), R


def gaps(a, b, q):
    return contact_pairs.gaps(contact_pairs.build(2, *geoms.pairs_between(a, b)), q)


def turned(q, body, d):
    """q after a displacement d of a body (3 of its place, 3 of its attitude in its axes)."""
    q = q.copy()
    q[body, :3] += d[:3]
    q[body, 3:] = quaternion.product(q[body, 3:], quaternion.exp(d[3:]))
    return q


def check_gradient(a, b, count=12, deepest=np.inf):
    """Of the smallest gap, at poses that overlap by at most `deepest` [m]."""
    table, step, checked = contact_pairs.build(2, *geoms.pairs_between(a, b)), 1e-6, 0
    for q in poses(4, count):
        k = int(np.argmin(contact_pairs.gaps(table, q)))
        touch = contact_pairs.touch(table, k, q)
        if touch.gap < -deepest:
            continue
        for body, on, sign in ((0, touch.on_a, 1.0), (1, touch.on_b, -1.0)):
            n = sign * np.array(touch.normal)
            back = quaternion.rotate(quaternion.conjugate(q[body, 3:]), n)
            expected = np.hstack([n, np.cross(on, back)])
            for i, e in enumerate(step * np.eye(6)):
                up, down = (
                    contact_pairs.touch(table, k, turned(q, body, s * e)).gap for s in (1, -1)
                )
                if abs(up - 2.0 * touch.gap + down) < 1e-10:
                    checked += 1
                    assert (up - down) / (2.0 * step) == pytest.approx(expected[i], abs=1e-7)
    assert checked > 120


def run(parts, candidates, h, n):
    """(model, q, v) after n steps."""
    bodies, q, v = shapes.assemble(parts)
    model = models.build(bodies, q, v, None, contact_pairs.build(len(parts), *candidates))
    assert models.advance(model, h, n) == n, models.failure(model)
    return model, *models.state(model)


def least_gap(model, q):
    return contact_pairs.gaps(model.pairs, q).min()


def random_start(random, apart, height):
    """Where a thrown body starts: above a table, turning, with a random velocity."""
    return {
        "position": (*random.uniform(-apart, apart, 2), height),
        "orientation": tuple(quaternion.normalize(random.normal(size=4))),
        "velocity": tuple(random.normal(size=3)),
        "angular_velocity": tuple(3.0 * random.normal(size=3)),
    }


def drop(parts, carried, law):
    """A second in which bodies come down on a small table, the ground under it and each other,
    in pieces: no step fails and energy only falls; the model after each of them.
    """
    grounds = (geoms.box((0.6, 0.6, 0.1), position=(0, 0, -0.05)), geoms.plane(offset=-0.5))
    touches = []
    for i, geom in enumerate(carried):
        for other in (*grounds, *carried[:i]):
            touches += geoms.pairs_between(geom, other, **law)
    model = run(parts, touches, 2e-3, 1)[0]
    energy = models.energy(model)
    for _ in range(20):
        assert models.advance(model, 2e-3, 25) == 25, models.failure(model)
        before, energy = energy, models.energy(model)
        assert energy < before + 1e-3
        assert least_gap(model, models.state(model)[0]) > -1e-4
        yield model
