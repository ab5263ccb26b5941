"""A pytest plugin that runs kernels as plain Python in which NumPy raises for what it warns of.

    NUMBA_DISABLE_JIT=1 python -m pytest -p tests.strict_kernels \
        src/podwright/scheduler/kernels tests/golden/test_parity.py

Compiled code wraps around, divides by zero and converts NaN without a word, and so do plain kernels
outside of these tests. A kernel that does it for a recorded decision could give another result in
its other form.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np

from podwright.scheduler import kernels
from podwright.scheduler.kernels import _jit


def strict(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel in which every floating point error is raised."""
    function = inspect.unwrap(plain)

    @functools.wraps(function)
    def raising(*args: Any, **keywords: Any) -> Any:
        with np.errstate(all="raise"):
            return function(*args, **keywords)

    return raising


def pytest_configure() -> None:
    """Replace all kernels before a test is imported."""
    assert os.environ.get("NUMBA_DISABLE_JIT"), "compiled kernels would replace them"
    for found in pkgutil.iter_modules(kernels.__path__):
        if not found.ispkg and not found.name.startswith("_"):
            importlib.import_module(f"{kernels.__name__}.{found.name}")
    _jit._bind({plain: strict(plain) for plain in _jit._KERNELS.registered})
