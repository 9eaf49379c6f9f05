"""Kernels that other kernels call are optimized once, as parts of the kernel that Python calls.

Numba optimizes a kernel with all that it calls, makes machine code of it, and does the same again
for its caller: a function that is called over ten levels is compiled ten times, with its wrappers
for Python. Here a kernel that is called by a kernel is only translated; the kernel that Python
calls links its parts and optimizes all of them together, once. It alone is kept in the cache.

This is Numba's own way for what it implements by compiled Python (`Flags.no_compile`), opened to
kernels; its names are private. A kernel of two lines tries them out before the first is compiled.

A kernel that is compiled by itself and called by another one is in the cache with its optimized
code. Where that is too long to be inlined, the caller is optimized without it.

Private interfaces: Numba's libraries of machine code, stages of the compiler, dispatchers.
Tested with Numba 0.56.4 to 0.68.1, llvmlite 0.39 to 0.50.
Fallback: each kernel is compiled as Numba does it by itself, which takes longer.
"""

from functools import cache, partial
from typing import Any

import numba
from numba.core import compiler, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

from rbdyn_ros.numerics.kernel_cache import WITHOUT_PARTS, warn

# [bytes] of bitcode: some thousand instructions; LLVM inlines what has less than a hundred
LARGE = 100_000
# Passes of Numba for what parts of this package do not have, a fourteenth of the time to compile:
# closures, `with`, the inlining of Python code, literals as types, sums of whole arrays.
UNUSED = {
    getattr(module, name, None)
    for module, names in (
        (
            untyped_passes,
            "WithLifting InlineClosureLikes MakeFunctionToJitFunction InlineInlinables "
            "FindLiterallyCalls LiteralUnroll LiteralPropagationSubPipelinePass",
        ),
        (typed_passes, "InlineOverloads NopythonRewrites"),
    )
    for name in names.split()
} - {None}
_tried: list[bool] = []  # whether this Numba has what parts need


def is_supported() -> bool:
    """Return whether this Numba has what parts need, tried once with a kernel of two lines."""
    if not _tried:
        _tried.append(True)  # as long as it is tried
        try:
            _tried[0] = _twice_plus_one() == 4.0
        except Exception:  # of whatever kind: what is private may have changed in any way
            _tried[0] = False
        if not _tried[0]:
            warn(WITHOUT_PARTS)
    return _tried[0]


def _twice_plus_one() -> float:
    """Return 2 (1 + 1), by a kernel with a part."""
    compiled = numba.njit(_nrt=False, pipeline_class=WholeCompiler)
    plus_one = link_as_part(compiled(lambda x: x + 1.0))
    return compiled(lambda x: plus_one(x) + plus_one(x))(1.0)


def closure(library: JITCodeLibrary) -> list[JITCodeLibrary]:
    """List the libraries that one needs, each once, every caller before what it calls.

    The linker ignores code that nothing refers to yet.
    """
    callees_first, seen, waiting = [], {library}, [(library, iter(library._linking_libraries))]
    while waiting:
        one, rest = waiting[-1]
        for needed in rest:
            if needed not in seen:
                seen.add(needed)
                is_part = isinstance(needed, PartLibrary)
                waiting.append((needed, iter(needed._linking_libraries if is_part else ())))
                break
        else:
            callees_first.append(one)
            waiting.pop()
    return callees_first[::-1]


