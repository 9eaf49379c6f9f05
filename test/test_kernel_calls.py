"""A kernel is called by its address as it is called directly."""

import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

from rbdyn_ros.kernel import fingerprint, hot
from rbdyn_ros.kernel_calls import address_of, call_at, intrinsic
from rbdyn_ros.types import Array

NONE = 0, 0.0  # of the type of the results of `add_scaled`


class Scale(NamedTuple):
    """Two factors."""

    one: float
    other: float


class Sums(NamedTuple):
    """Sums, and how often they were changed."""

    sums: Array
    count: Array


@hot
def add_scaled(x, n, scale, sums):
    """Add n numbers, times a factor, to a sum; return (n, what was added)."""
    if n > len(x):
        raise IndexError("too many")
    added = 0.0
    for i in range(n):
        added += scale.one * scale.other * x[i]
    sums.sums[0] += added
    sums.count[0] += 1
    return n, added


@hot
def negate(x, n, scale, sums):
    """Return a constant and a number, and change nothing."""
    return -7, -scale.one * x[0]


@hot
def call_twice(address, x, n, scale, sums):
    """Return the sum of all results of two calls."""
    first, added = call_at(address, NONE, (x, n, scale, sums))
    second, more = call_at(address, NONE, (x, n - 1, scale, sums))
    return first + added + second + more


def example() -> tuple:
    return np.array([1.0, 2.0, 4.0]), 3, Scale(0.5, 3.0), Sums(np.zeros(1), np.zeros(1, int))


def test_arguments_arrive_and_results_come_back():
    given = x, n, scale, sums = example()
    address = address_of(add_scaled, NONE, *given)
    assert call_twice(address, *given) == 3 + 10.5 + 2 + 4.5
    assert sums.sums[0] == 15.0 and sums.count[0] == 2
    assert call_twice(address_of(negate, NONE, *given), *given) == -7 - 0.5 - 7 - 0.5
    assert sums.count[0] == 2


def test_an_error_of_the_callee_is_raised_by_the_caller():
    x, _, *rest = example()
    with pytest.raises(IndexError, match="too many"):
        call_twice(address_of(add_scaled, NONE, x, 4, *rest), x, 4, *rest)


def test_a_result_of_another_type_is_refused():
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("kernels are not compiled: their results have no types")
    with pytest.raises(TypeError, match=r"add_scaled returns .*int64, float64.* must return"):
        address_of(add_scaled, (0.0, 0.0), *example())


def test_kernels_that_are_not_compiled_stand_for_their_addresses():
    """NUMBA_DISABLE_JIT=1."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
        + ["-k", "arrive or error or refused"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0 and "2 passed, 1 skipped" in run.stdout, run.stdout + run.stderr


def test_a_caller_of_an_intrinsic_is_compiled_anew_after_an_edit_of_it():
    """Its fingerprint is that of the function's code, not of its name or place."""

    def twice(_, x):
        def generate(context, builder, signature, values):
            return builder.fadd(values[0], values[0])

        return x(x), generate

    def squared(_, x):
        def generate(context, builder, signature, values):
            return builder.fmul(values[0], values[0])

        return x(x), generate

    def call(x):
        return operation(x)  # noqa: F821, a global of each copy

    def of(operation) -> str:
        return fingerprint(FunctionType(call.__code__, {"operation": operation}))

    assert of(intrinsic(twice)) == of(intrinsic(twice)) != of(intrinsic(squared))


SCRIPT = """
import numpy as np
from test_kernel_calls import NONE, add_scaled, call_twice, example
from rbdyn_ros.kernel_calls import address_of
given = example()
print(call_twice(address_of(add_scaled, NONE, *given), *given))
print(sum(sum(k.stats.cache_misses.values()) for k in (add_scaled, call_twice)))
"""


def test_both_come_from_the_cache_in_the_next_process(tmp_path):
    """The address is that of the next process; the caller's code does not hold it."""
    path = os.pathsep.join((str(Path(__file__).parents[1]), str(Path(__file__).parent)))
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path)}
    lines = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.split()
        for _ in range(2)
    ]
    assert lines == [["20.0", "2"], ["20.0", "0"]]
