"""Contacts whose impulses are not unique: what slides while it spins."""

import numpy as np
import pytest

from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics import shapes
from rbdyn_ros.mechanics.description import scene


def spinning(shape, ground, h):
    """Where a box or a cylinder is, how it turns and what its contact carries, after sliding and
    spinning on a plane or on a table for 0.2 s.
    """
    start = dict(position=(0, 0, 0.05), velocity=(2, 0.5, 0), angular_velocity=(0, 0, 6.0))
    size = (0.3, 0.2, 0.1) if shape == "box" else (0.1, 0.1)
    body = getattr(shapes, shape)(*([size] if shape == "box" else size), mass=1.0, **start)
    table = scene.Geom("box", size=(4.0, 4.0, 0.1), position=(0, 0, -0.05))
    model = scene.build(
        scene.Scene(
            {"body": body},
            geoms={
                "body": scene.Geom(shape, "body", size),
                "ground": scene.plane() if ground == "plane" else table,
            },
            contacts={"rubs": scene.Contact(("body", "ground"), 0.3)},
        )
    )
    n = round(0.2 / h)
    assert models.advance(model, h, n) == n, models.failure(model)
    q, v = models.state(model)
    return np.array([*q[0, :2], v[0, 5]])


@pytest.mark.parametrize("shape", ["box", "cylinder"])
@pytest.mark.parametrize("ground", ["plane", "table"])
def test_what_slides_and_spins_on_four_points_converges(shape, ground):
    """Of four points on a plane only three loads are determined, and friction turns the body by
    how they are shared. From step to step the shares stay, so that the motion has a limit.
    """
    found = [spinning(shape, ground, h) for h in (2e-3, 1e-3, 5e-4, 2.5e-4)]
    change = np.abs(np.diff(found, axis=0)).max(axis=1)
    assert change[0] < 1e-3 and (change[1:] < 0.7 * change[:-1]).all(), change
