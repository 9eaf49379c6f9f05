"""`@kernel` is Numba's njit with a cache that depends on what a kernel calls.

Numba stamps a cached kernel with the modification time of its own file. A kernel that calls one in
another file would keep the old callee after that file changed. Here the stamp is a fingerprint of
the kernel's bytecode, of the NamedTuples and constants that it reads and, through their
fingerprints, of every kernel that it calls: an edit recompiles exactly the kernels that it
reaches. The fingerprint is taken when the kernel is first called, because only then its file and
the kernels that are defined below it have been read.

Kernels of the running loop are `@hot`: compiled without Numba's runtime. Such a kernel cannot
allocate (an error when it is compiled), and it does not count references to arrays: two atomic
additions for each array of a NamedTuple, at every call that passes it on, can take longer than the
arithmetic between them. It returns numbers only: a caller that counts references would release an
array that was never acquired.
"""

import dis
import functools
import hashlib
import inspect
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TextIO

import numba
import numpy as np
from numba import config, njit
from numba import types as nb
from numba.extending import is_jitted

from rbdyn_ros.numerics import kernel_cache
from rbdyn_ros.optional import demand_version
from rbdyn_ros.progress import compilations_to

demand_version(numba, "0.56")
demand_version(np, "1.23")
try:
    from rbdyn_ros.numerics import kernel_parts
except (ImportError, AttributeError):
    kernel_parts = None
    kernel_cache.warn(kernel_cache.WITHOUT_PARTS)

# An option that is missing here would be that of the kernel's first caller.
_OPTIONS = dict(
    cache=True,
    error_model="numpy",
    nogil=True,
    fastmath={"contract"},
    forceinline=False,
    _nrt=True,
)

_tuples: dict[int, tuple[dict, int, list]] = {}  # of a file: its names, their number, NamedTuples
_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_FLAGS = int(sys.version_info >= (3, 11))  # [bits] of its argument that are not the name's number


def kernel(function: Callable[..., Any] | None = None, **options) -> Callable[..., Any]:
    """Compile `function` with Numba, cached across processes; division by zero gives inf or nan.

    Of the fast-math rules only contraction is on (a * b + c in one rounding): nan and inf keep
    their meaning. `options` are those of `numba.njit`.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    wanted = {**_OPTIONS, **options}
    if kernel_parts:
        wanted.setdefault("pipeline_class", kernel_parts.KernelCompiler)
    else:
        del wanted["_nrt"]
    dispatcher = njit(**wanted)(function)
    if is_jitted(dispatcher):  # a plain function under NUMBA_DISABLE_JIT=1
        dispatcher.kernel_options = options
        kernel_cache.adopt(dispatcher, lambda: _of_kernel(dispatcher))
    return dispatcher


def hot(function: Callable[..., Any], **options) -> Callable[..., Any]:
    """Compile a kernel of the running loop, without Numba's runtime.

    It cannot allocate, counts no references, and returns numbers only.
    """
    dispatcher = kernel(function, **{"_nrt": False, **options})
    if is_jitted(dispatcher):
        dispatcher.add_overload = _refuse_arrays(dispatcher)
    return dispatcher


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a hot kernel together with each hot kernel that calls it (`kernel_parts`)."""
    compiler = {"pipeline_class": kernel_parts.WholeCompiler} if kernel_parts else {}
    return _part(function, hot, _nrt=False, **compiler)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel into each of its callers: no call, and its tuples stay in registers."""
    return _part(function, kernel, forceinline=True)


def _part(function: Callable[..., Any], make: Callable[..., Any], **options) -> Callable[..., Any]:
    return function if vars(config)["DISABLE_JIT"] else LazyPart(function, make, **options)


class LazyPart:
    """A kernel for other kernels, whose dispatcher is made when one is compiled, or Python calls
    it: a kernel that is read from the cache needs none of its parts.
    """

    fingerprint: str  # once it is known
    _lock = threading.Lock()

    def __init__(self, function: Callable[..., Any], make: Callable[..., Any], **options: Any):
        functools.update_wrapper(self, function)
        self.py_func, self.kernel_options = function, options
        self._make = make

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The dispatcher, which links what it is as a part."""
        with self._lock:
            if made := vars(self).get("dispatcher"):  # by another thread, meanwhile
                return made
            made = self._make(self.py_func, **self.kernel_options)
            self.dispatcher = kernel_parts.link_as_part(made) if kernel_parts else made
            return self.dispatcher

    @property
    def _numba_type_(self):
        """The type of the dispatcher, which Numba asks for."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments):
        return self.dispatcher(*arguments)


def specialize(template: Callable[..., Any], name: str, **scope: Any) -> Callable[..., Any]:
    """Compile a hot kernel of a plain function whose globals are its own and those of `scope`, the
    other kernels that it calls; keep the machine code under `name`. (A kernel that is an argument
    would have another type in each process.)
    """
    return hot(_with_scope(template, name, scope))


def specialized_part(template: Callable[..., Any], name: str, **scope: Any) -> Callable[..., Any]:
    """Return a `part` of a plain function whose globals are its own and those of `scope`, as
    `specialize` has them.
    """
    return part(_with_scope(template, name, scope))


def _with_scope(
    template: Callable[..., Any], name: str, scope: dict[str, Any]
) -> types.FunctionType:
    function = types.FunctionType(
        template.__code__, {**template.__globals__, **scope}, template.__name__
    )
    function.__qualname__ = f"{template.__qualname__}_{name}"
    function.__module__ = template.__module__
    return function


def bind(dispatcher: Callable[..., Any], *example) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of the types of `example`.

    It is compiled now or read from the cache, and does not look at types again: a call with nested
    NamedTuples takes 0.6 us, through Numba's dispatcher 5. The types are not checked, so use it
    where a caller always passes the same types, and bind anew where one of them changes.
    """
    dispatcher = getattr(dispatcher, "dispatcher", dispatcher)  # of a part
    if not is_jitted(dispatcher):
        return dispatcher
    return dispatcher.compile(tuple(map(dispatcher.typeof_pyval, example)))


