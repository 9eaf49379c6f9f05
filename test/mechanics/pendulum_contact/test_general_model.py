"""Two roads to the same falls: the pendulum's own step, and the step of models of any bodies."""

import general_pendulum
import numpy as np
import pytest
import random_falls

from rbdyn_ros.mechanics import model as models
from rbdyn_ros.mechanics.contact.restitution import LAWS
from rbdyn_ros.mechanics.integrators.select import select
from rbdyn_ros.mechanics.pendulum.spherical_pendulum import build, no_input, upright

STEP, STEPS = 1e-3, 500  # [s]


def apart(fall: random_falls.Fall) -> tuple[float, float, float]:
    """How far the two are apart [m, and of the attitude's numbers] before anything is touched and
    at the end, and their first impacts [s] from each other.
    """
    system = build(fall.params)
    integrator = select(
        "quaternion_midpoint", max_iterations=50, tolerance=1e-15, split_at_impact=True
    )
    options, state = integrator.options(system), upright(fall.tilt, fall.azimuth)
    state.v[:] = fall.v
    state.v[:2] *= system.cart_free
    model = general_pendulum.build(fall.params, state, options.gamma)
    in_flight = distance = 0.0
    for k in range(STEPS):
        now = state._replace(t=k * STEP)
        assert integrator.advance(system, options, no_input(), STEP, 1, now, np.zeros(3))[0] == 1
        assert models.advance(model, STEP, 1) == 1, models.failure(model)
        distance = np.abs(general_pendulum.state(model)[0] - state.q).max()
        if not (options.contact.impulse.any() or options.contact.closed.any()):
            in_flight = max(in_flight, distance)
    ours, theirs = options.contact.events[: options.contact.recorded[0]], models.impacts(model)
    first = abs(ours[0, 0] - theirs[0, 0]) if min(len(ours), len(theirs)) > 0 else 0.0
    return in_flight, distance, first


@pytest.mark.parametrize("draw", (random_falls.draw, random_falls.draw_among_obstacles))
def test_both_take_the_same_falls(draw):
    """To round-off in flight, at rest and in impacts; sliding differs by the square of the step.
    Where a rod stops sliding, or leaves an edge, either may be a step earlier.
    """
    random, found = np.random.default_rng(1), []
    for k in range(40):
        found.append(apart(random_falls.with_law(draw(random), float(k % len(LAWS)))))
    in_flight, at_the_end, first = np.array(found).T
    assert in_flight.max() < 1e-11 and first.max() < 1e-8  # the capsule is 1e-9 m thick
    assert np.quantile(at_the_end, 0.8) < 1e-7 and at_the_end.max() < 1e-3
    assert np.median(at_the_end) < 1e-12
