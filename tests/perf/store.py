"""Benchmarks of the store: writes, lists by index, watches; in memory and in a file."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, SECONDS, Case

from podwright.apimachinery.objects import (
    Pod,
    decode_pod,
    parse_field_selector,
    parse_label_selector,
    with_fields,
)
from podwright.cluster.api.tests.writable import WritableStore, open_writable

_NOW_NS = 1_767_225_600_000_000_000
_GROUPS = 20
_BATCH = 100


def _pods(count: int) -> list[Pod]:
    """Return pods in 20 groups, each with its own document as from a request."""
    pods = []
    for number in range(count):
        document = copy.deepcopy(templates.pod_document())
        document["metadata"] = {
            "name": f"pod-{number}",
            "namespace": "default",
            "labels": {"app": "web", "group": f"g{number % _GROUPS}"},
        }
        pods.append(decode_pod(document))
    return pods


def _in(place: str, measure: Callable[[WritableStore], float]) -> float:
    if place == "memory":
        return measure(WritableStore())
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_writable(Path(folder) / "store.db")) as store,
    ):
        return measure(store)


def _creates(place: str, batch: int = 1) -> float:
    pods = _pods(20_000)

    def measure(store: WritableStore) -> float:
        start = time.perf_counter()
        for first in range(0, len(pods), batch):
            with store.batch() if batch > 1 else nullcontext():
                for pod in pods[first : first + batch]:
                    store.create(pod, _NOW_NS)
        return len(pods) / (time.perf_counter() - start)

    return _in(place, measure)


def _updates(place: str) -> float:
    pods = _pods(20_000)

    def measure(store: WritableStore) -> float:
        with store.batch():
            stored = [store.create(pod, _NOW_NS).object for pod in pods]
        changed = [with_fields(obj, "status", phase="Running") for obj in stored]
        start = time.perf_counter()
        for obj in changed:
            store.update(obj, scope="status")
        return len(pods) / (time.perf_counter() - start)

    return _in(place, measure)


def creates_memory() -> float:
    """20,000 pods created, in memory."""
    return _creates("memory")


def creates_file() -> float:
    """20,000 pods created in a file, each acknowledged separately."""
    return _creates("file")


def creates_file_batches() -> float:
    """20,000 pods created in a file, acknowledged a hundred at a time."""
    return _creates("file", _BATCH)


def updates_memory() -> float:
    """The status of 20,000 pods written with compare-and-swap, in memory."""
    return _updates("memory")


def updates_file() -> float:
    """The status of 20,000 pods written with compare-and-swap in a file, one by one."""
    return _updates("file")


def binds_memory() -> float:
    """20,000 pods bound, in memory."""
    store, pods = WritableStore(), _pods(20_000)
    for pod in pods:
        store.create(pod, _NOW_NS)
    start = time.perf_counter()
    for pod in pods:
        store.bind(pod.key, "node-1", _NOW_NS)
    return len(pods) / (time.perf_counter() - start)


def list_by_label() -> float:
    """5,000 of 100,000 pods listed by a label, after the index is built."""
    store = WritableStore()
    for pod in _pods(100_000):
        store.create(pod, _NOW_NS)
    selector = parse_label_selector("group=g7")
    store.list(Pod, labels=selector)
    before = store.examined_count
    start = time.perf_counter()
    page = store.list(Pod, labels=selector)
    seconds = time.perf_counter() - start
    assert len(page.objects) == store.examined_count - before == 5_000, "not by the index"
    return seconds


def fan_out() -> float:
    """2,000 changes read by 110 watches, 100 of them of one node each; changes times watches."""
    store, pods = WritableStore(), _pods(2_000)
    since = store.resource_version
    watches = [
        store.watch(Pod, since=since, fields=parse_field_selector(f"spec.nodeName=n{number}"))
        for number in range(100)
    ]
    watches += [store.watch(Pod, since=since) for _ in range(10)]
    start_writes = time.perf_counter()
    seen, writing = 0, 0.0
    for first in range(0, len(pods), 50):
        start = time.perf_counter()
        for pod in pods[first : first + 50]:
            store.create(pod, _NOW_NS)
        writing += time.perf_counter() - start
        for watch in watches:
            seen += len(watch.poll())
    assert seen == len(pods) * 10, f"{seen} events"
    return len(pods) * len(watches) / (time.perf_counter() - start_writes - writing)


def open_file() -> float:
    """A file with 100,000 pods opened: read, checked, decoded, indexed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(open_writable(path)) as store, store.batch():
            for pod in _pods(100_000):
                store.create(pod, _NOW_NS)
        start = time.perf_counter()
        open_writable(path).close()
        return time.perf_counter() - start


def _rate(name: str, measure: Callable[[], float], target: float) -> Case:
    return Case(name=name, unit=OPERATIONS_PER_SECOND, measure=measure, target=target, runs=3)


CASES = (
    _rate("store_creates_memory", creates_memory, 30_000),
    _rate("store_creates_file", creates_file, 10_000),
    _rate("store_creates_file_batches", creates_file_batches, 20_000),
    _rate("store_updates_memory", updates_memory, 30_000),
    _rate("store_updates_file", updates_file, 10_000),
    _rate("store_binds_memory", binds_memory, 20_000),
    _rate("store_fan_out", fan_out, 1_000_000),
    Case(
        name="store_list_5000_of_100000",
        unit=SECONDS,
        measure=list_by_label,
        target=0.02,
        runs=3,
    ),
    Case(name="store_open_100000", unit=SECONDS, measure=open_file, target=5, runs=2),
)
