"""Dual numbers in compiled code: a number and its derivatives along several directions at once.

    x = a + sum_i b_i e_i,   e_i e_j = 0,   f(x) = f(a) + f'(a) sum_i b_i e_i

A kernel that is written for floats compiles for dual numbers unchanged and then returns the exact
derivatives of what it computes (forward-mode differentiation; Griewank, Walther, Evaluating
Derivatives, 2008, chapter 3). The derivatives of a number lie in one vector register or a few, so
that an operation takes one instruction for all of them. A float is a dual number without
derivatives; comparisons and branches see the value a alone.

At 0 the derivative of the square root is taken as 0: of the functions of |w|^2 in which rotations
are written, that is the right one.
"""

import hashlib
import inspect
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_cast,
    models,
    register_model,
)

# Part of the type's name: code that was compiled with other rules is not found in the cache.
_VERSION = hashlib.sha1(inspect.getsource(sys.modules[__name__]).encode()).hexdigest()[:8]


class SlopeType(types.Type):
    """The derivatives of a dual number, one vector register or a few."""

    def __init__(self, width: int):
        self.width = width
        super().__init__(f"Slope({width}, {_VERSION})")


class DualType(types.Type):
    """A dual number with derivatives along `width` directions."""

    def __init__(self, width: int):
        self.width = width
        super().__init__(f"Dual({width}, {_VERSION})")

    def can_convert_from(self, typingctx, other):
        """Accept any real number as a dual number without derivatives."""
        is_real = isinstance(other, (types.Float, types.Integer))
        return Conversion.safe if is_real else None

    def unify(self, typingctx, other):
        """Make a dual number of what is a float in one branch and a dual number in the other."""
        return self if isinstance(other, (types.Float, types.Integer)) else None


@register_model(SlopeType)
class _SlopeModel(models.PrimitiveModel):
    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, ir.VectorType(ir.DoubleType(), fe_type.width))


@register_model(DualType)
class _DualModel(models.StructModel):
    def __init__(self, manager, fe_type):
        members = [("value", types.float64), ("slope", SlopeType(fe_type.width))]
        super().__init__(manager, fe_type, members)


def _parts(context, builder, kind, number) -> tuple[Any, Any]:
    """Return (value, slope) of a number in LLVM's terms; the slope of a float is None."""
    if not isinstance(kind, DualType):
        return context.cast(builder, number, kind, types.float64), None
    dual = cgutils.create_struct_proxy(kind)(context, builder, value=number)
    return dual.value, dual.slope


def _make(context, builder, kind, value, slope):
    dual = cgutils.create_struct_proxy(kind)(context, builder)
    dual.value, dual.slope = value, slope
    return dual._getvalue()


def _times(builder, slope, factor):
    """Return a slope times a number; None stays None."""
    if slope is None:
        return None
    first = builder.insert_element(
        ir.Constant(slope.type, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0)
    )
    mask = ir.Constant(ir.VectorType(ir.IntType(32), slope.type.count), None)
    return builder.fmul(slope, builder.shuffle_vector(first, first, mask))


def _sum(builder, a, b, sign: int):
    """Return a + sign b of two slopes, of which one may be None."""
    if b is None:
        return a
    if a is None:
        return b if sign > 0 else builder.fneg(b)
    return builder.fadd(a, b) if sign > 0 else builder.fsub(a, b)


def _of_two(rule):
    """Return the lowering of a function of two numbers from rule(builder, call, a, da, b, db)."""

    def lower(context, builder, sig, args):
        def call(function, *values):
            kinds = signature(types.float64, *(types.float64 for _ in values))
            return context.get_function(function, kinds)(builder, values)

        (a, da), (b, db) = (
            _parts(context, builder, kind, number) for kind, number in zip(sig.args, args)
        )
        value, slope = rule(builder, call, a, da, b, db)
        return _make(context, builder, sig.return_type, value, slope)

    return lower


def _add(builder, call, a, da, b, db):
    return builder.fadd(a, b), _sum(builder, da, db, 1)


def _sub(builder, call, a, da, b, db):
    return builder.fsub(a, b), _sum(builder, da, db, -1)


def _mul(builder, call, a, da, b, db):
    return builder.fmul(a, b), _sum(builder, _times(builder, da, b), _times(builder, db, a), 1)


def _div(builder, call, a, da, b, db):
    value = builder.fdiv(a, b)
    slope = _sum(builder, da, _times(builder, db, value), -1)
    return value, _times(builder, slope, builder.fdiv(_real(1.0), b))