def fingerprint(function: Callable[..., Any], options: dict[str, Any] | None = None) -> str:
    """Hash a function's bytecode, the constants that it reads and the kernels that it calls."""
    digest = hashlib.sha1(repr(sorted({**_OPTIONS, **(options or {})}.items())).encode())
    digest.update(_hash_compiler())
    digest.update(repr(_named_tuples(function.__globals__)).encode())
    _hash_code(function.__code__, function.__globals__, digest)
    return digest.hexdigest()


@functools.cache
def _hash_compiler() -> bytes:
    """Hash this file and `kernel_parts`, which machine code depends on too.

    Comments, docstrings and the form of the lines do not count.
    """
    digest = hashlib.sha1()
    for module in filter(None, (sys.modules[__name__], kernel_parts)):
        code = compile(inspect.getsource(module), module.__name__, "exec", optimize=2)
        _hash_code(code, {}, digest)
    return digest.digest()


def _named_tuples(scope: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """List the NamedTuples that a file, or a module that it imports, names.

    A kernel reads their fields by place. The list of a file is made once.
    """
    known = _tuples.get(id(scope))
    if known and known[0] is scope and known[1] == len(scope):
        return known[2]
    modules = [v for v in scope.values() if isinstance(v, types.ModuleType) and _is_ours(v)]
    values = [*scope.values(), *(v for module in modules for v in vars(module).values())]
    classes = (v for v in values if isinstance(v, type) and hasattr(v, "_fields"))
    found = sorted({(v.__qualname__, v._fields) for v in classes})
    _tuples[id(scope)] = scope, len(scope), found
    return found


def reached(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """Return the functions of all kernels that a function calls, directly or not."""
    found: set[Callable[..., Any]] = set()
    waiting = [(function.__code__, function.__globals__)]
    while waiting:
        code, scope = waiting.pop()
        waiting += [(c, scope) for c in code.co_consts if isinstance(c, types.CodeType)]
        read = _globals_read(code)
        for name in (name for name in code.co_names if name in read):
            for value in _values(name, code.co_names, scope):
                if hasattr(value, "kernel_options") and value.py_func not in found:
                    found.add(value.py_func)
                    waiting.append((value.py_func.__code__, value.py_func.__globals__))
    return found


def _is_ours(module: types.ModuleType) -> bool:
    return module.__name__.startswith(__package__ + ".")


def _refuse_arrays(dispatcher: Any) -> Callable[..., Any]:
    """Return its `add_overload` with a check that refuses code that returns arrays."""
    add = dispatcher.add_overload

    def add_checked(compiled) -> None:
        if _has_array(compiled.signature.return_type):
            raise TypeError(
                f"{dispatcher.__name__} returns an array, whose references a hot kernel does not "
                "count; make it a kernel"
            )
        add(compiled)

    return add_checked


def _has_array(type) -> bool:
    if isinstance(type, nb.BaseTuple):
        return any(map(_has_array, type.types))
    return isinstance(type, nb.Array)


def _of_kernel(dispatcher: Any) -> str:
    """Return the fingerprint of a kernel, taken once; a recursive kernel counts by its name."""
    if not hasattr(dispatcher, "fingerprint"):
        dispatcher.fingerprint = dispatcher.py_func.__name__
        dispatcher.fingerprint = fingerprint(dispatcher.py_func, dispatcher.kernel_options)
    return dispatcher.fingerprint


def _hash_code(code: types.CodeType, scope: dict[str, Any], digest) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _hash_code(constant, scope, digest)
        else:
            digest.update(repr(constant).encode())
    read = _globals_read(code)  # not an attribute of that name
    for name in (name for name in code.co_names if name in read):
        for value in _values(name, code.co_names, scope):
            digest.update(_stamp(value))


def _globals_read(code: types.CodeType) -> set[str]:
    """List the names that LOAD_GLOBAL reads. (The objects of `dis` take 30 times as long.)"""
    operations, low, read = code.co_code[::2], code.co_code[1::2], set()
    at = operations.find(_LOAD_GLOBAL)
    while at >= 0:
        argument, k = low[at], at
        while k > 0 and operations[k - 1] == dis.EXTENDED_ARG:
            k -= 1
            argument |= low[k] << 8 * (at - k)
        read.add(code.co_names[argument >> _FLAGS])
        at = operations.find(_LOAD_GLOBAL, at + 1)
    return read


def _values(name: str, names: tuple[str, ...], scope: dict[str, Any]) -> list[Any]:
    """Return what a global name reads.

    That is its value or, for a module of this package, its attributes among `names`.
    """
    value = scope.get(name)
    if isinstance(value, types.ModuleType) and _is_ours(value):
        return [getattr(value, attribute, None) for attribute in names]
    return [value]


def _stamp(value) -> bytes:
    if hasattr(value, "kernel_options"):
        return _of_kernel(value).encode()
    if hasattr(value, "fingerprint"):
        return value.fingerprint.encode()
    if isinstance(value, (bool, int, float, str, tuple, np.generic)):
        return repr(value).encode()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return b""


def show_compilations(stream: TextIO) -> None:
    """Say on a stream what compiles from now on, where Numba tells it."""
    try:
        from rbdyn_ros.numerics.kernel_progress import watch
    except (ImportError, AttributeError):
        return
    watch(stream, reached)


for _stream in compilations_to:
    show_compilations(_stream)