class PartLibrary(JITCodeLibrary):
    """The code of a part: each function is simplified, and no machine code is made of it."""

    _own = None

    def finalize(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def own_module(self):
        """Return the code of this part alone, which may be linked more than once."""
        if self._own is None:
            self._own, self._shared_module = super()._get_module_for_linking(), None
        return self._own

    def _get_module_for_linking(self):
        """Return the code of this part with all that it needs, for a library without parts."""
        if self._shared_module is None:
            module = self.own_module().clone()
            link(module, closure(self)[1:], self)
            self._shared_module = module
        return self._shared_module


def link(module, libraries: list[JITCodeLibrary], target: JITCodeLibrary) -> None:
    """Link each library into `module` of the library `target`."""
    for library in libraries:
        if hasattr(library, "_reload_init"):  # from 0.63 on: what to do when it is read
            target._reload_init.update(library._reload_init)
        is_part = isinstance(library, PartLibrary)
        code = library.own_module() if is_part else library._get_module_for_linking()
        module.link_in(code, preserve=True)


def is_large(library: JITCodeLibrary) -> bool:
    """Return whether a library holds optimized code that is too long to be inlined."""
    if isinstance(library, PartLibrary):
        return False
    if not hasattr(library, "is_large"):
        library.is_large = len(library._get_module_for_linking().as_bitcode()) > LARGE
    return library.is_large


def functions(library: JITCodeLibrary) -> list[Any]:
    """List the functions that a part defines."""
    if not isinstance(library, PartLibrary):
        return []
    return [function for function in library.own_module().functions if not function.is_declaration]


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel with that of the kernels that it calls; large ones are linked as they
    are.
    """

    def finalize(self):
        self._link_needed()
        super().finalize()

    def _link_needed(self) -> list[JITCodeLibrary]:
        """Link what this kernel is optimized with, and return it; keep the rest for later."""
        needed = closure(self)[1:]
        self._optimized = [library for library in needed if is_large(library)]
        needed = [library for library in needed if library not in self._optimized]
        link(self._final_module, needed, self)
        self._linking_libraries = []
        return needed

    def _optimize_final_module(self):
        self._run_passes()
        link(self._final_module, self._optimized, self)

    def _run_passes(self):
        super()._optimize_final_module()


class WholeLibrary(KernelLibrary):
    """The code of a kernel that Python calls, with its parts."""

    def finalize(self):
        parts = self._link_needed()
        names = {fn.name for part in parts for fn in functions(part)}
        for function in self._final_module.functions:  # those that something still calls
            # Not "internal": such a name is in the symbol table, and the function of that name
            # in a kernel that is loaded later would be bound to this one, whose arguments differ.
            if function.name in names:
                function.linkage = "private"
        super().finalize()

    def _run_passes(self):
        """Run the passes once: the second run of Numba only removes reference counts."""
        made = self._codegen._module_pass_manager()
        if not isinstance(made, tuple):  # of the pass managers that LLVM had before
            return super()._run_passes()
        passes, builder = made
        with self._recorded_timings.record("Module passes", builder):
            passes.run(self._final_module, builder)


def is_own(module: str) -> bool:
    """Return whether a module is one of this package: others may use all that Numba compiles."""
    return module.startswith(f"{__package__.partition('.')[0]}.")


def shorten(pipeline: PassManager) -> PassManager:
    """Return a pipeline without the passes that are UNUSED."""
    short = PassManager(pipeline.pipeline_name)
    for compiler_pass, description in pipeline.passes:
        if compiler_pass not in UNUSED:
            short.add_pass(compiler_pass, description)
    short.finalize()
    return short


class KernelCompiler(compiler.Compiler):
    """Numba's compiler with a library that optimizes no large kernel again."""

    library = KernelLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        if not is_supported():  # a kernel that Numba compiles may return arrays to any other
            flags.nrt = True
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)

    def _compile_core(self):
        if not is_supported():
            return super()._compile_core()
        name = self.state.func_id.func_qualname
        self.state.library = self.library(self.state.targetctx.codegen(), name)
        self.state.library.enable_object_caching()
        return super()._compile_core()


class WholeCompiler(KernelCompiler):
    """The same compiler with a library that links parts, and without the passes that parts of
    this package do not need.
    """

    library = WholeLibrary

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes, in Numba's order."""
        pipelines = super().define_pipelines()
        shortens = is_supported() and is_own(self.state.func_id.modname)
        return [*map(shorten, pipelines)] if shortens else pipelines


class PartCompiler(WholeCompiler):
    """The same compiler up to the code that a caller links."""

    library = PartLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class PartDispatcher(CPUDispatcher):
    """The dispatcher of a kernel for calls from compiled code."""

    def __init__(self, dispatcher: CPUDispatcher, counts: bool):
        options = {**dispatcher.targetoptions, "_nrt": counts}
        super().__init__(dispatcher.py_func, targetoptions=options, pipeline_class=PartCompiler)

    def get_call_template(self, args, kws):
        """Give constants their plain type, except where the code is inlined."""
        if not self.targetoptions.get("forceinline"):
            args = tuple(map(types.unliteral, args))
        return super().get_call_template(args, kws)

    def add_overload(self, cres) -> None:
        self.targetctx.insert_user_function(cres.fndesc, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres

    def compile(self, sig) -> None:
        super().compile(sig)

    def has(self, sig) -> bool:
        """Return whether it was compiled for these types."""
        return tuple(getattr(sig, "args", sig)) in self.overloads

    def get_overload(self, sig):
        return self.overloads[tuple(getattr(sig, "args", sig))].fndesc


def link_as_part(dispatcher: CPUDispatcher) -> CPUDispatcher:
    """Let compiled code that calls `dispatcher` take it as a part; Python calls it as before.

    A part counts references to arrays if its caller does, or if it returns an array: Numba refuses
    to compile that without the counts.
    """
    counts = dispatcher.targetoptions["_nrt"]
    part = cache(partial(PartDispatcher, dispatcher))  # made when a caller is compiled
    need_counts = set()
    own = dispatcher.get_call_template, dispatcher.get_overload

    def get_call_template(args, kws):
        if not is_supported():
            return own[0](args, kws)
        if args not in need_counts and not (counts and ConfigStack().top().nrt):
            try:
                return part(counts=False).get_call_template(args, kws)
            except TypingError:
                if not counts:
                    raise
                need_counts.add(args)
        return part(counts=True).get_call_template(args, kws)

    def get_overload(sig):
        if not is_supported():
            return own[1](sig)
        is_plain = not (counts and ConfigStack().top().nrt) and part(counts=False).has(sig)
        return part(counts=not is_plain).get_overload(sig)

    dispatcher.get_call_template, dispatcher.get_overload = get_call_template, get_overload
    return dispatcher
