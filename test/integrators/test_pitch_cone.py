"""The pitch-cone chart: there and back, its velocities, and its equations of motion against
rk4's.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plants import PLANTS

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import apparatus
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.integrators import pitch_cone_chart
from rbdyn_ros.integrators.select import select
from rbdyn_ros.integrators.step import step
from rbdyn_ros.pendulum.spherical_pendulum import no_input
from rbdyn_ros.types import State

inside = st.tuples(
    st.floats(-1.4, 1.4), st.floats(-3.1, 3.1), st.floats(-5.0, 5.0), st.floats(-5.0, 5.0)
)


@given(inside)
def test_chart_is_undone(y):
    assert pitch_cone_chart.from_state(*pitch_cone_chart.to_state(*y)) == pytest.approx(
        y, abs=1e-12
    )


@given(inside)
def test_direction_and_rate_are_those_of_the_state(y):
    """n = (sin d, cos d sin e, cos d cos e) along the motion, its rate by a central difference."""
    d, e, dd, de = y
    Q, w = pitch_cone_chart.to_state(*y)
    q = np.array([0.0, 0.0, *Q])

    def n(d, e):
        return np.array([np.sin(d), np.cos(d) * np.sin(e), np.cos(d) * np.cos(e)])

    assert axis(q) == pytest.approx(n(d, e), abs=1e-14)
    s = 1e-5
    dn = (n(d + s * dd, e + s * de) - n(d - s * dd, e - s * de)) / (2.0 * s)
    assert quaternion.rotate(Q, np.cross(w, [0.0, 0.0, 1.0])) == pytest.approx(dn, abs=1e-7)


def test_accelerations_are_those_of_the_fixed_rod():
    """(6.2) against one tiny step of rk4 forth and one back, without the spin that the chart's
    attitude has.
    """
    system, h = PLANTS["fixed pivot"], 1e-4
    y = np.array([0.4, -0.7, 0.3, 0.9])
    Q, w = pitch_cone_chart.to_state(*y)
    ends = []
    for sign in (1.0, -1.0):
        q, v = np.array([0.0, 0.0, *Q]), np.array([0.0, 0.0, w[0], w[1], 0.0])
        _, q, v = step(select("rk4"), system, State(0.0, q, v), no_input(), sign * h).state
        ends.append(pitch_cone_chart.from_state(tuple(q[2:]), tuple(v[2:])))
    measured = (np.array(ends[0])[2:] - np.array(ends[1])[2:]) / (2.0 * h)
    assert pitch_cone_chart.accelerations(system, *y) == pytest.approx(measured, abs=1e-6)


def test_point_mass_has_the_printed_lagrangian_numbers():
    """J = 1.44 kg m^2, V = 11.772 J."""
    assert pitch_cone_chart.constants(apparatus.point_mass()) == pytest.approx(
        (1.44, 11.772), rel=1e-11
    )
