"""`@kernel`: Numba's njit, cached, with a cache that knows what a kernel calls.

Numba stamps a cached kernel with the modification time of its own file. A kernel that calls one in
another file would keep the old callee after that file changed. Here the stamp is a fingerprint of the
kernel's bytecode, of the nouns and constants that it reads and, through their fingerprints, of every kernel that
it calls: an edit recompiles exactly the kernels that it reaches, and nothing else. It is taken when the kernel is
first called: by then its file has been read to the end, and so has every kernel that stands below it.

Numba numbers the files of compiled code 1, 2, …: two processes that compile at once, or before and after an edit, would
write different machine code under one name, and one would run the other's. Here a name follows from what the file holds.

Kernels of the running loop are `@hot`: compiled without Numba's runtime. To allocate is an error then, when they are compiled, and
nothing counts who holds an array: two atomic additions for each array of a NamedTuple, at every call that hands it on, can take
longer than the arithmetic between. They return numbers only; a caller that counts would give back an array that was never lent.
"""

import dis
import hashlib
import inspect
import pickle
import sys
import types
from pathlib import Path
from collections.abc import Callable

import numpy as np
from numba import njit
from numba import types as nb
from numba.core.dispatcher import Dispatcher

from rbdyn_ros import kernel_parts
from rbdyn_ros.kernel_parts import WholeCompiler, link_as_part

_OPTIONS = dict(
    cache=True, error_model="numpy", nogil=True, fastmath={"contract"}, _nrt=True
)  # what is not said is its first caller's

_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_FLAGS = int(sys.version_info >= (3, 11))  # [bits] of its argument that are not the name's number

# Machine code is also that of the compiler: of this file and of `kernel_parts`.
_COMPILER = hashlib.sha1(
    "".join(map(inspect.getsource, (sys.modules[__name__], kernel_parts))).encode()
).digest()


def kernel(function: Callable | None = None, **options) -> Callable:
    """Compile `function` with Numba, cached across processes; division by zero gives inf or nan.

    Of the fast-math rules only contraction is on (a * b + c in one rounding): nan and inf keep their
    meaning. `options` are those of `numba.njit`.
    """
    if function is None:
        return lambda f: kernel(f, **options)
    dispatcher = njit(**{**_OPTIONS, **options})(function)
    if isinstance(dispatcher, Dispatcher):  # a plain function under NUMBA_DISABLE_JIT=1
        dispatcher.kernel_options = options
        file = dispatcher._cache._cache_file
        file.__class__ = _stamped_by(dispatcher, type(file))
        file._load_index = _tolerant(file._load_index, dict)
        file.load = _tolerant(file.load, lambda: None)
    return dispatcher


def hot(function: Callable, **options) -> Callable:
    """A kernel of the running loop: it cannot allocate and counts no references; returns numbers only."""
    dispatcher = kernel(function, _nrt=False, **options)  # without Numba's runtime
    if isinstance(dispatcher, Dispatcher):
        dispatcher.add_overload = _returning_numbers(dispatcher)
    return dispatcher


def part(function: Callable) -> Callable:
    """A hot kernel that hot kernels call; it is compiled with each that Python calls (`kernel_parts`)."""
    return _part(hot(function, pipeline_class=WholeCompiler))


def inlined(function: Callable) -> Callable:
    """A kernel that always becomes part of its caller: no call, and its tuples stay in registers."""
    return _part(kernel(function, forceinline=True))


def _part(dispatcher: Callable) -> Callable:
    return link_as_part(dispatcher) if isinstance(dispatcher, Dispatcher) else dispatcher


def specialised(template: Callable, name: str, **scope) -> Callable:
    """A hot kernel of the code of a plain function whose globals are, besides its own, those of `scope`: other kernels that it calls.

    One for each `name`, by which its machine code is kept. (A kernel that is an argument would be another type in each process.)
    """
    function = types.FunctionType(
        template.__code__, {**template.__globals__, **scope}, template.__name__
    )
    function.__qualname__, function.__module__ = (
        f"{template.__qualname__}_{name}",
        template.__module__,
    )
    return hot(function)


def bound(dispatcher: Callable, *example) -> Callable:
    """The machine code of a kernel for arguments of the types of `example`, compiled now or read from the cache.

    It does not look at types again: a call with nested NamedTuples takes 0.6 us, through Numba's dispatcher 5. So nobody
    checks them: keep it where the same caller always hands over the same kinds, and bind anew where one of them changes.
    """
    if not isinstance(dispatcher, Dispatcher):
        return dispatcher
    return dispatcher.compile(tuple(map(dispatcher.typeof_pyval, example)))


