"""The files that keep machine code from one process to the next.

Numba stamps them with the modification time of the kernel's own file, and numbers them 1, 2, …:
two processes that compile at once, or before and after an edit, would write different machine code
under one name, and one would run the other's. Here the stamp is that of the kernel (`kernel`), and
a name follows from what the file holds. One process at a time compiles a kernel: others wait.

Private interfaces: the cache of a dispatcher and its files, Numba's runtime, the compiler's lock.
Tested with Numba 0.56.4 to 0.68.1.
Fallback: Numba's own cache, which does not see an edit of a kernel in another file.
"""

import errno
import fcntl
import functools
import gc
import glob
import hashlib
import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

try:
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime import rtsys
except ImportError:
    global_compiler_lock = rtsys = None

# of Numba's cache of a kernel, and of its files
_CACHE = ("_load_overload", "load_overload")
_CACHE_FILE = (
    *("_cache_path", "_index_name", "_index_path", "_source_stamp", "_data_name", "_save_data"),
    *("_load_index", "_save_index", "load", "save"),
)
WITHOUT_CACHE = (
    "has another cache than this package knows; after an edit of a kernel remove the folders "
    "__pycache__ of rbdyn_ros"
)
WITHOUT_PARTS = "compiles no parts of kernels: the first compile takes longer"
LONGEST_WAIT = 300.0  # [s] for a process that compiles the same kernel
_turns: list[tuple[int, int]] = []  # (file, byte) of the kernels that this process compiles


def adopt(dispatcher: Any, stamp: Callable[[], str]) -> None:
    """Keep the machine code of a dispatcher in files with this stamp."""
    cache = getattr(dispatcher, "_cache", None)
    if not _is_known(cache):
        warn(WITHOUT_CACHE)
        return
    file = cache._cache_file
    file.__class__ = _class_of_file(type(file), stamp)
    file._load_index = _tolerate(file._load_index, dict)
    file.load = _tolerate(file.load, lambda: None)
    _compile_in_turn(dispatcher)
    # to look for extensions of Numba among all packages takes 50 ms, and kernels use none
    dispatcher._compilation_chain_init_hook = lambda: None


def _is_known(cache: Any) -> bool:
    """Return whether this is a cache as this file extends it: not that of another Numba."""
    file = getattr(cache, "_cache_file", None)
    return all(
        hasattr(one, name)
        for one, names in ((cache, _CACHE), (file, _CACHE_FILE), (rtsys, ("initialize",)))
        for name in names
    )


@functools.cache
def warn(what: str) -> None:
    """Say once what this Numba lacks."""
    warnings.warn(f"Numba {numba.__version__} {what}", RuntimeWarning, stacklevel=2)


def _class_of_file(base: type, stamp: Callable[[], str]) -> type:
    """Return the class of a cache file with this stamp, taken when it is read."""
    found = property(lambda file: stamp(), _ignore)
    return type(base.__name__, (base,), {"_source_stamp": found, "save": _save})


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


def _compile_in_turn(dispatcher: Any) -> None:
    """Let a kernel that the cache does not hold wait until no other process compiles it."""
    cache, compile_now = dispatcher._cache, dispatcher.compile
    load = cache._load_overload

    def load_or_wait(signature, context):
        # Numba's own load first registers all that it can compile and imports scipy.linalg for
        # that: 0.6 s. A compilation does so by itself; to run takes the runtime alone.
        rtsys.initialize(context)
        found = load(signature, context)
        if found is None and _take_turn(Path(cache._cache_file._index_path)):
            found = load(signature, context)
        return found

    def compile_in_turn(signature):
        with global_compiler_lock, _without_garbage_collection():
            before = len(_turns)
            try:
                return compile_now(signature)
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


def _tolerate(load: Callable[..., Any], nothing: Callable[[], Any]) -> Callable[..., Any]:
    """Return `load`, which gives nothing() for code whose types or modules no longer exist."""

    def load_or_nothing(*arguments):
        try:
            return load(*arguments)
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return nothing()

    return load_or_nothing
