"""The one door to Numba: a typed decorator, and whether compiled code is at hand.

Kernels are compiled at their first call for the types of that call, and kept on disk for as long
as no kernel changes (`_cache`). `NUMBA_DISABLE_JIT=1` runs them as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from podwright.kernels._cache import KernelCache

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba, cached on disk; no fastmath, no parallel loops."""
    # As in NumPy, dividing by zero raises nothing: the check would keep loops from being
    # done many at a time.
    compiled: Callable[P, R] = numba.njit(nogil=True, error_model="numpy")(function)
    if isinstance(compiled, Dispatcher):  # not with NUMBA_DISABLE_JIT
        # Without a folder that can be written to, each process compiles.
        with suppress(RuntimeError):
            setattr(compiled, "_cache", KernelCache(function))  # noqa: B010 - as enable_caching does
    return compiled


class _Compilations(event.Listener):
    """Tells a function about each kernel that Numba begins to compile."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        """Name the kernel."""
        self._tell(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Say nothing: the next kernel is told when it begins."""


def tell_before_compiling(tell: Callable[[str], None]) -> None:
    """Call `tell` with a kernel's name before Numba compiles it.

    Kernels whose machine code is on disk are loaded without being told. Compiling takes
    seconds, so a driver that a person waits for should say what it waits for.
    """
    register: Callable[[str, event.Listener], None] = event.register
    register("numba:compile", _Compilations(tell))
