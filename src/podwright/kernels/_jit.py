"""The one door to Numba: a typed decorator, and whether compiled code is at hand.

Kernels are compiled at their first call for the types of that call, and kept on disk.
`NUMBA_DISABLE_JIT=1` runs them as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba, cached on disk; no fastmath, no parallel loops."""
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    return compiled
