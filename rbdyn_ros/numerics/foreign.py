"""Calls of C functions by their addresses, out of kernels: they need no interpreter, and the
address is a number like any other.
"""

from llvmlite import ir  # which comes with Numba
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


@intrinsic
def call(_, address, a, b, c, d):
    """Call the function int f(a, b, c, d) at an address; its arguments are whole numbers and
    pointers, 64 bits each, 0 for those that it does not have.

    Arguments are passed in registers on all 64-bit machines that Numba knows but Windows', so the
    function does not see one that it does not have.
    """

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [_WORD] * 4)
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int32(*[types.int64] * 5), generate
