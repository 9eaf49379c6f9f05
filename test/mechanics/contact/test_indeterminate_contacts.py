"""Contacts whose impulses are not unique: what slides while it spins, rods that lean and jam."""

import numpy as np
import pytest

from rbdyn_ros.geometry import quaternion
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


@pytest.mark.parametrize("kind", ["ball", "universal", "hinge"])
@pytest.mark.parametrize("h", [1e-2, 1e-3, 1e-4])
def test_a_rod_falls_on_a_rough_floor_and_leans_there(kind, h):
    """A rod of 1 m on a joint of the world at 0.5 m height: its tip touches at 30 degrees, where
    friction jams it (mu > tan 30), after it has turned about the vertical and slid.
    """
    a, b = np.array([0.0, 0.0, 0.5]), np.array([np.sqrt(1.0 - 0.4**2), 0.0, 0.1])
    turn = quaternion.exp((0.0, np.arccos(b[2] - a[2]), 0.0))
    spin = np.array([0.0, 0.0, 0.0 if kind == "hinge" else 1.0])
    rod = shapes.Body(
        1.0,
        (1.0 / 12.0, 1.0 / 12.0, 1e-3),
        tuple(0.5 * (a + b)),
        tuple(turn),
        tuple(np.cross(spin, 0.5 * (b - a))),
        tuple(quaternion.rotate(quaternion.conjugate(turn), spin)),
    )
    axes = {"hinge": {"axis": (0, 1, 0)}, "universal": {"axis": (0, 1, 0), "axis_b": (0, 0, 1)}}
    model = scene.build(
        scene.Scene(
            {"rod": rod},
            {"joint": scene.Joint(kind, ("rod", "world"), tuple(a), **axes.get(kind, {}))},
            {"tip": scene.Geom("point", "rod", (), (0.0, 0.0, 0.5)), "floor": scene.plane()},
            {"lands": scene.Contact(("tip", "floor"), friction=2.0)},
        )
    )
    n = round(0.4 / h)
    assert models.advance(model, h, n) == n, models.failure(model)
    q, v = models.state(model)
    tip = q[0, :3] + quaternion.rotate(q[0, 3:], np.array([0.0, 0.0, 0.5]))
    assert abs(tip[2]) < 1e-9 and np.abs(v[0, :5]).max() < 1e-6
    assert np.linalg.norm(tip - a) == pytest.approx(1.0, abs=1e-12)
