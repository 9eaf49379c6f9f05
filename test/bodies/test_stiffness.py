"""Steps that are too long for springs and dampers: the limit, and that it is named."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import scene

STILL, ALONG_X, Y = (0.0, 0.0, 0.0), (0.5**0.5, 0.0, 0.5**0.5, 0.0), (0.0, 1.0, 0.0)


def two_on_a_spring():
    """2 kg and 3 kg on 50 N/m, and the shortest step that is unstable [s]."""
    bodies = {
        "ball": shapes.sphere(0.1, mass=2.0, position=(1.2, 0.0, 0.0)),
        "block": shapes.box((0.2,) * 3, mass=3.0),
    }
    spring = scene.Spring(50.0, ("ball", "block"), length=1.0)
    model = scene.build(scene.Scene(bodies, gravity=STILL, springs={"pull": spring}))
    return model, 2.0 / np.sqrt(50.0 * (1.0 / 2.0 + 1.0 / 3.0))


def test_a_step_that_is_too_long_for_a_spring_is_refused():
    """Below the limit the energy stays; beyond, where it would grow without end, it is named."""
    model, limit = two_on_a_spring()
    start = models.energy(model)
    assert models.advance(model, 0.98 * limit, 500) == 500
    assert models.energy(model) < 100.0 * start
    unchecked, _ = two_on_a_spring()
    models.stepper(unchecked)(unchecked.arena, 1.02 * limit, 200)
    assert not models.energy(unchecked) < 1e6 * start
    refused, _ = two_on_a_spring()
    with pytest.raises(ValueError, match=r"spring pull: h sqrt\(k/m\) is 2.04 .* below 0.31 s"):
        models.advance(refused, 1.02 * limit, 1)
    with pytest.raises(ValueError, match="longest stage of suzuki4"):
        models.advance(refused, 1.6 * limit, 1, "suzuki4")


def test_the_limit_of_a_coil_has_the_joint_in_it():
    """A rod on a hinge turns about its end."""
    rod = shapes.rod(0.5, mass=0.3, position=(0.25, 0.0, 0.0), orientation=ALONG_X)
    pivot = scene.Joint("hinge", ("rod", "world"), STILL, axis=Y)
    coil = {"coil": scene.Spring(40.0, hinge="pivot", damping=2.0)}
    model = scene.build(scene.Scene({"rod": rod}, {"pivot": pivot}, springs=coil))
    inertia = rod.inertia[1] + 0.3 * 0.25**2
    assert model.fastest.frequency == pytest.approx(np.sqrt(40.0 / inertia), rel=1e-12)
    assert model.fastest.rate == pytest.approx(2.0 / inertia, rel=1e-12)


def elbow(damping):
    """A double pendulum with a damper at its elbow."""
    bodies = {
        "upper": shapes.rod(0.5, mass=0.3, position=(0.25, 0, 0), orientation=ALONG_X),
        "lower": shapes.rod(0.4, mass=0.2, position=(0.5, 0, 0.2)),
    }
    joints = {
        "shoulder": scene.Joint("hinge", ("upper", "world"), STILL, axis=Y),
        "elbow": scene.Joint("hinge", ("lower", "upper"), (0.5, 0, 0), axis=Y),
    }
    brake = {"brake": scene.Spring(0.0, hinge="elbow", damping=damping)}
    return scene.build(scene.Scene(bodies, joints, springs=brake))


def test_a_composition_keeps_its_order_or_names_the_damper():
    def end(damping, h):
        model, n = elbow(damping), round(0.32 / h)
        assert models.advance(model, h, n, "suzuki4") == n
        return models.state(model)[0][1, :3]

    h = 4e-3
    damping = 0.9 / (h * 0.66 * elbow(1.0).fastest.rate)
    found = [end(damping, h / 2**k) for k in range(4)]
    errors = [np.abs(q - found[-1]).max() for q in found[:-1]]
    assert np.log2(errors[0] / errors[1]) > 3.5 and errors[0] < 1e-3
    with pytest.raises(ValueError, match="spring brake: h c/m is .* the order drops"):
        end(3.0 * damping, h)
    assert models.advance(elbow(3.0 * damping), h, 1) == 1
