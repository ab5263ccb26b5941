"""Kernels have one type, however many arrays there are."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

from podwright.scheduler import kernels


def test_no_kernel_takes_any_number_of_arrays():
    """Numba compiles for each length of a tuple: seconds for three arrays, a minute for 500."""
    names = [each.name for each in pkgutil.iter_modules(kernels.__path__) if each.name != "tests"]
    checked = 0
    for name in names:
        module = import_module(f"{kernels.__name__}.{name}")
        for function in vars(module).values():
            plain = getattr(function, "py_func", function)
            if not inspect.isfunction(plain) or plain.__module__ != module.__name__:
                continue
            checked += 1
            for parameter in inspect.signature(plain).parameters.values():
                assert ", ..." not in str(parameter.annotation), plain.__qualname__
    assert checked > 30
