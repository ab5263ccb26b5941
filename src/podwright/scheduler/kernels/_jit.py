"""A kernel runs as plain Python until the work pays for a compiler.

`kernel` registers a function. `compile_all` replaces the functions by compiled ones under their
names, in the modules of this room: callers import modules and call `fit.fit_codes`. Numba takes
0.2 s to import, and 20 s to compile all kernels the first time; a dozen nodes need neither.
Both forms give the same results, so a call of one can follow a call of the other. `count_cycle`
counts the work and replaces the functions between two cycles: after `MOST_NODE_CYCLES` if
compiled kernels are on disk, after `MOST_COLD_NODE_CYCLES` otherwise. A server that compiles in
the background replaces that rule (`when_work_pays`).

Compiled kernels are compiled at their first call for the argument types of that call, and cached on
disk until a kernel changes (`_cache`). `NUMBA_DISABLE_JIT=1` keeps them as plain Python.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

MOST_NODE_CYCLES: Final = 20_000
"""Cycles times nodes in plain Python: they take about as long as to import Numba."""

MOST_COLD_NODE_CYCLES: Final = 1_000_000
"""Cycles times nodes in plain Python: they take about as long as to compile the kernels."""


class _Kernels:
    """The kernels of this process.

    Attributes
    ----------
    registered : list of callable
        As plain Python.
    compiled : dict of callable to callable
        By the plain one; empty until `prepare`.
    limit : int
        Of `node_cycles`; when it is exceeded, `pays` is called and sets the next one.
    """

    def __init__(self) -> None:
        self.registered: list[Callable[..., object]] = []
        self.compiled: dict[Callable[..., object], Callable[..., object]] = {}
        self.listeners: list[Callable[[str], None]] = []
        self.is_compiled = False
        self.node_cycles = 0
        self.limit = MOST_NODE_CYCLES
        self.pays: Callable[[], None] = _compile_unless_cold


def _compile_unless_cold() -> None:
    if not prepare() and _KERNELS.node_cycles <= MOST_COLD_NODE_CYCLES:
        _KERNELS.limit = MOST_COLD_NODE_CYCLES
    else:
        compile_all()


_KERNELS: Final = _Kernels()


_IS_INSIDE: Final = ContextVar("is_inside", default=False)
"""Whether the caller is a kernel; each thread has a context for itself."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Register a function that `compile_all` compiles; return the form that is to be called."""

    @functools.wraps(function)
    def plain(*args: P.args, **keywords: P.kwargs) -> R:
        if _IS_INSIDE.get():
            return function(*args, **keywords)
        outside = _IS_INSIDE.set(True)
        try:
            # As in compiled code, and in Go, integers that overflow wrap around without a warning.
            with np.errstate(all="ignore"):
                result = function(*args, **keywords)
        finally:
            _IS_INSIDE.reset(outside)
        returned: R = _as_returned(result)
        return returned

    _KERNELS.registered.append(plain)
    if _KERNELS.is_compiled:
        from podwright.scheduler.kernels._compiled import compiled

        _KERNELS.compiled[plain] = form = compiled(plain)
        return form
    return plain


def _as_returned(result: Any) -> Any:
    """Return a result with Python's numbers, as a compiled kernel returns them to Python."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_as_returned, result)) if type(result) is tuple else result


def prepare() -> bool:
    """Import Numba, and make the compiled kernels without calling them.

    Another thread may call it, as no kernel is replaced.

    Returns
    -------
    bool
        Whether compiled kernels of this version are on disk.
    """
    from podwright.scheduler.kernels._compiled import compiled, is_cached, report_compilations

    for plain in _KERNELS.registered:
        if plain not in _KERNELS.compiled:
            _KERNELS.compiled[plain] = compiled(plain)
    report_compilations(_notify)
    return is_cached()


def compile_all() -> None:
    """Replace all kernels by compiled ones; call it between two calls of kernels."""
    if _KERNELS.is_compiled:
        return
    prepare()
    _bind(_KERNELS.compiled)
    _KERNELS.is_compiled = True


def run_as_python() -> None:
    """Replace compiled kernels by the plain ones, for tests of both forms."""
    _bind({form: function for function, form in _KERNELS.compiled.items()})
    _KERNELS.is_compiled = False
    _KERNELS.node_cycles = 0
    _KERNELS.limit = MOST_NODE_CYCLES
    _KERNELS.pays = _compile_unless_cold


def when_work_pays(start: Callable[[], None]) -> None:
    """Call `start` once, instead of compiling, when the work pays for compiled kernels.

    It starts another thread that ends in `prepare` and `compile_at_next_cycle`; until then, kernels
    run as plain Python.
    """

    def pays() -> None:
        _KERNELS.pays = _compile_unless_cold
        # First: the thread may end before `start` returns.
        _KERNELS.limit = sys.maxsize
        start()

    _KERNELS.pays = pays


def compile_at_next_cycle() -> None:
    """Replace all kernels by compiled ones before the next cycle; any thread may call it."""
    _KERNELS.node_cycles = MOST_COLD_NODE_CYCLES
    _KERNELS.limit = 0


def _bind(forms: dict[Callable[..., object], Callable[..., object]]) -> None:
    for name in {function.__module__ for function in _KERNELS.registered}:
        names = vars(sys.modules[name])
        for each, value in list(names.items()):
            if callable(value) and (form := forms.get(value)) is not None:
                names[each] = form


def count_cycle(node_count: int) -> None:
    """Count a cycle over so many nodes; compile the kernels when that pays.

    The count depends on nothing but the calls, and no result depends on it.
    """
    if _KERNELS.is_compiled:
        return
    _KERNELS.node_cycles += node_count
    if _KERNELS.node_cycles > _KERNELS.limit:
        _KERNELS.pays()


def _notify(name: str) -> None:
    for listener in _KERNELS.listeners:
        listener(name)


def notify_before_compiling(notify: Callable[[str], None]) -> None:
    """Call `notify` with a kernel's name before Numba compiles it.

    Kernels whose machine code is cached on disk are not reported. Compiling takes seconds, so
    an interactive driver should show what it waits for.
    """
    _KERNELS.listeners.append(notify)
