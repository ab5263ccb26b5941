"""The only import of Numba: a typed decorator, and notification before a compilation.

Kernels are compiled at their first call for the argument types of that call, and cached on disk
until a kernel changes (`_cache`). `NUMBA_DISABLE_JIT=1` runs them as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from podwright.scheduler.kernels._cache import KernelCache

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba, cached on disk; no fastmath, no parallel loops."""
    # As in NumPy, a division by zero raises nothing: the check would prevent vectorization.
    compiled: Callable[P, R] = numba.njit(nogil=True, error_model="numpy")(function)
    if isinstance(compiled, Dispatcher):  # not with NUMBA_DISABLE_JIT
        # Without a writable folder, each process compiles.
        with suppress(RuntimeError):
            setattr(compiled, "_cache", KernelCache(function))  # noqa: B010 - as enable_caching does
    return compiled


class _Compilations(event.Listener):
    """Calls a function for each kernel that Numba starts to compile."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify

    def on_start(self, event: Any) -> None:
        """Name the kernel."""
        self._notify(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Do nothing: only the start of a compilation is reported."""


def notify_before_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name before Numba compiles it.

    Kernels whose machine code is cached on disk are not reported. Compiling takes seconds, so
    an interactive driver should show what it waits for.
    """
    register: Callable[[str, event.Listener], None] = event.register
    register("numba:compile", _Compilations(notify))
