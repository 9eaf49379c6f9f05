"""The faster functions of the compiler give what Numba's own give."""

import math

import numpy as np
from llvmlite.binding import ffi
from numba.core import compiler, ir
from numba.core.compiler import Flags

from rbdyn_ros.kernel import kernel
from rbdyn_ros.kernel_overhead import collect_variables, equal, flags


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


@kernel
def double(x):
    return 2.0 * x


def test_no_event_is_sent_for_a_call_of_llvm(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert (kernel(double.py_func)(np.ones(2)) == 2.0).all() and not ffi.lib._lock._cblist
