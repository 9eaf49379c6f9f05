"""`@kernel` is Numba's njit with a cache that depends on what a kernel calls.

Numba stamps a cached kernel with the modification time of its own file. A kernel that calls one in
another file would keep the old callee after that file changed. Here the stamp is a fingerprint of
the kernel's bytecode, of the NamedTuples and constants that it reads and, through their
fingerprints, of every kernel that it calls: an edit recompiles exactly the kernels that it
reaches. The fingerprint is taken when the kernel is first called, because only then its file and
the kernels that are defined below it have been read.

Numba numbers the files of compiled code 1, 2, …: two processes that compile at once, or before and
after an edit, would write different machine code under one name, and one would run the other's.
Here a name follows from what the file holds. One process at a time compiles a kernel: others wait.

Kernels of the running loop are `@hot`: compiled without Numba's runtime. Such a kernel cannot
allocate (an error when it is compiled), and it does not count references to arrays: two atomic
additions for each array of a NamedTuple, at every call that passes it on, can take longer than the
arithmetic between them. It returns numbers only: a caller that counts references would release an
array that was never acquired.
"""

import dis
import errno
import fcntl
import functools
import gc
import glob
import hashlib
import inspect
import os
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit
from numba import types as nb
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.extending import overload

from rbdyn_ros import kernel_parts
from rbdyn_ros.kernel_overhead import reduce_overhead
from rbdyn_ros.kernel_parts import KernelCompiler, LazyPart, WholeCompiler
from rbdyn_ros.kernel_sources import COMPILER, MEMORY, KernelMissing, allowed

# An option that is missing here would be that of the kernel's first caller.
_OPTIONS = dict(cache=True, error_model="numpy", nogil=True, fastmath={"contract"}, _nrt=True)

LONGEST_WAIT = 300.0  # [s] for a process that compiles the same kernel
_turns: list[tuple[int, int]] = []  # (file, byte) of the kernels that this process compiles
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
    wanted = {"pipeline_class": KernelCompiler, **_OPTIONS, **options}
    dispatcher = njit(**wanted)(function)
    if isinstance(dispatcher, Dispatcher):  # a plain function under NUMBA_DISABLE_JIT=1
        dispatcher.kernel_options = options
        file = dispatcher._cache._cache_file
        file.__class__ = _cache_file_class(dispatcher, type(file))
        file._load_index = _tolerate(file._load_index, dict)
        file.load = _tolerate(file.load, lambda: None)
        _compile_in_turn(dispatcher)
        # to look for extensions of Numba among all packages takes 50 ms, and kernels use none
        dispatcher._compilation_chain_init_hook = lambda: None
    return dispatcher


def hot(function: Callable[..., Any], **options) -> Callable[..., Any]:
    """Compile a kernel of the running loop, without Numba's runtime.

    It cannot allocate, counts no references, and returns numbers only.
    """
    dispatcher = kernel(function, **{"_nrt": False, **options})
    if isinstance(dispatcher, Dispatcher):
        dispatcher.add_overload = _refuse_arrays(dispatcher)
    return dispatcher


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a hot kernel together with each hot kernel that calls it (`kernel_parts`)."""
    return _part(function, hot, _nrt=False, pipeline_class=WholeCompiler)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel into each of its callers: no call, and its tuples stay in registers."""
    return _part(function, kernel, forceinline=True)


def _part(function: Callable[..., Any], make: Callable[..., Any], **options) -> Callable[..., Any]:
    return function if vars(config)["DISABLE_JIT"] else LazyPart(function, make, **options)


def specialize(template: Callable[..., Any], name: str, **scope: Any) -> Callable[..., Any]:
    """Compile a hot kernel of a plain function whose globals are its own and those of `scope`, the
    other kernels that it calls; keep the machine code under `name`. (A kernel that is an argument
    would have another type in each process.)
    """
    function = types.FunctionType(
        template.__code__, {**template.__globals__, **scope}, template.__name__
    )
    function.__qualname__ = f"{template.__qualname__}_{name}"
    function.__module__ = template.__module__
    return hot(function)


def bind(dispatcher: Callable[..., Any], *example) -> Callable[..., Any]:
    """Return the machine code of a kernel for arguments of the types of `example`.

    It is compiled now or read from the cache, and does not look at types again: a call with nested
    NamedTuples takes 0.6 us, through Numba's dispatcher 5. The types are not checked, so use it
    where a caller always passes the same types, and bind anew where one of them changes.
    """
    dispatcher = getattr(dispatcher, "dispatcher", dispatcher)  # of a part
    if not isinstance(dispatcher, Dispatcher):
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
    for module in (sys.modules[__name__], kernel_parts):
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


def _is_ours(module: types.ModuleType) -> bool:
    return module.__name__.startswith(__package__ + ".")


def _refuse_arrays(dispatcher: Dispatcher) -> Callable[..., Any]:
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


