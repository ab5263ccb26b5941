"""The only import of Numba: compiled kernels, and notification before a compilation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from podwright.scheduler.kernels._cache import ENTRIES, KernelCache

P = ParamSpec("P")
R = TypeVar("R")


def compiled(plain: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel with Numba, cached on disk; no fastmath, no parallel loops.

    With NUMBA_DISABLE_JIT it is returned as it is.
    """
    function: Callable[P, R] = inspect.unwrap(plain)
    # As in NumPy, a division by zero raises nothing: the check would prevent vectorization.
    form: Callable[P, R] = numba.njit(nogil=True, error_model="numpy")(function)
    if not isinstance(form, Dispatcher):
        return plain
    # Without a writable folder, each process compiles.
    with suppress(RuntimeError):
        setattr(form, "_cache", KernelCache(function))  # noqa: B010 - as enable_caching does
    return form


def is_cached() -> bool:
    """Whether a process has cached compiled kernels of this version."""
    return KernelCache.folder is not None and any(KernelCache.folder.glob(ENTRIES))


class _Compilations(event.Listener):
    """Calls a function for each kernel that Numba starts to compile."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify

    def on_start(self, event: Any) -> None:
        """Name the kernel."""
        self._notify(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Do nothing: only the start of a compilation is reported."""


_reporting: list[_Compilations] = []


def report_compilations(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name before Numba compiles it; once per process."""
    if _reporting:
        return
    _reporting.append(_Compilations(notify))
    register: Callable[[str, event.Listener], None] = event.register
    register("numba:compile", _reporting[0])
