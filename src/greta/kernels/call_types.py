"""Calls of Numba's own functions, whose types are found once and remembered while kernels are compiled.

For ``x + y`` Numba tries some thirty candidates, from numbers over dates to text, and makes an error of each that does
not fit; then it does so for the next ``+``. Of 28,000 such calls in all kernels 1,600 are different: a seventh of the
time that compiling took.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numba.core import types
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import BaseContext

_Found = tuple[Any, Any]
"""A call's signature, and what Numba finds its implementation by."""

_NAMED_TUPLE: Any = types.BaseNamedTuple

_OF_ITSELF = {"forceinline", "no_compile", "no_cpython_wrapper", "no_cfunc_wrapper", "release_gil", "dbg_optnone"}
"""Options that say how a function is called, and nothing of what it calls: Numba would compile `np.empty` for each."""

_remembered: dict[tuple[Any, ...], _Found] = {}


@contextmanager
def remembered_call_types() -> Iterator[None]:
    """Remember the types of calls that are found inside; where contexts are nested, the outer one ends it.

    Numba compiles one function at a time, behind a lock of its own, which must be held here.
    """
    function_type: Any = types.functions.BaseFunction
    resolve = function_type.get_call_type
    context_type: Any = BaseContext
    resolve_field = context_type.resolve_getattr

    def resolve_once(function: Any, context: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        key = (function.key, context, tuple(args), tuple(kws.items()), _options())
        if key not in _remembered:
            signature = resolve(function, context, args, kws)
            if signature is None or not all(kind.is_precise() for kind in (*args, *kws.values())):
                return signature
            _remembered[key] = signature, function.get_impl_key(signature)
        signature, implementation = _remembered[key]
        function._impl_keys[signature.args] = implementation
        return signature

    def resolve_own_field(context: Any, kind: Any, name: str) -> Any:
        if isinstance(kind, _NAMED_TUPLE) and name in kind.fields:
            return kind[kind.fields.index(name)]
        return resolve_field(context, kind, name)

    if getattr(resolve, "remembers", False):
        yield
        return
    resolve_once.remembers = True  # type: ignore[attr-defined]
    function_type.get_call_type = resolve_once
    context_type.resolve_getattr = resolve_own_field
    try:
        yield
    finally:
        function_type.get_call_type = resolve
        context_type.resolve_getattr = resolve_field


def _options() -> str:
    """What a function is compiled with, as far as those that Numba compiles for its calls inherit it."""
    options = ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
    if options is None:
        return ""
    values = options._values
    return str(sorted((name, str(value)) for name, value in values.items() if name not in _OF_ITSELF))
