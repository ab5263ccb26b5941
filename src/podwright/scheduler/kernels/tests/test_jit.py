"""Kernels without a cache folder, and the notification before a compilation."""

import os

import pytest

from podwright.scheduler.kernels._cache import KernelCacheImpl
from podwright.scheduler.kernels._compiled import compiled as compiled_kernel
from podwright.scheduler.kernels._jit import notify_before_compiling

needs_jit = pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled"
)


@needs_jit
def test_a_kernel_that_cannot_be_kept_runs_all_the_same(monkeypatch):
    monkeypatch.setattr(KernelCacheImpl, "_locator_classes", [])

    @compiled_kernel
    def double(number: int) -> int:
        return 2 * number

    assert double(21) == 42


@needs_jit
def test_a_compilation_is_reported_before_it_begins_and_only_once(monkeypatch):
    monkeypatch.setattr(KernelCacheImpl, "_locator_classes", [])

    @compiled_kernel
    def triple(number: int) -> int:
        return 3 * number

    compiled: list[str] = []
    notify_before_compiling(compiled.append)
    triple(1)
    triple(2)
    assert [name.rpartition(".")[2] for name in compiled] == ["triple"]
