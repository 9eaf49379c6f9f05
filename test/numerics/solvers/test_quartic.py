"""Roots of quartics and cubics in closed form."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rbdyn_ros.numerics.solvers import fc3d_one_contact

roots = st.floats(-5.0, 5.0)


@given(st.tuples(roots, roots, roots, roots))
def test_four_real_roots_are_found(x):
    """Multiple roots keep a quarter of the digits at worst."""
    found = np.sort(fc3d_one_contact.real_parts(*np.poly(x)))
    assert found == pytest.approx(np.sort(x), abs=5e-3)


def test_separate_roots_keep_ten_digits():
    assert np.sort(fc3d_one_contact.real_parts(*np.poly([-3.0, -1.0, 0.5, 2.0]))) == pytest.approx(
        [-3.0, -1.0, 0.5, 2.0], abs=1e-10
    )


@given(st.tuples(roots, roots), st.tuples(roots, roots))
@example((4.0, -4.0), (0.0, 0.75))  # Q is 0, and the root of the resolvent 1e-16 in its place
def test_complex_pairs_give_their_real_part(real, pair):
    re, im = pair[0], 0.5 + abs(pair[1])
    coefficients = np.polymul(np.poly(real), [1.0, -2.0 * re, re * re + im * im])
    found = fc3d_one_contact.real_parts(*coefficients)
    for x in (*real, re):
        assert np.min(np.abs(np.array(found) - x)) < 1e-3


def test_biquadratic():
    assert np.sort(fc3d_one_contact.real_parts(1.0, 0.0, -5.0, 0.0, 4.0)) == pytest.approx(
        [-2.0, -1.0, 1.0, 2.0], rel=1e-14
    )
    assert fc3d_one_contact.real_parts(1.0, 0.0, 0.0, 0.0, 0.0) == (0.0, 0.0, 0.0, 0.0)


@given(st.tuples(roots, roots, roots))
@example((1.0, 1.0, 0.75))  # p is -0.007, a difference of two numbers of 0.8
def test_the_largest_root_of_a_cubic(x):
    assert fc3d_one_contact.largest_cubic_root(*np.poly(x)[1:]) == pytest.approx(max(x), abs=1e-4)
