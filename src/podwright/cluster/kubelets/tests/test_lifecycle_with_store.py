"""The lifecycle with a store: its actions are writes, and changes of the store are events."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import ObjectDeleted, ObjectPut, Pod
from podwright.cluster.api import DeleteObject, UpdateObject
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.kubelets import (
    Lifecycle,
    LifecycleAction,
    ScheduleStage,
    StageDue,
)
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, a_pod, stage_of
from podwright.simulation.world import EventHeap, Turn


class Cluster:
    """A store whose objects have a lifecycle."""

    def __init__(self) -> None:
        self.store = WritableStore(seed=1)
        self.life = Lifecycle(seed=1)
        self.heap = EventHeap[StageDue](NOW)
        self.changes = self.store.watch()
        self.story: list[tuple[int, str, str]] = []

    def settle(self) -> None:
        while events := list(self.changes.poll()):
            for event in events:
                obj: Any = event.object
                if obj is not None:
                    what = ObjectDeleted if event.type == "DELETED" else ObjectPut
                    self.execute(self.life.handle(what(obj), self.heap.now_ns))

    def execute(self, actions: list[LifecycleAction]) -> None:
        now_ns = self.heap.now_ns
        for action in actions:
            if isinstance(action, ScheduleStage):
                self.heap.push(action.due_ns, Turn.STAGE, action.event)
            elif isinstance(action, UpdateObject):
                stored = self.store.update(action.obj, scope=action.scope)
                self.record(stage_of(action), stored.outcome)
            elif isinstance(action, DeleteObject):
                kind = (action.group, action.object_kind)
                assert self.store.require(kind, action.key).uid == action.uid
                stored = self.store.delete(kind, action.key, now_ns, grace_seconds=0)
                self.record(stage_of(action), stored.outcome)

    def record(self, stage: str, outcome: str) -> None:
        self.story.append(((self.heap.now_ns - NOW) // SECOND, stage, outcome))

    def run(self, seconds: int) -> None:
        self.settle()
        while due := self.heap.pop(NOW + seconds * SECOND):
            self.execute(self.life.handle(due.event, due.due_ns))
            self.settle()
        self.heap.advance(NOW + seconds * SECOND)


def test_a_pod_starts_and_is_deleted_in_a_store():
    cluster = Cluster()
    cluster.store.create(a_node(), NOW)
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "1m"}
    spec = {"nodeName": None, "restartPolicy": "Never"}
    cluster.store.create(a_pod("a", spec=spec, annotations=annotations), NOW)
    cluster.store.create(a_pod("b", spec=spec, finalizers=["x/y"]), NOW)
    cluster.run(10)
    assert cluster.story == [(0, "node-initialize", "updated")]
    for name in "ab":
        cluster.store.bind(f"default/{name}", "n1", cluster.heap.now_ns)
    cluster.run(20)
    cluster.store.delete(Pod, "default/b", cluster.heap.now_ns)
    cluster.run(100)
    assert cluster.story[1:] == [
        (10, "pod-ready", "updated"),
        (10, "pod-ready", "updated"),
        (20, "pod-delete", "updated"),
        (20, "pod-delete", "deleted"),
        (70, "pod-exit", "updated"),
    ]
    pod = cluster.store.get(Pod, "default/a")
    assert pod is not None
    assert pod.is_terminal
    assert cluster.store.count(Pod) == 1
