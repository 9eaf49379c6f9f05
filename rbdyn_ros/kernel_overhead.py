"""Functions of Numba's compiler that take a fifth of a compilation, replaced by faster ones.

The lists of the variables of a statement are asked for a million times while a step with contacts
compiles, the compiler's flags are compared sixty thousand times, and each call of LLVM sends two
events, to measure how long its lock is held, which nobody reads. The type of each of twenty
thousand sums and products is searched for among all rules of NumPy, though a few hundred of them
differ. Each statement enters a context, which is a generator, for an error that it does not have.
The variables that live at the start of each block are found five times, for generators alone.

Private interface: `Inst._rec_list_vars`, `TargetConfig.values`, `BaseFunction.get_call_type`,
`new_error_context`, `PostProcessor` and the class of types of Numba, the lock of llvmlite.
Tested with Numba 0.68.1 and llvmlite 0.50.0.
Fallback: without this file kernels compile as well, and more slowly.
"""

from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any

from llvmlite.binding import ffi
from numba.core import errors, ir, lowering, transforms, typeinfer, types
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import TargetConfig

# without variables: what most statements hold
_PLAIN = {str, int, float, bool, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg}


@cache
def reduce_overhead() -> None:
    """Replace the functions, once in a process."""
    ir.Inst._rec_list_vars = lambda _, value: collect_variables((value,), [])
    TargetConfig.values = flags
    TargetConfig.__eq__ = equal
    types.Function.get_call_type = remember(types.Function.get_call_type)
    for module in (errors, lowering, typeinfer):
        module.new_error_context = ErrorContext
    PostProcessor.run = process_without_generators(PostProcessor.run)
    # no class of types has virtual subclasses, which is what `abc` looks for
    type(types.Type).__instancecheck__ = type.__instancecheck__
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


def remember(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return `get_call_type` that looks for the type of a call with the same arguments once.

    A function that gets another implementation is another object.
    """
    known: dict[tuple[Any, ...], Any] = {}

    def get_call_type(function, context, args, kws):
        if kws:
            return find(function, context, args, kws)
        call = function, context, args
        if call not in known:
            known[call] = find(function, context, args, kws)
        return known[call]

    return get_call_type


class ErrorContext:
    """Numba's context, which adds to an error what was compiled, as a class."""

    __slots__ = ("message", "args", "kwargs")

    def __init__(self, message: str, *args: Any, **kwargs: Any):
        self.message, self.args, self.kwargs = message, args, kwargs
        loc = kwargs.get("loc")
        if loc is not None and not loc.filename.startswith(errors._numba_path):
            errors.loc_info.update(kwargs)

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, errors.NumbaError):
            error.add_context(errors._format_msg(self.message, self.args, self.kwargs))


def process_without_generators(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `PostProcessor.run` that finds the variables at the start of blocks of generators
    alone.
    """

    @wraps(run)
    def process(self, emit_dels: bool = False, extend_lifetimes: bool = False):
        code = self.func_ir
        if code.is_generator:
            return run(self, emit_dels, extend_lifetimes)
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return process