def _cache_file_class(dispatcher: Dispatcher, base: type) -> type:
    """Return the class of a cache file whose stamp is the fingerprint, taken when read."""
    stamp = property(lambda file: _of_kernel(dispatcher), _ignore)
    return type(base.__name__, (base,), {"_source_stamp": stamp, "save": _save})


def _save(file, key, data) -> None:
    """Keep compiled code: first the code, under the name of its stamp and key, then the index.

    A process that loses a race for the index compiles again; code that the index no longer lists
    is removed.
    """
    number = hashlib.sha1(repr((file._source_stamp, key)).encode()).hexdigest()[:15]
    name = file._data_name(int(number, 16))
    file._save_data(name, data)
    overloads = {**file._load_index(), key: name}
    file._save_index(overloads)
    stem = file._index_name.removesuffix("nbi")
    for path in Path(file._cache_path).glob(f"{glob.escape(stem)}*.nbc"):
        if path.name not in overloads.values():
            path.unlink(missing_ok=True)


def _compile_in_turn(dispatcher: Dispatcher) -> None:
    """Let a kernel that the cache does not hold wait until no other process compiles it."""
    cache, compile_now = dispatcher._cache, dispatcher.compile
    load = cache._load_overload

    def load_or_wait(signature, context):
        # Numba's own load first registers all that it can compile and imports scipy.linalg for
        # that: 0.6 s. A compilation does so by itself; to run takes the runtime alone.
        rtsys.initialize(context)
        source = allowed.get()
        found = None if source == MEMORY else load(signature, context)
        if found is None and source != COMPILER:
            raise KernelMissing(dispatcher.__name__)
        if found is None and _take_turn(Path(cache._cache_file._index_path)):
            found = load(signature, context)
        if found is None:
            _shorten_slice_errors()
            reduce_overhead()
        return found

    def compile_in_turn(signature):
        with global_compiler_lock, _without_garbage_collection():
            before = len(_turns)
            try:
                return _with_room(compile_now, signature)
            finally:
                while len(_turns) > before:
                    file, byte = _turns.pop()
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)

    cache.load_overload, dispatcher.compile = load_or_wait, compile_in_turn


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off for a while: the compiler makes millions of objects that stay,
    to look through which takes an eighth of its time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@functools.cache
def _shorten_slice_errors() -> None:
    """Let kernels refuse a slice that does not fit without its shapes in the message.

    To write them, Numba compiles its strings in each process that compiles a slice: up to 5 s.
    """
    from numba.np import arrayobj  # takes 0.3 s

    def refuse(source, target):
        raise NotImplementedError

    overload(refuse)(arrayobj.ol_raise_with_shape_context_generic)
    arrayobj.raise_with_shape_context = refuse


def _with_room(function: Callable[..., Any], argument: Any) -> Any:
    """Call with so large a frame that all frames of the calls below it are in one chunk of memory.

    From 3.11 on Python has its frames in chunks, usually of 16 KiB, and gives one back as soon as
    no frame is in it. Where the many small calls of a compilation go to and fro across the end of
    one, each costs two system calls: a sixth of the time.
    """
    return function(argument)


# [words] of a chunk of 1 MiB, of which the other 0.4 MiB is for the frames below
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=80_000)


def _take_turn(index: Path) -> bool:
    """Lock the byte that stands for a kernel in a file beside its cache; return whether that was
    done.

    The lock ends with the process, however that ends.
    """
    byte = int(hashlib.sha1(index.name.encode()).hexdigest()[:15], 16)
    end = time.monotonic() + LONGEST_WAIT
    try:
        file = _lock_file(index.parent)
        while time.monotonic() < end:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                _turns.append((file, byte))
                return True
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
            time.sleep(0.02)
    except OSError:  # a folder that cannot be written, or a file system without locks
        pass
    return False


@functools.cache
def _lock_file(folder: Path) -> int:
    """Open the file of the locks, for good: a process that closes it would give up all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / "kernels.lock", os.O_RDWR | os.O_CREAT, 0o666)


def _ignore(file, stamp) -> None:
    """Ignore the modification time that Numba sets."""


def _of_kernel(dispatcher: Dispatcher | LazyPart) -> str:
    """Return the fingerprint of a kernel, taken once; a recursive kernel counts by its name."""
    if not hasattr(dispatcher, "fingerprint"):
        dispatcher.fingerprint = dispatcher.py_func.__name__
        dispatcher.fingerprint = fingerprint(dispatcher.py_func, dispatcher.kernel_options)
    return dispatcher.fingerprint


def _tolerate(load: Callable[..., Any], nothing: Callable[[], Any]) -> Callable[..., Any]:
    """Return `load`, which gives nothing() for code whose types or modules no longer exist."""

    def load_or_nothing(*arguments):
        try:
            return load(*arguments)
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return nothing()

    return load_or_nothing


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
    if isinstance(value, (Dispatcher, LazyPart)) and hasattr(value, "kernel_options"):
        return _of_kernel(value).encode()
    if hasattr(value, "fingerprint"):
        return value.fingerprint.encode()
    if isinstance(value, (bool, int, float, str, tuple, np.generic)):
        return repr(value).encode()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return b""
