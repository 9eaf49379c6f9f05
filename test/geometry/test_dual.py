"""Dual numbers: each function against its closed derivative; the cache knows the rules."""

import math
import os

import numpy as np
import pytest

from rbdyn_ros.geometry import dual
from rbdyn_ros.geometry.dual import load, store, value, variable, with_value
from rbdyn_ros.kernel import fingerprint, kernel

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="dual numbers need compiled code"
)


@kernel
def _branch(a):
    """A float in one branch, a dual number in the other."""
    return a * a if a > 1.0 else 4.0


@kernel
def _functions(x, y, values, slopes):
    """The functions of (x, y) and their derivatives, a row for each."""
    a, b = variable(2, x, 0), variable(2, y, 1)
    results = (
        a + b, a - 2, 3.0 - b, a * b, 2 * a, a / b, 1.0 / b, a / 4, a**3, b**0.5,
        math.sqrt(a), math.sin(a), math.cos(b), math.tan(b), math.asin(b), math.atan2(a, b),
        math.exp(-b),
        -a, abs(-b), max(a, b), min(a, 1.0), _branch(a), _branch(b) + 0.0 * a,
        with_value(a * b, 7) + with_value(x, 2.0),
    )  # fmt: skip
    for i in range(len(results)):
        values[i] = value(results[i])
        store(slopes, i, 0, results[i], 0, 2)


def test_derivatives_of_the_functions():
    x, y = 1.7, 0.6
    values, slopes = np.zeros(24), np.zeros((24, 2))
    _functions(x, y, values, slopes)
    r = x * x + y * y
    exact = [
        (x + y, 1, 1), (x - 2, 1, 0), (3 - y, 0, -1), (x * y, y, x), (2 * x, 2, 0),
        (x / y, 1 / y, -x / y**2), (1 / y, 0, -1 / y**2), (x / 4, 0.25, 0),
        (x**3, 3 * x**2, 0), (y**0.5, 0, 0.5 / y**0.5), (x**0.5, 0.5 / x**0.5, 0),
        (math.sin(x), math.cos(x), 0), (math.cos(y), 0, -math.sin(y)),
        (math.tan(y), 0, 1 / math.cos(y) ** 2), (math.asin(y), 0, 1 / math.sqrt(1 - y * y)),
        (math.atan2(x, y), y / r, -x / r), (math.exp(-y), 0, -math.exp(-y)),
        (-x, -1, 0), (y, 0, 1), (x, 1, 0), (1.0, 0, 0),
        (x * x, 2 * x, 0), (4.0, 0, 0), (9.0, y, x),
    ]  # fmt: skip
    np.testing.assert_allclose(np.column_stack((values, slopes)), exact, rtol=1e-14, atol=1e-15)


@kernel
def _loaded(a, slopes, out):
    b = load(3, a, slopes, 1)
    store(out, 0, 1, b * b, 1, 2)


def test_derivatives_are_read_and_written_where_they_are_asked_for():
    slopes, out = np.arange(6.0).reshape(2, 3), np.full((1, 4), -1.0)
    _loaded(2.0, slopes, out)
    np.testing.assert_array_equal(out, ((-1.0, 16.0, 20.0, -1.0),))


def test_at_zero_the_root_has_no_slope():
    """So that a rotation by |w| = 0 has finite derivatives."""
    out = np.full((1, 2), np.nan)
    _root(0.0, out)
    np.testing.assert_array_equal(out, 0.0)


@kernel
def _root(a, out):
    b = variable(2, a, 0)
    store(out, 0, 0, math.cos(math.sqrt(b * b)), 0, 2)


def test_machine_code_depends_on_the_rules(monkeypatch):
    before = fingerprint(_root.py_func)
    monkeypatch.setattr(dual.variable, "fingerprint", "other rules")
    assert fingerprint(_root.py_func) != before
