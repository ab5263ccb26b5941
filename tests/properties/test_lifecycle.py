"""Laws of the lifecycle of nodes and pods, under the built-in stages and random delays."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from podwright.cluster.kubelets import Lifecycle, read_stages
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)
from podwright.simulation.world import EventHeap

pytestmark = pytest.mark.property

COMPLETE = "pod-complete.stage.kwok.x-k8s.io"
DURATIONS = st.integers(0, 3_600).map(lambda seconds: f"{seconds}s")
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}]


@st.composite
def ways_to_end(draw: st.DrawFn) -> dict[str, Any]:
    """Draw annotations of a pod with which it terminates eventually."""
    parts: dict[str, Any] = {"spec": {}, "annotations": {}}
    way = draw(st.sampled_from(["run", "job", "trace", "deleted"]))
    if way == "run":
        code = draw(st.sampled_from(["0", "1", "137"]))
        policies = ["Never", "OnFailure"] if code == "0" else ["Never"]
        parts["spec"]["restartPolicy"] = draw(st.sampled_from(policies))
        parts["annotations"] = {f"{COMPLETE}/delay": draw(DURATIONS), f"{COMPLETE}/exit-code": code}
        if draw(st.booleans()):
            parts["annotations"][f"{COMPLETE}/jitter-delay"] = draw(DURATIONS)
    elif way == "job":
        parts["ownerReferences"] = JOB
    elif way == "trace":
        second = draw(st.integers(0, 3_600)) + NOW // SECOND
        parts["annotations"] = {"alibabacloud.com/deletion-time": str(second)}
    else:
        parts["deletionTimestamp"] = at(draw(st.integers(-5, 300)))
        parts["finalizers"] = draw(st.sampled_from([[], ["a/b"]]))
        if draw(st.booleans()):
            parts["annotations"] = {"pod-delete.stage.kwok.x-k8s.io/delay": draw(DURATIONS)}
    if draw(st.booleans()):
        parts["spec"]["initContainers"] = [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]
    return parts


def played(pods: list[dict[str, Any]], seed: int) -> LifecycleDriver:
    player = LifecycleDriver(Lifecycle(seed=seed))
    player.put(a_node())
    for index, parts in enumerate(pods):
        player.put(a_pod(f"p{index}", **parts))
    player.run(1_000_000)
    return player


@given(st.lists(ways_to_end(), max_size=6), st.integers(0, 3))
def test_every_pod_that_may_end_ends(pods, seed):
    player = played(pods, seed)
    for index, parts in enumerate(pods):
        obj: Any = player.objects.get(f"default/p{index}")
        if "deletionTimestamp" in parts:
            assert obj is None, player.story
        else:
            assert obj.is_terminal, player.story
            code = parts["annotations"].get(f"{COMPLETE}/exit-code", "0")
            assert obj.status.phase == ("Succeeded" if code == "0" else "Failed")
    assert len(player.heap) == 0


@given(st.lists(ways_to_end(), max_size=6), st.integers(0, 3))
def test_two_equal_runs_have_equal_bytes(pods, seed):
    once, again = played(pods, seed), played(pods, seed)
    assert once.story == again.story
    assert [msgspec.json.encode(obj.raw) for obj in once.objects.values()] == [
        msgspec.json.encode(obj.raw) for obj in again.objects.values()
    ]
    assert msgspec.json.encode(once.life.state()) == msgspec.json.encode(again.life.state())


@given(st.lists(ways_to_end(), min_size=2, max_size=5), st.integers(0, 3))
def test_the_lifecycle_of_a_pod_does_not_depend_on_others(pods, seed):
    story = played(pods, seed).story
    first = [entry for entry in story if entry[2] == "default/p0"]
    alone = [entry for entry in played(pods[:1], seed).story if entry[2] == "default/p0"]
    assert first == alone


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 2**32), st.integers(0, 99))
def test_a_drawn_delay_lies_within_its_bounds(duration_ms, jitter_ms, seed, uid):
    text = (
        "{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: s}, spec: {"
        "resourceRef: {kind: Pod}, selector: {}, next: {delete: true}, "
        f"delay: {{durationMilliseconds: {duration_ms}, "
        f"jitterDurationMilliseconds: {jitter_ms}}}}}}}"
    )
    player = LifecycleDriver(Lifecycle(read_stages(text, source="s"), seed=seed))
    player.put(a_pod(uid=str(uid)))
    due_ns = player.heap.next_ns
    assert due_ns is not None
    delay_ns = due_ns - NOW
    if jitter_ms <= duration_ms:
        assert delay_ns == jitter_ms * 1_000_000
    else:
        assert duration_ms * 1_000_000 <= delay_ns < jitter_ms * 1_000_000


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40))
def test_the_heap_gives_the_order_of_sorting(pushes):
    heap = EventHeap[int]()
    for number, (due_ns, turn) in enumerate(pushes):
        heap.push(due_ns, turn, number)
    expected = sorted((*place, number) for number, place in enumerate(pushes))
    entries = [(due.due_ns, due.turn, due.counter) for due in heap.entries()]
    popped = []
    while due := heap.pop():
        popped.append((due.due_ns, due.turn, due.event))
    assert popped == expected == entries
    assert len(set(entries)) == len(entries)
