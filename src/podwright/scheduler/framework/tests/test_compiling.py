"""Compiled kernels replace plain ones in the middle of a run."""

import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import podwright as pw
from podwright.scheduler.kernels import _compiled, _jit, fit
from podwright.scheduler.kernels._jit import MOST_COLD_NODE_CYCLES, MOST_NODE_CYCLES, count_cycle

NODES = 24
PODS = 60


def is_compiled() -> bool:
    return _jit._KERNELS.is_compiled


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    """Start with plain kernels, and leave the form that was there."""
    was_compiled = is_compiled()
    _jit.run_as_python()
    yield
    if was_compiled:
        _jit.compile_all()


def objects() -> list[pw.Object]:
    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    nodes = [
        pw.testing.make_node(f"n{i}", cpu="8", labels={zone: f"z{i % 3}", host: f"n{i}"})
        for i in range(NODES)
    ]
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "topologyKey": zone}
    soft = spread | {"whenUnsatisfiable": "ScheduleAnyway"}
    near = {"weight": 5, "podAffinityTerm": selector | {"topologyKey": host}}
    specs: tuple[dict[str, Any], ...] = (
        {},
        {"topologySpreadConstraints": [spread | selector]},
        {"topologySpreadConstraints": [soft | selector]},
        {"affinity": {"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [near]}}},
    )  # fmt: skip
    pods = [
        pw.testing.make_pod(
            f"p{i}", cpu=f"{100 + 900 * (i % 5)}m", labels={"app": "web"}, spec=specs[i % 4],
            priority=i // 50,
        )
        for i in range(PODS)
    ]  # fmt: skip
    return [*nodes, *pods]


def decisions(*, compile_at: int) -> list[str]:
    scheduler = pw.Scheduler()
    scheduler.add(*objects())
    found = []
    for number, pod in enumerate([*scheduler.in_queue_order()]):
        if number == compile_at:
            _jit.compile_all()
        found.append(f"{scheduler.explain(pod)}{scheduler.schedule(pod.key)}")
    return found


def test_no_decision_depends_on_when_kernels_are_compiled():
    plain = decisions(compile_at=-1)
    assert len(plain) == PODS
    assert not is_compiled()
    for number in (PODS // 2, 0):
        assert decisions(compile_at=number) == plain
        assert is_compiled()
        _jit.run_as_python()


@pytest.mark.parametrize(
    ("is_cached", "most"), [(True, MOST_NODE_CYCLES), (False, MOST_COLD_NODE_CYCLES)]
)
def test_kernels_are_compiled_when_the_work_pays_for_it(monkeypatch, is_cached: bool, most: int):
    monkeypatch.setattr(_compiled, "is_cached", lambda: is_cached)
    before = fit.fit_codes
    for _ in range(most // 5_000):
        count_cycle(5_000)
    assert fit.fit_codes is before
    count_cycle(1)
    # With this variable, Numba compiles nothing.
    assert (fit.fit_codes is before) == (os.environ.get("NUMBA_DISABLE_JIT") == "1")
    _jit.run_as_python()
    assert fit.fit_codes is before
    count_cycle(most + 1)
    assert is_compiled()


def test_each_cycle_counts_the_nodes_that_there_are():
    scheduler = pw.Scheduler()
    scheduler.add(*objects()[: NODES + 3])
    for number in range(3):
        assert scheduler.schedule(f"default/p{number}").node
        assert _jit._KERNELS.node_cycles == (number + 1) * NODES
    scheduler.remove(pw.testing.make_node("n0"))
    scheduler.schedule(pw.testing.make_pod("last"))
    assert _jit._KERNELS.node_cycles == 4 * NODES - 1


def test_a_thread_that_prepares_kernels_takes_effect_at_the_next_cycle():
    started: list[None] = []
    _jit.when_work_pays(lambda: started.append(None))
    for _ in range(9):
        count_cycle(MOST_NODE_CYCLES)
    assert len(started) == 1
    for step in (_jit.prepare, _jit.compile_at_next_cycle):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert not is_compiled()
    count_cycle(1)
    assert is_compiled()


def test_integers_that_overflow_wrap_around_in_both_forms():
    nodes = [
        pw.testing.make_node(f"n{i}", cpu=f"{10 ** (11 + i % 3)}", memory=f"{2 ** (45 + i)}Ki")
        for i in range(8)
    ]
    pods = [
        pw.testing.make_pod(f"p{i}", cpu=f"{10 ** (9 + i % 3)}", memory=f"{2 ** (40 + i)}Ki")
        for i in range(12)
    ]
    found = []
    for _ in range(2):
        scheduler = pw.Scheduler()
        scheduler.add(*nodes, *pods)
        found.append([str(each) for each in scheduler.schedule_all()])
        _jit.compile_all()
    assert found[0] == found[1]


def test_other_rooms_call_kernels_by_their_modules():
    """A name that another module holds would stay the plain kernel."""
    decisions(compile_at=-1)
    kernels = {id(each) for each in _jit._KERNELS.registered}
    held = [
        f"{name}.{key}"
        for name, module in [*sys.modules.items()]
        if name.startswith("podwright.") and ".kernels" not in name
        for key, value in vars(module).items()
        if id(value) in kernels
    ]
    assert not held