def fingerprint(function: Callable, options: dict | None = None) -> str:
    """Hash of a function's bytecode, the constants that it reads and the kernels that it calls."""
    digest = hashlib.sha1(repr(sorted({**_OPTIONS, **(options or {})}.items())).encode())
    digest.update(_COMPILER)
    digest.update(repr(_nouns(function.__globals__)).encode())
    _hash_code(function.__code__, function.__globals__, digest)
    return digest.hexdigest()


def _nouns(scope: dict) -> list:
    """The NamedTuples that a file names, or a module that it imports: a kernel reads their fields by place."""
    modules = [v for v in scope.values() if isinstance(v, types.ModuleType) and _is_ours(v)]
    values = [*scope.values(), *(v for module in modules for v in vars(module).values())]
    return sorted(
        {
            (v.__qualname__, v._fields)
            for v in values
            if isinstance(v, type) and hasattr(v, "_fields")
        }
    )


def _is_ours(module: types.ModuleType) -> bool:
    return module.__name__.startswith(__package__ + ".")


def _returning_numbers(dispatcher: Dispatcher) -> Callable:
    """Its `add_overload`, which refuses code that returns arrays."""
    add = dispatcher.add_overload

    def checked(compiled) -> None:
        if _has_array(compiled.signature.return_type):
            raise TypeError(
                f"{dispatcher.__name__} returns an array: nobody would count who holds it; let it be a kernel, not a hot one"
            )
        add(compiled)

    return checked


def _has_array(type) -> bool:
    return (
        isinstance(type, nb.Array)
        or isinstance(type, nb.BaseTuple)
        and any(map(_has_array, type.types))
    )


def _stamped_by(dispatcher: Dispatcher, base: type) -> type:
    """The class of a cache file whose stamp is the kernel's fingerprint, taken when it is asked for."""
    stamp = property(lambda file: _of_kernel(dispatcher), _ignore)
    return type(base.__name__, (base,), {"_source_stamp": stamp, "save": _save})


def _save(file, key, data) -> None:
    """Keep compiled code: first the code, under the name of its stamp and key, then the index that tells of it.

    Whoever loses a race for the index compiles again; what the index no longer tells of is removed.
    """
    name = file._data_name(
        int(hashlib.sha1(repr((file._source_stamp, key)).encode()).hexdigest()[:15], 16)
    )
    file._save_data(name, data)
    overloads = {**file._load_index(), key: name}
    file._save_index(overloads)
    stem = file._index_name.removesuffix("nbi")
    for path in Path(file._cache_path).iterdir():
        if (
            path.name.startswith(stem)
            and path.suffix == ".nbc"
            and path.name not in overloads.values()
        ):
            path.unlink(missing_ok=True)


def _ignore(file, stamp) -> None:
    """The modification time that Numba would set."""


def _of_kernel(dispatcher: Dispatcher) -> str:
    """The fingerprint of a kernel, taken once; that of one which calls itself does not ask again."""
    if not hasattr(dispatcher, "fingerprint"):
        dispatcher.fingerprint = dispatcher.py_func.__name__
        dispatcher.fingerprint = fingerprint(dispatcher.py_func, dispatcher.kernel_options)
    return dispatcher.fingerprint


def _tolerant(load: Callable, nothing: Callable) -> Callable:
    """`load`, but what names a type or a module that is no longer there counts as not there: it is compiled anew."""

    def loaded(*arguments):
        try:
            return load(*arguments)
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return nothing()

    return loaded


def _hash_code(code: types.CodeType, scope: dict, digest) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _hash_code(constant, scope, digest)
        else:
            digest.update(repr(constant).encode())
    read = _globals_read(code)  # and not an attribute of that name
    for name in (name for name in code.co_names if name in read):
        for value in _values(name, code.co_names, scope):
            digest.update(_stamp(value))


def _globals_read(code: types.CodeType) -> set[str]:
    """The names that LOAD_GLOBAL reads. (The objects of `dis` take ten times as long.)"""
    read, argument = set(), 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2]):
        argument = argument << 8 | low
        if operation == _LOAD_GLOBAL:
            read.add(code.co_names[argument >> _FLAGS])
        if operation != dis.EXTENDED_ARG:
            argument = 0
    return read


def _values(name: str, names: tuple, scope: dict) -> list:
    """What a global name reads: itself or, for a module of this package, those of its attributes that are named."""
    value = scope.get(name)
    if isinstance(value, types.ModuleType) and _is_ours(value):
        return [getattr(value, attribute, None) for attribute in names]
    return [value]


def _stamp(value) -> bytes:
    if isinstance(value, Dispatcher) and hasattr(value, "kernel_options"):
        return _of_kernel(value).encode()
    if hasattr(value, "fingerprint"):
        return value.fingerprint.encode()
    if isinstance(value, (bool, int, float, str, tuple, np.generic)):
        return repr(value).encode()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return b""
