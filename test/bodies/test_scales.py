"""Models in other units of length, mass and time move the same: no tolerance has a unit of its
own.
"""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import scene as scenes
from rbdyn_ros.parameters import model_file

H = 1e-3  # [s]


def scaled(scene, length, mass, time):
    """The scene with its lengths, masses and times so many times as large."""

    def places(part, *words):
        found = {word: getattr(part, word) for word in words}
        found = {word: at for word, at in found.items() if at is not None}
        return {word: tuple(length * np.array(at)) for word, at in found.items()}

    def at_speed(part):
        return {"velocity": tuple(length / time * np.array(part.velocity))}

    def body(part):
        spin = tuple(np.array(part.angular_velocity) / time)
        inertia = tuple(mass * length**2 * np.array(part.inertia))
        return part._replace(
            mass=mass * part.mass, inertia=inertia, angular_velocity=spin,
            **places(part, "position"), **at_speed(part),
        )  # fmt: skip

    def spring(part):
        by = mass * (length**2 if part.hinge else 1.0) / time
        rest = {} if part.length is None else {"length": length * part.length}
        stiffness, damping = by / time * part.stiffness, by * part.damping
        ends = places(part, "start", "end")
        return part._replace(stiffness=stiffness, damping=damping, **ends, **rest)

    def each(change, group):
        return {name: change(part) for name, part in group.items()}

    return scene._replace(
        bodies=each(body, scene.bodies),
        joints=each(
            lambda j: j._replace(**places(j, "point", "point_a", "point_b")), scene.joints
        ),
        geoms=each(
            lambda g: g._replace(**places(g, "size", "position"), **at_speed(g)), scene.geoms
        ),
        springs=each(spring, scene.springs),
        gravity=tuple(length / time**2 * np.array(scene.gravity)),
    )


def path(scene, scale, steps, every=20):
    """(places, velocities) every so many steps of a scene in other units, in the old ones."""
    length, _, time = scale
    model, found = scenes.build(scaled(scene, *scale)), []
    for _ in range(steps // every):
        assert models.advance(model, H * time, every) == every, models.failure(model)
        q, v = models.state(model)
        rates = np.hstack([v[:, :3] * (time / length), v[:, 3:] * time])
        found.append(np.hstack([q[:, :3] / length, q[:, 3:], rates]))
    return np.array(found)


def scene_of(name):
    """The scene of a shipped model."""
    return model_file.read(model_file.find(name)).scene


UNITS = [(64.0, 1.0, 1.0), (64.0**-2, 1.0, 1.0), (1.0, 4.0, 1.0), (1.0, 1.0, 64.0)]
UNITS += [(1.0, 1.0, 1.0 / 64.0), (64.0, 1.0 / 16.0, 1.0 / 64.0)]


@pytest.mark.parametrize("name", model_file.names())
def test_units_change_nothing(name):
    """In units of powers of 64, those of tolerances, numbers are the same: up to `belt`, whose
    wall has a mass that is not scaled, to the bit.
    """
    scene = scene_of(name)
    found = path(scene, (1.0, 1.0, 1.0), 300)
    for scale in UNITS:
        assert np.abs(path(scene, scale, 300) - found).max() < 1e-12, scale


@pytest.mark.parametrize("length", [1e-3, 1e-1, 10.0, 1e3])
def test_any_length_moves_the_same(length):
    scene = scene_of("stack_of_boxes")
    found = path(scene, (1.0, 1.0, 1.0), 500)
    assert np.abs(path(scene, (length, 1.0, 1.0), 500) - found)[:, :, :7].max() < 1e-3
    faster = path(scene, (length, 1.0, length**0.5), 500)  # on earth
    assert np.abs(faster - found)[:, :, :7].max() < 1e-3
