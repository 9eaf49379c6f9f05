"""The margins that are predicted for laws before and after a fit."""

import pytest

from rbdyn_ros.control.laws import lqr
from rbdyn_ros.evaluation import loop_margins
from rbdyn_ros.identification import fit_report
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params

KNOWN, TRUE = Params(), Params(cart_mass=2.6, rod_center_of_mass=0.9)
SYSTEMS = [spherical_pendulum.build(params) for params in (KNOWN, TRUE)]


def test_without_a_delay_they_are_those_of_the_suite():
    loops = fit_report.predict(*SYSTEMS, 0.0, lqr.Options()).loops
    cases = ((KNOWN, KNOWN), (KNOWN, TRUE), (TRUE, TRUE))
    for loop, (designed, actual) in zip(loops, cases):
        law = lqr.design(spherical_pendulum, designed, lqr.Options())
        wanted = loop_margins.of_law(law, actual, lqr.Options().period)
        assert loop.gains == pytest.approx(law.gains)
        assert loop.margins.delay == pytest.approx(wanted.delay, rel=1e-3)
        assert loop.margins.gain_down == pytest.approx(wanted.gain_low, rel=1e-3)


def test_the_dead_time_is_taken_from_the_delay_that_a_loop_bears():
    without, late = (fit_report.predict(*SYSTEMS, tau, lqr.Options()).loops for tau in (0.0, 0.02))
    for i in (1, 2):
        lost = without[i].margins.delay - late[i].margins.delay
        assert lost == pytest.approx(0.02, rel=1e-6)
    assert late[0].margins == without[0].margins  # nothing was known of it


def test_a_loop_that_is_later_than_its_margin_is_not_stable():
    bears = fit_report.predict(*SYSTEMS, 0.0, lqr.Options()).loops[2].margins.delay
    for tau, stable in ((bears - 0.004, True), (bears + 0.004, False)):
        loop = fit_report.predict(*SYSTEMS, tau, lqr.Options()).loops[2]
        assert (loop.margins is not None) == stable
