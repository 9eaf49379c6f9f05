"""Event-driven sliding and sticking: Coulomb's closed forms to the accuracy of the root finder."""

import numpy as np
import pytest

from rbdyn_ros.bodies import model, moreau_jean
from rbdyn_ros.experiments import scenes
from rbdyn_ros.network import event_driven, laws, second_order

G = 9.81


def point_mass(mu, force):
    """1 kg on the plane z = 0 under gravity and force(t) (3,), q = (z, x, y)."""
    system = second_order.linear(np.eye(3), force=lambda t: np.array([-G, 0.0, 0.0]) + force(t))
    return second_order.network(
        system,
        second_order.interaction(second_order.linear_relation(np.eye(3)), laws.friction_3d(mu)),
    )


def block(params, speed):
    """The block on its slope."""
    return model.build(*scenes.block(params, speed))


def kinds(run):
    return [event.kind for event in run.events]


@pytest.mark.parametrize(
    "degrees, mu, speed",
    [
        (0.0, 0.3, 2.0),
        (10.0, 0.3, 1.0),
        (20.0, 0.3, 0.0),
        (15.0, 0.2, -1.0),
        (10.0, 0.3, -1.0),
        (10.0, 0.3, 0.0),
    ],
)
def test_a_block_on_four_corners_slides_stops_sticks_and_turns_round_as_the_closed_form(
    degrees, mu, speed
):
    params = scenes.Block(mu, np.radians(degrees))
    times = np.linspace(0.05, 1.0, 20)
    run = event_driven.run_model(block(params, speed), times)
    assert run.ok, run.message
    _, downhill = scenes.slope_axes(params)
    exact = np.array([scenes.slide(params, speed, t) for t in times])
    assert np.abs(run.q[:, :3] @ downhill - exact[:, 0]).max() < 1e-10
    assert np.abs(run.v[:, :3] @ downhill - exact[:, 1]).max() < 1e-10


def test_the_stop_is_found_to_the_accuracy_of_the_roots():
    run = event_driven.run_model(block(scenes.Block(0.3), 2.0), [1.0])
    assert kinds(run) == ["stop"]
    assert run.events[0].t == pytest.approx(2.0 / (0.3 * G), abs=3e-12)
    assert run.events[0].q[0] == pytest.approx(2.0**2 / (2.0 * 0.3 * G), abs=1e-11)


def test_a_growing_pull_breaks_the_stick_where_coulomb_says():
    """F = c t breaks loose at t_0 = mu g/c; then x = c (t - t_0)^3 / 6."""
    mu, c = 0.5, 4.0
    run = event_driven.run(
        point_mass(mu, lambda t: np.array([0.0, c * t, 0.0])),
        0.0,
        (np.zeros(3),),
        (np.zeros(3),),
        [1.0, 2.0],
    )
    start = mu * G / c
    assert run.ok and kinds(run) == ["change"]
    assert run.events[0].t == pytest.approx(start, abs=1e-8)
    assert run.q[:, 1] == pytest.approx([0.0, c * (2.0 - start) ** 3 / 6.0], abs=1e-7)


def test_a_sliding_mass_that_is_pulled_aside_turns_and_loses_what_friction_takes():
    """The work of friction is mu m g times the length of the way, in whatever direction it
    bends.
    """
    mu, pull = 0.2, np.array([0.0, 0.0, 3.0])
    times = np.linspace(0.0, 1.0, 2001)[1:]
    run = event_driven.run(
        point_mass(mu, lambda t: pull), 0.0, (np.zeros(3),), (np.array([0.0, 2.0, 0.0]),), times
    )
    assert run.ok and not run.events
    speed = np.linalg.norm(run.v, axis=1)
    way = np.sum(0.5 * (np.r_[2.0, speed[:-1]] + speed)) * times[0]
    assert 0.5 * speed[-1] ** 2 - 2.0 == pytest.approx(
        pull[2] * run.q[-1, 2] - mu * G * way, abs=1e-5
    )
    assert np.arctan2(run.v[-1, 2], run.v[-1, 1]) > 1.0


def test_a_mass_that_is_lifted_leaves_the_floor_while_it_slides():
    """g - c t presses until t_0 = g/c."""
    c = 20.0
    run = event_driven.run(
        point_mass(0.1, lambda t: np.array([c * t, 0.0, 0.0])),
        0.0,
        (np.zeros(3),),
        (np.array([0.0, 5.0, 0.0]),),
        [1.0],
    )
    start = G / c
    assert run.ok and kinds(run) == ["change"]
    assert run.events[0].t == pytest.approx(start, abs=1e-8)
    assert run.q[0, 0] == pytest.approx(c * (1.0 - start) ** 3 / 6.0, abs=1e-8)


def test_a_block_on_a_slope_too_steep_for_its_height_tips_over_its_lower_edge():
    """With mu > tan a > L/H it tips without sliding: the upper corners part at once, the lower
    stick; moreau_jean agrees.
    """
    params = scenes.Block(friction=2.0, slope=np.radians(40.0), edges=(0.2, 0.3, 0.4))
    run = event_driven.run_model(block(params, 0.0), [0.2])
    assert run.ok, run.message
    stepped = block(params, 0.0)
    assert moreau_jean.advance(stepped, 1e-3, 200) == 200, moreau_jean.failure(stepped)
    assert np.linalg.norm(run.v[0, 3:]) > 0.5
    assert np.abs(run.q[0] - model.places(stepped)[0]).max() < 2e-3


def test_a_thrown_block_lands_slides_and_stops():
    """Dropped flat from 1 mm with e = 0: the landing keeps the speed but for mu times the normal
    impulse.
    """
    params = scenes.Block(0.3)
    scene = scenes.block(params, 1.0)
    scene.q[0, 2] += 1e-3
    run = event_driven.run_model(model.build(*scene), [0.6])
    fall = np.sqrt(2e-3 / G)
    speed = 1.0 - 0.3 * G * fall
    assert run.ok, run.message
    assert run.events[0].kind == "impact" and kinds(run)[-1] == "stop"
    assert run.q[0, 0] == pytest.approx(fall + speed**2 / (2.0 * 0.3 * G), abs=1e-10)
