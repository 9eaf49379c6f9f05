"""Kernels: one type compiles once, no step allocates, parts are compiled with their caller."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.compiler import Compiler as NumbaCompiler
from numba.core.errors import NumbaError, TypingError
from numba.core.runtime import _nrt_python, rtsys
from numba.extending import overload
from plants import FORCED, PENDULUM, PLANTS, spinning

from rbdyn_ros.integrators.select import select
from rbdyn_ros.kernel import bind, hot, inlined, kernel, part, specialize
from rbdyn_ros.numerics import kernel_parts
from rbdyn_ros.pendulum.spherical_pendulum import no_input, upright
from rbdyn_ros.types import Contacts, State

ROOT = Path(__file__).parents[2]
VARIATIONAL = ["moser_veselov", "quaternion_midpoint"]
NAMES = ["rk4", *VARIATIONAL]


def arguments(name: str, plant: str, input=FORCED) -> tuple:
    """(integrator, those of `advance` but for h, n)."""
    integrator, system = select(name), PLANTS[plant]
    return integrator, system, integrator.options(system), input, spinning(), np.zeros(3)


@pytest.mark.parametrize("name", NAMES)
def test_every_plant_runs_the_same_compiled_step(name):
    counts = set()
    for plant in PLANTS:
        for input in (FORCED, no_input()):
            integrator, system, options, input, state, reaction = arguments(name, plant, input)
            integrator.advance(system, options, input, 0.01, 2, state, reaction)
            counts.add(len(integrator.advance.signatures))
    assert len(counts) == 1


def allocations(advance, n: int) -> int:
    """What n steps allocate, all of which they give back."""
    before = rtsys.get_allocation_stats()
    done, *_ = advance(n)
    after = rtsys.get_allocation_stats()
    assert done == n and after.alloc - before.alloc == after.free - before.free
    return after.alloc - before.alloc


@pytest.mark.parametrize("name", NAMES)
def test_steps_allocate_nothing(name):
    """As many allocations in a hundred thousand steps as in one."""
    _nrt_python.memsys_enable_stats()
    integrator, system, options, input, state, reaction = arguments(name, "cart")
    first, one, many = (
        allocations(
            lambda n: integrator.advance(system, options, input, 1e-3, n, state, reaction), n
        )
        for n in (1, 1, 100_000)
    )
    assert many == one


def test_steps_with_a_tip_that_bounces_and_comes_to_rest_allocate_nothing():
    _nrt_python.memsys_enable_stats()
    system = PENDULUM._replace(
        contacts=Contacts(floor=1.0, floor_height=-0.1, floor_friction=0.8, floor_restitution=0.3)
    )
    integrator, state = (
        select("quaternion_midpoint", max_iterations=50),
        upright(1.0),
    )
    options = integrator.options(system)
    first, one, many = (
        allocations(
            lambda n: integrator.advance(system, options, no_input(), 1e-3, n, state, np.zeros(3)),
            n,
        )
        for n in (1, 1, 5000)
    )
    assert many == one and options.contact.recorded[0] > 1 and options.contact.closed[0] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_bound_kernel_is_the_kernel(name):
    """The same machine code, so the same bits; nothing is compiled for it where the kernel has
    run.
    """
    integrator, system, options, input, start, force = arguments(name, "cart")

    def taken(advance) -> tuple:
        q, v, reaction = start.q.copy(), start.v.copy(), force.copy()
        return (
            advance(system, options, input, 1e-3, 50, State(0.0, q, v), reaction),
            q.tobytes(),
            v.tobytes(),
            reaction.tobytes(),
        )

    found, compiled = taken(integrator.advance), len(integrator.advance.overloads)
    assert taken(bind(integrator.advance, system, options, input, 0.0, 0, start, force)) == found
    assert len(integrator.advance.overloads) == compiled


def test_a_function_that_is_not_compiled_is_bound_to_itself():
    """NUMBA_DISABLE_JIT=1."""
    assert bind(divide.py_func, 1.0, 2.0) is divide.py_func


def test_hot_kernel_cannot_allocate():
    with pytest.raises(TypingError, match="empty"):
        hot(lambda n: np.empty(n)[0])(3)


@pytest.mark.parametrize("lent", [lambda a: a, lambda a: a[1:], lambda a: (1.0, (a, a))])
def test_hot_kernel_returns_no_array(lent):
    """Its caller would give back what was never lent."""
    with pytest.raises((TypeError, TypingError), match="return"):
        hot(lent)(np.zeros(3))


@kernel
def divide(a, b):
    return a / b


def test_division_by_zero_gives_inf_and_nan_keeps_its_meaning():
    assert divide(1.0, 0.0) == np.inf
    assert np.isnan(divide(0.0, 0.0))


def test_everything_runs_without_the_compiler():
    """NUMBA_DISABLE_JIT=1, for the debugger: the fast tests of bodies and steps pass there too."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    files = ("test/integrators/test_discrete_rod.py", "test/pendulum/test_rod_on_cart.py")
    result = subprocess.run(
        [*command, *files, "-k", "jacobian or joint or sines"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-2000:]


@inlined
def whole_of(a):
    return a[:]


@part
def last(a, k):
    return a[k]


@part
def first_sum(a, is_long):
    return last(a, 0) + (last(a, 1) if is_long else 0.0)


@part
def total(a, k):
    return first_sum(a, True) + last(a, k)


@kernel
def copied(a, k):
    return whole_of(a), total(a, k)


def test_parts_are_compiled_with_the_kernel_that_python_calls():
    """Optimized and kept once, with it; a part that several parts call is linked once.

    It can be called from Python too.
    """
    a = np.arange(1.0, 4.0)
    assert total(a, 2) == 6.0
    if hasattr(total, "dispatcher"):
        assert [len(p.dispatcher.overloads) for p in (total, first_sum, last)] == [1, 0, 0]
    assert first_sum(a, False) == 1.0 and last(a, 2) == 3.0


def test_parts_serve_callers_that_count_references_and_those_that_do_not():
    """The array is still held when the caller that counts gives it back."""
    a = np.arange(1.0, 4.0)
    counted = sys.getrefcount(a)
    for _ in range(3):
        same, value = copied(a, 2)
        assert value == 6.0 and (same == a).all()
        del same
    assert sys.getrefcount(a) == counted


NEVER = 3


@part
def never(x):
    return -x


@part
def choose(x):
    for k in range(2):
        if k == NEVER:
            x = never(x)
    return x


def test_a_part_whose_call_is_never_reached_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert part(lambda x: choose(x) + 1.0)(2.0) == 3.0


def times_three_plus_one(x):
    return times(x) + 1.0  # noqa: F821, by `specialize`


@pytest.mark.parametrize("limit", [kernel_parts.LARGE, 0])
def test_a_kernel_that_is_too_long_to_be_inlined_is_linked_as_it_is(tmp_path, monkeypatch, limit):
    """Else each of its callers takes the time to optimize it again."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_parts, "LARGE", limit)
    times = kernel(lambda x: 3.0 * x)
    caller = specialize(times_three_plus_one, str(limit), times=times)
    assert caller(2.0) == 7.0
    (code,) = caller.inspect_llvm().values()
    assert ("define linkonce_odr" in code) == (limit == 0)


def sum_of_squares(x):
    square = lambda y: y * y  # noqa: E731, a closure
    return square(x[0]) + square(x[1])


@pytest.mark.parametrize("is_own", [False, True])
def test_passes_that_parts_of_the_package_do_not_need_are_left_out_there_alone(
    tmp_path, monkeypatch, is_own
):
    """A part of another module, such as a user's law, may have a closure."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_parts, "is_own", lambda module: is_own)
    assert part(lambda x: 2.0 * x[0])((3.0, 4.0)) == 6.0
    if is_own:
        with pytest.raises(NumbaError):
            part(sum_of_squares)((3.0, 4.0))
    else:
        assert part(sum_of_squares)((3.0, 4.0)) == 25.0


def test_the_passes_that_are_left_out_are_passes_of_numba():
    known = {entry[0] for entry in passes_of(lambda x: x)}
    assert kernel_parts.UNUSED <= known and len(known - kernel_parts.UNUSED) > 10
    assert not kernel_parts.is_own(__name__) and kernel_parts.is_own(kernel_parts.__name__)


def passes_of(function) -> list:
    """The passes of Numba's own compiler for a function."""
    found = []

    class Compiler(NumbaCompiler):
        def define_pipelines(self):
            found.extend(super().define_pipelines()[0].passes)
            return super().define_pipelines()

    njit(pipeline_class=Compiler)(function)(1.0)
    return found


PARTED = """
import sys
{change}
import numpy as np
from rbdyn_ros.kernel import hot, inlined, kernel, part

@inlined
def rest(a): return a[1:]
@part
def first(a): return a[0]
@part
def second(a): return first(a) + 1.0
@hot
def twice(a): return 2.0 * second(a)
@kernel
def both(a): return rest(a), twice(a)

a = np.arange(3.0)
counted = sys.getrefcount(a)
for _ in range(5):
    kept, value = both(a)
    twice(a)
    assert (kept == [1.0, 2.0]).all() and value == 2.0 and second(a) == 1.0
    del kept
assert sys.getrefcount(a) == counted
"""
CHANGES = {
    "none": ("", ""),
    "a class has another name": (
        "import numba.core.codegen as c; c.JITCodeLibrary_ = c.__dict__.pop('JITCodeLibrary')",
        "compiles no parts",
    ),
    "no such module": (
        "sys.modules['rbdyn_ros.numerics.kernel_parts'] = None",
        "compiles no parts",
    ),
    "a library lacks an attribute": (
        "from rbdyn_ros.numerics import kernel_parts as k; del k.KernelLibrary._link_needed",
        "compiles no parts",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_where_numba_is_another_kernels_are_compiled_by_its_own_way(tmp_path, change):
    """And it is said; no reference to an array is lost."""
    (tmp_path / "main.py").write_text(PARTED.format(change=CHANGES[change][0]))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, tmp_path / "main.py"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = CHANGES[change][1]
    assert done.stderr.count(said) == 1 if said else not done.stderr


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("compiles", [True, False])
def test_garbage_is_not_collected_while_a_kernel_compiles(
    tmp_path, monkeypatch, collects, compiles
):
    """And as before afterwards, even if it does not compile."""

    def triple(x):
        raise NotImplementedError

    meanwhile = []

    @overload(triple)
    def compile_triple(x):
        meanwhile.append(gc.isenabled())
        return (lambda x: 3.0 * x) if compiles else None

    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    caller = kernel(lambda x: triple(x))
    try:
        if not collects:
            gc.disable()
        if compiles:
            assert caller(2.0) == 6.0
        else:
            with pytest.raises(TypingError):
                caller(2.0)
        assert gc.isenabled() == collects
    finally:
        gc.enable()
    assert meanwhile and not any(meanwhile)
