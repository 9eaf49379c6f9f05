"""The friction of a cart that sticks: its impulse against tiny implicit steps, rest, and turns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdyn_ros.integrators import stick_slip

MU, MASS, H = 1.5, 2.0, 2e-3
ALONE = (1.0 / MASS, 0.0, 1.0 / MASS)  # of a cart without a rod
LEAN = (0.46, 0.01, 0.44)  # of one under a rod that leans


def by_tiny_steps(A, W, u, parts=2000):
    """The mean force by implicit steps of (I.15): of each, the impulse within the disk of mu s
    that brings the velocity to rest or acts against it, by a projection.
    """
    s, W = H / parts, np.array([[W[0], W[1]], [W[1], W[2]]])
    least, P, u = 1.0 / np.linalg.eigvalsh(W)[1], np.zeros(2), np.array(u)
    p = np.zeros(2)
    for _ in range(parts):
        free = u + s * np.array(A)
        for _ in range(4):
            p = p - least * (free + W @ p)
            p *= min(1.0, s * MU / max(np.hypot(*p), 1e-30))
        u, P = free + W @ p, P + p
    return P / H


@pytest.mark.parametrize(
    "A, u",
    [
        ((0.5, 0.0), (2e-4, 0.0)),  # comes to rest
        ((0.5, 0.0), (0.0, 0.0)),  # stays at rest
        ((3.0, 0.0), (-2e-3, 0.0)),  # turns
        ((3.0, 0.0), (0.0, 0.0)),  # breaks loose
        ((0.5, 0.0), (-0.1, 0.0)),  # slides
        ((0.0, -3.0), (0.0, 2e-3)),  # turns along y
    ],
)
def test_along_a_line_the_impulse_is_exact(A, u):
    found = stick_slip.mean_force(MU, A, ALONE, u, H)
    assert found == pytest.approx(by_tiny_steps(A, ALONE, u), abs=1e-3 * MU)


@pytest.mark.parametrize("turn", [0.3, 1.2, 2.8])
@pytest.mark.parametrize("speed", [5e-4, 5e-3, 0.05])
def test_in_the_plane_the_force_turns_with_the_velocity(turn, speed):
    A, u = (2.0, 0.5), (speed * math.cos(turn), speed * math.sin(turn))
    found = stick_slip.mean_force(MU, A, LEAN, u, H)
    assert found == pytest.approx(by_tiny_steps(A, LEAN, u), abs=0.03 * MU)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-5.0, 5.0), min_size=4, max_size=4))
def test_it_is_within_the_friction_and_wrong_for_less_than_a_part_of_a_step(numbers):
    """In the part in which the velocity turns its direction is not known."""
    A, u = (numbers[0], numbers[1]), (1e-2 * numbers[2], 1e-2 * numbers[3])
    F = np.array(stick_slip.mean_force(MU, A, LEAN, u, H))
    assert np.hypot(*F) <= MU * (1.0 + 1e-9)
    assert np.hypot(*(F - by_tiny_steps(A, LEAN, u, parts=400))) <= MU / stick_slip.PARTS


def test_a_cart_that_is_held_stays():
    """Every force below the friction is balanced to the last digit."""
    for A in ((0.3, 0.2), (-0.6, 0.0)):
        F = stick_slip.mean_force(MU, A, ALONE, (0.0, 0.0), H)
        assert F == pytest.approx((-MASS * A[0], -MASS * A[1]), rel=1e-14)