def _pow(builder, call, a, da, b, db):
    """Return a ** b for a b that is constant."""
    rate = builder.fmul(b, call(operator.pow, a, builder.fsub(b, _real(1.0))))
    return call(operator.pow, a, b), _times(builder, da, rate)


def _atan2(builder, call, a, da, b, db):
    slope = _sum(builder, _times(builder, da, b), _times(builder, db, a), -1)
    size = builder.fadd(builder.fmul(a, a), builder.fmul(b, b))
    return call(math.atan2, a, b), _times(builder, slope, builder.fdiv(_real(1.0), size))


def _extreme(symbol: str):
    """Return the rule of max (">") or min ("<"): the slope is that of the argument taken."""

    def rule(builder, call, a, da, b, db):
        zero = ir.Constant((db if da is None else da).type, None)
        first = builder.fcmp_ordered(symbol, a, b)
        slope = builder.select(first, zero if da is None else da, zero if db is None else db)
        return builder.select(first, a, b), slope

    return rule


def _real(a: float):
    return ir.Constant(ir.DoubleType(), a)


def _sqrt(builder, call, a):
    root = call(math.sqrt, a)
    slope = builder.fdiv(_real(0.5), root)
    return root, builder.select(builder.fcmp_ordered(">", a, _real(0.0)), slope, _real(0.0))


def _exp(builder, call, a):
    value = call(math.exp, a)
    return value, value


def _sin(builder, call, a):
    return call(math.sin, a), call(math.cos, a)


def _cos(builder, call, a):
    return call(math.cos, a), builder.fneg(call(math.sin, a))


def _tan(builder, call, a):
    value = call(math.tan, a)
    return value, builder.fadd(_real(1.0), builder.fmul(value, value))


def _asin(builder, call, a):
    rest = builder.fsub(_real(1.0), builder.fmul(a, a))
    return call(math.asin, a), builder.fdiv(_real(1.0), call(math.sqrt, rest))


def _neg(builder, call, a):
    return builder.fneg(a), _real(-1.0)


def _abs(builder, call, a):
    is_positive = builder.fcmp_ordered(">=", a, _real(0.0))
    sign = builder.select(is_positive, _real(1.0), _real(-1.0))
    return builder.fmul(sign, a), sign


def _of_one(rule):
    """Return the lowering of a function from rule(builder, call, a) -> (f(a), f'(a))."""

    def with_two(builder, call, a, da, b, db):
        value, rate = rule(builder, call, a)
        return value, _times(builder, da, rate)

    both = _of_two(with_two)

    def lower(context, builder, sig, args):
        twice = signature(sig.return_type, *sig.args, *sig.args)
        return both(context, builder, twice, (*args, *args))

    return lower


def _comparison(symbol: str):
    def lower(context, builder, sig, args):
        values = [_parts(context, builder, *each)[0] for each in zip(sig.args, args)]
        compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
        return compare(symbol, *values)

    return lower


_TWO = {
    operator.add: _add,
    operator.sub: _sub,
    operator.mul: _mul,
    operator.truediv: _div,
    operator.pow: _pow,
    math.atan2: _atan2,
    max: _extreme(">"),
    min: _extreme("<"),
}
_ONE = {
    math.sqrt: _sqrt,
    math.exp: _exp,
    math.sin: _sin,
    math.cos: _cos,
    math.tan: _tan,
    math.asin: _asin,
    operator.neg: _neg,
    abs: _abs,
}
_COMPARED = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _declare(function, count: int, result=None) -> None:
    """Declare `function` for `count` arguments of which at least one is a dual number."""

    class Template(AbstractTemplate):
        def generic(self, args, kws):
            duals = [kind for kind in args if isinstance(kind, DualType)]
            reals = [kind for kind in args if isinstance(kind, (types.Float, types.Integer))]
            if not duals or len(duals) + len(reals) != count or len(set(duals)) > 1:
                return None
            kinds = (types.unliteral(kind) for kind in args)
            return signature(result or duals[0], *kinds)

    Template.__name__ = f"Dual_{function.__name__}"
    infer_global(function)(Template)


def _register(function, lower, count: int, result=None) -> None:
    _declare(function, count, result)
    real = (types.Float, types.Integer)
    pairs = [(DualType, DualType)] + [
        pair for kind in real for pair in ((DualType, kind), (kind, DualType))
    ]
    for kinds in pairs if count == 2 else [(DualType,)]:
        lower_builtin(function, *kinds)(lower)


