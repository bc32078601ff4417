"""The one place that owns the compiler's options.

Kernels are compiled at first use and kept on disk, so that a second process starts without compiling. What is kept
is valid for the sources of all kernels together: Numba by itself looks only at the file of the kernel that is called,
and would go on with the old code of those that it calls. Where no cache directory can be written (a read-only home on
an executor), kernels are compiled in memory instead.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import caching
from numba.core.event import Event, Listener, register
from numba.core.types import unliteral

from greta.kernels.parts import KernelCompiler, PartCompiler

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    # Reordering additions would make DOUBLE results depend on the machine.
    "fastmath": False,
}


TUNED = os.environ.get("GRETA_TUNED_KERNELS", "1") != "0"
"""Whether to use what Numba's manual does not promise; ``GRETA_TUNED_KERNELS=0`` does without, for what it costs."""

KERNEL_OPTIONS: dict[str, Any] = {**OPTIONS, **({"pipeline_class": KernelCompiler} if TUNED else {})}
PART_OPTIONS: dict[str, Any] = {**OPTIONS, **({"pipeline_class": PartCompiler} if TUNED else {})}
INNER_OPTIONS: dict[str, Any] = {**PART_OPTIONS, **({"_nrt": False} if TUNED else {})}
SMALL_OPTIONS: dict[str, Any] = {**INNER_OPTIONS, **({"forceinline": True} if TUNED else {})}


def kernel(function: Function) -> Function:
    """Compile ``function``, which Python calls, for speed; with ``NUMBA_DISABLE_JIT=1`` it stays plain Python."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return _plain(function)
    with _own_places():
        try:
            return _taking_numbers_alike(numba.njit(cache=True, **KERNEL_OPTIONS)(function))  # type: ignore[no-any-return]
        except RuntimeError:
            return _taking_numbers_alike(numba.njit(**KERNEL_OPTIONS)(function))  # type: ignore[no-any-return]


def part(function: Function) -> Function:
    """Compile ``function`` as a part of the kernels that call it."""
    return _part(function, PART_OPTIONS)


def inner(function: Function) -> Function:
    """Like ``part``, for functions that allocate nothing: arrays pass through them uncounted.

    Inner loops hand tuples of arrays down several calls; counting references to each array there costs more than
    the work itself.
    """
    return _part(function, INNER_OPTIONS)


def small(function: Function) -> Function:
    """Like ``inner``, for functions that inner loops call: they become part of their callers.

    Handing a tuple of arrays to a function costs a hundred instructions, more than most of them have themselves.
    """
    return _part(function, SMALL_OPTIONS)


def _part(function: Function, options: dict[str, Any]) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return _plain(function)
    return _taking_numbers_alike(numba.njit(**options)(function))  # type: ignore[no-any-return]


def _taking_numbers_alike(dispatcher: Any) -> Any:
    """The same function, compiled once for all integers that other kernels hand to it.

    Numba gives an integer that stands in the source a type of its own, and would compile a part for ``0``, for ``1``
    and for variables.
    """
    if not TUNED:
        return dispatcher
    resolve = dispatcher.get_call_template

    def resolve_alike(args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        return resolve([_plain_type(kind) for kind in args], {name: _plain_type(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = resolve_alike
    return dispatcher


def _plain_type(kind: Any) -> Any:
    return unliteral(kind)  # type: ignore[no-untyped-call]


def _plain(function: Function) -> Function:
    """Machine numbers wrap and saturate on purpose; as Python, NumPy would warn of each."""
    return np.errstate(all="ignore")(function)


class _Uncollected(Listener):
    """Told by Numba of each function that it compiles: until the outermost is done, no garbage is collected.

    A compiler makes millions of objects that it goes on to need; looking through them again and again took a seventh
    of its time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._collecting = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - what Numba calls
        """A function's compilation begins, maybe inside that of another."""
        if self._depth == 0:
            self._collecting = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Event) -> None:  # noqa: ARG002
        """A function is compiled, or has failed to."""
        self._depth -= 1
        if self._depth == 0 and self._collecting:
            gc.enable()


register("numba:compile", _Uncollected())  # type: ignore[no-untyped-call]


@cache
def fingerprint() -> str:
    """A digest of the sources of all modules of this package, and of how they are compiled."""
    digest = hashlib.sha256(b"tuned" if TUNED else b"plain")
    for source in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if source.name.endswith(".py"):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


class _ByAllSources:
    """Where Numba keeps compiled code, which is stale when any kernel's source has changed."""

    def get_source_stamp(self) -> str:
        """What compiled code is valid for, kept beside it."""
        return fingerprint()


@contextmanager
def _own_places() -> Iterator[None]:
    """Let Numba keep what is compiled inside in places of ours; other packages keep theirs."""
    # The setting, from 0.62 on, would go before the list, which all versions have.
    setting, classes = getattr(numba.config, "CACHE_LOCATOR_CLASSES", ""), caching.CacheImpl._locator_classes
    numba.config.CACHE_LOCATOR_CLASSES, caching.CacheImpl._locator_classes = "", _PLACES  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_LOCATOR_CLASSES, caching.CacheImpl._locator_classes = setting, classes  # type: ignore[attr-defined]


def _locator(name: str) -> Any:
    """One of Numba's own classes for where compiled code is kept; before 0.62 their names began with _."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


class GivenPlace(_ByAllSources, _locator("UserProvidedCacheLocator")):  # type: ignore[misc]
    """The directory that ``NUMBA_CACHE_DIR`` names."""


class PackagePlace(_ByAllSources, _locator("InTreeCacheLocator")):  # type: ignore[misc]
    """Beside the modules."""


class HomePlace(_ByAllSources, _locator("UserWideCacheLocator")):  # type: ignore[misc]
    """The user's cache directory."""


class ArchivePlace(_ByAllSources, _locator("ZipCacheLocator")):  # type: ignore[misc]
    """The user's cache directory, for modules inside a zip archive."""


_PLACES: list[Any] = [GivenPlace, PackagePlace, HomePlace, ArchivePlace]
"""In the order in which they are tried."""
