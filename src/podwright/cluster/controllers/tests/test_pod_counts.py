"""The counts of an owner's pods equal a recount, and say when they have changed."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import LabelSelector, Pod, with_fields
from podwright.cluster.controllers.adoption import compiled_selector
from podwright.cluster.controllers.pod_state import PodCounts, PodCriteria
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

SELECTOR = compiled_selector(LabelSelector(match_labels={"app": "web"}))


def a_pod(
    *, labels: str = "app tier", phase: str = "Running", ready: int | None = None, **metadata: Any
) -> Pod:
    values = {"app": "web", "tier": "front"}
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": at(ready or 0)}
    found = document(
        "Pod", "a", namespace="default",
        metadata={"labels": {name: values[name] for name in labels.split()}} | metadata,
        spec={"containers": [{"name": "main", "image": "app"}]},
        status={"phase": phase, "conditions": [] if ready is None else [condition]},
    )  # fmt: skip
    assert isinstance(found, Pod)
    return found


STATES = {
    "active": a_pod(),
    "ready": a_pod(ready=0),
    "without a label of the template": a_pod(labels="app"),
    "unmatched": a_pod(labels="tier"),
    "terminating": a_pod(deletionTimestamp=at(0)),
    "terminating and unmatched": a_pod(labels="tier", deletionTimestamp=at(0)),
    "succeeded": a_pod(phase="Succeeded"),
    "failed while terminating": a_pod(phase="Failed", deletionTimestamp=at(0)),
}
COUNTS = {
    "active": (1, 0, 1, 0, 0),
    "ready": (1, 1, 1, 0, 0),
    "without a label of the template": (1, 0, 0, 0, 0),
    "unmatched": (0, 0, 0, 0, 1),
    "terminating": (0, 0, 0, 1, 0),
    "terminating and unmatched": (0, 0, 0, 0, 1),
    "succeeded": (0, 0, 0, 0, 0),
    "failed while terminating": (0, 0, 0, 0, 0),
}


def counted(counts: PodCounts) -> tuple[int, ...]:
    return counts.active, counts.ready, counts.labeled, counts.terminating, counts.unmatched


@pytest.mark.parametrize("min_ready_seconds", [0, 10])
@pytest.mark.parametrize("after", STATES)
@pytest.mark.parametrize("before", STATES)
def test_a_change_of_a_pod_is_a_change_of_the_counts_if_they_differ(
    before: str, after: str, min_ready_seconds: int
) -> None:
    counts = PodCounts(PodCriteria(SELECTOR, {"app": "web", "tier": "front"}, min_ready_seconds))
    assert counts.put(STATES[before])
    assert counted(counts) == COUNTS[before]
    assert counts.put(STATES[after]) is (COUNTS[before] != COUNTS[after])
    assert counted(counts) == COUNTS[after]
    assert not counts.put(STATES[after])
    assert len(counts) == 1
    assert counts.remove("a")
    assert not counts.remove("a")
    assert (counted(counts), len(counts)) == ((0, 0, 0, 0, 0), 0)


def test_without_seconds_a_ready_pod_is_available_at_once() -> None:
    counts = PodCounts(PodCriteria(SELECTOR))
    counts.put(a_pod(ready=60))
    assert counts.next_available_ns() is None
    assert counts.available(NOW) == 1, "the clock of its node is a minute ahead"


@pytest.mark.parametrize("seconds", [1, 10])
def test_a_ready_pod_is_available_after_its_seconds(seconds: int) -> None:
    counts = PodCounts(PodCriteria(SELECTOR, min_ready_seconds=seconds))
    counts.put(a_pod(ready=0))
    due_ns = NOW + seconds * SECOND
    assert (counts.available(due_ns - 1), counts.next_available_ns()) == (0, due_ns)
    assert counts.put(a_pod(ready=5)), "it was not ready in between"
    assert (counts.available(due_ns), counts.next_available_ns()) == (0, due_ns + 5 * SECOND)
    assert counts.available(due_ns + 5 * SECOND) == 1
    assert counts.next_available_ns() is None
    counts.put(a_pod())
    assert (counts.available(due_ns + 5 * SECOND), counts.next_available_ns()) == (0, None)


def test_the_next_pod_to_be_available_is_the_first_that_was_ready() -> None:
    counts = PodCounts(PodCriteria(SELECTOR, min_ready_seconds=10))
    for name, ready in (("a", 3), ("b", 1), ("c", 7), ("d", 5)):
        pod = a_pod(ready=ready)
        counts.put(with_fields(pod, "metadata", name=name))
    assert counts.next_available_ns() == NOW + 11 * SECOND
    assert counts.available(NOW + 13 * SECOND) == 2
    assert counts.next_available_ns() == NOW + 15 * SECOND
    assert counts.remove("d")
    assert counts.next_available_ns() == NOW + 17 * SECOND