for _function, _rule in _TWO.items():
    _register(_function, _of_two(_rule), 2)
for _function, _rule in _ONE.items():
    _register(_function, _of_one(_rule), 1)
for _function, _symbol in _COMPARED.items():
    _register(_function, _comparison(_symbol), 2, types.boolean)


@lower_cast(types.Float, DualType)
@lower_cast(types.Integer, DualType)
def _from_real(context, builder, fromty, toty, val):
    value = context.cast(builder, val, fromty, types.float64)
    slope = ir.Constant(ir.VectorType(ir.DoubleType(), toty.width), None)
    return _make(context, builder, toty, value, slope)


def _by_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for kernels, whose code depends on the types of its arguments."""
    if vars(config)["DISABLE_JIT"]:
        return {"value": float, "with_value": lambda a, b: b}.get(function.__name__, _refuse)
    made = intrinsic(prefer_literal=True)(function)
    vars(made)["fingerprint"] = _VERSION  # which `rbdyn_ros.kernel` reads
    return made


def _refuse(*arguments) -> None:
    raise RuntimeError("dual numbers need compiled code; unset NUMBA_DISABLE_JIT")


@_by_type
def variable(typingctx, width, value, direction):
    """Return value + e_direction with `width` directions; all but `value` are literals."""
    kind = DualType(width.literal_value)

    def lower(context, builder, sig, args):
        real = context.cast(builder, args[1], sig.args[1], types.float64)
        slope = [1.0 * (i == direction.literal_value) for i in range(kind.width)]
        vector = ir.Constant(ir.VectorType(ir.DoubleType(), kind.width), slope)
        return _make(context, builder, kind, real, vector)

    return kind(width, types.unliteral(value), direction), lower


@_by_type
def value(typingctx, number):
    """Return the value of a dual number; a float itself."""

    def lower(context, builder, sig, args):
        return _parts(context, builder, sig.args[0], args[0])[0]

    return types.float64(types.unliteral(number)), lower


@_by_type
def with_value(typingctx, number, value):
    """Return a dual number with another value; a float becomes that value."""

    def lower(context, builder, sig, args):
        slope = _parts(context, builder, sig.args[0], args[0])[1]
        real = context.cast(builder, args[1], sig.args[1], types.float64)
        return real if slope is None else _make(context, builder, number, real, slope)

    number = number if isinstance(number, DualType) else types.float64
    return number(number, types.unliteral(value)), lower


@_by_type
def store(typingctx, array, row, column, number, first, count):
    """Set array[row, column : column + count] := `count` derivatives of a dual number, from the
    `first` one on (literals). The array is C-contiguous; its bounds are not checked.
    """
    if not isinstance(number, DualType):
        raise TypingError("only the derivatives of a dual number can be stored")
    chosen = range(first.literal_value, first.literal_value + count.literal_value)

    def lower(context, builder, sig, args):
        start = _address(context, builder, sig.args[:3], args[:3])
        slope = _parts(context, builder, sig.args[3], args[3])[1]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), list(chosen))
        part = builder.shuffle_vector(slope, slope, mask)
        builder.store(part, builder.bitcast(start, part.type.as_pointer()), align=8)
        return context.get_dummy_value()

    kinds = (array, types.unliteral(row), types.unliteral(column), number, first, count)
    return types.void(*kinds), lower


@_by_type
def load(typingctx, width, number, array, row):
    """Return the dual number with the value of `number` and the derivatives array[row, :width];
    `width` is a literal, the array C-contiguous.
    """
    kind = DualType(width.literal_value)

    def lower(context, builder, sig, args):
        column = context.get_constant(types.intp, 0)
        kinds = (sig.args[2], sig.args[3], types.intp)
        start = _address(context, builder, kinds, (args[2], args[3], column))
        vector = ir.VectorType(ir.DoubleType(), kind.width)
        slope = builder.load(builder.bitcast(start, vector.as_pointer()), align=8)
        real = _parts(context, builder, sig.args[1], args[1])[0]
        return _make(context, builder, kind, real, slope)

    return kind(width, types.unliteral(number), array, types.unliteral(row)), lower


def _address(context, builder, kinds, args):
    """Return the address of array[row, column]."""
    place = [context.cast(builder, args[i], kinds[i], types.intp) for i in (1, 2)]
    array = context.make_array(kinds[0])(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kinds[0], array, place)
