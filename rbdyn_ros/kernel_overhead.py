"""Functions of Numba's compiler that take a fifteenth of a compilation, replaced by faster ones.

The lists of the variables of a statement are asked for a million times while a step with contacts
compiles, the compiler's flags are compared sixty thousand times, and each call of LLVM sends two
events, to measure how long its lock is held, which nobody reads.

Private interface: `Inst._rec_list_vars` and `TargetConfig.values` of Numba, the lock of llvmlite.
Tested with Numba 0.68.1 and llvmlite 0.50.0.
Fallback: without this file kernels compile as well, and more slowly.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from llvmlite.binding import ffi
from numba.core import ir
from numba.core.targetconfig import TargetConfig

# without variables: what most statements hold
_PLAIN = {str, int, float, bool, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg}


@cache
def reduce_overhead() -> None:
    """Replace the functions, once in a process."""
    ir.Inst._rec_list_vars = lambda _, value: collect_variables((value,), [])
    TargetConfig.values = flags
    TargetConfig.__eq__ = equal
    lock = ffi.lib._lock
    for callbacks in [*lock._cblist]:
        lock.unregister(*callbacks)


def collect_variables(values: Iterable[Any], found: list[ir.Var]) -> list[ir.Var]:
    """Append the variables of the values, and of what they hold, to `found`; return it."""
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if kind is ir.Var or isinstance(value, ir.Var):
            found.append(value)
        elif isinstance(value, ir.Inst):
            found += value.list_vars()
        elif isinstance(value, (list, tuple)):
            collect_variables(value, found)
        elif isinstance(value, dict):
            collect_variables(value.values(), found)
    return found


@cache
def _defaults(kind: type[TargetConfig]) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


def flags(config: TargetConfig) -> dict[str, Any]:
    """Return all options of a configuration with their values."""
    return {**_defaults(type(config)), **config._values}


def equal(one: TargetConfig, other: object) -> bool:
    """Return whether two configurations have the same values."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    return one._values == other._values or flags(one) == flags(other)
