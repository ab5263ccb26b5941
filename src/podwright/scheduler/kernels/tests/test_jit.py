"""Kernels without a cache folder, and the notification before a compilation."""

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import event
from numba.core.dispatcher import Dispatcher

from podwright.scheduler.kernels import _compiled, _jit
from podwright.scheduler.kernels._cache import KernelCacheImpl
from podwright.scheduler.kernels._compiled import compiled as compiled_kernel
from podwright.scheduler.kernels._jit import notify_before_compiling


@pytest.fixture
def compiler(monkeypatch):
    """The compiler, also where tests run without it; without a folder for what it compiles."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setattr(KernelCacheImpl, "_locator_classes", [])


# `tests.kernel_defects` replaces the decorator.
needs_registration = pytest.mark.skipif(
    _jit.kernel.__module__ != _jit.__name__, reason="kernels are not registered"
)


@pytest.mark.usefixtures("compiler")
def test_a_kernel_that_cannot_be_kept_runs_all_the_same():
    @compiled_kernel
    def double(number: int) -> int:
        return 2 * number

    assert double(21) == 42
    assert isinstance(double, Dispatcher), "it is compiled"


@pytest.mark.usefixtures("compiler")
def test_a_compilation_is_reported_before_it_begins_and_only_once():
    @compiled_kernel
    def triple(number: int) -> int:
        return 3 * number

    compiled: list[str] = []
    notify_before_compiling(compiled.append)
    triple(1)
    triple(2)
    assert [name.rpartition(".")[2] for name in compiled] == ["triple"]


def test_the_start_of_a_compilation_is_reported_and_its_end_is_not(monkeypatch):
    monkeypatch.setattr(_compiled, "_reporting", [])
    names: list[str] = []
    _compiled.report_compilations(names.append)
    # Once per process.
    _compiled.report_compilations(names.append)
    (listener,) = _compiled._reporting
    try:
        dispatcher = SimpleNamespace(py_func=test_a_kernel_that_cannot_be_kept_runs_all_the_same)
        for status in (event.EventStatus.START, event.EventStatus.END):
            event.broadcast(event.Event("numba:compile", status, {"dispatcher": dispatcher}))
    finally:
        event.unregister("numba:compile", listener)
    assert names == ["test_a_kernel_that_cannot_be_kept_runs_all_the_same"]


@pytest.fixture
def kernels(monkeypatch):
    """The state of a process that has no kernels and has not compiled any."""
    monkeypatch.setattr(_jit, "_KERNELS", _jit._Kernels())
    return _jit._KERNELS


def test_a_background_compilation_starts_once_when_the_work_pays(kernels):
    started = []
    _jit.when_work_pays(lambda: started.append(kernels.node_cycles))
    for _ in range(4):
        _jit.count_cycle(5_000)
    assert started == []
    _jit.count_cycle(1)
    assert started == [20_001]
    _jit.count_cycle(10**9)
    assert started == [20_001]
    assert not kernels.is_compiled
    # The thread that has compiled them requests the change.
    _jit.compile_at_next_cycle()
    assert not kernels.is_compiled
    _jit.count_cycle(1)
    assert kernels.is_compiled
    counted = kernels.node_cycles
    _jit.count_cycle(5)
    assert kernels.node_cycles == counted, "nothing is counted any more"


def test_kernels_that_are_plain_again_are_compiled_by_the_usual_rule(kernels, monkeypatch):
    monkeypatch.setattr(_jit, "prepare", lambda: True)
    started: list[int] = []
    _jit.when_work_pays(lambda: started.append(1))
    _jit.count_cycle(7)
    _jit.run_as_python()
    _jit.count_cycle(20_000)
    assert not kernels.is_compiled
    _jit.count_cycle(1)
    assert kernels.is_compiled
    assert started == []
    _jit.run_as_python()
    _jit.compile_at_next_cycle()
    _jit.run_as_python()
    _jit.count_cycle(20_000)
    assert not kernels.is_compiled


@pytest.mark.parametrize("is_cached", [False, True])
def test_kernels_of_another_thread_are_used_from_the_next_cycle_on(kernels, monkeypatch, is_cached):
    monkeypatch.setattr(_jit, "prepare", lambda: is_cached)
    _jit.compile_at_next_cycle()
    assert not kernels.is_compiled
    _jit.count_cycle(1)
    assert kernels.is_compiled


@needs_registration
def test_every_kernel_is_prepared_once_and_is_not_replaced_by_that(kernels, monkeypatch):
    made: list[Any] = []

    def form_of(plain: Any) -> Any:
        made.append(plain)
        return plain

    monkeypatch.setattr(_compiled, "compiled", form_of)
    monkeypatch.setattr(_compiled, "report_compilations", made.append)
    first, second = (_jit.kernel(lambda number=number: number) for number in (1, 2))
    _jit.prepare()
    assert made == [first, second, _jit._notify]
    third = _jit.kernel(lambda: 3)
    _jit.prepare()
    assert made[3:] == [third, _jit._notify]
    assert not kernels.is_compiled


@pytest.mark.parametrize(
    ("is_cached", "limit"), [pytest.param(True, 20_000, id="on disk"), (False, 1_000_000)]
)
def test_kernels_that_are_not_on_disk_need_more_work(
    kernels, monkeypatch, is_cached: bool, limit: int
):
    looks: list[int] = []

    def prepare() -> bool:
        looks.append(kernels.node_cycles)
        return is_cached

    monkeypatch.setattr(_jit, "prepare", prepare)
    _jit.count_cycle(20_000)
    assert looks == []
    for _ in range(4):
        _jit.count_cycle((limit - 20_000) // 4)
    assert not kernels.is_compiled
    assert len(looks) == (limit > 20_000), "whether they are on disk is looked up once"
    _jit.count_cycle(1)
    assert kernels.is_compiled
    # `compile_all` prepares the kernels.
    assert len(looks) == 2 + (limit > 20_000)


def test_without_the_compiler_a_kernel_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(KernelCacheImpl, "_locator_classes", [])

    def half(number: int) -> int:
        return number // 2

    form = compiled_kernel(half)
    assert form(9) == 4
    assert (form is half) == (os.environ.get("NUMBA_DISABLE_JIT") == "1")


@needs_registration
def test_kernels_are_replaced_in_their_modules_and_back(kernels, monkeypatch):
    room: Any = ModuleType("some_kernels")
    monkeypatch.setitem(sys.modules, room.__name__, room)

    def one() -> int:
        return 1

    one.__module__ = room.__name__
    room.one = plain = _jit.kernel(one)
    room.alias, room.other, room.table = plain, 5, [plain]

    def form() -> int:
        return 2

    kernels.compiled[plain] = form
    _jit.compile_all()
    assert (room.one, room.alias, room.other, room.table) == (form, form, 5, [plain])
    _jit.compile_all()
    kernels.node_cycles = 7
    _jit.run_as_python()
    assert (room.one, room.alias, room.other) == (plain, plain, 5)
    assert not kernels.is_compiled
    assert kernels.node_cycles == 0
    _jit.compile_all()
    assert room.one is form


@needs_registration
def test_a_kernel_that_is_registered_late_is_compiled_at_once(kernels):
    _jit.compile_all()

    @_jit.kernel
    def late() -> int:
        return 3

    assert late() == 3
    assert kernels.compiled[kernels.registered[0]] is late
    names: list[str] = []
    _jit.notify_before_compiling(names.append)
    _jit._notify("some kernel")
    assert names == ["some kernel"]


@needs_registration
def test_results_of_plain_kernels_are_numbers_of_python(kernels):
    @_jit.kernel
    def plain(number: int):
        return np.int64(number), (np.float64(0.5), np.bool_(True)), np.arange(2)

    integer, (real, truth), array = plain(3)
    assert [type(each) for each in (integer, real, truth, array)] == [int, float, bool, np.ndarray]
    assert kernels.registered == [plain]


@needs_registration
@pytest.mark.usefixtures("kernels")
def test_overflow_in_plain_kernels_wraps_around_without_a_warning():
    @_jit.kernel
    def inner(number):
        return number + np.int64(1)

    @_jit.kernel
    def outer(number):
        return inner(np.int64(number)), type(inner(np.int64(0))).__name__

    assert outer(2**63 - 1) == (-(2**63), "int64"), "kernels pass NumPy's numbers to each other"
    assert type(inner(np.int64(0))) is int
