"""Kernels that other kernels call are optimized once, as parts of the kernel that Python calls.

Numba optimizes a kernel with all that it calls, makes machine code of it, and does the same again
for its caller: a function that is called over ten levels is compiled ten times, with its wrappers
for Python. Here a kernel that is called by a kernel is only translated; the kernel that Python
calls links its parts and optimizes all of them together, once. It alone is kept in the cache.

This is Numba's own way for what it implements by compiled Python (`Flags.no_compile`), opened to
kernels; its names are private.

A kernel that is compiled by itself and called by another one is in the cache with its optimized
code. Where that is too long to be inlined, the caller is optimized without it.
"""

from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from typing import Any

from numba.core import compiler, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher
from numba.core.targetconfig import ConfigStack

# [bytes] of bitcode: some thousand instructions; LLVM inlines what has less than a hundred
LARGE = 100_000
# Passes of Numba for what parts of this package do not have, a fourteenth of the time to compile:
# closures, `with`, the inlining of Python code, literals as types, sums of whole arrays.
UNUSED = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
}


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
            link(module, closure(self)[1:], self._reload_init)
            self._shared_module = module
        return self._shared_module


def link(module, libraries: list[JITCodeLibrary], reload_init: set[Any]) -> None:
    """Link each library into `module`."""
    for library in libraries:
        reload_init.update(library._reload_init)
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
        link(self._final_module, needed, self._reload_init)
        self._linking_libraries = []
        return needed

    def _optimize_final_module(self):
        self._run_passes()
        link(self._final_module, self._optimized, self._reload_init)

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
        passes, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes", builder):
            passes.run(self._final_module, builder)


def is_own(module: str) -> bool:
    """Return whether a module is one of this package: others may use all that Numba compiles."""
    return module.startswith(f"{__package__}.")


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

    def _compile_core(self):
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
        return [*map(shorten, pipelines)] if is_own(self.state.func_id.modname) else pipelines


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

    def get_call_template(args, kws):
        if args not in need_counts and not (counts and ConfigStack().top().nrt):
            try:
                return part(counts=False).get_call_template(args, kws)
            except TypingError:
                if not counts:
                    raise
                need_counts.add(args)
        return part(counts=True).get_call_template(args, kws)

    def get_overload(sig):
        is_plain = not (counts and ConfigStack().top().nrt) and part(counts=False).has(sig)
        return part(counts=not is_plain).get_overload(sig)

    dispatcher.get_call_template, dispatcher.get_overload = get_call_template, get_overload
    return dispatcher


class LazyPart:
    """A kernel for other kernels, whose dispatcher is made when one is compiled, or Python calls
    it: a kernel that is read from the cache needs none of its parts.
    """

    fingerprint: str  # once it is known

    def __init__(self, function: Callable[..., Any], make: Callable[..., Any], **options: Any):
        update_wrapper(self, function)
        self.py_func, self.kernel_options = function, options
        self._make = make

    @cached_property
    def dispatcher(self) -> CPUDispatcher:
        """The dispatcher, which links what it is as a part."""
        with global_compiler_lock:
            made = vars(self).get("dispatcher")  # by another thread, meanwhile
            return made or link_as_part(self._make(self.py_func, **self.kernel_options))

    @property
    def _numba_type_(self):
        """The type of the dispatcher, which Numba asks for."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments):
        return self.dispatcher(*arguments)
