"""The faster functions of the compiler give what Numba's own give."""

import itertools
import math
import operator
from abc import ABCMeta

import numpy as np
import pytest
from llvmlite.binding import ffi
from numba import njit
from numba.core import compiler, errors, ir, types
from numba.core.compiler import Flags
from numba.core.postproc import PostProcessor
from numba.core.registry import cpu_target
from numba.extending import overload

from rbdyn_ros.kernel import kernel
from rbdyn_ros.kernel_overhead import (
    ErrorContext,
    collect_variables,
    equal,
    flags,
    process_without_generators,
    reduce_overhead,
)

RUN = getattr(PostProcessor.run, "__wrapped__", PostProcessor.run)


def branches(x, rows):
    """Statements of most kinds."""
    total, pair = 0.0, (x, [x, 1.0])
    for i, row in enumerate(rows):
        if row[0] > x and not i % 2:
            total += math.hypot(row[1], b=pair[0]) - row[1:][0]
        else:
            rows[i, 0] = {"x": x, "y": (total, -x)}["x"]
    if total < 0.0:
        raise ValueError(f"{total}")
    return total, pair


def variables(value) -> list[ir.Var]:
    """The variables as Numba 0.68 lists them."""
    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Expr):
        return variables(value._kws)
    if isinstance(value, ir.Stmt):
        return variables(value.__dict__)
    if isinstance(value, dict):
        value = [*value.values()]
    return [var for one in value for var in variables(one)] if type(value) in (list, tuple) else []


def test_the_variables_of_every_statement_are_all_of_them_in_their_order():
    blocks = compiler.run_frontend(branches).blocks.values()
    statements = [statement for block in blocks for statement in block.body]
    found = [collect_variables((statement,), []) for statement in statements]
    assert found == [variables(statement) for statement in statements]
    assert len(statements) > 70 and max(map(len, found)) > 3


def test_configurations_of_equal_values_are_equal():
    """Also where one of them names a default."""
    one, other = Flags(), Flags()
    other.nrt = one.nrt
    assert flags(other) == {name: getattr(one, name) for name in Flags.options}
    assert list(flags(other)) == list(Flags.options) and one._values != other._values
    assert equal(one, other) and hash(one) == hash(other) and equal(one, 1) is NotImplemented
    other.nrt = not one.nrt
    assert not equal(one, other)


def test_the_type_of_a_call_is_what_numba_finds():
    reduce_overhead()
    find = types.functions.BaseFunction.get_call_type
    context, numbers = cpu_target.typing_context, [types.int64, types.float64, types.boolean]
    numbers += [types.literal(2), types.UniTuple(types.float64, 3), types.float64[:, ::1]]
    context.refresh()
    compared = 0
    for operation in (operator.add, operator.mul, operator.gt, operator.getitem, max):
        function = context.resolve_value_type(operation)
        for pair in itertools.product(numbers, repeat=2):
            try:
                expected = find(function, context, pair, {})
            except errors.TypingError:
                with pytest.raises(errors.TypingError):
                    function.get_call_type(context, pair, {})
                continue
            for _ in range(2):
                assert function.get_call_type(context, pair, {}) == expected
            compared += 1
    assert compared > 60


def test_a_function_with_another_implementation_is_looked_up_again():
    reduce_overhead()

    def half(x):
        raise NotImplementedError

    @njit
    def call(x):
        return half(x)

    overload(half)(lambda x: (lambda x: 0.5 * x) if x is types.float64 else None)
    assert call(3.0) == 1.5
    overload(half)(lambda x: (lambda x: x // 2) if x is types.int64 else None)
    assert call(3) == 1 and call(3.0) == 1.5


def test_an_error_says_where_it_is():
    with pytest.raises(errors.TypingError) as caught, ErrorContext("in {place}", place="a step"):
        raise errors.TypingError("wrong")
    assert caught.value.contexts == ["in a step"]
    with pytest.raises(ZeroDivisionError), ErrorContext("in {place}", place="a step"):
        raise ZeroDivisionError


def test_variables_are_deleted_where_numba_deletes_them():
    ends = []
    for run in (RUN, process_without_generators(RUN)):
        code = compiler.run_frontend(branches)
        run(PostProcessor(code), emit_dels=True)
        ends.append([[str(line) for line in code.blocks[at].body] for at in sorted(code.blocks)])
    assert ends[0] == ends[1] and any("del " in line for block in ends[0] for line in block)


def test_a_generator_still_compiles():
    reduce_overhead()

    @njit
    def squares(n):
        for i in range(n):
            yield i * i

    assert [*squares(4)] == [0, 1, 4, 9]


def test_types_are_instances_of_what_they_were():
    reduce_overhead()
    classes = [one for one in vars(types).values() if isinstance(one, type)]
    classes = [one for one in classes if issubclass(one, types.Type)]
    ones = [types.int64, types.literal(1), types.float64[:, :], types.UniTuple(types.int8, 2), 1.0]
    for one, kind in itertools.product(ones, classes):
        assert isinstance(one, kind) == ABCMeta.__instancecheck__(kind, one)
    assert len(classes) > 50


@kernel
def double(x):
    return 2.0 * x


def test_no_event_is_sent_for_a_call_of_llvm(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert (kernel(double.py_func)(np.ones(2)) == 2.0).all() and not ffi.lib._lock._cblist
