"""Functions that only kernels call, compiled as parts of these alone: half of the compiler's time.

Numba optimises every compiled function by itself, with all that it calls, wraps it for Python and turns it into machine
code; its callers then start from the result and do it all again. A part is lowered only, and optimised once, where a
kernel ends. This stands on Numba's documented hook for compilers of one's own, and on how its libraries of code are
made, which is not documented: ``compiler.TUNED`` says whether it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

_CALLED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
"""What Python calls: a function of itself, its arguments, and those with names (none here)."""


class _PartLibrary(JITCodeLibrary):
    """Code that waits to be linked into that of a kernel."""

    def _optimize_final_module(self) -> None:
        """The kernel's turn."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _LowerPart(NativeLowering):
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


class PartCompiler(CompilerBase):
    """Numba's compiler with another last step."""

    def define_pipelines(self) -> list[PassManager]:
        """What Numba asks for."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state).passes  # type: ignore[no-untyped-call]
        manager = PassManager("part")  # type: ignore[no-untyped-call]
        manager.passes = [(_LowerPart if step is NativeLowering else step, why) for step, why in passes]
        manager.finalize()  # type: ignore[no-untyped-call]
        return [manager]


@cache
def _by_itself(function: Callable[..., Any]) -> Any:
    """What Python calls instead of a part, in tests: the same function, compiled as any other."""
    whole = numba.njit(error_model="numpy")(function)
    return _CALLED(lambda place, arguments, names: whole(*arguments))  # noqa: ARG005 - how Python calls
