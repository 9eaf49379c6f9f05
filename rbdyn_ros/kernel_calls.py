"""Calls of a kernel by its address: a caller is compiled without the code of what it calls.

A kernel holds the machine code of the kernels that it calls. That of a step with contacts takes
seconds to make, and the tick and the compiled loop of each integrator would hold it once more.
Here the address is an argument, so that one tick and one loop serve all integrators.

Private interface: Numba's calling convention for kernels, and the library of a compiled one.
Tested with Numba 0.68.1.
Fallback: where kernels are not compiled, a kernel stands for its address.
"""

from collections.abc import Callable
from typing import Any

from numba import config
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.types import unliteral
from numba.core.typing import signature
from numba.extending import intrinsic as numba_intrinsic

from rbdyn_ros.kernel import bind, fingerprint


def address_of(kernel: Callable[..., Any], result: Any, *example: Any) -> Any:
    """Return the address of a kernel for arguments of the types of `example`, with results of the
    type of `result`.

    Raise TypeError where it returns another type. Types are not checked again when it is called.
    """
    bind(kernel, *example)
    kernel = getattr(kernel, "dispatcher", kernel)  # of a part
    if not isinstance(kernel, Dispatcher):
        return kernel
    compiled = kernel.overloads[tuple(map(kernel.typeof_pyval, example))]
    # a constant has a type of its own, and the machine code of any other value
    returned, wanted = unliteral(compiled.signature.return_type), kernel.typeof_pyval(result)
    if returned != wanted:
        raise TypeError(f"{kernel.__name__} returns {returned}; it must return {wanted}")
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def intrinsic(function: Callable[..., Any]) -> Any:
    """Return Numba's intrinsic of a function; kernels that call it are compiled anew after an edit
    of the function.
    """
    made: Any = numba_intrinsic(function)
    made.fingerprint = fingerprint(function)
    return made


@intrinsic
def _call_at(_context, address, result, arguments):
    def generate(context, builder, signed, values):
        convention, returned = context.call_conv, signed.return_type
        kind = convention.get_function_type(returned, [*arguments])
        function = builder.inttoptr(values[0], kind.as_pointer())
        given = cgutils.unpack_tuple(builder, values[2])
        status, out = convention.call_function(builder, function, returned, [*arguments], given)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return out

    return signature(result, address, result, arguments), generate


def _call_itself(kernel, result, arguments):
    """Call a kernel that is not compiled."""
    return kernel(*arguments)


# call_at(address, result, arguments): call the kernel at an address of `address_of`; `result` is
# one of the type of its results, the arguments have the types of the example
call_at: Any = _call_itself if vars(config)["DISABLE_JIT"] else _call_at
