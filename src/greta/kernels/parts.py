"""Kernels, and functions that only kernels call: compiled in a third of the time that Numba would take by itself.

Numba optimises every compiled function by itself, with all that it calls, wraps it for Python and turns it into machine
code; its callers then start from the result and do it all again. A part is lowered only, and optimised once, where a
kernel ends. This stands on Numba's documented hook for compilers of one's own, and on how its libraries of code are
made, which is not documented: ``compiler.TUNED`` says whether it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, cast

import llvmlite.binding as llvm
import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.postproc import PostProcessor
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.core.untyped_passes import InlineClosureLikes

from greta.kernels.call_types import remembered_call_types
from greta.kernels.lowering import Lowering

_CALLED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
"""What Python calls: a function of itself, its arguments, and those with names (none here)."""


_NEEDLESS: frozenset[type] = frozenset({InlineClosureLikes, InlineOverloads, NopythonRewrites})
"""Numba's passes for functions inside functions and for formulas over whole arrays: kernels have neither."""

_look_through = PostProcessor.run
_get_jit_decorator: Any = _OverloadFunctionTemplate._get_jit_decorator


class _PartLibrary(JITCodeLibrary):
    """Code that waits to be linked into that of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise a part as far as it is cheap; the kernel does the rest for all."""
        target: Any = self._codegen
        ll_module.data_layout = target._data_layout
        builder = _pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=1))
        passes = builder.getFunctionPassManager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """The kernel's turn."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _KernelLibrary(JITCodeLibrary):
    """Code of a kernel and its parts, optimised at once.

    Loops over lanes become vector instructions; nothing is unrolled beyond that, which would be half as much code again
    for no gain. Counts of references that cancel each other are taken out, without which kernels take a fifth longer.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave the kernel's own code to the pass over all."""
        ll_module.data_layout = cast("Any", self._codegen)._data_layout

    def _optimize_final_module(self) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        options.slp_vectorization = False
        options.loop_unrolling = False
        options.loop_interleaving = False
        builder = _pass_builder(self._codegen, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)


def _pass_builder(target: Any, options: Any) -> Any:
    """What makes LLVM's passes for this machine, as Numba does, with options that it does not have."""
    return llvm.create_pass_builder(target._tm, options)


def _look_once(finder: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Find out where variables live only when that is written into the function; five passes before do not ask."""
    if emit_dels:
        _look_through(finder, emit_dels, extend_lifetimes)
    else:
        finder.func_ir.blocks = canonicalize_cfg(finder.func_ir.blocks)  # type: ignore[no-untyped-call]


def _decorator_for_parts(template: Any) -> Any:
    """What compiles one of Numba's own functions: as a part, not assembled for each kind of array."""
    return partial(_get_jit_decorator(template), pipeline_class=OverloadCompiler)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Another method of a class of Numba's meanwhile; Numba compiles one function at a time, behind a lock."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _InferTypes(NopythonTypeInference):
    """Types of variables, by those of calls that are remembered."""

    _name = "infer_types"

    def run_pass(self, state: Any) -> bool:
        """As Numba does it."""
        with remembered_call_types(), _replaced(_OverloadFunctionTemplate, "_get_jit_decorator", _decorator_for_parts):
            return super().run_pass(state)  # type: ignore[no-any-return, no-untyped-call]


class _Lower(NativeLowering):
    """The last step of compiling anything."""

    _name = "lower"

    @property
    def lowering_class(self) -> type[Lowering]:
        """What Numba lowers functions with."""
        return Lowering


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _LowerKernel(_Lower):
    """The last step of compiling a kernel."""

    _name = "lower_kernel"

    def run_pass(self, state: Any) -> bool:
        """Lower, link, optimise and assemble."""
        state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True
        return super().run_pass(state)  # type: ignore[no-any-return, no-untyped-call]


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _LowerPart(_Lower):
    """The last step of compiling a part."""

    _name = "lower_part"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and let kernels find it by an object that takes the place of its machine code."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        super().run_pass(state)  # type: ignore[no-untyped-call]
        lowered = state.cr
        called = _by_itself(state.func_id.func)
        address = ctypes.cast(called, ctypes.c_void_p).value
        name, keep = state.func_id.func_name, (state.library, called)
        place = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", address, lowered.env, keep)
        state.targetctx.insert_user_function(place, lowered.fndesc, [state.library])
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=place, env=lowered.env)
        return True


class _TunedCompiler(CompilerBase):
    """Numba's compiler with two steps of our own and without some that find nothing to do."""

    last: type[NativeLowering]
    needless = _NEEDLESS
    looks_through: Callable[..., None] = staticmethod(_look_once)
    """What finds out where variables live."""

    def _compile_core(self) -> Any:
        """Run all passes."""
        with _replaced(PostProcessor, "run", self.looks_through):
            return super()._compile_core()  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> list[PassManager]:
        """What Numba asks for."""
        other = {NopythonTypeInference: _InferTypes, NativeLowering: self.last}
        manager = PassManager("greta")  # type: ignore[no-untyped-call]
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state).passes  # type: ignore[no-untyped-call]
        manager.passes = [(other.get(step, step), why) for step, why in passes if step not in self.needless]
        manager.finalize()  # type: ignore[no-untyped-call]
        return [manager]


class KernelCompiler(_TunedCompiler):
    """What compiles functions that Python calls."""

    last = _LowerKernel


class PartCompiler(_TunedCompiler):
    """What compiles functions that only kernels call."""

    last = _LowerPart


class OverloadCompiler(PartCompiler):
    """What compiles Numba's own functions for kernels that call them, such as ``np.empty``."""

    needless = frozenset()
    looks_through = staticmethod(_look_through)


@cache
def _by_itself(function: Callable[..., Any]) -> Any:
    """What Python calls instead of a part, in tests: the same function, compiled as any other."""
    whole = numba.njit(error_model="numpy")(function)
    return _CALLED(lambda place, arguments, names: whole(*arguments))  # noqa: ARG005 - how Python calls
