"""Ten seconds of the spinning pendulum on its moving cart, at 10 ms: the errors that the field
expects.
"""

from functools import cache

import newton_euler
import pytest
from measure import advanced, distance
from plants import PENDULUM, spinning

from rbdyn_ros.integrators.select import select
from rbdyn_ros.pendulum.spherical_pendulum import no_input

# the largest error of the attitude [rad] and of the cart [m] after 10 s; measured 7e-5, 3e-2,
# 5e-3, 4e-6, 5e-7, 2e-9, 6e-10 rad
BOUNDS = {
    ("rk4", "none"): (2e-4, 3e-5),
    ("moser_veselov", "none"): (6e-2, 5e-4),
    ("quaternion_midpoint", "none"): (1e-2, 5e-4),
    ("moser_veselov", "suzuki4"): (2e-5, 5e-8),
    ("quaternion_midpoint", "suzuki4"): (2e-5, 5e-8),
    ("moser_veselov", "kahan_li8"): (1e-8, 1e-9),
    ("quaternion_midpoint", "kahan_li8"): (1e-8, 1e-9),
}


@cache
def reference() -> tuple:
    """(q, v) at 10 s by DOP853, to about 1e-11."""
    q, v = newton_euler.trajectory(PENDULUM, no_input(), spinning(), [0.0, 10.0])
    return q[-1], v[-1]


@pytest.mark.parametrize(("name", "composition"), BOUNDS)
def test_error_after_ten_seconds(name, composition):
    q, v, _ = advanced(select(name, composition), PENDULUM, spinning(), no_input(), 0.01, 1000)
    error = distance(q, v, *reference())
    attitude, cart = BOUNDS[name, composition]
    assert error["attitude"] < attitude and error["cart"] < cart, error
